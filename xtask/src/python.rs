//! `cargo xtask python`: the Python package, built, checked and tested as its users get it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use hsaco_tests::{every_target, fixtures_dir, in_ci, tool, workspace_root};

use crate::args::Args;
use crate::pip::pip;
use crate::process::{self, remove_dir};

/// What builds and checks the package. Pip is among them: an old one cannot install into another environment. So is
/// numpy, whose numbers the package takes without knowing it, a validator of JSON Schema, and what reads tables and data sets.
const TOOLS: &[&str] = &[
    "pip==25.3",
    "maturin==1.16.0",
    "mypy==2.4.1",
    "numpy==2.3.5",
    "jsonschema==4.26.0",
    "types-jsonschema==4.26.0.20261006",
    "pyarrow==26.0.1",
    "pandas==3.1.1",
    "polars==2.1.0",
    "duckdb==2.0.0",
];

pub(crate) fn run(mut args: Args) -> Result<()> {
    let is_release = args.flag("--release");
    args.finish()?;
    Package::new()?.check(is_release)
}

/// The step of `cargo xtask test`: without Python, or a network to fetch the tools from, it is left out, except in CI.
pub(crate) fn step() -> Result<()> {
    match Package::new() {
        Err(error) if !in_ci() => println!("skipped: {error:#}"),
        package => package?.check(false)?,
    }
    Ok(())
}

/// Builds a wheel for this machine.
pub(crate) fn wheel(is_release: bool) -> Result<PathBuf> {
    Package::new()?.build(is_release)
}

/// The package's source, and the folder that everything made of it goes to.
pub(crate) struct Package {
    source: PathBuf,
    folder: PathBuf,
}

impl Package {
    /// Fetches the tools, if they are not there yet.
    pub(crate) fn new() -> Result<Self> {
        let folder = process::target_dir()?.join("python");
        let package = Package { source: workspace_root().join("crates/py"), folder };
        package.fetch_tools().context("no Python with maturin and mypy")?;
        Ok(package)
    }

    fn fetch_tools(&self) -> Result<()> {
        let (tools, wanted) = (self.tools(), TOOLS.join("\n"));
        let stamp = tools.join("fetched.txt");
        if fs::read_to_string(&stamp).is_ok_and(|text| text == wanted) {
            return Ok(());
        }
        remove_dir(&tools)?;
        process::run(pip("install")?.arg("--target").arg(&tools).args(TOOLS))?;
        Ok(fs::write(stamp, wanted)?)
    }

    fn tools(&self) -> PathBuf {
        self.folder.join("tools")
    }

    /// Where everything goes that is made of it.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Fetches more tools, beside those that are there.
    pub(crate) fn fetch(&self, tools: &[&str]) -> Result<()> {
        let mut install = pip("install")?;
        process::run(install.arg("--target").arg(self.tools()).arg("--upgrade").args(tools))
    }

    /// One of the tools, which sees the others.
    pub(crate) fn tool(&self, name: &str) -> Command {
        let mut tool = Command::new(self.tools().join("bin").join(name));
        tool.env("PYTHONPATH", self.tools());
        tool
    }

    /// What makes wheels and source distributions of the package.
    pub(crate) fn maturin(&self, verb: &str) -> Command {
        let mut maturin = self.tool("maturin");
        maturin.args([verb, "--quiet"]);
        if verb == "build" {
            maturin.arg("--locked");
        }
        maturin.arg("--manifest-path").arg(self.source.join("Cargo.toml"));
        maturin
    }

    fn check(&self, is_release: bool) -> Result<()> {
        let wheel = self.build(is_release)?;
        self.test(&wheel)?;
        self.check_types(&wheel)?;
        println!("{}", wheel.display());
        Ok(())
    }

    /// Builds the wheel.
    fn build(&self, is_release: bool) -> Result<PathBuf> {
        let wheels = self.folder.join("wheels");
        remove_dir(&wheels)?;
        let mut maturin = self.maturin("build");
        maturin.args(is_release.then_some("--release"));
        maturin.arg("--out").arg(&wheels).env("CARGO_TARGET_DIR", process::target_dir()?);
        process::run(&mut maturin)?;
        let wheel = fs::read_dir(&wheels)?.next().context("maturin made no wheel")?;
        Ok(wheel?.path())
    }

