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
mod data;
mod error;
mod form;
mod modifier;
mod named;
mod number;
mod operand;
mod rule;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use crate::model::generated::{ALIAS_NAMES, ALIASES, KINDS, NAMES, PIECES};
use crate::model::table::{Flags, Kind, P, Source};
use crate::model::{self, Arch, Code, Features, Inst, Model, tag};
use cursor::Cursor;
pub use data::Data;
pub use error::AsmError;
use error::{Expected, Miss};
use form::Attempt;
use rule::{Broken, DualPlaces};

/// Reads the instructions of one processor.
pub(crate) struct Parser {
    model: Arc<Model>,
    /// By name without suffix: which of the candidates.
    names: Names<Forms>,
    /// The numbers of the names of second halves.
    partners: Names<u16>,
    candidates: Vec<Candidate>,
    plain_kinds: Vec<PlainKind>,
}

/// What a line of assembly is.
///
/// ```
/// use hsaco_isa::assembler::Statement;
/// use hsaco_isa::decoder::DecodeOptions;
/// use hsaco_isa::{Assembler, Processor};
/// let assembler = Assembler::new(Processor::from_name("gfx942").unwrap(), DecodeOptions::default())?;
/// let mut code = Vec::new();
/// for line in ["s_nop 1", ".long 0xbf800002 // s_nop 2", ".byte 3, 0, 0x80, -65"] {
///     assembler.statement(line).unwrap().encode(&mut code);
/// }
/// assert_eq!(code, [1, 0, 0x80, 0xbf, 2, 0, 0x80, 0xbf, 3, 0, 0x80, 0xbf]);
/// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Statement {
    /// An instruction.
    Inst(Inst),
    /// Numbers that stand for themselves.
    Data(Data),
}

impl Statement {
    /// Appends its bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Statement::Inst(inst) => inst.encode(out),
            Statement::Data(data) => data.encode(out),
        }
    }
}

/// Whose standard a line is held to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standard {
    /// Ours: LLVM's, but for what is known to run.
    Own,
    /// LLVM 22's.
    Llvm,
}

/// How many of the vector and of the scalar registers an operand of some kind may be, where one of them is all
/// that it is and all of them will do; zero otherwise.
struct PlainKind {
    vectors: u16,
    scalars: u16,
}

/// A form of the processor, with the bits that an encoder sets although a decoder ignores them.
#[derive(Clone, Copy)]
struct Candidate {
    blank: Inst,
    variant: Variant,
    /// The name of the second half of a dual instruction, and its number among such names; 0 of others.
    partner: &'static str,
    partner_number: u16,
    /// Where the registers of a dual instruction are.
    dual: Option<DualPlaces>,
    /// Words among the modifiers that its text always has.
    words: u8,
}

type Names<T> = HashMap<&'static str, T, BuildHasherDefault<Fnv>>;

/// Where the forms of a name are.
#[derive(Clone, Copy)]
struct Forms {
    start: u32,
    end: u32,
    /// Words among the modifiers that the text of one of them always has.
    words: u8,
}

/// The hash of Fowler, Noll and Vo: quick for short keys, and only our own names are ever in the table.
#[derive(Default)]
struct Fnv(u64);

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
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

impl Parser {
    pub(crate) fn new(model: Arc<Model>) -> Self {
        let (named, partners) = candidates(&model);
        let mut names = Names::default();
        for (at, (name, candidate)) in (0..).zip(&named) {
            let forms = names.entry(*name).or_insert(Forms { start: at, end: at, words: 0 });
            forms.end = at + 1;
            forms.words |= candidate.words;
        }
        add_aliases(&mut names, &model.features);
        let candidates = named.into_iter().map(|(_, candidate)| candidate).collect();
        let plain_kinds =
            (0..).zip(&KINDS).map(|(number, kind)| plain_kind(&model, number, kind)).collect();
        Parser { model, names, partners, candidates, plain_kinds }
    }

    /// The instruction that a line is.
    pub(crate) fn assemble(&self, line: &str) -> Result<Inst, AsmError> {
        self.parse(line, Standard::Own).map_err(AsmError::new)
    }

    /// What a line is: an instruction, or a directive for data after which a comment may stand.
    pub(crate) fn statement(&self, line: &str) -> Result<Statement, AsmError> {
        let mut cursor = Cursor::new(line);
        if cursor.peek() != b'.' {
            return self.assemble(line).map(Statement::Inst);
        }
        Data::parse(&mut cursor).map(Statement::Data).map_err(AsmError::new)
    }

