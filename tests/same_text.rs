//! The text of an instruction is one, whoever prints it: `disasm`, which prints what llvm-objdump does, `cfg`, `query`,
//! `source`, `diff` and the database, which is what Python shows.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use hsaco::db::Database;
use hsaco_tests::program::{hsaco_command, run, sh};
use hsaco_tests::scratch_dir;
use serde_json::Value;

/// Code that reads otherwise by the size of waves and by halves of registers; the last line is another in `b.co`.
const LINES: &str = "
    v_cmp_eq_u32_e32 VCC, v1, v2
    v_cmp_eq_u32_e64 MASK, v1, v2
    v_cndmask_b32_e32 v3, v1, v2, VCC
    v_cvt_f32_f16_e32 v4, HALF(1)
    v_add_f16_e32 HALF(1), HALF(2), HALF(3)
    s_and_b32 s6, s7, s8";

#[derive(Clone, Copy)]
struct Case {
    processor: &'static str,
    wave64: bool,
    /// How halves of registers are spelled; nothing where LLVM names whole registers.
    halves: Option<bool>,
}

/// What 16-bit operands of LLVM 22 name.
fn half(number: u32, halves: Option<bool>) -> String {
    if halves.is_some() { format!("v{number}.l") } else { format!("v{number}") }
}

impl Case {
    fn source(self, lines: &str, last: &str) -> String {
        let (vcc, mask) = if self.wave64 { ("vcc", "s[2:3]") } else { ("vcc_lo", "s2") };
        let mut code = lines.replace("VCC", vcc).replace("MASK", mask);
        for number in 1..4 {
            code = code.replace(&format!("HALF({number})"), &half(number, self.halves));
        }
        let size = u8::from(!self.wave64);
        let is_old = self.processor == "gfx942";
        let wave = if is_old { String::new() } else { format!(".amdhsa_wavefront_size32 {size}") };
        let offset = if is_old { ".amdhsa_accum_offset 8" } else { "" };
        format!(
            ".globl k\n.p2align 8\n.type k,@function\nk:{code}\n {last}\n s_endpgm\n.size k, .-k\n.rodata\n.p2align 6\n\
             .amdhsa_kernel k\n .amdhsa_next_free_vgpr 8\n .amdhsa_next_free_sgpr 16\n {wave}\n {offset}\n.end_amdhsa_kernel\n"
        )
    }

    fn build(self, folder: &Path, name: &str, source: &str) {
        fs::write(folder.join(format!("{name}.s")), source).unwrap();
        let wave = if self.wave64 { "+wavefrontsize64" } else { "+wavefrontsize32" };
        let halves = self.halves.map_or("", |on| if on { ",+real-true16" } else { "" });
        let features = if self.processor == "gfx942" {
            String::new()
        } else {
            format!("-mattr={wave}{halves}")
        };
        sh(
            folder,
            &format!(
                "llvm-mc-22 -triple=amdgcn-amd-amdhsa -mcpu={} {features} -g -filetype=obj {name}.s -o {name}.o",
                self.processor
            ),
        );
        sh(folder, &format!("ld.lld-22 -shared {name}.o -o {name}.co"));
    }
}

/// The texts of a listing of llvm-objdump or `disasm`.
fn listed(listing: &str) -> Vec<String> {
    let lines = listing.lines().filter(|line| line.starts_with('\t'));
    lines.map(|line| line.split("//").next().unwrap_or_default().trim().to_owned()).collect()
}

fn hsaco(folder: &Path, arguments: &[&str]) -> String {
    let ran = run(hsaco_command().args(arguments).current_dir(folder));
    assert!(matches!(ran.code, Some(0 | 1)), "{arguments:?}: {}", ran.stderr);
    String::from_utf8(ran.stdout).unwrap()
}

