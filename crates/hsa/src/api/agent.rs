//! Agents, instruction sets, caches, waves and pools.

use std::ffi::{CStr, c_char, c_void};

use crate::abi::{Answer, Status, cache};
use crate::agent::Agent;
use crate::runtime::enter;
use crate::value::{Value, put};

/// A function of the program that sees one handle after the other.
pub(crate) type Visitor = Option<extern "C" fn(u64, *mut c_void) -> Status>;

/// Shows handles to a program until it has seen enough.
pub(crate) fn visit(
    handles: impl IntoIterator<Item = u64>,
    visitor: Visitor,
    data: *mut c_void,
) -> Answer {
    let visitor = visitor.ok_or(Status::INVALID_ARGUMENT)?;
    handles.into_iter().try_for_each(|handle| visitor(handle, data).check())
}

pub(crate) extern "C" fn hsa_iterate_agents(visitor: Visitor, data: *mut c_void) -> Status {
    enter(|runtime| visit(runtime.agents.iter().map(|it| it.handle), visitor, data))
}

pub(crate) extern "C" fn hsa_agent_get_info(
    agent: u64,
    attribute: u32,
    value: *mut c_void,
) -> Status {
    enter(|runtime| {
        let answer = runtime.agent(agent)?.info(attribute)?;
        // SAFETY: the program has room for the attribute.
        unsafe { answer.write(value) }
    })
}

pub(crate) extern "C" fn hsa_amd_image_get_info_max_dim(
    agent: u64,
    attribute: u32,
    value: *mut c_void,
) -> Status {
    hsa_agent_get_info(agent, attribute, value)
}

