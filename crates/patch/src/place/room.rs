//! Room for far jumps: instructions beside a site that move with it, or others within reach.

use std::collections::BTreeMap;
use std::ops::Range;

use hsaco_analysis::Block;
use hsaco_isa::Inst;
use hsaco_isa::effects::Flow;

use super::replacement::{Body, Crossing, crossing};
use crate::plan::Window;
use crate::view::View;

/// How much of a list of windows was placed.
pub(super) struct Taken {
    pub(super) windows: usize,
    pub(super) first: usize,
    pub(super) end: usize,
}

/// Instructions that move to make room for an island.
pub(super) struct Host {
    pub(super) window: Window,
    pub(super) crossing: Crossing,
}

/// How many places are looked at for an island, the nearest first: each takes a walk over live registers, and where the
/// nearest have no registers free the others rarely have.
pub(super) const HOSTS_TRIED: usize = 16;

/// Ranges of instructions that have a use; those that meet are one.
#[derive(Default)]
pub(super) struct Occupied(BTreeMap<usize, usize>);

impl Occupied {
    pub(super) fn add(&mut self, range: Range<usize>) {
        let Range { mut start, mut end } = range;
        while let Some((&before, &until)) = self.0.range(..=end).next_back()
            && until >= start
        {
            (start, end) = (start.min(before), end.max(until));
            self.0.remove(&before);
        }
        self.0.insert(start, end);
    }

    fn has(&self, step: usize) -> bool {
        self.0.range(..=step).next_back().is_some_and(|(_, end)| step < *end)
    }
}

/// Bytes beyond which no branch reaches.
const NEAR: u64 = 0x2_0100;

/// The blocks with instructions near an address, the one whose start is nearest first.
fn blocks_around<'v>(view: &'v View<'_>, address: u64) -> impl Iterator<Item = &'v Block> {
    let stream = view.stream();
    let blocks = view.cfg().blocks().as_slice();
    let start = |block: &Block| stream.address_of(block.first);
    let (first, end) = (address.saturating_sub(NEAR), address.saturating_add(NEAR));
    let first = blocks.partition_point(|it| start(it) <= first).saturating_sub(1);
    let end = blocks.partition_point(|it| start(it) < end);
    let near = blocks.get(first..end).unwrap_or_default();
    let (below, above) = near.split_at(near.partition_point(|it| start(it) < address));
    let (mut below, mut above) = (below.iter().rev().peekable(), above.iter().peekable());
    let distance = move |block: &Block| start(block).abs_diff(address);
    std::iter::from_fn(move || match (below.peek(), above.peek()) {
        (Some(before), Some(after)) if distance(before) > distance(after) => above.next(),
        (None, _) => above.next(),
        _ => below.next(),
    })
}

/// The nearest instructions within a branch's reach that may move and leave so many bytes beside their own far jump.
pub(super) fn host(
    view: &View<'_>,
    occupied: &Occupied,
    body: &Body<'_>,
    size: usize,
) -> Option<Host> {
    if !view.is_closed() {
        return None;
    }
    let (stream, dialect) = (view.stream(), view.dialect());
    let rules = &body.window.rules;
    let start = stream.step_at(body.site.saturating_sub(NEAR));
    let end = stream.step_at(body.site.saturating_add(NEAR)) + 1;
    let mut tried = 0;
    blocks_around(view, body.site).find_map(|block| {
        let mut first = block.first.max(start);
        while first < block.end.min(end) && tried < HOSTS_TRIED {
            let wanted = dialect.far_size() + size;
            let window = match movable(view, occupied, first..block.end, wanted, rules) {
                Ok(window) => window,
                Err(next) => {
                    first = next;
                    continue;
                }
            };
            let start = stream.address_of(window.first);
            if dialect.near(body.site, start + dialect.far_size() as u64).is_none() {
                first += 1;
                continue;
            }
            tried += 1;
            if let Ok(crossing) = crossing(view, &window) {
                let wanted = crossing.site_size(dialect) + size;
                let window = movable(view, occupied, first..block.end, wanted, rules).ok()?;
                let crossing = self::crossing(view, &window).ok()?;
                let room = stream.address_of(window.end()) - stream.address_of(window.first);
                if crossing.site_size(dialect) + size <= room as usize {
                    return Some(Host { window, crossing });
                }
            }
            first = window.end();
        }
        None
    })
}

