//! Reports of single objects: code beside source, graphs, comparisons, rewriting.

use std::collections::BTreeSet;
use std::fs;

use hsaco_tests::browser::Browser;
use hsaco_tests::program::hsaco_command;
use hsaco_tests::{fixture, scratch_dir};
use serde_json::{Value, json};

use crate::{answer, assert_quiet, open, open_kernel, picture, report, report_in};

/// The addresses of the instructions that are lit.
const LIT: &str = "return [...document.querySelectorAll('.listing .line.lit .address')].map(it => parseInt(it.textContent, 16))";

#[test]
#[cfg_attr(not(browser), ignore = "needs chromium and chromedriver")]
fn source_lines_and_instructions_light_each_other_up() {
    let folder = scratch_dir();
    let (object, map) = ("lines.dwarf5.co", "/src=src");
    let path = report(folder.path(), "lines.html", &[object, "--map", map]);
    let browser = Browser::new(1280, 900);
    open(&browser, &path);
    open_kernel(&browser, "kernel_one", "code");
    let answer = answer(&["source", object, "--inlines", "--map", map]);
    let kernels = answer["files"][0]["objects"][0]["kernels"].as_array().unwrap();
    let kernel =
        kernels.iter().find(|it| it["name"] == json!("_ZN5space10kernel_oneEPfPKN3vec4PairIfEEi"));
    let stretches = kernel.unwrap()["stretches"].as_array().unwrap();
    let lines: BTreeSet<u64> = stretches
        .iter()
        .filter(|it| it["file"] == "/src/lines.hip")
        .filter_map(|it| it["line"].as_u64())
        .collect();
    assert!(lines.len() > 3, "{lines:?}");
    for line in lines {
        let expected: Vec<u64> = stretches
            .iter()
            .filter(|it| it["file"] == "/src/lines.hip" && it["line"] == json!(line))
            .flat_map(|it| it["instructions"].as_array().unwrap())
            .map(|it| it["address"].as_u64().unwrap())
            .collect();
        browser.click(&format!(".source .line[data-line='{line}']"));
        let lit: Vec<u64> = serde_json::from_value(browser.js(LIT)).unwrap();
        let mut sorted = expected.clone();
        sorted.sort_unstable();
        assert!(
            !lit.is_empty() && lit.iter().all(|it| sorted.contains(it)),
            "{line}: {lit:x?} {sorted:x?}"
        );
        let said = browser.text(".detail");
        let count = if sorted.len() == 1 {
            "1 instruction".into()
        } else {
            format!("{} instructions", sorted.len())
        };
        assert!(said.contains(&count), "{line}: {said}");
    }
    // An instruction lights its line up, and tells the calls that brought it there.
    let inlined =
        stretches.iter().find(|it| it["inlined_at"].as_array().is_some_and(|it| !it.is_empty()));
    let inlined = inlined.unwrap();
    let address = inlined["instructions"][0]["address"].as_u64().unwrap();
    browser.js(&format!("location.hash = location.hash.replace(/&at.*/, '') + '&at={address}'"));
    browser.wait("document.querySelector('.listing .line.selected')");
    let line =
        browser.js("return Number(document.querySelector('.source .line.lit')?.dataset.line ?? 0)");
    assert_eq!(line, inlined["line"]);
    let stack = browser.text(".stack");
    assert!(stack.contains(inlined["function"].as_str().unwrap()), "{stack}");
    assert!(stack.contains("inlined into"), "{stack}");
    // Words of instructions are searched for.
    browser.type_into("#search", "s_load");
    assert!(
        browser.text(".panel .found").starts_with("1 of "),
        "{}",
        browser.text(".panel .found")
    );
    browser.click(&format!(".source .line[data-line='{line}']"));
    picture::check(&browser, "code");
    assert_quiet(&browser);
}

#[test]
#[cfg_attr(not(browser), ignore = "needs chromium and chromedriver")]
fn pages_look_as_when_they_were_looked_at() {
    let folder = scratch_dir();
    let path = report(folder.path(), "lines.html", &["lines.dwarf5.co", "--map", "/src=src"]);
    for (picture, tab, width, medium, scheme) in [
        ("occupancy", "occupancy", 1280, "screen", "light"),
        ("arguments", "arguments", 1280, "screen", "light"),
        ("dark", "code", 1280, "screen", "dark"),
        ("narrow", "code", 500, "screen", "light"),
        ("print", "code", 1280, "print", "light"),
    ] {
        let browser = Browser::new(width, 900);
        browser.emulate(medium, scheme);
        open(&browser, &path);
        open_kernel(&browser, "kernel_one", tab);
        picture::check(&browser, picture);
        assert_quiet(&browser);
    }
}

