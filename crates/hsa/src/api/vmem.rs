//! Memory in three steps: addresses, memory, and who may access it there.

use std::ffi::c_void;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;

use crate::abi::{AccessDescription, Answer, Status};
use crate::pages::{PAGE, Pages};
use crate::runtime::vmem::{Handles, Memory};
use crate::runtime::{self, Runtime, enter};
use crate::space::{Block, Keeper, Kind};
use crate::value::{put, slice};

fn is_whole(size: u64) -> bool {
    size > 0 && size.is_multiple_of(PAGE)
}

pub(crate) extern "C" fn hsa_amd_vmem_address_reserve(
    address: *mut *mut c_void,
    size: usize,
    wanted: u64,
    flags: u64,
) -> Status {
    hsa_amd_vmem_address_reserve_align(address, size, wanted, 0, flags)
}

pub(crate) extern "C" fn hsa_amd_vmem_address_reserve_align(
    address: *mut *mut c_void,
    size: usize,
    _wanted: u64,
    alignment: u64,
    _flags: u64,
) -> Status {
    enter(|runtime| {
        let is_aligned = alignment == 0 || (alignment.is_power_of_two() && alignment < 1 << 40);
        if address.is_null() || !is_whole(size as u64) || !is_aligned {
            return Err(Status::INVALID_ARGUMENT);
        }
        let pages = Pages::reserve(size as u64, alignment).ok_or(Status::OUT_OF_RESOURCES)?;
        let start = pages.address();
        runtime::lock(&runtime.handles).reserved.insert(start, Arc::new(pages));
        // SAFETY: the program has room for a pointer, which is not null.
        unsafe { put(address, start as *mut c_void) }
    })
}

pub(crate) extern "C" fn hsa_amd_vmem_address_free(address: *mut c_void, size: usize) -> Status {
    enter(|runtime| {
        let mut handles = runtime::lock(&runtime.handles);
        let start = address as u64;
        let pages = handles.reserved.get(&start).ok_or(Status::INVALID_ALLOCATION)?;
        if pages.size() != size as u64 {
            return Err(Status::INVALID_ARGUMENT);
        }
        if handles.mapped.range(start..start + size as u64).next().is_some() {
            return Err(Status::RESOURCE_FREE);
        }
        handles.reserved.remove(&start);
        Ok(())
    })
}

pub(crate) extern "C" fn hsa_amd_vmem_handle_create(
    pool: u64,
    size: usize,
    kind: u32,
    _flags: u64,
    handle: *mut u64,
) -> Status {
    enter(|runtime| {
        let found = runtime.pool(pool).ok_or(Status::INVALID_MEMORY_POOL)?;
        if handle.is_null() || !is_whole(size as u64) || kind > 1 {
            return Err(Status::INVALID_ARGUMENT);
        }
        if found.is_group() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let size = size as u64;
        if let Some(gpu) = &found.agent.gpu {
            gpu.take(size)?;
        }
        let file = file_of(size)?;
        let memory = Memory { pool, size, kind, file, holders: 1, handles: 1 };
        let number = runtime.handle();
        runtime::lock(&runtime.handles).memory.insert(number, memory);
        // SAFETY: the program has room for the handle, which is not null.
        unsafe { put(handle, number) }
    })
}

/// Memory that can be mapped at several places.
fn file_of(size: u64) -> Answer<OwnedFd> {
    // SAFETY: makes a new file without a path; the name is static text.
    let file = unsafe { libc::memfd_create(c"hsaco".as_ptr(), libc::MFD_CLOEXEC) };
    if file < 0 {
        return Err(Status::OUT_OF_RESOURCES);
    }
    // SAFETY: the file was made just now, and belongs to this call alone.
    let file = unsafe { OwnedFd::from_raw_fd(file) };
    let length = libc::off_t::try_from(size).map_err(|_| Status::OUT_OF_RESOURCES)?;
    // SAFETY: the file is open.
    let is_set = unsafe { libc::ftruncate(file.as_raw_fd(), length) } == 0;
    is_set.then_some(file).ok_or(Status::OUT_OF_RESOURCES)
}

/// Lets go of memory; the last one gives it back.
fn let_go(runtime: &Runtime, handles: &mut Handles, handle: u64) -> Answer {
    let memory = handles.memory.get_mut(&handle).ok_or(Status::INVALID_ALLOCATION)?;
    memory.holders -= 1;
    if memory.holders == 0
        && let Some(memory) = handles.memory.remove(&handle)
        && let Some(gpu) = runtime.pool(memory.pool).and_then(|it| it.agent.gpu.as_ref())
    {
        gpu.give_back(memory.size);
    }
    Ok(())
}

