//! Proofs by execution of generated functions: they hold for what the rules make, in every place that it goes to, and fail
//! when one instruction of it is changed in a way that matters.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test may fail"
)]

use std::collections::{BTreeMap, BTreeSet};

use hsaco::analysis::{Cfg, Code, Liveness, RegisterSet, States, Stream, vgpr_msb_after};
use hsaco::isa::Inst;
use hsaco::isa::effects::{Access, Flow, Lanes};
use hsaco::isa::model::{Operand, OperandValue, Register, RegisterFile, Special, VgprMsb};
use hsaco::kernarg::Launch;
use hsaco::object::CodeObject;
use hsaco::patch::{Manifest, Options, Record, Verdict as Rewriting};
use hsaco::prove::{Given, Input, KernelProof, ProofVerdict, Prover, RewrittenSite, Settings};
use hsaco_tests::gfx1250::{self, NewKernel};
use hsaco_tests::rewritten::{Rewritten, rule_set};

use super::proofs::machine::{Random, tools};
use super::proofs::random::{ADDRESSES, NAMED, PLACE, program};

/// Where results begin in the buffer.
const RESULTS: u32 = 0x8_0000;
/// Two lanes keep out of each other's places.
const APART: u32 = 0x2_8000;
/// Sets SCC as a launch has it.
const SCC: &str = "s_bitcmp1_b32 s23, 0";

/// Fills registers, LDS addresses, M0 and MODE from the buffer; leaves its address in s[2:3].
fn prologue(random: &mut Random, has_matrix: bool) -> String {
    let mut lines = vec![
        "s_load_b64 s[2:3], s[0:1], 0x0".to_owned(),
        "s_wait_kmcnt 0x0".to_owned(),
        "s_load_b512 s[4:19], s[2:3], 0x40000".to_owned(),
        "s_load_b128 s[20:23], s[2:3], 0x40040".to_owned(),
        "s_wait_kmcnt 0x0".to_owned(),
        "v_and_b32_e32 v62, 0x3ff, v0".to_owned(),
        format!("v_lshlrev_b32_e32 v{PLACE}, 2, v62"),
    ];
    for register in 0..NAMED {
        let offset = 128 * register;
        lines.push(format!("global_load_b32 v{register}, v{PLACE}, s[2:3] offset:{offset}"));
    }
    lines.push("s_wait_loadcnt 0x0".to_owned());
    // Any two lanes access LDS, and each knows which of them it is.
    lines.push(
        "s_and_b32 s26, s20, 15
        s_and_b32 s27, s21, 15
        s_lshl_b32 s26, 1, s26
        s_lshl_b32 s27, 0x10000, s27
        s_or_b32 s28, s26, s27
        v_mbcnt_lo_u32_b32 v60, s28, 0"
            .to_owned(),
    );
    if has_matrix {
        // As bytes, halves and numbers of 32 bits finite and of moderate size.
        for register in 0..NAMED {
            lines.push(format!("v_and_b32_e32 v{register}, 0x83bfbfbf, v{register}"));
            lines.push(format!("v_or_b32_e32 v{register}, 0x38000000, v{register}"));
        }
    } else {
        for register in ADDRESSES..NAMED {
            lines.push(format!("v_mul_u32_u24_e32 v{register}, {APART:#x}, v60"));
            let near = 8 * random.below(512);
            lines.push(format!("v_add_nc_u32_e32 v{register}, {near:#x}, v{register}"));
        }
    }
    let mut mode = 0;
    for bank in 1..4_u32 {
        lines.push(format!("s_set_vgpr_msb {:#x}", bank << 6 | mode << 8));
        mode = bank << 6;
        for register in 0..NAMED {
            lines.push(format!("v_mov_b32_e32 v{register}, v{register}"));
        }
    }
    lines.push(format!("s_set_vgpr_msb {:#x}", mode << 8));
    lines.push(format!("v_add_nc_u32_e32 v{PLACE}, {RESULTS:#x}, v{PLACE}"));
    // The number of the lane itself is in no register, so that a wrong one is not right by chance.
    lines.push("v_lshlrev_b32_e32 v62, 4, v62\nv_mov_b32_e32 v60, s22".to_owned());
    lines.push("s_mov_b32 s0, s22\ns_mov_b32 s1, s23".to_owned());
    lines.push("s_and_b32 s24, s19, 0xfff3ffff\ns_mov_b32 m0, s24".to_owned());
    // The launch says what SCC and the upper bits of MODE are, one of which has large results saturate.
    lines.push(SCC.to_owned());
    lines.push(match random.below(2) {
        0 => "s_setreg_b32 hwreg(HW_REG_WAVE_MODE, 23, 9), s22".to_owned(),
        _ => "s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 23, 1), 1".to_owned(),
    });
    lines.join("\n")
}

