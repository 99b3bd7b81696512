//! Answers of RDNA3 devices: every program of `data/rdna3-hardware.tsv`, run and compared.

use std::collections::BTreeMap;

use super::machine::{Machine, Ran};
use crate::num::{self, Env, F16, F32};
use crate::wave::scalar;

const TABLE: &str = include_str!("../../data/rdna3-hardware.tsv");

/// Rows of the table.
const ROWS: usize = 785;

/// Why an encoding of `.long` does not run.
const UNUSED: &str = "a register in a field that the instruction does not use, which LLVM refuses";

/// Programs that do not give the device's answer, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("dpp.TestVOPCDPP16.row_bcast15_materializes_vcc", "gfx11 has no row_bcast, says the manual"),
    ("ds.TestDSAtomic.ds_add_u32_no_rtn_preserves_vdst", UNUSED),
    ("ds.TestDSAtomic.ds_cmpstore_b32_match", UNUSED),
    ("ds.TestDSAtomic.ds_cmpstore_b32_no_match", UNUSED),
    ("ds.TestDSAtomic.ds_max_u32_no_rtn", UNUSED),
    ("vinterp.TestVInterp.v_interp_p10_f16_f32", "refused: pixel shaders only"),
    ("vinterp.TestVInterp.v_interp_p10_f32", "refused: pixel shaders only"),
    ("vopd.TestVOPDMultilane.vopd_multilane_mov_add", UNUSED),
];

/// What targets end with whose waves have 64 lanes, where 32 are usual.
const WAVE64: &str = ",+wavefrontsize64";

/// MODE of all programs: denormals of f32 flushed, others kept, DX10_CLAMP and IEEE set.
const MODE: u32 = 0x3c0;

struct Row<'t> {
    name: &'t str,
    target: &'t str,
    lanes: usize,
    ulp: u32,
    program: &'t str,
    expected: &'t str,
}

impl<'t> Row<'t> {
    fn parse(line: &'t str) -> Self {
        let mut columns = line.split('\t');
        let mut next = || columns.next().unwrap();
        let [name, target, lanes, ulp, program, expected] = std::array::from_fn(|_| next());
        let [lanes, ulp] = [lanes, ulp].map(|it| it.parse().unwrap());
        Self { name, target, lanes: lanes as usize, ulp, program, expected }
    }

    fn run(&self) -> Result<(), String> {
        let mut machine = match self.target.strip_suffix(WAVE64) {
            Some(target) => Machine::new(target).wave64(),
            None => Machine::new(self.target),
        };
        machine = machine.mode(MODE).items(self.lanes as u32);
        let lanes = machine.lanes();
        let data = machine.buffer(&[0; 64 << 10]);
        let pointer = machine.buffer(&data.to_le_bytes());
        let ran = machine
            .s64(80, pointer)
            .lds(vec![0; 64 << 10])
            .scratch(64 << 10)
            .of_wave(255, |wave, lane| (wave * lanes + lane) as u32)
            .try_run(&self.program.replace(';', "\n"))
            .map_err(|error| error.to_string())?;
        let failed: Vec<String> = self
            .expected
            .split(' ')
            .filter_map(|text| Expectation::parse(text).check(&ran, lanes, self.ulp).err())
            .collect();
        if failed.is_empty() { Ok(()) } else { Err(failed.join(", ")) }
    }
}

/// What is known of a register: `v2[0]:f16>>16&0xffff~0x4300/0.05`, `v1[0]:f32=0x1..0x3f800000`.
struct Expectation<'t> {
    text: &'t str,
    register: &'t str,
    float: &'t str,
    shift: u32,
    mask: u64,
    /// The value, and how far off it may be.
    value: &'t str,
    tolerance: Option<f64>,
}

fn number(text: &str) -> u64 {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).unwrap(),
        None => text.parse().unwrap(),
    }
}

