//! docs/tables.md: every column of every table is documented, under a name that stays.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use hsaco_describe::tables;

const MARK: &str = "<!-- The rest is written by a test";

/// The tables as the page has them.
fn documented() -> String {
    let mut page = String::new();
    for it in tables::all() {
        writeln!(
            page,
            "\n## `{}`\n\nA row is {}.\n\n| column | type | meaning |\n|---|---|---|",
            it.table, it.row
        )
        .unwrap();
        for column in it.columns {
            writeln!(page, "| `{}` | {} | {} |", column.name, column.ty.name(), column.about)
                .unwrap();
        }
    }
    page
}

#[test]
fn the_page_has_every_column() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/tables.md");
    let page = fs::read_to_string(&path).unwrap();
    let start = page.find(MARK).unwrap();
    let end = start + page[start..].find('\n').unwrap() + 1;
    let (head, tail) = page.split_at(end);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, format!("{head}{}", documented())).unwrap();
    } else {
        assert_eq!(tail, documented(), "BLESS=1 writes the page");
    }
}

#[test]
fn names_are_words_of_the_language_and_each_is_there_once() {
    for it in tables::all() {
        let mut names: Vec<&str> = it.columns.iter().map(|it| it.name).collect();
        let is_word = |name: &&str| name.chars().all(|it| it.is_ascii_lowercase() || it == '_');
        assert!(names.iter().all(is_word), "{names:?}");
        assert!(!names.iter().any(|it| ["and", "or", "not", "true", "false", "null"].contains(it)));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{}", it.table);
    }
}