    /// The instruction that LLVM's assembler makes of a line, if it takes it.
    pub(crate) fn llvm_inst(&self, line: &str) -> Option<Inst> {
        self.parse(line, Standard::Llvm).ok()
    }

    fn parse(&self, line: &str, standard: Standard) -> Result<Inst, Miss> {
        let mut cursor = Cursor::new(line);
        let start = cursor;
        let found = self.lookup(cursor.take_word());
        let (forms, forced) =
            found.ok_or(start.miss(Expected::What("an instruction of this processor")))?;
        let words = if forms.words == 0 { 0 } else { modifier::words_in(line) };
        let fits = |candidate: &&Candidate| {
            forced.is_none_or(|variant| variant == candidate.variant) && candidate.words == words
        };
        let mut furthest = start.miss(Expected::What("an encoding that the instruction has"));
        let mut broken = None;
        for candidate in self.with_partner(self.candidates(forms), line).iter().filter(fits) {
            let mut attempt = Attempt::new(self, candidate.blank, cursor);
            match attempt.run() {
                Ok(()) => {
                    match rule::check(&attempt.line(candidate.dual, candidate.partner, standard)) {
                        Ok(()) => return Ok(attempt.inst),
                        Err(_) if standard == Standard::Own && has_remark(line) => {
                            return Ok(attempt.inst);
                        }
                        Err(rule) => {
                            broken = Some((candidate, rule));
                            furthest.at = 0;
                            // The longer form of a dual instruction has fewer rules.
                            let is_longer = candidate.blank.flags().any(Flags::VOPD3);
                            if candidate.partner.is_empty() || is_longer {
                                break;
                            }
                        }
                    }
                }
                Err(miss) if miss.at > furthest.at => furthest = miss,
                Err(_) => {}
            }
        }
        let blamed = broken.map(|(candidate, rule)| self.blame(candidate, cursor, rule));
        Err(blamed.filter(|miss| miss.at >= furthest.at).unwrap_or(furthest))
    }

    /// Where the operand stands that breaks a rule: the form is tried again without it.
    fn blame(&self, candidate: &Candidate, cursor: Cursor<'_>, broken: Broken) -> Miss {
        let mut attempt = Attempt::new(self, candidate.blank, cursor);
        attempt.unwanted = Some(broken.operand);
        let found = attempt.run().err();
        Miss {
            what: Expected::What(broken.wanted),
            ..found.unwrap_or(attempt.cursor.miss(Expected::What("")))
        }
    }

    fn candidates(&self, forms: &Forms) -> &[Candidate] {
        self.candidates.get(forms.start as usize..forms.end as usize).unwrap_or_default()
    }

    /// Of the forms of a dual instruction, those whose second half is the line's.
    fn with_partner<'a>(&self, candidates: &'a [Candidate], line: &str) -> &'a [Candidate] {
        if candidates.first().is_none_or(|candidate| candidate.partner_number == 0) {
            return candidates;
        }
        let second = line.as_bytes().windows(2).position(|pair| pair == b"::");
        let partner = Cursor::new(second.and_then(|at| line.get(at + 2..)).unwrap_or("")).word();
        let Some(number) = self.partners.get(partner).copied() else { return &[] };
        let start = candidates.partition_point(|candidate| candidate.partner_number < number);
        let from = candidates.get(start..).unwrap_or_default();
        let count = from.iter().take_while(|candidate| candidate.partner_number == number).count();
        from.get(..count).unwrap_or_default()
    }

    /// The forms of a name, and the encoding that its suffix asks for.
    fn lookup(&self, name: &str) -> Option<(&Forms, Option<Variant>)> {
        let with_suffix = split_suffix(name)
            .and_then(|(base, variant)| Some((self.names.get(base)?, Some(variant))));
        with_suffix.or_else(|| Some((self.names.get(name)?, None)))
    }
}

