//! Registers that are used while an operation on them is outstanding.
//!
//! Which counter an operation raises, in which order operations complete and which registers they hold is the table of
//! `isa`'s effects. The emulator itself loads at once: what is found here is what a device would do wrongly.

use hsaco_isa::effects::{Count, Counter, Hold, Sequence};

use super::access::{self, In};
use super::fault::{Event, Fault};
use super::site::{Site, Span, VectorAccess};
use super::{FaultKind, Here, Observer};
use crate::error::StopLocation;
use crate::step::Context;
use crate::wave::{Wave, lanes};

/// What the smallest counter holds, which is that of exports.
const SMALLEST_COUNTER: usize = 7;

/// Operations that were issued by a wave and not waited for.
#[derive(Default)]
pub(super) struct Outstanding {
    operations: Vec<Operation>,
    /// How many were issued of each counter and sequence.
    issued: Vec<((Counter, Option<Sequence>), u32)>,
    /// Registers that some operation holds, a bit each: most instructions use none.
    held: Held,
}

#[derive(Default)]
struct Held {
    vector: Vec<u64>,
    scalar: [u64; 4],
}

struct Operation {
    /// The site's address and text are asked for when something is found.
    at: u64,
    /// What it has to be waited for, with its number among those of counter and sequence.
    counts: Vec<(Count, u32)>,
    results: Box<[Span]>,
    sources: Box<[Span]>,
    lanes: u64,
    class: Class,
    number: u32,
}

/// Memory operations that are ordered among each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Lds,
    Load,
    Store,
    Scalar,
}

impl Held {
    fn words(&self, span: Span) -> &[u64] {
        if span.is_vector { &self.vector } else { &self.scalar }
    }

    fn has(&self, span: Span) -> bool {
        let words = self.words(span);
        span.registers().any(|at| words.get(at / 64).is_some_and(|it| it >> (at % 64) & 1 == 1))
    }

    fn set(&mut self, span: Span) {
        for at in span.registers() {
            if span.is_vector && self.vector.len() <= at / 64 {
                self.vector.resize(at / 64 + 1, 0);
            }
            let words = if span.is_vector { &mut self.vector[..] } else { &mut self.scalar[..] };
            if let Some(word) = words.get_mut(at / 64) {
                *word |= 1 << (at % 64);
            }
        }
    }

    fn clear(&mut self) {
        self.vector.fill(0);
        self.scalar = [0; 4];
    }
}

impl Operation {
    fn holds(&self, hold: impl Fn(Hold) -> bool) -> bool {
        self.counts.iter().any(|(count, _)| hold(count.hold))
    }

    fn reads_held(&self) -> bool {
        self.holds(|it| matches!(it, Hold::VectorSources | Hold::ResultsAndVectorSources))
    }

    /// The registers that are to be left alone.
    fn spans(&self) -> impl Iterator<Item = Span> {
        let results = self.results.iter().filter(|_| self.holds(Hold::has_results));
        let sources = self.sources.iter().filter(|it| self.reads_held() && it.is_vector);
        results.chain(sources).copied()
    }
}

impl Outstanding {
    /// How many of an operation's sequence were issued after it.
    fn younger(&self, count: &Count, number: u32) -> u32 {
        let key = (count.counter, count.sequence);
        let issued = self.issued.iter().find(|it| it.0 == key).map_or(0, |it| it.1);
        issued.saturating_sub(number)
    }

    fn issue(&mut self, count: Count) -> (Count, u32) {
        let key = (count.counter, count.sequence);
        let at = self.issued.iter().position(|it| it.0 == key).unwrap_or_else(|| {
            self.issued.push((key, 0));
            self.issued.len() - 1
        });
        self.issued[at].1 += 1;
        (count, self.issued[at].1)
    }

