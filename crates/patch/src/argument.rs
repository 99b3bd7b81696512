//! What calls that a caller asks for can give a function: what registers hold when a kernel begins, and constants.

use hsaco_analysis::{FunctionKind, RegisterSet};
use hsaco_bytes::number;
use hsaco_isa::effects::Flow;
use hsaco_isa::model::{Register, RegisterFile, VgprMsb};
use hsaco_isa::target::Generation;
use hsaco_kernarg::{EntryRegister, EntryValue};

use crate::refusal::{Refusal, RefusalKind};
use crate::scratch::ScratchRegisters;
use crate::site::Site;

/// An argument of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InsertedArgument {
    /// The address of the kernel's arguments: 64 bits.
    Kernarg,
    /// The address of the dispatch packet: 64 bits.
    DispatchPtr,
    /// The work-group's number in a dimension: 32 bits.
    WorkgroupId(u8),
    /// A number of 32 bits.
    Constant(u32),
    /// A number of 64 bits.
    LongConstant(u64),
}

/// The names of what registers hold.
const NAMES: [(&str, InsertedArgument); 5] = [
    ("kernarg", InsertedArgument::Kernarg),
    ("dispatch_ptr", InsertedArgument::DispatchPtr),
    ("workgroup_id_x", InsertedArgument::WorkgroupId(0)),
    ("workgroup_id_y", InsertedArgument::WorkgroupId(1)),
    ("workgroup_id_z", InsertedArgument::WorkgroupId(2)),
];

impl std::str::FromStr for InsertedArgument {
    type Err = String;

    /// Reads a name, a number of 32 bits, or one of 64 bits with an `l` behind it.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((_, argument)) = NAMES.iter().find(|(name, _)| *name == text) {
            return Ok(*argument);
        }
        let wrong = || {
            let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
            format!("`{text}` is neither a number nor one of {}", names.join(", "))
        };
        let (digits, is_long) = match text.strip_suffix(['l', 'L']) {
            Some(digits) => (digits, true),
            None => (text, false),
        };
        let (digits, is_negative) = match digits.strip_prefix('-') {
            Some(digits) => (digits, true),
            None => (digits, false),
        };
        let value = number::parse(digits).ok_or_else(wrong)?;
        let long = if is_negative { value.wrapping_neg() } else { value };
        if is_long {
            return Ok(InsertedArgument::LongConstant(long));
        }
        let is_short = u32::try_from(value).is_ok() && (!is_negative || value <= 1 << 31);
        match is_short {
            true => Ok(InsertedArgument::Constant(long as u32)),
            false => Err(format!("`{text}` has more than 32 bits; `{text}l` is one of 64")),
        }
    }
}

impl InsertedArgument {
    /// How many vector registers it is passed in.
    pub(crate) fn registers(self) -> usize {
        match self {
            InsertedArgument::WorkgroupId(_) | InsertedArgument::Constant(_) => 1,
            InsertedArgument::Kernarg
            | InsertedArgument::DispatchPtr
            | InsertedArgument::LongConstant(_) => 2,
        }
    }

    /// What a register has to hold for it.
    fn held(self) -> Option<EntryValue> {
        match self {
            InsertedArgument::Kernarg => Some(EntryValue::KernargSegmentPtr),
            InsertedArgument::DispatchPtr => Some(EntryValue::DispatchPtr),
            InsertedArgument::WorkgroupId(axis) => Some(EntryValue::WorkgroupId(axis)),
            InsertedArgument::Constant(_) | InsertedArgument::LongConstant(_) => None,
        }
    }

    /// The registers that it is in when a kernel begins, and no others: what code may not take in the meantime.
    pub(crate) fn homes(
        arguments: &[InsertedArgument],
        entry: Option<&hsaco_kernarg::EntryState>,
    ) -> RegisterSet {
        let mut homes = RegisterSet::default();
        let held = arguments.iter().filter_map(|it| it.held());
        for value in held {
            let registers = entry.map_or(&[][..], hsaco_kernarg::EntryState::registers);
            let found = registers.iter().find(|it| it.holds == value);
            found.iter().for_each(|it| homes.insert(&it.register));
        }
        homes
    }
}

/// Where an argument comes from.
enum Source {
    Registers(Register),
    /// Some bits of one.
    Bits(Register, u8, u8),
    Number(u64),
}

/// The arguments of a call at a place.
pub(crate) struct Given(Vec<(InsertedArgument, Source)>);

impl Given {
    /// Finds what is to be passed.
    ///
    /// # Errors
    /// Where a register does not hold it, or may not any more.
    pub(crate) fn find(site: &Site<'_>, arguments: &[InsertedArgument]) -> Result<Self, Refusal> {
        let found = arguments.iter().map(|argument| Ok((*argument, source(site, *argument)?)));
        found.collect::<Result<_, Refusal>>().map(Given)
    }

    pub(crate) fn registers(&self) -> impl Iterator<Item = Register> {
        self.0.iter().filter_map(|(_, source)| match source {
            Source::Registers(register) | Source::Bits(register, ..) => Some(*register),
            Source::Number(_) => None,
        })
    }

    pub(crate) fn loses_scc(&self) -> bool {
        self.0.iter().any(|(argument, source)| {
            matches!(source, Source::Bits(..))
                || matches!(argument, InsertedArgument::WorkgroupId(_))
        })
    }

