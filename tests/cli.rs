//! Runs every `tests/cli/**/*.test`; `tests/cli/README.md` says how such a file looks.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::{env, fs, thread};

use anyhow::{Context as _, Result, bail, ensure};
use hsaco_tests::program::hsaco_binary;
use hsaco_tests::run_line::{self, RunLine};
use hsaco_tests::{diff::diff, in_ci, scratch_dir, tool};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    match trials() {
        Ok(trials) => libtest_mimic::run(&arguments, trials).exit_code(),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn trials() -> Result<Vec<Trial>> {
    let mut files = Vec::new();
    collect(Path::new("cli"), &mut files)?;
    files.sort();
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let hsaco = hsaco_binary()?;
    files.into_iter().map(|file| trial(file, hsaco.clone())).collect()
}

// Cargo runs a test in its package's folder, so all paths here, and in the expected texts, are
// relative to tests/.
fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(dir).with_context(|| format!("reading {}", dir.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension() == Some(OsStr::new("test")) {
            files.push(path);
        }
    }
    Ok(())
}

fn trial(file: PathBuf, hsaco: PathBuf) -> Result<Trial> {
    let text = fs::read_to_string(&file)?;
    let lines = run_line::parse(&text).with_context(|| file.display().to_string())?;
    let tools_missing = lines
        .iter()
        .flat_map(|line| &line.commands)
        .filter_map(|command| command.first())
        .any(|program| program != "hsaco" && tool(program).is_none());
    let name = slashes(&file);
    let test = Test { file, hsaco, lines };
    let trial =
        Trial::test(name, move || test.run().map_err(|error| Failed::from(format!("{error:#}"))));
    Ok(trial.with_ignored_flag(tools_missing && !in_ci()))
}

fn slashes(path: &Path) -> String {
    path.display().to_string().replace('\\', "/")
}

struct Test {
    file: PathBuf,
    hsaco: PathBuf,
    lines: Vec<RunLine>,
}

impl Test {
    fn run(&self) -> Result<()> {
        let scratch = scratch_dir();
        let scratch_path = slashes(scratch.path());
        let variables = [
            ("%fixtures", "fixtures".to_owned()),
            ("%tmpdir", scratch_path.clone()),
            ("%s", slashes(&self.file)),
        ];
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        for line in &self.lines {
            let output = self.run_line(line, &variables)?;
            stdout.extend(output.stdout);
            stderr.extend(output.stderr);
        }
        let hide = |bytes| replace(bytes, scratch_path.as_bytes(), b"%tmpdir");
        let stdout = compare(&expectation(&self.file, "stdout"), &hide(stdout));
        let stderr = compare(&expectation(&self.file, "stderr"), &hide(stderr));
        match (stdout, stderr) {
            (Ok(()), Ok(())) => Ok(()),
            (Err(left), Err(right)) => bail!("{left:#}\n{right:#}"),
            (result, Ok(())) | (Ok(()), result) => result,
        }
    }

    fn run_line(&self, line: &RunLine, variables: &[(&str, String)]) -> Result<Output> {
        let mut input = match &line.stdin {
            Some(file) => fs::read(run_line::expand(file, variables)).context(file.clone())?,
            None => Vec::new(),
        };
        let mut stderr = Vec::new();
        let last = line.commands.len() - 1;
        for (index, command) in line.commands.iter().enumerate() {
            let words: Vec<_> =
                command.iter().map(|word| run_line::expand(word, variables)).collect();
            let output = self.run_command(&words, input)?;
            let wanted = if index == last { line.exit_code } else { 0 };
            stderr.extend(&output.stderr);
            ensure!(
                output.status.code() == Some(wanted),
                "`{}`: {}, expected exit code {wanted}; standard error:\n{}",
                words.join(" "),
                output.status,
                String::from_utf8_lossy(&stderr),
            );
            if index == last {
                return Ok(Output { stderr, ..output });
            }
            input = output.stdout;
        }
        bail!("no command")
    }

    fn run_command(&self, words: &[String], input: Vec<u8>) -> Result<Output> {
        let (program, arguments) = words.split_first().context("empty command")?;
        // Others go by their bare name: they print it, and it must not depend on where they stand.
        let program = match program.as_str() {
            "hsaco" => self.hsaco.as_path(),
            other => Path::new(other),
        };
        let mut child = Command::new(program)
            .args(arguments)
            .env("NO_COLOR", "1")
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| program.display().to_string())?;
        // A command that does not read its input closes the pipe early: that is no failure.
        let mut stdin = child.stdin.take();
        let writer = thread::spawn(move || stdin.as_mut().map(|pipe| pipe.write_all(&input)));
        let output = child.wait_with_output()?;
        drop(writer.join());
        Ok(output)
    }
}

fn expectation(file: &Path, stream: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".");
    name.push(stream);
    PathBuf::from(name)
}

fn compare(path: &Path, actual: &[u8]) -> Result<()> {
    if env::var_os("BLESS").is_some() {
        return bless(path, actual);
    }
    let expected = if path.exists() { fs::read(path)? } else { Vec::new() };
    ensure!(
        expected == actual,
        "{} differs (BLESS=1 accepts):\n{}",
        path.display(),
        diff(&String::from_utf8_lossy(&expected), &String::from_utf8_lossy(actual)),
    );
    Ok(())
}

fn bless(path: &Path, actual: &[u8]) -> Result<()> {
    if !actual.is_empty() {
        fs::write(path, actual)?;
    } else if path.exists() {
        fs::remove_file(path)?;
    }
    Ok(())
}

fn replace(mut bytes: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut start = 0;
    while let Some(at) = bytes
        .get(start..)
        .and_then(|rest| rest.windows(from.len()).position(|window| window == from))
    {
        let at = start + at;
        bytes.splice(at..at + from.len(), to.iter().copied());
        start = at + to.len();
    }
    bytes
}
