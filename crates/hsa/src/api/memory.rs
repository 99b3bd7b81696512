//! Memory: pools and regions, locking, registering, who may access what.

use std::ffi::c_void;
use std::sync::Arc;

use crate::abi::{Answer, PointerInfo, Status};
use crate::agent::{Agent, Pool};
use crate::pages::{self, PAGE, Pages};
use crate::runtime::{Runtime, enter};
use crate::space::{Block, Farewell, Keeper, Kind, whole_pages};
use crate::value::{put, slice};

/// Memory of a pool.
fn allocate(runtime: &Runtime, pool: Pool<'_>, size: usize) -> Answer<u64> {
    if size == 0 || pool.is_group() {
        return Err(if size == 0 { Status::INVALID_ARGUMENT } else { Status::INVALID_ALLOCATION });
    }
    let size = size as u64;
    if size > pool.size() {
        return Err(Status::OUT_OF_RESOURCES);
    }
    let gpu = pool.agent.gpu.as_ref();
    if let Some(gpu) = gpu {
        gpu.take(whole_pages(size))?;
    }
    let added = Pages::new(size).ok_or(Status::OUT_OF_RESOURCES).and_then(|pages| {
        let block = Block {
            pool: pool.handle,
            flags: pool.flags(),
            ..Block::of_pages(pages, size, Kind::Pool, pool.agent)
        };
        // Who looks for mistakes wants to know of each byte.
        let is_exact = runtime.config.sanitizers.is_some();
        let block = if is_exact { block } else { block.with_whole_pages() };
        match gpu {
            Some(_) => runtime.space.add(block, [pool.agent]),
            // All agents may access memory of the host that is allocated for them.
            None => runtime.space.add(block, &runtime.agents),
        }
    });
    if let (Err(_), Some(gpu)) = (&added, gpu) {
        gpu.give_back(whole_pages(size));
    }
    added
}

/// Gives memory of a pool back.
fn free(runtime: &Runtime, pointer: *mut c_void) -> Answer {
    let base = pointer as u64;
    let block = runtime.space.remove(base, &runtime.agents, |it| it.kind == Kind::Pool);
    let block = block.ok_or(Status::INVALID_ALLOCATION)?;
    for farewell in &block.farewells {
        (farewell.callback)(pointer, farewell.data as *mut c_void);
    }
    let owner = runtime.agents.iter().find(|it| it.node == block.owner);
    if let Some(gpu) = owner.and_then(|it| it.gpu.as_ref()) {
        gpu.give_back(whole_pages(block.size));
    }
    Ok(())
}

