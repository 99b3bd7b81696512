//! `docs/kerneldb.md` names a test for each row of what kernelDB's users have and need, and each such test.

use std::collections::BTreeSet;
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
    let mut rows: Vec<String> = (1..=21).map(|it| format!("a{it}")).collect();
    rows.extend((1..=22).map(|it| format!("b{it}")));
    rows.extend(LACKING.iter().map(|it| format!("c{it}")));
    rows.extend(COMMITS.iter().map(|it| format!("lazy_{it}")));
    rows.push("lazy_b1a6965".to_owned());
    rows
}

/// The row that a test is of, by the beginning of its name.
fn row_of(test: &str) -> Option<String> {
    let name = test.strip_prefix("test_").unwrap_or(test);
    rows()
        .into_iter()
        .find(|row| name.strip_prefix(row.as_str()).is_some_and(|it| it.starts_with('_')))
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

/// The tests of rows, in all sources.
fn tests() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for path in sources() {
        for line in fs::read_to_string(path).unwrap().lines() {
            let line = line.trim_start();
            let name = line.strip_prefix("fn ").or_else(|| line.strip_prefix("def "));
            let name = name.and_then(|it| it.split('(').next());
            found.extend(name.filter(|it| row_of(it).is_some()).map(str::to_owned));
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
        let id = row.strip_prefix("lazy_").map_or(row.to_uppercase(), str::to_owned);
        let line = page.lines().find(|it| it.starts_with(&format!("| {id} |")));
        let line = line.unwrap_or_else(|| panic!("docs/kerneldb.md has no row {id}"));
        let named: Vec<_> =
            line.split('`').filter(|it| tests.contains(*it)).map(str::to_owned).collect();
        assert!(
            named.iter().any(|it| row_of(it).as_deref() == Some(row.as_str())),
            "{id}: no test of it in {line}"
        );
        listed.extend(named);
    }
    let missing: Vec<_> = tests.difference(&listed).collect();
    assert!(missing.is_empty(), "docs/kerneldb.md does not name {missing:?}");
}
