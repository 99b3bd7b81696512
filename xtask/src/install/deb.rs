//! The Debian package of what cargo has built. The tests of the C API include this file, too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::tree::{Artifacts, output};

/// Makes the package in a folder, compressed by a method of dpkg-deb, and runs the tour of the command from what it
/// unpacks to.
pub(crate) fn make(
    artifacts: &Artifacts,
    workspace: &Path,
    folder: &Path,
    compression: &str,
) -> Result<PathBuf> {
    let root = folder.join("root");
    remove_dir(&root)?;
    artifacts.install(workspace, &root.join("usr"))?;
    strip(&root.join("usr"))?;
    compress_pages(&root.join("usr/share/man/man1"))?;
    fs::create_dir_all(root.join("DEBIAN"))?;
    fs::write(root.join("DEBIAN/control"), control(&root)?)?;
    let package = folder.join(format!("hsaco_{}_{}.deb", version(), architecture()?));
    let mut build = Command::new("dpkg-deb");
    build.arg(format!("-Z{compression}")).args(["--root-owner-group", "--build"]);
    output(build.arg(&root).arg(&package))?;
    try_out(&package, &folder.join("tried"))?;
    remove_dir(&root)?;
    Ok(package)
}

/// Leaves out what only debuggers read.
fn strip(usr: &Path) -> Result<()> {
    let mut unneeded = Command::new("strip");
    unneeded.arg("--strip-unneeded").arg(usr.join("bin/hsaco")).arg(usr.join("lib/libhsaco.so"));
    output(&mut unneeded)?;
    let mut debug = Command::new("strip");
    output(debug.arg("--strip-debug").arg(usr.join("lib/libhsaco.a"))).map(drop)
}

/// Debian's manual pages are compressed.
fn compress_pages(folder: &Path) -> Result<()> {
    let pages = fs::read_dir(folder)?.map(|it| Ok(it?.path())).collect::<Result<Vec<_>>>()?;
    output(Command::new("gzip").arg("-9n").args(pages)).map(drop)
}

/// Unpacks the package into an empty folder and runs the command there, with nothing of its surroundings.
fn try_out(package: &Path, folder: &Path) -> Result<()> {
    remove_dir(folder)?;
    output(Command::new("dpkg-deb").arg("-x").arg(package).arg(folder))?;
    let mut demo = Command::new(folder.join("usr/bin/hsaco"));
    demo.args(["demo", "--report", "report.html"]).current_dir(folder).env_clear();
    let said = String::from_utf8(output(&mut demo)?)?;
    ensure!(said.contains("The report is in report.html"), "`hsaco demo` ends with: {said}");
    ensure!(folder.join("report.html").is_file(), "`hsaco demo` writes no report");
    let mut library = Command::new("pkg-config");
    library.args(["--modversion", "hsaco"]);
    let said = output(library.env("PKG_CONFIG_LIBDIR", folder.join("usr/lib/pkgconfig")))?;
    ensure!(said.trim_ascii() == version().as_bytes(), "pkg-config does not find the library");
    remove_dir(folder)
}

fn remove_dir(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    Ok(())
}

fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

fn architecture() -> Result<String> {
    let said = output(Command::new("dpkg").arg("--print-architecture"))?;
    Ok(String::from_utf8(said)?.trim().to_owned())
}

/// What the package says of itself.
fn control(root: &Path) -> Result<String> {
    let said = output(Command::new("du").args(["-sk"]).arg(root.join("usr")))?;
    let said = String::from_utf8(said)?;
    let size = said.split_whitespace().next().context("du says no size")?;
    Ok(format!(
        "Package: hsaco\nVersion: {}\nArchitecture: {}\nMaintainer: The hsaco developers <hsaco@localhost>\n\
         Installed-Size: {size}\nSection: devel\nPriority: optional\nDepends: libc6, libgcc-s1\n\
         Description: toolkit for AMD GPU code objects (HSACO)\n \
         Lists, disassembles, checks, links, rewrites and runs the binaries that hold AMD\n \
         GPU kernels, on any machine, with no GPU, no ROCm and no LLVM. Holds the command,\n \
         libhsaco (static and shared) with headers for C and C++, manual pages and\n \
         completions.\n",
        version(),
        architecture()?,
    ))
}
