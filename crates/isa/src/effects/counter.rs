//! Wait counters: what an instruction adds to which, in which order operations complete, which registers they hold until
//! then, and what waits wait for.
//!
//! This is the one table that analyses, rewriting and sanitizers share. A counter says how many operations are
//! outstanding, not which; what that tells of one operation follows from the order in which they complete:
//!
//! - Operations of one counter and one [`Sequence`] complete as they were issued. While one is outstanding, so are all of
//!   its sequence that were issued after it. So once a counter has fallen to `n`, an operation is complete that `n` or
//!   more of its sequence followed ([`Count::is_complete`]).
//! - An operation without sequence (scalar loads) may be the last to complete: it is complete at zero only.
//! - Operations of other sequences tell nothing: they may have completed before.
//!
//! Until it is complete, the [`Hold`] of a count says which registers must be left alone.
//!
//! Derived from LLVM's SIInsertWaitcnts.cpp and the sections "Data dependency resolution" of AMD's ISA manuals.

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
}

impl FromIterator<Counter> for Counters {
    fn from_iter<I: IntoIterator<Item = Counter>>(counters: I) -> Self {
        Counters(counters.into_iter().fold(0, |bits, counter| bits | 1 << counter as u8))
    }
}

/// Operations that complete in the order in which they were issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sequence {
    /// Vector memory: loads, and up to gfx9 stores as well.
    Vector,
    /// Vector memory through a sampler.
    Sample,
    /// Vector memory through a bounding volume hierarchy.
    Bvh,
    /// Stores to vector memory, from gfx10 on.
    Store,
    /// Memory of the workgroup.
    Lds,
    /// Memory of the device that is addressed like LDS.
    Gds,
    /// Messages.
    Message,
    /// Exports, and loads of parameters from LDS.
    Export,
    /// Copies between memory and LDS that bypass registers.
    Async,
    /// Copies of tensors.
    Tensor,
}

/// The registers that an outstanding operation holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hold {
    /// What it writes: until it is complete, reading gives the old value and writing is undone.
    Results,
    /// The vector registers that it reads: until it is complete, writing them changes what it takes.
    VectorSources,
    /// All that it reads: an access whose address has no translation yet is issued again after a page fault.
    Sources,
    /// What it writes and the vector registers that it reads.
    ResultsAndVectorSources,
    /// Nothing: it is memory that others wait for.
    Nothing,
}

impl Hold {
    /// Whether results are held.
    #[must_use]
    pub const fn has_results(self) -> bool {
        matches!(self, Hold::Results | Hold::ResultsAndVectorSources)
    }
}

/// One that an instruction adds to a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Count {
    /// The counter.
    pub counter: Counter,
    /// With which others it completes in order; none if it may be the last of all.
    pub sequence: Option<Sequence>,
    /// With which others it writes its results in order, so that a later one may write the same register: finer than
    /// the order in which the counter counts.
    pub landing: Option<Sequence>,
    /// What it holds.
    pub hold: Hold,
}

impl Count {
    /// Whether the operation is complete once its counter has fallen to a value, when so many of its sequence were issued
    /// after it.
    ///
    /// ```
    /// use hsaco_isa::model::VgprMsb;
    /// use hsaco_isa::{Assembler, Processor};
    /// let assembler = Assembler::new(Processor::from_name("gfx942").unwrap(), Default::default())?;
    /// let counts = |line| {
    ///     let inst = assembler.assemble(line).unwrap();
    ///     assembler.decoder().effects(&inst, VgprMsb::default()).counts()
    /// };
    /// let [load] = counts("global_load_dword v0, v2, s[4:5]") else { panic!() };
    /// assert!(load.is_complete(1, 1));
    /// assert!(!load.is_complete(1, 0));
    /// // Scalar loads complete in any order.
    /// let [scalar] = counts("s_load_dword s0, s[4:5], 0x0") else { panic!() };
    /// assert!(!scalar.is_complete(1, 7));
    /// assert!(scalar.is_complete(0, 0));
    /// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
    /// ```
    #[must_use]
    pub const fn is_complete(&self, value: u8, younger: u32) -> bool {
        match self.sequence {
            Some(_) => value as u32 <= younger,
            None => value == 0,
        }
    }
}

