//! What happens at the edges of a process: before `hsa_init`, after `hsa_shut_down`, at exit, in a child.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Command;

use crate::hsa;
use crate::kernels::{load_together, load_unfrozen};
use crate::misuse::{
    INCOMPATIBLE_ARGUMENTS, NOT_INITIALIZED, VARIABLE_UNDEFINED, status_names, statuses, with_zeros,
};
use crate::support::*;

/// No variable.
const NOTHING: &[(&str, &str)] = &[];

/// Runs a test of this file alone, in a process of its own.
fn alone(name: &str, variables: &[(&str, impl AsRef<OsStr>)]) -> std::process::Output {
    let exe = std::env::current_exe().unwrap();
    let mut command = Command::new(exe);
    command.args(["--ignored", "--exact", name, "--nocapture"]);
    command.env("HSACO_DEVICES", "gfx942").envs(variables.iter().map(|it| (it.0, &it.1)));
    command.output().unwrap()
}

fn check(name: &str, variables: &[(&str, impl AsRef<OsStr>)]) -> String {
    let output = alone(name, variables);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{name}: {}\n{text}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{name} did not run");
    text
}

#[test]
fn calls_need_the_runtime() {
    check("process::before_and_after", NOTHING);
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
    check("process::forks", NOTHING);
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
    let cases: [(&str, &[u8], &str); 9] = [
        ("HSACO_DEVICES", b" , ", "hsaco: ` , ` names no device"),
        ("HSACO_DEVICES", b"gfx90a,", ""),
        ("HSACO_DEVICES", b"gfx942;gfx1100", "hsaco: there is no target `gfx942;gfx1100`"),
        ("HSACO_DEVICES", b"gfx942:fast+", "hsaco: there is no target `gfx942:fast+`"),
        ("HSACO_DEVICES", b"gfx9\xff", "hsaco: HSACO_DEVICES=gfx9\u{fffd} is no text"),
        ("HSACO_THREADS", b"many", "hsaco: HSACO_THREADS=many is no number"),
        ("HSACO_THREADS", b"100000", "hsaco: 100000 threads, and 1024 are the most"),
        ("HSACO_INSTRUCTIONS", b"-1", "hsaco: HSACO_INSTRUCTIONS=-1 is no number"),
        ("HSACO_CONFIG", b"/nowhere.toml", "hsaco: /nowhere.toml: No such file"),
    ];
    for (name, value, complaint) in cases {
        let value = std::ffi::OsStr::from_bytes(value);
        let test = if complaint.is_empty() { "shuts_down" } else { "does_not_begin" };
        let text = check(&format!("process::{test}"), &[(name, value)]);
        assert!(text.contains(complaint), "{name}={}: {text}", value.display());
    }
    let many = ["gfx942"; 63].join(",");
    let text = check("process::does_not_begin", &[("HSACO_DEVICES", &many)]);
    assert!(text.contains("hsaco: 63 devices, and 62 are the most"), "{text}");
}

#[test]
#[ignore = "runs in a process of its own"]
fn does_not_begin() {
    assert_eq!(hsa!(hsa_init()), 0x1000);
}

#[test]
fn a_million_dispatches_are_quick() {
    check("stress::a_million_dispatches_lose_none_and_take_no_memory", NOTHING);
}

#[test]
fn a_busy_runtime_ends() {
    check("process::shuts_down_while_busy", NOTHING);
}

#[test]
#[ignore = "runs in a process of its own"]
fn shuts_down_while_busy() {
    extern "C" fn handler(_: i64, _: *mut std::ffi::c_void) -> bool {
        true
    }
    let handler = handler as *const () as usize;
    for _ in 0..3 {
        assert_eq!(hsa!(hsa_init()), SUCCESS);
        let agents = agents();
        let executable = load(agents[1], &fixture("run.gfx942.co"));
        let kernel = about(find(executable, agents[1], "endless.kd"), KERNEL_OBJECT);
        let flag = allocate(pools(agents[0])[0], 64) as u64;
        let kernarg = allocate(pools(agents[0])[1], 4096).cast::<u64>();
        // SAFETY: it was allocated just now.
        unsafe { *kernarg = flag };
        let never = signal(1);
        // A kernel that never ends, and packets behind it; a barrier, a copy and a handler that wait for ever.
        let running = Launch::new(kernel, kernarg as u64, 64, 64, 0).bytes();
        let first = queue(agents[1], 64);
        (0..10).for_each(|_| submit(first, &running));
        let mut barrier = [0_u8; 64];
        barrier[..2].copy_from_slice(&(3_u16 | 1 << 8).to_le_bytes());
        barrier[8..16].copy_from_slice(&never.to_le_bytes());
        submit(queue(agents[1], 64), &barrier);
        let copied = hsa!(hsa_amd_memory_async_copy(
            flag + 32,
            agents[0],
            flag,
            agents[0],
            8,
            1,
            &raw const never,
            0
        ));
        assert_eq!(copied, SUCCESS);
        assert_eq!(hsa!(hsa_amd_signal_async_handler(never, 2, 1, handler, 0)), SUCCESS);
        std::thread::sleep(std::time::Duration::from_millis(20));
        let started = std::time::Instant::now();
        assert_eq!(hsa!(hsa_shut_down()), SUCCESS);
        assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
        assert_eq!(hsa!(hsa_shut_down()), NOT_INITIALIZED);
    }
}

