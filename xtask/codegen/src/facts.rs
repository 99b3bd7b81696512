//! The facts of `isa-data/`, read.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

/// One row of a table, by column.
pub(crate) struct Row(HashMap<String, String>);

impl Row {
    pub(crate) fn get(&self, column: &str) -> &str {
        self.0.get(column).map_or("", String::as_str)
    }

    fn hex(&self, column: &str) -> Result<u128> {
        u128::from_str_radix(self.get(column), 16)
            .with_context(|| format!("`{}` in {column}", self.get(column)))
    }
}

pub(crate) fn table(folder: &Path, file: &str) -> Result<Vec<Row>> {
    let path = folder.join(file);
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let columns: Vec<_> = lines.next().unwrap_or_default().split('\t').collect();
    Ok(lines
        .map(|line| {
            Row(columns
                .iter()
                .map(|c| (*c).to_owned())
                .zip(line.split('\t').map(str::to_owned))
                .collect())
        })
        .collect())
}

/// An image operation: opcode and encoding.
pub(crate) type ImageKey = (String, String);

/// Widths that an image operation exists in: words of data and of address.
pub(crate) type ImageShapes = Vec<(u8, u8)>;

/// An operand of an instruction, in LLVM's order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Operand {
    pub(crate) is_output: bool,
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) runs: Vec<(u8, u8, u8)>,
    pub(crate) fixed: u16,
}

pub(crate) struct Instruction {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) size: u8,
    pub(crate) mask: u128,
    pub(crate) value: u128,
    pub(crate) operands: Vec<Operand>,
    pub(crate) tied: Vec<(String, String)>,
    pub(crate) asm: String,
    pub(crate) predicates: Vec<String>,
    pub(crate) llvm_flags: u64,
    pub(crate) flags: BTreeSet<String>,
    pub(crate) uses: BTreeSet<String>,
    pub(crate) defs: BTreeSet<String>,
    /// Base opcode, encoding, data words, address words.
    pub(crate) image: Option<(String, String, u8, u8)>,
}

impl Instruction {
    pub(crate) fn position(&self, operand: &str) -> Option<usize> {
        self.operands.iter().position(|o| o.name == operand)
    }

    /// The operands that must be the same register.
    pub(crate) fn tied_to<'i>(&'i self, name: &'i str) -> impl Iterator<Item = &'i Operand> {
        let others = self.tied.iter().filter_map(move |(left, right)| match name {
            _ if left == name => Some(right),
            _ if right == name => Some(left),
            _ => None,
        });
        others.filter_map(|other| self.operands.iter().find(|operand| operand.name == *other))
    }

    pub(crate) fn is(&self, bit: u32) -> bool {
        self.llvm_flags >> bit & 1 == 1
    }
}

pub(crate) struct Facts {
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) operands: HashMap<String, Row>,
    pub(crate) predicates: BTreeMap<String, String>,
    pub(crate) processors: BTreeMap<String, Vec<String>>,
    pub(crate) classes: BTreeMap<String, String>,
    pub(crate) class_modes: HashMap<String, HashMap<String, String>>,
    pub(crate) class_decoders: HashMap<String, String>,
    pub(crate) images: HashMap<String, Row>,
    pub(crate) image_shapes: HashMap<ImageKey, ImageShapes>,
    pub(crate) order: Vec<Row>,
    pub(crate) lenient: Vec<LenientFact>,
    pub(crate) fields: Vec<FieldFact>,
    pub(crate) effects: Vec<EffectFact>,
    /// Other names of instructions: name, instruction, predicates.
    pub(crate) aliases: Vec<Alias>,
}

/// A name, the instruction that it is, and the predicates under which it is one.
pub(crate) type Alias = (String, String, Vec<String>);

/// LLVM's records, and what its assembler takes besides.
fn aliases(folder: &Path, llvm: &Path) -> Result<Vec<Alias>> {
    let own = table(folder, "aliases.tsv")?;
    for row in &own {
        ensure!(!row.get("reason").is_empty(), "aliases.tsv: {}: no reason given", row.get("name"));
    }
    Ok(table(llvm, "aliases.tsv")?.iter().chain(&own).map(alias).collect())
}

fn alias(row: &Row) -> Alias {
    let [name, instruction] = ["name", "instruction"].map(|column| row.get(column).to_owned());
    (name, instruction, names(row.get("predicates")))
}

/// A field of a format, and the operands that use it.
pub(crate) struct FieldFact {
    /// The bits of the first word that are alike in all instructions of the format, and what they are.
    pub(crate) mask: u128,
    pub(crate) value: u128,
    /// The sizes that its instructions have.
    pub(crate) bytes: Vec<u8>,
    pub(crate) bits: u128,
    pub(crate) operands: Vec<String>,
}

