//! The workflow of `examples/hip-ci` does what its page says: its steps are run.

use std::process::Command;

use hsaco_tests::{scratch_dir, workspace_root};

use super::{hsaco, libraries, text};

const WORKFLOW: &str = include_str!("../../examples/hip-ci/gpu-tests.yml");

/// The steps that begin with a name and are scripts.
fn steps() -> Vec<(&'static str, String)> {
    let parts = WORKFLOW.split("\n      - ").filter_map(|it| it.strip_prefix("name: "));
    let steps = parts.filter_map(|it| it.split_once("\n        run: |\n"));
    steps
        .map(|(name, script)| {
            (name, script.lines().fold(String::new(), |all, it| all + it.trim() + "\n"))
        })
        .collect()
}

#[test]
#[cfg_attr(not(rocm), ignore = "needs the packages of ROCm in .ci/run")]
fn its_steps_work() {
    let folder = scratch_dir();
    for file in ["prefix_sum.h", "tests.hip"] {
        std::fs::copy(
            workspace_root().join("examples/hip-ci").join(file),
            folder.path().join(file),
        )
        .unwrap();
    }
    std::os::unix::fs::symlink(hsaco(), folder.path().join("hsaco")).unwrap();
    let path = std::env::join_paths(
        std::iter::once(folder.path().to_owned())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    )
    .unwrap();
    let steps = steps();
    let names: Vec<_> = steps.iter().map(|it| it.0).collect();
    let expected = [
        "Packages",
        "Build hsaco",
        "Build the tests",
        "Show the device",
        "Check the code objects",
        "Run the tests",
        "Run the tests under sanitizers",
    ];
    assert_eq!(names, expected);
    for device in ["gfx90a", "gfx1030"] {
        assert!(WORKFLOW.contains("device: [gfx90a, gfx1030]"));
        // The first two set up a machine.
        for (name, script) in steps.iter().skip(2) {
            let script = script.replace("${{ matrix.device }}", device);
            let mut shell = Command::new("bash");
            shell.args(["-e", "-c", &script]).current_dir(folder.path());
            let output =
                shell.env("PATH", &path).env("HSACO_RUNTIME", libraries()).output().unwrap();
            assert!(
                output.status.success(),
                "{name} on {device}: {}{}",
                text(&output.stdout),
                text(&output.stderr)
            );
            if name.starts_with("Run") {
                assert_eq!(text(&output.stdout), "all sums are right\n", "{name} on {device}");
            }
        }
    }
}
