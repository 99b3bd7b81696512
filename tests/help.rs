//! Help: examples of every verb, which run; and signs of life when work is long.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::fs;
use std::process::Command;

use hsaco_tests::program::hsaco_command;
use hsaco_tests::{fixtures_dir, scratch_dir, workspace_root};

/// The verbs, as help lists them.
fn verbs() -> Vec<String> {
    let output = hsaco_command().arg("--help").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let list = text.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.map(|line| line.split_whitespace().next().unwrap().to_owned());
    names.filter(|name| name != "help").collect()
}

#[test]
fn every_verb_has_examples_and_each_runs() {
    let folder = scratch_dir();
    for entry in fs::read_dir(fixtures_dir()).unwrap().map(Result::unwrap) {
        let to = folder.path().join(entry.file_name());
        std::os::unix::fs::symlink(entry.path(), to).unwrap();
    }
    let program = hsaco_command().get_program().to_owned();
    // Cargo puts the runtime of `exec` beside this test.
    let libraries = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let verbs = verbs();
    assert!(verbs.len() > 25, "{verbs:?}");
    for verb in verbs {
        let help = hsaco_command().args([&verb, "--help"]).output().unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        let examples = help.split("Examples:\n").nth(1).unwrap_or_default();
        let commands: Vec<_> = examples.lines().filter_map(|it| it.strip_prefix("  $ ")).collect();
        assert!(!commands.is_empty(), "{verb} has no examples");
        for command in commands {
            // The shell that people type them into.
            let line = command.replacen("hsaco ", "\"$HSACO\" ", 1);
            let mut shell = Command::new("sh");
            shell
                .args(["-c", &line])
                .env("HSACO", &program)
                .env("HSACO_RUNTIME", &libraries)
                .current_dir(folder.path());
            let output = shell.output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{command}: {stderr}");
        }
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn work_of_more_than_two_seconds_shows_on_a_terminal() {
    let script = workspace_root().join("tests/progress.py");
    let output = Command::new("python3")
        .arg(script)
        .arg(hsaco_command().get_program())
        .arg(fixtures_dir().join("s1.gfx942.co"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text, "terminal, long: shown\nterminal, short: nothing\nfile, long: nothing\n");
}
