//! What LLVM 22 makes of encodings, and whether the decoder agrees.
//!
//! ```
//! use hsaco_tests::oracle::{Answer, Judge, Target, Verdict};
//! let target: Target = "gfx1100,+wavefrontsize64".parse().unwrap();
//! let theirs = Answer::Refused;
//! let verdict = Judge::new(&target).unwrap().verdict(&[0xff; 20], &theirs);
//! assert!(matches!(verdict, Verdict::Agreed));
//! ```

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::str::FromStr;

use anyhow::{Context as _, Result, bail};
use hsaco::analysis::instructions;
use hsaco::isa::decoder::DecodeOptions;
use hsaco::isa::model::VgprMsb;
use hsaco::isa::target::WaveSize;
use hsaco::isa::{Decoder, Processor};

/// A processor, and LLVM's features that change how its code reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The processor.
    pub processor: Processor,
    /// Features as LLVM's `--mattr` takes them.
    pub features: String,
    /// The decoder's options to the same effect.
    pub options: DecodeOptions,
}

/// Reads `gfx942`, `gfx1100,+wavefrontsize64`, and the latter without its first comma.
impl FromStr for Target {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let named = Processor::all().filter(|it| text.starts_with(it.name()));
        let processor = named.max_by_key(|it| it.name().len());
        let processor = processor.with_context(|| format!("no processor in `{text}`"))?;
        let features = text.strip_prefix(processor.name()).unwrap_or_default();
        let features = features.strip_prefix(',').unwrap_or(features).to_owned();
        let mut options = DecodeOptions::default();
        for feature in features.split(',').filter(|it| !it.is_empty()) {
            match feature {
                "+real-true16" => options.real_true16 = Some(true),
                "-real-true16" => options.real_true16 = Some(false),
                "+wavefrontsize32" => options.wave_size = Some(WaveSize::Wave32),
                "+wavefrontsize64" => options.wave_size = Some(WaveSize::Wave64),
                _ => bail!("`{feature}` in `{text}` is no feature that changes how code reads"),
            }
        }
        Ok(Self { processor, features, options })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}{}", self.processor.name(), self.features))
    }
}

/// What a tool makes of an encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer<'a> {
    /// An instruction.
    Instruction {
        /// How many bytes it takes.
        size: usize,
        /// Its text, without the leading tab.
        text: Cow<'a, str>,
    },
    /// No instruction: llvm-objdump shows `.long`.
    Refused,
    /// The tool died of it.
    Crashed,
}

impl Answer<'_> {
    /// The first word of the text.
    pub fn mnemonic(&self) -> &str {
        match self {
            Self::Instruction { text, .. } => text.split(' ').next().unwrap_or_default(),
            Self::Refused => ".long",
            Self::Crashed => "<crash>",
        }
    }

    /// The answer without comments such as ` /*v[770:771]*/`, if it has any: llvm-objdump names
    /// registers by the banks that the last `s_set_vgpr_msb` chose.
    pub fn without_bank_comments(&self) -> Option<Answer<'static>> {
        const START: &str = " /*v";
        const END: &str = "*/";
        let Self::Instruction { size, text } = self else { return None };
        let mut pieces = text.split(START);
        let mut rest = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            rest.push_str(piece.split_once(END)?.1);
        }
        (rest.len() < text.len()).then(|| Answer::Instruction { size: *size, text: rest.into() })
    }

    /// The answer without the numbers that stand for matrices, if one of these is in a 6-bit format.
    fn without_matrix_literals(&self) -> Option<(usize, Vec<&str>)> {
        let Self::Instruction { size, text } = self else { return None };
        let six_bit = ["_FMT_FP6", "_FMT_BF6"].iter().any(|format| text.contains(format));
        let is_literal = |part: &str| part.ends_with("/*Invalid immediate*/");
        let parts = text.split(", ").map(|part| if is_literal(part) { "" } else { part });
        (six_bit && text.starts_with("v_wmma_")).then(|| (*size, parts.collect()))
    }
}

impl fmt::Display for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Instruction { size, text } => write!(f, "{text} ({size} bytes)"),
            Self::Refused | Self::Crashed => f.write_str(self.mnemonic()),
        }
    }
}

/// A kind of answer in which the decoder need not follow LLVM.
#[derive(Debug)]
pub struct Exception {
    /// A short name.
    pub name: &'static str,
    /// Why LLVM is not to be followed.
    pub reason: &'static str,
    /// Whether our answer, then theirs, is such a case.
    applies: fn(&Answer<'_>, &Answer<'_>) -> bool,
}

/// All of them. What is not listed here is the decoder's fault.
pub const EXCEPTIONS: &[Exception] = &[
    Exception {
        name: "oracle-crash",
        reason: "LLVM dies of it, as of a source field of 0xff in some VOP3 encodings of gfx8 and gfx9, \
                 or of an SDWA selector of 7",
        applies: |ours, theirs| *theirs == Answer::Crashed && ours != theirs,
    },
    Exception {
        name: "literal-as-register",
        reason: "LLVM takes the literal of a matrix of 6-bit numbers for a register's number and prints \
                 what it finds there",
        applies: |ours, theirs| match (
            ours.without_matrix_literals(),
            theirs.without_matrix_literals(),
        ) {
            (Some(ours), Some(theirs)) => ours == theirs,
            _ => false,
        },
    },
];