pub(crate) extern "C" fn hsa_amd_vmem_handle_release(handle: u64) -> Status {
    enter(|runtime| {
        let mut handles = runtime::lock(&runtime.handles);
        let memory = handles.memory.get_mut(&handle).ok_or(Status::INVALID_ALLOCATION)?;
        memory.handles = memory.handles.checked_sub(1).ok_or(Status::INVALID_ALLOCATION)?;
        let_go(runtime, &mut handles, handle)
    })
}

pub(crate) extern "C" fn hsa_amd_vmem_map(
    address: *mut c_void,
    size: usize,
    offset: usize,
    handle: u64,
    _flags: u64,
) -> Status {
    enter(|runtime| {
        let mut handles = runtime::lock(&runtime.handles);
        let (start, size) = (address as u64, size as u64);
        if address.is_null() || !is_whole(size) || !start.is_multiple_of(PAGE) || offset != 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        let end = start.checked_add(size).ok_or(Status::INVALID_ARGUMENT)?;
        let memory = handles.memory.get(&handle).filter(|it| it.handles > 0);
        let memory = memory.ok_or(Status::INVALID_ALLOCATION)?;
        if memory.size != size {
            return Err(Status::INVALID_ARGUMENT);
        }
        let reserved = handles.reserved.range(..=start).next_back();
        reserved.filter(|it| it.0 + it.1.size() >= end).ok_or(Status::INVALID_ALLOCATION)?;
        let before = handles.mapped.range(..end).next_back();
        if before.is_some_and(|it| it.0 + it.1.1 > start) {
            return Err(Status::INVALID_ALLOCATION);
        }
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let length = usize::try_from(size).map_err(|_| Status::INVALID_ARGUMENT)?;
        // SAFETY: replaces pages of a reservation that nothing is mapped to, by pages of the memory's file.
        let mapped =
            unsafe { libc::mmap(address, length, access, flags, memory.file.as_raw_fd(), 0) };
        if mapped == libc::MAP_FAILED {
            return Err(Status::OUT_OF_RESOURCES);
        }
        if let Some(memory) = handles.memory.get_mut(&handle) {
            memory.holders += 1;
        }
        handles.mapped.insert(start, (handle, size));
        Ok(())
    })
}

pub(crate) extern "C" fn hsa_amd_vmem_unmap(address: *mut c_void, size: usize) -> Status {
    enter(|runtime| {
        let mut handles = runtime::lock(&runtime.handles);
        let start = address as u64;
        let (handle, mapped) = *handles.mapped.get(&start).ok_or(Status::INVALID_ALLOCATION)?;
        if mapped != size as u64 {
            return Err(Status::INVALID_ARGUMENT);
        }
        runtime.space.remove(start, &runtime.agents, |it| it.kind == Kind::Mapped);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        // A kernel that still accesses them must not end the process.
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: replaces pages that were mapped by `hsa_amd_vmem_map` by empty ones of the reservation they are in.
        unsafe { libc::mmap(address, size, access, flags, -1, 0) };
        handles.mapped.remove(&start);
        let_go(runtime, &mut handles, handle)
    })
}

pub(crate) extern "C" fn hsa_amd_vmem_set_access(
    address: *mut c_void,
    size: usize,
    list: *const AccessDescription,
    count: usize,
) -> Status {
    enter(|runtime| {
        let handles = runtime::lock(&runtime.handles);
        let start = address as u64;
        let (handle, mapped) = *handles.mapped.get(&start).ok_or(Status::INVALID_ALLOCATION)?;
        // SAFETY: the program says how many there are.
        let list = unsafe { slice(list, count) }?;
        if mapped != size as u64 || list.is_empty() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let agents = list.iter().map(|it| runtime.agent(it.agent)).collect::<Answer<Vec<_>>>()?;
        let pool = handles.memory.get(&handle).map_or(0, |it| it.pool);
        let (owner, flags) = runtime.pool(pool).map_or((0, 0), |it| (it.agent.node, it.flags()));
        let (_, reserved) =
            handles.reserved.range(..=start).next_back().ok_or(Status::INVALID_ALLOCATION)?;
        let can = |it: &&AccessDescription| it.permissions != 0;
        let is_writable = list.iter().filter(can).all(|it| it.permissions & 2 != 0);
        runtime.space.remove(start, &runtime.agents, |it| it.kind == Kind::Mapped);
        let block = Block {
            base: start,
            host: start,
            size: mapped,
            kind: Kind::Mapped,
            pool,
            owner,
            flags,
            agents: 0,
            is_writable,
            reach: mapped,
            slack: 0,
            user_data: 0,
            farewells: Vec::new(),
            keeper: Arc::new(Keeper::Reserved(Arc::clone(reserved))),
        };
        let allowed = agents.iter().zip(list).filter(|it| can(&it.1)).map(|it| *it.0);
        runtime.space.add(block, allowed).map(drop)
    })
}