/// The forms of the processor by name, in the order in which they are tried, and the numbers of the names of second halves.
fn candidates(model: &Model) -> (Vec<(&'static str, Candidate)>, Names<u16>) {
    let mut named: Vec<(&'static str, Candidate)> = Vec::with_capacity(6000);
    let mut partners = Names::from_iter([("", 0)]);
    for (table, number, form) in model.forms() {
        let mut blank = Inst::blank(number, table.size);
        if is_never_written(&blank, model.arch) {
            continue;
        }
        if let Some(name) = NAMES.get(usize::from(form.name)) {
            blank.set_ignored();
            let variant = Variant::of(blank.flags());
            let full = model::text(name.start, name.full);
            let partner = partner(&blank);
            let next_number = partners.len() as u16;
            let partner_number = *partners.entry(partner).or_insert(next_number);
            named.push((
                split_suffix(full).map_or(full, |(base, _)| base),
                Candidate {
                    blank,
                    variant,
                    partner,
                    partner_number,
                    dual: rule::dual_places(&blank),
                    words: modifier::words_of(&blank),
                },
            ));
        }
    }
    // Of several forms for a text the smallest is taken; of those of one size, the decoder's first.
    named.sort_by_cached_key(|(name, candidate)| {
        let blank = &candidate.blank;
        (
            *name,
            candidate.partner_number,
            candidate.variant,
            if *name == LONGER_FIRST { u8::MAX - blank.len } else { blank.len },
            blank.extra_addresses(),
            blank.flags().has(Flags::LAST_RESORT),
        )
    });
    (named, partners)
}

/// A dual instruction that LLVM encodes the longer way where it can.
const LONGER_FIRST: &str = "v_dual_dot2acc_f32_bf16";

/// Forms that LLVM's decoder has and its assembler has not: stores that are to return something, and before gfx90a DPP of two registers.
fn is_never_written(blank: &Inst, arch: Arch) -> bool {
    let flags = blank.flags();
    let is_store = flags.any(Flags::MUBUF | Flags::MTBUF) && flags.has(Flags::MAY_STORE);
    let has_wide_dpp = arch.is_gfx10_plus() || arch.has(Arch::GFX90A);
    let is_wide = || blank.named("src0").is_some_and(|slot| slot.kind().dwords == 2);
    is_store && pieces(blank).any(|piece| piece.trim() == "tfe")
        || flags.any(Flags::DPP) && !has_wide_dpp && is_wide()
}

/// What stands between the operands of a form.
fn pieces(blank: &Inst) -> impl Iterator<Item = &'static str> {
    let texts = blank.ops().iter().filter(|op| op.0 == P::Text);
    texts.filter_map(|op| PIECES.get(usize::from(op.1)).copied())
}

/// Older and other names of instructions.
fn add_aliases(names: &mut Names<Forms>, features: &Features) {
    for alias in ALIASES.iter().filter(|alias| features.fulfil(&alias.when)) {
        let start = usize::from(alias.start);
        let middle = start + usize::from(alias.name);
        let part = |range| ALIAS_NAMES.get(range).unwrap_or_default();
        let instruction = part(middle..middle + usize::from(alias.instruction));
        if let Some(forms) = names.get(instruction).copied() {
            names.insert(part(start..middle), forms);
        }
    }
}

fn plain_kind(model: &Model, number: u16, kind: &Kind) -> PlainKind {
    // The classes of single registers reach from the first to the last that they have.
    let all = |tag: u16, bits: u16, count: u16| {
        let is_in = |register: u16| {
            let code = model.code_of(number, register | bits);
            code == Code(tag << 12 | register) && model.class_without(kind, code, 1).is_none()
        };
        if is_in(0) && is_in(count - 1) { count } else { 0 }
    };
    let scalars = if model.arch.is_gfx10_plus() { 106 } else { 102 };
    match kind.source {
        Source::Vgpr if model.dwords(kind) == 1 => {
            PlainKind { vectors: all(tag::VGPR, 0x100, 256), scalars: 0 }
        }
        Source::Any if model.dwords(kind) == 1 => {
            PlainKind { vectors: all(tag::VGPR, 0x100, 256), scalars: all(tag::SGPR, 0, scalars) }
        }
        _ => PlainKind { vectors: 0, scalars: 0 },
    }
}

/// Whether the decoder printed the line and remarked that it is wrong.
pub(crate) fn has_remark(line: &str) -> bool {
    line.contains("/*Invalid ")
}

/// A name without the suffix that asks for an encoding.
fn split_suffix(name: &str) -> Option<(&str, Variant)> {
    let starts_at =
        |length: usize| name.len().checked_sub(length).and_then(|at| name.as_bytes().get(at));
    let may_end = |suffix: &str| starts_at(suffix.len()) == Some(&b'_');
    let found = SUFFIXES.iter().filter(|(suffix, _)| may_end(suffix));
    found.filter_map(|(suffix, variant)| Some((name.strip_suffix(suffix)?, *variant))).next()
}

/// The name after `::` in a form's text.
fn partner(blank: &Inst) -> &'static str {
    pieces(blank).filter_map(|piece| piece.trim().strip_prefix(":: ")).next().unwrap_or("")
}
