//! The golden files `tests/isa/assemble/*.zst`: lines of LLVM's own tests, and what llvm-mc 22 makes of each.
//!
//! A file holds the lines of one family. Decompressed it starts with the sets of targets that
//! lines were assembled for, a line each, targets with blanks between; an empty line follows, then
//! the rows: the number of a set, the bytes in hexadecimal and the text, with tabs between.
//!
//! `manifest.txt` has a line for each file: its name, how many rows there are, how often they were
//! assembled, and the MD5 of the decompressed table.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fmt, fs, thread};

use anyhow::{Context as _, Result, anyhow, ensure};
use hsaco::bytes::number;
use hsaco::container::md5;
use hsaco::isa::assembler::AsmError;
use hsaco::isa::{Assembler, Decoder, Inst};

use crate::golden::{compress, from_hex};
use crate::oracle::{Target, hex};
use crate::program::with_input;

/// The folder of the golden files.
pub fn assembly_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("isa/assemble")
}

/// The golden file of one family.
#[derive(Debug)]
pub struct Assembly {
    /// The sets of targets.
    pub sets: Vec<Vec<Target>>,
    table: String,
}

impl Assembly {
    /// Reads the committed file of a family.
    pub fn read(family: &str) -> Result<Self> {
        let path = assembly_dir().join(format!("{family}.zst"));
        let file = fs::read(&path).with_context(|| path.display().to_string())?;
        Self::unpack(&file).with_context(|| path.display().to_string())
    }

    /// Packs lines, each with its target and its bytes in hexadecimal.
    pub fn pack<'a>(lines: impl Iterator<Item = (&'a str, &'a str, &'a str)>) -> Result<Vec<u8>> {
        let mut order = Vec::new();
        let mut targets = HashMap::<(&str, &str), Vec<&str>>::new();
        for (target, bytes, text) in lines {
            let set = targets.entry((bytes, text)).or_default();
            if set.is_empty() {
                order.push((bytes, text));
            }
            if !set.contains(&target) {
                set.push(target);
            }
        }
        let mut heading = String::new();
        let mut rows = String::new();
        let mut sets = HashMap::new();
        for key in order {
            let set = targets.get(&key).map(|set| set.join(" ")).unwrap_or_default();
            let count = sets.len();
            let number = *sets.entry(set).or_insert_with_key(|set| {
                heading += &format!("{set}\n");
                count
            });
            rows += &format!("{number}\t{}\t{}\n", key.0, key.1);
        }
        compress(format!("{heading}\n{rows}").as_bytes())
    }

    /// Reads a packed file.
    pub fn unpack(file: &[u8]) -> Result<Self> {
        let text = String::from_utf8(zstd::decode_all(file)?)?;
        let (heading, table) = text.split_once("\n\n").context("no empty line")?;
        let set = |line: &str| line.split(' ').map(str::parse).collect::<Result<Vec<Target>>>();
        let sets = heading.lines().map(set).collect::<Result<_>>()?;
        Ok(Self { sets, table: table.to_owned() })
    }

    /// The file's line in the manifest.
    pub fn manifest_line(&self, family: &str) -> String {
        let size = |row: &Row<'_>| self.sets.get(row.set).map_or(0, Vec::len);
        let assembled: usize = self.rows().map(|row| size(&row)).sum();
        let digest = hex(&md5::digest(self.table.as_bytes()));
        format!("{family}\t{}\t{assembled}\t{digest}\n", self.rows().count())
    }

    /// The rows in order.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> + Clone {
        self.table.lines().filter_map(Row::parse)
    }

    /// The assembler held against all rows, by target, on all cores.
    pub fn tallies(&self) -> Result<BTreeMap<String, AsmTally>> {
        let threads = thread::available_parallelism().map_or(2, usize::from);
        let mut sum = BTreeMap::<String, AsmTally>::new();
        thread::scope(|scope| {
            let share = |thread| scope.spawn(move || self.tally_share(thread, threads));
            let shares: Vec<_> = (0..threads).map(share).collect();
            for share in shares {
                for (target, tally) in share.join().map_err(|_| anyhow!("a thread panicked"))?? {
                    sum.entry(target).or_default().merge(tally);
                }
            }
            Ok(sum)
        })
    }

    fn tally_share(&self, first: usize, stride: usize) -> Result<BTreeMap<String, AsmTally>> {
        let mut judges = HashMap::<String, (AsmJudge, AsmTally)>::new();
        for row in self.rows().skip(first).step_by(stride) {
            for target in self.sets.get(row.set).context("no such set")? {
                let name = target.to_string();
                if !judges.contains_key(&name) {
                    judges.insert(
                        name.clone(),
                        (AsmJudge::new(target, CAUSES)?, AsmTally::default()),
                    );
                }
                let (judge, tally) = judges.get_mut(&name).context("just added")?;
                tally.add(judge, row.text, &row.bytes);
            }
        }
        Ok(judges.into_iter().map(|(target, (_, tally))| (target, tally)).collect())
    }
}

