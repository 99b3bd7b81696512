//! `HSACO_DUMP`: code objects, and dispatches with the memory that their arguments point to.
//!
//! Nothing else of a program's memory is written: what arguments do not point to is none of a kernel's.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use hsaco_describe::replay::{KeptDispatch, KeptMemory, REPLAY_FILE};
use hsaco_emu::{KernelCode, Places};
use hsaco_kernarg::{DispatchPacket, Packet};

use crate::agent::Agent;
use crate::log;
use crate::runtime::Runtime;
use crate::space::{Block, Kind};

/// Bytes of one allocation that are kept at most.
const MOST: u64 = 64 << 20;

/// Keeps a code object.
pub(crate) fn object(folder: &Path, number: u64, bytes: &[u8]) {
    write(&folder.join(format!("object-{number:04}.co")), bytes);
}

fn write(path: &Path, bytes: &[u8]) {
    let parent = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    if let Err(error) = parent.and_then(|()| std::fs::write(path, bytes)) {
        log::once(&format!("HSACO_DUMP: {}: {error}", path.display()));
    }
}

/// A dispatch that is being kept.
pub(crate) struct Dumped {
    folder: PathBuf,
    kept: KeptDispatch,
    device: std::sync::Arc<hsaco_emu::Device>,
}

impl Dumped {
    /// Keeps what there is before it runs.
    pub(crate) fn new(
        runtime: &Runtime,
        folder: &Path,
        agent: &Agent,
        code: &KernelCode,
        packet: &DispatchPacket,
        places: &Places,
    ) -> Option<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let gpu = agent.gpu.as_ref()?;
        let folder = folder.join(format!("dispatch-{:05}", NUMBER.fetch_add(1, Relaxed)));
        let device = std::sync::Arc::clone(&gpu.device);
        let dimensions = usize::from(packet.dimensions);
        let sizes = |all: [u32; 3]| all.into_iter().take(dimensions).collect();
        let mut it = Self {
            folder,
            kept: KeptDispatch {
                schema_version: 1,
                target: gpu.model.target.to_string(),
                kernel: code.name().to_owned(),
                kernel_object: packet.kernel_object,
                kernarg_address: packet.kernarg_address,
                packet_address: places.packet,
                queue_address: places.queue,
                grid: sizes(packet.grid),
                workgroup: sizes(packet.workgroup.map(u32::from)),
                group_segment: packet.group_segment,
                private_segment: packet.private_segment,
                memory: Vec::new(),
            },
            device,
        };
        it.keep_code(runtime, packet.kernel_object);
        let size = u64::from(code.descriptor().kernarg_size).next_multiple_of(8);
        it.keep_arguments(runtime, packet.kernarg_address, size);
        it.keep(places.packet, Packet::SIZE as u64, false);
        it.keep(places.queue, 256, false);
        it.describe();
        Some(it)
    }

    /// The code of the kernel's object and of those loaded beside it, with their variables.
    fn keep_code(&mut self, runtime: &Runtime, kernel: u64) {
        let Some(own) = runtime.space.find(kernel).filter(|it| it.kind == Kind::Code) else {
            return;
        };
        for block in runtime.space.all(|it| it.kind == Kind::Code && it.pool == own.pool) {
            self.keep_block(&block);
        }
    }

    /// The arguments, and the allocations that they point into.
    fn keep_arguments(&mut self, runtime: &Runtime, address: u64, size: u64) {
        for at in (0..size).step_by(8) {
            let Ok(bytes) = self.device.memory.read(address + at, 8) else { continue };
            let pointer = u64::from_le_bytes(bytes.first_chunk().copied().unwrap_or([0; 8]));
            let points = |it: &Block| !matches!(it.kind, Kind::Code | Kind::Queue);
            if let Some(block) = runtime.space.find(pointer).filter(points) {
                self.keep_block(&block);
            }
        }
        self.keep(address, size, false);
    }

    fn keep_block(&mut self, block: &Block) {
        self.keep(block.base, block.reach, block.is_writable);
    }

    /// Memory that is not kept yet.
    fn keep(&mut self, address: u64, size: u64, is_writable: bool) {
        let overlaps =
            |it: &KeptMemory| address < it.address + it.size && it.address < address + size;
        if size == 0 || self.kept.memory.iter().any(overlaps) {
            return;
        }
        let before = format!("{address:x}.before");
        let bytes = self.read(address, size);
        if let Some(bytes) = &bytes {
            write(&self.folder.join(&before), bytes);
        }
        let before = bytes.map(|_| before);
        self.kept.memory.push(KeptMemory { address, size, is_writable, before, after: None });
    }

    fn read(&self, address: u64, size: u64) -> Option<Vec<u8>> {
        let size = usize::try_from(size).ok().filter(|_| size <= MOST)?;
        self.device.memory.read(address, size).ok()
    }

    fn describe(&self) {
        match serde_json::to_vec_pretty(&self.kept) {
            Ok(text) => write(&self.folder.join(REPLAY_FILE), &text),
            Err(error) => log::once(&format!("HSACO_DUMP: {error}")),
        }
    }

    /// Keeps what the kernel has changed.
    pub(crate) fn end(mut self) {
        let mut memory = std::mem::take(&mut self.kept.memory);
        for kept in memory.iter_mut().filter(|it| it.is_writable && it.before.is_some()) {
            let Some(bytes) = self.read(kept.address, kept.size) else { continue };
            let before = kept.before.as_ref().map(|it| std::fs::read(self.folder.join(it)));
            if !matches!(before, Some(Ok(before)) if before == bytes) {
                let after = format!("{:x}.after", kept.address);
                write(&self.folder.join(&after), &bytes);
                kept.after = Some(after);
            }
        }
        self.kept.memory = memory;
        self.describe();
    }
}
