//! Instructions that carry given values of an operand, and what LLVM's disassembler prints.
//! Nothing is compared, with a message, where `llvm-mc-22` is missing, except under `CI`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use Field::{At, Bits, Like};

use crate::model::Arch;
use crate::print::Out;

const TOOL: &str = "llvm-mc-22";

fn processors() -> [(&'static str, Arch); 12] {
    let gfx90a = Arch(Arch::GFX9.0 | Arch::GFX90A.0);
    let gfx942 = Arch(gfx90a.0 | Arch::GFX940.0);
    let gfx10_3 = Arch::GFX10_3.0 | Arch::GFX10_B.0;
    let gfx12 = Arch(Arch::GFX12.0 | gfx10_3);
    [
        ("gfx803", Arch::GFX8),
        ("gfx900", Arch::GFX9),
        ("gfx90a", gfx90a),
        ("gfx942", gfx942),
        ("gfx950", Arch(gfx942.0 | Arch::GFX950.0)),
        ("gfx1010", Arch::GFX10),
        ("gfx1030", Arch(Arch::GFX10.0 | gfx10_3)),
        ("gfx1100", Arch(Arch::GFX11.0 | gfx10_3)),
        ("gfx1151", Arch(Arch::GFX11.0 | gfx10_3)),
        ("gfx1200", gfx12),
        ("gfx1250", Arch(gfx12.0 | Arch::GFX1250.0)),
        ("gfx1251", Arch(gfx12.0 | Arch::GFX1250.0)),
    ]
}

/// Where an instruction keeps the bits of an operand.
#[derive(Clone, Copy)]
pub(super) enum Field {
    /// That many bits from a bit on.
    At(u32, u32),
    /// One bit after the other.
    Bits(&'static [u32]),
    /// Where the encoding changes with each of these additions, which set bits of the value.
    Like(&'static [(u32, &'static str)]),
}

/// An instruction with an operand, what stands before and after the operand in its text, and a
/// condition on the processors to ask.
pub(super) struct Template {
    pub(super) source: &'static str,
    pub(super) field: Field,
    pub(super) before: &'static str,
    pub(super) after: &'static str,
    pub(super) when: fn(Arch) -> bool,
}

/// The operand is the last thing of the text.
pub(super) fn last(source: &'static str, field: Field, before: &'static str) -> Template {
    between(source, field, before, "")
}

pub(super) fn between(
    source: &'static str,
    field: Field,
    before: &'static str,
    after: &'static str,
) -> Template {
    Template { source, field, before, after, when: |_| true }
}

pub(super) fn before_gfx12(arch: Arch) -> bool {
    !arch.is_gfx12_plus()
}

