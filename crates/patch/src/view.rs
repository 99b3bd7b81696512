//! A function as rules see it: instructions, control flow, what is needed and known where.

use std::cell::OnceCell;

use hsaco_analysis::{
    Address, Block, Cfg, Exit, Focus, FunctionKind, Lanes, RegisterSet, States, Stream,
    vgpr_msb_after,
};
use hsaco_isa::{Decoder, Flow, Inst, OperandValue, Register, RegisterFile, Special, VgprMsb};
use hsaco_kernarg::Entry;

use crate::dialect::Dialect;
use crate::jump;
use crate::lease::{Budget, Leases};
use crate::needs::{Around, Needs};
use crate::option::Options;
use crate::refusal::{Refusal, RefusalKind};
use crate::tools::Tools;

/// One analysed function.
pub struct View<'a> {
    tools: &'a Tools,
    options: &'a Options,
    stream: &'a Stream,
    /// Worked out once somebody asks, like all that follows from it.
    cfg: &'a OnceCell<Cfg>,
    all: Needs,
    scalars: Needs,
    kind: FunctionKind,
    budget: Budget,
    /// The upper bits of vector register numbers before every instruction, once somebody asks.
    msb: OnceCell<Msb>,
    is_closed: OnceCell<bool>,
    is_entered_inside: bool,
    has_no_banks: bool,
    /// What registers hold when the kernel begins.
    launched: Option<Entry>,
    /// Registers that nobody may take, as calls pass on what they hold.
    reserved: RegisterSet,
    stack: Result<u32, String>,
    code: &'a [(u64, &'a [u8])],
    starts_with_denormals: bool,
    keeps_denormals: OnceCell<bool>,
    has_matrices: OnceCell<bool>,
}

impl<'a> View<'a> {
    /// Analyses a function, each thing when somebody asks for it: much is rewritten without a look at control flow, for
    /// which `cfg` is the place.
    #[must_use]
    pub fn new(
        tools: &'a Tools,
        options: &'a Options,
        stream: &'a Stream,
        cfg: &'a OnceCell<Cfg>,
        kind: FunctionKind,
        budget: Budget,
    ) -> Self {
        View {
            tools,
            options,
            stream,
            cfg,
            all: Needs::new(Focus::All),
            scalars: Needs::new(Focus::Scalars),
            kind,
            budget,
            msb: OnceCell::new(),
            is_closed: OnceCell::new(),
            is_entered_inside: false,
            has_no_banks: false,
            launched: None,
            reserved: RegisterSet::default(),
            stack: Err("nothing is known of scratch memory".to_owned()),
            code: &[],
            starts_with_denormals: true,
            keeps_denormals: OnceCell::new(),
            has_matrices: OnceCell::new(),
        }
    }

