//! The calls of an executable, across objects.

use std::ffi::c_char;

use hsaco::load::{self, CallTarget};

use crate::border::{Out, Row, Texts, row_at};
use crate::error::{Failure, Status, border};
use crate::executable::{Executable, frozen};
use crate::handle::{self, Handle};

/// The calls of an executable; hsaco_calls_free takes them back. All functions may be called from any thread.
pub struct Calls {
    calls: Vec<Row<Call>>,
    /// Where calls of unknown callees may go: one list for all of them.
    _candidates: Row<Candidates>,
}

impl Handle for Calls {
    const NAME: &'static str = "list of calls";
}

/// A list of functions that calls share.
struct Candidates {
    list: *const *const FunctionRef,
    count: usize,
}

/// A function of an executable.
#[repr(C)]
#[derive(Debug)]
pub struct FunctionRef {
    /// Its name; null where no symbol has one.
    pub name: *const c_char,
    /// The object that it is in, by the name under which it was loaded; null if the caller defined it.
    pub object: *const c_char,
    /// Where it is in memory; HSACO_UNKNOWN if the caller defined it.
    pub address: u64,
}

/// A call.
#[repr(C)]
#[derive(Debug)]
pub struct Call {
    /// Who calls.
    pub caller: *const FunctionRef,
    /// Where the instruction is in memory.
    pub site: u64,
    /// How control gets to the callee, such as "call" or "tail call".
    pub kind: *const c_char,
    /// Who is called; null if that is not known.
    pub callee: *const FunctionRef,
    /// How that is known, such as "relocation".
    pub evidence: *const c_char,
    /// Whether caller and callee are in different objects.
    pub crosses_objects: bool,
    /// Of a call of an unknown callee, such as through a table, the functions that it may go to.
    pub candidates: *const *const FunctionRef,
    /// How many.
    pub candidate_count: usize,
}

impl FunctionRef {
    fn keep(
        texts: &mut Texts,
        executable: &load::Executable<'_>,
        function: &load::FunctionRef,
    ) -> *const Self {
        let row = FunctionRef {
            name: texts.keep_some(function.name.as_deref()),
            object: texts.keep(executable.object_name(function.object)),
            address: function.address,
        };
        texts.item(row)
    }
}

impl Call {
    fn row(
        executable: &load::Executable<'_>,
        edge: &load::CallEdge,
        shared: &Candidates,
    ) -> Row<Self> {
        Row::new(|texts| {
            let callee = match &edge.callee {
                CallTarget::Function(callee) => FunctionRef::keep(texts, executable, callee),
                CallTarget::Defined(name) => {
                    let name = texts.keep(name);
                    let (object, address) = (std::ptr::null(), u64::MAX);
                    texts.item(FunctionRef { name, object, address })
                }
                CallTarget::Unknown => std::ptr::null(),
            };
            let has_candidates = !edge.candidates.is_empty();
            Call {
                caller: FunctionRef::keep(texts, executable, &edge.caller),
                site: edge.site,
                kind: texts.keep(edge.kind.name()),
                callee,
                evidence: texts.keep(edge.evidence.name()),
                crosses_objects: edge.crosses_objects(),
                candidates: if has_candidates { shared.list } else { std::ptr::null() },
                candidate_count: if has_candidates { shared.count } else { 0 },
            }
        })
    }
}

/// Every call of a frozen executable, across objects, in the order of addresses. Decodes all code.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_executable_calls(
    executable: *const Executable,
    calls: *mut *mut Calls,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::handle(calls, "calls") }?;
        let now = handle::get(executable)?.now();
        frozen(&now)?;
        let failed = |errors: load::Errors| Failure::new(Status::Findings, errors.to_string());
        let edges = now.calls().map_err(failed)?;
        let of_unknown = edges.iter().find(|it| !it.candidates.is_empty());
        let of_unknown = of_unknown.map(|it| it.candidates.as_ref()).unwrap_or_default();
        let shared = Row::new(|texts| {
            let all = of_unknown.iter().map(|it| FunctionRef::keep(texts, &now, it)).collect();
            let (list, count) = texts.items(all);
            Candidates { list, count }
        });
        let calls = edges.iter().map(|it| Call::row(&now, it, shared.get())).collect();
        out.set(handle::new(Calls { calls, _candidates: shared }));
        Ok(())
    })
}

/// How many calls there are.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_calls_count(calls: *const Calls, count: *mut usize) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::new(count, "count", 0) }?;
        out.set(handle::get(calls)?.calls.len());
        Ok(())
    })
}

/// The call of that number; HSACO_STATUS_NOT_FOUND behind the last. It lives as long as the list.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_calls_get(
    calls: *const Calls,
    index: usize,
    call: *mut *const Call,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::row(call, "call") }?;
        out.set(row_at(&handle::get(calls)?.calls, index, "call")?);
        Ok(())
    })
}

/// Takes calls back; null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn hsaco_calls_free(calls: *mut Calls) -> Status {
    handle::free(calls)
}