pub(super) type Printer<'a> = &'a dyn Fn(&mut Out<'_, ()>, Arch, u32);

/// Compares values on every processor that has the instruction, and gives how many were compared;
/// `None` without the tool.
pub(super) fn compare(template: &Template, values: u32, print: Printer<'_>) -> Option<u32> {
    let all: Vec<u32> = (0..values).collect();
    compare_values(template, &all, print)
}

pub(super) fn compare_values(
    template: &Template,
    values: &[u32],
    print: Printer<'_>,
) -> Option<u32> {
    let null = Stdio::null;
    let status = Command::new(TOOL).arg("--version").stdout(null()).stderr(null()).status();
    if !status.is_ok_and(|status| status.success()) {
        assert!(std::env::var_os("CI").is_none(), "{TOOL} is missing");
        println!("skipped: {TOOL} is missing");
        return None;
    }
    let mut compared = 0;
    for (cpu, arch) in processors().into_iter().filter(|(_, arch)| (template.when)(*arch)) {
        if let Some(instructions) = encode(cpu, template, values) {
            for (value, line) in disassemble(cpu, values, &instructions) {
                check(template, cpu, value, &line, |out| print(out, arch, value));
                compared += 1;
            }
        }
    }
    Some(compared)
}

fn check(template: &Template, cpu: &str, value: u32, line: &str, print: impl Fn(&mut Out<'_, ()>)) {
    let at = line.find(template.before).unwrap_or_else(|| panic!("{cpu} {value:#x}: {line}"));
    let rest = &line[at + template.before.len()..];
    let theirs = rest.strip_suffix(template.after);
    let mut bytes = Vec::new();
    Out::append(&mut bytes, (), |out| print(out));
    let ours = String::from_utf8(bytes).unwrap();
    assert_eq!(Some(&*ours), theirs, "{cpu} {value:#x}: {line}");
}

fn llvm_mc(cpu: &str, arguments: &[&str], input: &str) -> (String, String) {
    let mut child = Command::new(TOOL)
        .args(["-triple=amdgcn-amd-amdhsa", &format!("-mcpu={cpu}")])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// An instruction as a little-endian number, and its length.
fn assemble(cpu: &str, source: &str) -> Option<(u128, usize)> {
    let (text, _) = llvm_mc(cpu, &["-show-encoding"], source);
    let (_, encoding) = text.split_once("encoding: [")?;
    let (encoding, _) = encoding.split_once(']')?;
    let mut bytes = [0; 16];
    let mut length = 0;
    for byte in encoding.split(',') {
        bytes[length] = u8::from_str_radix(byte.strip_prefix("0x")?, 16).ok()?;
        length += 1;
    }
    Some((u128::from_le_bytes(bytes), length))
}

/// One line of hexadecimal bytes for each value.
fn encode(cpu: &str, template: &Template, values: &[u32]) -> Option<String> {
    let (base, length) = assemble(cpu, template.source)?;
    let bits: Vec<(u32, u128)> = match template.field {
        At(shift, width) => (0..width).map(|bit| (1 << bit, 1 << (shift + bit))).collect(),
        Bits(places) => (0..).zip(places).map(|(bit, place)| (1 << bit, 1 << place)).collect(),
        Like(additions) => additions
            .iter()
            .filter_map(|(bit, addition)| {
                let (changed, _) = assemble(cpu, &format!("{}{addition}", template.source))?;
                Some((*bit, changed ^ base))
            })
            .collect(),
    };
    let zero = match template.field {
        Like(_) => base,
        At(..) | Bits(_) => bits.iter().fold(base, |zero, (_, bits)| zero & !bits),
    };
    let mut lines = String::new();
    for value in values {
        let set = bits.iter().filter(|(bit, _)| value & bit != 0);
        let instruction = set.fold(zero, |instruction, (_, bits)| instruction | bits);
        for byte in &instruction.to_le_bytes()[..length] {
            write!(lines, "{byte:#04x} ").unwrap();
        }
        lines.push('\n');
    }
    Some(lines)
}

/// The values that decode, with the text of their instruction.
fn disassemble(cpu: &str, values: &[u32], lines: &str) -> Vec<(u32, String)> {
    let (text, errors) = llvm_mc(cpu, &["--disassemble"], lines);
    let mut good = vec![true; values.len()];
    for error in errors.lines().filter(|line| line.contains("invalid instruction encoding")) {
        let line: usize = error.split(':').nth(1).unwrap().parse().unwrap();
        good[line - 1] = false;
    }
    let instructions = text.lines().filter_map(|line| line.strip_prefix('\t'));
    let instructions = instructions.filter(|line| !line.starts_with('.'));
    let values = values.iter().zip(good).filter(|(_, good)| *good).map(|(value, _)| *value);
    let values: Vec<u32> = values.collect();
    let instructions: Vec<String> = instructions.map(str::to_string).collect();
    assert_eq!(values.len(), instructions.len(), "{cpu}: {errors}");
    values.into_iter().zip(instructions).collect()
}

pub(super) fn assert_compared(found: Option<u32>, expected: u32) {
    assert_eq!(found.unwrap_or(expected), expected);
}
