//! What the command makes of findings: its exit code, and lines of the source.

use std::fs;
use std::path::Path;
use std::process::Command;

use hsaco_tests::program::hsaco_command;
use hsaco_tests::scratch_dir;

use super::fixture;

/// The exit code and the answer.
fn check(file: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = hsaco_command().arg("check").args(arguments).arg(file).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

/// 3 where the answer is not to be trusted, since the processor is unknown; 1 where a device is asked about, which certainly is another.
#[test]
fn an_unknown_processor_is_partly_unsupported() {
    let dir = scratch_dir();
    let file = dir.path().join("unknown.co");
    let mut bytes = fixture("s1.gfx942.co");
    bytes[48] = 0xfe;
    fs::write(&file, &bytes).unwrap();
    let (code, text) = check(&file, &[]);
    assert_eq!(code, Some(3), "{text}");
    let known = "warning[unknown-target]: made for machine 0xfe, which is not known: limits are not checked";
    assert!(text.contains(known), "{text}");
    let (code, text) = check(&file, &["--device", "gfx942"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("error[unknown-target]: made for machine 0xfe, and gfx942 is machine 0x4c"),
        "{text}"
    );
    // What has errors besides is still not to be trusted.
    assert_eq!(check(&file, &["--budget", "vgprs <= 1"]).0, Some(3));
    assert_eq!(check(&file, &["--ignore", "unknown-target"]).0, Some(0));
}

const SOURCE: &str = "\
#define KERNEL __attribute__((amdgpu_kernel))
typedef __attribute__((address_space(1))) float *pointer;

KERNEL void scale(pointer out, float factor) {
  out[__builtin_amdgcn_workitem_id_x()] *= factor;
}
";

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn the_line_that_a_finding_comes_from_is_shown() {
    let dir = scratch_dir();
    let (source, file) = (dir.path().join("scale.c"), dir.path().join("scale.co"));
    fs::write(&source, SOURCE).unwrap();
    let compiled = Command::new("clang-22")
        .args(["--target=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-nogpulib", "-O1", "-g"])
        .arg(&source)
        .arg("-o")
        .arg(&file)
        .status()
        .unwrap();
    assert!(compiled.success());
    let (code, text) = check(&file, &["--budget", "vgprs <= 1"]);
    assert_eq!(code, Some(1), "{text}");
    let shown = format!(
        "  from {}:5\n      5 |   out[__builtin_amdgcn_workitem_id_x()] *= factor;\n  help:",
        source.display()
    );
    assert!(text.contains(&shown), "{text}");
    // Without the file only its name is known.
    fs::remove_file(&source).unwrap();
    let (_, text) = check(&file, &["--budget", "vgprs <= 1"]);
    assert!(text.contains(&format!("  from {}:5\n  help:", source.display())), "{text}");
}
