//! Demangling against measured cases, against LLVM's own demangler, and against hostile names.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "../../object/tests/llvm/mod.rs"]
mod llvm;
#[path = "../../../tests/src/random.rs"]
mod random;

use std::ffi::OsStr;
use std::fmt::Write as _;

use hsaco_demangle::{demangle, demangle_into};
use hsaco_elf::Elf;
use hsaco_elf::symbol::SymbolTable;
use llvm::{run, tools};
use random::Random;

const CASES: &str = include_str!("demangle.txt");

/// How many mutants LLVM is asked about.
const MUTANTS: usize = 6000;

/// Codes that mutations put into names.
const CODES: &[&str] = &[
    "1A", "i", "v", "E", "I", "P", "R", "K", "S_", "S0_", "T_", "T0_", "TL0__", "St", "Ss", "Dp",
    "J", "X", "Li1E", "N", "Z", "Ul", "E_", "Ut_", "Dv4_", "A3_", "M", "F", "cv", "pl", "gt", "cl",
    "sr", "L_Z", "DT", "fp_", "C1", "D1", "B3foo", "U3AS1", "_", "Q", "W3foo", "Ty", "Tn", "Tp",
    "sZ", "sp", "tl", "so", "nw", "qu", "sc", "fl", "H", "Do", "DO", "u3foo", "d_", "_0", "on",
    "rq", ".x", "n",
];

fn cases() -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
    CASES.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let (name, text) = line.split_once('\t').expect("a tab in each case");
        (name, (text != "-").then_some(text))
    })
}

