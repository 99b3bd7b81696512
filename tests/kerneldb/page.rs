//! `docs/kerneldb.md` names a test for each row of what kernelDB's users have and need, and each such test.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use hsaco_tests::workspace_root;

/// The commits of kernelDB's lazy loading whose defects are tests here.
const COMMITS: [&str; 18] = [
    "4d319f3", "43a64b7", "cc748e9", "1ade35d", "bc652ec", "e368f69", "af065a9", "6164517",
    "6d7ff8a", "a8b87df", "4574fef", "d2ec18f", "c023a62", "98a2bfa", "4e899dc", "c0eb9a1",
    "587a1a4", "6b5bc6b",
];

/// What kernelDB lacks and this project has.
const LACKING: [usize; 15] = [1, 5, 6, 7, 8, 9, 10, 11, 12, 16, 17, 18, 19, 21, 22];

fn rows() -> Vec<String> {
    let mut rows: Vec<String> = (1..=21).map(|it| format!("A{it}")).collect();
    rows.extend((1..=22).map(|it| format!("B{it}")));
    rows.extend(LACKING.iter().map(|it| format!("C{it}")));
    rows.extend(COMMITS.iter().map(|it| (*it).to_owned()));
    rows.push("b1a6965".to_owned());
    rows
}

/// The row that a comment above a test names: `Row B17 of docs/kerneldb.md.`
fn row_of(line: &str) -> Option<&str> {
    let comment = line.strip_prefix("/// ").or_else(|| line.strip_prefix("# "))?;
    comment.strip_prefix("Row ")?.strip_suffix(" of docs/kerneldb.md.")
}

fn sources() -> Vec<PathBuf> {
    let folders = ["tests", "tests/kerneldb", "crates/py/tests", "crates/db/src"];
    let mut found = Vec::new();
    for folder in folders {
        for entry in fs::read_dir(workspace_root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|it| it == "rs" || it == "py") {
                found.push(path);
            }
        }
    }
    found
}

/// The tests that name a row, in all sources, with their rows.
fn tests() -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in sources() {
        let text = fs::read_to_string(path).unwrap();
        let mut row = None;
        for line in text.lines().map(str::trim_start) {
            row = row_of(line).or(row);
            let name = line.strip_prefix("fn ").or_else(|| line.strip_prefix("def "));
            let name = name.and_then(|it| it.split('(').next());
            if let Some((name, row)) = name.and_then(|name| Some((name, row.take()?))) {
                found.entry(name.to_owned()).or_default().insert(row.to_owned());
            }
        }
    }
    found
}

#[test]
fn the_page_has_every_row_and_every_row_a_test() {
    let page = fs::read_to_string(workspace_root().join("docs/kerneldb.md")).unwrap();
    let tests = tests();
    let mut listed = BTreeSet::new();
    for row in rows() {
        let line = page.lines().find(|it| it.starts_with(&format!("| {row} |")));
        let line = line.unwrap_or_else(|| panic!("docs/kerneldb.md has no row {row}"));
        let named = || line.split('`').filter(|it| tests.contains_key(*it));
        assert!(named().any(|it| tests[it].contains(&row)), "{row}: no test of it in {line}");
        listed.extend(named().map(str::to_owned));
    }
    let missing: Vec<_> = tests.keys().filter(|it| !listed.contains(*it)).collect();
    assert!(missing.is_empty(), "docs/kerneldb.md does not name {missing:?}");
}
