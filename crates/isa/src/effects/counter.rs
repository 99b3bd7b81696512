//! Wait counters: which an instruction raises, and which it waits for.

use crate::model::effects::{Counting, Wait};
use crate::model::{Arch, Counter, WaitField};

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
    WaitField::all(arch).each_ref().map(|field| {
        let count = field.read(number.into());
        (count != field.max()).then_some((field.counter, count as u8))
    })
}
