//! `cargo xtask oracle database`: of every kernel of files, asked for alone and with all others, and found by a walk over the
//! whole object: the same instructions, in program order, no byte missing.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use anyhow::{Context as _, Result, bail, ensure};
use hsaco::analysis::Code;
use hsaco::container::{Entry, EntryKind, HashCheck, WalkOptions, entries};
use hsaco::db::{Database, IndexedKernel};
use hsaco::object::CodeObject;

use crate::args::Args;

pub(crate) fn run(mut args: Args) -> Result<()> {
    let mut files = 0;
    while let Some(file) = args.positional() {
        let bytes = fs::read(&file).with_context(|| file.clone())?;
        let options = WalkOptions { hash: HashCheck::UpTo(0), ..WalkOptions::default() };
        let objects: Vec<Entry<'_>> = entries(&bytes, &options)
            .filter_map(|it| it.ok().filter(|it| it.kind == EntryKind::CodeObject))
            .collect();
        let tally = check_all(&objects)?;
        println!("{file}: {} objects, {tally:?}", objects.len());
        files += 1;
    }
    args.finish()?;
    ensure!(files > 0, "which files?");
    Ok(())
}

/// What was compared.
#[derive(Debug, Default)]
struct Tally {
    kernels: usize,
    instructions: usize,
    bytes: usize,
    /// Kernels for processors without tables.
    unsupported: usize,
}

fn check_all(objects: &[Entry<'_>]) -> Result<Tally> {
    let (next, total) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    let work = || -> Result<()> {
        while let Some(entry) = objects.get(next.fetch_add(1, Ordering::Relaxed)) {
            let place = || format!("{:?} at {:?}", entry.id, entry.offset);
            let tally = check(&entry.data).with_context(place)?;
            let mut total = total.lock().map_err(|_| anyhow::anyhow!("a thread failed"))?;
            total.kernels += tally.kernels;
            total.instructions += tally.instructions;
            total.bytes += tally.bytes;
            total.unsupported += tally.unsupported;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            thread.join().map_err(|_| anyhow::anyhow!("a thread failed"))??;
        }
        Ok::<(), anyhow::Error>(())
    })?;
    Ok(total.into_inner()?)
}

/// An instruction: where it is, its bytes, its text.
type Shown = (u64, Vec<u8>, String);

fn shown(kernel: &IndexedKernel) -> Result<Vec<Shown>> {
    let all = kernel.instructions()?;
    Ok(all.map(|it| (it.address(), it.bytes().to_vec(), it.text())).collect())
}

fn check(object: &[u8]) -> Result<Tally> {
    let (lazy, eager) = (Database::new(), Database::new());
    for database in [&lazy, &eager] {
        database.add("object", object.to_vec())?;
    }
    let mut tally = Tally::default();
    let whole = whole_object(object)?;
    let kernels: Vec<_> = eager.kernels().collect();
    if kernels.first().is_some_and(|it| it.instructions().is_err()) {
        return Ok(Tally { unsupported: kernels.len(), ..tally });
    }
    // Eager: all of them in their order, before one is looked at.
    kernels.iter().try_for_each(|it| it.instructions().map(|_| ()))?;
    // Lazy: each alone, the last first.
    let reversed: Vec<_> = lazy.kernels().collect();
    for (one, other) in reversed.iter().zip(&kernels).rev() {
        let name = one.name().to_string();
        let (alone, together) = (shown(one)?, shown(other)?);
        ensure!(alone == together, "{name}: other instructions alone than together");
        let entry = one.entry().context("no entry")?;
        let mut at = entry;
        for (address, bytes, _) in &alone {
            ensure!(*address == at, "{name}: {address:#x} follows {at:#x}");
            at += bytes.len() as u64;
        }
        let size = at - entry;
        let said = one.tables()?.kernel().code_size();
        ensure!(said.is_none_or(|it| it == size), "{name}: {size} bytes of {said:?}");
        match whole.get(&entry) {
            Some(lengths) => ensure!(
                alone.iter().map(|it| it.1.len()).eq(lengths.iter().copied()),
                "{name}: a walk over the object finds other instructions"
            ),
            None => bail!("{name}: a walk over the object does not find it"),
        }
        tally.kernels += 1;
        tally.instructions += alone.len();
        tally.bytes += usize::try_from(size)?;
    }
    ensure!(lazy.counts() == eager.counts(), "{:?} is not {:?}", lazy.counts(), eager.counts());
    Ok(tally)
}

/// The lengths of the instructions of each function, by where it starts.
fn whole_object(object: &[u8]) -> Result<BTreeMap<u64, Vec<usize>>> {
    let object = CodeObject::parse(object)?;
    let Ok(code) = Code::of(&object) else { return Ok(BTreeMap::new()) };
    let mut all = BTreeMap::new();
    for function in code.functions().as_slice() {
        let stream = code.stream(function);
        let ends = (1..=stream.len()).map(|it| stream.address_of(it));
        let starts = (0..stream.len()).map(|it| stream.address_of(it));
        let lengths = starts.zip(ends).map(|(start, end)| Ok(usize::try_from(end - start)?));
        all.insert(function.address, lengths.collect::<Result<_>>()?);
    }
    Ok(all)
}