/// All values of a key, however deep.
fn texts(json: &str) -> Vec<String> {
    fn gather(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Array(items) => items.iter().for_each(|it| gather(it, found)),
            Value::Object(fields) => {
                found.extend(fields.get("text").and_then(Value::as_str).map(str::to_owned));
                fields.values().for_each(|it| gather(it, found));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    gather(&serde_json::from_str(json).unwrap(), &mut found);
    found
}

/// The texts of the database, and those that its tokens make.
fn database(file: &Path) -> Vec<String> {
    let database = Database::new();
    let added = database.add("k.co", fs::read(file).unwrap()).unwrap();
    let text = |it: hsaco::db::Instruction<'_>| {
        assert_eq!(it.tokens().0, it.text());
        it.text()
    };
    let mut texts = Vec::new();
    for kernel in added.objects.iter().flat_map(hsaco::db::Object::kernels) {
        texts.extend(kernel.instructions().unwrap().map(text));
    }
    texts
}

/// What every verb prints for `a.co` is what `disasm` with these options prints.
fn check(folder: &Path, options: &[&str], what: &str) -> Vec<String> {
    let expected = listed(&hsaco(folder, &[&["disasm", "a.co"], options].concat()));
    assert!(expected.len() >= 2, "{what}: {expected:?}");
    let query = texts(&hsaco(folder, &["query", "-m", ".", "--format", "json", "a.co"]));
    assert_eq!(query, expected, "{what}: query");
    let source = texts(&hsaco(folder, &["source", "--format", "json", "a.co"]));
    assert_eq!(source, expected, "{what}: source");
    let cfg = texts(&hsaco(folder, &["cfg", "--instructions", "--format", "json", "a.co"]));
    assert_eq!(cfg, expected, "{what}: cfg");
    assert_eq!(database(&folder.join("a.co")), expected, "{what}: database");
    let diff = hsaco(folder, &["diff", "-U", "99", "a.co", "b.co"]);
    let all = expected.iter().filter(|it| !diff.contains(it.as_str()));
    assert_eq!(all.count(), 0, "{what}: diff: {diff}\n{expected:#?}");
    expected
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn every_verb_prints_what_llvm_objdump_prints() {
    for processor in ["gfx942", "gfx1030", "gfx1100", "gfx1150", "gfx1200", "gfx1201", "gfx1250"] {
        let waves: &[bool] = match processor {
            "gfx942" => &[true],
            "gfx1250" => &[false],
            _ => &[false, true],
        };
        for wave64 in waves.iter().copied() {
            let halves = processor.starts_with("gfx11").then_some(true);
            let case = Case { processor, wave64, halves };
            let folder = scratch_dir();
            let folder = folder.path();
            let what = format!("{processor}, wave64: {wave64}");
            case.build(folder, "a", &case.source(LINES, "s_mov_b32 s0, s1"));
            case.build(folder, "b", &case.source(LINES, "s_mov_b32 s0, s2"));
            let shown = check(folder, &[], &what);
            let theirs = listed(&sh(folder, "llvm-objdump-22 -d a.co"));
            assert_eq!(shown, theirs, "{what}");
        }
    }
}

/// Halves that LLVM does not read without being told: every verb finds that out alike.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn every_verb_finds_halves_of_registers_alike() {
    for processor in ["gfx1200", "gfx1250"] {
        let case = Case { processor, wave64: false, halves: Some(true) };
        let lines = format!("{LINES}\n v_add_f16_e32 v1.h, v2.l, v3.h");
        let folder = scratch_dir();
        let folder = folder.path();
        case.build(folder, "a", &case.source(&lines, "s_mov_b32 s0, s1"));
        case.build(folder, "b", &case.source(&lines, "s_mov_b32 s0, s2"));
        let shown = check(folder, &["--true16", "auto"], processor);
        let theirs = listed(&sh(folder, "llvm-objdump-22 -d --mattr=+real-true16 a.co"));
        assert_eq!(shown, theirs, "{processor}");
        assert!(shown.iter().any(|it| it == "v_add_f16_e32 v1.h, v2.l, v3.h"), "{shown:?}");
    }
}

/// A function is read by its own code: what another one of the object needs does not change its text.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn every_verb_judges_each_function_by_its_own_code() {
    let case = Case { processor: "gfx1200", wave64: false, halves: Some(true) };
    let plain = case.source(LINES, "s_mov_b32 s0, s1");
    let lines = format!("{LINES}\n v_add_f16_e32 v1.h, v2.l, v3.h");
    let halves = case.source(&lines, "s_mov_b32 s0, s1");
    let halves = halves.replace(" k", " j").replace("\nk:", "\nj:").replace(".-k", ".-j");
    let folder = scratch_dir();
    let folder = folder.path();
    case.build(folder, "a", &format!("{plain}\n.text\n{halves}"));
    let file = folder.join("a.co");
    let expected = database(&file);
    let count = |text: &str| expected.iter().filter(|it| *it == text).count();
    assert_eq!(count("v_add_f16_e32 v1, v2, v3"), 1, "{expected:#?}");
    assert_eq!(count("v_add_f16_e32 v1.l, v2.l, v3.l"), 1, "{expected:#?}");
    assert_eq!(count("v_add_f16_e32 v1.h, v2.l, v3.h"), 1, "{expected:#?}");
    for verb in [&["query", "-m", "."][..], &["source"], &["cfg", "--instructions"]] {
        let shown = texts(&hsaco(folder, &[verb, &["--format", "json", "a.co"]].concat()));
        assert_eq!(shown, expected, "{verb:?}");
    }
}

/// Words that only the hardware takes: every verb but `disasm` decodes them, and `disasm` when it is told.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn every_verb_decodes_what_the_hardware_runs() {
    let case = Case { processor: "gfx1250", wave64: false, halves: None };
    let lines = format!("{LINES}\n .long 0xd0310000, 0x00500000, 0x7c7c2420");
    let folder = scratch_dir();
    let folder = folder.path();
    case.build(folder, "a", &case.source(&lines, "s_mov_b32 s0, s1"));
    case.build(folder, "b", &case.source(&lines, "s_mov_b32 s0, s2"));
    let shown = check(folder, &["--mode", "lenient"], "gfx1250");
    let load = "tensor_load_to_lds s[32:35], s[36:43] th:TH_LOAD_RT_NT";
    assert!(shown.iter().any(|it| it == load), "{shown:?}");
    let strict = hsaco(folder, &["disasm", "a.co"]);
    assert_eq!(listed(&strict), listed(&sh(folder, "llvm-objdump-22 -d a.co")));
    assert!(!strict.contains("tensor_load"), "{strict}");
    let checked = run(hsaco_command().args(["check", "--code", "a.co"]).current_dir(folder));
    let said = String::from_utf8_lossy(&checked.stdout);
    assert!(!said.contains("undecodable-code"), "{said}");
    let graph = hsaco(folder, &["cfg", "a.co"]);
    assert!(!graph.contains("unknown"), "{graph}");
    // What is no instruction at all is still none.
    let lines = lines.replace("0xd0310000", "0xd031c000");
    case.build(folder, "a", &case.source(&lines, "s_mov_b32 s0, s1"));
    let checked = run(hsaco_command().args(["check", "--code", "a.co"]).current_dir(folder));
    let said = String::from_utf8_lossy(&checked.stdout);
    assert!(said.contains("undecodable-code"), "{said}");
}
