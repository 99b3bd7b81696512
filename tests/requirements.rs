//! Tells tests what the machine has, for build scripts to include: `cfg(tools)` and `cfg(corpus)`.
//!
//! A test that needs either is ignored without it, and says so. Where `CI` is set nothing is ignored.

use std::env;
use std::path::{Path, PathBuf};

/// The programs that tests hold hsaco against; `.ci/run` installs them.
const TOOLS: [&str; 19] = [
    "c++",
    "cc",
    "clang++-22",
    "clang-22",
    "clang-offload-bundler-22",
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
    "strace",
    "yaml2obj-22",
];

/// What `cargo xtask corpus` writes last into each folder.
const CORPUS: [&str; 4] = ["bitsandbytes", "debian", "sarif", "triton"];

fn main() {
    println!("cargo::rustc-check-cfg=cfg(tools, corpus)");
    for variable in ["CI", "HSACO_CORPUS", "PATH"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let in_ci = env::var("CI").is_ok_and(|it| !matches!(it.as_str(), "" | "0" | "false"));
    if in_ci || TOOLS.iter().all(|it| on_path(it)) {
        println!("cargo::rustc-cfg=tools");
    }
    if in_ci || corpus_is_complete() {
        println!("cargo::rustc-cfg=corpus");
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
