//! `cargo xtask import-isa RECORDS REGISTERS`: LLVM's instruction facts, condensed into `isa-data/llvm/`.
//!
//! RECORDS is what `llvm-tblgen -print-records` makes of AMDGPU.td, REGISTERS the `MCDesc` file of
//! `llvm-tblgen -gen-register-info`. `docs/decoder.md` says when and how to do this.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result, bail};

const FOLDER: &str = "isa-data/llvm";

/// Encodings of generations that LLVM itself does not disassemble.
const LEFT_OUT: &[&str] = &["", "GFX6", "GFX7", "GFX6GFX7"];

pub(crate) fn run(records: &Path, registers: &Path) -> Result<()> {
    let mut facts = Facts::default();
    each_record(records, |record| facts.take(record))?;
    fs::create_dir_all(crate::root().join(FOLDER))?;
    facts.write()?;
    write("register-classes.tsv", "class\tmembers", &register_classes(registers)?)
}

/// One TableGen definition.
struct Record {
    name: String,
    classes: String,
    values: HashMap<String, String>,
}

impl Record {
    fn is(&self, class: &str) -> bool {
        self.classes.split(' ').any(|name| name == class)
    }

    fn get(&self, name: &str) -> &str {
        self.values.get(name).map_or("", String::as_str)
    }

    fn string(&self, name: &str) -> &str {
        self.get(name).trim_matches('"')
    }

    fn flag(&self, name: &str) -> bool {
        self.get(name) == "1"
    }

    /// The names of a list.
    fn list(&self, name: &str) -> Vec<&str> {
        self.get(name)
            .trim_matches(['[', ']'])
            .split(", ")
            .filter(|name| !name.is_empty())
            .collect()
    }

    /// A field of bits, the lowest first.
    fn bits(&self, name: &str) -> Vec<&str> {
        let list = self.get(name);
        let list = list.strip_prefix("{ ").and_then(|list| list.strip_suffix(" }")).unwrap_or(list);
        let mut bits = split_list(list);
        bits.reverse();
        bits
    }

    fn number(&self, name: &str) -> u64 {
        constant(&self.bits(name))
    }
}

/// Splits at commas that stand in no inner brackets; a condition that is left open says nothing.
fn split_list(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut items) = (0, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' | '{' => depth += 1,
            ')' | '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(&text[start..]);
    items
        .into_iter()
        .map(str::trim)
        .map(|item| if item.starts_with('!') { "?" } else { item })
        .collect()
}

fn constant(bits: &[&str]) -> u64 {
    bits.iter().enumerate().filter(|(_, bit)| **bit == "1").map(|(at, _)| 1 << at).sum()
}

fn each_record(path: &Path, mut take: impl FnMut(&Record)) -> Result<()> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut record: Option<Record> = None;
    for line in BufReader::new(file).lines() {
        let line = line?;
        if let Some(rest) = line.strip_prefix("def ") {
            let (name, classes) = rest.split_once(" {\t// ").unwrap_or((rest, ""));
            record =
                Some(Record { name: name.into(), classes: classes.into(), values: HashMap::new() });
        } else if line == "}" {
            if let Some(record) = record.take() {
                take(&record);
            }
        } else if let Some(record) = &mut record
            && let Some((left, value)) = line.trim_end_matches(';').split_once(" = ")
        {
            let name = left.rsplit(' ').next().unwrap_or(left);
            record.values.insert(name.into(), value.into());
        }
    }
    Ok(())
}

#[derive(Default)]
struct Facts {
    instructions: BTreeMap<String, String>,
    operands: BTreeMap<String, String>,
    predicates: BTreeMap<String, String>,
    processors: BTreeMap<String, Vec<String>>,
    implied: BTreeMap<String, Vec<String>>,
    images: BTreeMap<String, String>,
    image_shapes: BTreeMap<(String, String), BTreeSet<(u64, u64)>>,
    classes_by_mode: BTreeMap<String, String>,
    /// Name, instruction or its record, predicates.
    aliases: BTreeSet<(String, String, String)>,
    used_operands: BTreeSet<String>,
}