/// Instructions from the first of a range on that may move together and have so many bytes; else the step from which on
/// there may be some.
pub(super) fn movable(
    view: &View<'_>,
    occupied: &Occupied,
    range: Range<usize>,
    size: usize,
    rules: &[(&'static str, u64)],
) -> Result<Window, usize> {
    let stream = view.stream();
    let mut code = Vec::new();
    let mut bytes = 0;
    for step in range.clone() {
        let is_free = !occupied.has(step);
        let inst = stream.inst(step).filter(|it| is_free && may_move(it, false));
        let inst = inst.ok_or(step + 1)?;
        bytes += inst.len();
        code.push(inst);
        if bytes >= size {
            return Ok(Window::new(range.start, code.len(), code, rules.to_vec()));
        }
    }
    Err(range.end)
}

/// A window that has taken in its neighbours, and other windows with them, until a far jump fits in its place.
pub(super) fn widened(
    view: &View<'_>,
    free_from: usize,
    windows: &[Window],
    size: usize,
) -> (Window, Taken) {
    let stream = view.stream();
    let mut wide =
        windows.first().cloned().unwrap_or_else(|| Window::new(0, 0, Vec::new(), Vec::new()));
    let mut taken = 1;
    let room = |wide: &Window| stream.address_of(wide.end()) - stream.address_of(wide.first);
    let Some(block) = view.cfg().block_of(wide.first).map(|it| view.cfg().blocks()[it]) else {
        let (first, end) = (wide.first, wide.end());
        return (wide, Taken { windows: taken, first, end });
    };
    while view.is_closed() && room(&wide) < size as u64 && wide.end() < block.end {
        let next = windows.get(taken).filter(|next| next.first == wide.end());
        let is_movable = (wide.end()..next.map_or(wide.end() + 1, Window::end)).all(|step| {
            step < block.end
                && stream.inst(step).is_some_and(|it| may_move(&it, step + 1 == block.end))
        });
        if !is_movable {
            break;
        }
        match next {
            Some(next) => {
                let before = wide.code.len();
                wide.fixups.extend(next.fixups.iter().map(|(at, to)| (at + before, *to)));
                wide.code.extend(&next.code);
                wide.count += next.count;
                wide.rules.extend(&next.rules);
                wide.scratch_registers.extend(&next.scratch_registers);
                taken += 1;
            }
            None => {
                wide.code.extend(stream.inst(wide.end()));
                wide.count += 1;
            }
        }
    }
    while view.is_closed()
        && room(&wide) < size as u64
        && wide.first > block.first.max(free_from)
        && let Some(before) = stream.inst(wide.first - 1).filter(|it| may_move(it, false))
    {
        wide.fixups.iter_mut().for_each(|fixup| fixup.0 += 1);
        wide.code.insert(0, before);
        wide.first -= 1;
        wide.count += 1;
    }
    let (first, end) = (wide.first, wide.end());
    (wide, Taken { windows: taken, first, end })
}

/// Whether an instruction does the same elsewhere; the end of the wave does, if nothing has to follow it.
pub(super) fn may_move(inst: &Inst, is_last: bool) -> bool {
    let name = inst.mnemonic();
    let flows = match inst.flow() {
        Flow::Next => true,
        Flow::End => is_last,
        _ => false,
    };
    flows && !is_bound(name)
}

/// What reads the program counter, and what groups the instructions after it: all are scalar instructions.
fn is_bound(name: &str) -> bool {
    let Some(scalar) = name.strip_prefix("s_") else { return false };
    scalar.contains("_pc")
        || scalar.starts_with("getpc")
        || matches!(scalar, "clause" | "delay_alu")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_meet_are_one() {
        let mut occupied = Occupied::default();
        for range in [5..6, 1..2, 8..9, 4..9, 2..3, 12..14, 0..0] {
            occupied.add(range);
        }
        let has: Vec<usize> = (0..16).filter(|it| occupied.has(*it)).collect();
        assert_eq!(has, [1, 2, 4, 5, 6, 7, 8, 12, 13]);
    }
}
