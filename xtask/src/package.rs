//! `cargo xtask package`: what users install, made and tried in an empty folder: crates, a Debian package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use hsaco_tests::workspace_root;

use crate::args::Args;
use crate::{install, process};

pub(crate) fn run(mut args: Args) -> Result<()> {
    let profile: Option<String> = args.option("--profile")?;
    let only: Option<String> = args.positional();
    args.finish()?;
    let profile = profile.unwrap_or_else(|| "release".to_owned());
    let wanted = |name: &str| only.as_deref().is_none_or(|it| it == name);
    ensure!(wanted("crates") || wanted("deb"), "there are the packages `crates` and `deb`");
    if wanted("crates") {
        crates()?;
    }
    if wanted("deb") {
        println!("{}", deb(&profile)?.display());
    }
    Ok(())
}

/// Has cargo package every crate, in the order in which they are published, and build each of what it packaged.
fn crates() -> Result<()> {
    let mut publish = process::cargo();
    process::run(publish.args(["publish", "--workspace", "--dry-run", "--allow-dirty"]))
}

/// Makes the Debian package, and runs the tour of the command from what it unpacks to.
fn deb(profile: &str) -> Result<PathBuf> {
    let folder = process::target_dir()?.join("packages");
    let root = folder.join("root");
    process::remove_dir(&root)?;
    let artifacts = install::build(profile)?;
    artifacts.install(&workspace_root(), &root.join("usr"))?;
    strip(&root.join("usr"))?;
    compress_pages(&root.join("usr/share/man/man1"))?;
    fs::create_dir_all(root.join("DEBIAN"))?;
    fs::write(root.join("DEBIAN/control"), control(&root)?)?;
    let package = folder.join(format!("hsaco_{}_{}.deb", version(), architecture()?));
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "--build"]).arg(&root).arg(&package);
    process::output(&mut build)?;
    try_out(&package, &folder.join("tried"))?;
    process::remove_dir(&root)?;
    Ok(package)
}

/// Leaves out what only debuggers read.
fn strip(usr: &Path) -> Result<()> {
    let mut unneeded = Command::new("strip");
    unneeded.arg("--strip-unneeded").arg(usr.join("bin/hsaco")).arg(usr.join("lib/libhsaco.so"));
    process::output(&mut unneeded)?;
    let mut debug = Command::new("strip");
    process::output(debug.arg("--strip-debug").arg(usr.join("lib/libhsaco.a"))).map(drop)
}

/// Debian's manual pages are compressed.
fn compress_pages(folder: &Path) -> Result<()> {
    let pages = fs::read_dir(folder)?.map(|it| Ok(it?.path())).collect::<Result<Vec<_>>>()?;
    process::output(Command::new("gzip").arg("-9n").args(pages)).map(drop)
}

/// Unpacks the package into an empty folder and runs the command there, with nothing of its surroundings.
fn try_out(package: &Path, folder: &Path) -> Result<()> {
    process::remove_dir(folder)?;
    process::output(Command::new("dpkg-deb").arg("-x").arg(package).arg(folder))?;
    let mut demo = Command::new(folder.join("usr/bin/hsaco"));
    let said = process::output(demo.arg("demo").current_dir(folder).env_clear())?;
    ensure!(!said.is_empty(), "`hsaco demo` of the package prints nothing");
    let mut library = Command::new("pkg-config");
    library.args(["--modversion", "hsaco"]);
    let said = process::output(library.env("PKG_CONFIG_LIBDIR", folder.join("usr/lib/pkgconfig")))?;
    ensure!(said.trim_ascii() == version().as_bytes(), "pkg-config does not find the library");
    process::remove_dir(folder)
}

fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

fn architecture() -> Result<String> {
    let said = process::output(Command::new("dpkg").arg("--print-architecture"))?;
    Ok(String::from_utf8(said)?.trim().to_owned())
}

/// What the package says of itself.
fn control(root: &Path) -> Result<String> {
    let said = process::output(Command::new("du").args(["-sk"]).arg(root.join("usr")))?;
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
