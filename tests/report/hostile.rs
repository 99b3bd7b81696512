//! Names and sources that would like to be more than text.

use std::fs;
use std::process::Command;

use hsaco_tests::browser::Browser;
use hsaco_tests::scratch_dir;
use serde_json::json;

use crate::{assert_quiet, open, report};

/// What would set `hacked`, were it taken for markup, code or an address.
const NAMES: [&str; 6] = [
    "</script><script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "'\\\"`]]>--><svg onload=window.hacked=1>",
    "javascript:window.hacked=1",
    "a\u{202e}b\u{2066}c\u{200b}d\u{7f}e",
    "${window.hacked=1}{{constructor.constructor('window.hacked=1')()}}",
];

#[test]
#[cfg_attr(not(browser), ignore = "needs chromium and chromedriver")]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn hostile_names_and_sources_do_no_harm() {
    let folder = scratch_dir();
    let long = "x".repeat(1 << 20);
    let source = folder.path().join("<img src=x onerror=window.hacked=1>.hip");
    fs::write(&source, format!("{}\n{}\n", NAMES[0], NAMES[4])).unwrap();
    let mut text = format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n.text\n.file 1 \"{}\"\n",
        source.display()
    );
    for name in NAMES.iter().map(|it| (*it).to_owned()).chain([long]) {
        text += &format!(
            ".globl \"{name}\"\n.p2align 8\n.type \"{name}\",@function\n\"{name}\":\n.loc 1 1 1\ns_nop 0\n\
             .loc 1 2 1\ns_endpgm\n.size \"{name}\", .-\"{name}\"\n"
        );
    }
    let (assembly, object) = (folder.path().join("hostile.s"), folder.path().join("hostile.co"));
    fs::write(&assembly, text).unwrap();
    let status = Command::new("clang-22")
        .args(["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx942", "-g", "-o"])
        .arg(&object)
        .arg(&assembly)
        .status();
    assert!(status.unwrap().success());
    let object = object.display().to_string();
    let title = NAMES[0];
    let path = report(folder.path(), "hostile.html", &[&object, "--title", title]);
    let browser = Browser::new(1280, 900);
    open(&browser, &path);
    assert_eq!(browser.text("h1"), title);
    let count = browser.js("return report.kernels.length").as_u64().unwrap();
    assert_eq!(count, NAMES.len() as u64 + 1);
    let mut seen = Vec::new();
    for number in 0..count {
        browser.js(&format!("location.hash = 'kernel={number}&tab=code'"));
        browser.wait(&format!(
            "location.hash.includes('kernel={number}&') && document.querySelector('.listing .line')"
        ));
        for tab in ["graph", "mix", "metadata", "findings", "code"] {
            browser.click(&format!("#tab-{tab}"));
        }
        seen.push(browser.text("h1"));
        let source = browser.text(".source");
        assert!(source.contains(NAMES[0]), "{source}");
        assert!(source.contains("a\\u{202e}b\\u{2066}c\\u{200b}d\\u{7f}e"), "{source}");
    }
    for name in &NAMES[..4] {
        let name = name.replace("\\\"", "\"");
        assert!(seen.contains(&name), "{name}: {seen:?}");
    }
    assert!(seen.iter().any(|it| it == "a\\u{202e}b\\u{2066}c\\u{200b}d\\u{7f}e"), "{seen:?}");
    assert!(seen.iter().any(|it| it.ends_with("all 1,048,576 characters")));
    assert_eq!(browser.js("return window.hacked ?? null"), json!(null));
    assert_eq!(browser.js("return document.scripts.length - report.chunks.length"), json!(2));
    assert_quiet(&browser);
}

#[test]
#[cfg_attr(not(browser), ignore = "needs chromium and chromedriver")]
fn the_policy_of_the_page_keeps_everything_else_out() {
    let folder = scratch_dir();
    let object = hsaco_tests::fixture("s1.gfx942.co").display().to_string();
    let path = report(folder.path(), "s1.html", &[&object]);
    let html = fs::read_to_string(&path).unwrap();
    assert!(html.contains("default-src 'none'"));
    assert!(!html.contains("unsafe-inline") && !html.contains("unsafe-eval"));
    // The same page with a program more.
    let evil = html.replace(
        "</body>",
        "<script>window.hacked = 1</script><img src=\"http://127.0.0.1:9/x\"></body>",
    );
    fs::write(&path, evil).unwrap();
    let browser = Browser::new(800, 600);
    open(&browser, &path);
    assert_eq!(browser.js("return window.hacked ?? null"), json!(null));
    let said = browser.console().join("\n");
    assert!(said.contains("Content Security Policy"), "{said}");
}