impl Facts {
    fn take(&mut self, record: &Record) {
        if record.is("InstructionEncoding") {
            self.take_instruction(record);
        } else if record.is("MIMGBaseOpcode") {
            self.take_image(record);
        } else if record.is("SubtargetFeature") {
            self.implied.insert(record.name.clone(), owned(&record.list("Implies")));
        } else if record.is("Processor") {
            self.processors.insert(record.string("Name").into(), owned(&record.list("Features")));
        } else if record.is("Predicate") && record.flag("AssemblerMatcherPredicate") {
            self.predicates.insert(record.name.clone(), record.get("AssemblerCondDag").into());
        } else if record.is("MnemonicAlias") {
            let names = [record.string("FromMnemonic"), record.string("ToMnemonic")];
            self.take_alias(names[0], names[1], &record.list("Predicates"));
        } else if record.is("InstAlias") {
            let result = record.get("ResultInst").trim_start_matches('(');
            let instruction = result.split(' ').next().unwrap_or(result);
            let name = mnemonic(record.string("AsmString"));
            self.take_alias(name, instruction, &record.list("Predicates"));
        } else if record.is("RegClassByHwMode") {
            let modes = record.list("Modes").join(",");
            let (classes, decoder) =
                (record.list("Objects").join(","), record.string("DecoderMethod"));
            self.classes_by_mode
                .insert(record.name.clone(), format!("{modes}\t{classes}\t{decoder}"));
            self.take_operand(record);
        } else if record.is("DAGOperand") {
            self.take_operand(record);
        }
    }

    /// Another name of an instruction; suffixes that choose an encoding, and names that are not in use, are none.
    fn take_alias(&mut self, name: &str, instruction: &str, predicates: &[&str]) {
        let name = name.to_lowercase();
        let is_suffixed = ["_e32", "_e64", "_dpp", "_sdwa"].iter().any(|it| name.ends_with(it));
        if !is_suffixed && !name.contains("_fake16") && !name.contains("_t16") {
            let predicates = predicates.join(",");
            self.aliases.insert((name, instruction.to_owned(), predicates));
        }
    }

    /// The rows of names that are not the instruction's own; a record is replaced by its name.
    fn alias_rows(&self) -> Vec<String> {
        let mut rows = BTreeSet::new();
        for (name, instruction, predicates) in &self.aliases {
            let own = match self.instructions.get(instruction) {
                Some(fact) => mnemonic(fact.split('\t').nth(6).unwrap_or_default()).to_owned(),
                None => instruction.to_lowercase(),
            };
            // Pseudo-instructions keep their suffix.
            if own != *name && !["_e32", "_e64", "_sdwa", "_dpp"].iter().any(|it| own.contains(it))
            {
                rows.insert(format!("{name}\t{own}\t{predicates}"));
            }
        }
        rows.into_iter().collect()
    }

    fn take_operand(&mut self, record: &Record) {
        let kind = ["RegisterOperand", "RegClassByHwMode", "RegisterClass", "Operand"]
            .into_iter()
            .find(|kind| record.is(kind))
            .unwrap_or("Operand");
        let class = if kind == "RegisterOperand" { record.get("RegClass") } else { "" };
        self.operands.insert(
            record.name.clone(),
            format!(
                "{kind}\t{class}\t{}\t{}\t{}",
                record.string("OperandType"),
                record.string("DecoderMethod"),
                print_method(record.string("PrintMethod"))
            ),
        );
    }

    fn take_image(&mut self, record: &Record) {
        let flags = [
            "Store",
            "Atomic",
            "AtomicX2",
            "Sampler",
            "Gather4",
            "Gradients",
            "G16",
            "Coordinates",
            "LodOrClampOrMip",
            "HasD16",
            "MSAA",
            "BVH",
            "A16",
            "NoReturn",
        ];
        let flags: Vec<_> = flags.into_iter().filter(|flag| record.flag(flag)).collect();
        self.images.insert(
            record.name.clone(),
            format!("{}\t{}", record.number("NumExtraArgs"), flags.join("|")),
        );
    }

    fn take_instruction(&mut self, record: &Record) {
        let image = record.get("MIMGEncoding");
        if !image.is_empty() && !record.flag("isPseudo") && !record.flag("isCodeGenOnly") {
            let key = (record.get("BaseOpcode").to_owned(), image.to_owned());
            let shape = (record.number("VDataDwords"), record.number("VAddrDwords"));
            self.image_shapes.entry(key).or_default().insert(shape);
        }
        let left_out = LEFT_OUT.contains(&record.string("DecoderNamespace"))
            || ["isPseudo", "isCodeGenOnly", "isAsmParserOnly"]
                .iter()
                .any(|flag| record.flag(flag));
        if !left_out {
            let fact = self.instruction(record);
            self.instructions.insert(record.name.clone(), fact);
        }
    }

