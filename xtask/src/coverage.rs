//! `cargo xtask coverage`: which instructions of the corpus the emulator does not run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use hsaco::analysis::Code;
use hsaco::container::{EntryKind, HashCheck, Options, entries};
use hsaco::emu::{self, Fidelity};
use hsaco::object::CodeObject;
use hsaco_tests::corpus_dir;

use crate::args::Args;

/// How often an instruction occurs, and in code for which targets.
#[derive(Default)]
struct Occurrence {
    count: u64,
    targets: BTreeSet<String>,
}

/// Occurrences by mnemonic, of the targets that are emulated.
#[derive(Default)]
struct Found {
    objects: usize,
    mnemonics: BTreeMap<String, Occurrence>,
}

pub(crate) fn run(mut args: Args) -> Result<()> {
    let only: Option<String> = args.option("--folder")?;
    args.finish()?;
    let targets: BTreeSet<&str> = emu::coverage().iter().map(|it| it.target).collect();
    let mut found = Found::default();
    for folder in ["bitsandbytes", "triton", "debian"] {
        if only.as_ref().is_some_and(|it| it != folder) {
            continue;
        }
        for path in files(&corpus_dir().join(folder))? {
            found.read(&path, &targets).with_context(|| path.display().to_string())?;
        }
    }
    ensure!(found.objects > 0, "the corpus is empty: run `cargo xtask corpus`");
    let all: u64 = found.mnemonics.values().map(|it| it.count).sum();
    println!("{} objects, {all} instructions, {} mnemonics", found.objects, found.mnemonics.len());
    let mut missing = 0;
    for (mnemonic, Occurrence { count, targets }) in &found.mnemonics {
        for target in targets {
            let (fidelity, reason) =
                emu::fidelity(mnemonic, target).unwrap_or((Fidelity::Unwritten, "no line"));
            if !fidelity.runs() {
                println!("{fidelity}: {mnemonic} of {target}, {count} times in all; {reason}");
            }
            missing += usize::from(fidelity == Fidelity::Unwritten);
        }
    }
    ensure!(missing == 0, "{missing} instructions of the corpus do not run");
    Ok(())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() && path.extension().is_none_or(|it| it != "txt") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

impl Found {
    fn read(&mut self, path: &Path, targets: &BTreeSet<&str>) -> Result<()> {
        let bytes = fs::read(path)?;
        let options = Options { hash: HashCheck::UpTo(0), ..Options::default() };
        for entry in entries(&bytes, &options) {
            let entry = entry?;
            if entry.kind != EntryKind::CodeObject {
                continue;
            }
            let Ok(object) = CodeObject::parse(&entry.data) else { continue };
            let Some(target) = object.target().id() else { continue };
            let name = target.processor.to_string();
            if targets.contains(name.as_str()) {
                self.object(&object, &name);
            }
        }
        Ok(())
    }

    fn object(&mut self, object: &CodeObject<'_>, target: &str) {
        let Ok(code) = Code::of(object) else { return };
        self.objects += 1;
        for function in code.functions().as_slice() {
            let stream = code.stream(function);
            for inst in stream.steps().filter_map(|step| step.inst) {
                self.add(inst.mnemonic(), target);
                if let Some(second) = inst.second_mnemonic() {
                    self.add(second, target);
                }
            }
        }
    }

    fn add(&mut self, mnemonic: &str, target: &str) {
        if !self.mnemonics.contains_key(mnemonic) {
            self.mnemonics.insert(mnemonic.to_owned(), Occurrence::default());
        }
        if let Some(occurrence) = self.mnemonics.get_mut(mnemonic) {
            occurrence.count += 1;
            if !occurrence.targets.contains(target) {
                occurrence.targets.insert(target.to_owned());
            }
        }
    }
}
