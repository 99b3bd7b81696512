//! `cargo xtask wheels`: the Python package as its users get it, for each platform that this machine can build for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::args::Args;
use crate::process::{self, remove_dir};
use crate::python::Package;

/// Zig compiles and links C for older systems and other machines.
const ZIG: &str = "ziglang==0.16.0";

/// A platform: Rust's name, and the oldest system that wheels for it run on.
struct Platform {
    target: &'static str,
    compatibility: &'static str,
}

const PLATFORMS: [Platform; 4] = [
    Platform { target: "x86_64-unknown-linux-gnu", compatibility: "manylinux2014" },
    Platform { target: "aarch64-unknown-linux-gnu", compatibility: "manylinux2014" },
    Platform { target: "x86_64-unknown-linux-musl", compatibility: "musllinux_1_2" },
    Platform { target: "aarch64-unknown-linux-musl", compatibility: "musllinux_1_2" },
];

pub(crate) fn run(mut args: Args) -> Result<()> {
    let wants_source = !args.flag("--no-source");
    args.finish()?;
    let package = Package::new()?;
    let folder = package.folder().join("dist");
    remove_dir(&folder)?;
    fs::create_dir_all(&folder)?;
    let mut built = 0;
    for platform in &PLATFORMS {
        if !has_std(platform.target)? {
            println!("{}: not built, no standard library: rustup target add {0}", platform.target);
            continue;
        }
        let wheel = build(&package, platform, &folder)?;
        println!("{}: {}", platform.target, wheel.display());
        if platform.target.starts_with(std::env::consts::ARCH) && platform.target.ends_with("gnu") {
            try_out(&package, &wheel)?;
        }
        built += 1;
    }
    ensure!(built > 0, "no wheel was built");
    if wants_source {
        source(&package, &folder)?;
    }
    Ok(())
}

/// Whether Rust's standard library for a target is installed.
fn has_std(target: &str) -> Result<bool> {
    let output = process::output(Command::new("rustc").args([
        "--print",
        "target-libdir",
        "--target",
        target,
    ]))?;
    let folder = PathBuf::from(String::from_utf8(output)?.trim_end());
    Ok(folder.read_dir().is_ok_and(|mut files| files.next().is_some()))
}

fn build(package: &Package, platform: &Platform, folder: &Path) -> Result<PathBuf> {
    package.fetch(&[ZIG])?;
    let out = folder.join(platform.target);
    let mut maturin = package.maturin("build");
    maturin.args(["--release", "--zig", "--target", platform.target]);
    maturin.args(["--compatibility", platform.compatibility]).arg("--out").arg(&out);
    process::run(&mut maturin)?;
    let wheel = fs::read_dir(&out)?.next().context("maturin made no wheel")?;
    Ok(wheel?.path())
}

/// Installs a wheel where nothing else is, and takes the tour.
fn try_out(package: &Package, wheel: &Path) -> Result<()> {
    let python = package.empty_environment(wheel)?;
    let hsaco = python.with_file_name("hsaco");
    process::output(Command::new(hsaco).arg("demo").env_remove("PYTHONPATH")).map(drop)
}

/// The source distribution, from which the package is built and tried out again.
fn source(package: &Package, folder: &Path) -> Result<()> {
    let out = folder.join("source");
    process::run(package.maturin("sdist").arg("--out").arg(&out))?;
    let archive =
        fs::read_dir(&out)?.next().context("maturin made no source distribution")??.path();
    let unpacked = folder.join("unpacked");
    fs::create_dir_all(&unpacked)?;
    process::run(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&unpacked))?;
    let root = fs::read_dir(&unpacked)?.next().context("an empty source distribution")??.path();
    let wheels = folder.join("from-source");
    let mut maturin = package.tool("maturin");
    maturin.args(["build", "--quiet", "--locked", "--out"]).arg(&wheels).current_dir(&root);
    process::run(maturin.env("CARGO_TARGET_DIR", folder.join("target")))?;
    let wheel = fs::read_dir(&wheels)?.next().context("maturin made no wheel")??.path();
    try_out(package, &wheel)?;
    println!("source: {}", archive.display());
    Ok(())
}