pub(crate) extern "C" fn hsa_amd_vmem_get_access(
    address: *mut c_void,
    access: *mut u32,
    agent: u64,
) -> Status {
    enter(|runtime| {
        let bit = runtime.agent(agent)?.bit();
        if address.is_null() || access.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let handles = runtime::lock(&runtime.handles);
        handles.mapped.get(&(address as u64)).ok_or(Status::INVALID_ALLOCATION)?;
        let block = runtime.space.find(address as u64).filter(|it| it.agents & bit != 0);
        let answer = block.map_or(0, |it| if it.is_writable { 3 } else { 1 });
        // SAFETY: the program has room for the number, which is not null.
        unsafe { put(access, answer) }
    })
}

pub(crate) extern "C" fn hsa_amd_vmem_export_shareable_handle(
    file: *mut i32,
    handle: u64,
    _flags: u64,
) -> Status {
    enter(|runtime| {
        if file.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let handles = runtime::lock(&runtime.handles);
        let memory = handles.memory.get(&handle).ok_or(Status::INVALID_ALLOCATION)?;
        let copy = memory.file.try_clone().map_err(|_| Status::OUT_OF_RESOURCES)?;
        // SAFETY: the program has room for the number, which is not null. It closes the file itself.
        unsafe { put(file, std::os::fd::IntoRawFd::into_raw_fd(copy)) }
    })
}

pub(crate) extern "C" fn hsa_amd_vmem_import_shareable_handle(
    file: i32,
    handle: *mut u64,
) -> Status {
    enter(|runtime| {
        if handle.is_null() || file < 0 {
            return Err(Status::INVALID_ARGUMENT);
        }
        // SAFETY: the program's file is open while it waits for the answer; if not, copying it fails.
        let borrowed = unsafe { BorrowedFd::borrow_raw(file) };
        let file = borrowed.try_clone_to_owned().map_err(|_| Status::INVALID_ARGUMENT)?;
        let size = std::fs::File::from(file.try_clone().map_err(|_| Status::OUT_OF_RESOURCES)?)
            .metadata()
            .map_err(|_| Status::INVALID_ARGUMENT)?
            .len();
        if !is_whole(size) {
            return Err(Status::INVALID_ARGUMENT);
        }
        let pool = runtime.host()?.pools().next().map_or(0, |it| it.handle);
        let memory = Memory { pool, size, kind: 1, file, holders: 1, handles: 1 };
        let number = runtime.handle();
        runtime::lock(&runtime.handles).memory.insert(number, memory);
        // SAFETY: the program has room for the handle, which is not null.
        unsafe { put(handle, number) }
    })
}

pub(crate) extern "C" fn hsa_amd_vmem_retain_alloc_handle(
    handle: *mut u64,
    address: *mut c_void,
) -> Status {
    enter(|runtime| {
        if handle.is_null() || address.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let mut handles = runtime::lock(&runtime.handles);
        let (number, _) =
            *handles.mapped.get(&(address as u64)).ok_or(Status::INVALID_ALLOCATION)?;
        let memory = handles.memory.get_mut(&number).ok_or(Status::INVALID_ALLOCATION)?;
        memory.holders += 1;
        memory.handles += 1;
        // SAFETY: the program has room for the handle, which is not null.
        unsafe { put(handle, number) }
    })
}

pub(crate) extern "C" fn hsa_amd_vmem_get_alloc_properties_from_handle(
    handle: u64,
    pool: *mut u64,
    kind: *mut u32,
) -> Status {
    enter(|runtime| {
        if pool.is_null() || kind.is_null() {
            return Err(Status::INVALID_ARGUMENT);
        }
        let handles = runtime::lock(&runtime.handles);
        let memory = handles.memory.get(&handle).ok_or(Status::INVALID_ALLOCATION)?;
        // SAFETY: the program has room for both answers, which are not null.
        unsafe {
            put(pool, memory.pool)?;
            put(kind, memory.kind)
        }
    })
}
