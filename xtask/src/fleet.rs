//! `cargo xtask fleet`: the corpus on Dask, Ray and Spark, and on none of them.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use hsaco_tests::{corpus_dir, workspace_root};

use crate::args::Args;
use crate::process;
use crate::python;

/// The engines, and what reads the data sets.
const ENGINES: &[&str] = &[
    "dask==2026.8.0",
    "distributed==2026.8.0",
    "ray==2.60.0",
    "pyspark==4.3.0",
    // Spark maps over batches of Arrow only where it finds pandas.
    "pandas==2.3.3",
    "pyarrow==26.0.1",
];

pub(crate) fn run(mut args: Args) -> Result<()> {
    let least = args.option("--least")?.unwrap_or(1 << 20);
    args.finish()?;
    let files = corpus(least)?;
    ensure!(!files.is_empty(), "no corpus: cargo xtask corpus");
    let folder = process::target_dir()?.join("fleet");
    std::fs::create_dir_all(&folder)?;
    let command = process::release_hsaco()?;
    let wheel = python::wheel(true)?;
    let environment = folder.join("environment");
    let python = environment.join("bin/python");
    if !python.is_file() {
        process::run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    }
    // One that an earlier run made may have others.
    let mut engines = Command::new(&python);
    process::run(engines.args(["-m", "pip", "install", "--quiet"]).args(ENGINES))?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall"]);
    process::run(install.arg(wheel))?;
    let mut script = Command::new(&python);
    script.arg(workspace_root().join("xtask/src/fleet.py"));
    script.arg(command).arg(&folder).args(files);
    // Workers of Spark are to be the same Python.
    process::run(script.env("PYSPARK_PYTHON", &python).current_dir(&folder))
}

/// The libraries of the corpus, of at least so many bytes: a task costs an engine some milliseconds.
fn corpus(least: u64) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![corpus_dir()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
        for entry in entries {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() && entry.metadata()?.len() >= least {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}