#[test]
fn threads_begin_and_end_the_runtime_at_once() {
    check("process::begins_and_ends", NOTHING);
}

#[test]
#[ignore = "runs in a process of its own"]
fn begins_and_ends() {
    let work = |_| {
        std::thread::spawn(|| {
            for _ in 0..20 {
                assert_eq!(hsa!(hsa_init()), SUCCESS);
                let handle = signal(1);
                assert_eq!(agents().len(), 2);
                assert_eq!(hsa!(hsa_queue_destroy(queue(agents()[1], 64))), SUCCESS);
                assert_eq!(hsa!(hsa_signal_destroy(handle)), SUCCESS);
                assert_eq!(hsa!(hsa_shut_down()), SUCCESS);
            }
        })
    };
    let threads: Vec<_> = (0..4).map(work).collect();
    threads.into_iter().for_each(|it| it.join().unwrap());
    assert_eq!(hsa!(hsa_shut_down()), NOT_INITIALIZED);
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

#[test]
fn objects_are_checked_when_they_are_loaded() {
    let text = check("process::loads_what_does_not_fit", &[("HSACO_CHECK", "1")]);
    let told: Vec<_> = text.lines().filter(|it| it.contains("check of code object")).collect();
    let device = hsaco_check::Device::new("gfx942:sramecc+:xnack-".parse().unwrap());
    let mut expected = Vec::new();
    for (number, object) in ["run.gfx942.co", "run.gfx1100.co"].iter().enumerate() {
        let report = hsaco_check::check(&fixture(object), &device);
        let lines = report.findings.iter();
        expected.extend(lines.map(|it| format!("hsaco: check of code object {number}: {it}")));
    }
    assert_eq!(told, expected);
    assert!(text.contains("check of code object 1: error: target-mismatch: "), "{text}");
    assert!(!check("process::loads_what_does_not_fit", NOTHING).contains("check of code object"));
}

#[test]
#[ignore = "runs in a process of its own"]
fn loads_what_does_not_fit() {
    assert_eq!(hsa!(hsa_init()), SUCCESS);
    let loaded = |object| statuses(agents()[1], &fixture(object), None)[1];
    assert_eq!(loaded("run.gfx942.co"), SUCCESS);
    assert_eq!(loaded("run.gfx1100.co"), INCOMPATIBLE_ARGUMENTS);
}

#[test]
fn objects_that_resolve_each_other_are_checked_together() {
    let lines = |test: &str| {
        let text = check(test, &[("HSACO_CHECK", "1")]);
        let is_about = |it: &&str| it.contains("unresolved-symbol");
        text.lines().filter(is_about).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(lines("process::loads_user_and_library"), [""; 0]);
    let device = hsaco_check::Device::new("gfx942:sramecc+:xnack-".parse().unwrap());
    let alone = hsaco_check::check(&fixture("scale-user.co"), &device);
    let alone: Vec<_> = alone.findings.iter().filter(|it| it.rule == "unresolved-symbol").collect();
    assert!(!alone.is_empty());
    let expected = |number: usize| -> Vec<_> {
        alone.iter().map(|it| format!("hsaco: check of code object {number}: {it}")).collect()
    };
    // Frozen without the library; and never frozen.
    let told = lines("process::loads_user_alone");
    assert_eq!(told, [expected(0), expected(1)].concat());
}

#[test]
#[ignore = "runs in a process of its own"]
fn loads_user_and_library() {
    assert_eq!(hsa!(hsa_init()), SUCCESS);
    let agent = agents()[1];
    for objects in [["scale-user.co", "scale-library.co"], ["scale-library.co", "scale-user.co"]] {
        assert_eq!(load_together(agent, &objects).1, SUCCESS);
    }
}

#[test]
#[ignore = "runs in a process of its own"]
fn loads_user_alone() {
    assert_eq!(hsa!(hsa_init()), SUCCESS);
    let agent = agents()[1];
    assert_eq!(load_together(agent, &["scale-user.co"]).1, VARIABLE_UNDEFINED);
    let executable = load_unfrozen(agent, &["scale-user.co"]);
    assert_eq!(hsa!(hsa_executable_destroy(executable)), SUCCESS);
}

#[test]
fn sanitizers_find_what_is_behind_an_allocation() {
    let text = check("process::writes_past_the_end", &[("HSACO_SANITIZE", "memory")]);
    assert!(text.contains("sanitize: error: memory: writes 4 bytes"), "{text}");
    assert!(text.contains("0 bytes behind the allocation"), "{text}");
    assert!(!check("process::writes_past_the_end", NOTHING).contains("sanitize"));
}

#[test]
#[ignore = "runs in a process of its own"]
fn writes_past_the_end() {
    assert_eq!(hsa!(hsa_init()), SUCCESS);
    let agents = agents();
    let executable = load(agents[1], &fixture("run.gfx942.co"));
    let kernel = about(find(executable, agents[1], "past_the_end.kd"), KERNEL_OBJECT);
    let out = allocate(pools(agents[1])[0], 8) as u64;
    let kernarg = allocate(pools(agents[0])[1], 4096).cast::<u64>();
    // SAFETY: it was allocated just now.
    unsafe { std::ptr::copy_nonoverlapping([out, 2].as_ptr(), kernarg, 2) };
    let (queue, done) = (queue(agents[1], 64), signal(1));
    submit(queue, &Launch::new(kernel, kernarg as u64, 64, 64, done).bytes());
    wait(done);
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
