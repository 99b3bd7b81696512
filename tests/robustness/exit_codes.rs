//! docs/exit-codes.md: each row of its tables is run.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use hsaco_tests::program::{hsaco_command, run, verbs};
use hsaco_tests::{fixtures_dir, scratch_dir};

const PAGE: &str = include_str!("../../docs/exit-codes.md");

/// One command of the page, and what it must come to.
struct Row<'p> {
    words: Vec<&'p str>,
    exit: i32,
    says: &'p str,
}

fn rows() -> Vec<Row<'static>> {
    PAGE.lines().filter_map(row).collect()
}

fn row(line: &'static str) -> Option<Row<'static>> {
    let mut cells = line.trim_matches('|').split(" | ").skip(1);
    let command = cells.next()?.strip_prefix("`hsaco ")?.strip_suffix('`')?;
    let exit = cells.next()?.parse().unwrap();
    let says = cells.next().unwrap_or_default().trim();
    Some(Row { words: command.split_whitespace().collect(), exit, says })
}

/// A folder with the files that the page speaks of.
fn fill(folder: &Path) {
    for entry in fs::read_dir(fixtures_dir()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
        }
    }
    let object = fs::read(folder.join("s1.gfx942.co")).unwrap();
    fs::write(folder.join("cut.co"), &object[..600]).unwrap();
    fs::write(folder.join("text.txt"), "hello\n").unwrap();
    fs::write(folder.join("bad.s"), "v_bogus v1\n").unwrap();
    fs::write(folder.join("short.bin"), [0; 8]).unwrap();
    fs::write(folder.join("host.o"), host_object()).unwrap();
    fs::create_dir(folder.join("empty")).unwrap();
}

/// The header of a relocatable file for x86-64 without sections.
fn host_object() -> [u8; 64] {
    let mut header = [0; 64];
    header[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    header[16..24].copy_from_slice(&[1, 0, 62, 0, 1, 0, 0, 0]);
    header[52] = 64;
    header
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn what_was_not_done_ends_as_the_page_says() {
    let scratch = scratch_dir();
    let folder = scratch.path();
    fill(folder);
    let before = names(folder);
    let mut wrong = Vec::new();
    for Row { words, exit, says } in rows() {
        let ran = run(hsaco_command().args(&words).current_dir(folder));
        let command = words.join(" ");
        if ran.code != Some(exit) || !ran.stderr.contains(says) || ran.code == Some(0) {
            wrong.push(format!("{command}: {:?}, wanted {exit}: {}", ran.code, ran.stderr));
        }
        let after = names(folder);
        for new in after.difference(&before) {
            wrong.push(format!("{command}: wrote {new}"));
            let path = folder.join(new);
            fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path)).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_verb_has_a_row() {
    let shown: BTreeSet<&str> = rows().iter().map(|row| row.words[0]).collect();
    let mut missing = verbs();
    missing.retain(|verb| !shown.contains(verb.as_str()));
    assert!(missing.is_empty(), "{missing:?}");
    assert!(rows().len() > 60);
}