/// One line and its bytes.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// Which of the file's sets of targets.
    pub set: usize,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The line.
    pub text: &'a str,
}

impl<'a> Row<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut columns = line.splitn(3, '\t');
        let set = columns.next()?.parse().ok()?;
        let bytes = from_hex(columns.next()?)?;
        Some(Self { set, bytes, text: columns.next()? })
    }
}

/// Why the assembler need not make the bytes of a line.
#[derive(Debug)]
pub struct Cause {
    /// A short name.
    pub name: &'static str,
    /// What is the matter.
    pub reason: &'static str,
    applies: fn(&Case<'_>) -> bool,
}

/// A line whose bytes are not the wanted ones.
struct Case<'a> {
    decoder: &'a Decoder,
    text: &'a str,
    wanted: &'a [u8],
    ours: Option<&'a Inst>,
}

impl Case<'_> {
    /// The text of the wanted bytes.
    fn wanted_text(&self) -> Option<String> {
        let inst =
            self.decoder.decode(self.wanted).filter(|inst| inst.len() == self.wanted.len())?;
        Some(self.decoder.text(&inst))
    }
}

/// All of them. What is not listed here is the assembler's fault.
pub const CAUSES: &[Cause] = &[
    Cause {
        name: "bits-not-shown",
        reason: "the text does not tell all bits of the encoding: ours and theirs print alike",
        applies: |it| {
            let ours = it.ours.map(|inst| it.decoder.text(inst));
            ours.is_some() && ours == it.wanted_text()
        },
    },
    Cause {
        name: "shown-as-invalid",
        reason: "the text is LLVM's remark on a value that no line of assembly gives",
        applies: |it| it.text.contains("/*") || it.text.contains("invalid_"),
    },
    Cause {
        name: "field-too-narrow",
        reason: "LLVM cuts a register's number off to the width of the field: another register's",
        applies: |it| it.ours.is_none() && it.text.contains("src_scc"),
    },
    Cause {
        name: "sext-of-packed",
        reason: "LLVM swaps `sext` of the packed SDWA instruction with its default `op_sel_hi`",
        applies: |it| it.text.starts_with("v_pk_fmac_f16_sdwa"),
    },
    Cause {
        name: AS_LLVM,
        reason: "a line of LLVM's decoder tests that its assembler refuses or encodes otherwise, as ours \
                 does; the test asks it",
        applies: |_| true,
    },
];

/// The cause of lines of which LLVM must make the same.
const AS_LLVM: &str = "as-llvm-mc";

/// Those that are the text's own fault.
pub const TEXT_CAUSES: &[Cause] = CAUSES.split_at(2).0;

/// Holds an assembler against LLVM.
#[derive(Debug)]
pub struct AsmJudge {
    assembler: Assembler,
    decoder: Decoder,
    causes: &'static [Cause],
}

impl AsmJudge {
    /// A judge of the assembler for that target, who takes these excuses.
    pub fn new(target: &Target, causes: &'static [Cause]) -> Result<Self> {
        let assembler = Assembler::new(target.processor, target.options)?;
        let decoder = Decoder::with_options(target.processor, target.options)?;
        Ok(Self { assembler, decoder, causes })
    }

