//! What instructions compute, as `isa-data/semantics.tsv` has it.

use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

use crate::generated::{FIDELITY_BY_TARGET, NAMES, Op, REASONS, ROWS, TARGETS, TYPES};

/// How far the result of an instruction can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fidelity {
    /// As the manual defines it: integers, moves, IEEE arithmetic.
    Exact,
    /// As a model that was confirmed on hardware has it.
    Silicon,
    /// Within a bound of the hardware's result.
    Approximate,
    /// Not written yet: running it is an error.
    Unwritten,
    /// Will not be run, for the reason given.
    Refused,
}

impl Fidelity {
    /// All of them, the best first.
    pub const ALL: [Self; 5] =
        [Self::Exact, Self::Silicon, Self::Approximate, Self::Unwritten, Self::Refused];

    /// Its name in the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Silicon => "silicon",
            Self::Approximate => "approximate",
            Self::Unwritten => "unwritten",
            Self::Refused => "refused",
        }
    }

    /// Whether an instruction of this kind runs.
    #[must_use]
    pub const fn runs(self) -> bool {
        matches!(self, Self::Exact | Self::Silicon | Self::Approximate)
    }
}

impl fmt::Display for Fidelity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The type of an operand: its width, what negates it, and how a literal fills it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, dead_code, reason = "named as in the table")]
pub(crate) enum Type {
    /// One byte of a register, as the instruction's bits say.
    Byte,
    B16,
    F16,
    Bf16,
    B32,
    F32,
    B64,
    I64,
    F64,
    B96,
    B128,
    B256,
    B512,
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    U8D16,
    U8D16Hi,
    I8D16,
    I8D16Hi,
    U16D16,
    U16D16Hi,
    /// Two halves of a register.
    Pk16,
    Pkf16,
    Pkbf16,
    /// Two registers, each by itself.
    Pkf32,
    Pk32,
    /// A float or half of a register, as the instruction's bits say.
    Mix,
    /// A lane mask in scalar registers.
    Mask,
    /// A scalar register written by a vector unit.
    Sf16,
    Sf32,
    /// The last operand is an immediate.
    K,
    Lane,
    Swap,
    Movrel,
    Matrix,
    /// Elements of less than a register, many of them.
    Small,
    Format,
}

/// One line of the table.
#[derive(Debug)]
pub(crate) struct Semantics {
    pub(crate) mnemonic: &'static str,
    pub(crate) op: Op,
    pub(crate) outputs: &'static [Type],
    pub(crate) inputs: &'static [Type],
    /// Where [`FIDELITY_BY_TARGET`] does not have it.
    pub(crate) fidelity: Fidelity,
    pub(crate) reason: &'static str,
    pub(crate) forms: [u16; TARGETS.len()],
}

/// A line as it is stored: without pointers, all of which would have to be relocated whenever a program starts.
pub(crate) struct Row {
    /// How long the mnemonic is, which follows that of the line before.
    pub(crate) name: u8,
    pub(crate) op: Op,
    /// Where the types are, and how many.
    pub(crate) outputs: (u16, u8),
    pub(crate) inputs: (u16, u8),
    pub(crate) fidelity: Fidelity,
    pub(crate) reason: u8,
    pub(crate) forms: [u16; TARGETS.len()],
}

/// All lines, by mnemonic.
pub(crate) static SEMANTICS: LazyLock<Vec<Semantics>> = LazyLock::new(|| {
    let types = |(start, count): (u16, u8)| {
        let start = usize::from(start);
        TYPES.get(start..start + usize::from(count)).unwrap_or_default()
    };
    let mut end = 0;
    let mut name = |length: u8| -> Range<usize> {
        let start = end;
        end += usize::from(length);
        start..end
    };
    let line = |row: &Row| Semantics {
        mnemonic: NAMES.get(name(row.name)).unwrap_or_default(),
        op: row.op,
        outputs: types(row.outputs),
        inputs: types(row.inputs),
        fidelity: row.fidelity,
        reason: REASONS.get(usize::from(row.reason)).copied().unwrap_or_default(),
        forms: row.forms,
    };
    ROWS.iter().map(line).collect()
});

