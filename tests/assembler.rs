//! The assembler against every row of the golden files, which LLVM 22 made.
//!
//! With `BLESS=1` the figures of `docs/assembler-agreement.md` are rewritten.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, iter, thread};

use hsaco::isa::Assembler;
use hsaco::object::CodeObject;
use hsaco_tests::assembly::{
    AsmJudge, AsmTally, Assembly, CAUSES, Difference, Row, TEXT_CAUSES, assembly_dir, llvm_mc,
};
use hsaco_tests::broken::{Breaker, Fault};
use hsaco_tests::diff::diff;
use hsaco_tests::exact::{self, ExactTally, NO_INSTRUCTION, NOT_LLVMS, REMARK, RESPELLINGS, USUAL};
use hsaco_tests::golden::{FAMILIES, Golden, family};
use hsaco_tests::oracle::{Answer, Target};
use hsaco_tests::program::{hsaco, hsaco_binary, hsaco_command};
use hsaco_tests::random::Random;
use hsaco_tests::{fixture, scratch_dir, workspace_root};

/// How many differences a failure shows for each target.
const SHOWN: usize = 20;

#[test]
fn golden_files_hold_what_the_manifest_says() {
    let manifest = fs::read_to_string(assembly_dir().join("manifest.txt")).unwrap();
    let line = |family: &&str| Assembly::read(family).unwrap().manifest_line(family);
    let found: String = FAMILIES.iter().map(line).collect();
    assert_eq!(diff(&manifest, &found), "");
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn golden_rows_agree() {
    let mut report = Report::default();
    for family in FAMILIES {
        for (target, tally) in Assembly::read(family).unwrap().tallies().unwrap() {
            report.add(&target, &tally);
            assert_is_llvms(&target.parse().unwrap(), &tally.to_ask);
        }
    }
    let assembled = report.finish();
    let mut printed = String::new();
    for (target, mut tally) in FAMILIES.iter().flat_map(|family| printed_again(family)) {
        let differing = std::mem::take(&mut tally.differing);
        writeln!(printed, "{} {} |", line(&target.to_string(), &tally), differing.len()).unwrap();
        assert_is_llvms(&target, &differing);
    }
    let exact = exact_report();
    check_document(&format!("{HEAD}{assembled}{ROUND_TRIP}{printed}{exact}"));
}

/// The columns of the last table: what of the counts they hold.
const COLUMNS: [&[&str]; 6] = [
    &[USUAL],
    &["long-suffix", "plain-offset", "inline-float"],
    &["bits-not-shown"],
    &[REMARK],
    &[NOT_LLVMS],
    &[NO_INSTRUCTION],
];

/// Every golden row, printed to be assembled and assembled: by us, and by llvm-mc.
fn exact_report() -> String {
    let mut report = EXACT.to_owned();
    let mut respelt = BTreeMap::new();
    for golden in FAMILIES.map(|family| Golden::read(family).unwrap()) {
        for (target, tally) in exact_tallies(&golden) {
            assert!(tally.wrong.is_empty(), "{target}:\n{}", tally.wrong.join("\n"));
            assert_eq!(COLUMNS.iter().map(|names| tally.of(names)).sum::<usize>(), tally.rows());
            write!(report, "| {target} | {} |", tally.rows()).unwrap();
            COLUMNS.iter().for_each(|it| write!(report, " {} |", tally.of(it)).unwrap());
            report.push('\n');
            for (name, _) in RESPELLINGS {
                *respelt.entry(name).or_insert(0) += tally.of(&[name]);
            }
        }
    }
    report += RESPELT;
    for (name, meaning) in RESPELLINGS {
        writeln!(report, "| {name} | {} | {meaning} |", respelt[name]).unwrap();
    }
    report
}

/// The tallies of a family, in the order of its targets; llvm-mc takes longer than we do, so all cores are asked.
fn exact_tallies(golden: &Golden) -> Vec<(Target, ExactTally)> {
    let next = AtomicUsize::new(0);
    let work = || {
        let take =
            || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|it| *it < golden.targets.len());
        let tally = |index: usize| {
            let (tally, lines) = exact::golden_rows(golden, index).unwrap();
            lines.ask_llvm_mc(&golden.targets[index]).unwrap();
            (index, tally)
        };
        iter::from_fn(take).map(tally).collect::<Vec<_>>()
    };
    let mut tallies: BTreeMap<_, _> = thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|it| it.join().unwrap()).collect()
    });
    let tally =
        |(index, target): (usize, &Target)| (target.clone(), tallies.remove(&index).unwrap());
    golden.targets.iter().enumerate().map(tally).collect()
}

