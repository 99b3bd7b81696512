//! The address space that the host and its GPUs share: what is allocated, locked and mapped, and who may access it.

use std::any::Any;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hsaco_emu::HostMemory;

use crate::abi::{Answer, Status};
use crate::agent::{Agent, Gpu};
use crate::pages::{self, PAGE, Pages};

/// What a range of addresses is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Allocated from a pool.
    Pool,
    /// Memory of the program, at an address of its own for agents.
    Locked,
    /// Memory of the program, at its own address.
    Registered,
    /// Of a loaded code object.
    Code,
    /// A queue and its packets.
    Queue,
    /// Memory of a handle, mapped at addresses that were reserved.
    Mapped,
}

/// A function of the program, called when memory is given back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Farewell {
    pub(crate) callback: extern "C" fn(*mut c_void, *mut c_void),
    pub(crate) data: usize,
}

/// A range of addresses.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Where it begins for agents.
    pub(crate) base: u64,
    /// Where the same bytes are for the host.
    pub(crate) host: u64,
    pub(crate) size: u64,
    pub(crate) kind: Kind,
    /// The pool that it is from, or the executable; 0 is none.
    pub(crate) pool: u64,
    /// The agent that it belongs to, by number.
    pub(crate) owner: u32,
    pub(crate) flags: u32,
    /// The agents that may access it, as bits.
    pub(crate) agents: u64,
    pub(crate) is_writable: bool,
    /// Bytes that kernels may access: its own, or all of its pages.
    pub(crate) reach: u64,
    /// Bytes behind those that may be read.
    pub(crate) slack: u64,
    pub(crate) user_data: usize,
    pub(crate) farewells: Vec<Farewell>,
    pub(crate) keeper: Arc<Keeper>,
}

/// What holds the memory of a block.
#[derive(Debug)]
pub(crate) enum Keeper {
    Pages(#[allow(dead_code, reason = "held for its end alone")] Pages),
    /// Addresses that stand for memory of the program, which keeps that itself until it unlocks it.
    Program(#[allow(dead_code, reason = "held for its end alone")] Option<Pages>),
    /// Addresses that a program has reserved, and mapped memory to.
    Reserved(#[allow(dead_code, reason = "held for its end alone")] Arc<Pages>),
}

impl Block {
    /// Memory of its own.
    pub(crate) fn of_pages(pages: Pages, size: u64, kind: Kind, owner: &Agent) -> Self {
        let base = pages.address();
        Self {
            base,
            host: base,
            size,
            kind,
            pool: 0,
            owner: owner.node,
            flags: 0,
            agents: 0,
            is_writable: true,
            reach: size,
            slack: pages.size() - size,
            user_data: 0,
            farewells: Vec::new(),
            keeper: Arc::new(Keeper::Pages(pages)),
        }
    }

    /// The same, with what is behind it on its last page: hardware protects pages, and libraries of ROCm write there.
    pub(crate) fn with_whole_pages(self) -> Self {
        Self { reach: self.reach + self.slack, slack: 0, ..self }
    }

    fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.base) < self.size.max(1)
    }

    /// As a device sees it.
    fn seen(&self) -> HostMemory {
        // SAFETY: pages are held by the keeper, which the device holds as long as it can access the words. Memory of the
        // program stays while it is locked or registered: the program has promised that when it asked for it.
        let words = unsafe { pages::words(self.host, self.reach + self.slack) };
        let skipped = self.host % 8;
        let keeper: Arc<dyn Any + Send + Sync> = self.keeper.clone();
        HostMemory {
            words,
            bytes: skipped..skipped + self.reach,
            address: self.base,
            is_writable: self.is_writable,
            slack: self.slack,
            keeper,
        }
    }
}

/// All ranges that agents may access.
#[derive(Debug, Default)]
pub(crate) struct Space {
    blocks: Mutex<BTreeMap<u64, Block>>,
}

impl Space {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Block>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a block, for these agents.
    pub(crate) fn add<'a>(
        &self,
        mut block: Block,
        agents: impl IntoIterator<Item = &'a Agent>,
    ) -> Answer<u64> {
        let base = block.base;
        let mut blocks = self.lock();
        for agent in agents {
            allow(&mut block, agent)?;
        }
        blocks.insert(base, block);
        Ok(base)
    }

