//! What an instruction waits for: counters, dependencies between units, delays of the ALU.
//! Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).

use super::condition::{ALWAYS, GFX10_3_PLUS, When};
use super::{Marks, Out, Padded, Token};
use crate::arch::Arch;

/// Where `s_waitcnt` keeps a counter: bits from `shift`, and more of them from bit 14 on.
pub(crate) struct Counter {
    name: Padded,
    shift: u32,
    low: u32,
    high: u32,
}

const fn counter(name: &'static str, shift: u32, low: u32, high: u32) -> Counter {
    Counter { name: Padded::new(name), shift, low, high }
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
    pub(crate) fn name(&self) -> &str {
        self.name.text().trim_end_matches('(')
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
    let mut is_first = true;
    for counter in counters {
        let count = counter.read(value);
        if all || count != counter.max() {
            if !is_first {
                out.byte(b' ');
            }
            out.padded(&counter.name);
            out.small(count);
            out.byte(b')');
            is_first = false;
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

static DELAYS: [Padded; 12] = [
    Padded::new("NO_DEP)"),
    Padded::new("VALU_DEP_1)"),
    Padded::new("VALU_DEP_2)"),
    Padded::new("VALU_DEP_3)"),
    Padded::new("VALU_DEP_4)"),
    Padded::new("TRANS32_DEP_1)"),
    Padded::new("TRANS32_DEP_2)"),
    Padded::new("TRANS32_DEP_3)"),
    Padded::new("FMA_ACCUM_CYCLE_1)"),
    Padded::new("SALU_CYCLE_1)"),
    Padded::new("SALU_CYCLE_2)"),
    Padded::new("SALU_CYCLE_3)"),
];
static SKIPS: [Padded; 6] = [
    Padded::new("SAME)"),
    Padded::new("NEXT)"),
    Padded::new("SKIP_1)"),
    Padded::new("SKIP_2)"),
    Padded::new("SKIP_3)"),
    Padded::new("SKIP_4)"),
];
const BAD_DELAY: Padded = Padded::new("/* invalid instid value */)");
const BAD_SKIP: Padded = Padded::new("/* invalid instskip value */)");

/// Parts of `s_delay_alu`: name, first bit, width, values, what stands for any other value.
pub(crate) static DELAY_PARTS: [(Padded, u32, u32, &[Padded], Padded); 3] = [
    (Padded::new("instid0("), 0, 4, &DELAYS, BAD_DELAY),
    (Padded::new("instskip("), 4, 3, &SKIPS, BAD_SKIP),
    (Padded::new("instid1("), 7, 4, &DELAYS, BAD_DELAY),
];

/// The delays before the next instructions of the ALU.
pub(crate) fn delay_alu<M: Marks>(out: &mut Out<'_, M>, value: u32) {
    if value & 0x7ff == 0 {
        out.token(Token::Immediate);
        return out.byte(b'0');
    }
    out.token(Token::Modifier);
    let mut is_first = true;
    for (name, shift, width, values, bad) in &DELAY_PARTS {
        let part = bits(value, *shift, *width);
        if part != 0 {
            if !is_first {
                out.text(" | ");
            }
            out.padded(name);
            out.padded(values.get(part as usize).unwrap_or(bad));
            is_first = false;
        }
    }
}

pub(crate) const fn ones(width: u32) -> u32 {
    (1 << width) - 1
}

const fn bits(value: u32, shift: u32, width: u32) -> u32 {
    value >> shift & ones(width)
}
