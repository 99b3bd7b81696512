//! Wait counters: which an instruction raises, and which it waits for.

use super::form::{Counting, Wait};
use crate::arch::Arch;

/// A counter of outstanding operations.
///
/// Up to gfx11 there are `vmcnt`, `vscnt` (from gfx10 on), `expcnt` and `lgkmcnt`; from gfx12 on finer ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs, reason = "named as the assembler names them")]
pub enum Counter {
    Vmcnt,
    Vscnt,
    Expcnt,
    Lgkmcnt,
    Loadcnt,
    Storecnt,
    Dscnt,
    Kmcnt,
    Samplecnt,
    Bvhcnt,
    Xcnt,
    Asynccnt,
    Tensorcnt,
}

impl Counter {
    const ALL: [Counter; 13] = {
        use Counter::*;
        [
            Vmcnt, Vscnt, Expcnt, Lgkmcnt, Loadcnt, Storecnt, Dscnt, Kmcnt, Samplecnt, Bvhcnt,
            Xcnt, Asynccnt, Tensorcnt,
        ]
    };

    /// The assembler's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Counter::Vmcnt => "vmcnt",
            Counter::Vscnt => "vscnt",
            Counter::Expcnt => "expcnt",
            Counter::Lgkmcnt => "lgkmcnt",
            Counter::Loadcnt => "loadcnt",
            Counter::Storecnt => "storecnt",
            Counter::Dscnt => "dscnt",
            Counter::Kmcnt => "kmcnt",
            Counter::Samplecnt => "samplecnt",
            Counter::Bvhcnt => "bvhcnt",
            Counter::Xcnt => "xcnt",
            Counter::Asynccnt => "asynccnt",
            Counter::Tensorcnt => "tensorcnt",
        }
    }
}

/// Some counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counters(u16);

