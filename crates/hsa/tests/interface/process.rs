//! What happens at the edges of a process: before `hsa_init`, after `hsa_shut_down`, at exit, in a child.

use std::process::Command;

use crate::hsa;
use crate::misuse::{NOT_INITIALIZED, status_names, with_zeros};
use crate::support::*;

/// Runs a test of this file alone, in a process of its own.
fn alone(name: &str, variables: &[(&str, &str)]) -> std::process::Output {
    let exe = std::env::current_exe().unwrap();
    let mut command = Command::new(exe);
    command.args(["--ignored", "--exact", name, "--nocapture"]);
    command.env("HSACO_DEVICES", "gfx942").envs(variables.iter().copied());
    command.output().unwrap()
}

fn check(name: &str, variables: &[(&str, &str)]) -> String {
    let output = alone(name, variables);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{name}: {}\n{text}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{name} did not run");
    text
}

#[test]
fn calls_need_the_runtime() {
    check("process::before_and_after", &[]);
}

#[test]
#[ignore = "runs in a process of its own"]
fn before_and_after() {
    // What needs no runtime: beginning, and the names of statuses.
    let free = ["hsa_init", "hsa_status_string"];
    let all = |when: &str| {
        for name in status_names().iter().filter(|it| !free.contains(&it.as_str())) {
            assert_eq!(with_zeros(name), NOT_INITIALIZED, "{name} {when}");
        }
    };
    all("before");
    assert_eq!(hsa!(hsa_init()), SUCCESS);
    assert_eq!(hsa!(hsa_init()), SUCCESS);
    assert_eq!(hsa!(hsa_shut_down()), SUCCESS);
    assert_eq!(agents().len(), 2);
    assert_eq!(hsa!(hsa_shut_down()), SUCCESS);
    all("after");
    for _ in 0..20 {
        assert_eq!(hsa!(hsa_init()), SUCCESS);
        let _queue = queue(agents()[1], 64);
        assert_eq!(hsa!(hsa_shut_down()), SUCCESS);
    }
}

#[test]
fn a_process_may_end_without_ending_the_runtime() {
    let text = check("process::without_shut_down", &[("HSACO_SUMMARY", "1")]);
    assert!(text.contains("kernels launched  1\n"), "{text}");
    assert!(text.contains("waves             1\n"), "{text}");
    assert!(text.contains("launches of saxpy: 1\n"), "{text}");
}

fn run_saxpy() -> [f32; 2] {
    let agents = agents();
    let executable = load(agents[1], &fixture("run.gfx942.co"));
    let kernel = about(find(executable, agents[1], "saxpy.kd"), KERNEL_OBJECT);
    let buffer = allocate(pools(agents[1])[0], 4096).cast::<f32>();
    let kernarg = allocate(pools(agents[0])[1], 4096).cast::<u64>();
    // SAFETY: both were allocated just now.
    unsafe {
        (*buffer, *buffer.add(1)) = (1.0, 2.0);
        let words = [buffer as u64, buffer as u64 + 4, u64::from(3.0_f32.to_bits()) | 1 << 32];
        std::ptr::copy_nonoverlapping(words.as_ptr(), kernarg, 3);
    }
    let (done, queue) = (signal(1), queue(agents[1], 64));
    submit(queue, &Launch::new(kernel, kernarg as u64, 1, 64, done).bytes());
    wait(done);
    // SAFETY: as above.
    unsafe { [*buffer, *buffer.add(1)] }
}

#[test]
#[ignore = "runs in a process of its own"]
fn without_shut_down() {
    assert_eq!(hsa!(hsa_init()), SUCCESS);
    assert_eq!(run_saxpy(), [7.0, 2.0]);
}

#[test]
fn a_child_begins_anew() {
    check("process::forks", &[]);
}