pub(crate) extern "C" fn hsa_agent_get_exception_policies(
    agent: u64,
    profile: u32,
    mask: *mut u16,
) -> Status {
    enter(|runtime| {
        runtime.agent(agent)?;
        if profile > 1 {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: the program has room for the mask.
        unsafe { put(mask, 0) }
    })
}

pub(crate) extern "C" fn hsa_agent_iterate_caches(
    agent: u64,
    visitor: Visitor,
    data: *mut c_void,
) -> Status {
    enter(|runtime| visit(runtime.agent(agent)?.caches().map(|it| it.0), visitor, data))
}

pub(crate) extern "C" fn hsa_cache_get_info(
    handle: u64,
    attribute: u32,
    value: *mut c_void,
) -> Status {
    enter(|runtime| {
        let mut caches =
            runtime.agents.iter().flat_map(|agent| agent.caches().map(move |it| (agent, it)));
        let (agent, (_, level, size)) =
            caches.find(|it| it.1.0 == handle).ok_or(Status::INVALID_CACHE)?;
        let name = format!("{} L{level}", agent.name());
        let answer = match attribute {
            cache::NAME_LENGTH => Value::U32(u32::try_from(name.len() + 1).unwrap_or(0)),
            cache::NAME => Value::text(&name, name.len() + 1),
            cache::LEVEL => Value::U8(level),
            cache::SIZE => Value::U32(size),
            _ => return Err(Status::INVALID_ARGUMENT),
        };
        // SAFETY: the program has room for the attribute.
        unsafe { answer.write(value) }
    })
}

pub(crate) extern "C" fn hsa_agent_iterate_isas(
    agent: u64,
    visitor: Visitor,
    data: *mut c_void,
) -> Status {
    enter(|runtime| {
        let isa = runtime.agent(agent)?.isa();
        // What has no instruction set here is said to be no agent, which rocminfo knows.
        visit([isa.ok_or(Status::INVALID_AGENT)?], visitor, data)
    })
}

pub(crate) extern "C" fn hsa_isa_from_name(name: *const c_char, isa: *mut u64) -> Status {
    enter(|runtime| {
        if name.is_null() || isa.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: the program's text ends with a zero.
        let name =
            unsafe { CStr::from_ptr(name) }.to_str().map_err(|_| Status::INVALID_ISA_NAME)?;
        let is_it =
            |it: &&Agent| it.isa_name().is_some_and(|known| known == name || bare(&known) == name);
        let found = runtime.agents.iter().find(is_it).and_then(Agent::isa);
        // SAFETY: the program has room for the handle.
        unsafe { put(isa, found.ok_or(Status::INVALID_ISA_NAME)?) }
    })
}

/// The name of an instruction set without its features.
fn bare(name: &str) -> &str {
    name.split(':').next().unwrap_or(name)
}

pub(crate) extern "C" fn hsa_isa_get_info_alt(
    isa: u64,
    attribute: u32,
    value: *mut c_void,
) -> Status {
    enter(|runtime| {
        let answer = runtime.agent_of_isa(isa)?.isa_info(attribute)?;
        // SAFETY: the program has room for the attribute.
        unsafe { answer.write(value) }
    })
}

pub(crate) extern "C" fn hsa_isa_get_info(
    isa: u64,
    attribute: u32,
    index: u32,
    value: *mut c_void,
) -> Status {
    enter(|runtime| {
        let agent = runtime.agent_of_isa(isa)?;
        if index != 0 {
            return Err(Status::INVALID_INDEX);
        }
        let answer = agent.isa_info(attribute)?;
        // SAFETY: the program has room for the attribute.
        unsafe { answer.write(value) }
    })
}

pub(crate) extern "C" fn hsa_isa_get_exception_policies(
    isa: u64,
    profile: u32,
    mask: *mut u16,
) -> Status {
    enter(|runtime| {
        runtime.agent_of_isa(isa)?;
        if profile > 1 {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: the program has room for the mask.
        unsafe { put(mask, 0) }
    })
}

pub(crate) extern "C" fn hsa_isa_get_round_method(
    isa: u64,
    float_type: u32,
    flush_mode: u32,
    method: *mut u32,
) -> Status {
    enter(|runtime| {
        runtime.agent_of_isa(isa)?;
        // Types are 1, 2 and 4, modes 1 and 2.
        if !matches!(float_type, 1 | 2 | 4) || !matches!(flush_mode, 1 | 2) {
            return Err(Status::INVALID_ARGUMENT);
        }
        const SINGLE: u32 = 0;
        // SAFETY: the program has room for the number.
        unsafe { put(method, SINGLE) }
    })
}

pub(crate) extern "C" fn hsa_isa_iterate_wavefronts(
    isa: u64,
    visitor: Visitor,
    data: *mut c_void,
) -> Status {
    enter(|runtime| visit(runtime.agent_of_isa(isa)?.wavefronts().map(|it| it.0), visitor, data))
}

pub(crate) extern "C" fn hsa_wavefront_get_info(
    handle: u64,
    attribute: u32,
    value: *mut c_void,
) -> Status {
    enter(|runtime| {
        let mut all = runtime.agents.iter().flat_map(Agent::wavefronts);
        let (_, lanes) = all.find(|it| it.0 == handle).ok_or(Status::INVALID_WAVEFRONT)?;
        if attribute != 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: the program has room for the number of lanes.
        unsafe { Value::U32(lanes).write(value) }
    })
}

pub(crate) extern "C" fn hsa_isa_compatible(object: u64, agent: u64, result: *mut bool) -> Status {
    enter(|runtime| {
        runtime.agent_of_isa(object)?;
        runtime.agent_of_isa(agent)?;
        // SAFETY: the program has room for the answer.
        unsafe { put(result, object == agent) }
    })
}

pub(crate) extern "C" fn hsa_agent_iterate_regions(
    agent: u64,
    visitor: Visitor,
    data: *mut c_void,
) -> Status {
    enter(|runtime| visit(runtime.agent(agent)?.pools().map(|it| it.handle), visitor, data))
}

pub(crate) extern "C" fn hsa_region_get_info(
    region: u64,
    attribute: u32,
    value: *mut c_void,
) -> Status {
    enter(|runtime| {
        let answer = runtime.pool(region).ok_or(Status::INVALID_REGION)?.region_info(attribute)?;
        // SAFETY: the program has room for the attribute.
        unsafe { answer.write(value) }
    })
}

pub(crate) extern "C" fn hsa_amd_agent_iterate_memory_pools(
    agent: u64,
    visitor: Visitor,
    data: *mut c_void,
) -> Status {
    hsa_agent_iterate_regions(agent, visitor, data)
}

pub(crate) extern "C" fn hsa_amd_memory_pool_get_info(
    pool: u64,
    attribute: u32,
    value: *mut c_void,
) -> Status {
    enter(|runtime| {
        let answer = runtime.pool(pool).ok_or(Status::INVALID_MEMORY_POOL)?.info(attribute)?;
        // SAFETY: the program has room for the attribute.
        unsafe { answer.write(value) }
    })
}

pub(crate) extern "C" fn hsa_amd_agent_memory_pool_get_info(
    agent: u64,
    pool: u64,
    attribute: u32,
    value: *mut c_void,
) -> Status {
    enter(|runtime| {
        let agent = runtime.agent(agent)?;
        let answer =
            runtime.pool(pool).ok_or(Status::INVALID_MEMORY_POOL)?.seen_by(agent, attribute)?;
        // SAFETY: the program has room for the attribute.
        unsafe { answer.write(value) }
    })
}

pub(crate) extern "C" fn hsa_amd_coherency_get_type(agent: u64, kind: *mut u32) -> Status {
    enter(|runtime| {
        runtime.gpu(agent)?;
        const COHERENT: u32 = 0;
        // SAFETY: the program has room for the number.
        unsafe { put(kind, COHERENT) }
    })
}

pub(crate) extern "C" fn hsa_amd_coherency_set_type(agent: u64, kind: u32) -> Status {
    enter(|runtime| {
        runtime.gpu(agent)?;
        // All memory is coherent, whatever is asked for.
        if kind > 1 { Err(Status::INVALID_ARGUMENT) } else { Ok(()) }
    })
}

pub(crate) extern "C" fn hsa_amd_agent_set_async_scratch_limit(
    agent: u64,
    _threshold: usize,
) -> Status {
    enter(|runtime| runtime.gpu(agent).map(drop))
}