/// Lines that are none, and the column where that shows.
const REFUSED: [(&str, &str, usize); 50] = [
    ("gfx942", "v_no_such_thing v0, v1", 0),
    ("gfx942", "v_add_f32 v0, v1", 16),
    ("gfx942", "v_add_f32 v0, v1, v2, v3", 20),
    ("gfx942", "v_add_f32 v0, v1, v256", 18),
    ("gfx942", "v_add_f32 v0, v1, q2", 18),
    ("gfx942", "s_mov_b32 s0, s102", 14),
    ("gfx942", "s_mov_b64 s[1:2], s[4:5]", 10),
    ("gfx942", "s_mov_b64 s[0:1], s4", 18),
    ("gfx942", "global_load_dwordx2 v[1:2], v[2:3], off", 20),
    ("gfx942", "global_load_dword v1, v[2:3], off offset:4096", 41),
    ("gfx1200", "buffer_load_b32 v1, off, s[8:11], s3 offset:8388608", 44),
    ("gfx942", "ds_read_b32 v1, v2 offset:65536", 26),
    ("gfx942", "s_load_dword s5, s[2:3], 0x100000", 25),
    ("gfx942", "v_mov_b32_e32 v0, v1 clamp", 21),
    ("gfx942", "s_add_u32 s0, s1, s2 glc", 21),
    ("gfx942", "global_load_dword v1, v[2:3], off glc", 34),
    ("gfx942", "ds_load_b32 v1, v2", 0),
    ("gfx1100", "ds_permute v1, v2, v3", 0),
    ("gfx1100", "v_cmp_eq_u32_e32 vcc, v1, v2", 17),
    ("gfx1100", "s_waitcnt vmcnt(64)", 16),
    ("gfx1100", "s_getreg_b32 s0, hwreg(HW_REG_NONE)", 23),
    ("gfx1100", "v_mov_b32_dpp v0, v1 row_bcast:15 row_mask:0xf bank_mask:0xf", 21),
    ("gfx1200", "global_load_b32 v1, v[2:3], off th:TH_STORE_NT", 35),
    ("gfx900", "v_mad_u32_u24 v0, v1, v2, 0x12345", 26),
    ("gfx942", "v_mfma_f64_4x4x4_4b_f64 a[0:1], v[0:1], v[2:3], 0x3fe00000", 48),
    ("gfx1250", "v_dual_add_f64 v[2:3], 0x3fe00000, v[6:7] :: v_dual_subrev_f32 v7, v4, v5", 23),
    ("gfx1200", "global_load_b32 v0, v[2:3], off nv", 32),
    ("gfx1200", "global_load_b32 v0, v2, s[2:3] scale_offset", 31),
    ("gfx1250", "global_load_b32 v0, v[2:3], off scale_offset", 32),
    ("gfx1250", "s_buffer_load_b32 s20, s[4:7], s0 offset:0x0 scale_offset", 45),
    ("gfx1250", "buffer_load_b32 v5, off, s[8:11], s3 scale_offset", 49),
    ("gfx1250", "scratch_load_b32 v0, off, s2 scale_offset", 29),
    ("gfx803", "flat_load_dword v1, v[3:4] offset:1", 34),
    ("gfx803", "s_mov_b32 s0, xnack_mask_lo", 14),
    ("gfx803", "v_mac_f32_sdwa v5, v1, v2 dst_sel:BYTE_0", 26),
    ("gfx900", "buffer_store_dword v[1:2], off, s[12:15], s4 tfe", 19),
    ("gfx900", "v_ceil_f64_dpp v[0:1], v[2:3] row_shr:1", 0),
    ("gfx900", "s_movrels_b32 s0, src_private_limit", 18),
    ("gfx942", "v_cvt_f32_fp8_sdwa v5, sext(v1) src0_sel:DWORD", 23),
    (
        "gfx1030",
        "image_sample_cd v64, [v32, v0, v4, v5, v0], s[4:11], s[100:103] dim:SQ_RSRC_IMG_3D",
        21,
    ),
    ("gfx1030", "v_max3_f16 v5, -lit(0x0), v1, v7", 15),
    ("gfx1030", "v_pk_fmac_f16 v106, lit(0x1), v2", 20),
    ("gfx1201", "s_barrier_init s24", 15),
    ("gfx1201", "global_load_b32 v0, v[2:3], off th:TH_LOAD_LU scope:SCOPE_SYS", 32),
    ("gfx1201", "global_load_b32 v0, v[2:3], off th:TH_LOAD_BYPASS", 32),
    ("gfx1201", "global_store_b32 v[2:3], v0, off th:TH_STORE_RT_WB", 36),
    ("gfx1201", "global_atomic_add_u32 v[0:1], v2, off th:TH_ATOMIC_0x6", 41),
    ("gfx1250", "v_wmma_ld_scale16_paired_b64 v[2:3], v[4:5] matrix_a_scale_fmt:3", 63),
    ("gfx1250", "v_dual_mov_b32 v255, 63 :: v_dual_mul_f32 v7, neg(-1), v255", 46),
    ("gfx1250", "v_dual_dot2acc_f32_f16 v127, 0.5, v3 :: v_dual_min_i32 v7, 0.5, v2", 29),
];

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn broken_lines_are_refused_as_llvm_refuses_them() {
    for (target, line, column) in REFUSED {
        let target: Target = target.parse().unwrap();
        let assembler = Assembler::new(target.processor, target.options).unwrap();
        let error = assembler.assemble(line).unwrap_err();
        assert_eq!(error.column(), column, "{target}: {line}: {error}");
    }
    for (target, line, _) in REFUSED {
        let theirs = llvm_mc(&target.parse().unwrap(), &[line]).unwrap();
        assert_eq!(theirs, [None], "{target}: {line}");
    }
}

