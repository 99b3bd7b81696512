//! What two launches left, held against each other.

use std::collections::BTreeMap;

use hsaco_emu::RegisterValue;
use hsaco_isa::model::RegisterFile;
use hsaco_load::SourceFrame;

use crate::observe::{Captured, Visited, WaveId};
use crate::run::Left;

/// What differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DifferenceKind {
    /// A live register where a site begins or ends.
    Register,
    /// A byte of memory at the end.
    Memory,
    /// Where a wave goes.
    Path,
    /// Only the result stopped.
    Stopped,
    /// What was printed.
    Printed,
    /// The result still meets an erratum of its silicon.
    Erratum,
    /// Only the result uses a register while an operation on it is outstanding, or too soon after another instruction.
    Timing,
}

impl DifferenceKind {
    /// A short name that programs may rely on.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Register => "register",
            Self::Memory => "memory",
            Self::Path => "path",
            Self::Stopped => "stopped",
            Self::Printed => "printed",
            Self::Erratum => "erratum",
            Self::Timing => "timing",
        }
    }
}

/// A difference between the original and the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What differs.
    pub kind: DifferenceKind,
    /// The launch.
    pub input: String,
    /// The instruction, as the object has its address: of the site, or the one that stored.
    pub address: Option<u64>,
    /// Its text.
    pub instruction: String,
    /// Where it is in the source, the innermost function first.
    pub source: Vec<SourceFrame>,
    /// The workgroup, and the wave's number in it.
    pub wave: Option<([u32; 3], u32)>,
    /// The lanes.
    pub lanes: u64,
    /// Where the value is: `v3`, `argument 0, byte 0x40`.
    pub place: String,
    /// The original's value.
    pub original: String,
    /// The result's.
    pub result: String,
}

/// Where two waves part: how often they came by before that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parting {
    pub(crate) wave: WaveId,
    pub(crate) number: usize,
    /// Where each was; nowhere if it came by no more.
    pub(crate) at: [Option<u64>; 2],
}

/// The first visit that is not the same.
pub(crate) fn parting(
    original: &BTreeMap<WaveId, Vec<Visited>>,
    result: &BTreeMap<WaveId, Vec<Visited>>,
) -> Option<Parting> {
    let waves = original.keys().chain(result.keys());
    waves
        .filter_map(|wave| {
            let [one, other] =
                [original, result].map(|it| it.get(wave).map_or(&[][..], Vec::as_slice));
            let same = one.iter().zip(other).take_while(|(a, b)| a == b).count();
            let at = [one, other].map(|it| it.get(same).map(|visited| visited.0));
            (at != [None, None]).then_some(Parting { wave: *wave, number: same, at })
        })
        .min_by_key(|it| (it.number, it.wave))
}

/// A register that does not hold the same: its name, the lanes, and the values in the first of them.
pub(crate) fn register(original: &Captured, result: &Captured) -> Option<(String, u64, [u32; 2])> {
    if original.msb != result.msb {
        let values = [original.msb, result.msb].map(u32::from);
        return Some(("VGPR MSBs".to_owned(), 0, values));
    }
    let pairs = original.registers.iter().zip(&result.registers);
    pairs.flat_map(|(one, other)| differing(one, other)).next()
}

fn differing(
    one: &RegisterValue,
    other: &RegisterValue,
) -> impl Iterator<Item = (String, u64, [u32; 2])> {
    let rows = one.values.iter().zip(&other.values).enumerate();
    rows.filter_map(|(at, (a, b))| {
        let lanes = a.iter().zip(b).enumerate().filter(|(_, (a, b))| a != b);
        let mask = lanes.clone().fold(0, |mask, (lane, _)| mask | 1_u64 << (lane & 63));
        let (_, (a, b)) = lanes.clone().next()?;
        let is_vector = matches!(one.register.file, RegisterFile::Vgpr | RegisterFile::Agpr);
        Some((name(one, at), if is_vector { mask } else { 0 }, [*a, *b]))
    })
    .collect::<Vec<_>>()
    .into_iter()
}

fn name(value: &RegisterValue, at: usize) -> String {
    let number = usize::from(value.register.first) + at;
    match value.register.file {
        RegisterFile::Vgpr => format!("v{number}"),
        RegisterFile::Agpr => format!("a{number}"),
        RegisterFile::Sgpr => format!("s{number}"),
        RegisterFile::Ttmp => format!("ttmp{number}"),
        RegisterFile::Special(special) => format!("{special:?}").to_uppercase(),
    }
}

/// The first byte of memory that is not the same: its address, its name, and four bytes of each.
pub(crate) fn memory(original: &Left, result: &Left) -> Option<(u64, String, [Vec<u8>; 2])> {
    let buffers = original.buffers.iter().filter_map(|(number, (address, bytes))| {
        let other = &result.buffers.get(number)?.1;
        let (at, values) = first(bytes, other)?;
        Some((address + at, format!("argument {number}, byte {at:#x}"), values))
    });
    let variables = original.variables.iter().filter_map(|(address, bytes)| {
        let (_, other) = result.variables.iter().find(|it| it.0 == *address)?;
        let (at, values) = first(bytes, other)?;
        Some((address + at, format!("a variable at {:#x}", address + at), values))
    });
    buffers.chain(variables).next()
}

/// The word around the first byte that differs.
fn first(one: &[u8], other: &[u8]) -> Option<(u64, [Vec<u8>; 2])> {
    let at = one.iter().zip(other).position(|(a, b)| a != b)? & !3;
    let word = |bytes: &[u8]| bytes.iter().skip(at).take(4).copied().collect();
    Some((at as u64, [word(one), word(other)]))
}
