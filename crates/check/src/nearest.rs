//! Names that are most like one that is not there.

/// How many names are worth offering.
const OFFERED: usize = 3;
/// Names are compared by this many of their first characters: the work is quadratic.
const COMPARED: usize = 200;

/// The three names that hold the one wanted, else those with the fewest edits, nearest first; names that come first win.
pub(crate) fn nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let letters: Vec<char> = wanted.chars().take(COMPARED).collect();
    let mut best: Vec<((bool, usize), &str)> = Vec::with_capacity(OFFERED + 1);
    for name in names {
        let distance = (!name.contains(wanted), edits(&letters, name));
        let at = best.partition_point(|(known, _)| *known <= distance);
        if at < OFFERED {
            best.insert(at, (distance, name));
            best.truncate(OFFERED);
        }
    }
    best.into_iter().map(|(_, name)| name).collect()
}

/// How many characters to insert, remove or replace.
fn edits(from: &[char], to: &str) -> usize {
    let mut row: Vec<usize> = (0..=from.len()).collect();
    for (line, letter) in to.chars().take(COMPARED).enumerate() {
        let mut corner = line;
        let mut left = line + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (above, other) in row.iter_mut().skip(1).zip(from) {
            let replaced = corner + usize::from(letter != *other);
            corner = *above;
            left = replaced.min(corner + 1).min(left + 1);
            *above = left;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        let count = |from: &str, to: &str| edits(&from.chars().collect::<Vec<_>>(), to);
        assert_eq!(count("", ""), 0);
        assert_eq!(count("", "abc"), 3);
        assert_eq!(count("abc", ""), 3);
        assert_eq!(count("kitten", "sitting"), 3);
        assert_eq!(count("saturday", "sunday"), 3);
        assert_eq!(count("same", "same"), 0);
    }

    #[test]
    fn three_are_offered_nearest_first() {
        let names = ["matmul", "softmax", "attention", "matmul_bf16", "add"];
        assert_eq!(nearest("matmull", names.into_iter()), ["matmul", "matmul_bf16", "softmax"]);
        assert_eq!(nearest("x", ["add"].into_iter()), ["add"]);
        assert_eq!(nearest("max", names.into_iter()), ["softmax", "add", "matmul"]);
    }
}