/// Bits that the hardware of a family, which a feature names, ignores.
pub(crate) struct LenientFact {
    pub(crate) family: String,
    /// How the names of the forms begin.
    pub(crate) instructions: String,
    pub(crate) ignored: u128,
}

/// What LLVM's operand lists do not say about the operand of all instructions whose names start alike.
pub(crate) struct EffectFact {
    pub(crate) instructions: String,
    pub(crate) operand: String,
    pub(crate) fact: String,
}

impl Facts {
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let llvm = folder.join("llvm");
        let pairs = |file: &str, key: &str, value: &str| -> Result<BTreeMap<String, String>> {
            Ok(table(&llvm, file)?
                .iter()
                .map(|row| (row.get(key).to_owned(), row.get(value).to_owned()))
                .collect())
        };
        let by = |file: &str, key: &str| -> Result<HashMap<String, Row>> {
            Ok(table(&llvm, file)?.into_iter().map(|row| (row.get(key).to_owned(), row)).collect())
        };
        let mut instructions: Vec<_> =
            table(&llvm, "instructions.tsv")?.iter().map(instruction).collect::<Result<_>>()?;
        overlay(folder, &mut instructions)?;
        let mut processors = pairs("processors.tsv", "processor", "features")?
            .into_iter()
            .map(|(name, features)| (name, names(&features)))
            .collect();
        add_processors(folder, &mut processors)?;
        Ok(Facts {
            instructions,
            operands: by("operands.tsv", "operand")?,
            predicates: pairs("predicates.tsv", "predicate", "condition")?,
            processors,
            classes: pairs("register-classes.tsv", "class", "members")?,
            class_modes: table(&llvm, "classes-by-mode.tsv")?
                .iter()
                .map(|row| {
                    let modes = names(row.get("modes"))
                        .into_iter()
                        .zip(names(row.get("classes")))
                        .collect();
                    (row.get("class").to_owned(), modes)
                })
                .collect(),
            class_decoders: pairs("classes-by-mode.tsv", "class", "decoder")?.into_iter().collect(),
            images: by("images.tsv", "opcode")?,
            image_shapes: table(&llvm, "image-shapes.tsv")?
                .iter()
                .map(image_shapes)
                .collect::<Result<_>>()?,
            aliases: aliases(folder, &llvm)?,
            order: table(folder, "decode-order.tsv")?,
            lenient: table(folder, "lenient.tsv")?.iter().map(lenient).collect::<Result<_>>()?,
            fields: table(folder, "fields.tsv")?.iter().map(field).collect::<Result<_>>()?,
            effects: table(folder, "effects.tsv")?.iter().map(effect).collect::<Result<_>>()?,
        })
    }
}

fn effect(row: &Row) -> Result<EffectFact> {
    let instructions = row.get("instructions").to_owned();
    ensure!(!row.get("reason").is_empty(), "effects.tsv: {instructions}: no reason given");
    Ok(EffectFact {
        instructions,
        operand: row.get("operand").to_owned(),
        fact: row.get("fact").to_owned(),
    })
}

fn field(row: &Row) -> Result<FieldFact> {
    let name = format!("fields.tsv: {} {}", row.get("format"), row.get("field"));
    ensure!(!row.get("reason").is_empty(), "{name}: no reason given");
    let (at, width) = row.get("bits").split_once('.').with_context(|| name.clone())?;
    let (at, width): (u32, u32) = (at.parse()?, width.parse()?);
    ensure!(width > 0 && at + width <= 128, "{name}: no such bits");
    let bytes = names(row.get("bytes")).iter().map(|it| it.parse()).collect::<Result<_, _>>();
    Ok(FieldFact {
        mask: row.hex("mask")?,
        value: row.hex("value")?,
        bytes: bytes.with_context(|| name)?,
        bits: u128::MAX >> (128 - width) << at,
        operands: names(row.get("operands")),
    })
}

fn lenient(row: &Row) -> Result<LenientFact> {
    let instructions = row.get("instructions").to_owned();
    ensure!(!row.get("reason").is_empty(), "lenient.tsv: {instructions}: no reason given");
    Ok(LenientFact {
        family: row.get("family").to_owned(),
        ignored: row.hex("ignored")?,
        instructions,
    })
}