    /// The lines that put the arguments into vector registers.
    pub(crate) fn lines(
        &self,
        site: &Site<'_>,
        scratch: &mut ScratchRegisters<'_>,
    ) -> Result<Vec<String>, Refusal> {
        let mut lines = Vec::new();
        let mut next = 0;
        for (argument, source) in &self.0 {
            let words: Vec<String> = match source {
                Source::Registers(register) if is_clustered(site, *argument) => {
                    let number = scratch.sgprs(1, 1)?;
                    lines.push(format!("s_mov_b32 {number}, {register}"));
                    vec![in_cluster(*argument, number, scratch, &mut lines)?]
                }
                Source::Registers(register) => {
                    let words = 0..u16::from(register.count);
                    let single =
                        |at| Register { first: register.first + at, count: 1, ..*register };
                    words.map(|at| single(at).to_string()).collect()
                }
                Source::Bits(register, first, width) => {
                    let number = scratch.sgprs(1, 1)?;
                    let field = u32::from(*width) << 16 | u32::from(*first);
                    lines.push(format!("s_bfe_u32 {number}, {register}, {field:#x}"));
                    match is_clustered(site, *argument) {
                        true => vec![in_cluster(*argument, number, scratch, &mut lines)?],
                        false => vec![number.to_string()],
                    }
                }
                Source::Number(value) => {
                    let words = [*value as u32, (*value >> 32) as u32];
                    let words = words.iter().take(argument.registers());
                    words.map(|word| format!("{word:#x}")).collect()
                }
            };
            for word in words {
                lines.push(format!("v_mov_b32_e32 v{next}, {word}"));
                next += 1;
            }
        }
        Ok(lines)
    }
}

/// Whether the number is that of a cluster of work-groups, where there are any.
fn is_clustered(site: &Site<'_>, argument: InsertedArgument) -> bool {
    let generation = site.view().tools().processor().generation();
    generation == Generation::Gfx125 && matches!(argument, InsertedArgument::WorkgroupId(_))
}

/// The number of a work-group, from that of its cluster in a register: as LLVM makes it.
fn in_cluster(
    argument: InsertedArgument,
    number: Register,
    scratch: &mut ScratchRegisters<'_>,
    lines: &mut Vec<String>,
) -> Result<String, Refusal> {
    let axis = match argument {
        InsertedArgument::WorkgroupId(axis) => u32::from(axis),
        _ => 0,
    };
    let (size, inside) = (scratch.sgprs(1, 1)?, scratch.sgprs(1, 1)?);
    let field = |first: u32| 4 << 16 | first;
    lines.extend([
        format!("s_bfe_u32 {size}, ttmp6, {:#x}", field(12 + 4 * axis)),
        format!("s_add_co_i32 {size}, {size}, 1"),
        format!("s_bfe_u32 {inside}, ttmp6, {:#x}", field(4 * axis)),
        format!("s_mul_i32 {size}, {number}, {size}"),
        format!("s_add_co_i32 {size}, {inside}, {size}"),
        format!("s_getreg_b32 {inside}, hwreg(HW_REG_IB_STS2, 6, 4)"),
        format!("s_cmp_eq_u32 {inside}, 0"),
        format!("s_cselect_b32 {number}, {number}, {size}"),
    ]);
    Ok(number.to_string())
}

fn source(site: &Site<'_>, argument: InsertedArgument) -> Result<Source, Refusal> {
    let Some(value) = argument.held() else {
        return Ok(match argument {
            InsertedArgument::LongConstant(value) => Source::Number(value),
            InsertedArgument::Constant(value) => Source::Number(value.into()),
            _ => Source::Number(0),
        });
    };
    let found = holder(site, value);
    let found = found.map_err(|why| Refusal::new(RefusalKind::Unsupported, why))?;
    Ok(match found.bits {
        Some((first, width)) => Source::Bits(found.register, first, width),
        None => Source::Registers(found.register),
    })
}

/// The register that holds at a place what was in it when the kernel began, or why none does.
pub(crate) fn holder(site: &Site<'_>, value: EntryValue) -> Result<EntryRegister, String> {
    let view = site.view();
    let refuse = |why: &str| format!("{} is in no register: {why}", value.name());
    if view.kind() != FunctionKind::Kernel {
        return Err(refuse("only kernels have it when they begin"));
    }
    let entry = view
        .kernel_entry()
        .ok_or_else(|| refuse("the kernel's descriptor does not say what registers hold"))?;
    let found = entry.registers().iter().find(|it| it.holds == value);
    let found = found.ok_or_else(|| refuse("the kernel does not ask for it"))?;
    if found.register.file != RegisterFile::Ttmp
        && let Some(writer) = writer_before(site, &found.register)
    {
        let (register, at) = (found.register, view.place(writer));
        return Err(refuse(&format!("{register}, which held it, may be changed by {at}")));
    }
    Ok(*found)
}

/// An instruction that may run before a place and change a register, if there is one.
fn writer_before(site: &Site<'_>, register: &Register) -> Option<usize> {
    let view = site.view();
    let stream = view.stream();
    let writes = |step: &usize| {
        let Some(inst) = stream.inst(*step) else { return true };
        let leaves = matches!(inst.flow(), Flow::Call | Flow::IndirectCall | Flow::Trap);
        let mut written = RegisterSet::default();
        let effects = view.decoder().effects(&inst, VgprMsb::default());
        effects.writes().for_each(|it| written.insert(&it));
        leaves || written.contains(register)
    };
    if !view.is_closed() {
        return (0..stream.len()).find(writes);
    }
    view.before(site.step()).find(writes)
}
