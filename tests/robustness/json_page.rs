//! docs/json.md: every verb that answers in JSON has a section, and the section names every key of the answer.

use std::collections::BTreeSet;
use std::fs;

use hsaco::container::Container;
use hsaco_tests::program::{hsaco, hsaco_command, run, verbs};
use hsaco_tests::{fixtures_dir, scratch_dir};
use serde_json::Value;

const PAGE: &str = include_str!("../../docs/json.md");

/// Commands whose answers have all keys between them, run in the folder of the fixtures. OUT is a folder with
/// `end.s`, a line of assembly, and `arguments.bin`, the arguments of a kernel.
const COMMANDS: &[&str] = &[
    "ls s1.gfx942.co flow.co plain.bundle host-rdc.o",
    "info s1.gfx942.co lds.o v2.co plain.bundle",
    "notes s1.gfx942.co v2.co",
    "args types.co odd-types.co opencl.co",
    "kernarg --registers types.co s1.gfx1250.co s1.no-note.co",
    "kernarg pack -k in_class types.co --arg out=0x1000 --arg inner={\"a\":-2,\"b\":5}",
    "kernarg check OUT/arguments.bin -k in_class types.co",
    "kernarg unpack OUT/arguments.bin -k in_class types.co",
    "packet build --work-items 1024 --workgroup 256 --kernel-object 0x1000",
    "disasm --live s1.gfx942.co odd-names.co",
    "asm -t gfx942 OUT/end.s",
    "lines --inlines lines.dwarf5.co",
    "source --inlines lines.dwarf5.co",
    "query lines.dwarf5.co",
    "cfg --instructions flow.co s1.gfx942.co",
    "calls s1.gfx942.co external.co",
    "calls --together scale-user.co scale-library.co",
    "resources s1.gfx942.co short.co external.co",
    "check --device gfx950 --notes s1.gfx942.co",
    "check s1.gfx942.co short.co --notes --code",
    "symbols --callers s1.gfx942.co external.co lds.o",
    "load --calls --locate 0x7f0000001900 scale-user.co scale-library.co",
    "load external.co",
    "link scale-user.co scale-library.co -o OUT/linked.co",
    "diff s1.v4.co s1.gfx942.co",
    "diff s1.gfx942.co s1.gfx1100.co",
    "diff --resources s1.v4.co s1.v5.co",
    "extract zstd-v3.bundle -o OUT/parts",
    "extract --keep-target gfx942 host.so -o OUT/small.so",
    "patch steppings.co --rules gfx1250-b0-to-a0 -o OUT/a0.co",
    "patch s1.gfx942.co --count entries -o OUT/counted.co",
    "patch flow.co --call entries=count --dry-run",
    "rules",
    "run -k none --grid 1 --workgroup 64 s1.gfx942.co",
    "size s1.gfx942.co zstd-v3.bundle host.a",
    "size --duplicates back-to-back.bundle",
];

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
    for command in COMMANDS {
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
    let is_run = |verb: &str| COMMANDS.iter().any(|it| it.split(' ').next() == Some(verb));
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
