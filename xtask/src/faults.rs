//! `cargo xtask faults`: what `missing-wait`, `missing-barrier` and `hazard` say of code that compilers made, which has no
//! such faults.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context as _, Result, ensure};
use hsaco::analysis::{
    Certainty, Cfg, Code, Function, Workgroup, hazards, missing_barriers, missing_waits,
    unpaired_barriers,
};
use hsaco::container::{EntryKind, HashCheck, WalkOptions, entries};
use hsaco::object::CodeObject;
use hsaco_tests::corpus_dir;

use crate::args::Args;
use crate::compiled;

pub(crate) fn run(mut args: Args) -> Result<()> {
    let seeds: String = args.option("--seeds")?.unwrap_or_else(|| "1..9".to_owned());
    let jobs = args.option("--jobs")?.unwrap_or(2);
    let (first, end) = seeds.split_once("..").context("--seeds wants FIRST..END")?;
    let mut files = Vec::new();
    while let Some(file) = args.positional() {
        files.push(PathBuf::from(file));
    }
    args.finish()?;
    if files.is_empty() {
        for folder in ["bitsandbytes", "triton", "debian"] {
            files.extend(libraries(&corpus_dir().join(folder))?);
        }
        files.extend(compiled::programs(first.parse()?, end.parse()?)?);
    }
    let mut all = Found::default();
    for file in files {
        let bytes = fs::read(&file)?;
        all.add(read(&bytes, jobs).with_context(|| file.display().to_string())?, &file);
    }
    all.report()
}

/// The files of a folder of the corpus that hold code.
fn libraries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        files.extend(
            (path.is_file() && path.extension().is_none_or(|it| it != "txt")).then_some(path),
        );
    }
    files.sort();
    Ok(files)
}

/// What is found alike, by rule, severity and reason.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Class {
    is_error: bool,
    processor: String,
    what: String,
}

#[derive(Default)]
struct Found {
    objects: usize,
    kernels: usize,
    functions: usize,
    /// Kernels that waves of a workgroup may race in.
    racing: usize,
    /// Kernels that store to LDS.
    sharing: usize,
    /// How many of each class, and where the first is.
    classes: BTreeMap<Class, (usize, String)>,
}

/// The objects of a file, on so many threads.
fn read(bytes: &[u8], jobs: usize) -> Result<Found> {
    let options = WalkOptions { hash: HashCheck::UpTo(0), ..WalkOptions::default() };
    let walk = Mutex::new(entries(bytes, &options));
    let job = || -> Result<Found> {
        let mut found = Found::default();
        loop {
            let next = walk.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(entry) = next else { return Ok(found) };
            let entry = entry?;
            if entry.kind == EntryKind::CodeObject {
                found.object(&CodeObject::parse(&entry.data)?);
            }
        }
    };
    thread::scope(|scope| {
        let jobs: Vec<_> = (0..jobs).map(|_| scope.spawn(job)).collect();
        let mut all = Found::default();
        for job in jobs {
            all.add(job.join().map_err(|_| anyhow::anyhow!("a job panicked"))??, Path::new(""));
        }
        Ok(all)
    })
}

impl Found {
    fn object(&mut self, object: &CodeObject<'_>) {
        let Ok(code) = Code::of(object) else { return };
        self.objects += 1;
        self.kernels += object.index().kernels().len();
        for function in code.functions().as_slice() {
            self.function(&code, function);
        }
    }

    fn function(&mut self, code: &Code<'_>, function: &Function<'_>) {
        self.functions += 1;
        let decoder = code.decoder(function);
        let stream = function.decode(&decoder);
        let cfg = Cfg::new(&decoder, &stream);
        let name = function.name.map(|it| it.to_string()).unwrap_or_default();
        let mut tell = |certainty: &Certainty, what: String, step: usize| {
            let class = Class {
                is_error: *certainty == Certainty::Always,
                processor: code.processor().to_string(),
                what: format!("{what}, {}", reason(certainty)),
            };
            let place = || format!("{name} {:#x}", stream.address_of(step));
            self.classes.entry(class).or_insert_with(|| (0, place())).0 += 1;
        };
        for it in missing_waits(&decoder, &stream, &cfg) {
            let what = format!("missing-wait, {:?}, {}", it.touch, it.counter.name());
            tell(&it.certainty, what, it.step);
        }
        for it in hazards(&decoder, &stream, &cfg) {
            tell(&it.certainty, format!("hazard, {}", it.demand.hazard.name), it.step);
        }
        let on_path = Certainty::OnPath(Vec::new());
        let mut kernels = code.index().kernels().iter();
        let kernel = kernels.find(|it| it.entry() == Some(function.address));
        let shares = stream
            .insts()
            .any(|it| ["ds_write", "ds_store"].iter().any(|n| it.mnemonic().starts_with(n)));
        self.sharing += usize::from(kernel.is_some() && shares);
        if let Some(group) = kernel.and_then(|it| Workgroup::of(it, code.processor().generation()))
        {
            let found = missing_barriers(&decoder, &stream, &cfg, group);
            let text = |step| stream.inst(step).map(|it| it.mnemonic()).unwrap_or_default();
            self.racing += usize::from(!found.is_empty());
            for it in found {
                let what = format!("missing-barrier, {} and {}", text(it.first), text(it.step));
                tell(&on_path, what, it.step);
            }
        }
        for (step, what) in unpaired_barriers(&decoder, &stream, &cfg) {
            tell(&on_path, format!("missing-barrier, {what:?} alone"), step);
        }
    }

    fn add(&mut self, other: Found, file: &Path) {
        self.objects += other.objects;
        self.kernels += other.kernels;
        self.functions += other.functions;
        self.racing += other.racing;
        self.sharing += other.sharing;
        for (class, (count, place)) in other.classes {
            let place = || format!("{} {place}", file.display()).trim_start().to_owned();
            self.classes.entry(class).or_insert_with(|| (0, place())).0 += count;
        }
    }

    fn report(&self) -> Result<()> {
        let of = |is_error: bool| self.classes.iter().filter(move |it| it.0.is_error == is_error);
        let count = |is_error: bool| of(is_error).map(|it| it.1.0).sum::<usize>();
        for (class, (count, place)) in of(true).chain(of(false)) {
            let severity = if class.is_error { "error" } else { "warning" };
            println!("{severity}\t{}\t{}\t{count}\t{place}", class.processor, class.what);
        }
        println!(
            "{} objects, {} kernels, {} functions: {} errors, {} warnings",
            self.objects,
            self.kernels,
            self.functions,
            count(true),
            count(false)
        );
        println!("{} of {} kernels that store to LDS lack a barrier", self.racing, self.sharing);
        ensure!(count(true) == 0, "errors in what compilers made");
        Ok(())
    }
}

fn reason(certainty: &Certainty) -> &'static str {
    match certainty {
        Certainty::Always => "always",
        Certainty::OnPath(_) => "on a path",
        Certainty::ByAddress => "by address",
        Certainty::ByOrder => "by order",
        Certainty::Unless(_) => "in doubt",
    }
}
