//! Running programs: the `hsaco` under test, and the tools it is held against.
#![allow(clippy::panic, reason = "test helpers: failing the test is the point")]

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::{env, fs, thread};

use anyhow::{Context as _, Result, anyhow, ensure};

/// The binary to test: `$HSACO_BIN`, else the one built beside this very test, with its profile.
pub fn hsaco_binary() -> Result<PathBuf> {
    if let Some(path) = env::var_os("HSACO_BIN") {
        return Ok(fs::canonicalize(path)?);
    }
    let test = env::current_exe()?;
    let profile_dir = test.ancestors().nth(2).context("the test stands in no profile folder")?;
    let target_dir =
        profile_dir.parent().context("the profile folder stands in no target folder")?;
    let profile = match profile_dir.file_name().and_then(OsStr::to_str) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    // Of the whole workspace, so that dependencies have the features they were built with for all tests.
    let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--quiet", "--workspace", "--bin", "hsaco"])
        .args(["--profile", profile])
        .arg("--target-dir")
        .arg(target_dir)
        .env_remove("CARGO_BUILD_TARGET")
        .status()?;
    ensure!(status.success(), "cannot build hsaco");
    Ok(profile_dir.join(format!("hsaco{}", env::consts::EXE_SUFFIX)))
}

/// How a program ended and what it printed.
#[derive(Debug)]
pub struct Ran {
    /// The exit code, `None` when a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: String,
}

impl Ran {
    /// Standard output as text.
    ///
    /// # Panics
    /// Panics when it is no UTF-8.
    pub fn text(&self) -> &str {
        match std::str::from_utf8(&self.stdout) {
            Ok(text) => text,
            Err(error) => panic!("standard output: {error}"),
        }
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// The verbs that help lists.
pub fn verbs() -> Vec<String> {
    let help = hsaco(["--help"]);
    let commands = help.text().lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    // Lines that go on are indented by more.
    let verbs = commands.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    verbs.filter(|verb| !verb.is_empty() && *verb != "help").map(str::to_owned).collect()
}

/// `hsaco`, ready for arguments: no input, no colour, no backtrace.
///
/// # Panics
/// Panics when the binary cannot be built.
pub fn hsaco_command() -> Command {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    let binary = BINARY.get_or_init(|| match hsaco_binary() {
        Ok(binary) => binary,
        Err(error) => panic!("no hsaco to test: {error:#}"),
    });
    let mut command = Command::new(binary);
    command.env("NO_COLOR", "1").env_remove("RUST_BACKTRACE").stdin(Stdio::null());
    command
}

/// Runs `hsaco` with arguments, however it ends.
pub fn hsaco(arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Ran {
    run(hsaco_command().args(arguments.into_iter().map(Into::into)))
}

/// Runs `hsaco` with arguments; it must end with 0 and have nothing to complain about.
///
/// # Panics
/// Panics when it does not.
pub fn hsaco_fine(arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Ran {
    let ran = hsaco(arguments);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    ran
}

/// Runs a command, however it ends.
///
/// # Panics
/// Panics when it cannot be started.
pub fn run(command: &mut Command) -> Ran {
    match command.output() {
        Ok(output) => output.into(),
        Err(error) => panic!("{}: {error}", command.get_program().display()),
    }
}

/// Runs a tool that must succeed in a folder, and returns what it printed.
///
/// # Panics
/// Panics when it does not succeed.
pub fn succeed<A: AsRef<OsStr>>(folder: &Path, program: &str, arguments: &[A]) -> String {
    let ran = run(Command::new(program).args(arguments).current_dir(folder));
    assert_eq!(ran.code, Some(0), "{program}: {}", ran.stderr);
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

/// Runs a tool line that must succeed in a folder: words split at blanks, nothing quoted.
pub fn sh(folder: &Path, line: &str) -> String {
    let mut words = line.split_whitespace();
    let program = words.next().unwrap_or_default();
    succeed(folder, program, &words.collect::<Vec<_>>())
}

/// Runs lines as [`sh`] does, a few at a time.
pub fn sh_all(folder: &Path, lines: &[String]) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        while let Some(line) = lines.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
            sh(folder, line);
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
}

/// Runs a command, writing to it while it writes.
pub fn with_input(command: &mut Command, input: String) -> Result<Output> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let mut stdin = child.stdin.take().context("no standard input")?;
    let writer = thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output()?;
    writer.join().map_err(|_| anyhow!("a thread panicked"))??;
    Ok(output)
}
