//! Calls of device functions that a caller asks for.

use std::collections::BTreeSet;

use hsaco_analysis::{BlockId, Cfg, Exit, Function, RegisterSet, StackFrame, Stream, Usage};
use hsaco_isa::effects::{Flow, Lanes};
use hsaco_isa::model::{Register, RegisterFile, Special, VgprMsb};
use hsaco_isa::{Decoder, Inst};

use crate::argument::{Given, InsertedArgument};
use crate::budget::BANK;
use crate::refusal::{Refusal, RefusalKind};
use crate::rewrite::Plan;
use crate::scratch::ScratchRegisters;
use crate::site::Site;
use crate::stack::{self, Stack};

/// A call that a caller asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsertedCall {
    /// The name of the function.
    pub function: String,
    /// What it is given, in the order of its parameters.
    pub arguments: Vec<InsertedArgument>,
}

impl From<&str> for InsertedCall {
    /// A call without arguments.
    fn from(function: &str) -> Self {
        InsertedCall { function: function.to_owned(), arguments: Vec::new() }
    }
}

impl std::str::FromStr for InsertedCall {
    type Err = String;

    /// Reads `FUNCTION` or `FUNCTION(ARGUMENT, …)`.
    ///
    /// ```
    /// use hsaco_patch::{InsertedArgument, InsertedCall};
    /// let call: InsertedCall = "probe(kernarg, workgroup_id_x, 42)".parse()?;
    /// assert_eq!(call.arguments[1..], [InsertedArgument::WorkgroupId(0), InsertedArgument::Constant(42)]);
    /// assert!("probe(kernarg".parse::<InsertedCall>().is_err());
    /// # Ok::<(), String>(())
    /// ```
    fn from_str(text: &str) -> Result<Self, String> {
        let Some((function, rest)) = text.split_once('(') else { return Ok(text.into()) };
        let list = rest.strip_suffix(')').ok_or_else(|| format!("`{text}` lacks its `)`"))?;
        let parts = list.split(',').map(str::trim).filter(|_| !list.trim().is_empty());
        let arguments = parts.map(str::parse).collect::<Result<_, String>>()?;
        Ok(InsertedCall { function: function.trim().to_owned(), arguments })
    }
}

/// A function that code can be made to call: it ends by returning, and what it changes is known.
pub(crate) struct Callee<'c> {
    call: &'c InsertedCall,
    address: u64,
    usage: Usage,
    /// Whether it may write lanes that EXEC does not enable where it is called.
    is_unmasked: bool,
    /// Its stack frame, if it has one.
    frame: Option<StackFrame>,
}

/// Where LLVM's calling convention has the address to return to.
const LINK: Register = Register { file: RegisterFile::Sgpr, first: 30, count: 2, half: None };