/// Processors that LLVM does not have: like another, with features added and taken away.
fn add_processors(folder: &Path, known: &mut BTreeMap<String, Vec<String>>) -> Result<()> {
    for row in table(folder, "processors.tsv")? {
        let (name, like) = (row.get("processor"), row.get("like"));
        ensure!(!row.get("reason").is_empty(), "processors.tsv: {name}: no reason given");
        let mut features = known
            .get(like)
            .with_context(|| format!("processors.tsv: {name} is like {like}, which is unknown"))?
            .clone();
        for change in names(row.get("features")) {
            match change.split_at_checked(1) {
                Some(("+", feature)) => features.push(feature.to_owned()),
                Some(("-", feature)) => features.retain(|other| other != feature),
                _ => bail!("processors.tsv: {name}: `{change}` is neither +Feature nor -Feature"),
            }
        }
        known.insert(name.to_owned(), features);
    }
    Ok(())
}

/// Our corrections: one fact a line.
fn overlay(folder: &Path, instructions: &mut [Instruction]) -> Result<()> {
    for row in table(folder, "overlay.tsv")? {
        let (name, column, value) = (row.get("instruction"), row.get("column"), row.get("value"));
        ensure!(!row.get("reason").is_empty(), "overlay.tsv: {name} {column}: no reason given");
        let found = instructions.iter_mut().find(|instruction| instruction.name == name);
        let instruction = found.with_context(|| format!("overlay.tsv: no instruction {name}"))?;
        match column {
            "mask" => instruction.mask = u128::from_str_radix(value, 16)?,
            "value" => instruction.value = u128::from_str_radix(value, 16)?,
            "asm" => value.clone_into(&mut instruction.asm),
            "predicates" => instruction.predicates = names(value),
            _ => bail!("overlay.tsv: {name}: no column {column} that an overlay may change"),
        }
    }
    Ok(())
}

fn names(list: &str) -> Vec<String> {
    list.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn image_shapes(row: &Row) -> Result<(ImageKey, ImageShapes)> {
    let pair = |text: &str| -> Result<(u8, u8)> {
        let (data, address) = text.split_once('.').context("a shape without a point")?;
        Ok((data.parse()?, address.parse()?))
    };
    let shapes = row.get("data.address").split(',').map(pair).collect::<Result<_>>()?;
    Ok(((row.get("opcode").to_owned(), row.get("encoding").to_owned()), shapes))
}

fn instruction(row: &Row) -> Result<Instruction> {
    let name = row.get("name").to_owned();
    let operands = row.get("operands").split(';').filter(|text| !text.is_empty());
    let tied = row.get("constraints").split(',').filter_map(|constraint| {
        let (left, right) = constraint.split_once('=')?;
        Some((
            left.trim().trim_start_matches('$').to_owned(),
            right.trim().trim_start_matches('$').to_owned(),
        ))
    });
    Ok(Instruction {
        namespace: row.get("namespace").to_owned(),
        size: row.get("size").parse().with_context(|| name.clone())?,
        mask: row.hex("mask")?,
        value: row.hex("value")?,
        operands: operands.map(operand).collect::<Result<_>>().with_context(|| name.clone())?,
        tied: tied.collect(),
        asm: row.get("asm").to_owned(),
        predicates: names(row.get("predicates")),
        llvm_flags: u64::try_from(row.hex("tsflags")?)?,
        flags: row.get("flags").split('|').map(str::to_owned).collect(),
        uses: names(row.get("uses")).into_iter().collect(),
        defs: names(row.get("defs")).into_iter().collect(),
        image: image(row.get("image")),
        name,
    })
}

fn image(text: &str) -> Option<(String, String, u8, u8)> {
    let [base, encoding, data, address] = text.split(',').collect::<Vec<_>>().try_into().ok()?;
    Some((base.to_owned(), encoding.to_owned(), data.parse().ok()?, address.parse().ok()?))
}

fn operand(text: &str) -> Result<Operand> {
    let parts: Vec<_> = text.split(':').collect();
    let [direction, name, kind, runs, fixed] = parts[..] else { bail!("operand `{text}`") };
    let run = |text: &str| -> Result<(u8, u8, u8)> {
        let numbers: Vec<u8> = text.split('.').map(str::parse).collect::<Result<_, _>>()?;
        let [at, first, width] = numbers[..] else { bail!("run `{text}`") };
        Ok((at, first, width))
    };
    Ok(Operand {
        is_output: direction == "out",
        name: name.to_owned(),
        kind: kind.to_owned(),
        runs: runs.split('+').filter(|run| !run.is_empty()).map(run).collect::<Result<_>>()?,
        fixed: if fixed.is_empty() { 0 } else { u16::from_str_radix(fixed, 16)? },
    })
}
