//! rocminfo of Debian 12, on a machine without a driver.

use std::path::Path;

use hsaco_tests::workspace_root;

use super::{exec, said};

fn rocminfo(devices: &str) -> String {
    let output = exec(&["--device", devices], Path::new("rocminfo"), &[""; 0]);
    // It says what it does in colours, and what the host is differs from machine to machine.
    said(&output)
}

/// The part that is about an agent, from its number to the next.
fn agent(text: &str, number: u32) -> String {
    let begin = text
        .find(&format!("\nAgent {number}"))
        .unwrap_or_else(|| panic!("no agent {number} in {text}"));
    let rest = text.get(begin + 1..).unwrap_or_default();
    let end = rest.find("*******\nAgent ").or_else(|| rest.find("*** Done")).unwrap_or(rest.len());
    let lines = rest.get(..end).unwrap_or_default().lines().map(str::trim_end);
    lines.fold(String::new(), |text, line| text + line + "\n")
}

#[test]
#[cfg_attr(not(rocm), ignore = "needs the packages of ROCm in .ci/run")]
fn the_device_is_described_as_expected() {
    let got = agent(&rocminfo("gfx90a"), 2);
    let path = workspace_root().join("tests/runtime/rocminfo.gfx90a.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &got).unwrap();
    }
    assert_eq!(got, std::fs::read_to_string(&path).unwrap());
}

#[test]
#[cfg_attr(not(rocm), ignore = "needs the packages of ROCm in .ci/run")]
fn every_device_is_listed() {
    let text = rocminfo("gfx942,gfx1100,gfx1250");
    let names = text.lines().filter_map(|line| line.trim_start().strip_prefix("Name:"));
    let names: Vec<_> = names
        .map(str::trim)
        .filter(|it| it.starts_with("gfx") || it.starts_with("amdgcn"))
        .collect();
    let expected = [
        "gfx942",
        "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-",
        "gfx1100",
        "amdgcn-amd-amdhsa--gfx1100",
        "gfx1250",
        "amdgcn-amd-amdhsa--gfx1250",
    ];
    assert_eq!(names, expected);
}
