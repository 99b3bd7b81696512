//! Many threads in a process that is watched.

use std::env;
use std::fs;
use std::process::Command;
use std::sync::Barrier;
use std::thread;

use hsaco::db::IndexedKernel;
use hsaco_tests::program::run;
use hsaco_tests::scratch_dir;

use super::database;

const THREADS: usize = 32;
const QUERIES: &str = "kerneldb::watched::threads_of_mixed_queries_share_one_decode";

/// Row A21 of docs/kerneldb.md.
#[test]
fn threads_of_mixed_queries_share_one_decode() {
    let database = database(&[
        "lines.dwarf5.co",
        "lines.zstd.co",
        "lines.o",
        "types.co",
        "mangled.co",
        "halves.co",
    ]);
    let (start, kernels) = (Barrier::new(THREADS), database.kernels().count() as u64);
    thread::scope(|scope| {
        for first in 0..THREADS {
            let (database, start) = (&database, &start);
            scope.spawn(move || {
                start.wait();
                let all: Vec<_> = database.kernels().collect();
                for (at, kernel) in all.iter().cycle().skip(first).take(all.len()).enumerate() {
                    ask(kernel, first + at);
                    assert!(database.kernels_named(&kernel.readable_name()).contains(kernel));
                }
                assert!(!database.code_of_line("lines.h", 12, None).unwrap().is_empty());
            });
        }
    });
    assert_eq!(database.counts().decoded_kernels, kernels);
}

/// One question or another.
fn ask(kernel: &IndexedKernel, which: usize) {
    let instructions = kernel.instructions().unwrap();
    match which % 4 {
        0 => instructions.for_each(|it| _ = it.frames().unwrap()),
        1 => instructions.for_each(|it| _ = (it.text(), it.memory(), it.location().unwrap())),
        2 => assert!(!kernel.blocks().unwrap().blocks().is_empty()),
        _ => assert!(kernel.arguments().unwrap().problems.is_empty()),
    }
}

/// The same under strace: no program is started, no file is written, nothing is printed but by the test itself.
/// Row B17 of docs/kerneldb.md.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn queries_print_nothing_and_start_and_write_nothing() {
    let folder = scratch_dir();
    let log = folder.path().join("log");
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-e", "trace=%process,%file", "-o"])
        .arg(&log)
        .arg(env::current_exe().unwrap());
    let ran = run(strace.args(["--exact", QUERIES, "--nocapture"]));
    let printed: Vec<_> = ran.text().lines().filter(|it| !it.is_empty()).collect();
    let [running, test, result] = printed.as_slice() else { panic!("{printed:?}") };
    assert_eq!((*running, *test), ("running 1 test", format!("test {QUERIES} ... ok").as_str()));
    assert!(result.starts_with("test result: ok. 1 passed"), "{result}");
    assert_eq!(ran.stderr, "");
    let log = fs::read_to_string(log).unwrap();
    let calls = |name: &str| log.lines().filter(|it| it.contains(&format!(" {name}("))).count();
    assert_eq!((calls("execve"), calls("fork"), calls("vfork")), (1, 0, 0));
    let is_child =
        |it: &&str| it.contains(" clone") && !it.contains("CLONE_THREAD") && it.contains("CLONE_");
    assert_eq!(log.lines().find(is_child), None);
    assert!(log.lines().filter(|it| it.contains("CLONE_THREAD")).count() >= THREADS);
    let writes = |it: &&str| {
        ["O_CREAT", "O_WRONLY", "O_RDWR", "O_TRUNC", " mkdir", " rename", " unlink", " symlink"]
            .iter()
            .any(|what| it.contains(what))
    };
    assert_eq!(log.lines().find(writes), None);
}
