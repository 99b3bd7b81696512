//! SARIF holds to its schema, with whatever was found.

use std::fs;
use std::process::{Command, Stdio};

use hsaco_tests::program::hsaco_command;
use hsaco_tests::{corpus_dir, corpus_file, fixture, require_tools, scratch_dir};

const VALIDATE: &str = "
import json, sys, jsonschema
schema, document = (json.load(open(path)) for path in sys.argv[1:])
jsonschema.Draft7Validator(schema).validate(document)
print(len(document['runs'][0]['results']))
";

#[test]
fn sarif_is_valid() {
    require_tools!("python3");
    let Some(schema) = corpus_file("sarif/sarif-schema-2.1.0.json") else { return };
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