/// Bytes of LDS, all of which is filled before and stored after.
const LDS: u32 = 312 << 10;
/// Where what is left in LDS is stored.
const LEFT: u32 = 0xa_0000;

/// Lines that are repeated for every 512 bytes of LDS: v63 is the lane's address.
fn over_lds(lines: &str) -> String {
    let body = format!(
        "{lines}
        v_add_nc_u32_e32 v63, 0x200, v63
        s_sub_co_u32 s25, s25, 1
        s_cmp_lg_u32 s25, 0"
    );
    let words = gfx1250::assemble(gfx1250::assembler().unwrap(), &body).unwrap().len() / 4;
    format!(
        "s_mov_b32 s25, {:#x}
        v_mov_b32_e32 v63, v62
        {body}
        s_cbranch_scc1 {}",
        LDS / 512,
        0x1_0000 - words - 1
    )
}

fn fill_lds() -> String {
    let word = |at: u32| format!("v_mad_u32_u24 v{}, v63, 0x9e37b1, v{}\n", 64 + at, at);
    let words: String = (0..4).map(word).collect();
    over_lds(&format!("{words}ds_store_b128 v63, v[64:67]")) + "\ns_wait_dscnt 0x0"
}

fn store_lds() -> String {
    over_lds(&format!(
        "ds_load_b128 v[64:67], v63
        s_wait_dscnt 0x0
        v_add_nc_u32_e32 v68, {LEFT:#x}, v63
        global_store_b128 v68, v[64:67], s[2:3]"
    ))
}

fn kernel(name: &str, random: &mut Random, has_matrix: bool) -> NewKernel {
    let prologue = prologue(random, has_matrix);
    let program = program(random, has_matrix).join("\n");
    // Lanes that access LDS keep out of each other's places, and there is room for two.
    let is_apart = ["ds_", "cluster_load"].iter().any(|it| program.contains(it));
    let exec = if is_apart { "s_mov_b32 exec_lo, s28" } else { "" };
    let (filled, stored) = match is_apart || program.contains("tensor_") {
        true => (format!("{}\n{SCC}", fill_lds()), store_lds()),
        false => (String::new(), String::new()),
    };
    let lines = format!("{prologue}\n{filled}\n{exec}\n{program}\ns_mov_b32 exec_lo, -1\n{stored}");
    NewKernel {
        sgprs: 32,
        vgprs: 1024,
        workgroup: Some(32),
        buffers: 1,
        lds: LDS,
        ..gfx1250::kernel(name, &lines).unwrap()
    }
}

/// So many launches are usual here.
const FEW: u64 = 4;
/// So many with numbers at edges find what needs numbers that are rare.
const MANY: u64 = 400;

fn prover<'o>(original: &'o [u8], result: &'o [u8], manifest: &Manifest) -> Prover<'o> {
    let mut settings = Settings::default();
    (settings.seeds, settings.patience) = (FEW, FEW);
    let sites = Some(RewrittenSite::of_manifest(manifest));
    Prover::new(original, result, sites, settings).unwrap()
}

fn prove(original: &[u8], result: &[u8], manifest: &Manifest) -> KernelProof {
    prover(original, result, manifest).prove("k", None).unwrap()
}

/// A launch with numbers at edges, every other one of two workgroups in a cluster.
fn at_edges(seed: u64) -> Input {
    /// As many bytes do not come again where rows of lanes or the next lane's memory begin.
    const PERIOD: usize = 0x1_1040;
    const BUFFER: usize = 1 << 20;
    let mut random = Random(seed);
    let words: Vec<u8> = (0..PERIOD / 4).flat_map(|_| edge(&mut random).to_le_bytes()).collect();
    let buffer = words.iter().copied().cycle().take(BUFFER).collect();
    Input {
        label: format!("edges {seed}"),
        launch: Launch::of_workgroups(&[2], &[32]).unwrap(),
        cluster: [1 + (seed % 2) as u32, 1, 1],
        arguments: vec![Given::Buffer(buffer)],
    }
}

/// A word that is special to some conversion.
fn edge(random: &mut Random) -> u32 {
    const FLOATS: [u32; 10] = [
        0,
        1,
        0x007f_ffff,
        0x0080_0000,
        0x7f7f_ffff,
        0x7f80_0000,
        0x7f80_0001,
        0x7fbf_ffff,
        0x7fc0_0000,
        0x7fff_ffff,
    ];
    const BYTES: [u8; 10] = [0, 1, 7, 8, 9, 0x7e, 0x7f, 0x80, 0xfe, 0xff];
    /// How far from a number of E5M3: the next is at twice 0x80000.
    const FROM: [u32; 7] = [0, 1, u32::MAX, 0x7_ffff, 0x8_0000, 0x8_0001, 0xf_ffff];
    /// What is added before the lower twenty bits are dropped.
    const NOISE: [u32; 7] = [0, 0xfff, 0x1000, 0x7fff_ffff, 0x8000_0000, 0xffff_efff, u32::MAX];
    let sign = if random.below(4) == 0 { 1 << 31 } else { 0 };
    let near = |random: &mut Random| FROM[random.below(7) as usize];
    match random.below(10) {
        0 => FLOATS[random.below(10) as usize] | sign,
        1..4 => (((112 << 3) + random.below(0x108)) << 20).wrapping_add(near(random)) | sign,
        // Halves of the smallest number.
        4 => {
            let halves = random.below(20) as f32 * 2_f32.powi(-18);
            halves.to_bits().wrapping_add(random.below(3)).wrapping_sub(1) | sign
        }
        5 | 6 => u32::from_le_bytes([(); 4].map(|()| BYTES[random.below(10) as usize])),
        7 => NOISE[random.below(7) as usize],
        8 => random.below(64),
        _ => random.next(),
    }
}

/// What was proven: rules and placements of sites that ran, with how control gets there.
#[derive(Default)]
struct Tally {
    rules: BTreeMap<String, usize>,
    placements: BTreeMap<(&'static str, &'static str), usize>,
    /// The errata that originals met there on the silicon of the result.
    errata: BTreeSet<&'static str>,
    proofs: usize,
}

impl Tally {
    fn count(&mut self, proof: &KernelProof, manifest: &Manifest) {
        self.proofs += 1;
        for runs in proof.sites.iter().filter(|it| it.ran()) {
            let record = manifest.records.iter().find(|it| it.site.address == runs.site.address);
            let jump = record.map_or("none", |it| it.jump.name());
            *self.placements.entry((runs.site.placement, jump)).or_default() += 1;
            self.errata.extend(&runs.errata);
            for rule in &runs.site.rules {
                *self.rules.entry(rule.clone()).or_default() += 1;
            }
        }
    }

    /// Sites of these rules ran, and the originals met the errata that the rules are for.
    fn has_rules(&self, all: &[&str]) {
        for rule in all {
            assert!(self.rules.contains_key(*rule), "{rule}: {:?}", self.rules);
            let erratum = if *rule == "tensor-mask" { "hang" } else { rule };
            assert!(self.errata.contains(erratum), "{rule}: {:?}", self.errata);
        }
    }

    fn has_placements(&self, all: &[(&str, &str)]) {
        for place in all {
            assert!(self.placements.contains_key(place), "{place:?}: {:?}", self.placements);
        }
    }
}

/// Kernels hold with what rules make of the first one.
fn holds(tally: &mut Tally, kernels: &[NewKernel], options: &Options, what: &str) {
    let run = Rewritten::with(options, gfx1250::object(kernels).unwrap());
    if run.manifest.verdict != Rewriting::Changed {
        return;
    }
    let proof = prove(&run.before, &run.after, &run.manifest);
    assert_eq!(proof.verdict(), ProofVerdict::Holds, "{what}: {proof:#?}");
    tally.count(&proof, &run.manifest);
}

fn functions_hold(seed: u64, count: usize, has_matrix: bool, filler: usize) -> Tally {
    let mut random = Random(seed);
    let mut tally = Tally::default();
    for round in 0..count {
        let mut kernels = vec![kernel("k", &mut random, has_matrix)];
        if filler != 0 {
            kernels.push(gfx1250::kernel("filler", &format!(".rept {filler} s_nop 0")).unwrap());
        }
        holds(&mut tally, &kernels, &Options::default(), &format!("round {round}"));
    }
    assert!(tally.proofs > count / 2, "{}", tally.proofs);
    tally
}

/// What random functions come to.
const OF_FUNCTIONS: [&str; 7] =
    ["barrier-isfirst", "clause", "cluster-load", "ds-addtid", "e5m3", "sethalt", "tensor-mask"];
const OF_PRODUCTS: [&str; 3] = ["mode-before-msb", "vop3px-wrap", "wmma-split"];

/// What they do not come to: a rule, where the scales of its product are, and lines that it is about.
const OTHERS: [(&str, usize, &str); 6] = [
    // Addresses of random functions are as aligned as every stepping wants them.
    (
        "ds-two-address",
        8,
        "v_lshl_add_u32 v40, v62, 2, 4
        ds_store_2addr_b64 v40, v[0:1], v[2:3] offset0:1 offset1:3
        s_wait_dscnt 0x0
        ds_load_b64 v[4:5], v40 offset:8
        ds_load_b64 v[6:7], v40 offset:24
        s_wait_dscnt 0x0",
    ),
    (
        "scale-sixteen",
        8,
        "v_wmma_scale16_f32_16x16x128_f8f6f4 v[0:7], v[16:31], v[32:47], v[0:7], v[8:9], v[10:11]",
    ),
    (
        "scale-sixteen",
        40,
        "v_wmma_scale16_f32_32x16x128_f4 v[0:15], v[16:31], v[32:39], v[0:15], v[40:41], v[42:43]",
    ),
    // v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[16:31], v[32:47], v[0:7], v8, v10, and a third scale, which is s0.
    ("scale-src2", 8, ".long cc350000, 00021508, cc330000, 04024110"),
    (
        "wmma-hazard",
        8,
        "v_wmma_i32_16x16x64_iu8 v[16:23], v[0:7], v[8:15], v[16:23]
        v_add_f32_e32 v16, v0, v1",
    ),
    (
        "entry-stub",
        8,
        "s_load_b64 s[2:3], s[0:1], 0x0
        s_wait_kmcnt 0x0
        s_clause 0x1
        global_load_b32 v1, v0, s[2:3]
        global_load_b32 v2, v0, s[2:3] offset:4
        s_wait_loadcnt 0x0",
    ),
];

/// Numbers, scales from one register on and sums of such sizes that no product is rounded: one with scales for 16 numbers
/// becomes two, which round the sum once more.
fn unrounded(scales: usize) -> String {
    let number = |it| {
        format!("v_and_b32_e32 v{it}, 0x83838383, v{it}\nv_or_b32_e32 v{it}, 0x30303030, v{it}\n")
    };
    let scale = |it| {
        format!(
            "v_and_b32_e32 v{it}, 0x03030303, v{it}\nv_add_nc_u32_e32 v{it}, 0x7d7d7d7d, v{it}\n"
        )
    };
    let sum = |it| format!("v_and_b32_e32 v{it}, 63, v{it}\nv_cvt_f32_u32_e32 v{it}, v{it}\n");
    let sums = 0..scales.min(16);
    let scales = scales..scales + 4;
    let line = |it| match it {
        _ if scales.contains(&it) => scale(it),
        _ if sums.contains(&it) => sum(it),
        _ => number(it),
    };
    (0..NAMED).map(line).collect()
}

#[test]
fn random_functions_hold() {
    let tally = functions_hold(1, 60, false, 0);
    tally.has_rules(&OF_FUNCTIONS);
    tally.has_placements(&[("in-place", "none"), ("pool", "near")]);
}

#[test]
fn random_products_hold() {
    functions_hold(2, 16, true, 0).has_rules(&OF_PRODUCTS);
}

#[test]
fn far_trampolines_hold() {
    let tally = functions_hold(3, 6, false, 40_000);
    tally.has_placements(&[("padding", "near"), ("pool", "far")]);
}

/// Those that random functions do not come to hold as well, and then there is no rule left that changes code.
#[test]
fn every_rule_holds() {
    let (mut random, mut tally) = (Random(5), Tally::default());
    let options = Options { entry_stub: true, ..Options::default() };
    for (rule, scales, lines) in OTHERS {
        let (first, numbers) = (prologue(&mut random, true), unrounded(scales));
        let store =
            |it| format!("global_store_b32 v{PLACE}, v{it}, s[2:3] offset:{}\n", 128 * (it + 1));
        let stores: String = (0..NAMED).map(store).collect();
        let lines = match rule {
            // What comes first counts.
            "entry-stub" => format!("{lines}\n{first}\n{stores}"),
            _ => format!("{first}\n{numbers}{lines}\n{stores}"),
        };
        let kernel = NewKernel {
            sgprs: 32,
            vgprs: 1024,
            workgroup: Some(32),
            buffers: 1,
            lds: 4096,
            ..gfx1250::kernel("k", &lines).unwrap()
        };
        let options = if rule == "entry-stub" { &options } else { &Options::default() };
        holds(&mut tally, &[kernel], options, rule);
    }
    let others = OTHERS.map(|it| it.0);
    tally.has_rules(&others);
    let shown: BTreeSet<&str> =
        [&OF_FUNCTIONS[..], &OF_PRODUCTS, &others].concat().into_iter().collect();
    let all = rule_set().rules().iter().map(|it| it.name);
    // One rule leaves code as it is.
    let all: BTreeSet<&str> = all.filter(|it| *it != "deferred").collect();
    assert_eq!(shown, all);
}

/// One instruction of a replacement, changed.
struct Change {
    /// The site, the instruction in what replaces it, and what it became.
    site: u64,
    index: usize,
    old: Inst,
    new: Option<Inst>,
    text: String,
    result: Vec<u8>,
}

/// Where bytes of an address are in a file.
fn offset(file: &[u8], address: u64) -> usize {
    let object = CodeObject::parse(file).unwrap();
    let bytes = object.elf().at_address(address, 4).unwrap();
    bytes.as_ptr().addr() - file.as_ptr().addr()
}

/// Deletes an instruction, or flips a bit of it so that it becomes another one.
fn change(random: &mut Random, run: &Rewritten) -> Option<Change> {
    let tools = tools();
    let decoder = tools.decoder();
    let records: Vec<_> = run.manifest.records.iter().filter(|it| !it.code().is_empty()).collect();
    let record = records.get(random.below(records.len().max(1) as u32) as usize)?;
    let stream = Stream::decode(decoder, start(record), record.code());
    let index = random.below(stream.len() as u32) as usize;
    let (inst, old) = (stream.inst(index)?, stream.bytes(index).to_vec());
    let decode = |bytes: &[u8]| decoder.decode(bytes).filter(|it| it.len() == bytes.len());
    let text = |bytes: &[u8]| Some(decoder.text(&decode(bytes)?));
    let before = decoder.text(&inst);
    let nops = [0x00, 0x00, 0x80, 0xbf].repeat(old.len() / 4);
    let new = match random.below(3) {
        0 => nops,
        _ => {
            let flips = (0..24).map(|_| {
                let (at, bit) = (random.below(old.len() as u32) as usize, random.below(8));
                let mut new = old.clone();
                new[at] ^= 1 << bit;
                new
            });
            // Registers of trap handlers hold nothing that programs know.
            let is_other = |it: String| it != before && !it.contains("ttmp");
            flips.into_iter().find(|it| text(it).is_some_and(is_other))?
        }
    };
    let after = text(&new).unwrap_or_else(|| "deleted".to_owned());
    let mut result = run.after.clone();
    let at = offset(&result, stream.address_of(index));
    result[at..at + new.len()].copy_from_slice(&new);
    let site = record.site.address;
    let text = format!("{before} -> {after}");
    (before != after).then(|| Change { site, index, old: inst, new: decode(&new), text, result })
}

/// Where the code of a replacement begins.
fn start(record: &Record) -> u64 {
    record.body.as_ref().map_or(record.site.address, |it| it.address)
}

/// What became of a change.
enum Fate {
    Found,
    /// It changes nothing, for this reason.
    Equivalent(&'static str),
    Survived,
}

fn fate(run: &Rewritten, change: &Change) -> Fate {
    let prover = prover(&run.before, &change.result, &run.manifest);
    let few = prover.prove("k", None).unwrap();
    if few.verdict() != ProofVerdict::Holds {
        return Fate::Found;
    }
    // That it never ran is told.
    if few.sites.iter().any(|it| it.site.address == change.site && !it.ran()) {
        return Fate::Found;
    }
    if let Some(why) = equivalence(run, change) {
        return Fate::Equivalent(why);
    }
    let differs = |seed| {
        let proof = prover.prove("k", Some(&[at_edges(seed)])).unwrap();
        proof.verdict() == ProofVerdict::Differs
    };
    if (0..MANY).any(differs) { Fate::Found } else { Fate::Survived }
}

/// Why a change makes no difference, whatever the numbers.
fn equivalence(run: &Rewritten, change: &Change) -> Option<&'static str> {
    let name = change.old.mnemonic();
    // There is one path, and nothing on it was used too early.
    if name.starts_with("s_wait_") {
        return Some("nothing has to be waited for here");
    }
    if matches!(name, "s_nop" | "v_nop") {
        return Some("it takes time alone: a hazard, which sanitizers look for");
    }
    if matches!(name, "s_delay_alu" | "s_clause") {
        return Some("it is about speed");
    }
    if is_policy(&change.text) {
        return Some("it is about caches");
    }
    if counts_no_lanes(change) {
        return Some("a wave has 32 lanes, and none above them to count");
    }
    if packs_the_same(change) {
        return Some("it takes the upper half of a constant, which is the same");
    }
    if is_same_count(change) {
        return Some("of how far to shift only five bits count");
    }
    let new = change.new.as_ref().filter(|it| it.mnemonic() == name);
    let low = |inst: &Inst| inst.bytes()[0];
    if name == "s_set_vgpr_msb" && new.is_some_and(|it| low(it) == low(&change.old)) {
        return Some("the upper byte says what was before");
    }
    let (old, new) = (Rest::of(run, change, Some(change.old)), Rest::of(run, change, change.new));
    if name == "s_set_vgpr_msb" && old.names_the_same(&new) {
        return Some("no operand until the next one has the bits");
    }
    is_dead(run, change, &old, &new).then_some("nothing reads what it changes")
}

/// Whether two texts differ in their cache policy only.
fn is_policy(text: &str) -> bool {
    let without = |text: &str| {
        let is_policy = |it: &str| it.starts_with("th:") || it.starts_with("scope:") || it == "nv";
        let words = text.split(' ').filter(|it| !is_policy(it));
        words.collect::<Vec<_>>().join(" ")
    };
    text.split_once(" -> ").is_some_and(|(before, after)| without(before) == without(after))
}

fn is_deleted(change: &Change) -> bool {
    change.new.is_none_or(|it| it.mnemonic() == "s_nop")
}

/// Whether `v_mbcnt_hi` counts the lanes of another mask, of which there are none in a wave of 32: it copies its second
/// source.
fn counts_no_lanes(change: &Change) -> bool {
    let tools = tools();
    let of = |inst: &Inst, name| tools.decoder().operand(inst, name);
    let old = &change.old;
    if old.mnemonic() != "v_mbcnt_hi_u32_b32" {
        return false;
    }
    let copies = ["vdst", "src1"].map(|it| of(old, it));
    match &change.new {
        _ if is_deleted(change) => copies[0] == copies[1],
        Some(new) => {
            new.mnemonic() == old.mnemonic() && ["vdst", "src1"].map(|it| of(new, it)) == copies
        }
        None => false,
    }
}

/// Whether only a constant changes of which the instruction takes the upper half.
fn packs_the_same(change: &Change) -> bool {
    let (old, Some(new)) = (&change.old, &change.new) else { return false };
    let tools = tools();
    let of = |inst: &Inst, name| tools.decoder().operand(inst, name);
    let half = |inst: &Inst| match of(inst, "src0") {
        Some(OperandValue::Integer(number)) => Some(i32::from(number) >> 16),
        _ => None,
    };
    old.mnemonic() == "s_pack_hh_b32_b16"
        && new.mnemonic() == old.mnemonic()
        && ["sdst", "src1"].iter().all(|it| of(old, it) == of(new, it))
        && half(old).is_some()
        && half(old) == half(new)
}

/// Whether only a constant changes of which the instruction takes five bits, and these are the same.
fn is_same_count(change: &Change) -> bool {
    let (old, Some(new)) = (&change.old, &change.new) else { return false };
    let counts: &[&str] = match old.mnemonic().trim_end_matches("_e32").trim_end_matches("_e64") {
        "v_lshlrev_b32" | "v_lshrrev_b32" | "v_ashrrev_i32" => &["src0"],
        "v_lshl_add_u32" | "v_lshl_or_b32" | "s_lshl_b32" | "s_lshr_b32" => &["src1"],
        "v_bfe_u32" => &["src1", "src2"],
        _ => return false,
    };
    let tools = tools();
    let [before, after] =
        [old, new].map(|it| tools.decoder().operands(it).collect::<Vec<Operand>>());
    let bits = |value: &OperandValue| match value {
        OperandValue::Integer(number) => Some(i32::from(*number).cast_unsigned() & 31),
        OperandValue::Literal32(number) => Some(number & 31),
        _ => None,
    };
    let is_same = |(one, other): (&Operand, &Operand)| {
        let is_count = counts.contains(&one.name);
        one == other || {
            let [one, other] = [one, other].map(|it| bits(&it.value));
            is_count && one.is_some() && one == other
        }
    };
    old.mnemonic() == new.mnemonic()
        && before.len() == after.len()
        && before.iter().zip(&after).all(is_same)
}

/// A replacement from a place on, with one instruction there or none.
struct Rest {
    first: Option<Inst>,
    msb: VgprMsb,
    /// What comes behind it, each with the upper bits of register numbers that it runs with.
    behind: Vec<(Inst, Option<VgprMsb>)>,
}

impl Rest {
    fn of(run: &Rewritten, change: &Change, first: Option<Inst>) -> Self {
        let tools = tools();
        let decoder = tools.decoder();
        let object = CodeObject::parse(&run.before).unwrap();
        let code = Code::of(&object).unwrap();
        let function = code.stream(code.functions().at(change.site).unwrap());
        let cfg = Cfg::new(decoder, &function);
        let states = States::new(decoder, &function, &cfg, Lanes::Some);
        let mut msb = states.before(function.index_of(change.site).unwrap()).msb;
        let record = run.manifest.records.iter().find(|it| it.site.address == change.site).unwrap();
        let body = Stream::decode(decoder, start(record), record.code());
        let insts: Vec<Inst> = body.insts().collect();
        for inst in &insts[..change.index] {
            msb = vgpr_msb_after(decoder, msb, inst);
        }
        let before = msb.unwrap();
        if let Some(first) = &first {
            msb = vgpr_msb_after(decoder, msb, first);
        }
        let behind = insts.into_iter().skip(change.index + 1).map(|inst| {
            let own = msb;
            msb = vgpr_msb_after(decoder, msb, &inst);
            (inst, own)
        });
        Self { first, msb: before, behind: behind.collect() }
    }

    /// Whether all that comes behind names the same registers as in another, and the bits are the same in the end.
    fn names_the_same(&self, other: &Self) -> bool {
        let tools = tools();
        let decoder = tools.decoder();
        let registers = |(inst, msb): &(Inst, Option<VgprMsb>)| {
            let effects = decoder.effects(inst, msb.unwrap_or_default());
            let all: Vec<_> = effects.reads().chain(effects.writes()).collect();
            all
        };
        let is_known = |it: &Self| it.behind.iter().all(|it| it.1.is_some());
        let ends = |it: &Self| {
            let (inst, msb) = it.behind.last()?;
            vgpr_msb_after(decoder, *msb, inst)
        };
        is_known(self)
            && is_known(other)
            && ends(self).is_some()
            && ends(self) == ends(other)
            && self.behind.iter().map(registers).eq(other.behind.iter().map(registers))
    }

    /// Adds the registers that the first instruction writes; says whether that is all that it does.
    fn writes_alone(&self, written: &mut RegisterSet) -> bool {
        let Some(first) = &self.first else { return true };
        if first.mnemonic() == "s_nop" {
            return true;
        }
        let tools = tools();
        let effects = tools.decoder().effects(first, self.msb);
        let is_more = effects.memory().is_some_and(|it| it.access != Access::Load);
        effects.writes().for_each(|it| written.insert(&it));
        !is_more
            && effects.flow() == Flow::Next
            && !first.writes_mode()
            && effects.writes().next().is_some()
    }
}

/// Whether nothing that the old or the new instruction writes, nor what is computed of it in the replacement, is in a register
/// that the function reads afterwards.
fn is_dead(run: &Rewritten, change: &Change, old: &Rest, new: &Rest) -> bool {
    let tools = tools();
    let decoder = tools.decoder();
    let [mut of_old, mut of_new] = [RegisterSet::default(); 2];
    if !old.writes_alone(&mut of_old) || !new.writes_alone(&mut of_new) {
        return false;
    }
    let mut differing = of_old;
    differing.union_with(&of_new);
    // A load from the same place gives the same in the registers that both write.
    let loads = |rest: &Rest| rest.first.as_ref().and_then(place);
    if loads(old).is_some() && loads(old) == loads(new) {
        differing = of_new;
        differing.subtract(&of_old);
        of_old.subtract(&of_new);
        differing.union_with(&of_old);
    }
    let exec =
        Register { file: RegisterFile::Special(Special::Exec), first: 0, count: 1, half: None };
    for (inst, msb) in &old.behind {
        let Some(msb) = msb else { return false };
        let effects = decoder.effects(inst, *msb);
        if !effects.reads().any(|it| differing.contains(&it)) {
            continue;
        }
        let computes =
            effects.memory().is_none() && effects.flow() == Flow::Next && !inst.writes_mode();
        if !computes || effects.writes().next().is_none() {
            return false;
        }
        effects.writes().for_each(|it| differing.insert(&it));
    }
    let record = run.manifest.records.iter().find(|it| it.site.address == change.site).unwrap();
    let object = CodeObject::parse(&run.before).unwrap();
    let code = Code::of(&object).unwrap();
    let function = code.functions().at(change.site).unwrap();
    let stream = code.stream(function);
    let cfg = Cfg::new(decoder, &stream);
    let liveness = Liveness::new(decoder, &stream, &cfg, Lanes::Some);
    let end = change.site + record.site.old.len() as u64;
    let Some(step) = stream.index_of(end) else { return false };
    let live = liveness.live_before(step);
    !differing.contains(&exec) && differing.iter().all(|it| !live.contains(&it))
}

/// The text of where an instruction loads from.
fn place(inst: &Inst) -> Option<String> {
    let tools = tools();
    let effects = tools.decoder().effects(inst, VgprMsb::default());
    effects.memory().filter(|it| it.access == Access::Load)?;
    let text = tools.decoder().text(inst);
    // LLVM remarks on registers that are not aligned.
    let text = text.rsplit("*/").next().unwrap_or(&text);
    text.split_once(", ").map(|it| it.1.to_owned())
}

#[test]
fn changes_of_one_instruction_are_found() {
    let count = std::env::var("CHANGES").map_or(60, |it| it.parse().unwrap());
    let mut random = Random(4);
    let (mut found, mut equivalent, mut survived) = (0, BTreeMap::new(), Vec::<String>::new());
    while found + equivalent.values().sum::<usize>() + survived.len() < count {
        let has_matrix = random.below(6) == 0;
        let kernel = kernel("k", &mut random, has_matrix);
        let object = gfx1250::object(std::slice::from_ref(&kernel)).unwrap();
        let run = Rewritten::with(&Options::default(), object);
        if run.manifest.verdict != Rewriting::Changed {
            continue;
        }
        for _ in 0..8 {
            let Some(change) = change(&mut random, &run) else { continue };
            match fate(&run, &change) {
                Fate::Found => found += 1,
                Fate::Equivalent(why) => *equivalent.entry(why).or_default() += 1,
                Fate::Survived => survived.push(change.text),
            }
        }
    }
    eprintln!("{found} found, equivalent: {equivalent:#?}, survived: {survived:#?}");
    // What survives is not shown to be equivalent: a constant, say, of which a mask behind drops the bit.
    assert!(survived.len() * 50 < count);
}