#[test]
#[ignore = "runs in a process of its own"]
fn forks() {
    assert_eq!(hsa!(hsa_init()), SUCCESS);
    assert_eq!(run_saxpy(), [7.0, 2.0]);
    // SAFETY: the child calls the library and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let is_gone = hsa!(hsa_iterate_agents(0, 0)) == NOT_INITIALIZED;
        let is_back = hsa!(hsa_init()) == SUCCESS && run_saxpy() == [7.0, 2.0];
        // SAFETY: ends the child without the rest of the tests.
        unsafe { libc::_exit(if is_gone && is_back { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: waits for the child that was made above.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(status, 0);
    assert_eq!(run_saxpy(), [7.0, 2.0]);
}

#[test]
fn a_wrong_configuration_is_told() {
    let text = check("process::does_not_begin", &[("HSACO_DEVICES", "gfx9000")]);
    assert!(text.contains("hsaco: there is no target `gfx9000`"), "{text}");
    let text = check("process::does_not_begin", &[("HSACO_DEVICES", "gfx803")]);
    assert!(text.contains("hsaco: gfx803 is not emulated; these are: gfx90a, gfx942"), "{text}");
    let text = check("process::does_not_begin", &[("HSACO_SANITIZE", "luck")]);
    assert!(text.contains("HSACO_SANITIZE: 'luck' is none of"), "{text}");
    let text = check("process::does_not_begin", &[("HSACO_PATCH", "nothing")]);
    assert!(text.contains("HSACO_PATCH: no rule set nothing"), "{text}");
}

#[test]
#[ignore = "runs in a process of its own"]
fn does_not_begin() {
    assert_eq!(hsa!(hsa_init()), 0x1000);
}

#[test]
fn a_million_dispatches_are_quick() {
    check("stress::a_million_dispatches_lose_none_and_take_no_memory", &[]);
}

/// A tool that takes the place of `hsa_iterate_agents`, and tells that it was called.
const TOOL: &str = r#"
#include <stdint.h>
#include <stdio.h>
#include <stdbool.h>
typedef uint32_t (*iterate)(uint32_t (*)(uint64_t, void*), void*);
static iterate original;
static uint32_t mine(uint32_t (*callback)(uint64_t, void*), void* data) {
  fprintf(stderr, "the tool sees the call\n");
  return original(callback, data);
}
bool OnLoad(void** table, uint64_t version, uint64_t count, const char* const* names) {
  void** core = (void**)table[2];
  original = (iterate)core[2 + 5];
  core[2 + 5] = (void*)mine;
  fprintf(stderr, "loaded for version %d, %d tools\n", (int)version, (int)count);
  return true;
}
void OnUnload(void) { fprintf(stderr, "unloaded\n"); }
"#;

#[test]
fn tools_see_calls() {
    let folder = std::env::temp_dir().join(format!("hsaco-tool-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (source, tool) = (folder.join("tool.c"), folder.join("tool.so"));
    std::fs::write(&source, TOOL).unwrap();
    let made = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&tool, &source]).status();
    assert!(made.unwrap().success());
    let path = tool.to_str().unwrap();
    for (version, abi) in [("3", "6"), ("1", "5")] {
        let text =
            check("process::shuts_down", &[("HSA_TOOLS_LIB", path), ("HSACO_TOOLS_ABI", abi)]);
        let loaded = format!("loaded for version {version}, 1 tools");
        let wanted = [loaded.as_str(), "the tool sees the call", "unloaded"];
        assert!(wanted.iter().all(|it| text.contains(it)), "{text}");
    }
    let text = check("process::shuts_down", &[("HSA_TOOLS_LIB", "/nowhere.so")]);
    assert!(text.contains("HSA_TOOLS_LIB: /nowhere.so: "), "{text}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
#[ignore = "runs in a process of its own"]
fn shuts_down() {
    assert_eq!(hsa!(hsa_init()), SUCCESS);
    assert_eq!(agents().len(), 2);
    assert_eq!(hsa!(hsa_shut_down()), SUCCESS);
}

#[test]
fn findings_are_told() {
    let text = check(
        "process::without_shut_down",
        &[("HSACO_SANITIZE", "all"), ("HSACO_CHECK", "1"), ("HSACO_SUMMARY", "1")],
    );
    assert!(text.contains("findings          "), "{text}");
}

/// Runs a kept dispatch again: how many bytes differ, by allocation.
fn replayed(folder: &std::path::Path) -> Vec<u64> {
    use hsaco_describe::replay::KeptDispatch;
    let read = |file: &str| Ok::<_, Box<dyn std::error::Error>>(std::fs::read(folder.join(file))?);
    let text = String::from_utf8(read("dispatch.json").unwrap()).unwrap();
    let kept = KeptDispatch::parse(&text).unwrap();
    let device = kept.device(read).unwrap();
    let code = std::sync::Arc::new(kept.code(&device).unwrap());
    let segments = [kept.group_segment, kept.private_segment];
    let launch = kept.launch().unwrap();
    let dispatch = hsaco_emu::Dispatch::of_packet(&device, code, launch, kept.places(), segments);
    assert_eq!(dispatch.unwrap().run().unwrap().waves, 1);
    kept.differences(&device, read).unwrap().iter().map(|it| it.bytes).collect()
}

#[test]
fn a_kept_dispatch_has_what_its_arguments_point_to() {
    let folder = std::env::temp_dir().join(format!("hsaco-dump-{}", std::process::id()));
    let trace = folder.join("trace.json");
    std::fs::create_dir_all(&folder).unwrap();
    let (dump, trace_path) = (folder.to_str().unwrap(), trace.to_str().unwrap());
    check("process::without_shut_down", &[("HSACO_DUMP", dump), ("HSACO_TRACE", trace_path)]);
    assert_eq!(std::fs::read(folder.join("object-0000.co")).unwrap(), fixture("run.gfx942.co"));
    let text = std::fs::read_to_string(folder.join("dispatch-00000/dispatch.json")).unwrap();
    assert!(text.contains("\"kernel\": \"saxpy\""), "{text}");
    assert_eq!(text.matches(".after\"").count(), 1, "{text}");
    assert!(std::fs::read_to_string(&trace).unwrap().lines().count() > 5);
    assert_eq!(replayed(&folder.join("dispatch-00000")), [0_u64; 0]);
    // What the kept run is said to have left is not what the kernel leaves.
    let name = text.split('"').find(|it| it.ends_with(".after")).unwrap();
    let after = folder.join("dispatch-00000").join(name);
    let mut bytes = std::fs::read(&after).unwrap();
    bytes[1] ^= 1;
    std::fs::write(&after, bytes).unwrap();
    assert_eq!(replayed(&folder.join("dispatch-00000")), [1]);
    std::fs::remove_dir_all(&folder).unwrap();
}
