//! Names that are most like one that is not there.

use strsim::levenshtein;

/// How many names are worth offering.
const OFFERED: usize = 3;
/// Names are compared by this many of their first characters: the work is quadratic.
const COMPARED: usize = 200;

/// The three names that hold the one wanted, else those with the fewest edits, nearest first; names that come first win.
pub(crate) fn nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let beginning = |name: &str| name.chars().take(COMPARED).collect::<String>();
    let letters = beginning(wanted);
    let mut best: Vec<((bool, usize), &str)> = Vec::with_capacity(OFFERED + 1);
    for name in names {
        let distance = (!name.contains(wanted), levenshtein(&letters, &beginning(name)));
        let at = best.partition_point(|(known, _)| *known <= distance);
        if at < OFFERED {
            best.insert(at, (distance, name));
            best.truncate(OFFERED);
        }
    }
    best.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_are_offered_nearest_first() {
        let names = ["matmul", "softmax", "attention", "matmul_bf16", "add"];
        assert_eq!(nearest("matmull", names.into_iter()), ["matmul", "matmul_bf16", "softmax"]);
        assert_eq!(nearest("x", ["add"].into_iter()), ["add"]);
        assert_eq!(nearest("max", names.into_iter()), ["softmax", "add", "matmul"]);
    }
}
