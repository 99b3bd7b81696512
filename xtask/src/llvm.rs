//! The LLVM 22 tools: oracles of the tests and makers of the fixtures.

use std::path::Path;

use anyhow::{Result, bail};
use hsaco_tests::{in_ci, tool};

use crate::apt;

const PACKAGES: &[&str] = &[
    "llvm-22",
    "llvm-22-dev",
    "clang-22",
    "clang-tools-22",
    "lld-22",
    // What builds programs against the installed C library.
    "g++",
    "make",
    "cmake",
    "pkg-config",
    "libhsa-runtime-dev",
];

/// Every tool that a test or a recipe calls.
pub(crate) const TOOLS: &[&str] = &[
    "clang++-22",
    "clang-22",
    "clang-offload-bundler-22",
    "cmake",
    "ld.lld-22",
    "lld-link-22",
    "llvm-ar-22",
    "llvm-config-22",
    "llvm-mc-22",
    "llvm-objcopy-22",
    "llvm-objdump-22",
    "llvm-offload-binary-22",
    "llvm-readelf-22",
    "llvm-strip-22",
    "pkg-config",
    "yaml2obj-22",
];

/// Installs the tools where that can be done; else says what will be skipped, or fails in CI.
pub(crate) fn ensure() -> Result<()> {
    if missing().is_empty() {
        return Ok(());
    }
    if let Err(error) = apt::install(PACKAGES) {
        eprintln!("cannot install LLVM 22: {error:#}");
    }
    let missing = missing();
    if missing.is_empty() {
        return Ok(());
    }
    let missing = missing.join(", ");
    if in_ci() {
        bail!("missing: {missing}");
    }
    eprintln!("missing: {missing}; the fixtures check and tests against LLVM will be skipped");
    Ok(())
}

/// What of LLVM's headers the oracle's program includes.
const HEADERS: &str = "/usr/lib/llvm-22/include/llvm/MC";

/// The tools that are not on `PATH`, and LLVM's headers where they are not.
pub(crate) fn missing() -> Vec<&'static str> {
    let tools = TOOLS.iter().copied().filter(|name| tool(name).is_none());
    tools.chain((!Path::new(HEADERS).exists()).then_some("LLVM's headers")).collect()
}