impl Semantics {
    /// How far results can be trusted on the target of that number.
    pub(crate) fn fidelity_on(&self, target: usize) -> Fidelity {
        let at = FIDELITY_BY_TARGET.binary_search_by(|(mnemonic, _)| mnemonic.cmp(&self.mnemonic));
        let line = at.ok().and_then(|at| FIDELITY_BY_TARGET.get(at));
        line.and_then(|(_, all)| all.get(target)).copied().unwrap_or(self.fidelity)
    }
}

/// The line for a mnemonic, in whatever encoding.
pub(crate) fn find(mnemonic: &str) -> Option<&'static Semantics> {
    let bare = ["_e32", "_e64", "_dpp", "_sdwa"]
        .iter()
        .find_map(|suffix| mnemonic.strip_suffix(suffix))
        .unwrap_or(mnemonic);
    let at = match bare.strip_prefix("v_dual_") {
        Some(rest) => SEMANTICS
            .binary_search_by(|it| it.mnemonic.bytes().cmp("v_".bytes().chain(rest.bytes()))),
        None => SEMANTICS.binary_search_by(|it| it.mnemonic.cmp(bare)),
    };
    at.ok().and_then(|at| SEMANTICS.get(at))
}

/// How many forms of a target there are of each fidelity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// The target.
    pub target: &'static str,
    /// Forms, in the order of [`Fidelity::ALL`].
    pub forms: [u32; 5],
}

/// What the emulator runs of each target's instructions.
///
/// ```
/// let all = hsaco_emu::coverage();
/// assert_eq!(all.len(), 8);
/// assert!(all.iter().all(|it| it.forms.iter().sum::<u32>() > 1000));
/// ```
#[must_use]
pub fn coverage() -> Vec<Coverage> {
    let count = |(number, target): (usize, &&'static str)| {
        let mut forms = [0; 5];
        for line in SEMANTICS.iter() {
            let at = Fidelity::ALL.iter().position(|it| *it == line.fidelity_on(number));
            if let (Some(sum), Some(count)) =
                (at.and_then(|at| forms.get_mut(at)), line.forms.get(number))
            {
                *sum += u32::from(*count);
            }
        }
        Coverage { target, forms }
    };
    TARGETS.iter().enumerate().map(count).collect()
}

/// How far an instruction can be trusted on a target, in whatever encoding, and the reason; none where no target has it.
///
/// ```
/// use hsaco_emu::{Fidelity, fidelity};
/// assert_eq!(fidelity("v_add_u32_e32", "gfx942").map(|it| it.0), Some(Fidelity::Exact));
/// assert_eq!(fidelity("image_sample", "gfx1100").map(|it| it.0), Some(Fidelity::Refused));
/// ```
#[must_use]
pub fn fidelity(mnemonic: &str, target: &str) -> Option<(Fidelity, &'static str)> {
    let column = TARGETS.iter().position(|it| *it == target)?;
    find(mnemonic).map(|line| (line.fidelity_on(column), line.reason))
}

/// The mnemonics of a fidelity, each with its reason and the targets on which it is so.
pub fn mnemonics(
    fidelity: Fidelity,
) -> impl Iterator<Item = (&'static str, &'static str, Vec<&'static str>)> {
    SEMANTICS.iter().filter_map(move |line| {
        let is_so = |number: usize| line.fidelity_on(number) == fidelity;
        let of = TARGETS.iter().zip(line.forms).enumerate();
        let targets = of.filter(|(number, (_, count))| *count > 0 && is_so(*number));
        let targets: Vec<&str> = targets.map(|(_, (target, _))| *target).collect();
        (!targets.is_empty()).then_some((line.mnemonic, line.reason, targets))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_of_one_instruction_are_one_line() {
        let of = |mnemonic: &str| find(mnemonic).map(|it| it.mnemonic);
        assert_eq!(of("v_cmp_eq_u32_e32"), Some("v_cmp_eq_u32"));
        assert_eq!(of("v_dual_fmac_f32"), Some("v_fmac_f32"));
        assert_eq!(of("v_no_such"), None);
    }
}