#[test]
#[cfg_attr(not(browser), ignore = "needs chromium and chromedriver")]
fn a_hand_written_object_has_code_and_a_graph_that_zooms() {
    let folder = scratch_dir();
    let object = "flow.co";
    let path = report(folder.path(), "flow.html", &[object]);
    let browser = Browser::new(1280, 900);
    open(&browser, &path);
    assert_eq!(browser.js("return report.kernels.every(it => it.kind)"), json!(true));
    // The one with the most blocks.
    let flow = answer(&["cfg", object]);
    let functions = flow["files"][0]["objects"][0]["functions"].as_array().unwrap();
    let largest = functions.iter().max_by_key(|it| it["blocks"].as_array().unwrap().len()).unwrap();
    open_kernel(&browser, largest["name"].as_str().unwrap(), "code");
    assert!(browser.js("return document.querySelector('.source')").is_null());
    let count: u64 = largest["blocks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["instruction_count"].as_u64().unwrap())
        .sum();
    assert!(browser.text(".tiles").replace(',', "").contains(&format!("{count}")));
    browser.click("#tab-graph");
    browser.wait("document.querySelector('.graph .node')");
    let blocks = browser.js(
        "return [...document.querySelectorAll('.graph .node')].map(it => it.getAttribute('aria-label'))",
    );
    assert!(blocks[0].as_str().unwrap().starts_with("bb0"), "{blocks}");
    let frames = browser.js("return document.querySelectorAll('.graph .frame').length");
    assert_eq!(frames, json!(largest["loops"].as_array().unwrap().len()));
    picture::check(&browser, "graph");
    let zoom = |browser: &Browser| -> i64 {
        browser.text("#zoom").trim_end_matches(" %").parse().unwrap()
    };
    let before = zoom(&browser);
    browser.click("button[aria-label='Zoom in']");
    let nearer = zoom(&browser);
    assert!(nearer > before, "{before} {nearer}");
    browser.wheel(".graph", 240);
    assert!(zoom(&browser) < nearer);
    browser.press(".graph", "0");
    assert_eq!(zoom(&browser), before);
    browser.click(".graph .node[data-node='0']");
    let first = &largest["blocks"][0]["address"];
    let said = browser.text(".node-info");
    assert!(said.contains(&format!("bb0 at {:#x}", first.as_u64().unwrap())), "{said}");
    browser.click(".node-info button");
    browser.wait("document.querySelector('.listing .line.selected')");
    assert_quiet(&browser);
}

#[test]
#[cfg_attr(not(browser), ignore = "needs chromium and chromedriver")]
fn a_comparison_and_a_manifest_show_what_was_rewritten() {
    let folder = scratch_dir();
    let (old, new, manifest) = ("old.co", "new.co", "new.json");
    fs::copy(fixture("steppings.co"), folder.path().join(old)).unwrap();
    let mut command = hsaco_command();
    command.current_dir(folder.path()).args(["patch", old, "-o", new, "--manifest", manifest]);
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let arguments = [new, "--compare", old, "--manifest", manifest];
    let path = report_in(folder.path(), folder.path(), "compare.html", &arguments);
    let manifest: Value =
        serde_json::from_slice(&fs::read(folder.path().join(manifest)).unwrap()).unwrap();
    let site = &manifest["sites"][0];
    let name = site["function"].as_str().unwrap();
    let browser = Browser::new(1280, 900);
    open(&browser, &path);
    assert!(browser.text(".comparison").contains("Compared with"));
    open_kernel(&browser, name, "rewriting");
    let count =
        manifest["sites"].as_array().unwrap().iter().filter(|it| it["function"] == name).count();
    assert!(
        browser.text("#panel").starts_with(&format!("{count} place")),
        "{}",
        browser.text("#panel")
    );
    assert!(browser.text("#panel").contains(&format!("{:#x}", site["address"].as_u64().unwrap())));
    open_kernel(&browser, name, "changes");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let diff = answer(&["diff", &path(old), &path(new), "-k", name]);
    let function = &diff["objects"][0]["functions"][0];
    let said = browser.text("#panel");
    let expected =
        format!("{} instructions removed, {} added", function["removed"], function["added"]);
    assert!(said.starts_with(&expected), "{said} {expected}");
    browser.wait("document.querySelector('.diff .added')");
    picture::check(&browser, "changes");
    assert_quiet(&browser);
    // A manifest of another file is refused.
    let mut command = hsaco_command();
    command.current_dir(folder.path()).args(["report", old, "--manifest", "new.json"]);
    let ran = command.output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&ran.stderr).contains("describes another result"));
}
