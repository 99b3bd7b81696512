//! `cargo xtask coverage`: which instructions of the corpus the emulator does not run.

mod trial;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use hsaco::analysis::Code;
use hsaco::container::{EntryKind, HashCheck, WalkOptions, entries};
use hsaco::isa::Processor;
use hsaco::isa::target::Generation;
use hsaco::object::CodeObject;
use hsaco_tests::corpus_dir;

use crate::args::Args;
use trial::Trial;

/// Encodings of an instruction that are tried at most: operands and modifiers of many kinds.
const MOST_ENCODINGS: usize = 100;

/// An instruction of code for one processor, and in waves of 32 lanes or of 64.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    processor: String,
    is_wave32: bool,
    mnemonic: String,
}

#[derive(Default)]
struct Found {
    objects: usize,
    instructions: u64,
    /// Processors that are not emulated.
    left_out: BTreeMap<String, usize>,
    encodings: BTreeMap<Key, HashSet<Vec<u8>>>,
}

pub(crate) fn run(mut args: Args) -> Result<()> {
    let only: Option<String> = args.option("--folder")?;
    args.finish()?;
    let mut found = Found::default();
    for folder in ["bitsandbytes", "triton", "debian"] {
        if only.as_ref().is_some_and(|it| it != folder) {
            continue;
        }
        for path in files(&corpus_dir().join(folder))? {
            found.read(&path).with_context(|| path.display().to_string())?;
        }
    }
    ensure!(found.objects > 0, "the corpus is empty: run `cargo xtask corpus`");
    found.report()
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

/// Whether code for a processor runs: the eight targets, and what belongs to their families.
fn is_emulated(processor: Processor) -> bool {
    let generation = processor.generation();
    let is_gfx103 = processor.name().starts_with("gfx103");
    matches!(generation, Generation::Gfx90a | Generation::Gfx940)
        || generation == Generation::Gfx10 && is_gfx103
        || generation >= Generation::Gfx11
}

impl Found {
    fn read(&mut self, path: &Path) -> Result<()> {
        let bytes = fs::read(path)?;
        let options = WalkOptions { hash: HashCheck::UpTo(0), ..WalkOptions::default() };
        for entry in entries(&bytes, &options) {
            let entry = entry?;
            if entry.kind != EntryKind::CodeObject {
                continue;
            }
            let object = CodeObject::parse(&entry.data)?;
            let target = object.target().id().context("an object of no target")?;
            if is_emulated(target.processor) {
                self.object(&object, target.processor)?;
            } else {
                *self.left_out.entry(target.processor.to_string()).or_default() += 1;
            }
        }
        Ok(())
    }

    fn object(&mut self, object: &CodeObject<'_>, processor: Processor) -> Result<()> {
        let code = Code::of(object)?;
        self.objects += 1;
        let index = object.index();
        let descriptors = || index.kernels().iter().filter_map(hsaco::object::Kernel::descriptor);
        let is_wave32 = processor.generation() >= Generation::Gfx10
            && descriptors().any(|it| it.kernel_code_properties & 1 << 10 != 0);
        for function in code.functions().as_slice() {
            for inst in code.stream(function).steps().filter_map(|step| step.inst) {
                self.instructions += 1;
                let key = Key {
                    processor: processor.to_string(),
                    is_wave32,
                    mnemonic: inst.full_mnemonic().to_owned(),
                };
                let encodings = self.encodings.entry(key).or_default();
                if encodings.len() < MOST_ENCODINGS {
                    encodings.insert(inst.bytes().iter().take(inst.len()).copied().collect());
                }
            }
        }
        Ok(())
    }

    /// Tries what was found, and names what does not run.
    fn report(&self) -> Result<()> {
        let processors: BTreeSet<&str> =
            self.encodings.keys().map(|it| it.processor.as_str()).collect();
        let tried: usize = self.encodings.values().map(HashSet::len).sum();
        let (objects, instructions, kinds) =
            (self.objects, self.instructions, self.encodings.len());
        println!(
            "{objects} objects of {}; {instructions} instructions, {kinds} kinds, {tried} encodings tried",
            processors.into_iter().collect::<Vec<_>>().join(", ")
        );
        for (processor, objects) in &self.left_out {
            println!("{processor}: {objects} objects, not of the emulated families");
        }
        let mut refused = 0;
        for (key, encodings) in &self.encodings {
            let mut trial = Trial::new(&key.processor, key.is_wave32)?;
            let mut reasons = BTreeSet::new();
            for encoding in encodings {
                reasons.extend(trial.refuses(encoding)?);
            }
            for reason in &reasons {
                println!("{} {}: {reason}", key.processor, key.mnemonic);
            }
            refused += usize::from(!reasons.is_empty());
        }
        ensure!(refused == 0, "{refused} kinds of instructions of the corpus do not run");
        println!("all of them run");
        Ok(())
    }
}