/// How our answer stands to theirs.
#[derive(Debug)]
pub enum Verdict {
    /// They are equal.
    Agreed,
    /// They differ, and may.
    Excepted(&'static Exception),
    /// They differ; this is ours.
    Differs(Answer<'static>),
}

/// Holds a decoder against LLVM.
#[derive(Debug)]
pub struct Judge {
    decoder: Decoder,
    text: Vec<u8>,
    /// What the instructions so far leave behind.
    state: VgprMsb,
}

impl Judge {
    /// A judge of the strict decoder for that target.
    pub fn new(target: &Target) -> Result<Self> {
        let decoder = Decoder::with_options(target.processor, target.options)?;
        Ok(Self { decoder, text: Vec::new(), state: VgprMsb::default() })
    }

    /// Decodes one instruction and compares.
    pub fn verdict(&mut self, bytes: &[u8], theirs: &Answer<'_>) -> Verdict {
        let ours = self.ours(bytes);
        if ours == *theirs && ours != Answer::Crashed {
            return Verdict::Agreed;
        }
        match EXCEPTIONS.iter().find(|it| (it.applies)(&ours, theirs)) {
            Some(exception) => Verdict::Excepted(exception),
            None => Verdict::Differs(into_owned(ours)),
        }
    }

    /// Goes through all instructions of `bytes` as llvm-objdump does in one listing: what they
    /// change holds for what is judged next. A crash begins a new listing.
    pub fn pass(&mut self, bytes: &[u8], theirs: &Answer<'_>) {
        let bytes = if *theirs == Answer::Crashed { &[][..] } else { bytes };
        if bytes.is_empty() {
            self.state = VgprMsb::default();
        }
        for (_, inst) in instructions(&self.decoder, bytes) {
            match inst {
                Some(inst) => self.state.update(&inst),
                None => self.state = VgprMsb::default(),
            }
        }
    }

    /// A decoder that panics has crashed as well, but need not take the others' answers with it.
    fn ours(&mut self, bytes: &[u8]) -> Answer<'_> {
        let Self { decoder, text, state } = self;
        text.clear();
        let size = panic::catch_unwind(AssertUnwindSafe(|| {
            let instruction = decoder.decode(bytes)?;
            decoder.print_after(&instruction, *state, text);
            Some(instruction.len())
        }));
        match size {
            // Some of LLVM's templates end in a blank, which no listing shows.
            Ok(Some(size)) => {
                Answer::Instruction { size, text: String::from_utf8_lossy(text.trim_ascii_end()) }
            }
            Ok(None) => Answer::Refused,
            Err(_) => Answer::Crashed,
        }
    }
}

fn into_owned(answer: Answer<'_>) -> Answer<'static> {
    match answer {
        Answer::Instruction { size, text } => {
            Answer::Instruction { size, text: text.into_owned().into() }
        }
        Answer::Refused => Answer::Refused,
        Answer::Crashed => Answer::Crashed,
    }
}

/// One encoding on which we and LLVM differ.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The encoding and what followed it.
    pub bytes: Vec<u8>,
    /// The decoder's answer.
    pub ours: Answer<'static>,
    /// LLVM's answer.
    pub theirs: Answer<'static>,
}

impl Difference {
    /// The name to group it by: LLVM's, or ours where LLVM refuses.
    fn mnemonic(&self) -> &str {
        match &self.theirs {
            Answer::Instruction { .. } => self.theirs.mnemonic(),
            Answer::Refused | Answer::Crashed => self.ours.mnemonic(),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = hex(&self.bytes);
        // What pads an encoding says nothing.
        let bytes = bytes.trim_end_matches("000080bf");
        write!(f, "{bytes}\n    ours    {}\n    theirs  {}", self.ours, self.theirs)
    }
}

pub use hsaco::bytes::hex::encode as hex;

/// How many differences are kept for each mnemonic; the others are only counted.
const KEPT: usize = 20;

/// The verdicts on many encodings of one target.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// How many encodings were compared.
    pub rows: usize,
    /// How many answers were equal.
    pub agreed: usize,
    /// How often each exception applied.
    pub excepted: BTreeMap<&'static str, usize>,
    /// The others by mnemonic: how many there are, and the first of them.
    differing: BTreeMap<String, (usize, Vec<Difference>)>,
}

impl Tally {
    /// Compares one more encoding.
    pub fn add(&mut self, judge: &mut Judge, bytes: &[u8], theirs: &Answer<'_>) {
        self.rows += 1;
        match judge.verdict(bytes, theirs) {
            Verdict::Agreed => self.agreed += 1,
            Verdict::Excepted(it) => *self.excepted.entry(it.name).or_default() += 1,
            Verdict::Differs(ours) => {
                let theirs = into_owned(theirs.clone());
                self.add_difference(Difference { bytes: bytes.to_vec(), ours, theirs });
            }
        }
    }