impl<'c> Callee<'c> {
    /// The function of a call.
    pub(crate) fn find(
        decoder: &Decoder,
        functions: &[Function<'_>],
        call: &'c InsertedCall,
    ) -> Result<Self, Refusal> {
        let name = call.function.as_str();
        let refuse = |why: &str| {
            Refusal::new(RefusalKind::Unsupported, format!("`{name}` cannot be called: {why}"))
        };
        let function = functions.iter().find(|it| it.name.is_some_and(|it| it == name));
        let function = function.ok_or_else(|| refuse("the object has no such function"))?;
        let stream = function.decode(decoder);
        let cfg = Cfg::new(decoder, &stream);
        let usage = Usage::new(decoder, &stream, &cfg);
        let insts = || stream.insts();
        let is_unmasked = |inst: Inst| {
            let effects = decoder.effects(&inst, VgprMsb::default());
            let is_vector = |it: Register| it.file == RegisterFile::Vgpr;
            !effects.is_masked() && effects.writes().any(is_vector)
        };
        let returns = |exit: Option<Exit>| matches!(exit, None | Some(Exit::Return));
        let why = match () {
            () if usage.undecoded != 0 => "it has words that do not decode",
            () if !cfg.blocks().iter().all(|block| returns(block.exit)) => {
                "it does more than run to its return"
            }
            () if insts().any(|inst| {
                matches!(inst.flow(), Flow::Call | Flow::IndirectCall | Flow::Trap)
            }) =>
            {
                "it calls others"
            }
            () if usage.lds => "it uses LDS, which kernels that do not would have to allocate",
            () if usage.frame.is_dynamic => "its stack grows by what only run time knows",
            () if usage.frame.is_exposed && usage.frame.raised == 0 => {
                "it uses a stack, and the size of its frame is not known"
            }
            () => {
                let exec = [Special::ExecLo, Special::ExecHi].map(single);
                let is_unmasked =
                    insts().any(is_unmasked) || exec.iter().any(|it| usage.writes.contains(it));
                let frame = Some(usage.frame).filter(|it| *it != StackFrame::default());
                let address = function.address;
                let callee = Callee { call, address, usage, is_unmasked, frame };
                let missing = callee.missing(&expected(decoder, &stream, &cfg));
                let missing = without_undefined(decoder, &stream, missing);
                return match missing.is_empty() {
                    true => Ok(callee),
                    false => Err(refuse(&format!("it takes {missing}, which it is not given"))),
                };
            }
        };
        Err(refuse(why))
    }

    /// The vector registers that arguments are passed in.
    fn parameters(&self) -> Register {
        let count = self.call.arguments.iter().map(|it| it.registers()).sum::<usize>();
        let count = u8::try_from(count).unwrap_or(u8::MAX);
        Register { file: RegisterFile::Vgpr, first: 0, count, half: None }
    }

    /// The registers that it expects something in that the call does not give it.
    fn missing(&self, expected: &RegisterSet) -> RegisterSet {
        let mut missing = *expected;
        missing.remove(&LINK);
        if self.parameters().count > 0 {
            missing.remove(&self.parameters());
        } else {
            // Without a list of arguments, parameters hold whatever is there.
            missing.subtract(&RegisterSet::vectors());
        }
        if let Some(frame) = self.frame {
            let buffer = Register { first: 0, count: 4, ..LINK };
            let flat_scratch = [Special::FlatScratchLo, Special::FlatScratchHi].map(single);
            let buffer = (!frame.is_flat).then_some(buffer);
            [stack::POINTERS]
                .iter()
                .chain(&flat_scratch)
                .chain(&buffer)
                .for_each(|it| missing.remove(it));
        }
        // What says how to compute, and for which lanes, is there anyhow.
        for special in [
            Special::ExecLo,
            Special::ExecHi,
            Special::Mode,
            Special::SharedBase,
            Special::PrivateBase,
        ] {
            missing.remove(&single(special));
        }
        missing
    }

    /// The call before an instruction, with live registers that it changes saved in others that are free.
    pub(crate) fn call(&self, site: &Site<'_>) -> Result<Plan, Refusal> {
        let dialect = site.view().dialect();
        site.refuse_relative_registers()?;
        let mut scratch = self.free_registers(site);
        let stack = self.frame.map(|frame| self.stack(site, frame, &mut scratch)).transpose()?;
        let given = Given::find(site, &self.call.arguments)?;
        given.registers().for_each(|register| scratch.avoid(&register));
        let address = scratch.sgprs(2, 2)?;
        let pass = given.lines(site, &mut scratch)?;
        let mut changed = self.changed(stack.as_ref());
        if dialect.loses_scc() || given.loses_scc() {
            changed.insert(&single(Special::Scc));
        }
        let saves = Saves::of(site, &changed, &mut scratch)?;
        let exec = self.save_exec(site, &mut scratch)?;
        let frame = Frame { saves, exec, msb: site.msb()?.bits() };
        let mut before = frame.save(site);
        before.extend(stack.iter().flat_map(|it| it.lines.clone()));
        before.extend(pass);
        let mut after = vec![format!("{} {LINK}, {address}", dialect.swap_pc)];
        after.extend(frame.restore(site));
        let mut code = site.assemble_all(&dialect.settled(before))?;
        let start = code.len();
        code.extend(site.address_code(address, self.address)?);
        code.extend(site.assemble_all(&dialect.settled(after))?);
        code.extend(site.inst());
        let mut plan = Plan::replace(site, code).taking(scratch);
        plan.fixups.push((start, self.address));
        plan.scratch_registers.extend(self.highest(site)?);
        plan.private_segment = stack.map_or(0, |it| it.private_segment);
        Ok(plan)
    }

    /// Registers to take for the call: none that the function uses.
    fn free_registers<'v>(&self, site: &Site<'v>) -> ScratchRegisters<'v> {
        let mut scratch = site.scratch_registers();
        self.usage.registers.iter().for_each(|register| scratch.avoid(&register));
        scratch.avoid(&LINK);
        if self.parameters().count > 0 {
            scratch.avoid(&self.parameters());
        }
        scratch
    }

    /// The registers that the function, its arguments and its stack change.
    fn changed(&self, stack: Option<&Stack>) -> RegisterSet {
        let mut changed = self.usage.writes;
        changed.insert(&LINK);
        if self.parameters().count > 0 {
            changed.insert(&self.parameters());
        }
        stack.iter().flat_map(|it| &it.changed).for_each(|register| changed.insert(register));
        changed
    }

    /// The halves of EXEC, each with the register that keeps it, where the function may write lanes that are not enabled.
    fn save_exec(
        &self,
        site: &Site<'_>,
        scratch: &mut ScratchRegisters<'_>,
    ) -> Result<SavedExec, Refusal> {
        let halves = site.exec_halves().iter().filter(|_| self.is_unmasked);
        let saved = halves.map(|half| Ok((*half, scratch.sgprs(1, 1)?)));
        saved.collect::<Result<_, Refusal>>().map(SavedExec)
    }

    /// What makes its stack.
    fn stack(
        &self,
        site: &Site<'_>,
        frame: StackFrame,
        scratch: &mut ScratchRegisters<'_>,
    ) -> Result<Stack, Refusal> {
        Stack::find(site, frame, scratch).map_err(|refusal| {
            let detail = format!("`{}` uses a stack: {}", self.call.function, refusal.detail);
            Refusal { detail, ..refusal }
        })
    }

    /// The highest registers that the function writes: kernels have to allocate them.
    fn highest(&self, site: &Site<'_>) -> Result<Vec<Register>, Refusal> {
        let vgprs = self.usage.vgprs().max(u32::from(self.parameters().count));
        let most = u32::from(site.view().budget().max_vgprs);
        if vgprs > most {
            let detail = format!("the function needs {vgprs} vector registers, and {most} may be");
            return Err(Refusal::new(RefusalKind::Occupancy, detail));
        }
        let agprs = self.usage.agprs();
        if agprs > 0 {
            let detail = format!("the function needs {agprs} accumulation registers");
            return Err(Refusal::new(RefusalKind::Occupancy, detail));
        }
        let last = |file, count: u32| {
            let first = u16::try_from(count.checked_sub(1)?).ok()?;
            Some(Register { file, first, count: 1, half: None })
        };
        let vector = last(RegisterFile::Vgpr, vgprs);
        let last_scalar = if self.frame.is_some() { stack::POINTERS } else { LINK };
        let scalars = self.usage.sgprs().max(u32::from(last_scalar.first) + 2);
        let scalar = last(RegisterFile::Sgpr, scalars);
        Ok(vector.into_iter().chain(scalar).collect())
    }
}

