//! Device functions are symbols of an executable, and kernels of other objects call them by address.

use std::fs;
use std::path::Path;
use std::process::Command;

use hsaco::patch::rule::RuleSet;
use hsaco::patch::{Options, Patcher};
use hsaco_tests::rocm::{build_hsa_client, build_object, build_objects};
use hsaco_tests::scratch_dir;

use super::{exec, hsaco, said, text};

/// One of each family, and one that no HIP of Debian knows.
const DEVICES: [&str; 6] = ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250"];

#[test]
#[cfg_attr(not(rocm), ignore = "needs the packages of ROCm in .ci/run")]
fn a_kernel_calls_the_functions_of_another_object() {
    let folder = scratch_dir();
    let program = build_hsa_client("functions", folder.path()).unwrap();
    for device in DEVICES {
        let objects = build_objects(device, folder.path()).unwrap();
        let output = exec(&["--device", device], &program, &objects);
        assert_eq!(
            said(&output),
            format!("functions: 3 functions of another object on 200 values on {device}\n")
        );
    }
}

/// `--patch`: what the device runs is what `hsaco patch` writes, each place is told, and the results are right.
#[test]
#[cfg_attr(not(rocm), ignore = "needs the packages of ROCm in .ci/run")]
fn objects_are_rewritten_when_they_are_loaded() {
    let (device, rules) = ("gfx1250", "gfx1250-b0-to-a0");
    let folder = scratch_dir();
    let program = build_hsa_client("functions", folder.path()).unwrap();
    let objects = ["pairs", "library"].map(|it| build_object(it, device, folder.path()).unwrap());
    let patcher = Patcher::new(RuleSet::by_name(rules).unwrap(), Options::default()).unwrap();
    let mut told = String::new();
    let results = [0, 1].map(|number| {
        let original = fs::read(&objects[number]).unwrap();
        let result = patcher.patch(&original).unwrap();
        let records = &result.manifest.records;
        told +=
            &format!("hsaco: code object {number}: {} instructions are rewritten\n", records.len());
        for (rule, address) in records.iter().flat_map(|it| &it.rules) {
            told += &format!("hsaco: code object {number}: {rule} at {address:#x}\n");
        }
        result.bytes.unwrap_or(original)
    });
    assert!(told.contains(": ds-two-address at "), "{told}");

    let dumped = folder.path().join("dumped");
    let options = ["--device", device, "--patch", rules, "--dump", dumped.to_str().unwrap()];
    let output = exec(&options, &program, &objects);
    let ran = format!("functions: 3 functions of another object on 200 values on {device}\n");
    assert_eq!((text(&output.stdout), text(&output.stderr)), (ran.clone(), told));
    for (number, result) in results.iter().enumerate() {
        let loaded = fs::read(dumped.join(format!("object-{number:04}.co"))).unwrap();
        assert!(loaded == *result, "object {number} is not what hsaco patch writes");
    }
    // Code of other processors is right as it is.
    let objects = build_objects("gfx942", folder.path()).unwrap();
    let output = exec(&["--device", "gfx942", "--patch", rules], &program, &objects);
    assert_eq!(said(&output), ran.replace(device, "gfx942"));
}

/// `hsaco run --replay`: its exit code and what it complains of.
fn replay(folder: &Path) -> (Option<i32>, String) {
    let mut command = Command::new(hsaco());
    let output = command.args(["run", "--replay"]).arg(folder).output().unwrap();
    (output.status.code(), text(&output.stderr))
}

/// `--dump` and `run --replay`: a dispatch that was kept gives the same memory again, and a difference is told.
#[test]
#[cfg_attr(not(rocm), ignore = "needs the packages of ROCm in .ci/run")]
fn a_kept_dispatch_runs_again() {
    let folder = scratch_dir();
    let program = build_hsa_client("functions", folder.path()).unwrap();
    let objects = build_objects("gfx942", folder.path()).unwrap();
    let dumped = folder.path().join("dumped");
    let options = ["--device", "gfx942", "--dump", dumped.to_str().unwrap()];
    assert!(said(&exec(&options, &program, &objects)).starts_with("functions: 3 functions"));
    for (number, object) in objects.iter().enumerate() {
        let loaded = dumped.join(format!("object-{number:04}.co"));
        assert!(fs::read(loaded).unwrap() == fs::read(object).unwrap(), "object {number}");
    }
    let kept = dumped.join("dispatch-00000");
    assert_eq!(replay(&kept), (Some(0), String::new()));

    let files = fs::read_dir(&kept).unwrap().map(|it| it.unwrap().path());
    let written: Vec<_> =
        files.filter(|it| it.extension().is_some_and(|it| it == "after")).collect();
    let [results] = written.as_slice() else { panic!("the kernel writes one array: {written:?}") };
    let mut bytes = fs::read(results).unwrap();
    bytes[0] ^= 1;
    fs::write(results, bytes).unwrap();
    let (code, complaint) = replay(&kept);
    assert_eq!(code, Some(1));
    assert!(complaint.contains("1 bytes from 0x"), "{complaint}");
    assert!(complaint.contains(" on differ from the kept run"), "{complaint}");
}