    /// Runs the tests in an environment that has the wheel and nothing else, no compiler in reach; then those of numbers
    /// with numpy beside it, those of JSON with its validator, and those of tables with who reads them.
    fn test(&self, wheel: &Path) -> Result<()> {
        let python = self.empty_environment(wheel)?;
        self.build_targets()?;
        process::run(&mut self.tests(&python, "test*.py"))?;
        for tests in ["test_layout.py", "test_schema.py", "test_table.py", "test_fleet.py"] {
            process::run(self.tests(&python, tests).env("PYTHONPATH", self.tools()))?;
        }
        Ok(())
    }

    /// The Python of an environment that has a wheel and nothing else.
    pub(crate) fn empty_environment(&self, wheel: &Path) -> Result<PathBuf> {
        let environment = self.folder.join("empty");
        remove_dir(&environment)?;
        let mut venv = Command::new("python3");
        process::run(venv.args(["-m", "venv", "--without-pip"]).arg(&environment))?;
        let python = environment.join("bin/python");
        let mut install = self.python();
        install.args(["-m", "pip"]).arg("--python").arg(&python);
        install.args(["install", "--quiet", "--no-index", "--no-deps"]);
        process::run(install.arg(wheel))?;
        Ok(python)
    }

    /// Makes an object for every target, where LLVM is installed.
    fn build_targets(&self) -> Result<()> {
        remove_dir(&self.targets())?;
        if in_ci()
            || ["llvm-mc-22", "ld.lld-22", "llvm-objdump-22"].iter().all(|it| tool(it).is_some())
        {
            fs::create_dir_all(self.targets())?;
            every_target::build_all(&self.targets());
        }
        Ok(())
    }

    fn targets(&self) -> PathBuf {
        self.folder.join("targets")
    }

    /// The tests in files of this name, with nothing in reach but the environment of this Python.
    fn tests(&self, python: &Path, files: &str) -> Command {
        let mut tests = Command::new(python);
        tests.args(["-m", "unittest", "discover", "--pattern", files, "--start-directory"]);
        tests.arg(self.source.join("tests")).current_dir(&self.folder);
        tests.env("PATH", python.with_file_name("")).env("HSACO_FIXTURES", fixtures_dir());
        tests.env("PYTHONDONTWRITEBYTECODE", "1");
        if self.targets().is_dir() {
            tests.env("HSACO_TARGETS", self.targets());
        }
        tests
    }

    /// Checks annotations: the package's own, its stubs against what is there, and its tests as those of a user.
    fn check_types(&self, wheel: &Path) -> Result<()> {
        let unpacked = self.folder.join("unpacked");
        remove_dir(&unpacked)?;
        let mut install = self.python();
        install.args(["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target"]);
        process::run(install.arg(&unpacked).arg(wheel))?;
        let mut mypy = self.python();
        mypy.args(["-m", "mypy", "--strict", "--no-error-summary", "-p", "hsaco"]);
        process::run(self.with_package(&mut mypy, &unpacked))?;
        let mut mypy = self.python();
        mypy.args(["-m", "mypy", "--strict", "--no-error-summary"]).arg(self.source.join("tests"));
        process::run(self.with_package(&mut mypy, &unpacked))?;
        let mut stubs = self.python();
        stubs.args(["-m", "mypy.stubtest", "--concise", "hsaco"]);
        process::run(self.with_package(&mut stubs, &unpacked))
    }

    /// Python with the tools.
    fn python(&self) -> Command {
        let mut python = Command::new("python3");
        python.env("PYTHONPATH", self.tools()).current_dir(&self.folder);
        python.env("PIP_ROOT_USER_ACTION", "ignore");
        python
    }

    /// Lets a tool see the unpacked package.
    fn with_package<'c>(&self, tool: &'c mut Command, unpacked: &Path) -> &'c mut Command {
        let paths = std::env::join_paths([&self.tools(), unpacked]).unwrap_or_default();
        tool.env("PYTHONPATH", paths).env("MYPYPATH", unpacked)
    }
}
