//! A kernel that is in a device's memory: what its descriptor says, and its code as far as it was translated.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use hsaco_isa::target::{AccVgprs, Generation};
use hsaco_kernarg::EntryState;
use hsaco_object::descriptor::KernelDescriptor;

use crate::device::Device;
use crate::error::{Error, ErrorKind, Result};
use crate::exec::exception;
use crate::semantics::Fidelity;
use crate::translate::{Program, Target};
use crate::wave::{Layout, Wave};

/// Bytes of registers and scratch memory that are kept for the next launch, for each thread.
const SPARE_BYTES: usize = 1 << 20;

/// A kernel of a device, to be launched any number of times: its code is translated when it first runs, and kept.
///
/// After a change of the code in memory another one is made.
pub struct KernelCode {
    pub(crate) name: String,
    /// Where its descriptor is.
    pub(crate) address: u64,
    pub(crate) descriptor: KernelDescriptor,
    pub(crate) entry: EntryState,
    /// Where the first instruction is.
    pub(crate) start: u64,
    pub(crate) target: Target,
    pub(crate) layout: Layout,
    pub(crate) narrow: Mutex<Vec<Translated<4>>>,
    pub(crate) wide: Mutex<Vec<Translated<8>>>,
}

/// What one thread leaves to the next.
pub(crate) struct Translated<const C: usize> {
    pub(crate) program: Program<C>,
    /// Waves whose memory is used again.
    pub(crate) spare: Vec<Wave<C>>,
}

impl<const C: usize> Translated<C> {
    /// Puts it where the next thread finds it.
    pub(crate) fn keep(mut self, shelf: &Mutex<Vec<Self>>) {
        let bytes = |it: &Wave<C>| size_of_val(&*it.v) + size_of_val(&*it.scratch);
        let mut all = 0;
        self.spare.retain(|it| {
            all += bytes(it);
            all <= SPARE_BYTES
        });
        shelf.lock().unwrap_or_else(PoisonError::into_inner).push(self);
    }
}

/// How often each mnemonic ran, and how far its results can be trusted.
pub type MnemonicCounts = BTreeMap<&'static str, (Fidelity, u64)>;

/// Takes the counts of a program's blocks, which begin again at zero.
pub(crate) fn count<const C: usize>(
    program: &mut Program<C>,
    column: usize,
    counts: &mut MnemonicCounts,
) {
    for block in &mut program.blocks {
        if block.runs == 0 {
            continue;
        }
        for semantics in &block.semantics {
            let fidelity = semantics.fidelity_on(column);
            counts.entry(semantics.mnemonic).or_insert((fidelity, 0)).1 += block.runs;
        }
        block.runs = 0;
    }
}

impl fmt::Debug for KernelCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KernelCode({} at {:#x})", self.name, self.address)
    }
}

fn setup(detail: String) -> Error {
    Error::new(ErrorKind::Setup, detail)
}

impl KernelCode {
    /// The kernel whose descriptor is at an address of a device's memory.
    ///
    /// # Errors
    /// There is no descriptor, or it does not fit the device.
    pub fn new(device: &Device, name: &str, address: u64) -> Result<Self> {
        let bytes = device.memory.read(address, KernelDescriptor::SIZE)?;
        let descriptor = KernelDescriptor::parse(&bytes).map_err(|it| setup(it.to_string()))?;
        let processor = device.processor();
        let entry = EntryState::new(processor, &descriptor).map_err(|it| setup(it.to_string()))?;
        let start = descriptor
            .entry(address)
            .and_then(|it| it.checked_add(entry.preload().map_or(0, |it| it.skipped).into()))
            .ok_or_else(|| setup(format!("{name} has no entry")))?;
        check_exceptions(descriptor.compute_pgm_rsrc2, processor.generation())?;
        let target =
            Target { processor, generation: processor.generation(), revision: device.revision };
        Ok(Self {
            name: name.to_owned(),
            address,
            layout: layout(target, &descriptor),
            descriptor,
            entry,
            start,
            target,
            narrow: Mutex::default(),
            wide: Mutex::default(),
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its descriptor.
    #[must_use]
    pub fn descriptor(&self) -> &KernelDescriptor {
        &self.descriptor
    }

    /// Takes what launches of packets have counted so far, of threads that have ended.
    #[must_use]
    pub fn take_counts(&self) -> MnemonicCounts {
        let mut counts = MnemonicCounts::new();
        let column = self.target.column();
        let narrow = &mut *self.narrow.lock().unwrap_or_else(PoisonError::into_inner);
        narrow.iter_mut().for_each(|it| count(&mut it.program, column, &mut counts));
        let wide = &mut *self.wide.lock().unwrap_or_else(PoisonError::into_inner);
        wide.iter_mut().for_each(|it| count(&mut it.program, column, &mut counts));
        counts
    }
}

/// Of exceptions that a descriptor asks to trap, divisions by zero are modelled, up to gfx11.
fn check_exceptions(rsrc2: u32, generation: Generation) -> Result<()> {
    let asked = exception::of_descriptor(rsrc2);
    if asked != 0 && (generation >= Generation::Gfx12 || exception::are_others(asked)) {
        let detail = "the kernel asks for traps at exceptions of arithmetic that are not modelled";
        return Err(Error::new(ErrorKind::Unsupported, detail));
    }
    Ok(())
}

fn layout(target: Target, descriptor: &KernelDescriptor) -> Layout {
    let generation = target.generation;
    let all = u16::try_from(descriptor.vgprs(generation)).unwrap_or(u16::MAX);
    let limits = target.processor.limits();
    if limits.acc_vgprs == AccVgprs::None {
        return Layout { vgprs: all, agprs: 0 };
    }
    let offset =
        descriptor.accum_offset(generation).map_or(all, |it| u16::try_from(it).unwrap_or(u16::MAX));
    let agprs = if generation >= Generation::Gfx90a { all.saturating_sub(offset) } else { 256 };
    Layout { vgprs: offset.min(all), agprs }
}