#[test]
fn measured_cases() {
    let mut differences = String::new();
    for (name, expected) in cases() {
        let text = demangle(name.as_bytes());
        if text.as_deref() != expected {
            writeln!(differences, "{name}\n  expected {expected:?}\n  got      {text:?}").unwrap();
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

#[test]
fn appends_or_leaves_alone() {
    let mut out = String::from("int a[");
    assert!(demangle_into(b"_Z1fA3_i", &mut out));
    assert_eq!(out, "int a[f(int [3])");
    assert!(!demangle_into(b"_Z1fA3_", &mut out));
    assert!(!demangle_into(b"__amd_crk_plain", &mut out));
    assert!(!demangle_into(b"_RNvC", &mut out));
    assert_eq!(out, "int a[f(int [3])");
}

#[test]
fn names_with_something_before_them() {
    let check =
        |name: &str, text: &str| assert_eq!(demangle(name.as_bytes()).as_deref(), Some(text));
    check("__amd_crk__Z3addPfi", "__amd_crk_add(float*, int)");
    check("__amd_crk__Z3addPfi.kd", "__amd_crk_add(float*, int) (.kd)");
    check("._Z3addPfi", ".add(float*, int)");
    assert_eq!(demangle(b"__amd_crk_add"), None);
    assert_eq!(demangle(b""), None);
    assert_eq!(demangle(b"."), None);
    assert_eq!(demangle(b"_"), None);
}

#[test]
fn names_that_are_not_text() {
    assert_eq!(demangle("_Z5caféi".as_bytes()).as_deref(), Some("café(int)"));
    assert_eq!(demangle("_Z4caféi".as_bytes()), None);
    assert_eq!(demangle(b"_Z4caf\xe9i"), None);
}

/// A name whose text doubles with each parameter.
fn doubling(count: u32) -> String {
    let mut name = String::from("_Z1f1A1BIS_S_E");
    for index in 1..=count {
        let digit = char::from_digit(index, 36).unwrap().to_ascii_uppercase();
        write!(name, "S0_IS{digit}_S{digit}_E").unwrap();
    }
    name
}

fn base36(mut value: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(value % 36, 36).unwrap().to_ascii_uppercase());
        value /= 36;
        if value == 0 {
            return digits.iter().rev().collect();
        }
    }
}

/// A pointer to a pointer to … that is built out of sight, in declarations of parameters.
fn hidden_chain(count: u32, wrap: &str) -> String {
    let mut name = format!("_Z1f1AITn{wrap}iLi0E");
    for index in 0..count {
        write!(name, "Tn{wrap}S{}_Li0E", base36(index)).unwrap();
    }
    name + "EPS" + &base36(count) + "_"
}

#[test]
fn chains_of_substitutions_end() {
    let text = demangle(hidden_chain(2, "P").as_bytes()).unwrap();
    assert_eq!(text, "f(A<0, 0, 0>, int****)");
    for wrap in ["P", "A2_", "M1B", "DvLi1E_", "PF", "1BI", "R", "Dp"] {
        let close = if matches!(wrap, "PF" | "1BI") { "E" } else { "" };
        for count in [300, 1000, 3000] {
            let name = hidden_chain(count, wrap);
            let _ = demangle(name.replace("_Li0E", &format!("_{close}Li0E")).as_bytes());
        }
    }
}

#[test]
fn hostile_names_end() {
    let text = demangle(doubling(11).as_bytes()).unwrap();
    assert!(text.len() > 48_000);
    assert_eq!(demangle(doubling(12).as_bytes()), None);
    assert_eq!(demangle(doubling(30).as_bytes()), None);
    for count in [100, 300, 1000, 30_000, 70_000] {
        for code in [
            "P", "K", "N", "Z", "I", "1AI", "J", "X", "Xng", "F", "PF", "A_", "M1A", "DT", "Dp",
            "Ul", "ng", "pl", "cl", "il", "TtTt", "Tp", "L_Z", "U3AS1", "C", "1AIJ", "Xcv", "tl1A",
            "B1x", "W1x", "_", "sZ", "fl", "rqX", "dx", "Dv", "DB",
        ] {
            let codes = code.repeat(count);
            for (before, after) in
                [("_Z", ""), ("_Z1f", "i"), ("_Z1fI", "iEvv"), ("_Z1fIX", "Li1EEEvv")]
            {
                let _ = demangle(format!("{before}{codes}{after}").as_bytes());
            }
        }
    }
}

#[test]
fn empty_packs_end() {
    // Each expansion writes nothing, a million times over.
    let mut name = String::from("_Z1fIJEEv");
    name.push_str(&"Dp".repeat(400));
    name.push_str("T_");
    let _ = demangle(name.as_bytes());
    let nested =
        format!("_Z1fIJEJ{}EEv{}", "J".repeat(200) + &"E".repeat(200), "DpT0_".repeat(200));
    let _ = demangle(nested.as_bytes());
}

fn fixture_names() -> Vec<String> {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures");
    let mut names = Vec::new();
    for file in std::fs::read_dir(fixtures).unwrap().map(Result::unwrap) {
        let Ok(data) = std::fs::read(file.path()) else { continue };
        let Ok(elf) = Elf::parse(&data) else { continue };
        let Ok(Some(table)) = SymbolTable::find(&elf) else { continue };
        names.extend(table.iter().flatten().map(|symbol| symbol.name.to_string()));
    }
    names.sort();
    names.dedup();
    names
}

fn mutate(name: &str, random: &mut Random) -> String {
    let at = 2 + random.below(name.len() - 1);
    let end = (at + random.below(4)).min(name.len());
    let code = CODES[random.below(CODES.len())];
    match random.below(4) {
        0 => format!("{}{code}{}", &name[..at], &name[at..]),
        1 => format!("{}{code}{}", &name[..at], &name[end..]),
        2 => format!("{}{}", &name[..at], &name[end..]),
        _ => name[..at].to_owned(),
    }
}

/// The tool reads `@file` as arguments, and passes on what is no name of its.
fn is_plain(name: &str) -> bool {
    name.starts_with('_')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$'))
}

#[test]
fn agrees_with_llvm() {
    let Some(scratch) = tools(&["llvm-cxxfilt-22"], "demangle") else { return };
    let mut names: Vec<String> = cases().map(|(name, _)| name.to_owned()).collect();
    names.extend(fixture_names());
    names.retain(|name| is_plain(name));
    let mut random = Random::new(0x005e_ed0f);
    let seeds: Vec<String> = names.iter().filter(|name| name.starts_with("_Z")).cloned().collect();
    for _ in 0..MUTANTS {
        let mut name = mutate(&seeds[random.below(seeds.len())], &mut random);
        if random.below(2) == 0 {
            name = mutate(&name, &mut random);
        }
        names.push(name);
    }
    let file = scratch.write("names", names.join("\n").as_bytes());
    let argument = format!("@{}", file.display());
    let output = run("llvm-cxxfilt-22", &[OsStr::new(&argument)]);
    assert_eq!(output.lines().count(), names.len());
    let mut differences = String::new();
    for (name, expected) in names.iter().zip(output.lines()) {
        let text = demangle(name.as_bytes()).unwrap_or_else(|| name.clone());
        if text != expected {
            writeln!(differences, "{name}\n  LLVM {expected}\n  ours {text}").unwrap();
        }
    }
    assert!(differences.is_empty(), "{differences}");
}
