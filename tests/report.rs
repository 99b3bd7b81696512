//! `hsaco report`, in a real browser and against what the other verbs say.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "report/hostile.rs"]
mod hostile;
#[path = "report/library.rs"]
mod library;
#[path = "report/numbers.rs"]
mod numbers;
#[path = "report/object.rs"]
mod object;
#[path = "report/picture.rs"]
mod picture;
#[path = "report/runs.rs"]
mod runs;

use std::path::{Path, PathBuf};

use hsaco_tests::browser::Browser;
use hsaco_tests::fixtures_dir;
use hsaco_tests::program::hsaco_command;
use serde_json::Value;

/// Makes a report with these arguments, in the folder of fixtures: pages show the names that files are given.
fn report(folder: &Path, name: &str, arguments: &[&str]) -> PathBuf {
    report_in(&fixtures_dir(), folder, name, arguments)
}

fn report_in(place: &Path, folder: &Path, name: &str, arguments: &[&str]) -> PathBuf {
    let path = folder.join(name);
    let mut command = hsaco_command();
    let ran = command
        .current_dir(place)
        .arg("report")
        .args(arguments)
        .arg("-o")
        .arg(&path)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    path
}

/// What a verb answers in JSON.
fn answer(arguments: &[&str]) -> Value {
    let mut command = hsaco_command();
    command.current_dir(fixtures_dir()).args(arguments).args(["--format", "json"]);
    let ran = command.output().unwrap();
    let code = ran.status.code();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(matches!(code, Some(0 | 1)), "{arguments:?}: {code:?} {said}");
    serde_json::from_slice(&ran.stdout).unwrap()
}

/// Opens a report and waits until it is drawn.
fn open(browser: &Browser, path: &Path) {
    browser.open(path);
    browser.wait("document.body?.dataset.ready");
}

/// Opens the page of a kernel by a part of its name, with a tab.
fn open_kernel(browser: &Browser, name: &str, tab: &str) {
    let found = browser.js_with(
        "const row = report.kernels.find(it => it.demangled.includes(arguments[0]));
         if (row) location.hash = `kernel=${row.number}&tab=${arguments[1]}`;
         return row?.number ?? null",
        serde_json::json!([name, tab]),
    );
    assert!(!found.is_null(), "no {name}");
    browser.wait(&format!(
        "document.querySelector('#tab-{tab}')?.getAttribute('aria-selected') === 'true' \
         && document.querySelector('#panel')?.childElementCount > 0"
    ));
}

/// Nothing was said on the console, and nothing was asked of any network.
fn assert_quiet(browser: &Browser) {
    assert_eq!(browser.console(), Vec::<String>::new());
    let strangers = browser.requests();
    let is_own = |it: &String| {
        it.starts_with("file:///") || it.starts_with("data:") || it.starts_with("blob:null/")
    };
    let strangers: Vec<_> = strangers.into_iter().filter(|it| !is_own(it)).collect();
    assert_eq!(strangers, Vec::<String>::new());
}
