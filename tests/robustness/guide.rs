//! docs/guide.md: its examples are run, and print what it shows.
//!
//! They are run by a shell, from the first to the last, in a folder with the fixtures and the files of `hsaco demo`.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use hsaco_tests::program::{hsaco_binary, run};
use hsaco_tests::{fixtures_dir, scratch_dir, workspace_root};

const PAGE: &str = include_str!("../../docs/guide.md");
/// Stands for any number of lines.
const LEFT_OUT: &str = "…";

/// A command, and the lines that the page shows below it.
struct Example<'p> {
    command: &'p str,
    shown: Vec<&'p str>,
}

fn examples() -> Vec<Example<'static>> {
    let mut examples: Vec<Example<'static>> = Vec::new();
    let blocks = PAGE.split("```console\n").skip(1).filter_map(|it| it.split("```").next());
    for line in blocks.flat_map(str::lines) {
        match (line.strip_prefix("$ "), examples.last_mut()) {
            (Some(command), _) => examples.push(Example { command, shown: Vec::new() }),
            (None, Some(example)) => example.shown.push(line),
            (None, None) => panic!("no command before {line}"),
        }
    }
    examples
}

fn is_as_shown(shown: &[&str], printed: &[&str]) -> bool {
    match (shown, printed) {
        ([], []) => true,
        ([first, rest @ ..], _) if *first == LEFT_OUT => {
            (0..=printed.len()).any(|skipped| is_as_shown(rest, &printed[skipped..]))
        }
        ([first, shown @ ..], [line, printed @ ..]) => first == line && is_as_shown(shown, printed),
        _ => false,
    }
}

fn copy_files(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
    }
}

#[test]
fn the_examples_print_what_the_page_shows() {
    let scratch = scratch_dir();
    let folder = scratch.path();
    copy_files(&fixtures_dir(), folder);
    copy_files(&workspace_root().join("crates/cli/demo"), folder);
    let binary = hsaco_binary().unwrap();
    let path = format!("{}:{}", binary.parent().unwrap().display(), env::var("PATH").unwrap());
    let mut wrong = Vec::new();
    for Example { command, shown } in examples() {
        let script = format!("exec 2>&1; {command}");
        let ran =
            run(Command::new("sh").args(["-c", &script]).current_dir(folder).env("PATH", &path));
        let printed: Vec<&str> = ran.text().lines().collect();
        if !is_as_shown(&shown, &printed) {
            wrong.push(format!("$ {command}\n{}", ran.text()));
        }
    }
    assert!(wrong.is_empty(), "the page shows something else:\n{}", wrong.join("\n"));
    assert!(examples().len() > 30);
}
