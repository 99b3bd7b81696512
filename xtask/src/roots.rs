//! `cargo xtask roots`: programs of newer releases of ROCm, in roots of the Debian that has them.
//!
//! Debian 13 has HIP 5.7.1 and rocRAND's own tests, unstable has HIP 6.4.3. Their programs want a newer C library than the
//! machine may have, so each runs in a root that `debootstrap` makes below `target/roots`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use hsaco_tests::rocm::{self, HIP};

use crate::args::Args;
use crate::process;
use crate::rocm::{Place, chosen, install, text};

/// A release of Debian, and what is run on it.
struct Suite {
    name: &'static str,
    packages: &'static [&'static str],
    devices: &'static [&'static str],
    /// The folder of ROCm's own tests, and the device they run on.
    tests: Option<(&'static str, &'static str)>,
}

const SUITES: [Suite; 2] = [
    Suite {
        name: "trixie",
        packages: &["hipcc", "libamdhip64-dev", "librocrand1-tests", "rocminfo"],
        devices: &["gfx942", "gfx1100"],
        tests: Some(("/usr/libexec/rocm/librocrand1-tests", "gfx90a")),
    },
    Suite {
        name: "sid",
        packages: &["hipcc", "libamdhip64-dev", "rocminfo"],
        devices: &["gfx942", "gfx1100", "gfx1201"],
        tests: None,
    },
];

/// Seconds that a test program of ROCm's may take.
const LIMIT: u32 = 4 * 3600;