/// The registers that a function reads before it writes them, on any path.
fn expected(decoder: &Decoder, stream: &Stream<'_>, cfg: &Cfg) -> RegisterSet {
    let mut before = cfg.blocks().filled(RegisterSet::default());
    let mut left: BTreeSet<BlockId> = cfg.blocks().ids().collect();
    while let Some(block) = left.pop_last() {
        let mut needed = RegisterSet::default();
        for next in cfg.successors(block) {
            needed.union_with(&before[next]);
        }
        for inst in cfg.blocks()[block].steps().rev().filter_map(|step| stream.inst(step)) {
            let effects = decoder.effects(&inst, VgprMsb::default());
            effects.overwrites(Lanes::All).for_each(|register| needed.remove(&register));
            effects.reads().for_each(|register| needed.insert(&register));
        }
        if before[block].union_with(&needed) {
            left.extend(cfg.predecessors(block));
        }
    }
    cfg.entry().map(|entry| before[entry]).unwrap_or_default()
}

/// Without the vector registers that are only ever read as the upper part of an operand: compilers leave that undefined
/// where it does not matter.
fn without_undefined(
    decoder: &Decoder,
    stream: &Stream<'_>,
    mut missing: RegisterSet,
) -> RegisterSet {
    let mut firsts = RegisterSet::default();
    for inst in stream.insts() {
        let effects = decoder.effects(&inst, VgprMsb::default());
        effects.reads().for_each(|it| firsts.insert(&Register { count: 1, ..it }));
    }
    let vectors: Vec<Register> =
        missing.iter().flat_map(singles).filter(|it| it.file == RegisterFile::Vgpr).collect();
    vectors.iter().filter(|it| !firsts.contains(it)).for_each(|it| missing.remove(it));
    missing
}