impl<'t> Expectation<'t> {
    fn parse(text: &'t str) -> Self {
        let (left, value, tolerance) = match text.split_once('~') {
            Some((left, right)) => {
                let (value, tolerance) = right.split_once('/').unwrap();
                (left, value, Some(tolerance.parse().unwrap()))
            }
            None => {
                let (left, value) = text.split_once('=').unwrap();
                (left, value, None)
            }
        };
        let (left, mask) = left.split_once('&').map_or((left, u64::MAX), |(l, m)| (l, number(m)));
        let (left, shift) = left.split_once(">>").map_or((left, 0), |(l, s)| (l, number(s)));
        let (register, float) = left.split_once(':').unwrap_or((left, ""));
        Self { text, register, float, shift: shift as u32, mask, value, tolerance }
    }

    fn read(&self, ran: &Ran, lanes: usize) -> u64 {
        let first = ran.wave(0);
        let scalar = |register: u16| u64::from(first.s(register));
        match self.register {
            "vcc" => scalar(scalar::VCC) | scalar(scalar::VCC + 1) << 32,
            "vcc_lo" => scalar(scalar::VCC),
            "exec_lo" => scalar(scalar::EXEC),
            "scc" => first.scc.into(),
            name => match name.strip_prefix('v') {
                Some(rest) => {
                    let (register, lane) = rest.strip_suffix(']').unwrap().split_once('[').unwrap();
                    let [register, lane] = [register, lane].map(|it| number(it) as usize);
                    let word =
                        |at| u64::from(ran.wave(lane / lanes).v(register + at, lane % lanes));
                    word(0) | if self.float == "f64" { word(1) << 32 } else { 0 }
                }
                None => scalar(number(name.strip_prefix('s').unwrap()) as u16),
            },
        }
    }

    fn float(&self, bits: u64) -> f64 {
        f64::from(f32::from_bits(match self.float {
            "" => return bits as f64,
            "f64" => return f64::from_bits(bits),
            "f16" => num::convert::<F16, F32>(bits as u16, Env::IEEE, Env::IEEE),
            _ => bits as u32,
        }))
    }

    /// Whether a number is not below the first bound, and below the second; either may be missing.
    fn is_between(&self, bits: u64, (low, high): (&str, &str)) -> bool {
        let bound = |text: &str| (!text.is_empty()).then(|| self.float(number(text)));
        let found = self.float(bits);
        bound(low).is_none_or(|low| found >= low) && bound(high).is_none_or(|high| found < high)
    }

    fn check(&self, ran: &Ran, lanes: usize, ulp: u32) -> Result<(), String> {
        let found = self.read(ran, lanes) >> self.shift & self.mask;
        let holds = match (self.float, self.value, self.value.split_once("..")) {
            (.., Some(bounds)) => self.is_between(found, bounds),
            ("", value, _) => found == number(value),
            (_, "nan", _) => self.float(found).is_nan(),
            // Of either sign.
            (_, "inf", _) => self.float(found).is_infinite(),
            (_, value, _) => {
                let value = number(value);
                let distance = (self.float(found) - self.float(value)).abs();
                distance <= self.tolerance.unwrap_or(0.0) || found.abs_diff(value) <= u64::from(ulp)
            }
        };
        if holds { Ok(()) } else { Err(format!("{}, found {found:#x}", self.text)) }
    }
}

#[test]
fn programs_give_what_devices_gave() {
    let rows: Vec<Row<'_>> =
        TABLE.lines().filter(|line| !line.starts_with('#')).map(Row::parse).collect();
    assert_eq!(rows.len(), ROWS);
    let failed: BTreeMap<&str, String> =
        rows.iter().filter_map(|row| Some((row.name, row.run().err()?))).collect();
    let is_excepted = |name: &str| EXCEPTIONS.iter().any(|(other, _)| *other == name);
    let wrong: Vec<String> = failed
        .iter()
        .filter(|(name, _)| !is_excepted(name))
        .map(|(name, why)| format!("{name}: {why}"))
        .collect();
    assert!(wrong.is_empty(), "{} of {ROWS} differ:\n{}", wrong.len(), wrong.join("\n"));
    let passing: Vec<&str> =
        EXCEPTIONS.iter().map(|(name, _)| *name).filter(|it| !failed.contains_key(it)).collect();
    assert!(passing.is_empty(), "no exceptions any more: {}", passing.join(" "));
}