    /// The same function in an object whose other code can be looked at: stretches of it with their addresses.
    #[must_use]
    pub fn with_code(self, code: &'a [(u64, &'a [u8])]) -> Self {
        View { code, ..self }
    }

    /// The same function, and whether its kernels begin with denormals of 16 bits kept; else they are flushed, or may be.
    #[must_use]
    pub fn with_denormals(self, starts_with_denormals: bool) -> Self {
        View { starts_with_denormals, ..self }
    }

    /// Whether the function has matrix instructions.
    pub(crate) fn has_matrices(&self) -> bool {
        let is_one = |inst: Inst| {
            let names = ["v_wmma", "v_swmmac", "v_mfma", "v_smfmac"];
            names.iter().any(|name| inst.mnemonic().starts_with(name))
        };
        let mut steps = self.stream.steps();
        *self.has_matrices.get_or_init(|| steps.any(|step| step.inst.is_some_and(is_one)))
    }

    /// Whether denormals of 16 bits are kept wherever the function runs: its kernels begin so, and neither it nor what
    /// it may have to do with sets it otherwise.
    #[must_use]
    pub fn keeps_denormals(&self) -> bool {
        *self.keeps_denormals.get_or_init(|| self.work_out_denormals())
    }

    fn work_out_denormals(&self) -> bool {
        let leaves = |inst: &Inst| {
            matches!(inst.flow(), Flow::Call | Flow::IndirectCall | Flow::IndirectJump | Flow::Trap)
        };
        let mut here = self.stream.steps().map(|step| step.inst);
        let is_alone = self.kind == FunctionKind::Kernel
            && here.clone().all(|inst| inst.is_some_and(|inst| !leaves(&inst)));
        let is_set = |inst: Option<Inst>| inst.is_none_or(|inst| self.sets_denormals(&inst));
        let elsewhere = || {
            let mut code =
                self.code.iter().map(|(start, code)| Stream::decode(self.decoder(), *start, code));
            // What is no instruction is data, or nothing that runs.
            code.any(|stream| stream.insts().any(|inst| is_set(Some(inst))))
        };
        self.starts_with_denormals && !here.any(is_set) && (is_alone || !elsewhere())
    }

    /// Whether an instruction sets how MODE has denormals of 16 bits treated.
    fn sets_denormals(&self, inst: &Inst) -> bool {
        const MODE: i64 = 1;
        /// Bits 6 and 7.
        const BITS: std::ops::Range<i64> = 6..8;
        match inst.mnemonic() {
            "s_denorm_mode" => true,
            name if name.starts_with("s_setreg") => match self.decoder().operand(inst, "simm16") {
                Some(OperandValue::Number(field)) => {
                    let (first, count) = (field >> 6 & 0x1f, (field >> 11 & 0x1f) + 1);
                    field & 0x3f == MODE && first < BITS.end && first + count > BITS.start
                }
                _ => true,
            },
            _ => false,
        }
    }

    /// The same function, where others enter it in its middle: its own control flow does not show how.
    pub(crate) fn entered_inside(self, is_entered: bool) -> Self {
        View { is_entered_inside: is_entered, ..self }
    }

    /// The same function, and whether no code of its object sets upper bits of vector register numbers: calls leave
    /// them as they are then.
    pub(crate) fn without_banks(self, has_none: bool) -> Self {
        View { has_no_banks: has_none, ..self }
    }

    /// The same function, with what registers hold when its kernel begins, and which of them nobody may take.
    pub(crate) fn launched_with(self, launched: Option<Entry>, reserved: RegisterSet) -> Self {
        View { launched, reserved, ..self }
    }

    /// The same function, with where a stack may begin in scratch memory, or why none may.
    pub(crate) fn with_stack(self, stack: Result<u32, String>) -> Self {
        View { stack, ..self }
    }

    /// Where a stack may begin in scratch memory.
    pub(crate) fn stack(&self) -> Result<u32, String> {
        self.stack.clone()
    }

    /// What registers hold when the kernel begins.
    pub(crate) fn launched(&self) -> Option<&Entry> {
        self.launched.as_ref()
    }

    /// Registers that nobody may take.
    pub(crate) fn reserved(&self) -> RegisterSet {
        self.reserved
    }

    /// The first instruction that every wave of the kernel runs: where firmware preloads arguments, it skips what is
    /// before.
    pub(crate) fn first_step(&self) -> usize {
        let preload = self.launched.as_ref().and_then(Entry::preload);
        let skipped = preload.map_or(0, |it| u64::from(it.skipped));
        self.stream.index_of(self.stream.address() + skipped).unwrap_or(0)
    }

    /// The bytes of the object's code from an address on.
    #[must_use]
    pub fn code_at(&self, address: u64) -> Option<&'a [u8]> {
        self.code.iter().find_map(|(start, code)| {
            code.get(usize::try_from(address.checked_sub(*start)?).ok()?..)
        })
    }

    /// Where an indirect jump at an address goes, if that is known.
    #[must_use]
    pub fn jump_target(&self, address: u64) -> Option<u64> {
        let step = self.stream.index_of(address)?;
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
        let text = self.stream.inst(step).map(|inst| self.decoder().text(&inst));
        format!("`{}` at {:#x}", text.unwrap_or_default(), self.stream.address_of(step))
    }

    /// What reads and writes instructions.
    #[must_use]
    pub fn tools(&self) -> &'a Tools {
        self.tools
    }

    /// The decoder.
    #[must_use]
    pub fn decoder(&self) -> &'a Decoder {
        self.tools.decoder()
    }

    /// What jumps and waits are on this processor.
    pub(crate) fn dialect(&self) -> &'static Dialect {
        self.tools.dialect()
    }

    /// How rules are to read what is not settled.
    #[must_use]
    pub fn options(&self) -> &'a Options {
        self.options
    }

    /// The instructions.
    #[must_use]
    pub fn stream(&self) -> &'a Stream {
        self.stream
    }

    /// The control flow.
    #[must_use]
    pub fn cfg(&self) -> &'a Cfg {
        self.cfg.get_or_init(|| Cfg::new(self.decoder(), self.stream))
    }

    /// Whether the function is a kernel's entry.
    #[must_use]
    pub fn kind(&self) -> FunctionKind {
        self.kind
    }

    /// What the function's kernels allocate.
    #[must_use]
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// Whether every jump is known, so that nothing is entered that control flow does not show.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        let is_known = |block: &Block| !matches!(block.exit, Some(Exit::Unknown));
        *self
            .is_closed
            .get_or_init(|| !self.is_entered_inside && self.cfg().blocks().iter().all(is_known))
    }

    /// Why the function's control flow is not known, if it is not.
    pub(crate) fn opacity(&self) -> Option<String> {
        if self.is_entered_inside {
            return Some("other code enters the function in its middle".to_owned());
        }
        let blocks = self.cfg().blocks().iter();
        let unknown = blocks.filter(|it| matches!(it.exit, Some(Exit::Unknown)));
        let last = unknown.map(|it| it.end.saturating_sub(1)).next()?;
        Some(match self.stream.inst(last) {
            None => self.undecoded(last),
            Some(_) => format!("it is not known where {} leads", self.place(last)),
        })
    }

    fn undecoded(&self, step: usize) -> String {
        format!("the word at {:#x} does not decode", self.stream.address_of(step))
    }

    /// What may run before an instruction and leaves upper bits of register numbers that nobody knows.
    fn bank_breaker(&self, step: usize) -> Option<String> {
        let decoder = self.decoder();
        let known = Some(VgprMsb::default());
        let breaks = |step: &usize| match self.stream.inst(*step) {
            None => true,
            Some(inst) => vgpr_msb_after(decoder, known, &inst).is_none(),
        };
        let step = self.before(step).find(breaks)?;
        Some(match self.stream.inst(step) {
            None => self.undecoded(step),
            Some(_) => format!("{} may set them to anything", self.place(step)),
        })
    }

    /// The instructions that may run before one, those of its own block first.
    pub(crate) fn before(&self, step: usize) -> impl Iterator<Item = usize> {
        let cfg = self.cfg();
        let here = cfg.block_of(step);
        let first = here.and_then(|it| cfg.blocks().get(it)).map_or(step, |it| it.first);
        let mut seen = vec![false; cfg.blocks().len()];
        let mut left: Vec<usize> = here.into_iter().flat_map(|it| cfg.predecessors(it)).collect();
        let others = std::iter::from_fn(move || {
            while let Some(block) = left.pop() {
                if !std::mem::replace(seen.get_mut(block)?, true) {
                    left.extend(cfg.predecessors(block));
                    return cfg.blocks().get(block).map(Block::steps);
                }
            }
            None
        });
        (first..step).rev().chain(others.flatten())
    }

    /// The instruction of a number, to look at.
    #[must_use]
    pub fn site(&self, step: usize) -> Option<Site<'_>> {
        self.stream.inst(step).map(|_| Site { view: self, step })
    }

    /// The first instruction, whether or not it is one.
    pub(crate) fn entry(&self) -> Site<'_> {
        Site { view: self, step: 0 }
    }

    /// The upper bits of vector register numbers before an instruction, if they are known.
    #[must_use]
    pub fn msb(&self, step: usize) -> Option<VgprMsb> {
        self.msb_everywhere().at(step)
    }

    fn msb_everywhere(&self) -> &Msb {
        self.msb.get_or_init(|| Msb::new(self))
    }

    /// The registers that are needed before an instruction.
    #[must_use]
    pub fn live_before(&self, step: usize) -> RegisterSet {
        self.all.before(self, step)
    }

    /// The registers that are needed after an instruction.
    #[must_use]
    pub fn live_after(&self, step: usize) -> RegisterSet {
        self.all.after(self, step)
    }

    /// The registers of memory accesses that may be under way before an instruction.
    #[must_use]
    pub fn in_flight(&self, step: usize) -> RegisterSet {
        self.all.in_flight(self, step)
    }

    /// Whether any of some registers is needed after an instruction.
    #[must_use]
    pub fn is_needed_after(&self, step: usize, register: &Register) -> bool {
        self.needs(focus_on(register)).after(self, step).contains(register)
    }

    /// What is needed and under way, as far as some registers are concerned: where somebody has asked about all before,
    /// these are known.
    pub(crate) fn needs(&self, focus: Focus) -> &Needs {
        match focus {
            Focus::Scalars if !self.all.is_worked_out() => &self.scalars,
            _ => &self.all,
        }
    }

    /// Has what is needed around these instructions, which are in order, worked out in one go when somebody asks.
    pub(crate) fn prepare(&self, sites: &[usize]) {
        self.all.prepare(sites);
        self.scalars.prepare(sites);
    }

    /// Whether others enter the function in its middle.
    pub(crate) fn is_entered_inside(&self) -> bool {
        self.is_entered_inside
    }
}