const fn count(
    counter: Counter,
    sequence: Option<Sequence>,
    landing: Option<Sequence>,
    hold: Hold,
) -> Count {
    Count { counter, sequence, landing, hold }
}

/// A count whose results land as its counter counts.
const fn ordered(counter: Counter, sequence: Sequence, hold: Hold) -> Count {
    count(counter, Some(sequence), Some(sequence), hold)
}

/// Vector loads on gfx9 to gfx11: one counter in order for all, but each kind lands by itself.
const fn vmcnt(landing: Option<Sequence>) -> Count {
    count(Counter::Vmcnt, Some(Sequence::Vector), landing, Hold::Results)
}

const VM_LOAD: Count = vmcnt(Some(Sequence::Vector));
const VM_SAMPLE: Count = vmcnt(Some(Sequence::Sample));
const VM_BVH: Count = vmcnt(Some(Sequence::Bvh));
const VM_FLAT: Count = vmcnt(None);
const LGKM_LDS: Count = ordered(Counter::Lgkmcnt, Sequence::Lds, Hold::Results);
const LGKM_GDS: Count = ordered(Counter::Lgkmcnt, Sequence::Gds, Hold::Results);
const LGKM_FLAT: Count = count(Counter::Lgkmcnt, Some(Sequence::Lds), None, Hold::Results);
const LGKM_GLOBAL: Count = count(Counter::Lgkmcnt, Some(Sequence::Lds), None, Hold::Nothing);
const LGKM_SCALAR: Count = count(Counter::Lgkmcnt, None, None, Hold::Results);
const LGKM_MESSAGE: Count = ordered(Counter::Lgkmcnt, Sequence::Message, Hold::Results);
const EXP: Count = ordered(Counter::Expcnt, Sequence::Export, Hold::ResultsAndVectorSources);
const EXP_GDS: Count = ordered(Counter::Expcnt, Sequence::Gds, Hold::VectorSources);

/// Up to gfx9, stores and loads share a counter.
const VM_STORE: Count = ordered(Counter::Vmcnt, Sequence::Vector, Hold::Nothing);
const VS_STORE: Count = ordered(Counter::Vscnt, Sequence::Store, Hold::Nothing);

/// From gfx12 on, loads complete in order and yet may write their registers in another.
const LOAD: Count = count(Counter::Loadcnt, Some(Sequence::Vector), None, Hold::Results);
const STORE: Count = ordered(Counter::Storecnt, Sequence::Store, Hold::Nothing);
const SAMPLE: Count = count(Counter::Samplecnt, Some(Sequence::Sample), None, Hold::Results);
const BVH: Count = count(Counter::Bvhcnt, Some(Sequence::Bvh), None, Hold::Results);
const DS: Count = ordered(Counter::Dscnt, Sequence::Lds, Hold::Results);
const DS_FLAT: Count = count(Counter::Dscnt, Some(Sequence::Lds), None, Hold::Results);
const KM_SCALAR: Count = count(Counter::Kmcnt, None, None, Hold::Results);
const KM_MESSAGE: Count = ordered(Counter::Kmcnt, Sequence::Message, Hold::Results);
const ASYNC: Count = ordered(Counter::Asynccnt, Sequence::Async, Hold::Nothing);
const TENSOR: Count = ordered(Counter::Tensorcnt, Sequence::Tensor, Hold::Nothing);

/// gfx1250 counts address translations, of vector accesses in order.
const X_VECTOR: Count = count(Counter::Xcnt, Some(Sequence::Vector), None, Hold::Sources);
const X_SCALAR: Count = count(Counter::Xcnt, None, None, Hold::Sources);

