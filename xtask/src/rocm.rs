//! `cargo xtask rocm`: programs of HIP and of ROCm's libraries on hsaco's runtime, with Debian 12's packages.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use hsaco_tests::rocm::{self, Client, HIP, LIBRARIES};
use hsaco_tests::{in_ci, scratch_dir};

use crate::args::Args;
use crate::{apt, process};

/// What `.ci/run` installs for the tests that are marked `rocm`.
const PACKAGES: &[&str] = &[
    "hipcc",
    "libamdhip64-dev",
    "libhsa-runtime-dev",
    "librocprim-dev",
    "librocrand-dev",
    "librocsparse-dev",
    "rocm-device-libs",
    "rocminfo",
];

/// One of each wave size.
const DEVICES: &str = "gfx90a,gfx1030";

/// Seconds after which a program is taken to hang.
const LIMIT: u32 = 3600;

/// Installs the packages where that can be done; else says what will be skipped, or fails in CI.
pub(crate) fn ensure() -> Result<()> {
    let missing = || PACKAGES.iter().any(|it| !is_installed(it));
    if !missing() {
        return Ok(());
    }
    if let Err(error) = apt::install(PACKAGES) {
        eprintln!("cannot install ROCm's packages: {error:#}");
    }
    match missing() {
        false => Ok(()),
        true if in_ci() => bail!("missing: one of {}", PACKAGES.join(", ")),
        true => {
            eprintln!(
                "missing: one of {}; tests that run HIP programs will be skipped",
                PACKAGES.join(", ")
            );
            Ok(())
        }
    }
}

fn is_installed(package: &str) -> bool {
    Command::new("dpkg").args(["-s", package]).output().is_ok_and(|it| it.status.success())
}

pub(crate) fn run(mut args: Args) -> Result<()> {
    let devices: String = args.option("--devices")?.unwrap_or_else(|| DEVICES.to_owned());
    let names: Option<String> = args.option("--programs")?;
    args.finish()?;
    let folder = scratch_dir();
    let place = Place {
        hsaco: install(folder.path())?,
        root: None,
        sources: rocm::sources(),
        folder: folder.path().to_owned(),
    };
    let devices: Vec<_> = devices.split(',').collect();
    place.check(&chosen(HIP.iter().chain(LIBRARIES), names.as_deref())?, &devices)
}

/// The programs that are named, all if none is.
pub(crate) fn chosen<'a>(
    all: impl Iterator<Item = &'a Client>,
    names: Option<&str>,
) -> Result<Vec<&'a Client>> {
    let wanted: Option<BTreeSet<_>> = names.map(|it| it.split(',').collect());
    let chosen: Vec<_> =
        all.filter(|it| wanted.as_ref().is_none_or(|wanted| wanted.contains(it.name))).collect();
    let missing = wanted.filter(|it| it.len() != chosen.len());
    ensure!(missing.is_none(), "not all of these are programs: {}", names.unwrap_or_default());
    Ok(chosen)
}

/// Installs the command and its libraries below a folder, as users have them; gives the command.
pub(crate) fn install(prefix: &Path) -> Result<PathBuf> {
    let target = process::target_dir()?;
    let mut build = process::cargo();
    build.args([
        "build",
        "--release",
        "--quiet",
        "-p",
        "hsaco-cli",
        "-p",
        "hsaco-hsa",
        "-p",
        "hsaco-preload",
        "--target-dir",
    ]);
    process::run(build.arg(&target))?;
    let files = [
        ("hsaco", "bin/hsaco"),
        ("libhsa_runtime64.so", "lib/hsaco/libhsa-runtime64.so.1"),
        ("libhsaco_preload.so", "lib/hsaco/libhsaco_preload.so"),
    ];
    for (built, installed) in files {
        let installed = prefix.join(installed);
        fs::create_dir_all(installed.parent().context("a file is in a folder")?)?;
        // A program may still have the old one mapped.
        let _ = fs::remove_file(&installed);
        fs::copy(target.join("release").join(built), &installed)
            .with_context(|| built.to_owned())?;
    }
    Ok(prefix.join("bin/hsaco"))
}

/// Where programs are built and run: this machine, or a root of another release, in which paths are its own.
pub(crate) struct Place {
    pub(crate) root: Option<PathBuf>,
    pub(crate) hsaco: PathBuf,
    pub(crate) sources: PathBuf,
    pub(crate) folder: PathBuf,
}

impl Place {
    /// Builds programs for devices and runs each on each. What is not as it should be is told, and fails at the end.
    pub(crate) fn check(&self, clients: &[&Client], devices: &[&str]) -> Result<()> {
        let mut wrong = Vec::new();
        for client in clients {
            self.build(client, devices).with_context(|| client.name.to_owned())?;
            for device in devices {
                let (output, time) = self.exec(
                    device,
                    &self.folder.join(client.name),
                    &client.arguments(&self.folder, device),
                    LIMIT,
                )?;
                let good = output.status.success() && output.stdout == client.line().as_bytes();
                let verdict = if good { "ok" } else { "WRONG" };
                println!("{:12} {device:8} {verdict} {:.1} s", client.name, time.as_secs_f64());
                if !good {
                    println!("{}: {}{}", output.status, text(&output.stdout), text(&output.stderr));
                    wrong.push(format!("{} on {device}", client.name));
                }
            }
        }
        ensure!(wrong.is_empty(), "not as they should be: {}", wrong.join(", "));
        Ok(())
    }

    fn build(&self, client: &Client, devices: &[&str]) -> Result<()> {
        let [sources, folder] = [&self.sources, &self.folder].map(|it| it.display().to_string());
        self.output(&client.compilation(&sources, devices, &folder))?;
        if client.name == "module" {
            for device in devices {
                self.output(&rocm::module_compilation(&sources, device, &folder))?;
            }
        }
        Ok(())
    }

    fn output(&self, words: &[String]) -> Result<()> {
        let (program, arguments) = words.split_first().context("no compiler")?;
        process::output(self.command(Path::new(program)).args(arguments)).map(drop)
    }

    /// Runs a program on a device, for a while.
    pub(crate) fn exec(
        &self,
        device: &str,
        program: &Path,
        arguments: &[OsString],
        seconds: u32,
    ) -> Result<(Output, Duration)> {
        let mut command = self.command(Path::new("timeout"));
        command.arg(seconds.to_string()).arg(&self.hsaco).args(["exec", "--device", device, "--"]);
        let start = Instant::now();
        let output = command.arg(program).args(arguments).output().context("timeout")?;
        Ok((output, start.elapsed()))
    }

    pub(crate) fn command(&self, program: &Path) -> Command {
        let Some(root) = &self.root else { return Command::new(program) };
        let mut command = Command::new("chroot");
        command.arg(root).arg(program);
        command
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