    /// The cause why a line need not give the bytes, if it has one.
    pub fn cause(&self, text: &str, wanted: &[u8]) -> Option<&'static str> {
        self.judge(text, wanted).err().and_then(|(cause, _)| cause).map(|cause| cause.name)
    }

    /// Assembles a line; on a difference, its cause if it has one, and ours.
    fn judge(
        &self,
        text: &str,
        wanted: &[u8],
    ) -> Result<(), (Option<&'static Cause>, Result<Inst, AsmError>)> {
        let ours = self.assembler.assemble(text);
        if ours.as_ref().is_ok_and(|inst| bytes(inst) == wanted) {
            return Ok(());
        }
        let case = Case { decoder: &self.decoder, text, wanted, ours: ours.as_ref().ok() };
        Err((self.causes.iter().find(|cause| (cause.applies)(&case)), ours))
    }
}

/// The verdicts on many lines of one target.
#[derive(Clone, Debug, Default)]
pub struct AsmTally {
    /// How many lines were assembled.
    pub rows: usize,
    /// How many gave the bytes.
    pub agreed: usize,
    /// How often each cause applied.
    pub excused: BTreeMap<&'static str, usize>,
    /// The lines that differ without an excuse.
    pub differing: Vec<Difference>,
    /// The lines that are excused if LLVM makes the same of them.
    pub to_ask: Vec<Difference>,
}

/// A line whose bytes are not the wanted ones.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The line.
    pub text: String,
    /// What the assembler makes of it.
    pub ours: Result<Vec<u8>, AsmError>,
    /// The wanted bytes.
    pub wanted: Vec<u8>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ours = match &self.ours {
            Ok(bytes) => hex(bytes),
            Err(error) => format!("{error} at column {}", error.column()),
        };
        write!(f, "{}\n    ours    {ours}\n    theirs  {}", self.text, hex(&self.wanted))
    }
}

impl AsmTally {
    /// Assembles one more line.
    pub fn add(&mut self, judge: &AsmJudge, text: &str, wanted: &[u8]) {
        self.rows += 1;
        match judge.judge(text, wanted) {
            Ok(()) => self.agreed += 1,
            Err((cause, ours)) => {
                cause.iter().for_each(|it| *self.excused.entry(it.name).or_default() += 1);
                let ours = ours.map(|inst| bytes(&inst));
                let difference =
                    Difference { text: text.to_owned(), ours, wanted: wanted.to_vec() };
                match cause {
                    None => self.differing.push(difference),
                    Some(cause) if cause.name == AS_LLVM => self.to_ask.push(difference),
                    Some(_) => {}
                }
            }
        }
    }

    /// Adds what another thread found.
    pub fn merge(&mut self, other: AsmTally) {
        self.rows += other.rows;
        self.agreed += other.agreed;
        self.differing.extend(other.differing);
        self.to_ask.extend(other.to_ask);
        for (name, count) in other.excused {
            *self.excused.entry(name).or_default() += count;
        }
    }
}

fn bytes(inst: &Inst) -> Vec<u8> {
    inst.bytes().iter().take(inst.len()).copied().collect()
}

/// What llvm-mc makes of each line: bytes, or nothing where it refuses.
///
/// An instruction that no line has follows each, for llvm-mc says nothing of some lines.
pub fn llvm_mc(target: &Target, lines: &[&str]) -> Result<Vec<Option<Vec<u8>>>> {
    const MARK: &str = "s_nop 0x7fed";
    let mut command = Command::new("llvm-mc-22");
    command.args(["-triple=amdgcn", "-show-encoding"]);
    command.arg(format!("-mcpu={}", target.processor.name()));
    command.arg(format!("-mattr={}", target.features));
    let input = lines.iter().map(|line| format!("{line}\n{MARK}\n")).collect::<String>();
    let output = with_input(&mut command, input)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut answers = Vec::with_capacity(lines.len());
    let mut answer = None;
    for line in text.lines() {
        if line.trim_start().starts_with(MARK) {
            answers.push(answer.take());
        } else if let Some((_, bytes)) = line.split_once("encoding: [") {
            answer = encoding(bytes);
        } else if let Some(bytes) = data(line) {
            answer.get_or_insert_default().extend(bytes);
        }
    }
    ensure!(answers.len() == lines.len(), "llvm-mc stopped at line {}", answers.len());
    // It encodes some lines that it complains of, such as `nv` on gfx1200.
    for refused in complaints(&String::from_utf8_lossy(&output.stderr)) {
        if let Some(answer) = answers.get_mut(refused / 2) {
            *answer = None;
        }
    }
    Ok(answers)
}