/// What an instruction adds to the counters of a processor.
pub(super) const fn counts(arch: Arch, counting: Counting) -> &'static [Count] {
    if arch.has(Arch::GFX1250) {
        of_gfx1250(counting)
    } else if arch.is_gfx12_plus() {
        of_gfx12(counting)
    } else if arch.is_gfx10_plus() {
        of_gfx10(counting)
    } else if arch.is_gfx9_plus() {
        of_gfx9(counting)
    } else {
        of_gfx8(counting)
    }
}

/// Up to gfx8 flat accesses are the only way to global memory, and code that knows its address waits for it alone.
const fn of_gfx8(counting: Counting) -> &'static [Count] {
    match counting {
        Counting::FlatLoad => &[VM_FLAT, LGKM_GLOBAL],
        _ => of_gfx9(counting),
    }
}

const fn of_gfx9(counting: Counting) -> &'static [Count] {
    match counting {
        Counting::VectorLoad => &[VM_LOAD],
        Counting::Sample => &[VM_SAMPLE],
        Counting::Bvh => &[VM_BVH],
        Counting::VectorStore => &[VM_STORE],
        Counting::FlatLoad => &[VM_FLAT, LGKM_FLAT],
        Counting::FlatStore => &[VM_STORE, LGKM_FLAT],
        _ => of_all_before_gfx12(counting),
    }
}

const fn of_gfx10(counting: Counting) -> &'static [Count] {
    match counting {
        Counting::VectorStore => &[VS_STORE],
        Counting::FlatStore => &[VS_STORE, LGKM_FLAT],
        _ => of_gfx9(counting),
    }
}

const fn of_all_before_gfx12(counting: Counting) -> &'static [Count] {
    match counting {
        Counting::Scalar => &[LGKM_SCALAR],
        Counting::Lds => &[LGKM_LDS],
        Counting::Message => &[LGKM_MESSAGE],
        Counting::Gds => &[LGKM_GDS, EXP_GDS],
        Counting::Export => &[EXP],
        _ => &[],
    }
}

const fn of_gfx12(counting: Counting) -> &'static [Count] {
    match counting {
        Counting::VectorLoad => &[LOAD],
        Counting::VectorStore => &[STORE],
        Counting::FlatLoad => &[LOAD, DS_FLAT],
        Counting::FlatStore => &[STORE, DS_FLAT],
        Counting::Sample => &[SAMPLE],
        Counting::Bvh => &[BVH],
        Counting::Scalar => &[KM_SCALAR],
        Counting::Message => &[KM_MESSAGE],
        Counting::Lds | Counting::Gds => &[DS],
        Counting::Export => &[EXP],
        Counting::Async => &[ASYNC],
        Counting::Tensor => &[TENSOR],
        Counting::None => &[],
    }
}

const fn of_gfx1250(counting: Counting) -> &'static [Count] {
    match counting {
        Counting::VectorLoad => &[LOAD, X_VECTOR],
        Counting::VectorStore => &[STORE, X_VECTOR],
        Counting::FlatLoad => &[LOAD, DS_FLAT, X_VECTOR],
        Counting::FlatStore => &[STORE, DS_FLAT, X_VECTOR],
        Counting::Sample => &[SAMPLE, X_VECTOR],
        Counting::Bvh => &[BVH, X_VECTOR],
        Counting::Scalar => &[KM_SCALAR, X_SCALAR],
        Counting::Async => &[ASYNC, X_VECTOR],
        Counting::Tensor => &[TENSOR, X_VECTOR],
        _ => of_gfx12(counting),
    }
}

/// A counter, and how far it must fall.
pub(super) type Limit = Option<(Counter, u8)>;

/// The most that a counter holds: six bits from gfx12 on, and what `s_waitcnt` can ask for before.
pub(super) fn most(arch: Arch, counter: Counter) -> u8 {
    const SIX_BITS: u8 = 0x3f;
    let field = WaitField::all(arch).iter().find(|field| field.counter == counter);
    field.map_or(SIX_BITS, |field| field.max() as u8)
}

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
