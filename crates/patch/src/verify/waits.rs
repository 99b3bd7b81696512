//! Whether waits for LDS accesses still wait for the same ones, where a replacement leaves more of them outstanding
//! than there were and later waits count that.

use hsaco_analysis::{BlockId, Stream};
use hsaco_isa::effects::Counter;
use hsaco_isa::model::VgprMsb;
use hsaco_isa::{Decoder, Inst};

use super::VerifyFinding;
use crate::manifest::Record;
use crate::view::View;

/// What an instruction does to the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Start,
    /// Until no more than so many are outstanding.
    Wait(u32),
}

/// Outstanding accesses, which complete in the order in which they began.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Queue {
    /// How many of those before the block may still be.
    earlier: u32,
    /// Those of the block, by their numbers in the code as it was.
    since: Vec<u32>,
}

impl Queue {
    fn wait(&mut self, most: u32) {
        let since = self.since.len() as u32;
        self.earlier = self.earlier.min(most.saturating_sub(since));
        self.since.drain(..since.saturating_sub(most) as usize);
    }

    /// Whether nothing is outstanding that is not in the other too.
    fn is_within(&self, other: &Queue) -> bool {
        self.earlier <= other.earlier && self.since.iter().all(|it| other.since.contains(it))
    }

    /// Whether every later wait waits for all that it does with the other outstanding: it has the other's last ones,
    /// one by one, and nothing else.
    fn may_replace(&self, other: &Queue) -> bool {
        let is_rest = self.since == other.since || self.earlier == 0;
        other.since.ends_with(&self.since) && is_rest && self.earlier <= other.earlier
    }
}

/// Follows the blocks of all records, as they were and as they are.
pub(super) fn check(view: &View<'_>, records: &[Record]) -> Vec<VerifyFinding> {
    let mut found = Vec::new();
    let mut done = None;
    for record in records {
        let step = view.stream().index_of(record.site.address);
        let Some(block) = step.and_then(|it| view.cfg().block_of(it)) else { continue };
        if done != Some(block) {
            done = Some(block);
            found.extend(check_block(view, block, records).err());
        }
    }
    found
}

fn check_block(view: &View<'_>, block: BlockId, records: &[Record]) -> Result<(), VerifyFinding> {
    let decoder = view.decoder();
    let stream = view.stream();
    let start = Queue { earlier: u32::MAX, since: Vec::new() };
    let (mut old, mut new, mut number) = (start.clone(), start, 0);
    let block = view.cfg().blocks()[block].steps();
    let mut step = block.start;
    while step < block.end {
        let address = stream.address_of(step);
        let at = records.partition_point(|record| record.site.address < address);
        let record = records.get(at).filter(|record| record.site.address == address);
        let (was, is) = match record {
            Some(record) => {
                let end = address + record.site.old.len() as u64;
                step = stream.index_of(end).unwrap_or(block.end).max(step + 1);
                (events_of(decoder, &record.site.old), events_of(decoder, record.code()))
            }
            None => {
                let same = stream.inst(step).map(|it| events(decoder, &it)).unwrap_or_default();
                step += 1;
                (same.clone(), same)
            }
        };
        let starts = |events: &[Event]| events.iter().filter(|it| **it == Event::Start).count();
        let (first, count) = (number, starts(&was) as u32);
        number += count;
        if count != 1 && starts(&is) as u32 != count {
            let detail = "LDS accesses are not those that were";
            return Err(VerifyFinding::new("waits", address, detail));
        }
        run(&mut old, &was, first, false);
        run(&mut new, &is, first, count == 1);
        if !new.is_within(&old) {
            let detail = "an LDS access may be under way that was waited for";
            return Err(VerifyFinding::new("waits", address, detail));
        }
    }
    if !new.may_replace(&old) {
        let detail = "LDS accesses are under way at the end of a block that were not";
        return Err(VerifyFinding::new("waits", stream.address_of(block.end), detail));
    }
    Ok(())
}

/// Lets accesses begin, the first with this number and all others with the same or the next, and waits for some.
fn run(queue: &mut Queue, events: &[Event], first: u32, is_one: bool) {
    let mut number = first;
    for event in events {
        match event {
            Event::Start => {
                queue.since.push(number);
                number += u32::from(!is_one);
            }
            Event::Wait(most) => queue.wait(*most),
        }
    }
}

fn events_of(decoder: &Decoder, code: &[u8]) -> Vec<Event> {
    let stream = Stream::decode(decoder, 0, code);
    let insts = stream.insts();
    insts.flat_map(|inst| events(decoder, &inst)).collect()
}

fn events(decoder: &Decoder, inst: &Inst) -> Vec<Event> {
    let effects = decoder.effects(inst, VgprMsb::default());
    if effects.counts_nothing() {
        return Vec::new();
    }
    let waits = effects.waits().filter(|(counter, _)| *counter == Counter::Dscnt);
    let mut events: Vec<Event> = waits.map(|(_, most)| Event::Wait(most.into())).collect();
    events.extend(effects.waits_for_idle().then_some(Event::Wait(0)));
    events.extend(effects.raises().contains(Counter::Dscnt).then_some(Event::Start));
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether waits hold in code with these events, as it was and as it is, step by step.
    fn holds(steps: &[(&[Event], &[Event])]) -> bool {
        let start = Queue { earlier: u32::MAX, since: Vec::new() };
        let (mut old, mut new, mut number) = (start.clone(), start, 0);
        for (was, is) in steps {
            let count = was.iter().filter(|it| **it == Event::Start).count() as u32;
            run(&mut old, was, number, false);
            run(&mut new, is, number, count == 1);
            number += count;
            if !new.is_within(&old) {
                return false;
            }
        }
        new.may_replace(&old)
    }

    #[test]
    fn waits_wait_for_the_same_accesses() {
        use Event::{Start, Wait};
        let one: (&[Event], &[Event]) = (&[Start], &[Start]);
        let two: (&[Event], &[Event]) = (&[Start], &[Start, Start]);
        let end: (&[Event], &[Event]) = (&[Wait(0)], &[Wait(0)]);
        assert!(holds(&[one, two, (&[Wait(1)], &[Wait(2)]), end]));
        assert!(holds(&[one, two, (&[Wait(1)], &[Wait(1)]), end]));
        assert!(!holds(&[one, two, (&[Wait(1)], &[Wait(3)]), end]));
        assert!(!holds(&[two, (&[Wait(0)], &[Wait(1)])]));
        // Later accesses are counted as they were.
        assert!(holds(&[two, one, (&[Wait(1)], &[Wait(1)])]));
        assert!(!holds(&[two, one, (&[Wait(1)], &[Wait(2)])]));
        // After the block two count as one.
        assert!(!holds(&[two]));
        assert!(holds(&[(&[Start], &[Start, Start, Wait(0)]), one]));
    }
}
