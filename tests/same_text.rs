//! The text of an instruction is the same in every answer: `disasm`, which prints what llvm-objdump does, `cfg`, `query`,
//! `source`, `diff` and the database. `crates/py/tests/test_same_text.py` holds Python to the same objects.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use hsaco::bytes::number;
use hsaco::db::Database;
use hsaco::isa::{Decoder, Processor};
use hsaco_tests::every_target::{Case, LINES, listed};
use hsaco_tests::program::{hsaco_command, run, sh};
use hsaco_tests::scratch_dir;
use serde_json::Value;

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

/// The texts of `cfg --instructions`, `source` or `query`: what follows an address and two blanks.
fn addressed(page: &str) -> Vec<String> {
    let text = |line: &str| {
        let (address, text) = line.strip_prefix("    ")?.trim_start().split_once("  ")?;
        let digits = address.strip_prefix("0x").unwrap_or(address);
        number::hex(digits)?;
        // `query` puts the source line behind two blanks or more.
        Some(text.split("  ").next().unwrap_or_default().trim().to_owned())
    };
    page.lines().filter_map(text).collect()
}

/// What every verb prints for `a.co` is what `disasm` with these options prints.
fn check(folder: &Path, options: &[&str], what: &str) -> Vec<String> {
    let expected = listed(&hsaco(folder, &[&["disasm", "a.co"], options].concat()));
    assert!(expected.len() >= 2, "{what}: {expected:?}");
    let json = hsaco(folder, &[&["disasm", "--format", "json", "a.co"], options].concat());
    assert_eq!(texts(&json), expected, "{what}: disasm as JSON");
    for verb in [&["query", "-m", "."][..], &["source"], &["cfg", "--instructions"]] {
        let json = hsaco(folder, &[verb, &["--format", "json", "a.co"]].concat());
        assert_eq!(texts(&json), expected, "{what}: {verb:?} as JSON");
        let text = hsaco(folder, &[verb, &["a.co"]].concat());
        assert_eq!(addressed(&text), expected, "{what}: {verb:?}: {text}");
    }
    assert_eq!(database(&folder.join("a.co")), expected, "{what}: database");
    let (diff, json) = (&["diff", "-U", "99", "a.co", "b.co"][..], &["--format", "json"][..]);
    let (diff, json) = (hsaco(folder, diff), texts(&hsaco(folder, &[diff, json].concat())));
    let missing = expected.iter().filter(|it| !diff.contains(it.as_str()) || !json.contains(it));
    assert_eq!(missing.count(), 0, "{what}: diff: {diff}\n{json:#?}\n{expected:#?}");
    expected
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn every_verb_prints_what_llvm_objdump_prints_for_every_target() {
    let cases = Case::all();
    assert!(cases.len() > 60, "{cases:?}");
    for case in cases {
        let folder = scratch_dir();
        let folder = folder.path();
        case.build(folder, "a", &case.source(LINES, "s_mov_b32 s0, s1"));
        case.build(folder, "b", &case.source(LINES, "s_mov_b32 s0, s2"));
        let shown = check(folder, &[], &case.name());
        let theirs = listed(&sh(folder, "llvm-objdump-22 -d a.co"));
        assert_eq!(shown, theirs, "{}", case.name());
    }
}

/// Processors whose instructions are not known: every verb says so, and none prints a text.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn every_verb_refuses_code_that_it_has_no_tables_of() {
    let unknown: Vec<_> = Processor::all().filter(|it| Decoder::new(*it).is_err()).collect();
    assert!(!unknown.is_empty());
    for processor in unknown {
        let case = Case { processor, wave64: true, halves: false };
        let folder = scratch_dir();
        case.build(folder.path(), "a", &case.source("", "s_mov_b32 s0, s1"));
        for verb in [&["disasm"][..], &["query", "-m", "."], &["source"], &["cfg"]] {
            let ran = run(hsaco_command().args(verb).arg("a.co").current_dir(folder.path()));
            assert_eq!(ran.code, Some(3), "{processor}: {verb:?}: {}", ran.stderr);
            assert!(!ran.text().contains("s_mov_b32"), "{processor}: {verb:?}: {}", ran.text());
        }
    }
}

/// Halves that LLVM does not read without being told: every verb finds that out alike.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn every_verb_finds_halves_of_registers_alike() {
    for processor in ["gfx1200", "gfx1250"] {
        let case = Case { processor: processor.parse().unwrap(), wave64: false, halves: true };
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
    let case = Case { processor: "gfx1200".parse().unwrap(), wave64: false, halves: true };
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
    let case = Case { processor: "gfx1250".parse().unwrap(), wave64: false, halves: false };
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
