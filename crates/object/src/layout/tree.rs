//! Ranges within ranges, and what is left of them when each byte may count but once.

use std::ops::Range;

use super::{Kind, Owner, Piece};

/// Spans with spans within them; the first one is all there is.
pub(super) struct Tree {
    spans: Vec<Span>,
}

struct Span {
    outer: usize,
    range: Range<u64>,
    /// Of the bytes that no inner span takes, if there is no inner span at all.
    owner: Owner,
    /// What they are if there is one.
    gap: Kind,
    weak: bool,
}

/// A span on the way from its first byte to its last.
struct Frame {
    span: usize,
    /// The next inner span, by its place in the order.
    next: usize,
    cursor: u64,
    end: u64,
    /// True once an inner span has taken bytes.
    divided: bool,
}

impl Tree {
    pub(super) fn new(size: u64, owner: Owner, gap: Kind) -> Self {
        let outer = usize::MAX;
        Self { spans: vec![Span { outer, range: 0..size, owner, gap, weak: false }] }
    }

    /// Adds a span, and answers its number.
    pub(super) fn add(
        &mut self,
        outer: usize,
        range: Range<u64>,
        owner: Owner,
        gap: Kind,
    ) -> usize {
        self.spans.push(Span { outer, range, owner, gap, weak: false });
        self.spans.len() - 1
    }

    /// Adds a span that gives way to one that is not weak and begins at the same byte.
    pub(super) fn add_weak(&mut self, outer: usize, range: Range<u64>, owner: Owner) {
        let gap = owner.kind;
        self.spans.push(Span { outer, range, owner, gap, weak: true });
    }

    pub(super) fn start(&self, span: usize) -> u64 {
        self.spans.get(span).map_or(0, |span| span.range.start)
    }

    pub(super) fn size(&self) -> u64 {
        self.spans.first().map_or(0, |span| span.range.end)
    }

    /// Every byte of the first span once, in order. Of inner spans that overlap, the one that
    /// begins first has the bytes, of those that begin together the one that was added first.
    pub(super) fn flatten(&self) -> Vec<Piece> {
        let order = self.order();
        let mut first_inner = vec![order.len(); self.spans.len()];
        for (at, span) in order.iter().enumerate().rev() {
            let outer = self.spans.get(*span).map_or(usize::MAX, |span| span.outer);
            if let Some(first) = first_inner.get_mut(outer) {
                *first = at;
            }
        }
        let frame = |span: usize, range: Range<u64>| Frame {
            span,
            next: first_inner.get(span).copied().unwrap_or(usize::MAX),
            cursor: range.start,
            end: range.end,
            divided: false,
        };
        let mut pieces = Vec::with_capacity(self.spans.len());
        let mut stack = vec![frame(0, 0..self.size())];
        while let Some(top) = stack.last_mut() {
            let inner = order.get(top.next).copied();
            let inner = inner.and_then(|at| Some((at, self.spans.get(at)?)));
            let Some((at, inner)) = inner.filter(|(_, inner)| inner.outer == top.span) else {
                self.push(&mut pieces, top, top.end);
                stack.pop();
                continue;
            };
            top.next += 1;
            let range = inner.range.start.max(top.cursor)..inner.range.end.min(top.end);
            if range.is_empty() {
                continue;
            }
            top.divided = true;
            self.push(&mut pieces, top, range.start);
            top.cursor = range.end;
            stack.push(frame(at, range));
        }
        pieces
    }

    /// The spans by the span around them, then by where they begin.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<_> = (0..self.spans.len()).collect();
        order.sort_by_cached_key(|&at| {
            self.spans.get(at).map(|it| (it.outer, it.range.start, it.weak))
        });
        order
    }

    /// The bytes from the frame's cursor to `end`, which are its span's own.
    fn push(&self, pieces: &mut Vec<Piece>, frame: &Frame, end: u64) {
        let Some(span) = self.spans.get(frame.span) else { return };
        if frame.cursor < end {
            let kind = if frame.divided { span.gap } else { span.owner.kind };
            let owner = Owner { kind, ..span.owner.clone() };
            pieces.push(Piece { range: frame.cursor..end, owner });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(spans: &[(usize, Range<u64>, Kind)], expected: &[(Range<u64>, Kind)]) {
        let mut tree = Tree::new(100, Owner::new(Kind::Unknown), Kind::Padding);
        for (outer, range, kind) in spans {
            tree.add(*outer, range.clone(), Owner::new(*kind), Kind::BundlePadding);
        }
        let found: Vec<_> =
            tree.flatten().into_iter().map(|it| (it.range, it.owner.kind)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn nothing_within() {
        check(&[], &[(0..100, Kind::Unknown)]);
        check(&[(0, 7..7, Kind::Code)], &[(0..100, Kind::Unknown)]);
        check(&[(0, 100..u64::MAX, Kind::Code)], &[(0..100, Kind::Unknown)]);
    }

    #[test]
    fn gaps_on_every_level() {
        check(
            &[(0, 10..60, Kind::Section), (1, 20..30, Kind::Code), (0, 70..80, Kind::Metadata)],
            &[
                (0..10, Kind::Padding),
                (10..20, Kind::BundlePadding),
                (20..30, Kind::Code),
                (30..60, Kind::BundlePadding),
                (60..70, Kind::Padding),
                (70..80, Kind::Metadata),
                (80..100, Kind::Padding),
            ],
        );
    }

    #[test]
    fn the_first_to_begin_has_the_bytes() {
        check(
            &[
                (0, 40..200, Kind::Section),
                (0, 10..50, Kind::Code),
                (1, 30..45, Kind::Metadata),
                (1, 60..70, Kind::Function),
                (0, 45..48, Kind::Symbols),
            ],
            &[
                (0..10, Kind::Padding),
                (10..50, Kind::Code),
                (50..60, Kind::BundlePadding),
                (60..70, Kind::Function),
                (70..100, Kind::BundlePadding),
            ],
        );
    }

    #[test]
    fn the_weak_give_way() {
        let mut tree = Tree::new(10, Owner::new(Kind::Unknown), Kind::Padding);
        tree.add_weak(0, 0..10, Owner::new(Kind::Member));
        tree.add(0, 0..8, Owner::new(Kind::Compressed), Kind::Compressed);
        let found: Vec<_> =
            tree.flatten().into_iter().map(|it| (it.range, it.owner.kind)).collect();
        assert_eq!(found, [(0..8, Kind::Compressed), (8..10, Kind::Member)]);
    }
}