pub(crate) extern "C" fn hsa_amd_memory_pool_allocate(
    pool: u64,
    size: usize,
    flags: u32,
    pointer: *mut *mut c_void,
) -> Status {
    enter(|runtime| {
        let pool = runtime.pool(pool).ok_or(Status::INVALID_MEMORY_POOL)?;
        // Flags ask for placement that an emulator has none of.
        if pointer.is_null() || flags > 7 {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: the program has room for a pointer, which is not null.
        unsafe { put(pointer, allocate(runtime, pool, size)? as *mut c_void) }
    })
}

pub(crate) extern "C" fn hsa_amd_memory_pool_free(pointer: *mut c_void) -> Status {
    enter(|runtime| if pointer.is_null() { Ok(()) } else { free(runtime, pointer) })
}

pub(crate) extern "C" fn hsa_memory_allocate(
    region: u64,
    size: usize,
    pointer: *mut *mut c_void,
) -> Status {
    enter(|runtime| {
        let pool = runtime.pool(region).ok_or(Status::INVALID_REGION)?;
        if pointer.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: the program has room for a pointer, which is not null.
        unsafe { put(pointer, allocate(runtime, pool, size)? as *mut c_void) }
    })
}

pub(crate) extern "C" fn hsa_memory_free(pointer: *mut c_void) -> Status {
    hsa_amd_memory_pool_free(pointer)
}

pub(crate) extern "C" fn hsa_memory_assign_agent(
    pointer: *mut c_void,
    agent: u64,
    access: u32,
) -> Status {
    enter(|runtime| {
        runtime.agent(agent)?;
        if pointer.is_null() || !(1..=3).contains(&access) {
            return Err(Status::INVALID_ARGUMENT);
        }
        Ok(())
    })
}

pub(crate) extern "C" fn hsa_memory_register(pointer: *mut c_void, size: usize) -> Status {
    enter(|runtime| {
        if (pointer.is_null() && size > 0) || (size == 0 && !pointer.is_null()) {
            return Err(Status::INVALID_ARGUMENT);
        }
        // What a pool has given is registered already.
        if pointer.is_null() || runtime.space.find(pointer as u64).is_some() {
            return Ok(());
        }
        let (base, size) = (pointer as u64, size as u64);
        let block = of_program(base, base, size, Kind::Registered, None)?;
        runtime.space.add(block, &runtime.agents).map(drop)
    })
}

pub(crate) extern "C" fn hsa_memory_deregister(pointer: *mut c_void, _size: usize) -> Status {
    enter(|runtime| {
        let is_it = |it: &Block| it.kind == Kind::Registered;
        // Deregistering what is not registered is allowed.
        runtime.space.remove(pointer as u64, &runtime.agents, is_it);
        Ok(())
    })
}

/// Memory of the program, as agents see it: they can do no more with it than the program.
fn of_program(base: u64, host: u64, size: u64, kind: Kind, pages: Option<Pages>) -> Answer<Block> {
    let is_writable = pages::may_be_written(host, size).ok_or(Status::OUT_OF_RESOURCES)?;
    Ok(Block {
        base,
        host,
        size,
        kind,
        pool: 0,
        owner: 0,
        flags: crate::abi::flag::FINE_GRAINED,
        agents: 0,
        is_writable,
        reach: size,
        slack: 0,
        user_data: 0,
        farewells: Vec::new(),
        keeper: Arc::new(Keeper::Program(pages)),
    })
}

/// Agents by their handles; all GPUs where none is named.
fn agents(runtime: &Runtime, handles: *const u64, count: usize) -> Answer<Vec<&Agent>> {
    // SAFETY: the program says how many there are.
    let handles = unsafe { slice(handles, count) }?;
    if handles.is_empty() {
        return Ok(runtime.agents.iter().collect());
    }
    handles.iter().map(|it| runtime.agent(*it)).collect()
}

fn lock(
    runtime: &Runtime,
    host: *mut c_void,
    size: usize,
    agents: &[&Agent],
    pool: u64,
    pointer: *mut *mut c_void,
) -> Answer {
    if host.is_null() || size == 0 || pointer.is_null() {
        return Err(Status::INVALID_ARGUMENT);
    }
    // SAFETY: the program has room for a pointer, which is not null.
    unsafe { put(pointer, std::ptr::null_mut()) }?;
    let (host, size) = (host as u64, size as u64);
    host.checked_add(size).ok_or(Status::INVALID_ARGUMENT)?;
    let base = match runtime.space.find(host).filter(|it| it.kind == Kind::Pool) {
        // Agents can access it where it is.
        Some(_) => host,
        None => {
            // The program tells locked memory from its own by the address.
            let pages = Pages::reserve(size + host % PAGE, PAGE).ok_or(Status::OUT_OF_RESOURCES)?;
            let base = pages.address() + host % PAGE;
            let block = Block { pool, ..of_program(base, host, size, Kind::Locked, Some(pages))? };
            runtime.space.add(block, agents.iter().copied())?
        }
    };
    // SAFETY: as above.
    unsafe { put(pointer, base as *mut c_void) }
}

pub(crate) extern "C" fn hsa_amd_memory_lock(
    host: *mut c_void,
    size: usize,
    handles: *mut u64,
    count: i32,
    pointer: *mut *mut c_void,
) -> Status {
    enter(|runtime| {
        let count = usize::try_from(count).map_err(|_| Status::INVALID_ARGUMENT)?;
        if (handles.is_null() && count > 0) || (!handles.is_null() && count == 0) {
            return Err(Status::INVALID_ARGUMENT);
        }
        lock(runtime, host, size, &agents(runtime, handles, count)?, 0, pointer)
    })
}

pub(crate) extern "C" fn hsa_amd_memory_lock_to_pool(
    host: *mut c_void,
    size: usize,
    handles: *mut u64,
    count: i32,
    pool: u64,
    flags: u32,
    pointer: *mut *mut c_void,
) -> Status {
    enter(|runtime| {
        let count = usize::try_from(count).map_err(|_| Status::INVALID_ARGUMENT)?;
        let found = runtime.pool(pool).ok_or(Status::INVALID_MEMORY_POOL)?;
        if (handles.is_null() && count > 0) || (!handles.is_null() && count == 0) || flags != 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        if !found.is_host() {
            return Err(Status::INVALID_MEMORY_POOL);
        }
        lock(runtime, host, size, &agents(runtime, handles, count)?, pool, pointer)
    })
}

pub(crate) extern "C" fn hsa_amd_memory_unlock(host: *mut c_void) -> Status {
    enter(|runtime| {
        if host.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        // What was not locked is left alone, as AMD's runtime does.
        if let Some(base) = runtime.space.locked(host as u64, Kind::Locked) {
            runtime.space.remove(base, &runtime.agents, |it| it.kind == Kind::Locked);
        }
        Ok(())
    })
}

pub(crate) extern "C" fn hsa_amd_agents_allow_access(
    count: u32,
    handles: *const u64,
    flags: *const u32,
    pointer: *const c_void,
) -> Status {
    enter(|runtime| {
        if count == 0 || handles.is_null() || !flags.is_null() || pointer.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let allowed = agents(runtime, handles, count as usize)?;
        runtime.space.allow(pointer as u64, &allowed, &runtime.agents)
    })
}

pub(crate) extern "C" fn hsa_amd_memory_pool_can_migrate(
    from: u64,
    to: u64,
    result: *mut bool,
) -> Status {
    enter(|runtime| {
        runtime.pool(from).ok_or(Status::INVALID_MEMORY_POOL)?;
        runtime.pool(to).ok_or(Status::INVALID_MEMORY_POOL)?;
        if result.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        Err(Status::OUT_OF_RESOURCES)
    })
}

pub(crate) extern "C" fn hsa_amd_memory_migrate(
    pointer: *const c_void,
    pool: u64,
    _flags: u32,
) -> Status {
    enter(|runtime| {
        if pointer.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        runtime.pool(pool).ok_or(Status::INVALID_MEMORY_POOL)?;
        Err(Status::OUT_OF_RESOURCES)
    })
}

/// A function of the program that allocates.
type Allocator = extern "C" fn(usize) -> *mut c_void;

pub(crate) extern "C" fn hsa_amd_pointer_info(
    pointer: *const c_void,
    info: *mut PointerInfo,
    allocator: Option<Allocator>,
    count: *mut u32,
    accessible: *mut *mut u64,
) -> Status {
    enter(|runtime| {
        if pointer.is_null() || info.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: the program says how much room there is in the first word, which is not null.
        let room = unsafe { (*info).size } as usize;
        if room < size_of::<u32>() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let block = runtime.space.find(pointer as u64);
        let answer = describe(runtime, block.as_ref(), room.min(size_of::<PointerInfo>()));
        // SAFETY: so many bytes are there.
        unsafe {
            let from = (&raw const answer).cast::<u8>();
            std::ptr::copy_nonoverlapping(from, info.cast(), room.min(size_of::<PointerInfo>()));
        }
        let (Some(allocator), false, false) = (allocator, count.is_null(), accessible.is_null())
        else {
            return Ok(());
        };
        let bits = block.map_or(0, |it| it.agents);
        let agents: Vec<u64> =
            runtime.agents.iter().filter(|it| bits & it.bit() != 0).map(|it| it.handle).collect();
        let place = allocator(agents.len().max(1) * size_of::<u64>()).cast::<u64>();
        if place.is_null() {
            return Err(Status::OUT_OF_RESOURCES);
        }
        // SAFETY: the program has allocated room for all handles, and has room for both answers.
        unsafe {
            std::ptr::copy_nonoverlapping(agents.as_ptr(), place, agents.len());
            put(count, u32::try_from(agents.len()).unwrap_or(0))?;
            put(accessible, place)
        }
    })
}

/// What is known of memory.
fn describe(runtime: &Runtime, block: Option<&Block>, size: usize) -> PointerInfo {
    const UNKNOWN: u32 = 0;
    const ALLOCATED: u32 = 1;
    const LOCKED: u32 = 2;
    let kind = block.map_or(UNKNOWN, |it| match it.kind {
        Kind::Locked | Kind::Registered => LOCKED,
        _ => ALLOCATED,
    });
    let owner = runtime.agents.iter().find(|it| block.is_some_and(|block| block.owner == it.node));
    PointerInfo {
        size: u32::try_from(size).unwrap_or(0),
        kind,
        agent_base_address: block.map_or(0, |it| it.base) as *mut c_void,
        host_base_address: block.map_or(0, |it| it.host) as *mut c_void,
        size_in_bytes: block.map_or(0, |it| usize::try_from(it.size).unwrap_or(0)),
        user_data: block.map_or(0, |it| it.user_data) as *mut c_void,
        agent_owner: owner.map_or(0, |it| it.handle),
        global_flags: block.map_or(0, |it| it.flags),
    }
}

pub(crate) extern "C" fn hsa_amd_pointer_info_set_userdata(
    pointer: *const c_void,
    data: *mut c_void,
) -> Status {
    enter(|runtime| {
        let set = |it: &mut Block| it.user_data = data as usize;
        runtime.space.change(pointer as u64, set).ok_or(Status::INVALID_ARGUMENT)
    })
}

pub(crate) extern "C" fn hsa_amd_register_deallocation_callback(
    pointer: *mut c_void,
    callback: Option<extern "C" fn(*mut c_void, *mut c_void)>,
    data: *mut c_void,
) -> Status {
    enter(|runtime| {
        let (Some(callback), false) = (callback, pointer.is_null()) else {
            return Err(Status::INVALID_ARGUMENT);
        };
        let farewell = Farewell { callback, data: data as usize };
        let added = runtime.space.change(pointer as u64, |it| it.farewells.push(farewell));
        added.ok_or(Status::INVALID_ALLOCATION)
    })
}

pub(crate) extern "C" fn hsa_amd_deregister_deallocation_callback(
    pointer: *mut c_void,
    callback: Option<extern "C" fn(*mut c_void, *mut c_void)>,
) -> Status {
    enter(|runtime| {
        let (Some(callback), false) = (callback, pointer.is_null()) else {
            return Err(Status::INVALID_ARGUMENT);
        };
        let removed = runtime.space.change(pointer as u64, |it| {
            let is_it = |farewell: &Farewell| std::ptr::fn_addr_eq(farewell.callback, callback);
            let at = it.farewells.iter().position(is_it);
            at.map(|at| it.farewells.remove(at)).is_some()
        });
        if removed == Some(true) { Ok(()) } else { Err(Status::INVALID_ARGUMENT) }
    })
}
