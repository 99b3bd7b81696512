//! A function as rules see it: instructions, control flow, live registers, and what the object says of it.

mod instructions;
mod needs;
mod outstanding;

use std::cell::OnceCell;

use hsaco_analysis::{Address, Cfg, Focus, FunctionKind, RegisterSet, Stream};
use hsaco_isa::effects::Flow;
use hsaco_isa::model::{Register, VgprMsb};
use hsaco_isa::{Decoder, Inst};
use hsaco_kernarg::EntryState;

use crate::budget::RegisterBudget;
use crate::dialect::Dialect;
use crate::jump;
use crate::option::Options;
use crate::tools::Tools;
use instructions::{Entered, Instructions};
use needs::Needs;

pub(crate) use needs::focus_on;

/// VGPR MSBs that have every operand in the same bank, for each of the four: where they are not known, any may be.
pub(crate) const EVERY_MSB: [u8; 4] = [0x00, 0x55, 0xaa, 0xff];

/// What the object says of a function, and its instructions do not show.
///
/// ```
/// use hsaco_analysis::FunctionKind;
/// use hsaco_patch::{RegisterBudget, Surroundings};
/// let budget = RegisterBudget { sgprs: 32, max_sgprs: 106, vgprs: 64, max_vgprs: 1024, unused: None };
/// let surroundings = Surroundings::alone(FunctionKind::Kernel, budget);
/// # drop(surroundings);
/// ```
pub struct Surroundings<'a> {
    pub(crate) kind: FunctionKind,
    /// What the kernels allocate that may run it.
    pub(crate) budget: RegisterBudget,
    /// Other code enters it in its middle: its own control flow does not show how.
    pub(crate) is_entered_inside: bool,
    /// No code of the object sets VGPR MSBs, so calls leave them as they are.
    pub(crate) calls_keep_msbs: bool,
    /// What registers hold when its kernel begins.
    pub(crate) entry: Option<EntryState>,
    /// Registers that are not to be taken, as calls pass on what they hold.
    pub(crate) reserved: RegisterSet,
    /// Where a stack may begin in scratch memory, or why none may.
    pub(crate) stack: Result<u32, String>,
    /// All code of the object, with its addresses.
    pub(crate) code: &'a [(u64, &'a [u8])],
    /// Its kernels begin with denormals of 16 bits kept; else they are flushed, or may be.
    pub(crate) starts_with_denormals: bool,
}

impl Surroundings<'_> {
    /// Those of a function that is all there is.
    #[must_use]
    pub fn alone(kind: FunctionKind, budget: RegisterBudget) -> Self {
        Surroundings {
            kind,
            budget,
            is_entered_inside: false,
            calls_keep_msbs: false,
            entry: None,
            reserved: RegisterSet::default(),
            stack: Err("nothing is known of scratch memory".to_owned()),
            code: &[],
            starts_with_denormals: true,
        }
    }
}

/// One function, analysed lazily: each answer is computed on the first question.
pub struct View<'a> {
    code: Instructions<'a>,
    options: &'a Options,
    surroundings: Surroundings<'a>,
    all: Needs,
    scalars: Needs,
    keeps_denormals: OnceCell<bool>,
    has_matrices: OnceCell<bool>,
}

impl<'a> View<'a> {
    /// A function and what surrounds it.
    #[must_use]
    pub fn new(
        tools: &'a Tools,
        options: &'a Options,
        stream: Stream<'a>,
        surroundings: Surroundings<'a>,
    ) -> Self {
        let entered = Entered {
            kind: surroundings.kind,
            inside: surroundings.is_entered_inside,
            calls_keep_msbs: surroundings.calls_keep_msbs,
        };
        View {
            code: Instructions::new(tools, stream, entered),
            options,
            surroundings,
            all: Needs::new(Focus::All),
            scalars: Needs::new(Focus::Scalars),
            keeps_denormals: OnceCell::new(),
            has_matrices: OnceCell::new(),
        }
    }

    /// Has live registers around these instructions, which are in order, computed in one go on the first question.
    #[must_use]
    pub(crate) fn asked_around(self, sites: &[usize]) -> Self {
        self.all.prepare(sites);
        self.scalars.prepare(sites);
        self
    }