    /// A counter has fallen to a value.
    pub(super) fn wait(&mut self, counter: Counter, value: u8) {
        let mut operations = std::mem::take(&mut self.operations);
        for operation in &mut operations {
            operation.counts.retain(|(count, number)| {
                let younger = self.younger(count, *number);
                count.counter != counter || !count.is_complete(value, younger)
            });
        }
        operations.retain(|it| !it.counts.is_empty());
        self.operations = operations;
        self.hold();
    }

    pub(super) fn wait_for_all(&mut self) {
        self.operations.clear();
        self.held.clear();
    }

    fn hold(&mut self) {
        self.held.clear();
        for span in self.operations.iter().flat_map(Operation::spans) {
            self.held.set(span);
        }
    }

    /// The last operation of a class before which all are complete, as far as other waves see it.
    pub(super) fn completed(&self, class: Class, issued: u32) -> u32 {
        let open = self.operations.iter().filter(|it| it.class == class).map(|it| it.number);
        open.min().map_or(issued, |first| first.saturating_sub(1).min(issued))
    }

    /// The last operation goes to LDS, or elsewhere: it is complete as soon as that is.
    fn narrow(&mut self, any_lds: bool, any_other: bool) {
        let is_lds = |counter| matches!(counter, Counter::Lgkmcnt | Counter::Dscnt);
        let Some(last) = self.operations.last_mut() else { return };
        last.counts.retain(|(count, _)| if is_lds(count.counter) { any_lds } else { any_other });
        if last.counts.is_empty() {
            self.operations.pop();
        }
        self.hold();
    }

    pub(super) fn begin(&mut self, site: &Site, counts: &[Count], lanes: u64, order: (Class, u32)) {
        let counts = counts.iter().map(|it| self.issue(*it)).collect();
        let operation = Operation {
            at: site.address,
            counts,
            results: if lanes == 0 { Box::default() } else { site.writes.clone() },
            sources: if lanes == 0 { Box::default() } else { site.reads.clone() },
            lanes,
            class: order.0,
            number: order.1,
        };
        for span in operation.spans() {
            self.held.set(span);
        }
        if !operation.counts.is_empty() {
            self.operations.push(operation);
        }
    }
}

/// How a register is used too early.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Reads,
    Overwrites,
    /// Overwrites what an operation still reads.
    Replaces,
}

