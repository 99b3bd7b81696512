//! Effects against the records in `isa-data/`, form by form, and what single instructions do.

use std::collections::{BTreeSet, HashMap};
use std::fs;

use expect_test::{Expect, expect};

use super::{Counter, Lanes, Registers};
use crate::decoder::DecodeOptions;
use crate::model::{Half, OperandValue, Register, RegisterFile, VgprMsb};
use crate::target::WaveSize;
use crate::{Decoder, Inst, Processor};

fn read(path: &str) -> String {
    fs::read_to_string(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The rows of a table, by column.
fn rows(path: &str) -> Vec<HashMap<String, String>> {
    let text = read(path);
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next().unwrap().split('\t').collect();
    let row = |line: &str| {
        columns.iter().map(|c| (*c).to_owned()).zip(line.split('\t').map(str::to_owned)).collect()
    };
    lines.map(row).collect()
}

/// The names of all forms, in the order of the tables.
fn form_names() -> Vec<String> {
    let text = read("src/model/generated/tables.rs");
    let forms = text.split("static FORMS").nth(1).unwrap();
    forms
        .lines()
        .filter_map(|line| line.strip_prefix("    f(")?.split_once(" // "))
        .map(|(_, name)| name.to_owned())
        .collect()
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 ^ self.0 >> 33
    }
}

fn decoders(namespace: &str) -> Vec<Decoder> {
    let processors: &[&str] = match namespace.split('_').next().unwrap() {
        "GFX8" | "GFX80" | "GFX9" | "GFX90A" | "GFX940" | "GFX950" => {
            &["gfx801", "gfx803", "gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950"]
        }
        "GFX10" | "AMDGPU" => &["gfx1010", "gfx1011", "gfx1030"],
        "GFX11" | "GFX11W64" => &["gfx1100", "gfx1150"],
        "GFX12" | "GFX12W64" => &["gfx1200", "gfx1250", "gfx1251"],
        _ => &["gfx1250", "gfx1251"],
    };
    let mut decoders = Vec::new();
    for processor in processors {
        for wave_size in [WaveSize::Wave32, WaveSize::Wave64] {
            let options = DecodeOptions {
                real_true16: Some(!namespace.contains("FAKE16")),
                wave_size: Some(wave_size),
                ..DecodeOptions::default()
            };
            decoders.push(
                Decoder::with_options(Processor::from_name(processor).unwrap(), options).unwrap(),
            );
        }
    }
    decoders
}

/// An instruction of that form with random operands.
fn instance(
    decoder: &Decoder,
    random: &mut Random,
    form: usize,
    row: &HashMap<String, String>,
) -> Option<Inst> {
    let number = |column: &str| u128::from_str_radix(&row[column], 16).unwrap();
    let (mask, value) = (number("mask"), number("value"));
    (0..60).find_map(|_| {
        let noise = u128::from(random.next()) << 64 | u128::from(random.next());
        // Fields that are mostly small are mostly valid.
        let noise = noise & !(u128::from(random.next()) << 64 | u128::from(random.next()));
        let noise = [0, 32].into_iter().fold(noise, |noise, at| {
            // DPP8 is told by the value of a field.
            let is_there = row["operands"].contains(&format!("Dpp8FI:{at}.0.9"));
            if is_there { noise & !(0x1ff << at) | 0xe9 << at } else { noise }
        });
        let mut bytes = (noise & !mask | value).to_le_bytes().to_vec();
        bytes.extend_from_slice(&[0; 4]);
        decoder.decode(&bytes).filter(|inst| inst.form().index() == form)
    })
}

fn spelled(registers: impl Iterator<Item = Register>) -> BTreeSet<String> {
    registers.map(|register| Register { half: None, ..register }.to_string()).collect()
}

/// What the records and the decoded operands say: read and written.
struct Recorded {
    reads: BTreeSet<String>,
    writes: BTreeSet<String>,
}

/// A decoded instruction and the record of its form.
struct Record<'r> {
    decoder: &'r Decoder,
    inst: &'r Inst,
    row: &'r HashMap<String, String>,
    /// The direction and the name of each operand.
    operands: Vec<(&'r str, &'r str)>,
    values: HashMap<&'static str, OperandValue>,
}

impl<'r> Record<'r> {
    fn new(decoder: &'r Decoder, inst: &'r Inst, row: &'r HashMap<String, String>) -> Self {
        let values = decoder.operands(inst).map(|operand| (operand.name, operand.value)).collect();
        let operands = row["operands"].split(';').filter_map(|text| {
            let (direction, rest) = text.split_once(':')?;
            Some((direction, rest.split(':').next()?))
        });
        Record { decoder, inst, row, operands: operands.collect(), values }
    }