    /// What reads and writes instructions.
    #[must_use]
    pub fn tools(&self) -> &'a Tools {
        self.code.tools()
    }

    /// The decoder.
    #[must_use]
    pub fn decoder(&self) -> &'a Decoder {
        self.code.decoder()
    }

    /// What jumps and waits are on this processor.
    pub(crate) fn dialect(&self) -> &'static Dialect {
        self.tools().dialect()
    }

    /// How rules are to read what is not settled.
    #[must_use]
    pub fn options(&self) -> &'a Options {
        self.options
    }

    /// The instructions.
    #[must_use]
    pub fn stream(&self) -> &Stream<'a> {
        self.code.stream()
    }

    /// The control flow.
    #[must_use]
    pub fn cfg(&self) -> &Cfg {
        self.code.cfg()
    }

    /// Whether the function is a kernel's entry.
    #[must_use]
    pub fn kind(&self) -> FunctionKind {
        self.surroundings.kind
    }

    /// What the function's kernels allocate.
    #[must_use]
    pub fn budget(&self) -> RegisterBudget {
        self.surroundings.budget
    }

    /// Where a stack may begin in scratch memory.
    pub(crate) fn stack(&self) -> Result<u32, String> {
        self.surroundings.stack.clone()
    }

    /// What registers hold when the kernel begins.
    pub(crate) fn kernel_entry(&self) -> Option<&EntryState> {
        self.surroundings.entry.as_ref()
    }

    /// Registers that are not to be taken.
    pub(crate) fn reserved(&self) -> RegisterSet {
        self.surroundings.reserved
    }

    /// The first instruction that every wave of the kernel runs: where firmware preloads arguments, it skips what is
    /// before.
    pub(crate) fn first_step(&self) -> usize {
        let preload = self.kernel_entry().and_then(EntryState::preload);
        let skipped = preload.map_or(0, |it| u64::from(it.skipped));
        self.stream().index_of(self.stream().address() + skipped).unwrap_or(0)
    }

    /// The bytes of the object's code from an address on.
    #[must_use]
    pub fn code_at(&self, address: u64) -> Option<&'a [u8]> {
        self.surroundings.code.iter().find_map(|(start, code)| {
            code.get(usize::try_from(address.checked_sub(*start)?).ok()?..)
        })
    }

    /// Where an indirect jump at an address goes, if that is known.
    #[must_use]
    pub fn jump_target(&self, address: u64) -> Option<u64> {
        let step = self.stream().index_of(address)?;
        let jump = self.cfg().jumps().iter().find(|jump| jump.step == step)?;
        match jump.target {
            Address::Known(target) => Some(target),
            _ => None,
        }
    }

    /// Where a jump goes whose address is made by the instructions from here on: get the program counter, add, jump.
    #[must_use]
    pub fn far_target(&self, address: u64) -> Option<u64> {
        jump::far_target(self.decoder(), address, self.code_at(address)?)
    }

    /// What to call an instruction in messages.
    pub(crate) fn place(&self, step: usize) -> String {
        self.code.place(step)
    }

    /// Whether every jump is known, so that nothing is entered that control flow does not show.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.code.is_closed()
    }

    /// Why the function's control flow is not known, if it is not.
    pub(crate) fn opacity(&self) -> Option<String> {
        self.code.opacity()
    }

    /// The instructions that may run before one, those of its own block first.
    pub(crate) fn before(&self, step: usize) -> impl Iterator<Item = usize> {
        self.code.before(step)
    }

    /// The VGPR MSBs before an instruction, if they are known.
    #[must_use]
    pub fn msb(&self, step: usize) -> Option<VgprMsb> {
        self.code.msb(step)
    }

    /// Why the VGPR MSBs before an instruction are not known; nothing where paths differ in them.
    pub(crate) fn msb_breaker(&self, step: usize) -> Option<String> {
        self.opacity().or_else(|| self.code.msb_breaker(step))
    }

    /// The live registers before an instruction.
    #[must_use]
    pub fn live_before(&self, step: usize) -> RegisterSet {
        self.all.before(&self.code, step)
    }

    /// The live scalar registers before an instruction; of vector registers it says nothing.
    pub(crate) fn live_scalars_before(&self, step: usize) -> RegisterSet {
        self.needs(Focus::Scalars).before(&self.code, step)
    }

    /// The live registers after an instruction.
    #[must_use]
    pub fn live_after(&self, step: usize) -> RegisterSet {
        self.all.after(&self.code, step)
    }

    /// The registers of memory operations that may be outstanding before an instruction.
    #[must_use]
    pub fn outstanding(&self, step: usize) -> RegisterSet {
        self.all.outstanding(&self.code, step)
    }

    /// Whether any of some registers is needed after an instruction.
    #[must_use]
    pub fn is_needed_after(&self, step: usize, register: &Register) -> bool {
        self.needs(focus_on(register)).after(&self.code, step).contains(register)
    }

    /// The answers for some register files: where all were asked about before, theirs are known.
    fn needs(&self, focus: Focus) -> &Needs {
        match focus {
            Focus::Scalars if !self.all.is_computed() => &self.scalars,
            _ => &self.all,
        }
    }

    /// Whether the function has matrix instructions.
    pub(crate) fn has_matrices(&self) -> bool {
        let is_one = |inst: Inst| {
            let names = ["v_wmma", "v_swmmac", "v_mfma", "v_smfmac"];
            names.iter().any(|name| inst.mnemonic().starts_with(name))
        };
        let mut steps = self.stream().steps();
        *self.has_matrices.get_or_init(|| steps.any(|step| step.inst.is_some_and(is_one)))
    }

    /// Whether denormals of 16 bits are kept wherever the function runs: its kernels begin so, and neither it nor what
    /// it may have to do with sets it otherwise.
    #[must_use]
    pub fn keeps_denormals(&self) -> bool {
        *self.keeps_denormals.get_or_init(|| self.compute_keeps_denormals())
    }

    fn compute_keeps_denormals(&self) -> bool {
        let leaves = |inst: &Inst| {
            matches!(inst.flow(), Flow::Call | Flow::IndirectCall | Flow::IndirectJump | Flow::Trap)
        };
        let mut here = self.stream().steps().map(|step| step.inst);
        let is_alone = self.kind() == FunctionKind::Kernel
            && here.clone().all(|inst| inst.is_some_and(|inst| !leaves(&inst)));
        let is_set = |inst: Option<Inst>| inst.is_none_or(|inst| Self::sets_denormals(&inst));
        let elsewhere = || {
            let code = self.surroundings.code.iter();
            let mut code = code.map(|(start, code)| Stream::decode(self.decoder(), *start, code));
            // What is no instruction is data, or nothing that runs.
            code.any(|stream| stream.insts().any(|inst| is_set(Some(inst))))
        };
        self.surroundings.starts_with_denormals && !here.any(is_set) && (is_alone || !elsewhere())
    }

    /// Whether an instruction sets how MODE has denormals of 16 bits treated.
    fn sets_denormals(inst: &Inst) -> bool {
        const BITS: std::ops::Range<u8> = 6..8;
        match inst.mnemonic() {
            "s_denorm_mode" => true,
            name if name.starts_with("s_setreg") => {
                inst.hwreg_field().is_none_or(|field| field.is_of_mode(&BITS))
            }
            _ => false,
        }
    }
}

