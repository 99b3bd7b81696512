//! Memory that is made, given addresses and opened to agents in three steps: `hsa_amd_vmem_*`.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::pages::Pages;

/// Addresses and memory that programs hold apart.
#[derive(Debug, Default)]
pub(crate) struct Handles {
    pub(crate) memory: HashMap<u64, Memory>,
    pub(crate) reserved: BTreeMap<u64, Arc<Pages>>,
    /// Where memory is mapped: its handle and size, by address.
    pub(crate) mapped: BTreeMap<u64, (u64, u64)>,
}

/// Memory without an address.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) pool: u64,
    pub(crate) size: u64,
    pub(crate) kind: u32,
    pub(crate) file: std::os::fd::OwnedFd,
    /// Handles and mappings that hold it.
    pub(crate) holders: u64,
    /// Handles alone.
    pub(crate) handles: u64,
}
