//! From text to instructions: the printer's programs, run backwards.
//!
//! A name has a few forms. Each is tried in turn, in the order in which LLVM prefers them: its print
//! program is followed over the text, and what it would have printed is read and put into its fields.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers are held to their range where they are read"
)]

mod cursor;
mod error;
mod form;
mod modifier;
mod named;
mod number;
mod operand;

use std::collections::HashMap;
use std::fmt;

use crate::Processor;
use crate::decode::{DecodeOptions, Decoder, UnsupportedProcessor};
use crate::generated::{FORMS, NAMES, OPS, PIECES};
use crate::inst::{self, Inst};
use crate::table::{Flags, P};
use cursor::Cursor;
pub use error::AsmError;
use error::{Expected, Miss};
use form::Attempt;

/// Assembles instructions of one processor.
///
/// ```
/// use hsaco_isa::{Assembler, DecodeOptions, Processor};
/// let assembler = Assembler::new(Processor::from_name("gfx942").unwrap(), DecodeOptions::default())?;
/// let inst = assembler.assemble("v_add_u32 v3, v1, v2").unwrap();
/// assert_eq!(&inst.bytes()[..inst.len()], [0x01, 0x05, 0x06, 0x68]);
/// # Ok::<(), hsaco_isa::UnsupportedProcessor>(())
/// ```
pub struct Assembler {
    decoder: Decoder,
    /// By name without suffix: which of the candidates.
    names: HashMap<&'static str, (u32, u32)>,
    candidates: Vec<Candidate>,
}

impl fmt::Debug for Assembler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Assembler").field(&self.decoder).finish()
    }
}

/// A form of the processor, with the bits that an encoder sets although a decoder ignores them.
#[derive(Clone, Copy)]
struct Candidate {
    blank: Inst,
    variant: Variant,
    /// The name of the second half of a dual instruction.
    partner: &'static str,
}

/// The families of encodings that an instruction may have, in the order in which they are tried.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Variant {
    Usual,
    Vop3,
    Sdwa,
    Dpp,
    Vop3Dpp,
}

/// Suffixes of names, longest first, and the encodings that they ask for.
const SUFFIXES: [(&str, Variant); 5] = [
    ("_e64_dpp", Variant::Vop3Dpp),
    ("_e32", Variant::Usual),
    ("_e64", Variant::Vop3),
    ("_dpp", Variant::Dpp),
    ("_sdwa", Variant::Sdwa),
];

impl Variant {
    fn of(flags: &Flags) -> Self {
        match (flags.any(Flags::VOP3), flags.any(Flags::DPP), flags.any(Flags::SDWA)) {
            (true, true, _) => Variant::Vop3Dpp,
            (_, true, _) => Variant::Dpp,
            (_, _, true) => Variant::Sdwa,
            (true, _, _) => Variant::Vop3,
            _ => Variant::Usual,
        }
    }
}

impl Assembler {
    /// An assembler for a processor under settings; `mode` is of no account.
    pub fn new(processor: Processor, options: DecodeOptions) -> Result<Self, UnsupportedProcessor> {
        let decoder = Decoder::with_options(processor, options)?;
        let mut named: Vec<(&'static str, Candidate)> = Vec::with_capacity(6000);
        for (number, size) in decoder.tables().forms() {
            if let Some(name) =
                FORMS.get(usize::from(number)).and_then(|form| NAMES.get(usize::from(form.name)))
            {
                let mut blank = Inst::blank(number, size);
                blank.set_ignored();
                let variant = Variant::of(blank.flags());
                let full = inst::text(name.start, name.full);
                named.push((
                    split_suffix(full).map_or(full, |(base, _)| base),
                    Candidate { blank, variant, partner: partner(&blank) },
                ));
            }
        }
        // Of several forms for a text the smallest is taken; of those of one size, the decoder's first.
        named.sort_by_cached_key(|(name, candidate)| {
            let blank = &candidate.blank;
            (
                *name,
                candidate.variant,
                blank.len,
                blank.extra_addresses(),
                blank.flags().has(Flags::LAST_RESORT),
            )
        });
        let mut names: HashMap<_, (u32, u32)> = HashMap::new();
        for (at, (name, _)) in (0..).zip(&named) {
            names.entry(*name).or_insert((at, at)).1 = at + 1;
        }
        let candidates = named.into_iter().map(|(_, candidate)| candidate).collect();
        Ok(Assembler { decoder, names, candidates })
    }

    /// A decoder for the same processor under the same settings.
    #[must_use]
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// The instruction that a line is: a name and its operands, as the decoder prints them.
    pub fn assemble(&self, line: &str) -> Result<Inst, AsmError> {
        self.parse(line).map_err(AsmError::new)
    }

    fn parse(&self, line: &str) -> Result<Inst, Miss> {
        let mut cursor = Cursor::new(line);
        let start = cursor;
        let (candidates, forced) = self
            .lookup(cursor.take_word())
            .ok_or(start.miss(Expected::What("an instruction of this processor")))?;
        let is_dual = candidates.first().is_some_and(|candidate| !candidate.partner.is_empty());
        let second = if is_dual { line.split_once("::") } else { None };
        let partner = second.map_or("", |(_, second)| Cursor::new(second).word());
        let mut furthest: Option<Miss> = None;
        for candidate in candidates {
            if forced.is_some_and(|variant| variant != candidate.variant) || candidate.partner != partner {
                continue;
            }
            match Attempt::new(self.decoder.tables(), candidate.blank, cursor).run() {
                Ok(inst) => return Ok(inst),
                Err(miss) if furthest.is_none_or(|other| other.at < miss.at) => furthest = Some(miss),
                Err(_) => {}
            }
        }
        Err(furthest.unwrap_or(start.miss(Expected::What("an encoding that the instruction has"))))
    }

    fn lookup(&self, name: &str) -> Option<(&[Candidate], Option<Variant>)> {
        let find = |name: &str| {
            let (start, end) = *self.names.get(name)?;
            self.candidates.get(start as usize..end as usize)
        };
        match split_suffix(name).and_then(|(base, variant)| Some((find(base)?, Some(variant)))) {
            Some(found) => Some(found),
            None => Some((find(name)?, None)),
        }
    }
}

/// A name without the suffix that asks for an encoding.
fn split_suffix(name: &str) -> Option<(&str, Variant)> {
    SUFFIXES.iter().find_map(|(suffix, variant)| Some((name.strip_suffix(suffix)?, *variant)))
}

/// The name after `::` in a form's text.
fn partner(blank: &Inst) -> &'static str {
    let (start, count) = blank.shape().ops;
    let ops = OPS.get(usize::from(start)..usize::from(start) + usize::from(count)).unwrap_or_default();
    let texts = ops.iter().filter(|op| op.0 == P::Text).filter_map(|op| PIECES.get(usize::from(op.1)));
    texts.filter_map(|text| text.trim().strip_prefix(":: ")).next().unwrap_or("")
}
