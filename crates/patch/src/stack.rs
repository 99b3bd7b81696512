//! The stack of a function that is called.

use hsaco_analysis::{RegisterSet, StackFrame};
use hsaco_isa::Processor;
use hsaco_isa::effects::Flow;
use hsaco_isa::model::{Register, RegisterFile, Special, VgprMsb};
use hsaco_isa::target::{FlatScratch, Generation};
use hsaco_kernarg::{EntryState, EntryValue};

use crate::argument::holder;
use crate::refusal::{Refusal, RefusalKind};
use crate::scratch::ScratchRegisters;
use crate::site::Site;

/// The stack pointer, and the frame pointer, which functions keep.
pub(crate) const POINTERS: Register =
    Register { file: RegisterFile::Sgpr, first: 32, count: 2, half: None };

/// What makes a stack in scratch memory, behind all that the kernel has there.
pub(crate) struct Stack {
    /// The lines before the call.
    pub(crate) lines: Vec<String>,
    /// What they change.
    pub(crate) changed: Vec<Register>,
    /// Bytes of scratch memory that a lane needs with it.
    pub(crate) private_segment: u32,
}

impl Stack {
    /// That of a function with such a frame, called at a place.
    ///
    /// # Errors
    /// Where scratch memory cannot be had.
    pub(crate) fn find(
        site: &Site<'_>,
        frame: StackFrame,
        scratch: &mut ScratchRegisters<'_>,
    ) -> Result<Self, Refusal> {
        let base = site.view().stack().map_err(unsupported)?;
        scratch.avoid(&POINTERS);
        match site.view().tools().processor().limits().flat_scratch {
            FlatScratch::Architected => Ok(Self {
                lines: vec![format!("s_mov_b32 s32, {base:#x}")],
                changed: vec![POINTERS],
                private_segment: base.saturating_add(frame.raised.max(frame.accessed)),
            }),
            _ => Self::set_up(site, base, frame, scratch),
        }
    }

    /// Where kernels set up scratch memory by themselves: as they do it when they begin, unless they have done it.
    fn set_up(
        site: &Site<'_>,
        base: u32,
        frame: StackFrame,
        scratch: &mut ScratchRegisters<'_>,
    ) -> Result<Self, Refusal> {
        // Here the stack pointer counts bytes of a wave.
        let lanes = if site.view().decoder().is_wave32() { 32 } else { 64 };
        let mut stack = Self {
            lines: Vec::new(),
            changed: vec![POINTERS],
            private_segment: base.saturating_add((frame.raised / lanes).max(frame.accessed)),
        };
        if !has_set_up(site) {
            let given = Given::find(site).map_err(|why| told(site, &why))?;
            stack.lines.extend(given.set_up(site, scratch)?);
            stack.changed.extend([Register { count: 2, ..given.buffer }, single(Special::Scc)]);
        }
        stack.lines.push(format!("s_mov_b32 s32, {:#x}", base.saturating_mul(lanes)));
        Ok(stack)
    }
}

/// The registers that calls in a kernel may have to set up scratch memory from, or find it in: they are not to be taken.
pub(crate) fn homes(processor: Processor, entry: Option<&EntryState>) -> Vec<Register> {
    let is_given = processor.limits().flat_scratch != FlatScratch::Architected;
    let given = entry.filter(|_| is_given).and_then(Given::of);
    given.iter().flat_map(Given::registers).collect()
}

/// What scratch memory is set up from.
struct Given {
    buffer: Register,
    flat: Register,
    offset: Register,
}

impl Given {
    /// The registers that hold it at a place, or why none do.
    fn find(site: &Site<'_>) -> Result<Self, String> {
        let held = |value| holder(site, value).map(|it| it.register);
        Ok(Self {
            buffer: held(EntryValue::PrivateSegmentBuffer)?,
            flat: held(EntryValue::FlatScratchInit)?,
            offset: held(EntryValue::PrivateSegmentWaveOffset)?,
        })
    }

    /// The registers that hold it when a kernel begins.
    fn of(entry: &EntryState) -> Option<Self> {
        let held = |value| {
            let found = entry.registers().iter().find(|it| it.holds == value)?;
            Some(found.register)
        };
        Some(Self {
            buffer: held(EntryValue::PrivateSegmentBuffer)?,
            flat: held(EntryValue::FlatScratchInit)?,
            offset: held(EntryValue::PrivateSegmentWaveOffset)?,
        })
    }