/// The targets whose refusals are compared.
const BROKEN_FOR: [&str; 8] =
    ["gfx900", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201", "gfx1250"];

/// How many lines LLVM must refuse, of each kind and for each target.
const REFUSED_OF_EACH: usize = 250;

/// One in so many lines that LLVM takes may be refused without a reason in `broken::EXCEPTIONS`.
const UNEXPLAINED: usize = 200;

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn what_llvm_refuses_is_refused() {
    let (mut taken, mut otherwise) = (0, Vec::new());
    for (seed, target) in (100..).zip(BROKEN_FOR) {
        let mut breaker = Breaker::new(&target.parse().unwrap(), seed).unwrap();
        for fault in Fault::ALL {
            let verdicts = breaker.refused(fault, REFUSED_OF_EACH).unwrap();
            assert!(verdicts.refused >= REFUSED_OF_EACH);
            assert!(
                verdicts.too_lenient.is_empty(),
                "{target}, {fault:?}: {:#?}",
                verdicts.too_lenient
            );
            taken += verdicts.taken;
            otherwise.extend(verdicts.otherwise.iter().map(|it| format!("{target}: {it}\n")));
        }
    }
    let may_differ = taken / UNEXPLAINED;
    assert!(otherwise.len() <= may_differ, "of {taken}:\n{}", otherwise.concat());
}

/// Spellings that the decoder does not print.
const OTHER_SPELLINGS: [(&str, &str); 31] = [
    ("gfx942", "v_add_f32 v0, v1, v2"),
    ("gfx942", "v_add_f32 v0, v1, s2"),
    ("gfx942", "v_add_f32 v0, -v1, |v2| clamp mul:2"),
    ("gfx942", "v_add_f32_e64 v0, neg(v1), abs(v2)"),
    ("gfx942", "v_add_f32 v0, v1, v2 row_shl:1"),
    ("gfx942", "v_add_f32 v0, v1, v2 src1_sel:WORD_1"),
    ("gfx942", "s_mov_b32 s0, 0x10+4*2"),
    ("gfx942", "s_mov_b32 s0, -(1<<4)"),
    ("gfx942", "s_mov_b64 [s2,s3], s[4:5]"),
    ("gfx942", "s_mov_b32 s[7], scc"),
    ("gfx942", "v_mov_b32 v0, 1.5"),
    ("gfx942", "v_cvt_f64_f32 v[0:1], 0.1"),
    ("gfx942", "s_waitcnt lgkmcnt(0) & vmcnt(1)"),
    ("gfx942", "s_waitcnt 0"),
    ("gfx942", "global_load_dword v1, v[2:3], off offset:-8 sc1 nt sc0"),
    ("gfx942", "v_pk_fma_f16 v0, v1, v2, v3 op_sel:[0,1,0] neg_hi:[1,0,0]"),
    ("gfx942", "s_getreg_b32 s0, 0x1841"),
    ("gfx1030", "image_load v[0:3], v[4:5], s[8:15] dmask:0xf dim:2D"),
    ("gfx1100", "s_delay_alu instid1(VALU_DEP_2) | instid0(SALU_CYCLE_1)"),
    ("gfx1100", "v_dual_mov_b32 v0, v1 :: v_dual_add_f32 v3, v4, v5"),
    ("gfx1200", "buffer_load_b32 v5, off, s[8:11], s3 offset:16 scope:SCOPE_SYS th:TH_LOAD_BYPASS"),
    ("gfx1250", "s_mov_b64 s[0:1], 0x123456789abcdef0"),
    ("gfx1250", "s_load_b96 s[20:22], s[4:5], s0 offset:0x0 scale_offset nv"),
    ("gfx1250", "global_load_b32 v0, v2, s[2:3] scale_offset"),
    ("gfx1250", "scratch_load_b32 v0, v2, off scale_offset"),
    ("gfx942", "v_mul_lo_i32 v1, s2, v3"),
    ("gfx803", "v_mul_lo_i32_e64 v1, -1, v3"),
    ("gfx942", "v_cndmask_b32_e64 v5, v1, v2, exec"),
    ("gfx1100", "v_cndmask_b32_e64 v5, v1, v2, exec_hi"),
    ("gfx1100", "v_add_co_ci_u32_e64 v5, s4, v1, v2, m0"),
    ("gfx1100+wavefrontsize64", "v_cndmask_b32_e64 v5, v1, v2, exec"),
];

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn other_spellings_mean_what_they_mean_to_llvm() {
    for (target, line) in OTHER_SPELLINGS {
        let target: Target = target.parse().unwrap();
        let assembler = Assembler::new(target.processor, target.options).unwrap();
        let ours = assembler.assemble(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        let theirs = llvm_mc(&target, &[line]).unwrap();
        assert_eq!(theirs, [Some(ours.bytes()[..ours.len()].to_vec())], "{target}: {line}");
    }
}

/// How many lines of each target the command prints. One in a hundred may read otherwise: llvm-mc shows what was
/// written, we show what the encoding says, which is less where LLVM drops a modifier.
const PRINTED: usize = 3000;

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn the_command_prints_what_llvm_mc_prints() {
    for target in ["gfx900", "gfx90a", "gfx950", "gfx1010", "gfx1100", "gfx1200", "gfx1250"] {
        let target: Target = target.parse().unwrap();
        let input = scratch_dir();
        let file = input.path().join("lines.s");
        fs::write(&file, taken_lines(&target)).unwrap();
        let ours = Command::new(hsaco_binary().unwrap())
            .args(["asm", "-t", target.processor.name()])
            .arg(&file)
            .output()
            .unwrap();
        let theirs = Command::new("llvm-mc-22")
            .args(["-triple=amdgcn", "-show-encoding"])
            .arg(format!("-mcpu={}", target.processor.name()))
            .arg(&file)
            .output()
            .unwrap();
        let [ours, theirs] = [ours, theirs].map(|it| String::from_utf8(it.stdout).unwrap());
        assert_eq!(ours.lines().count(), theirs.lines().count(), "{target}");
        let encoding = |line: &str| line.rsplit_once("; encoding").map(|it| it.1.to_owned());
        let mut differing = Vec::new();
        for (ours, theirs) in ours.lines().zip(theirs.lines()).filter(|(x, y)| x != y) {
            assert_eq!(encoding(ours), encoding(theirs), "{target}: {theirs}");
            differing.push(format!("{ours}\n{theirs}"));
        }
        let may_differ = ours.lines().count() / 100;
        assert!(differing.len() <= may_differ, "{target}:\n{}", differing.join("\n"));
    }
}

/// Lines of LLVM's tests that we assemble as LLVM does. We print what the decoder makes of the encoding: before
/// gfx10 that does not tell how wide the address of an image is, nor is a float among 16-bit integers shown as one. LLVM prints the
/// longer literal that it makes of `lit()` as if it were the shorter.
fn taken_lines(target: &Target) -> String {
    let golden = Assembly::read(family(target.processor)).unwrap();
    let assembler = Assembler::new(target.processor, target.options).unwrap();
    let is_image_shown = target.processor.name().starts_with("gfx1");
    let is_taken = |row: &Row<'_>| {
        let ours = assembler.assemble(row.text);
        let is_known = ["/*", "lit("].iter().any(|it| row.text.contains(it))
            || row.text.contains("16") && row.text.contains('.')
            || !is_image_shown && row.text.starts_with("image_");
        !is_known && ours.is_ok_and(|it| it.bytes()[..it.len()] == row.bytes)
    };
    let every = golden.rows().count() / PRINTED;
    let rows = golden.rows().step_by(every.max(1)).filter(is_taken);
    rows.map(|row| format!("{}\n", row.text)).collect()
}

/// Objects of all kinds: linked or not, old and new, with names that hold anything, with data between code.
const LISTED: [&str; 13] = [
    "s1.gfx942.co",
    "s1.gfx942.o",
    "s1.gfx90a-xnack-off.co",
    "s1.gfx1100.co",
    "s1.gfx11-generic.co",
    "s1.gfx1250.co",
    "s1.wave64.co",
    "odd-names.co",
    "halves.co",
    "steppings.co",
    "short.co",
    "flow.co",
    "v2.co",
];

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn listings_assemble_to_the_code_that_they_list() {
    for name in LISTED {
        let file = fs::read(fixture(name)).unwrap();
        let object = CodeObject::parse(&file).unwrap();
        let elf = object.elf();
        let code = elf.sections().iter().filter(|it| it.is_executable());
        let code: Vec<u8> = code.flat_map(|it| elf.section_data(it).unwrap().to_vec()).collect();
        let path = fixture(name).into_os_string();
        let listing = hsaco(["disasm".into(), "--reassemble".into(), path]);
        assert_eq!(listing.stderr, "", "{name}");
        let (_, arguments) =
            listing.text().lines().next().unwrap().split_once(": hsaco asm ").unwrap();
        let scratch = scratch_dir();
        let lines = scratch.path().join("lines.s");
        fs::write(&lines, listing.text()).unwrap();
        let mut command = hsaco_command();
        command.arg("asm").args(arguments.split(' ')).args(["--format", "bin"]).arg(&lines);
        assert!(command.output().unwrap().stdout == code, "{name}");
        let target = arguments.trim_start_matches("--target ").parse().unwrap();
        assert!(exact::assemble_with_llvm(&target, listing.text()).unwrap() == code, "{name}");
    }
}

/// What a mutation puts into a line.
const BYTES: &[u8] = b" ,:;[](){}|-+*/.\"_0123456789abcdefghilmnopqrstvwxz";

#[test]
fn mutated_lines_are_refused_or_decode() {
    let mut random = Random::new(7);
    let mut assemblers = BTreeMap::new();
    for family in FAMILIES {
        let golden = Assembly::read(family).unwrap();
        for row in golden.rows().step_by(20) {
            let target = &golden.sets[row.set][0];
            let new = || Assembler::new(target.processor, target.options).unwrap();
            let assembler = assemblers.entry(target.to_string()).or_insert_with(new);
            mutate(&mut random, row.text, 20, |line| assert_decodes(assembler, line));
        }
    }
}

fn mutate(random: &mut Random, text: &str, count: usize, mut visit: impl FnMut(&str)) {
    for _ in 0..count {
        let mut line = text.as_bytes().to_vec();
        for _ in 0..=random.below(2) {
            let at = random.below(line.len().max(1));
            let byte = BYTES[random.below(BYTES.len())];
            match random.below(3) {
                0 => line.insert(at, byte),
                1 if at < line.len() => line[at] = byte,
                _ if at < line.len() => _ = line.remove(at),
                _ => {}
            }
        }
        visit(std::str::from_utf8(&line).unwrap_or_default());
    }
}

/// What assembles is an instruction to the decoder, and of the same length.
fn assert_decodes(assembler: &Assembler, line: &str) {
    if let Ok(inst) = assembler.assemble(line) {
        let decoded = assembler.decoder().decode(&inst.bytes());
        assert_eq!(decoded.map(|it| it.len()), Some(inst.len()), "{line}");
    }
}

/// Where the text does not give the bytes back, LLVM's assembler must say what ours says.
fn assert_is_llvms(target: &Target, differing: &[Difference]) {
    let lines: Vec<_> = differing.iter().map(|it| it.text.as_str()).collect();
    let theirs = llvm_mc(target, &lines).unwrap();
    for (it, theirs) in differing.iter().zip(theirs) {
        assert_eq!(it.ours.as_ref().ok(), theirs.as_ref(), "{target}: {it}");
    }
}

/// The decoder's golden rows of a family, assembled from what they print.
fn printed_again(family: &str) -> Vec<(Target, AsmTally)> {
    let golden = Golden::read(family).unwrap();
    let tally = |index: usize| (golden.targets[index].clone(), assemble_again(&golden, index));
    (0..golden.targets.len()).map(tally).collect()
}

fn assemble_again(golden: &Golden, index: usize) -> AsmTally {
    let judge = AsmJudge::new(&golden.targets[index], TEXT_CAUSES).unwrap();
    let mut tally = AsmTally::default();
    for row in golden.rows() {
        if let Some(Answer::Instruction { size, text }) = row.answers().nth(index) {
            tally.add(&judge, &text, &row.slot()[..size]);
        }
    }
    tally
}

fn line(target: &str, tally: &AsmTally) -> String {
    let excused: usize = tally.excused.values().sum();
    format!("| {target} | {} | {} | {excused} |", tally.rows, tally.agreed)
}

/// A table of the document.
#[derive(Default)]
struct Report {
    rows: String,
    failures: String,
    excused: BTreeMap<&'static str, usize>,
}

impl Report {
    fn add(&mut self, target: &str, tally: &AsmTally) {
        writeln!(self.rows, "{}", line(target, tally)).unwrap();
        for (name, count) in &tally.excused {
            *self.excused.entry(*name).or_insert(0) += count;
        }
        for it in tally.differing.iter().take(SHOWN) {
            writeln!(self.failures, "{target}: {it}").unwrap();
        }
    }

    fn finish(self) -> String {
        assert!(self.failures.is_empty(), "{}", self.failures);
        let mut document = self.rows + CAUSE_HEAD;
        for cause in CAUSES {
            let count = self.excused.get(cause.name).copied().unwrap_or(0);
            writeln!(document, "| {} | {count} | {} |", cause.name, cause.reason).unwrap();
        }
        document
    }
}

const HEAD: &str = "# Agreement of the assembler with LLVM 22

Every row of the golden files (`tests/isa/assemble/`) is a line of LLVM's own tests with the bytes
that llvm-mc 22.1.8 makes of it. Rows that are there twice count once; tests that turn on both wave
sizes at once, which no processor has, are left out. `cargo test -p hsaco-tests --test instructions assembler`
checks this page; with `BLESS=1` it rewrites it.

| target | rows | agreed | excused |
|---|---:|---:|---:|
";

const ROUND_TRIP: &str = "
## Printed and assembled again

Every row of the decoder's golden files (`tests/isa/decode/`) that is an instruction, assembled from
the text that llvm-objdump prints for it. Excuses are the first two above, nearly always `bits-not-shown`.
The last column counts texts that LLVM's own assembler refuses or encodes otherwise; there we do what it
does, and the test asks it. The next section has the text that carries everything.

| target | rows | agreed | excused | as LLVM's assembler |
|---|---:|---:|---:|---:|
";

const EXACT: &str = "
## Printed to be assembled

The text above is LLVM's, and cannot carry all bits. `Assembler::print_exact`, which is `hsaco disasm --reassemble`, prints text
that does: the same where that gives the bytes back, another spelling where there is one, else the words as data with the
instruction as a comment. All of these lines are assembled, by us and by llvm-mc 22 into an object, and give the
bytes that they were printed from: of every row of `tests/isa/decode/`, instruction or not, on gfx1250 also with upper bits
of all registers set. There are no excuses.

| target | rows | LLVM's text | respelt | data: bits not shown | data: shown as invalid | data: LLVM's assembler refuses the text or makes other bytes | data: no instruction |
|---|---:|---:|---:|---:|---:|---:|---:|
";

const RESPELT: &str = "
What is spelt otherwise:

| spelling | rows | what it says |
|---|---:|---|
";

const CAUSE_HEAD: &str = "
The excuses, all of them listed in `tests/src/assembly.rs`:

| cause | rows | reason |
|---|---:|---|
";

fn check_document(document: &str) {
    let path = workspace_root().join("docs/assembler-agreement.md");
    if env::var_os("BLESS").is_some() {
        return fs::write(path, document).unwrap();
    }
    let committed = fs::read_to_string(path).unwrap_or_default();
    assert_eq!(diff(&committed, document), "", "run with BLESS=1 to accept the figures");
}