/// What has to be looked at to know of a register.
pub(crate) fn focus_on(register: &Register) -> Focus {
    match register.file {
        RegisterFile::Vgpr | RegisterFile::Agpr => Focus::All,
        _ => Focus::Scalars,
    }
}

/// The upper bits before every instruction.
enum Msb {
    /// No instruction sets any.
    Never,
    /// Those before each.
    Before(Vec<Option<VgprMsb>>),
}

impl Msb {
    /// Where jumps go nobody knows where, any instruction may be entered with whatever bits the function sets
    /// anywhere.
    fn new(view: &View<'_>) -> Self {
        let (decoder, stream) = (view.decoder(), view.stream);
        let calls = |flow| matches!(flow, Flow::Call | Flow::IndirectCall);
        let never = stream.is_whole()
            && !stream.has_flow(|flow| flow == Flow::Trap)
            && (view.has_no_banks || !stream.writes_mode() && !stream.has_flow(calls));
        if never || !decoder.has_vgpr_msb() {
            return Msb::Never;
        }
        let mut msb = vec![None; stream.len()];
        if !view.is_closed() {
            return Msb::Before(msb);
        }
        let states = States::new(decoder, stream, view.cfg(), Lanes::All);
        for (number, block) in view.cfg().blocks().iter().enumerate() {
            let mut state = states.before_block(number);
            for step in Block::steps(block) {
                if let Some(place) = msb.get_mut(step) {
                    *place = state.msb;
                }
                state = states.after(state, step);
            }
        }
        Msb::Before(msb)
    }