pub(crate) fn run(mut args: Args) -> Result<()> {
    let only: Option<String> = args.option("--suite")?;
    let names: Option<String> = args.option("--programs")?;
    let filter: Option<String> = args.option("--tests")?;
    let tests_only = args.flag("--tests-only");
    args.finish()?;
    let known = only.as_ref().is_none_or(|it| SUITES.iter().any(|suite| suite.name == it));
    ensure!(known, "no suite `{}`", only.unwrap_or_default());
    let mut wrong = Vec::new();
    for suite in SUITES.iter().filter(|it| only.as_deref().is_none_or(|only| it.name == only)) {
        println!("==> {}", suite.name);
        let place = suite.place()?;
        if !tests_only
            && let Err(error) = place.check(&chosen(HIP.iter(), names.as_deref())?, suite.devices)
        {
            wrong.push(format!("{}: {error:#}", suite.name));
        }
        if names.is_none()
            && let Some((folder, device)) = suite.tests
        {
            run_tests(&place, folder, device, filter.as_deref())?;
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("; "));
    Ok(())
}

impl Suite {
    /// The root with its packages, sources and hsaco.
    fn place(&self) -> Result<Place> {
        let root = process::target_dir()?.join("roots").join(self.name);
        self.make(&root)?;
        install(&root.join("opt/hsaco"))?;
        let sources = root.join("srv/sources");
        process::remove_dir(&sources)?;
        copy(&rocm::sources(), &sources)?;
        fs::create_dir_all(root.join("srv/programs"))?;
        let [hsaco, sources, folder] =
            ["/opt/hsaco/bin/hsaco", "/srv/sources", "/srv/programs"].map(PathBuf::from);
        Ok(Place { root: Some(root), hsaco, sources, folder })
    }

    fn make(&self, root: &Path) -> Result<()> {
        let made = root.join("made.txt");
        let packages = self.packages.join(" ");
        if fs::read_to_string(&made).is_ok_and(|it| it == packages) {
            return mount_processes(root);
        }
        if !root.join("usr/bin/apt-get").is_file() {
            process::remove_dir(root)?;
            fs::create_dir_all(root)?;
            let mut bootstrap = Command::new("debootstrap");
            process::run(bootstrap.args(["--variant=minbase", self.name]).arg(root))
                .context("as root, with the package debootstrap")?;
        }
        mount_processes(root)?;
        // A mirror may be some days behind; what it has is signed all the same.
        let update = "-q -o Acquire::Check-Valid-Until=false update";
        for words in [update, &format!("-q install -y --no-install-recommends {packages}")] {
            let mut apt = Command::new("chroot");
            apt.arg(root).arg("apt-get").args(words.split(' '));
            process::run(apt.env("DEBIAN_FRONTEND", "noninteractive"))?;
        }
        Ok(fs::write(made, packages)?)
    }
}

/// HIP reads `/proc/self`.
fn mount_processes(root: &Path) -> Result<()> {
    if root.join("proc/self").exists() {
        return Ok(());
    }
    process::run(Command::new("mount").args(["-t", "proc", "proc"]).arg(root.join("proc")))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// What a program of GoogleTest says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: usize,
    skipped: usize,
    failed: Vec<String>,
}

impl Counts {
    /// Counts the lines of its output; a test that began and did not end failed.
    fn of(output: &str) -> Self {
        let mut counts = Self::default();
        let mut running = None;
        for line in output.lines() {
            let name = |line: &str| line.split([' ', ',']).next().unwrap_or_default().to_owned();
            if let Some(it) = line.strip_prefix("[ RUN      ] ") {
                running = Some(name(it));
            } else if line.starts_with("[       OK ] ") && running.take().is_some() {
                counts.passed += 1;
            } else if line.starts_with("[  SKIPPED ] ") && running.take().is_some() {
                counts.skipped += 1;
            } else if line.starts_with("[  FAILED  ] ") {
                counts.failed.extend(running.take());
            }
        }
        counts.failed.extend(running);
        counts
    }
}

/// Runs ROCm's own tests, those whose names contain the filter, and tells how many passed.
fn run_tests(place: &Place, folder: &str, device: &str, filter: Option<&str>) -> Result<()> {
    let root = place.root.as_deref().context("tests are in a root")?;
    let files = fs::read_dir(root.join(folder.trim_start_matches('/')))
        .with_context(|| folder.to_owned())?;
    let mut names = BTreeMap::new();
    for file in files {
        let name = file?.file_name().to_string_lossy().into_owned();
        if name.starts_with("test_")
            && filter.is_none_or(|it| it.split(',').any(|it| name.contains(it)))
        {
            names.insert(name.clone(), Path::new(folder).join(name));
        }
    }
    ensure!(!names.is_empty(), "no test in {folder}");
    let mut all = Counts::default();
    for (name, program) in names {
        let (output, time) = place.exec(device, &program, &[], LIMIT)?;
        let mut counts = Counts::of(&text(&output.stdout));
        if !output.status.success() && counts.failed.is_empty() {
            counts.failed.push(format!("{name} ({})", output.status));
        }
        println!(
            "{name:45} {:4} passed {:4} failed {:6.1} s",
            counts.passed,
            counts.failed.len(),
            time.as_secs_f64()
        );
        counts.failed.iter().for_each(|it| println!("    {it}"));
        fs::write(
            root.join("srv").join(format!("{name}.log")),
            [output.stdout, output.stderr].concat(),
        )?;
        all.passed += counts.passed;
        all.skipped += counts.skipped;
        all.failed.append(&mut counts.failed);
    }
    let count = all.passed + all.failed.len();
    println!("{} of {count} passed, {} skipped", all.passed, all.skipped);
    if all.passed * 100 < count * 95 {
        bail!("fewer than 95 % pass");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_did_not_end_have_failed() {
        let output = "[ RUN      ] a.b/0\n[       OK ] a.b/0 (3 ms)\n[ RUN      ] a.c\nwrong\n[  FAILED  ] a.c, where x = 3 (0 ms)\n\
                      [ RUN      ] a.s\n[  SKIPPED ] a.s (0 ms)\n[ RUN      ] a.d\n";
        let failed = vec!["a.c".to_owned(), "a.d".to_owned()];
        assert_eq!(Counts::of(output), Counts { passed: 1, skipped: 1, failed });
        let summary =
            "[  PASSED  ] 1 test.\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] a.c\n";
        assert_eq!(Counts::of(summary), Counts::default());
    }
}
