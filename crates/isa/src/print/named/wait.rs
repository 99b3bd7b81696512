//! What an instruction waits for: counters, dependencies between units, delays of the ALU.
//! Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).

use super::condition::{ALWAYS, GFX10_3_PLUS, When};
use super::{Marks, Out, Token};
use crate::arch::Arch;

/// Where `s_waitcnt` keeps a counter: bits from `shift`, and more of them from bit 14 on.
pub(crate) struct Counter {
    name: &'static str,
    shift: u32,
    low: u32,
    high: u32,
}

const fn counter(name: &'static str, shift: u32, low: u32, high: u32) -> Counter {
    Counter { name, shift, low, high }
}

pub(crate) type Counters = [Counter; 3];

static COUNTERS_GFX8: Counters =
    [counter("vmcnt(", 0, 4, 0), counter("expcnt(", 4, 3, 0), counter("lgkmcnt(", 8, 4, 0)];
static COUNTERS_GFX9: Counters =
    [counter("vmcnt(", 0, 4, 2), counter("expcnt(", 4, 3, 0), counter("lgkmcnt(", 8, 4, 0)];
static COUNTERS_GFX10: Counters =
    [counter("vmcnt(", 0, 4, 2), counter("expcnt(", 4, 3, 0), counter("lgkmcnt(", 8, 6, 0)];
static COUNTERS_GFX11: Counters =
    [counter("vmcnt(", 10, 6, 0), counter("expcnt(", 0, 3, 0), counter("lgkmcnt(", 4, 6, 0)];

impl Counter {
    fn read(&self, value: u32) -> u32 {
        bits(value, self.shift, self.low) | bits(value, 14, self.high) << self.low
    }

    /// Its name, without the bracket.
    pub(crate) fn name(&self) -> &'static str {
        self.name.trim_end_matches('(')
    }

    /// The bits that hold a count.
    pub(crate) fn write(&self, count: u32) -> u32 {
        (count & ones(self.low)) << self.shift | (count >> self.low & ones(self.high)) << 14
    }

    /// The count that is not waited for.
    pub(crate) fn max(&self) -> u32 {
        ones(self.low + self.high)
    }
}

/// The counters that a processor has.
pub(crate) fn counters(arch: Arch) -> &'static Counters {
    if arch.is_gfx11_plus() {
        &COUNTERS_GFX11
    } else if arch.has(Arch::GFX10) {
        &COUNTERS_GFX10
    } else if arch.has(Arch::GFX9) {
        &COUNTERS_GFX9
    } else {
        &COUNTERS_GFX8
    }
}

/// The counters that are waited for, or all of them where none is.
pub(crate) fn wait_cnt<M: Marks>(out: &mut Out<'_, M>, arch: Arch, value: u32) {
    let counters = counters(arch);
    let all = counters.iter().all(|counter| counter.read(value) == counter.max());
    out.token(Token::Modifier);
    let mut separator = "";
    for counter in counters {
        let count = counter.read(value);
        if all || count != counter.max() {
            out.text(separator);
            out.text(counter.name);
            out.dec(u64::from(count));
            out.byte(b')');
            separator = " ";
        }
    }
}

/// Fields of `s_waitcnt_depctr`: name, first bit, width, where it is. All ones do not wait.
pub(crate) static DEPENDENCIES: [(&str, u32, u32, When); 7] = [
    ("depctr_hold_cnt(", 7, 1, GFX10_3_PLUS),
    ("depctr_sa_sdst(", 0, 1, ALWAYS),
    ("depctr_va_vdst(", 12, 4, ALWAYS),
    ("depctr_va_sdst(", 9, 3, ALWAYS),
    ("depctr_va_ssrc(", 8, 1, ALWAYS),
    ("depctr_va_vcc(", 1, 1, ALWAYS),
    ("depctr_vm_vsrc(", 2, 3, ALWAYS),
];

/// The dependencies that are waited for, or all of them where none is.
pub(crate) fn dep_ctr<M: Marks>(out: &mut Out<'_, M>, arch: Arch, value: u32) {
    let fields = || DEPENDENCIES.iter().filter(|(_, _, _, when)| when.holds(arch));
    let known = fields().fold(0, |known, (_, shift, width, _)| known | ones(*width) << shift);
    let value = value & 0xffff;
    if value & !known != 0 {
        out.token(Token::Immediate);
        return out.hex(u64::from(value));
    }
    out.token(Token::Modifier);
    let mut separator = "";
    for (name, shift, width, _) in fields() {
        let count = bits(value, *shift, *width);
        if value == known || count != ones(*width) {
            out.text(separator);
            out.text(name);
            out.dec(u64::from(count));
            out.byte(b')');
            separator = " ";
        }
    }
}

pub(crate) static DELAYS: [&str; 12] = [
    "NO_DEP)",
    "VALU_DEP_1)",
    "VALU_DEP_2)",
    "VALU_DEP_3)",
    "VALU_DEP_4)",
    "TRANS32_DEP_1)",
    "TRANS32_DEP_2)",
    "TRANS32_DEP_3)",
    "FMA_ACCUM_CYCLE_1)",
    "SALU_CYCLE_1)",
    "SALU_CYCLE_2)",
    "SALU_CYCLE_3)",
];
pub(crate) static SKIPS: [&str; 6] = ["SAME)", "NEXT)", "SKIP_1)", "SKIP_2)", "SKIP_3)", "SKIP_4)"];
const BAD_DELAY: &str = "/* invalid instid value */)";
const BAD_SKIP: &str = "/* invalid instskip value */)";

/// Parts of `s_delay_alu`: name, first bit, width, values, what stands for any other value.
pub(crate) static DELAY_PARTS: [(&str, u32, u32, &[&str], &str); 3] = [
    ("instid0(", 0, 4, &DELAYS, BAD_DELAY),
    ("instskip(", 4, 3, &SKIPS, BAD_SKIP),
    ("instid1(", 7, 4, &DELAYS, BAD_DELAY),
];

/// The delays before the next instructions of the ALU.
pub(crate) fn delay_alu<M: Marks>(out: &mut Out<'_, M>, value: u32) {
    if value & 0x7ff == 0 {
        out.token(Token::Immediate);
        return out.byte(b'0');
    }
    out.token(Token::Modifier);
    let mut separator = "";
    for (name, shift, width, values, bad) in &DELAY_PARTS {
        let part = bits(value, *shift, *width);
        if part != 0 {
            out.text(separator);
            out.text(name);
            out.text(values.get(part as usize).unwrap_or(bad));
            separator = " | ";
        }
    }
}

pub(crate) const fn ones(width: u32) -> u32 {
    (1 << width) - 1
}

const fn bits(value: u32, shift: u32, width: u32) -> u32 {
    value >> shift & ones(width)
}