/// Which lines of standard input an error was reported for, counted from zero.
fn complaints(errors: &str) -> impl Iterator<Item = usize> {
    errors.lines().filter_map(|line| {
        let (number, rest) = line.strip_prefix("<stdin>:")?.split_once(':')?;
        let number: usize = number.parse().ok()?;
        rest.contains(": error: ").then(|| number.saturating_sub(1))
    })
}

/// The bytes of a number among instructions, of which llvm-mc shows no encoding.
fn data(line: &str) -> Option<Vec<u8>> {
    let (directive, value) = line.trim().split_once('\t')?;
    let size = match directive {
        ".byte" => 1,
        ".short" => 2,
        ".long" => 4,
        ".quad" => 8,
        _ => return None,
    };
    let value: i64 = value.parse().ok()?;
    Some(value.to_le_bytes().into_iter().take(size).collect())
}

/// `0x00,0x01]`
fn encoding(text: &str) -> Option<Vec<u8>> {
    let byte = |text: &str| u8::try_from(number::hex(text.strip_prefix("0x")?)?).ok();
    text.strip_suffix(']')?.split(',').map(byte).collect()
}

/// The target of a row of LLVM's tests, as `Target` spells it; none where the test turns on what no
/// processor has: both wave sizes.
pub fn test_target(processor: &str, features: &str) -> Result<Option<String>> {
    let features = features.to_lowercase();
    let has = |feature: &str| features.split(',').any(|it| it == feature);
    let has_wave32 = processor.starts_with("gfx125") && !has("-wavefrontsize32");
    if has("+wavefrontsize64") && (has("+wavefrontsize32") || has_wave32) {
        return Ok(None);
    }
    let matters =
        |feature: &&str| feature.ends_with("real-true16") || feature.starts_with("+wavefrontsize");
    let mut kept: Vec<_> = features.split(',').filter(matters).collect();
    kept.sort_unstable();
    let target: Target = format!("{processor}{}", kept.join(",")).parse()?;
    ensure!(target.processor.name() == processor, "no processor {processor}");
    Ok(Some(target.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_with_their_targets() {
        let lines = [
            ("gfx1100", "000080bf", "s_nop 0"),
            ("gfx1100+wavefrontsize64", "000080bf", "s_nop 0"),
            ("gfx1100", "010080bf", "s_nop 1"),
            ("gfx1100", "000080bf", "s_nop 0"),
        ];
        let file = Assembly::unpack(&Assembly::pack(lines.into_iter()).unwrap()).unwrap();
        let rows: Vec<_> = file.rows().map(|row| (row.text, file.sets[row.set].len())).collect();
        assert_eq!(rows, [("s_nop 0", 2), ("s_nop 1", 1)]);
        assert!(file.manifest_line("gfx11").starts_with("gfx11\t2\t3\t"));
    }

    #[test]
    fn features_that_change_nothing_are_left_out() {
        let target = |features| test_target("gfx1200", features).unwrap();
        assert_eq!(
            target("+WavefrontSize64,-real-true16").as_deref(),
            Some("gfx1200+wavefrontsize64,-real-true16")
        );
        assert_eq!(target("+xnack,+tgsplit").as_deref(), Some("gfx1200"));
        assert_eq!(target("+wavefrontsize32,+wavefrontsize64"), None);
        assert_eq!(test_target("gfx1250", "+wavefrontsize64").unwrap(), None);
    }
}
