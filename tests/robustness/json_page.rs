//! docs/json.md: every verb that answers in JSON has a section, and the section names every key of the answer. The
//! Python tests hold the same answers against docs/hsaco.schema.json.

use std::collections::BTreeSet;
use std::fs;

use hsaco::container::Container;
use hsaco_tests::program::{hsaco, hsaco_command, run, verbs};
use hsaco_tests::{fixtures_dir, scratch_dir};
use serde_json::Value;

const PAGE: &str = include_str!("../../docs/json.md");

/// Commands whose answers have all keys between them, a line each, run in the folder of the fixtures. OUT is a folder with
/// `end.s`, a line of assembly, and `arguments.bin`, the arguments of a kernel.
const COMMANDS: &str = include_str!("json_commands.txt");

/// Keys that belong to the input and not to the schema: those below them are not collected.
const FOREIGN: &[&str] =
    &["content", "descriptor_fields", "value", "unknown", "exact", "silicon", "approximate"];

fn section(verb: &str) -> Option<&'static str> {
    let start = PAGE.find(&format!("\n## `{verb}`\n"))? + 1;
    let rest = &PAGE[start..];
    Some(&rest[..rest[1..].find("\n## ").map_or(rest.len(), |it| it + 1)])
}

fn common() -> &'static str {
    let start = PAGE.find("\n## All verbs\n").unwrap() + 1;
    let rest = &PAGE[start..];
    &rest[..rest[1..].find("\n## ").unwrap() + 1]
}

fn collect(value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|it| collect(it, keys)),
        // The metadata of a kernel: its keys have a dot.
        Value::Object(map) if map.keys().any(|key| key.starts_with('.')) => {}
        Value::Object(map) => {
            for (key, value) in map {
                keys.insert(key.clone());
                if !FOREIGN.contains(&key.as_str()) {
                    collect(value, keys);
                }
            }
        }
        _ => {}
    }
}

/// A section, what all verbs have, and the sections that it refers to with "as in".
fn sections(verb: &str) -> Vec<&'static str> {
    let own = section(verb).unwrap_or_else(|| panic!("no section `{verb}`"));
    let referred = own.split("as in `").skip(1).filter_map(|rest| section(rest.split('`').next()?));
    [own, common()].into_iter().chain(referred).collect()
}

fn names(text: &str, key: &str) -> bool {
    text.contains(&format!("`{key}`")) || text.contains(&format!("`{key}[]`"))
}

#[test]
fn the_page_names_every_key() {
    let scratch = scratch_dir();
    fs::write(scratch.path().join("end.s"), "s_endpgm\n").unwrap();
    fs::write(scratch.path().join("arguments.bin"), [0; 16]).unwrap();
    let mut missing = Vec::new();
    for command in COMMANDS.lines() {
        let words = command.replace("OUT", scratch.path().to_str().unwrap());
        let words = words.split_whitespace().chain(["--format", "json"]);
        let ran = run(hsaco_command().args(words).current_dir(fixtures_dir()));
        let answer: Value = serde_json::from_slice(&ran.stdout)
            .unwrap_or_else(|error| panic!("{command}: {error}: {}", ran.stderr));
        assert_eq!(answer["schema_version"], 1, "{command}");
        let mut keys = BTreeSet::new();
        collect(&answer, &mut keys);
        let sections = sections(command.split(' ').next().unwrap());
        keys.retain(|key| key != "schema_version" && !sections.iter().any(|it| names(it, key)));
        missing.extend(keys.iter().map(|key| format!("{command}: {key}")));
    }
    assert!(missing.is_empty(), "docs/json.md does not name\n{}", missing.join("\n"));
}

#[test]
fn the_page_names_every_key_of_the_bundle_manifest() {
    let scratch = scratch_dir();
    let folder = scratch.path().join("parts");
    let ran = run(hsaco_command()
        .arg("extract")
        .arg("zstd-v3.bundle")
        .arg("-o")
        .arg(&folder)
        .current_dir(fixtures_dir()));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let manifest: Value =
        serde_json::from_slice(&fs::read(folder.join("zstd-v3.hsaco.json")).unwrap()).unwrap();
    let mut keys = BTreeSet::new();
    collect(&manifest, &mut keys);
    let section = section("extract").unwrap();
    keys.retain(|key| key != "schema_version" && !names(section, key));
    assert!(keys.is_empty(), "{keys:?}");
}

#[test]
fn every_verb_that_answers_in_json_has_a_section_and_is_run() {
    let mut answering = verbs();
    answering.retain(|verb| hsaco([verb, "--help"]).text().contains("--format"));
    assert!(answering.len() > 20, "{answering:?}");
    let is_run = |verb: &str| COMMANDS.lines().any(|it| it.split(' ').next() == Some(verb));
    answering.retain(|verb| section(verb).is_none() || !is_run(verb));
    assert!(
        answering.is_empty(),
        "no section of docs/json.md or no line of COMMANDS: {answering:?}"
    );
}

#[test]
fn the_page_names_every_container() {
    let row = common().lines().find(|line| line.starts_with("| `container` |")).unwrap();
    let missing: Vec<_> = Container::ALL.iter().filter(|it| !names(row, it.name())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