    fn registers(&self) -> [Register; 3] {
        [self.buffer, self.flat, self.offset]
    }

    /// The lines that set it up.
    fn set_up(
        &self,
        site: &Site<'_>,
        scratch: &mut ScratchRegisters<'_>,
    ) -> Result<Vec<String>, Refusal> {
        let by_setreg = is_set_by_setreg(site);
        let address = if by_setreg { scratch.sgprs(2, 2)? } else { self.flat };
        Ok(self.lines(by_setreg, address))
    }

    /// The lines that set it up, with the address of scratch memory made in a pair of registers where FLAT_SCRATCH is
    /// none.
    fn lines(&self, by_setreg: bool, address: Register) -> Vec<String> {
        let mut lines = Vec::new();
        if by_setreg {
            let [low, high] = words(address);
            lines.extend(self.add([low.clone(), high.clone()], self.flat));
            lines.push(format!("s_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO), {low}"));
            lines.push(format!("s_setreg_b32 hwreg(HW_REG_FLAT_SCR_HI), {high}"));
        } else {
            lines.extend(
                self.add(["flat_scratch_lo", "flat_scratch_hi"].map(str::to_owned), self.flat),
            );
        }
        lines.extend(self.add(words(self.buffer), self.buffer));
        lines
    }

    /// Where a wave's part begins, of what begins at an address.
    fn add(&self, [to_low, to_high]: [String; 2], address: Register) -> [String; 2] {
        let [low, high] = words(address);
        [
            format!("s_add_u32 {to_low}, {low}, {}", self.offset),
            format!("s_addc_u32 {to_high}, {high}, 0"),
        ]
    }
}

/// The names of the first two of several registers.
fn words(registers: Register) -> [String; 2] {
    let word = |at| Register { first: registers.first + at, count: 1, ..registers }.to_string();
    [word(0), word(1)]
}

/// Whether FLAT_SCRATCH is no register that instructions can name.
fn is_set_by_setreg(site: &Site<'_>) -> bool {
    site.view().tools().processor().generation() == Generation::Gfx10
}

/// Whether the kernel has set up scratch memory before a place, in the way of LLVM, and left it so.
fn has_set_up(site: &Site<'_>) -> bool {
    let view = site.view();
    let stream = view.stream();
    let Some(given) = view.kernel_entry().and_then(Given::of).filter(|_| view.is_closed()) else {
        return false;
    };
    let lines = given.lines(is_set_by_setreg(site), given.flat);
    let text = |step: usize| stream.inst(step).map(|inst| view.decoder().text(&inst));
    let Some(entry) = view.cfg().entry() else { return false };
    let first = view.cfg().blocks()[entry].steps();
    let is_start = |at: &usize| {
        lines.iter().zip(*at..).all(|(line, step)| text(step).is_some_and(|it| it == *line))
    };
    let Some(start) = first.clone().find(is_start) else { return false };
    let end = start + lines.len();
    let flat_scratch = [Special::FlatScratchLo, Special::FlatScratchHi].map(single);
    let changes = |step: usize| {
        let Some(inst) = stream.inst(step) else { return true };
        let effects = view.decoder().effects(&inst, VgprMsb::default());
        let mut written = RegisterSet::default();
        effects.writes().for_each(|it| written.insert(&it));
        let is_written = |it: &Register| written.contains(it);
        let early = || step < start && given.registers().iter().any(is_written);
        let leaves = matches!(inst.flow(), Flow::Call | Flow::IndirectCall | Flow::Trap);
        let sets = || view.decoder().text(&inst).contains("HW_REG_FLAT_SCR");
        leaves
            || is_written(&given.buffer)
            || flat_scratch.iter().any(is_written)
            || early()
            || sets()
    };
    let is_entered_again = view.cfg().predecessors(entry).next().is_some();
    end <= first.end
        && site.step() >= end
        && !is_entered_again
        && (0..stream.len()).filter(|step| !(start..end).contains(step)).all(|step| !changes(step))
}

fn single(special: Special) -> Register {
    Register { file: RegisterFile::Special(special), first: 0, count: 1, half: None }
}

fn unsupported(detail: String) -> Refusal {
    Refusal::new(RefusalKind::Unsupported, detail)
}

fn told(site: &Site<'_>, why: &str) -> Refusal {
    let processor = site.view().tools().processor();
    unsupported(format!("kernels of {processor} set up scratch memory by themselves, and {why}"))
}