    fn register(&self, name: &str) -> Option<String> {
        match self.values.get(name) {
            Some(OperandValue::Register(register)) => {
                Some(Register { half: None, ..*register }.to_string()).filter(|name| name != "null")
            }
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<i64> {
        match self.values.get(name) {
            Some(OperandValue::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// What it reads and writes.
    fn expected(&self, has_twin: bool) -> Recorded {
        let mut recorded = self.listed();
        self.add_tied(&mut recorded.reads);
        self.leave_out_old(&mut recorded.reads);
        if self.number("dst_unused") == Some(2) && self.number("dst_sel") != Some(6) {
            recorded.reads.extend(self.register("vdst"));
        }
        self.leave_out_disabled(&mut recorded.reads);
        let is_gfx8 = self.decoder.model().arch.has(crate::model::Arch::GFX8);
        let unread = if has_twin && !is_gfx8 { "M0" } else { "" };
        for (column, side) in [("uses", &mut recorded.reads), ("defs", &mut recorded.writes)] {
            let names = self.row[column].split(',').filter(|name| *name != unread);
            side.extend(names.filter_map(|name| implicit(self.decoder, self.inst, name)));
        }
        recorded
    }

    /// The registers of operands.
    fn listed(&self) -> Recorded {
        let mut recorded = Recorded { reads: BTreeSet::new(), writes: BTreeSet::new() };
        let text = self.decoder.text(self.inst);
        let text = text.split_once(',').map_or("", |(_, after)| after);
        for (direction, name) in &self.operands {
            let name = self
                .tied(name)
                .filter(|_| *direction == "in" && *name != "old")
                .unwrap_or((*name).to_owned());
            let side = match *direction {
                "out" => &mut recorded.writes,
                _ => &mut recorded.reads,
            };
            // Images print the address registers that their dimension asks for.
            let is_used = |register: &String| {
                let is_address = !self.row["image"].is_empty() && name.starts_with("vaddr");
                !is_address || is_printed(text, register)
            };
            side.extend(self.register(&name).filter(is_used));
        }
        recorded
    }

    /// The output that an input is tied to: it is the same register, whatever LLVM's decoder makes of it.
    fn tied(&self, input: &str) -> Option<String> {
        let pairs = self.row["constraints"].split(',').filter_map(|pair| pair.split_once(" = "));
        let other = pairs
            .map(|(a, b)| (a.trim().replace('$', ""), b.trim().replace('$', "")))
            .find_map(|(a, b)| match input {
                _ if a == input => Some(b),
                _ if b == input => Some(a),
                _ => None,
            })?;
        self.operands.contains(&("out", other.as_str())).then_some(other)
    }

    /// Tied operands are read as well. Those of D16 loads are kept by the write's being one of a half.
    fn add_tied(&self, reads: &mut BTreeSet<String>) {
        let kept_by_half = u64::from_str_radix(&self.row["tsflags"], 16).unwrap() >> 60 & 1 == 1;
        if kept_by_half {
            let destination = self.register("vdst").or(self.register("vdata")).unwrap();
            let is_address = |name: &String| {
                ["vaddr", "addr"].iter().any(|a| self.register(a).as_ref() == Some(name))
            };
            reads.retain(|name| *name != destination || is_address(name));
            return;
        }
        for (_, name) in self.operands.iter().filter(|(_, name)| name.ends_with("st_in")) {
            reads.extend(self.register(name.trim_end_matches("_in")));
        }
    }

    /// DPP that writes every lane does not read what was there.
    fn leave_out_old(&self, reads: &mut BTreeSet<String>) {
        let is = |name, value| self.number(name) == Some(value);
        let every_lane = is("bound_ctrl", 1) && is("row_mask", 15) && is("bank_mask", 15);
        if self.values.contains_key("old") && every_lane {
            let inputs = self.operands.iter().filter(|it| it.0 == "in" && it.1 != "old");
            *reads = inputs.filter_map(|(_, name)| self.register(name)).collect();
        }
    }

    /// Exports read enabled sources only.
    fn leave_out_disabled(&self, reads: &mut BTreeSet<String>) {
        let (Some(enabled), true) = (self.number("en"), self.values.contains_key("tgt")) else {
            return;
        };
        let halves = self.number("compr") == Some(1);
        let is_read = |n: &usize| {
            if halves { *n < 2 && enabled >> (2 * n) & 3 != 0 } else { enabled >> n & 1 == 1 }
        };
        let sources = (0..4).filter(is_read).map(|n| ["src0", "src1", "src2", "src3"][n]);
        *reads = sources.filter_map(|name| self.register(name)).collect();
    }
}

fn is_printed(text: &str, register: &str) -> bool {
    let follows =
        |at: usize| text[at + register.len()..].starts_with(|next: char| next.is_ascii_digit());
    text.match_indices(register).any(|(at, _)| !follows(at))
}

fn implicit(decoder: &Decoder, inst: &Inst, name: &str) -> Option<String> {
    let wave32 = decoder.model().arch.has(crate::model::Arch::WAVE32);
    let saves = inst.mnemonic().contains("saveexec") || inst.mnemonic().contains("wrexec");
    let narrow = if saves { inst.mnemonic().ends_with("b32") } else { wave32 };
    Some(match name {
        "" | "ASYNCcnt" | "TENSORcnt" => return None,
        "SCC" => "src_scc".to_owned(),
        "FLAT_SCR" => "flat_scratch".to_owned(),
        "VCC" | "EXEC" if narrow => format!("{}_lo", name.to_lowercase()),
        other => other.to_lowercase(),
    })
}

/// Whether `effects.tsv` adds to the record.
fn is_special(row: &HashMap<String, String>) -> bool {
    let facts = rows("../../isa-data/effects.tsv");
    facts.iter().any(|fact| row["name"].starts_with(&fact["instructions"]))
}

/// `Effects::scalars` lists the scalar registers of `reads` and `writes`.
fn assert_scalars(all: Registers<'_>, scalars: Registers<'_>) {
    let is_scalar = |it: &Register| !matches!(it.file, RegisterFile::Vgpr | RegisterFile::Agpr);
    let wanted: Vec<Register> = all.filter(is_scalar).collect();
    let mut found = Vec::new();
    scalars.for_each(|register| found.push(register));
    assert_eq!(found, wanted);
}

#[test]
fn effects_are_what_the_records_say() {
    let names = form_names();
    let by_name: HashMap<String, HashMap<String, String>> =
        rows("../../isa-data/llvm/instructions.tsv")
            .into_iter()
            .map(|row| (row["name"].clone(), row))
            .collect();
    let mut known: HashMap<String, Vec<Decoder>> = HashMap::new();
    let mut random = Random(7);
    let (mut unseen, mut wrong) = (Vec::new(), Vec::new());
    for (form, name) in names.iter().enumerate() {
        let row = &by_name[name];
        let decoders = known
            .entry(row["namespace"].clone())
            .or_insert_with_key(|namespace| decoders(namespace));
        let mut seen = false;
        for decoder in decoders.iter() {
            for _ in 0..2 {
                let Some(inst) = instance(decoder, &mut random, form, row) else { break };
                seen = true;
                let effects = decoder.effects(&inst, VgprMsb::default());
                let (writes, reads) = effects.scalars();
                assert_scalars(effects.writes(), writes);
                assert_scalars(effects.reads(), reads);
                let expected = Record::new(decoder, &inst, row)
                    .expected(by_name.contains_key(&format!("{name}_gfx9")));
                let found = (spelled(effects.reads()), spelled(effects.writes()));
                if found != (expected.reads.clone(), expected.writes.clone()) && !is_special(row) {
                    wrong.push(format!(
                        "{name}: {}\n  {found:?}\n  {:?} {:?}",
                        decoder.text(&inst),
                        expected.reads,
                        expected.writes
                    ));
                }
            }
        }
        if !seen {
            unseen.push(name);
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong, such as\n{}",
        wrong.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
    // The rest is shadowed by other records, or no processor here has it.
    assert!(unseen.len() < 220, "{} forms never seen: {unseen:?}", unseen.len());
}

fn check(processor: &str, msb: u8, words: &[u32], expected: &Expect) {
    let decoder = Decoder::new(Processor::from_name(processor).unwrap()).unwrap();
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let inst = decoder.decode(&bytes).unwrap();
    let effects = decoder.effects(&inst, VgprMsb::new(msb));
    let list = |registers: Registers<'_>| {
        registers.map(|register| register.to_string()).collect::<Vec<_>>().join(" ")
    };
    let mut found = format!("{}\n", decoder.text(&inst));
    found += &format!("reads {}\nwrites {}\n", list(effects.reads()), list(effects.writes()));
    found += &format!(
        "replaces {} | {}\n",
        list(effects.overwrites(Lanes::All)),
        list(effects.overwrites(Lanes::Some))
    );
    if let Some(memory) = effects.memory() {
        found += &format!("{memory:?}\n");
    }
    let raised: Vec<&str> = effects.raises().iter().map(Counter::name).collect();
    let waits: Vec<String> =
        effects.waits().map(|(counter, limit)| format!("{}({limit})", counter.name())).collect();
    found += &format!(
        "raises {} waits {} then {:?}\n",
        raised.join(" "),
        waits.join(" "),
        effects.flow()
    );
    expected.assert_eq(&found);
}

#[test]
fn a_load_into_a_half_keeps_the_other() {
    check(
        "gfx942",
        0,
        &[0xdc86_8000, 0x0100_0002],
        &expect![[r#"
        global_load_ubyte_d16_hi v1, v2, s[0:1] nt
        reads s[0:1] v2 exec
        writes v1.h
        replaces  | 
        Memory { space: Global, access: Load, bytes: Some(1), lds: None }
        raises vmcnt waits  then Next
    "#]],
    );
}

#[test]
fn sdwa_that_preserves_reads_its_destination() {
    check(
        "gfx900",
        0,
        &[0x7e02_02f9, 0x0005_1402],
        &expect![[r#"
        v_mov_b32_sdwa v1, v2 dst_sel:WORD_0 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1
        reads v1 v2 exec
        writes v1
        replaces  | 
        raises  waits  then Next
    "#]],
    );
}

#[test]
fn dpp_of_every_lane_does_not_read_its_destination() {
    check(
        "gfx942",
        0,
        &[0x7e02_02fa, 0xff08_b102],
        &expect![[r#"
        v_mov_b32_dpp v1, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:1
        reads v2 exec
        writes v1
        replaces v1 | 
        raises  waits  then Next
    "#]],
    );
    check(
        "gfx942",
        0,
        &[0x7e02_02fa, 0xff00_b102],
        &expect![[r#"
        v_mov_b32_dpp v1, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf
        reads v1 v2 exec
        writes v1
        replaces v1 | 
        raises  waits  then Next
    "#]],
    );
}

#[test]
fn upper_bits_of_vector_registers_come_from_the_state() {
    check(
        "gfx1250",
        0b01_00_11_10,
        &[0x4a06_0501],
        &expect![[r#"
        v_add_nc_u32_e32 v3, v1, v2
        reads v513 v770 exec_lo
        writes v259
        replaces v259 | 
        raises  waits  then Next
    "#]],
    );
}

#[test]
fn waits() {
    check(
        "gfx942",
        0,
        &[0xbf8c_0f70],
        &expect![[r#"
        s_waitcnt vmcnt(0)
        reads 
        writes 
        replaces  | 
        raises  waits vmcnt(0) then Next
    "#]],
    );
    check(
        "gfx1100",
        0,
        &[0xbf89_03f7],
        &expect![[r#"
        s_waitcnt vmcnt(0)
        reads 
        writes 
        replaces  | 
        raises  waits vmcnt(0) then Next
    "#]],
    );
    check(
        "gfx1200",
        0,
        &[0xbfc8_0102],
        &expect![[r#"
        s_wait_loadcnt_dscnt 0x102
        reads 
        writes 
        replaces  | 
        raises  waits loadcnt(1) dscnt(2) then Next
    "#]],
    );
}

#[test]
fn raised_counters() {
    check(
        "gfx942",
        0,
        &[0xdc70_8000, 0x0002_0200],
        &expect![[r#"
        global_store_dword v0, v2, s[2:3]
        reads v0 v2 s[2:3] exec
        writes 
        replaces  | 
        Memory { space: Global, access: Store, bytes: Some(4), lds: None }
        raises vmcnt waits  then Next
    "#]],
    );
    check(
        "gfx1030",
        0,
        &[0xdc70_8000, 0x007d_0200],
        &expect![[r#"
        global_store_dword v[0:1], v2, off
        reads v[0:1] v2 exec_lo
        writes 
        replaces  | 
        Memory { space: Global, access: Store, bytes: Some(4), lds: None }
        raises vscnt waits  then Next
    "#]],
    );
}

#[test]
fn halves_that_are_named_are_halves() {
    let decoder = Decoder::new(Processor::from_name("gfx1100").unwrap()).unwrap();
    let inst = decoder.decode(&0x6402_0581_u32.to_le_bytes()).unwrap();
    let effects = decoder.effects(&inst, VgprMsb::default());
    assert_eq!(effects.writes().next().and_then(|register| register.half), Some(Half::Low));
    assert_eq!(effects.overwrites(Lanes::All).count(), 0);
}