    /// Lets agents access what an address is in, and no others but those that always may.
    pub(crate) fn allow<'a>(&self, address: u64, agents: &[&'a Agent], all: &'a [Agent]) -> Answer {
        let mut blocks = self.lock();
        let block = of(&mut blocks, address).ok_or(Status::INVALID_ALLOCATION)?;
        for agent in agents {
            allow(block, agent)?;
        }
        // Memory of the host stays open to all; that of a GPU to itself.
        if block.owner != 0 {
            let wanted = |it: &Agent| {
                it.node == block.owner || agents.iter().any(|other| other.node == it.node)
            };
            for agent in all.iter().filter(|it| !wanted(it)) {
                if let Some(gpu) = agent.gpu.as_ref().filter(|_| block.agents & agent.bit() != 0) {
                    gpu.device.memory.free(block.base);
                }
                block.agents &= !agent.bit();
            }
        }
        Ok(())
    }

    /// Takes a block that begins at an address away from agents.
    pub(crate) fn remove(
        &self,
        base: u64,
        all: &[Agent],
        is_it: impl Fn(&Block) -> bool,
    ) -> Option<Block> {
        let mut blocks = self.lock();
        blocks.get(&base).filter(|it| is_it(it))?;
        let block = blocks.remove(&base)?;
        for agent in all.iter().filter(|it| block.agents & it.bit() != 0) {
            if let Some(gpu) = &agent.gpu {
                gpu.device.memory.free(base);
            }
        }
        Some(block)
    }

    /// The block that an address is in.
    pub(crate) fn find(&self, address: u64) -> Option<Block> {
        of(&mut self.lock(), address).cloned()
    }

    /// Blocks that are wanted.
    pub(crate) fn all(&self, is_it: impl Fn(&Block) -> bool) -> Vec<Block> {
        self.lock().values().filter(|it| is_it(it)).cloned().collect()
    }

    /// Changes the block that an address is in.
    pub(crate) fn change<R>(
        &self,
        address: u64,
        change: impl FnOnce(&mut Block) -> R,
    ) -> Option<R> {
        of(&mut self.lock(), address).map(change)
    }

    /// Memory of the program that is locked at an address of the host: where it is for agents. The latest comes first.
    pub(crate) fn locked(&self, host: u64, kind: Kind) -> Option<u64> {
        let blocks = self.lock();
        blocks.values().rev().find(|it| it.kind == kind && it.host == host).map(|it| it.base)
    }

    /// Where the host has so many bytes that a program names; whether they are known to be there.
    pub(crate) fn translate(&self, address: u64, size: u64) -> (u64, bool) {
        let mut blocks = self.lock();
        match of(&mut blocks, address) {
            Some(block) => {
                let into = address - block.base;
                (block.host + into, size <= block.size - into)
            }
            None => (address, false),
        }
    }

    /// Everything, to be given back.
    pub(crate) fn take(&self) -> Vec<Block> {
        std::mem::take(&mut *self.lock()).into_values().collect()
    }
}

fn of(blocks: &mut BTreeMap<u64, Block>, address: u64) -> Option<&mut Block> {
    let (_, block) = blocks.range_mut(..=address).next_back()?;
    block.contains(address).then_some(block)
}

fn allow(block: &mut Block, agent: &Agent) -> Answer {
    if block.agents & agent.bit() != 0 {
        return Ok(());
    }
    if let Some(gpu) = &agent.gpu {
        gpu.device.memory.share(block.seen()).map_err(|_| Status::OUT_OF_RESOURCES)?;
    }
    block.agents |= agent.bit();
    Ok(())
}

impl Gpu {
    /// Counts memory that is allocated; refuses more than there is.
    pub(crate) fn take(&self, bytes: u64) -> Answer {
        let most = self.model.memory;
        let add = |used: u64| used.checked_add(bytes).filter(|it| *it <= most);
        self.used
            .fetch_update(Relaxed, Relaxed, add)
            .map(drop)
            .map_err(|_| Status::OUT_OF_RESOURCES)
    }

    pub(crate) fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Relaxed);
    }
}

/// What an allocation of so many bytes takes.
pub(crate) fn whole_pages(size: u64) -> u64 {
    size.max(1).next_multiple_of(PAGE)
}
