//! Aligning two sequences: what both have, what only one has.

/// One step of an alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pair {
    /// The same in both: where it is in either.
    Same(usize, usize),
    /// Only in the first.
    Removed(usize),
    /// Only in the second.
    Added(usize),
}

/// How many differences are looked for at a time; sequences that differ more are aligned as far as
/// that goes, and then on from there.
const WINDOW: usize = 1000;

/// An alignment with few differences, by Myers' algorithm.
pub(crate) fn align<T: Eq>(old: &[T], new: &[T]) -> Vec<Pair> {
    let mut pairs = Vec::with_capacity(old.len().max(new.len()));
    let (mut x, mut y) = (0, 0);
    while x < old.len() || y < new.len() {
        let rest = (old.get(x..).unwrap_or_default(), new.get(y..).unwrap_or_default());
        let path = shortest(rest.0, rest.1);
        for pair in &path {
            pairs.push(match *pair {
                Pair::Same(old, new) => Pair::Same(x + old, y + new),
                Pair::Removed(old) => Pair::Removed(x + old),
                Pair::Added(new) => Pair::Added(y + new),
            });
        }
        let old_steps = path.iter().filter(|it| !matches!(it, Pair::Added(_))).count();
        let new_steps = path.iter().filter(|it| !matches!(it, Pair::Removed(_))).count();
        if old_steps + new_steps == 0 {
            break;
        }
        (x, y) = (x + old_steps, y + new_steps);
    }
    // Between what is the same, first all that is gone, then all that has come.
    for run in pairs.chunk_by_mut(|a, b| is_same(a) == is_same(b)) {
        run.sort_by_key(|it| matches!(it, Pair::Added(_)));
    }
    pairs
}

fn is_same(pair: &Pair) -> bool {
    matches!(pair, Pair::Same(..))
}

/// The furthest that paths of each number of differences get, by diagonal.
struct Furthest {
    /// For each number of differences: how far in `old`, on the diagonals from the lowest up.
    rounds: Vec<Vec<usize>>,
}

impl Furthest {
    /// How far the path on a diagonal gets with one difference less, if there is one.
    fn before(&self, round: usize, diagonal: isize) -> Option<usize> {
        let last = round.checked_sub(1)?;
        let at = usize::try_from(diagonal + isize::try_from(last).ok()?).ok()?;
        self.rounds.get(last)?.get(at).copied().filter(|&x| x != usize::MAX)
    }
}

/// The shortest way from the start to the end, or to as far as the window lets see.
fn shortest<T: Eq>(old: &[T], new: &[T]) -> Vec<Pair> {
    let mut seen = Furthest { rounds: Vec::new() };
    let most = (old.len() + new.len()).min(WINDOW);
    for round in 0..=most {
        let width = isize::try_from(round).unwrap_or(isize::MAX);
        let mut row = vec![usize::MAX; 2 * round + 1];
        for diagonal in (-width..=width).step_by(2) {
            let Some(start) = start(&seen, round, diagonal, old.len(), new.len()) else { continue };
            let mut x = start;
            let y = |x: usize| x.wrapping_add_signed(-diagonal);
            while x < old.len() && y(x) < new.len() && old.get(x) == new.get(y(x)) {
                x += 1;
            }
            if let Some(place) =
                usize::try_from(diagonal + width).ok().and_then(|at| row.get_mut(at))
            {
                *place = x;
            }
            if x == old.len() && y(x) == new.len() {
                seen.rounds.push(row);
                return back(&seen, round, diagonal, x, old.len(), new.len());
            }
        }
        seen.rounds.push(row);
    }
    let last = seen.rounds.len().saturating_sub(1);
    let width = isize::try_from(last).unwrap_or(isize::MAX);
    let row = seen.rounds.last().map_or(&[][..], Vec::as_slice);
    let ends = row.iter().zip(-width..).filter(|(x, _)| **x != usize::MAX);
    let best = ends.max_by_key(|(x, diagonal)| **x + (**x).wrapping_add_signed(-diagonal));
    match best {
        Some((&x, diagonal)) => back(&seen, last, diagonal, x, old.len(), new.len()),
        None => Vec::new(),
    }
}

