//! SARIF holds to its schema, with whatever was found.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};

use hsaco_tests::program::hsaco_command;
use hsaco_tests::{corpus_dir, corpus_file, fixture, scratch_dir};

const VALIDATE: &str = "
import json, sys, jsonschema
schema, document = (json.load(open(path)) for path in sys.argv[1:])
jsonschema.Draft7Validator(schema).validate(document)
print(len(document['runs'][0]['results']))
";

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn sarif_is_valid() {
    let schema = corpus_file("sarif/sarif-schema-2.1.0.json");
    let dir = scratch_dir();
    let document = dir.path().join("findings.sarif");
    for (arguments, file, results) in [
        (["--code", "--notes"], "short.co", "6"),
        (["--device", "gfx950"], "s1.gfx942.co", "1"),
        (["--device", "gfx942"], "s1.gfx942.co", "0"),
        (["--budget", "vgprs <= 1"], "lines.dwarf5.co", "4"),
    ] {
        let mut check = hsaco_command();
        check
            .arg("check")
            .args(arguments)
            .args(["--format", "sarif", "-o"])
            .arg(&document)
            .arg(fixture(file));
        check.status().unwrap();
        let python = Command::new("python3")
            .args(["-c", VALIDATE])
            .arg(&schema)
            .arg(&document)
            .env("PYTHONPATH", corpus_dir().join("sarif/library"))
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        let shown = fs::read_to_string(&document).unwrap();
        assert!(python.status.success(), "{file}: {shown}");
        assert_eq!(String::from_utf8(python.stdout).unwrap().trim(), results, "{file}: {shown}");
    }
}

/// The results of a run, as JSON.
fn results(arguments: &[&str], file: &str) -> Vec<serde_json::Value> {
    let mut check = hsaco_command();
    check.arg("check").args(arguments).args(["--format", "sarif"]).arg(fixture(file));
    let document: serde_json::Value =
        serde_json::from_slice(&check.output().unwrap().stdout).unwrap();
    document["runs"][0]["results"].as_array().unwrap().clone()
}

#[test]
fn results_name_kernel_and_target_and_have_fingerprints_of_their_own() {
    let arguments = ["--budget", "vgprs <= 0"];
    let found = results(&arguments, "plain.bundle");
    assert!(found.len() > 1, "{}", found.len());
    let mut prints = BTreeSet::new();
    for result in &found {
        let text = result["message"]["text"].as_str().unwrap();
        let target = result["properties"]["target"].as_str().unwrap();
        let kernel = result["locations"][0]["logicalLocations"][0]["name"].as_str().unwrap();
        assert!(text.starts_with(&format!("{kernel} ({target}): ")), "{text}");
        let print = result["partialFingerprints"]["hsaco/v2"].as_str().unwrap();
        assert!(print.contains(target) && print.contains("plain.bundle|"), "{print}");
        assert!(prints.insert(print.to_owned()), "twice: {print}");
        let hash = result["partialFingerprints"]["primaryLocationLineHash"].as_str().unwrap();
        assert!(prints.insert(hash.to_owned()), "twice: {hash}");
    }
    assert_eq!(results(&arguments, "plain.bundle"), found);
}

#[test]
fn annotations_have_readable_names_and_the_target() {
    let mut check = hsaco_command();
    check
        .args(["check", "--budget", "vgprs <= 0", "--format", "github"])
        .arg(fixture("mangled.co"));
    let text = String::from_utf8(check.output().unwrap().stdout).unwrap();
    assert!(text.lines().count() > 0, "{text}");
    for line in text.lines() {
        let message = line.splitn(3, "::").nth(2).unwrap();
        assert!(!message.starts_with("_Z"), "{line}");
        assert!(message.contains(" (gfx"), "{line}");
    }
    let found = results(&["--budget", "vgprs <= 0"], "mangled.co");
    let logical = &found[0]["locations"][0]["logicalLocations"][0];
    assert!(logical["decoratedName"].as_str().unwrap().starts_with("_Z"), "{logical}");
}