    fn instruction(&mut self, record: &Record) -> String {
        let bits = record.bits("Inst");
        let mask: u128 = fixed(&bits, &["0", "1"]);
        let value: u128 = fixed(&bits, &["1"]);
        let tied = tied_names(record.string("Constraints"));
        let mut operands = Vec::new();
        for (direction, list) in [("out", "OutOperandList"), ("in", "InOperandList")] {
            for operand in dag_operands(record.get(list)) {
                self.used_operands.insert(operand.0.to_owned());
                operands.push(operand_fact(record, &bits, &tied, direction, operand));
            }
        }
        let mut flags: Vec<_> = [
            "mayLoad",
            "mayStore",
            "hasSideEffects",
            "isBranch",
            "isIndirectBranch",
            "isTerminator",
            "isBarrier",
            "isCall",
            "isReturn",
            "isConvergent",
        ]
        .into_iter()
        .filter(|flag| record.flag(flag))
        .collect();
        let paired =
            [("VOP1_Real", "VOP1Pair"), ("VOP2_Real", "VOP2Pair"), ("VOP3_Real", "VOP3Pair")];
        flags.extend(
            paired
                .iter()
                .filter(|(class, _)| record.is(class) && !record.flag("IsSingle"))
                .map(|(_, flag)| *flag),
        );
        flags.extend((record.is("VOPC64_DPP") || record.is("VOPC64_DPP8")).then_some("VOPC64DPP"));
        flags.extend((record.is("SM_Real") && record.flag("is_buffer")).then_some("Buffer"));
        let image = match record.get("MIMGEncoding") {
            "" => String::new(),
            encoding => format!(
                "{},{encoding},{},{}",
                record.get("BaseOpcode"),
                record.number("VDataDwords"),
                record.number("VAddrDwords")
            ),
        };
        [
            record.string("DecoderNamespace").to_owned(),
            record.get("Size").to_owned(),
            format!("{mask:x}"),
            format!("{value:x}"),
            operands.join(";"),
            record.string("Constraints").to_owned(),
            record.string("AsmString").to_owned(),
            record.list("Predicates").join(","),
            format!("{:x}", record.number("TSFlags")),
            flags.join("|"),
            record.list("Uses").join(","),
            record.list("Defs").join(","),
            image,
        ]
        .join("\t")
    }

    fn write(&self) -> Result<()> {
        write(
            "instructions.tsv",
            "name\tnamespace\tsize\tmask\tvalue\toperands\tconstraints\tasm\tpredicates\ttsflags\tflags\tuses\tdefs\timage",
            &rows(&self.instructions),
        )?;
        let used: BTreeMap<_, _> =
            self.operands.iter().filter(|(name, _)| self.used_operands.contains(*name)).collect();
        write("operands.tsv", "operand\tkind\tclass\ttype\tdecoder\tprint", &rows(&used))?;
        write("predicates.tsv", "predicate\tcondition", &rows(&self.predicates))?;
        write(
            "classes-by-mode.tsv",
            "class\tmodes\tclasses\tdecoder",
            &rows(&self.classes_by_mode),
        )?;
        write("aliases.tsv", "name\tinstruction\tpredicates", &self.alias_rows())?;
        write("images.tsv", "opcode\textra\tflags", &rows(&self.images))?;
        let shapes = self.image_shapes.iter().map(|((opcode, encoding), shapes)| {
            let shapes: Vec<_> =
                shapes.iter().map(|(data, address)| format!("{data}.{address}")).collect();
            format!("{opcode}\t{encoding}\t{}", shapes.join(","))
        });
        write("image-shapes.tsv", "opcode\tencoding\tdata.address", &shapes.collect::<Vec<_>>())?;
        let processors = self.processors.iter().map(|(name, features)| {
            let mut all = BTreeSet::new();
            features.iter().for_each(|feature| self.close(feature, &mut all));
            format!("{name}\t{}", all.into_iter().collect::<Vec<_>>().join(","))
        });
        write("processors.tsv", "processor\tfeatures", &processors.collect::<Vec<_>>())
    }

    fn close<'a>(&'a self, feature: &'a str, all: &mut BTreeSet<&'a str>) {
        if all.insert(feature) {
            for implied in self.implied.get(feature).into_iter().flatten() {
                self.close(implied, all);
            }
        }
    }
}

/// The name that a line of assembly starts with.
fn mnemonic(asm: &str) -> &str {
    asm.split([' ', '$', '{']).next().unwrap_or(asm)
}

