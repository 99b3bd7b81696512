//! Tells tests what the machine has, for build scripts to include: `cfg(tools)`, `cfg(browser)`, `cfg(corpus)` and `cfg(rocm)`.
//!
//! A test that needs one of them is ignored without it, and says so. Where `CI` is set nothing is ignored.

use std::env;
use std::path::{Path, PathBuf};

/// The programs that tests hold hsaco against; `.ci/run` installs them.
const TOOLS: [&str; 21] = [
    "c++",
    "cc",
    "clang++-22",
    "clang-22",
    "clang-offload-bundler-22",
    "cmake",
    "ld.lld-22",
    "llc-22",
    "lld-link-22",
    "llvm-config-22",
    "llvm-dwarfdump-22",
    "llvm-mc-22",
    "llvm-objcopy-22",
    "llvm-objdump-22",
    "llvm-readelf-22",
    "llvm-readobj-22",
    "llvm-strip-22",
    "llvm-symbolizer-22",
    "pkg-config",
    "strace",
    "yaml2obj-22",
];

/// The header of HSA, for which there is an interface too.
const HSA: &str = "/usr/include/hsa/hsa.h";

/// The browser that pages are tested in, and what drives it.
const BROWSER: [&str; 2] = ["chromedriver", "chromium"];

/// What programs of ROCm are built with, and what they look at: packages of Debian 12 that `.ci/run` installs.
const ROCM: [&str; 7] = [
    "/usr/bin/hipcc",
    "/usr/bin/rocminfo",
    "/usr/include/hip/hip_runtime.h",
    "/usr/include/hsa/hsa.h",
    "/usr/include/rocprim/rocprim.hpp",
    "/usr/include/rocrand/rocrand.h",
    "/usr/include/rocsparse/rocsparse.h",
];

/// What `cargo xtask corpus` writes last into each folder.
const CORPUS: [&str; 4] = ["bitsandbytes", "debian", "sarif", "triton"];

fn main() {
    println!("cargo::rustc-check-cfg=cfg(tools, browser, corpus, rocm)");
    for variable in ["CI", "HSACO_CORPUS", "PATH"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let in_ci = env::var("CI").is_ok_and(|it| !matches!(it.as_str(), "" | "0" | "false"));
    watch(Path::new(HSA));
    if in_ci || (TOOLS.iter().all(|it| on_path(it)) && Path::new(HSA).is_file()) {
        println!("cargo::rustc-cfg=tools");
    }
    if in_ci || BROWSER.iter().all(|it| on_path(it)) {
        println!("cargo::rustc-cfg=browser");
    }
    if in_ci || corpus_is_complete() {
        println!("cargo::rustc-cfg=corpus");
    }
    ROCM.iter().for_each(|it| watch(Path::new(it)));
    if in_ci || ROCM.iter().all(|it| Path::new(it).is_file()) {
        println!("cargo::rustc-cfg=rocm");
    }
}

/// Whether a program is on `PATH`. A file that is missing makes cargo ask again next time.
fn on_path(name: &str) -> bool {
    let folders = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&folders).map(|it| it.join(name)).find(|it| it.is_file());
    watch(&found.clone().unwrap_or_else(|| PathBuf::from(name)));
    found.is_some()
}

fn corpus_is_complete() -> bool {
    let folder = match env::var_os("HSACO_CORPUS") {
        Some(folder) if !folder.is_empty() => PathBuf::from(folder),
        _ => workspace_root().join("target/corpus"),
    };
    let stamps = CORPUS.map(|it| folder.join(it).join("fetched.txt"));
    stamps.iter().for_each(|it| watch(it));
    stamps.iter().all(|it| it.is_file())
}

fn workspace_root() -> PathBuf {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let is_root = |it: &&Path| it.join("Cargo.lock").is_file();
    package.ancestors().find(is_root).unwrap_or(&package).to_path_buf()
}

fn watch(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
}