fn single(special: Special) -> Register {
    Register { file: RegisterFile::Special(special), first: 0, count: 1, half: None }
}

fn singles(register: Register) -> impl Iterator<Item = Register> {
    (0..u16::from(register.count.max(1))).map(move |at| match register.file {
        RegisterFile::Special(_) => register,
        _ => Register { first: register.first + at, count: 1, half: None, ..register },
    })
}

/// The halves of EXEC, each with the register that keeps it while the function runs.
struct SavedExec(Vec<(&'static str, Register)>);

impl SavedExec {
    fn save(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(half, saved)| format!("s_mov_b32 {saved}, {half}"))
    }

    fn enable_all(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(half, _)| format!("s_mov_b32 {half}, -1"))
    }

    fn restore(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(half, saved)| format!("s_mov_b32 {half}, {saved}"))
    }
}

/// What a call saves and restores.
struct Frame {
    saves: Saves,
    exec: SavedExec,
    /// The VGPR MSBs before the call; the function runs without any.
    msb: u8,
}

impl Frame {
    /// The lines before the call. No outstanding operation may write a register while the function uses it.
    fn save(&self, site: &Site<'_>) -> Vec<String> {
        let Frame { saves, exec, msb } = self;
        let mut lines: Vec<String> = drain(site).collect();
        lines.extend(site.distance());
        if *msb != 0 {
            lines.push(format!("s_set_vgpr_msb {:#x}", u32::from(*msb) << 8));
        }
        // SCC is saved first and restored last: moves leave it alone.
        lines.extend(saves.scc.iter().map(|(save, _)| save.clone()));
        lines.extend(saves.scalars.iter().map(|(save, _)| save.clone()));
        lines.extend(exec.save());
        if !saves.is_empty() {
            let vectors = saves.vectors.iter().map(|(save, _)| save.clone());
            lines.extend(exec.enable_all().chain(vectors).chain(exec.restore()));
        }
        lines
    }

    /// The lines after the call. The function may leave no operation outstanding.
    fn restore(&self, site: &Site<'_>) -> Vec<String> {
        let Frame { saves, exec, msb } = self;
        let mut lines: Vec<String> = drain(site).collect();
        if !saves.is_empty() {
            lines.extend(exec.enable_all());
        }
        lines.extend(saves.vectors.iter().map(|(_, restore)| restore.clone()));
        lines.extend(exec.restore());
        lines.extend(saves.scalars.iter().map(|(_, restore)| restore.clone()));
        lines.extend(saves.scc.iter().map(|(_, restore)| restore.clone()));
        if *msb != 0 {
            lines.push(format!("s_set_vgpr_msb {msb:#x}"));
        }
        lines.extend(site.distance());
        lines
    }
}