/// Some instructions of a function that are replaced together, from the first to the last.
#[derive(Clone, Copy)]
pub(crate) struct Around<'v> {
    pub(crate) view: &'v View<'v>,
    pub(crate) first: usize,
    pub(crate) last: usize,
}

impl Around<'_> {
    /// The registers that are live before or after them, and those of outstanding memory operations.
    pub(crate) fn needed(&self, focus: Focus) -> RegisterSet {
        let (needs, code) = (self.view.needs(focus), &self.view.code);
        let mut needed = needs.before(code, self.first);
        needed.union_with(&needs.after(code, self.last));
        needed.union_with(&needs.outstanding(code, self.first));
        needed
    }

    /// The registers that they name, with any VGPR MSBs.
    pub(crate) fn operands(&self, focus: Focus) -> RegisterSet {
        let msbs: &[u8] = match focus {
            Focus::All => &EVERY_MSB,
            Focus::Scalars => &[0],
        };
        let mut named = RegisterSet::default();
        for inst in (self.first..=self.last).filter_map(|step| self.view.stream().inst(step)) {
            for msb in msbs {
                let effects = self.view.decoder().effects(&inst, VgprMsb::new(*msb));
                let (writes, reads) = focus.registers(&effects);
                writes.chain(reads).for_each(|register| named.insert(&register));
            }
        }
        named
    }
}
