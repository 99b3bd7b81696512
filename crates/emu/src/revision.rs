//! Steppings of gfx1250, and what the first one does wrong.
//!
//! Which instructions meet an erratum is told by [`hsaco_isa::errata`]; this table says what comes of it on a device.

use std::collections::BTreeMap;

use hsaco_isa::errata::{self, Erratum};
use hsaco_isa::{Decoder, Inst};

/// Which silicon of gfx1250. Other processors have one.
///
/// ```
/// use hsaco_emu::Revision;
/// assert_eq!((Revision::A0.number(), Revision::B0.number()), (0, 1));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Revision {
    /// The first, with its errata.
    A0,
    /// The one that ships.
    #[default]
    B0,
}

impl Revision {
    /// The number by which runtimes tell it to programs, as `HSA_AMD_AGENT_INFO_ASIC_REVISION` does. No instruction reads it.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::A0 => 0,
            Self::B0 => 1,
        }
    }
}

/// What comes of an erratum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// The result is wrong as on the device.
    WrongResult,
    /// The device hangs: the program stops with an [`ErrorKind::Erratum`](crate::ErrorKind::Erratum).
    Hang,
    /// What the device does is not known: the program goes on as on B0.
    Unknown,
    /// No result is known to be wrong: the device is slower, or traps and debuggers go wrong, or nothing is documented.
    Harmless,
}

impl Effect {
    /// A short name that programs may rely on.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::WrongResult => "wrong-result",
            Self::Hang => "hang",
            Self::Unknown => "unknown",
            Self::Harmless => "harmless",
        }
    }
}

/// An erratum that a program has met.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MetErratum {
    /// Its name, which is that of the rule that removes it.
    pub name: &'static str,
    /// What came of it.
    pub effect: Effect,
    /// What goes wrong, in words.
    pub detail: &'static str,
    /// Where the instruction is.
    pub address: u64,
    /// The instruction's text.
    pub instruction: String,
    /// How often waves met it there.
    pub executions: u64,
}

/// What registers have to hold for an erratum to be met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Always,
    /// The mask of workgroups in M0 names one.
    MaskInM0,
    /// M0 has bits that only the later stepping reads.
    WideM0,
    /// The mask of workgroups in a tensor's descriptor names one.
    MaskInDescriptor,
    /// An address is no multiple of what is moved.
    Misaligned,
    /// No vector memory instruction has run yet.
    First,
    /// Too few vector instructions are between; told where the second one runs.
    TooSoon,
}

/// An erratum on a device.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) erratum: Erratum,
    pub(crate) when: When,
    pub(crate) effect: Effect,
    pub(crate) detail: &'static str,
}

const fn model(erratum: Erratum, when: When, effect: Effect, detail: &'static str) -> Model {
    Model { erratum, when, effect, detail }
}

/// Every erratum.
pub(crate) static MODELS: [Model; errata::GFX1250_A0.len()] = {
    use Effect::{Hang, Harmless, Unknown, WrongResult};
    [
        model(
            errata::CLUSTER_LOAD,
            When::MaskInM0,
            Unknown,
            "a load for other workgroups hangs or goes astray",
        ),
        model(errata::CLAUSE, When::Always, Unknown, "clauses are mishandled"),
        model(errata::BARRIER_ISFIRST, When::Always, WrongResult, "SCC is left as it was"),
        model(
            errata::DS_TWO_ADDRESS,
            When::Misaligned,
            Unknown,
            "addresses that are not aligned corrupt LDS",
        ),
        model(errata::DS_ADDTID, When::WideM0, WrongResult, "bits 16 to 19 of M0 are dropped"),
        model(errata::TENSOR_MASK, When::MaskInDescriptor, Hang, "a mask of workgroups hangs"),
        model(
            errata::WMMA_SPLIT,
            When::Always,
            WrongResult,
            "bit 7 of the opcode is dropped, which makes it another instruction",
        ),
        model(
            errata::SCALE_SIXTEEN,
            When::Always,
            Unknown,
            "there may be no scale for every 16 numbers",
        ),
        model(
            errata::E5M3,
            When::Always,
            WrongResult,
            "the clamp bit is dropped, so it converts E4M3",
        ),
        model(
            errata::SCALE_SRC2,
            When::Always,
            Harmless,
            "a third scale that is no vector register stalls",
        ),
        model(
            errata::SETHALT,
            When::Always,
            Unknown,
            "a halt may lose the scale of a matrix instruction",
        ),
        model(errata::VOP3PX_WRAP, When::Always, Harmless, "a trap cannot go back to it"),
        model(
            errata::MODE_BEFORE_MSB,
            When::Always,
            Unknown,
            "the s_set_vgpr_msb that follows may be lost",
        ),
        model(errata::DEFERRED, When::Always, Harmless, "what goes wrong is not documented"),
        model(
            errata::WMMA_HAZARD,
            When::TooSoon,
            Unknown,
            "registers of an integer matrix instruction are written too soon after it",
        ),
        model(
            errata::ENTRY_STUB,
            When::First,
            Unknown,
            "the first vector memory instruction of a wave is in a clause",
        ),
    ]
};

/// The numbers of the errata that an instruction may meet.
pub(crate) fn met_by(decoder: &Decoder, inst: &Inst, next: Option<&Inst>) -> Vec<u16> {
    let met = |model: &Model| model.erratum.affects(decoder, inst, next);
    (0..).zip(&MODELS).filter(|(_, model)| met(model)).map(|(number, _)| number).collect()
}

/// The number of an erratum.
pub(crate) fn number_of(erratum: &Erratum) -> u16 {
    (0..).zip(&MODELS).find(|(_, it)| it.erratum.name == erratum.name).map_or(0, |it| it.0)
}

/// What waves have met: executions by address and number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Met(BTreeMap<(u64, u16), u64>);

impl Met {
    pub(crate) fn record(&mut self, address: u64, number: u16) {
        *self.0.entry((address, number)).or_default() += 1;
    }

    /// Adds what is in another, which is empty then.
    pub(crate) fn take(&mut self, other: &mut Self) {
        for (place, count) in std::mem::take(&mut other.0) {
            *self.0.entry(place).or_default() += count;
        }
    }

    /// In the order of addresses, with the text of the instruction at each.
    pub(crate) fn reports(&self, text: impl Fn(u64) -> String) -> Vec<MetErratum> {
        let report = |(&(address, number), &executions): (&(u64, u16), &u64)| {
            let model = MODELS.get(usize::from(number))?;
            Some(MetErratum {
                name: model.erratum.name,
                effect: model.effect,
                detail: model.detail,
                address,
                instruction: text(address),
                executions,
            })
        };
        self.0.iter().filter_map(report).collect()
    }
}