/// Waits until no operation is outstanding.
fn drain(site: &Site<'_>) -> impl Iterator<Item = String> {
    site.view().dialect().drain.iter().map(|line| (*line).to_owned())
}

/// Lines that save registers, each with the line that restores it.
#[derive(Default)]
struct Saves {
    scalars: Vec<(String, String)>,
    vectors: Vec<(String, String)>,
    scc: Option<(String, String)>,
}

impl Saves {
    /// Saves the registers that are changed before an instruction that needs them.
    fn of(
        site: &Site<'_>,
        changed: &RegisterSet,
        scratch: &mut ScratchRegisters<'_>,
    ) -> Result<Self, Refusal> {
        let live = site.view().live_before(site.step());
        let wanted: Vec<Register> =
            changed.iter().flat_map(singles).filter(|it| live.contains(it)).collect();
        let mut saves = Saves::default();
        for register in &wanted {
            saves.add(scratch, register, &wanted)?;
        }
        Ok(saves)
    }

    /// Whether neither scalar nor vector registers are saved.
    fn is_empty(&self) -> bool {
        self.vectors.is_empty() && self.scalars.is_empty()
    }

    /// Saves one more of all that are to be saved.
    fn add(
        &mut self,
        scratch: &mut ScratchRegisters<'_>,
        register: &Register,
        all: &[Register],
    ) -> Result<(), Refusal> {
        let few = |is_vector: bool, got: usize| {
            let needed = all.iter().filter(|it| (it.file == RegisterFile::Vgpr) == is_vector);
            let (count, kind) = (needed.count(), if is_vector { "vector" } else { "scalar" });
            let detail = format!(
                "{count} {kind} registers that the function changes are needed, and {got} are free to save them in"
            );
            Refusal::new(RefusalKind::NoRegister, detail)
        };
        let moved = |name: &str, to: Register| {
            (format!("{name} {to}, {register}"), format!("{name} {register}, {to}"))
        };
        match register.file {
            RegisterFile::Vgpr if register.first < BANK => {
                let to = scratch.vgprs(1, 1, 0).map_err(|_| few(true, self.vectors.len()))?;
                self.vectors.push(moved("v_mov_b32_e32", to));
            }
            RegisterFile::Sgpr
            | RegisterFile::Special(Special::VccLo | Special::VccHi | Special::M0) => {
                let to = scratch.sgprs(1, 1).map_err(|_| few(false, self.scalars.len()))?;
                self.scalars.push(moved("s_mov_b32", to));
            }
            RegisterFile::Special(Special::Mode) => {
                let to = scratch.sgprs(1, 1).map_err(|_| few(false, self.scalars.len()))?;
                let mode = "hwreg(HW_REG_MODE)";
                let save = format!("s_getreg_b32 {to}, {mode}");
                self.scalars.push((save, format!("s_setreg_b32 {mode}, {to}")));
            }
            RegisterFile::Special(Special::Scc) => {
                let to = scratch.sgprs(1, 1).map_err(|_| few(false, self.scalars.len()))?;
                let save = format!("s_cselect_b32 {to}, 1, 0");
                self.scc = Some((save, format!("s_cmp_lg_u32 {to}, 0")));
            }
            // Saved by itself, and there is no upper half in waves of 32 lanes.
            RegisterFile::Special(Special::ExecLo | Special::ExecHi | Special::Exec) => {}
            _ => {
                let detail = format!("{register} is needed, and the function changes it");
                return Err(Refusal::new(RefusalKind::StillNeeded, detail));
            }
        }
        Ok(())
    }
}
