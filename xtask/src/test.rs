//! `cargo xtask test`: what CI runs, and what must pass before a change goes in.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result};
use hsaco_tests::tool;

use crate::args::Args;
use crate::{browser, corpus, llvm, process, python, rocm};

struct Step {
    name: &'static str,
    quick: bool,
    run: fn() -> Result<()>,
}

// The tests come last: readers of the log want their closing lines at its end.
const STEPS: &[Step] = &[
    Step { name: "LLVM 22 tools", quick: true, run: llvm::ensure },
    Step { name: "a browser", quick: true, run: browser::ensure },
    Step { name: "packages of ROCm", quick: true, run: rocm::ensure },
    Step { name: "corpus", quick: false, run: corpus::fetch },
    Step { name: "format", quick: true, run: format },
    Step { name: "lint", quick: true, run: lint },
    Step { name: "lint with zstd-c", quick: true, run: lint_zstd_c },
    Step { name: "fuzz targets compile", quick: false, run: fuzz_targets },
    Step { name: "documentation", quick: false, run: documentation },
    Step { name: "Python package", quick: false, run: python::step },
    Step { name: "tests", quick: true, run: tests },
];

pub(crate) fn run(mut args: Args) -> Result<()> {
    let quick = args.flag("--quick");
    args.finish()?;
    let start = Instant::now();
    for step in STEPS.iter().filter(|step| step.quick || !quick) {
        println!("==> {}", step.name);
        let start = Instant::now();
        (step.run)().with_context(|| format!("step `{}` failed", step.name))?;
        println!("<== {}: {:.1} s", step.name, start.elapsed().as_secs_f64());
    }
    println!("all steps passed in {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

fn cargo(arguments: &str) -> Command {
    let mut command = process::cargo();
    command.args(arguments.split_whitespace());
    command
}

fn format() -> Result<()> {
    process::run(&mut cargo("fmt --all --check"))
}

fn lint() -> Result<()> {
    process::run(&mut cargo("clippy --workspace --all-targets -- -D warnings"))
}

fn lint_zstd_c() -> Result<()> {
    let arguments = "clippy -p hsaco-compress --features zstd-c --all-targets -- -D warnings";
    process::run(&mut cargo(arguments))
}

fn tests() -> Result<()> {
    process::run(&mut cargo("test --workspace --no-fail-fast"))
}

fn documentation() -> Result<()> {
    let arguments = "doc --no-deps --workspace";
    process::run(cargo(arguments).env("RUSTDOCFLAGS", "-D warnings"))
}

fn fuzz_targets() -> Result<()> {
    // libfuzzer-sys compiles the C++ fuzzer even for `cargo check`.
    if !["c++", "g++", "clang++"].iter().any(|name| tool(name).is_some()) {
        println!("skipped: no C++ compiler");
        return Ok(());
    }
    process::run(&mut cargo("check --quiet --manifest-path fuzz/Cargo.toml"))
}