    fn at(&self, step: usize) -> Option<VgprMsb> {
        match self {
            Msb::Never => Some(VgprMsb::default()),
            Msb::Before(before) => before.get(step).copied().flatten(),
        }
    }
}

/// One instruction of a function, as a rule looks at it.
///
/// ```
/// use hsaco_patch::{Answer, Plan, Refusal, Site};
/// fn look(site: &Site<'_>) -> Result<Answer, Refusal> {
///     if site.number("simm16") == Some(0) {
///         return Ok(Answer::NotMine);
///     }
///     Ok(Answer::Rewrite(Plan::replace(site, vec![site.assemble("s_nop 0")?])))
/// }
/// ```
#[derive(Clone, Copy)]
pub struct Site<'v> {
    view: &'v View<'v>,
    step: usize,
}

impl<'v> Site<'v> {
    /// The function.
    #[must_use]
    pub fn view(&self) -> &'v View<'v> {
        self.view
    }

    /// The number of the instruction.
    #[must_use]
    pub fn step(&self) -> usize {
        self.step
    }

    /// Where it stands.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.view.stream.address_of(self.step)
    }

    /// How rules are to read what is not settled.
    #[must_use]
    pub fn options(&self) -> &'v Options {
        self.view.options
    }

    /// The instruction.
    #[must_use]
    pub fn inst(&self) -> Option<Inst> {
        self.view.stream.inst(self.step)
    }

    /// Its name, without the suffix that tells encodings apart.
    #[must_use]
    pub fn mnemonic(&self) -> &'static str {
        self.inst().map_or("", |inst| inst.mnemonic())
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> String {
        self.inst().map(|inst| self.view.decoder().text(&inst)).unwrap_or_default()
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(20);
        self.inst().into_iter().for_each(|inst| inst.encode(&mut bytes));
        bytes
    }

    /// The operand of a name.
    #[must_use]
    pub fn operand(&self, name: &str) -> Option<OperandValue> {
        self.view.decoder().operand(&self.inst()?, name)
    }

    /// The operand of a name, if it is a register: as encoded, without upper bits.
    #[must_use]
    pub fn register(&self, name: &str) -> Option<Register> {
        match self.operand(name)? {
            OperandValue::Register(register) => Some(register),
            _ => None,
        }
    }

    /// The operand of a name, if it is a number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<i64> {
        match self.operand(name)? {
            OperandValue::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The upper bits of vector register numbers, or the refusal that a rule gives which needs them.
    pub fn msb(&self) -> Result<VgprMsb, Refusal> {
        self.view.msb(self.step).ok_or_else(|| {
            let why = self.view.opacity().or_else(|| self.view.bank_breaker(self.step));
            let detail = match why {
                Some(why) => {
                    format!("the upper bits of vector register numbers are not known: {why}")
                }
                None => "paths lead here with different upper bits of vector register numbers"
                    .to_owned(),
            };
            Refusal::new(RefusalKind::UnknownBank, detail)
        })
    }

    /// Whether any of the registers is needed after the instruction.
    #[must_use]
    pub fn is_needed(&self, register: &Register) -> bool {
        self.view.is_needed_after(self.step, register)
    }

    /// Whether SCC is needed after the instruction.
    #[must_use]
    pub fn is_scc_needed(&self) -> bool {
        let file = RegisterFile::Special(Special::Scc);
        self.is_needed(&Register { file, first: 0, count: 1, half: None })
    }

    /// The halves of EXEC that a wave has.
    pub(crate) fn exec_halves(&self) -> &'static [&'static str] {
        match self.view.decoder().is_wave32() {
            true => &["exec_lo"],
            false => &["exec_lo", "exec_hi"],
        }
    }

    /// Waits that have to be between matrix instructions of the function and writes of vector registers.
    pub(crate) fn distance(&self) -> Vec<String> {
        let lines = self.view.dialect().distance;
        let lines = if lines.is_empty() || !self.view.has_matrices() { &[][..] } else { lines };
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    /// A scalar register to keep SCC in, where making an address loses it and somebody needs it.
    pub(crate) fn keep_scc(&self, leases: &mut Leases<'_>) -> Result<Option<Register>, Refusal> {
        if !self.view.dialect().loses_scc() {
            return Ok(None);
        }
        let file = RegisterFile::Special(Special::Scc);
        let scc = Register { file, first: 0, count: 1, half: None };
        let around = Around { view: self.view, first: self.step, last: self.step };
        if around.needed(Focus::Scalars).contains(&scc) {
            return leases.sgprs(1, 1).map(Some);
        }
        leases.take(&scc);
        Ok(None)
    }

    /// The instructions that make an address in a pair of scalar registers, wherever they are put.
    pub(crate) fn address_code(&self, pair: Register, address: u64) -> Result<Vec<Inst>, Refusal> {
        let words = self.view.dialect().address(0, address, pair.first);
        self.view.tools.insts(&words).ok_or_else(|| {
            Refusal::new(RefusalKind::Unsupported, "the address of something makes no instructions")
        })
    }

    /// Refuses where M0 may be added to the numbers of vector registers.
    pub(crate) fn refuse_relative_registers(&self) -> Result<(), Refusal> {
        let View { stream, .. } = *self.view;
        let decoder = self.view.decoder();
        if !decoder.has_gpr_index_mode() || !stream.writes_mode() {
            return Ok(());
        }
        let states = States::new(decoder, stream, self.view.cfg(), Lanes::All);
        if states.has_index_mode() && states.before(self.step).indexed.is_some() {
            let detail = "s_set_gpr_idx_on is in force: M0 is added to the numbers of registers";
            return Err(Refusal::new(RefusalKind::UnknownBank, detail));
        }
        Ok(())
    }

    /// Registers to take for what replaces the instruction: none that is needed before or after it, that it
    /// names, or that a memory access may still use.
    #[must_use]
    pub fn leases(&self) -> Leases<'v> {
        Leases::around(Around { view: self.view, first: self.step, last: self.step })
    }

    /// The instruction that a line is.
    pub fn assemble(&self, line: &str) -> Result<Inst, Refusal> {
        self.view.tools.assemble(line).map_err(|error| {
            Refusal::new(RefusalKind::Unsupported, format!("`{line}` does not assemble: {error}"))
        })
    }

    /// The instructions of several lines.
    pub fn assemble_all<T: AsRef<str>>(&self, lines: &[T]) -> Result<Vec<Inst>, Refusal> {
        lines.iter().map(|line| self.assemble(line.as_ref())).collect()
    }

    /// The instruction that some bytes are.
    pub fn decode(&self, bytes: &[u8]) -> Result<Inst, Refusal> {
        self.view.decoder().decode(bytes).filter(|inst| inst.len() == bytes.len()).ok_or_else(
            || Refusal::new(RefusalKind::Unsupported, "the rewritten encoding is no instruction"),
        )
    }
}