/// `printNamedInt(..., "dmask", true, false)` inside a closure becomes `printNamedInt dmask true false`.
fn print_method(method: &str) -> String {
    let Some((_, call)) = method.split_once("{ ") else { return method.to_owned() };
    let name = call.split('(').next().unwrap_or(call);
    let arguments = call.split_once("O, ").map_or("", |(_, arguments)| arguments);
    format!("{name} {}", arguments.trim_end_matches("); }").replace(['"', ','], ""))
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn rows<K: AsRef<str> + Ord, V: AsRef<str>>(map: &BTreeMap<K, V>) -> Vec<String> {
    map.iter().map(|(key, value)| format!("{}\t{}", key.as_ref(), value.as_ref())).collect()
}

fn write(file: &str, header: &str, rows: &[String]) -> Result<()> {
    let mut text = format!("{header}\n");
    for row in rows {
        text.push_str(row);
        text.push('\n');
    }
    let path = crate::root().join(FOLDER).join(file);
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn fixed(bits: &[&str], wanted: &[&str]) -> u128 {
    bits.iter().enumerate().filter(|(_, bit)| wanted.contains(bit)).map(|(at, _)| 1 << at).sum()
}

/// `$vdst = $vdst_in` ties both names, either way.
fn tied_names(constraints: &str) -> HashMap<&str, &str> {
    let mut tied = HashMap::new();
    for constraint in constraints.split(',') {
        if let Some((left, right)) = constraint.split_once('=') {
            let (left, right) =
                (left.trim().trim_start_matches('$'), right.trim().trim_start_matches('$'));
            tied.insert(left, right);
            tied.insert(right, left);
        }
    }
    tied
}

/// `(ins VSrc_b32:$src0, ...)` as pairs of kind and name.
fn dag_operands(dag: &str) -> impl Iterator<Item = (&str, &str)> {
    let list = dag.trim_matches(['(', ')']).split_once(' ').map_or("", |(_, list)| list);
    list.split(", ").filter_map(|operand| operand.split_once(":$"))
}

/// Where an operand's bits are, in the order of LLVM's decoder: `in:src0:VSrc_b32:0.0.9:100`.
fn operand_fact(
    record: &Record,
    bits: &[&str],
    tied: &HashMap<&str, &str>,
    direction: &str,
    (kind, name): (&str, &str),
) -> String {
    let other = tied.get(name).copied();
    let own =
        [Some(name), other].into_iter().flatten().find(|name| record.values.contains_key(*name));
    let Some(own) = own else {
        return format!("{direction}:{name}:{kind}::");
    };
    let init = record.bits(own);
    let has_init = init.iter().any(|bit| matches!(*bit, "0" | "1"));
    let mut fields: Vec<(usize, usize, usize)> = Vec::new();
    for (at, bit) in bits.iter().enumerate() {
        let (variable, number) = match bit.split_once('{') {
            Some((variable, number)) => {
                (variable, number.trim_end_matches('}').parse().unwrap_or(0))
            }
            None => (*bit, 0),
        };
        if variable != name && Some(variable) != other {
            continue;
        }
        match fields.last_mut() {
            Some((start, first, width)) if *start + *width == at && *first + *width == number => {
                *width += 1;
            }
            _ => fields.push((at, number, 1)),
        }
    }
    let fields: Vec<_> =
        fields.iter().map(|(at, first, width)| format!("{at}.{first}.{width}")).collect();
    let init = if has_init { format!("{:x}", constant(&init)) } else { String::new() };
    format!("{direction}:{name}:{kind}:{}:{init}", fields.join("+"))
}

/// Every register class with its members: `V0-254/1` for v[0:..] to v[254:..], then the special registers.
fn register_classes(path: &Path) -> Result<Vec<String>> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut classes = BTreeMap::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(rest) = line.trim().strip_prefix("const MCPhysReg ") else { continue };
        let Some((name, _)) = rest.split_once("[] = {") else { continue };
        if name.contains("_with_") || name.contains("_and_") {
            continue;
        }
        let members = lines.next().context("a class without members")?;
        classes.insert(name.to_owned(), fold_members(members));
    }
    if classes.is_empty() {
        bail!(
            "no register class in {}: is it the MCDesc file of -gen-register-info?",
            path.display()
        );
    }
    Ok(rows(&classes))
}

fn fold_members(members: &str) -> String {
    let mut banks: BTreeMap<char, BTreeSet<u32>> = BTreeMap::new();
    let mut special = BTreeSet::new();
    for member in members.split(',').map(str::trim).filter(|member| !member.is_empty()) {
        let member = member.trim_start_matches("AMDGPU::");
        let first = member.split('_').next().unwrap_or(member);
        let numbered = ["VGPR", "AGPR", "SGPR", "TTMP"]
            .into_iter()
            .find_map(|bank| Some((bank.chars().next()?, first.strip_prefix(bank)?.parse().ok()?)));
        match numbered {
            Some((bank, number)) => drop(banks.entry(bank).or_default().insert(number)),
            None => drop(special.insert(member)),
        }
    }
    let mut parts: Vec<String> =
        banks.iter().map(|(bank, numbers)| fold_bank(*bank, numbers)).collect();
    parts.extend(special.into_iter().map(str::to_owned));
    parts.join(" ")
}

fn fold_bank(bank: char, numbers: &BTreeSet<u32>) -> String {
    let (first, last) =
        (numbers.first().copied().unwrap_or(0), numbers.last().copied().unwrap_or(0));
    let step = numbers.iter().nth(1).map_or(1, |second| second - first);
    let regular = numbers.iter().copied().eq((first..=last).step_by(step as usize));
    format!("{bank}{first}-{last}/{step}{}", if regular { "" } else { "!" })
}
