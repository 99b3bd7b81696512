//! Which operations a wait waits for.
//!
//! A forward walk over all paths keeps the operations that may be outstanding, each with how many of its sequence were
//! issued after it, the fewest over all paths. What a counter value tells is `isa`'s answer ([`Count::is_complete`]).

use hsaco_isa::Decoder;
use hsaco_isa::effects::{Count, Counter, Effects, Flow};
use hsaco_isa::model::VgprMsb;

use crate::cfg::{BlockId, Cfg};
use crate::stream::Stream;

/// More than this many of one counter cannot be outstanding.
const MOST_OUTSTANDING: u8 = 63;

/// So many are followed at a place; the oldest are given up first.
const MOST_FOLLOWED: usize = 256;

/// An operation, and a wait after which it is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Awaited {
    /// The number of the instruction that waits.
    pub wait: usize,
    /// The number of the instruction that began the operation.
    pub operation: usize,
    /// The counter that tells it.
    pub counter: Counter,
}

/// An operation that may be outstanding.
#[derive(Clone, Copy)]
struct Issued {
    operation: usize,
    count: &'static Count,
    younger: u8,
}

/// The operations that the waits of a function wait for, in the order of the waits.
///
/// ```
/// use hsaco_analysis::{Cfg, Stream, awaited};
/// use hsaco_isa::{Assembler, Processor};
/// let assembler = Assembler::new(Processor::from_name("gfx942").unwrap(), Default::default())?;
/// let lines = [
///     "global_load_dword v1, v0, s[0:1]",
///     "global_load_dword v2, v0, s[2:3]",
///     "s_waitcnt vmcnt(1)",
///     "s_waitcnt vmcnt(0)",
///     "s_endpgm",
/// ];
/// let bytes = lines.map(|line| {
///     let inst = assembler.assemble(line).unwrap();
///     inst.bytes()[..inst.len()].to_vec()
/// });
/// let bytes = bytes.concat();
/// let stream = Stream::decode(assembler.decoder(), 0, &bytes);
/// let cfg = Cfg::new(assembler.decoder(), &stream);
/// let found = awaited(assembler.decoder(), &stream, &cfg);
/// let found: Vec<_> = found.iter().map(|it| (it.wait, it.operation)).collect();
/// assert_eq!(found, [(2, 0), (3, 1)]);
/// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
/// ```
#[must_use]
pub fn awaited(decoder: &Decoder, stream: &Stream<'_>, cfg: &Cfg) -> Vec<Awaited> {
    let walk = Walk { decoder, stream, cfg };
    let run = |block, issued: &mut Vec<Issued>| walk.run(block, issued, |_| ());
    let before = cfg.forward(Vec::new(), run, |known, issued| join(known, issued));
    let mut found = Vec::new();
    for (block, before) in before.enumerated() {
        if let Some(before) = before {
            walk.run(block, &mut before.clone(), |it| found.push(it));
        }
    }
    found.sort_unstable_by_key(|it| (it.wait, it.operation, it.counter as u8));
    found.dedup();
    found
}

struct Walk<'a> {
    decoder: &'a Decoder,
    stream: &'a Stream<'a>,
    cfg: &'a Cfg,
}

impl Walk<'_> {
    fn run(&self, block: BlockId, issued: &mut Vec<Issued>, mut found: impl FnMut(Awaited)) {
        for step in self.cfg.blocks()[block].steps() {
            let Some(inst) = self.stream.inst(step) else {
                issued.clear();
                continue;
            };
            advance(step, &self.decoder.effects(&inst, VgprMsb::default()), issued, &mut found);
        }
    }
}

/// Takes an instruction into account; `found` is told which operations it waits for.
fn advance(
    step: usize,
    effects: &Effects<'_>,
    issued: &mut Vec<Issued>,
    found: &mut impl FnMut(Awaited),
) {
    if matches!(effects.flow(), Flow::Call | Flow::IndirectCall) {
        issued.clear();
    }
    if effects.counts_nothing() {
        return;
    }
    let mut leave = |issued: &mut Vec<Issued>, is_complete: &dyn Fn(&Issued) -> bool| {
        issued.retain(|it| {
            let is_done = is_complete(it);
            if is_done {
                let counter = it.count.counter;
                found(Awaited { wait: step, operation: it.operation, counter });
            }
            !is_done
        });
    };
    if effects.waits_for_idle() {
        leave(issued, &|_| true);
    }
    for (counter, value) in effects.waits() {
        leave(issued, &|it| {
            it.count.counter == counter && it.count.is_complete(value, it.younger.into())
        });
    }
    effects.counts().iter().for_each(|count| issue(step, count, issued));
}

fn issue(step: usize, count: &'static Count, issued: &mut Vec<Issued>) {
    for it in issued.iter_mut() {
        let is_same = it.count.counter == count.counter;
        if is_same && it.count.sequence == count.sequence && count.sequence.is_some() {
            it.younger = it.younger.saturating_add(1);
        }
    }
    let is_this = |it: &Issued| it.operation == step && it.count.counter == count.counter;
    issued.retain(|it| it.younger < MOST_OUTSTANDING && !is_this(it));
    if issued.len() >= MOST_FOLLOWED {
        issued.remove(0);
    }
    issued.push(Issued { operation: step, count, younger: 0 });
}

/// Joins what may be outstanding on another path; whether that is more.
fn join(known: &mut Vec<Issued>, other: &[Issued]) -> bool {
    let mut has_grown = false;
    for it in other {
        let has_room = known.len() < MOST_FOLLOWED;
        let same = |known: &&mut Issued| {
            known.operation == it.operation && known.count.counter == it.count.counter
        };
        match known.iter_mut().find(same) {
            Some(known) if known.younger <= it.younger => {}
            Some(known) => {
                known.younger = it.younger;
                has_grown = true;
            }
            None if has_room => {
                known.push(*it);
                has_grown = true;
            }
            None => {}
        }
    }
    has_grown
}