/// Where a path on a diagonal begins, after one more difference than in the last round.
fn start(seen: &Furthest, round: usize, diagonal: isize, old: usize, new: usize) -> Option<usize> {
    if round == 0 {
        return Some(0);
    }
    let removed = seen.before(round, diagonal - 1).map(|x| x + 1).filter(|&x| x <= old);
    let added = seen.before(round, diagonal + 1);
    let added = added.filter(|&x| x.wrapping_add_signed(-diagonal) <= new);
    removed.max(added)
}

/// The pairs of a path, from its end.
fn back(
    seen: &Furthest,
    mut round: usize,
    mut diagonal: isize,
    mut x: usize,
    old: usize,
    new: usize,
) -> Vec<Pair> {
    let mut pairs = Vec::new();
    while let Some(from) = start(seen, round, diagonal, old, new) {
        while x > from {
            x -= 1;
            pairs.push(Pair::Same(x, x.wrapping_add_signed(-diagonal)));
        }
        if round == 0 {
            break;
        }
        let removed = seen.before(round, diagonal - 1).map(|x| x + 1);
        if removed == Some(from) {
            x = from - 1;
            diagonal -= 1;
            pairs.push(Pair::Removed(x));
        } else {
            diagonal += 1;
            pairs.push(Pair::Added(x.wrapping_add_signed(-diagonal)));
        }
        round -= 1;
    }
    pairs.reverse();
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an alignment says of both: it must be them.
    fn check(old: &[u8], new: &[u8]) -> usize {
        let pairs = align(old, new);
        let mut seen = (Vec::new(), Vec::new());
        for pair in &pairs {
            match *pair {
                Pair::Same(x, y) => {
                    assert_eq!(old[x], new[y]);
                    seen.0.push(x);
                    seen.1.push(y);
                }
                Pair::Removed(x) => seen.0.push(x),
                Pair::Added(y) => seen.1.push(y),
            }
        }
        assert!(seen.0.iter().copied().eq(0..old.len()), "{old:?} {new:?} {pairs:?}");
        assert!(seen.1.iter().copied().eq(0..new.len()), "{old:?} {new:?} {pairs:?}");
        pairs.iter().filter(|it| !matches!(it, Pair::Same(..))).count()
    }

    /// The fewest differences, by the table that everybody knows.
    fn fewest(old: &[u8], new: &[u8]) -> usize {
        let mut row: Vec<usize> = (0..=new.len()).collect();
        for (x, gone) in old.iter().enumerate() {
            let mut next = vec![x + 1];
            for (y, come) in new.iter().enumerate() {
                let same = if gone == come { row[y] } else { usize::MAX };
                next.push(same.min(row[y + 1] + 1).min(next[y] + 1));
            }
            row = next;
        }
        row[new.len()]
    }

    #[test]
    fn alignments_have_the_fewest_differences() {
        let mut state = 7_u32;
        let mut random = |end: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state / 65_536 % end
        };
        for _ in 0..2000 {
            let (a, b) = (random(12), random(12));
            let old: Vec<u8> = (0..a).map(|_| u8::try_from(random(3)).unwrap()).collect();
            let new: Vec<u8> = (0..b).map(|_| u8::try_from(random(3)).unwrap()).collect();
            assert_eq!(check(&old, &new), fewest(&old, &new), "{old:?} {new:?}");
        }
    }

    #[test]
    fn sequences_with_nothing_in_common_are_aligned_too() {
        let (old, new) = (vec![1; 3 * WINDOW], vec![2; 2 * WINDOW]);
        assert_eq!(check(&old, &new), 5 * WINDOW);
        assert_eq!(check(&[], &new), new.len());
        assert_eq!(check(&old, &old), 0);
    }
}