impl Counters {
    /// Whether the counter is among them.
    #[must_use]
    pub const fn contains(self, counter: Counter) -> bool {
        self.0 >> counter as u8 & 1 == 1
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// One by one.
    pub fn iter(self) -> impl Iterator<Item = Counter> {
        Counter::ALL.into_iter().filter(move |counter| self.contains(*counter))
    }

    const fn of(counters: &[Counter]) -> Self {
        let mut bits = 0;
        let mut rest = counters;
        while let [first, others @ ..] = rest {
            bits |= 1 << *first as u8;
            rest = others;
        }
        Counters(bits)
    }

    const fn with(self, others: Counters) -> Self {
        Counters(self.0 | others.0)
    }
}

/// The counters that an instruction raises on a processor.
pub(super) fn raised(arch: Arch, counting: Counting) -> Counters {
    if counting == Counting::None {
        Counters::default()
    } else if arch.is_gfx12_plus() {
        raised_gfx12(counting).with(translations(arch, counting))
    } else {
        raised_before_gfx12(arch, counting)
    }
}

fn raised_before_gfx12(arch: Arch, counting: Counting) -> Counters {
    use Counter::*;
    let stores = if arch.is_gfx10_plus() { Vscnt } else { Vmcnt };
    match counting {
        Counting::VectorLoad | Counting::Sample | Counting::Bvh => Counters::of(&[Vmcnt]),
        Counting::VectorStore => Counters::of(&[stores]),
        Counting::FlatLoad => Counters::of(&[Vmcnt, Lgkmcnt]),
        Counting::FlatStore => Counters::of(&[stores, Lgkmcnt]),
        Counting::Scalar | Counting::Lds | Counting::Message => Counters::of(&[Lgkmcnt]),
        Counting::Gds => Counters::of(&[Lgkmcnt, Expcnt]),
        Counting::Export => Counters::of(&[Expcnt]),
        Counting::Async | Counting::Tensor | Counting::None => Counters::default(),
    }
}

fn raised_gfx12(counting: Counting) -> Counters {
    use Counter::*;
    match counting {
        Counting::VectorLoad => Counters::of(&[Loadcnt]),
        Counting::VectorStore => Counters::of(&[Storecnt]),
        Counting::FlatLoad => Counters::of(&[Loadcnt, Dscnt]),
        Counting::FlatStore => Counters::of(&[Storecnt, Dscnt]),
        Counting::Sample => Counters::of(&[Samplecnt]),
        Counting::Bvh => Counters::of(&[Bvhcnt]),
        Counting::Scalar | Counting::Message => Counters::of(&[Kmcnt]),
        Counting::Lds | Counting::Gds => Counters::of(&[Dscnt]),
        Counting::Export => Counters::of(&[Expcnt]),
        Counting::Async => Counters::of(&[Asynccnt]),
        Counting::Tensor => Counters::of(&[Tensorcnt]),
        Counting::None => Counters::default(),
    }
}

/// gfx1250 counts address translations.
fn translations(arch: Arch, counting: Counting) -> Counters {
    let translates =
        !matches!(counting, Counting::Lds | Counting::Gds | Counting::Export | Counting::Message);
    if arch.has(Arch::GFX1250) && translates {
        Counters::of(&[Counter::Xcnt])
    } else {
        Counters::default()
    }
}

/// A counter, and how far it must fall.
pub(super) type Limit = Option<(Counter, u8)>;

/// What `s_waitcnt` and its like wait for; `number` is their operand.
pub(super) fn waited(arch: Arch, wait: Wait, number: u16) -> [Limit; 3] {
    use Counter::*;
    let low = number as u8;
    match wait {
        Wait::None | Wait::Idle => [None; 3],
        Wait::Packed => packed(arch, number),
        Wait::LoadDs => [pair_part(Loadcnt, number >> 8), pair_part(Dscnt, number), None],
        Wait::StoreDs => [pair_part(Storecnt, number >> 8), pair_part(Dscnt, number), None],
        Wait::Vm => [Some((Vmcnt, low)), None, None],
        Wait::Vs => [Some((Vscnt, low)), None, None],
        Wait::Exp => [Some((Expcnt, low)), None, None],
        Wait::Lgkm => [Some((Lgkmcnt, low)), None, None],
        Wait::Load => [Some((Loadcnt, low)), None, None],
        Wait::Store => [Some((Storecnt, low)), None, None],
        Wait::Sample => [Some((Samplecnt, low)), None, None],
        Wait::Bvh => [Some((Bvhcnt, low)), None, None],
        Wait::Ds => [Some((Dscnt, low)), None, None],
        Wait::Km => [Some((Kmcnt, low)), None, None],
        Wait::X => [Some((Xcnt, low)), None, None],
        Wait::Async => [Some((Asynccnt, low)), None, None],
        Wait::Tensor => [Some((Tensorcnt, low)), None, None],
    }
}

/// Six bits of a pair of counters; all set for no wait.
fn pair_part(counter: Counter, number: u16) -> Limit {
    let limit = number as u8 & 0x3f;
    (limit != 0x3f).then_some((counter, limit))
}

/// The fields of `s_waitcnt`; one that is all set waits for nothing.
fn packed(arch: Arch, number: u16) -> [Limit; 3] {
    let field = |counter, shift: u32, width: u32, high: u16| {
        let mask = (1_u16 << width) - 1;
        let value = (number >> shift & mask) | high << width;
        let all = mask | if high_bits(arch, counter) { 3 << width } else { 0 };
        (value != all).then_some((counter, value as u8))
    };
    let upper = if high_bits(arch, Counter::Vmcnt) { number >> 14 } else { 0 };
    if arch.is_gfx11_plus() {
        return [
            field(Counter::Vmcnt, 10, 6, 0),
            field(Counter::Expcnt, 0, 3, 0),
            field(Counter::Lgkmcnt, 4, 6, 0),
        ];
    }
    let lgkm_width = if arch.is_gfx10_plus() { 6 } else { 4 };
    [
        field(Counter::Vmcnt, 0, 4, upper),
        field(Counter::Expcnt, 4, 3, 0),
        field(Counter::Lgkmcnt, 8, lgkm_width, 0),
    ]
}

/// From gfx9 to gfx10, `vmcnt` has two more bits at the top.
fn high_bits(arch: Arch, counter: Counter) -> bool {
    counter == Counter::Vmcnt && arch.is_gfx9_plus() && !arch.is_gfx11_plus()
}
