//! Attributes of memory that the host and its agents share.

use std::ffi::c_void;

use crate::abi::{Status, SvmAttribute};
use crate::runtime::copy::Work;
use crate::runtime::{Runtime, enter};
use crate::value::slice;

/// Attributes whose value is an agent.
const AGENT_ACCESSIBLE: u64 = 0x200;
const ACCESS_QUERY: u64 = 0x203;
const AGENT_NO_ACCESS: u64 = 0x202;
/// The last of those that have a number.
const LAST: u64 = 7;

fn check(runtime: &Runtime, pair: &SvmAttribute) -> Result<(), Status> {
    match pair.attribute {
        0..=LAST => Ok(()),
        AGENT_ACCESSIBLE..=ACCESS_QUERY => runtime.agent(pair.value).map(drop),
        _ => Err(Status::INVALID_ARGUMENT),
    }
}

pub(crate) extern "C" fn hsa_amd_svm_attributes_set(
    pointer: *mut c_void,
    size: usize,
    list: *mut SvmAttribute,
    count: usize,
) -> Status {
    enter(|runtime| {
        if pointer.is_null() || size == 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: the program says how many there are.
        unsafe { slice(list, count) }?.iter().try_for_each(|it| check(runtime, it))
    })
}

pub(crate) extern "C" fn hsa_amd_svm_attributes_get(
    pointer: *mut c_void,
    size: usize,
    list: *mut SvmAttribute,
    count: usize,
) -> Status {
    enter(|runtime| {
        if pointer.is_null() || size == 0 || (list.is_null() && count > 0) {
            return Err(Status::INVALID_ARGUMENT);
        }
        let block = runtime.space.find(pointer as u64);
        for at in 0..count {
            // SAFETY: the program says how many there are, and may be told in them.
            let pair = unsafe { &mut *list.add(at) };
            check(runtime, pair)?;
            if pair.attribute == ACCESS_QUERY {
                let bit = runtime.agent(pair.value)?.bit();
                let may = block.as_ref().is_some_and(|it| it.agents & bit != 0);
                pair.attribute = if may { AGENT_ACCESSIBLE } else { AGENT_NO_ACCESS };
            } else {
                pair.value = 0;
            }
        }
        Ok(())
    })
}

pub(crate) extern "C" fn hsa_amd_svm_prefetch_async(
    pointer: *mut c_void,
    size: usize,
    agent: u64,
    count: u32,
    signals: *const u64,
    completion: u64,
) -> Status {
    enter(|runtime| {
        runtime.agent(agent)?;
        if pointer.is_null() || size == 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: the program says how many there are.
        let after = unsafe { slice(signals, count as usize) }?;
        runtime.copies.add(runtime, Work::Nothing, after, completion)
    })
}
