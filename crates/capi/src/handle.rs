//! Handles: numbers in the shape of pointers, which the library looks up and never follows.
//!
//! So a handle that was freed, freed twice, or is of another kind is found out, whatever the caller does with it, and one
//! that another thread frees meanwhile lives until the call that uses it ends.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::error::{Failure, Result, Status, border};

/// What a handle stands for.
pub(crate) trait Handle: Send + Sync + 'static {
    /// What messages call it.
    const NAME: &'static str;
}

type Shard = RwLock<BTreeMap<usize, Entry>>;

struct Entry {
    name: &'static str,
    value: Arc<dyn Any + Send + Sync>,
}

/// Threads that use different handles rarely wait for each other.
static LIVE: [Shard; 16] = [const { RwLock::new(BTreeMap::new()) }; 16];

/// The number of the next handle. Numbers are not used again: on 64-bit machines they do not run out.
static NEXT: AtomicUsize = AtomicUsize::new(1);

/// Handles look like aligned pointers.
const STEP: usize = 16;

fn shard(number: usize) -> &'static Shard {
    #[allow(clippy::indexing_slicing, reason = "a remainder is below its divisor")]
    &LIVE[number / STEP % LIVE.len()]
}

/// Makes a handle, which [`free`] takes back.
pub(crate) fn new<T: Handle>(value: T) -> *mut T {
    let number = NEXT.fetch_add(1, Ordering::Relaxed).wrapping_mul(STEP);
    let entry = Entry { name: T::NAME, value: Arc::new(value) };
    shard(number).write().unwrap_or_else(PoisonError::into_inner).insert(number, entry);
    ptr::without_provenance_mut(number)
}

/// What a handle stands for.
pub(crate) fn get<T: Handle>(handle: *const T) -> Result<Arc<T>> {
    let number = handle.addr();
    if number == 0 {
        return Err(Failure::argument(format!("the {} is null", T::NAME)));
    }
    let live = shard(number).read().unwrap_or_else(PoisonError::into_inner);
    let entry = live
        .get(&number)
        .ok_or_else(|| Failure::argument(format!("the {} was freed, or never was one", T::NAME)))?;
    Arc::clone(&entry.value).downcast().map_err(|_| {
        Failure::argument(format!("the handle is of a {}, not of a {}", entry.name, T::NAME))
    })
}

/// Takes a handle back; null is fine. One that is taken back leaves the words for why an earlier call failed, so that
/// callers can clean up first.
pub(crate) fn free<T: Handle>(handle: *mut T) -> Status {
    if handle.is_null() {
        return Status::Ok;
    }
    // Dropped when no lock is held. What dropping could do wrong ends here, as anything else does.
    let taken = catch_unwind(AssertUnwindSafe(|| take(handle).map(drop)));
    match taken {
        Ok(Ok(())) => Status::Ok,
        Ok(Err(failure)) => border(|| Err::<(), _>(failure)),
        Err(panic) => border(|| -> Result { resume_unwind(panic) }),
    }
}

fn take<T: Handle>(handle: *mut T) -> Result<Option<Entry>> {
    get(handle)?;
    let number = handle.addr();
    Ok(shard(number).write().unwrap_or_else(PoisonError::into_inner).remove(&number))
}

/// How many handles there are that were not freed, of all kinds and threads: for tests of callers.
#[unsafe(no_mangle)]
pub extern "C" fn hsaco_live_handles() -> usize {
    LIVE.iter().map(|it| it.read().unwrap_or_else(PoisonError::into_inner).len()).sum()
}
