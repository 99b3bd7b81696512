//! `hsaco disasm` against `llvm-objdump -d`, byte for byte.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use anyhow::{Context as _, Result, anyhow, ensure};
use hsaco::container::{EntryKind, HashCheck, WalkOptions, entries};

use crate::scratch_dir;

/// How many equal lines are shown before the first that differs.
const CONTEXT: usize = 3;

/// What became of the code objects of one file.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// How many objects were compared.
    pub objects: usize,
    /// How many lines llvm-objdump printed for them.
    pub lines: usize,
    /// For each object that differs: its number in the file, how many lines differ, the first.
    pub differences: Vec<String>,
}

impl Comparison {
    fn merge(&mut self, other: Self) {
        self.objects += other.objects;
        self.lines += other.lines;
        self.differences.extend(other.differences);
    }
}

/// Compares every so-many-th code object of a file, whatever container that is, on all cores.
pub fn compare_file(hsaco: &Path, file: &Path, every: usize) -> Result<Comparison> {
    let bytes = fs::read(file).with_context(|| file.display().to_string())?;
    let options = WalkOptions { hash: HashCheck::UpTo(0), ..WalkOptions::default() };
    let entries: Vec<_> = entries(&bytes, &options).collect::<Result<_, _>>()?;
    let objects = entries.iter().filter(|it| it.kind == EntryKind::CodeObject);
    let objects: Vec<_> = objects.enumerate().step_by(every.max(1)).collect();
    let next = AtomicUsize::new(0);
    let work = || -> Result<Comparison> {
        let folder = scratch_dir();
        let mut sum = Comparison::default();
        while let Some((number, object)) = objects.get(next.fetch_add(1, Ordering::Relaxed)) {
            fs::write(folder.path().join("object.co"), &*object.data)?;
            let id = object.id.as_deref().unwrap_or_default();
            let name = format!("{}, object {number} {id}", file.display());
            sum.merge(compare_object(hsaco, folder.path(), &name).context(name)?);
        }
        Ok(sum)
    };
    let threads = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut sum = Comparison::default();
        for thread in threads {
            sum.merge(thread.join().map_err(|_| anyhow!("a thread panicked"))??);
        }
        Ok(sum)
    })
}

/// Compares the object in the folder. llvm-objdump gets a process for it alone: it takes the first
/// file's processor for all others.
fn compare_object(hsaco: &Path, folder: &Path, name: &str) -> Result<Comparison> {
    let mut ours = Output::of(Command::new(hsaco).arg("disasm"), folder)?;
    let mut theirs = Output::of(Command::new("llvm-objdump-22").arg("-d"), folder)?;
    let (mut lines, mut differing) = (0, 0);
    let mut equal = Vec::new();
    let mut first = String::new();
    loop {
        let (our, their) = (ours.line()?, theirs.line()?);
        if our.is_empty() && their.is_empty() {
            break;
        }
        lines += usize::from(!their.is_empty());
        if our != their {
            differing += 1;
            if differing == 1 {
                first = format!("{}- {their}+ {our}", equal.concat());
            }
        } else if differing == 0 {
            equal.push(format!("  {our}"));
            equal.drain(..equal.len().saturating_sub(CONTEXT));
        }
    }
    theirs.finish().context("llvm-objdump")?;
    ours.finish().context("hsaco disasm")?;
    let difference = (differing > 0)
        .then(|| format!("{name}: {differing} of {lines} lines differ, first line:\n{first}"));
    Ok(Comparison { objects: 1, lines, differences: difference.into_iter().collect() })
}

/// A tool at work on `object.co`, and what it prints.
struct Output {
    process: Child,
    text: BufReader<std::process::ChildStdout>,
}

impl Output {
    fn of(command: &mut Command, folder: &Path) -> Result<Self> {
        command.arg("object.co").current_dir(folder).stdin(Stdio::null());
        let mut process = command.stdout(Stdio::piped()).spawn()?;
        let text = BufReader::new(process.stdout.take().context("no standard output")?);
        Ok(Self { process, text })
    }

    /// The next line, empty at the end.
    fn line(&mut self) -> Result<String> {
        let mut line = Vec::new();
        self.text.read_until(b'\n', &mut line)?;
        Ok(String::from_utf8_lossy(&line).into_owned())
    }

    fn finish(mut self) -> Result<()> {
        let status = self.process.wait()?;
        ensure!(status.success(), "{status}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use std::os::unix::fs::PermissionsExt as _;

    /// A stand-in for hsaco that changes what llvm-objdump prints.
    fn compare_with(script: &str) -> Comparison {
        let folder = scratch_dir();
        let tool = folder.path().join("tool");
        fs::write(&tool, format!("#!/bin/sh\nllvm-objdump-22 -d \"$2\" | {script}\n")).unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
        compare_file(&tool, &fixture("plain.bundle"), 1).unwrap()
    }

    #[test]
    #[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
    fn equal_texts_are_only_counted() {
        let found = compare_with("cat");
        assert!(found.objects > 1 && found.lines > 20, "{found:?}");
        assert_eq!(found.differences, [""; 0]);
    }

    #[test]
    #[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
    fn a_changed_line_is_shown_with_what_precedes_it() {
        let found = compare_with("sed s/s_endpgm/s_end/");
        assert_eq!(found.differences.len(), found.objects);
        let text = &found.differences[0];
        assert!(text.contains("\n- \ts_endpgm") && text.contains("\n+ \ts_end "), "{text}");
    }

    #[test]
    #[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
    fn missing_lines_differ() {
        assert!(compare_with("head -n 6").differences[0].contains("lines differ"));
    }
}