    fn add_difference(&mut self, difference: Difference) {
        let (count, kept) = self.differing.entry(difference.mnemonic().to_owned()).or_default();
        *count += 1;
        if kept.len() < KEPT {
            kept.push(difference);
        }
    }

    /// Adds what another thread found.
    pub fn merge(&mut self, other: Tally) {
        self.rows += other.rows;
        self.agreed += other.agreed;
        for (name, count) in other.excepted {
            *self.excepted.entry(name).or_default() += count;
        }
        for (mnemonic, (more, differences)) in other.differing {
            let (count, kept) = self.differing.entry(mnemonic).or_default();
            *count += more;
            kept.extend(differences);
            kept.truncate(KEPT);
        }
    }

    /// How many encodings differ without an excuse.
    pub fn differences(&self) -> usize {
        self.differing.values().map(|(count, _)| count).sum()
    }

    /// A line for each mnemonic, most frequent first: how often it differs and its name. The first
    /// `groups` of them are shown with up to `examples` differences.
    pub fn report(&self, groups: usize, examples: usize) -> String {
        let mut mnemonics: Vec<_> = self.differing.iter().collect();
        mnemonics.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        let mut text = String::new();
        for (at, (mnemonic, (count, kept))) in mnemonics.into_iter().enumerate() {
            text.push_str(&format!("{count:>9} {mnemonic}\n"));
            let examples = if at < groups { examples } else { 0 };
            kept.iter().take(examples).for_each(|it| text.push_str(&format!("  {it}\n")));
        }
        text
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} encodings, {} agree", self.rows, self.agreed)?;
        self.excepted.iter().try_for_each(|(name, count)| write!(f, ", {count} {name}"))?;
        write!(f, ", {} differ", self.differences())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instruction(text: &'static str) -> Answer<'static> {
        Answer::Instruction { size: 8, text: text.into() }
    }

    #[test]
    fn targets_are_read_in_both_spellings() {
        let comma: Target = "gfx1100,-real-true16,+wavefrontsize64".parse().unwrap();
        let plain: Target = "gfx1100-real-true16,+wavefrontsize64".parse().unwrap();
        assert_eq!(comma, plain);
        assert_eq!(comma.to_string(), "gfx1100-real-true16,+wavefrontsize64");
        assert_eq!(comma.options.real_true16, Some(false));
        assert_eq!(comma.options.wave_size, Some(WaveSize::Wave64));
        let generic: Target = "gfx9-4-generic".parse().unwrap();
        assert_eq!((generic.processor.name(), generic.features.as_str()), ("gfx9-4-generic", ""));
        assert!("gfx1100+xnack".parse::<Target>().is_err());
        assert!("sm_90".parse::<Target>().is_err());
    }

    #[test]
    fn comments_on_banks_are_left_out() {
        let theirs = instruction("ds_inc v[5:6] /*v[773:774]*//*Invalid*/, v1 /*v769*/ offset:1");
        let ours = instruction("ds_inc v[5:6]/*Invalid*/, v1 offset:1");
        assert_eq!(theirs.without_bank_comments(), Some(ours.clone()));
        assert_eq!(ours.without_bank_comments(), None);
    }

    #[test]
    fn literals_of_six_bit_matrices_need_not_agree() {
        let target: Target = "gfx1250".parse().unwrap();
        let mut judge = Judge::new(&target).unwrap();
        let literal = [0x0a, 0, 0x33, 0xcc, 0xff, 0x80, 0x2a, 0x1c, 0x64, 0, 0, 0];
        let theirs = |first: &str, last: &str| {
            Answer::Instruction {
            size: 12,
            text: format!("v_wmma_f32_16x16x128_f8f6f4 v[10:17], {first}/*Invalid immediate*/, v[64:75], {last}").into(),
        }
        };
        let format = "v[10:17] matrix_b_fmt:MATRIX_FMT_BF6";
        assert!(matches!(judge.verdict(&literal, &theirs("0x64", format)), Verdict::Agreed));
        assert!(matches!(judge.verdict(&literal, &theirs("0x4af1", format)), Verdict::Excepted(_)));
        let other = "v[12:19] matrix_b_fmt:MATRIX_FMT_BF6";
        assert!(matches!(judge.verdict(&literal, &theirs("0x64", other)), Verdict::Differs(_)));
    }

    #[test]
    fn tallies_add_up_and_group_by_mnemonic() {
        let target: Target = "gfx942".parse().unwrap();
        let mut judge = Judge::new(&target).unwrap();
        let mut tally = Tally::default();
        let never = [0xff; 20];
        tally.add(&mut judge, &never, &Answer::Refused);
        tally.add(&mut judge, &never, &Answer::Crashed);
        tally.add(&mut judge, &never, &instruction("v_what v0"));
        tally.merge(tally.clone());
        assert_eq!((tally.rows, tally.agreed, tally.differences()), (6, 2, 2));
        assert_eq!(tally.excepted, BTreeMap::from([("oracle-crash", 2)]));
        let report = tally.report(1, 1);
        assert!(report.starts_with("        2 v_what\n  ffffffff"), "{report}");
        assert_eq!(report.matches("theirs  v_what v0 (8 bytes)").count(), 1);
    }
}