impl Observer<'_> {
    /// Looks at the registers of an instruction before it runs.
    pub(super) fn check_waits<const C: usize>(&mut self, site: &Site, wave: &Wave<C>) {
        let outstanding = &self.group.waves[self.wave as usize].outstanding;
        if outstanding.operations.is_empty() {
            return;
        }
        let held = &outstanding.held;
        let reads = site.reads.iter().filter(|it| held.has(**it)).map(|it| (*it, true));
        let writes = site.writes.iter().filter(|it| held.has(**it)).map(|it| (*it, false));
        let mut found = Vec::new();
        for (span, is_read) in reads.chain(writes) {
            // Lanes that the operation is not about keep their values.
            let lanes = if span.is_vector && site.is_masked { wave.active } else { u64::MAX };
            for operation in outstanding.operations.iter().filter(|it| it.lanes & lanes != 0) {
                if let Some(how) = conflict(operation, span, is_read, site) {
                    found.push(self.describe_wait(operation, span, how, lanes & operation.lanes));
                }
            }
        }
        for (message, at, lanes) in found {
            self.tell_wait(self.here(site, lanes), message, at);
        }
    }

    fn describe_wait(
        &self,
        operation: &Operation,
        span: Span,
        how: Use,
        lanes: u64,
    ) -> (String, u64, u64) {
        let outstanding = &self.group.waves[self.wave as usize].outstanding;
        let needs: Vec<String> = operation
            .counts
            .iter()
            .filter(|(count, _)| count.hold != Hold::Nothing)
            .map(|(count, number)| {
                let most = match count.sequence {
                    Some(_) => outstanding.younger(count, *number),
                    None => 0,
                };
                format!("{} at {most} or less", count.counter.name())
            })
            .collect();
        let name = span.name(self.observed.layout);
        let what = match how {
            Use::Reads => format!("reads {name}, which is not loaded yet"),
            Use::Overwrites => format!("overwrites {name}, into which an operation still loads"),
            Use::Replaces => format!("overwrites {name}, which an operation still reads"),
        };
        let lanes = if span.is_vector { lanes } else { 0 };
        (format!("{what}: it needs {}", needs.join(" and ")), operation.at, lanes)
    }

    fn tell_wait(&self, here: Here<'_>, message: String, operation: u64) {
        let kind = FaultKind::Wait;
        self.sanitizer.faults.add((kind, here.site.address, operation), || Fault {
            kind,
            is_certain: true,
            at: self.location(here),
            message,
            before: Some(Event { what: "issued by", at: self.issued_at(here, operation) }),
            help: self.wait_help().to_owned(),
            times: 1,
        });
    }

    fn issued_at(&self, here: Here<'_>, address: u64) -> StopLocation {
        StopLocation {
            address,
            instruction: self.text_at(address),
            lanes: 0,
            ..self.location(here)
        }
    }

    fn wait_help(&self) -> &'static str {
        if self.observed.target.generation >= hsaco_isa::target::Generation::Gfx12 {
            "wait for the counter between the two (s_wait_loadcnt, s_wait_dscnt, s_wait_kmcnt)"
        } else {
            "wait for the counter between the two (s_waitcnt)"
        }
    }

    /// Counts what an instruction has issued, and what it has waited for.
    pub(super) fn count_waits(&mut self, site: &Site, lanes: u64) {
        let state = &mut self.group.waves[self.wave as usize];
        for (counter, value) in &site.waits {
            state.outstanding.wait(*counter, *value);
        }
        if site.waits_for_idle {
            state.outstanding.wait_for_all();
        }
        if let Some(class) = site.class {
            let number = state.issue(class);
            state.outstanding.begin(site, &site.counts, lanes, (class, number));
        } else if !site.counts.is_empty() {
            // What is no memory access is ordered with nothing.
            state.outstanding.begin(site, &site.counts, lanes, (Class::Scalar, u32::MAX));
        }
        // A counter that is full waits by itself.
        if !site.counts.is_empty() && state.outstanding.operations.len() > SMALLEST_COUNTER {
            let effects = self.decoder.effects(&site.inst, site.msb);
            for count in &site.counts {
                let most = effects.most_outstanding(count.counter);
                state.outstanding.wait(count.counter, most);
            }
        }
    }

    /// The same of an access of lanes, which may go to memory or LDS.
    pub(super) fn count_access<const C: usize>(
        &mut self,
        site: &Site,
        access: VectorAccess,
        wave: &Wave<C>,
        context: &Context<'_>,
    ) {
        self.count_waits(site, wave.active);
        if !access.is_flat {
            return;
        }
        let of_lane = |lane| access::place(wave, context, lane, wave.addresses[lane]).0;
        let any_lds = lanes(wave.active).any(|lane| of_lane(lane) == In::Lds);
        let any_other = lanes(wave.active).any(|lane| of_lane(lane) != In::Lds);
        self.group.waves[self.wave as usize].outstanding.narrow(any_lds, any_other);
    }
}

/// How a register of an instruction gets in the way of an operation.
fn conflict(operation: &Operation, span: Span, is_read: bool, site: &Site) -> Option<Use> {
    let hits = |spans: &[Span]| spans.iter().any(|it| it.overlaps(span));
    if operation.holds(Hold::has_results) && hits(&operation.results) {
        // Operations that write in order may write the same register.
        let lands = operation.counts.iter().filter_map(|(count, _)| count.landing);
        let in_order = |it: Sequence| site.counts.iter().any(|count| count.landing == Some(it));
        return match is_read {
            true => Some(Use::Reads),
            false if lands.into_iter().any(in_order) => None,
            false => Some(Use::Overwrites),
        };
    }
    (!is_read && operation.reads_held() && hits(&operation.sources)).then_some(Use::Replaces)
}
