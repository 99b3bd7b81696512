//! Accesses outside of what a program was given: memory, LDS, scratch memory.
//!
//! What is found is told, and the program goes on: it reads zeros there, and writes nothing.

use hsaco_isa::effects::Access;

use super::access::{self, In, Run};
use super::fault::Fault;
use super::site::{Site, VectorAccess};
use super::{FaultKind, Here, Observer};
use crate::error::ErrorKind;
use crate::memory::Near;
use crate::step::{Context, Step};
use crate::wave::{Space, Wave, lanes};

pub(super) const HELP: &str =
    "check the index against the size that was allocated, and the mask of lanes that may access it";
const LDS_HELP: &str =
    "check the index against the LDS that the kernel declares and the launch adds";
const SCRATCH_HELP: &str =
    "check the index into the array, and the private segment size of the kernel";

/// What an access is outside of.
#[derive(Clone, Copy)]
enum Outside {
    Memory(ErrorKind),
    Lds,
    Scratch(u64),
}

impl Observer<'_> {
    /// Looks at the addresses of an access; lanes that may not go there are left out of it.
    pub(super) fn check_lanes<const C: usize>(
        &mut self,
        site: &Site,
        access: VectorAccess,
        last: &Step<C>,
        wave: &mut Wave<C>,
        context: &mut Context<'_>,
    ) {
        let Some(bytes) = access.bytes.map(u64::from) else { return };
        if is_inside(access, bytes, wave, context) {
            return;
        }
        let touched = access::of_lanes(access, last, wave, context);
        let mut wrong = 0;
        let mut first = None;
        for run in &touched.runs {
            if let Some(why) = outside(access.access, run, wave, context) {
                wrong |= 1 << run.lane;
                first.get_or_insert((why, run.address, run.bytes));
            }
        }
        let Some((why, address, size)) = first else { return };
        let here = self.here(site, wrong);
        self.tell_outside(here, access.access, why, address, size, context);
        // LDS answers for itself; others read zero and write nothing.
        if wave.space != Space::Lds {
            wave.valid &= !wrong;
            lanes(wrong).for_each(|lane| wave.reach[lane] = 0);
        }
    }

    fn tell_outside(
        &self,
        here: Here<'_>,
        access: Access,
        why: Outside,
        address: u64,
        size: u64,
        context: &Context<'_>,
    ) {
        let kind = FaultKind::Memory;
        self.sanitizer.faults.add((kind, here.site.address, 0), || {
            let what = verb(access);
            // Reads of LDS past its end give zero, and some libraries rely on it.
            let is_certain = !(matches!(why, Outside::Lds) && access == Access::Load);
            let (message, help) = match why {
                Outside::Memory(ErrorKind::ReadOnly) => {
                    (format!("{what} {size} bytes at {address:#x}, which may only be read"), HELP)
                }
                Outside::Memory(_) => {
                    let near = self.near(address, size, context);
                    (format!("{what} {size} bytes at {address:#x}: {near}"), HELP)
                }
                Outside::Lds => {
                    let all = self.observed.lds_bytes;
                    let text = format!("{what} {size} bytes at {address:#x} of LDS, which has {all}");
                    (text, LDS_HELP)
                }
                Outside::Scratch(all) => {
                    let text = format!(
                        "{what} {size} bytes at {address:#x} of a lane's scratch memory, which has {all}"
                    );
                    (text, SCRATCH_HELP)
                }
            };
            Fault { kind, is_certain, at: self.location(here), message, before: None, help: help.to_owned(), times: 1 }
        });
    }

    /// Which allocation an address is near to.
    fn near(&self, address: u64, size: u64, context: &Context<'_>) -> String {
        match context.memory.near(address) {
            Some(Near::Freed(range)) => {
                format!("{}, which was freed", self.sanitizer.name(&range))
            }
            Some(Near::Behind(range, distance)) => {
                let (name, all) = (self.sanitizer.name(&range), range.end - range.start);
                let behind = match (address + size).saturating_sub(range.end) {
                    some if some < size => format!("{some} of them"),
                    _ => format!("{distance} bytes"),
                };
                format!("{behind} behind {name}, which has {all} bytes")
            }
            Some(Near::Before(range, distance)) => {
                format!("{distance} bytes before {}", self.sanitizer.name(&range))
            }
            None => "outside of every allocation".to_owned(),
        }
    }

    /// Looks at the address of a scalar access.
    pub(super) fn is_outside(
        &mut self,
        site: &Site,
        access: Access,
        address: u64,
        bytes: u64,
        context: &mut Context<'_>,
    ) -> bool {
        let Some(why) = not_in_memory(access, address, bytes, context) else { return false };
        let here = self.here(site, 0);
        self.tell_outside(here, access, Outside::Memory(why), address, bytes, context);
        true
    }
}

fn verb(access: Access) -> &'static str {
    match access {
        Access::Load => "reads",
        Access::Store => "writes",
        Access::Atomic => "changes",
    }
}

/// Whether all lanes are in one allocation: the common case, found by one look.
fn is_inside<const C: usize>(
    access: VectorAccess,
    bytes: u64,
    wave: &Wave<C>,
    context: &mut Context<'_>,
) -> bool {
    if wave.space != Space::Global || wave.valid != wave.active {
        return wave.active == 0;
    }
    let all = lanes(wave.active).map(|lane| wave.addresses[lane]);
    let (low, high) = all.fold((u64::MAX, 0), |(low, high), it| (low.min(it), high.max(it)));
    if low > high {
        return true;
    }
    let size = (high - low).saturating_add(bytes);
    not_in_memory(access.access, low, size, context).is_none()
}

fn not_in_memory(
    access: Access,
    address: u64,
    bytes: u64,
    context: &mut Context<'_>,
) -> Option<ErrorKind> {
    match context.memory.find(address, bytes, &mut context.hint) {
        None => Some(ErrorKind::OutOfBounds),
        Some((allocation, offset)) if access != Access::Load => {
            allocation.forbids_write(offset, bytes)
        }
        Some(_) => None,
    }
}

/// What bytes of a lane are outside of, if they are.
fn outside<const C: usize>(
    access: Access,
    run: &Run,
    wave: &Wave<C>,
    context: &mut Context<'_>,
) -> Option<Outside> {
    let Run { space, address, bytes, .. } = *run;
    match space {
        In::Lds => (address + bytes > context.lds.len() as u64 * 4).then_some(Outside::Lds),
        In::Scratch(_) => {
            let all = (wave.scratch.len() / Wave::<C>::LANES * 4) as u64;
            (address + bytes > all).then_some(Outside::Scratch(all))
        }
        In::Device => not_in_memory(access, address, bytes, context).map(Outside::Memory),
    }
}
