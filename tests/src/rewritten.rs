//! Objects for gfx1250 before and after rewriting, and the code that runs.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "fails the test that asks"
)]

use std::cell::RefCell;
use std::process::Command;
use std::rc::Rc;

use hsaco::bytes::hex::encode;
use hsaco::object::CodeObject;
use hsaco::patch::{Manifest, Options, Patched, Patcher, RuleSet, Verdict};

use crate::gfx1250::{self, NewKernel};
use crate::scratch_dir;

/// The rules for A0.
pub fn rule_set() -> &'static RuleSet {
    RuleSet::by_name("gfx1250-b0-to-a0").unwrap()
}

/// A patcher for A0 with options.
pub fn patcher(options: &Options) -> Rc<Patcher> {
    patcher_by(rule_set(), options)
}

/// A patcher by a rule set with options: making one takes longer than using it.
pub fn patcher_by(set: &'static RuleSet, options: &Options) -> Rc<Patcher> {
    type Known = (&'static str, Options, Rc<Patcher>);
    thread_local! {
        static KNOWN: RefCell<Vec<Known>> = RefCell::default();
    }
    KNOWN.with_borrow_mut(|known| {
        let is_it = |(name, of, _): &&Known| *name == set.name() && of == options;
        if let Some((.., patcher)) = known.iter().find(is_it) {
            return Rc::clone(patcher);
        }
        let patcher = Rc::new(Patcher::new(set, options.clone()).unwrap());
        known.push((set.name(), options.clone(), Rc::clone(&patcher)));
        patcher
    })
}

/// A kernel of these lines, with `s_endpgm` behind them.
pub fn kernel(name: &str, lines: &str) -> NewKernel {
    gfx1250::kernel(name, lines).unwrap()
}

/// An object of kernels.
pub fn object(kernels: &[NewKernel]) -> Vec<u8> {
    gfx1250::object(kernels).unwrap()
}

/// What becomes of an object without options.
pub fn patch(file: &[u8]) -> Patched {
    patcher(&Options::default()).patch(file).unwrap()
}

/// The result and its manifest: it holds, and a second run leaves it as it is.
pub fn changed(file: &[u8]) -> (Vec<u8>, Manifest) {
    changed_by(&patcher(&Options::default()), file)
}

/// The same by another patcher.
pub fn changed_by(patcher: &Patcher, file: &[u8]) -> (Vec<u8>, Manifest) {
    let Patched { bytes, manifest } = patcher.patch(file).unwrap();
    assert_eq!(manifest.verdict, Verdict::Changed, "{:?}", manifest.remarks);
    let bytes = bytes.unwrap();
    assert_eq!(patcher.verify(file, &bytes, &manifest), []);
    let again = patcher.patch(&bytes).unwrap();
    assert!(again.bytes.is_none(), "the second run changes {:?}", again.manifest.records);
    (bytes, manifest)
}

/// Why an object was refused.
pub fn refusal(patched: &Patched) -> String {
    assert_eq!((patched.bytes.is_none(), &patched.manifest.verdict), (true, &Verdict::Refused));
    patched.manifest.refusals().next().unwrap().1.to_string()
}

/// An object before and after, and what the manifest says.
pub struct Rewritten {
    /// The original.
    pub before: Vec<u8>,
    /// As before where nothing was to be done.
    pub after: Vec<u8>,
    /// What was done.
    pub manifest: Manifest,
}

impl Rewritten {
    /// Rewrites an object; the result holds, and a second run leaves it as it is.
    pub fn with(options: &Options, before: Vec<u8>) -> Rewritten {
        Rewritten::by(&patcher(options), before)
    }

    /// The same by other rules.
    pub fn by(patcher: &Patcher, before: Vec<u8>) -> Rewritten {
        let patched = patcher.patch(&before).unwrap();
        if patched.bytes.is_some() {
            let (after, manifest) = changed_by(patcher, &before);
            return Rewritten { before, after, manifest };
        }
        assert_ne!(patched.manifest.verdict, Verdict::Changed);
        Rewritten { after: before.clone(), before, manifest: patched.manifest }
    }

    /// The same of kernels, without options.
    pub fn of(kernels: &[NewKernel]) -> Rewritten {
        Rewritten::with(&Options::default(), object(kernels))
    }

    /// Why it was refused.
    pub fn refusal(&self) -> String {
        assert_eq!(self.manifest.verdict, Verdict::Refused);
        self.manifest.refusals().next().unwrap().1.to_string()
    }

    /// The bytes that run in place of those at an address: replacements stand where the instructions stood.
    pub fn executed(&self, from: u64, size: u64) -> Vec<u8> {
        let object = CodeObject::parse(&self.after).unwrap();
        let bytes = |address, size: u64| object.elf().at_address(address, size).unwrap();
        let (mut code, mut at) = (Vec::new(), from);
        let inside = |address: u64| (from..from + size).contains(&address);
        for record in self.manifest.records.iter().filter(|it| inside(it.site.address)) {
            code.extend_from_slice(bytes(at, record.site.address - at));
            match &record.body {
                Some(body) => {
                    let size = body.new.len() - record.way_back;
                    code.extend_from_slice(bytes(body.address, size as u64));
                }
                None => {
                    code.extend_from_slice(bytes(
                        record.site.address,
                        record.site.new.len() as u64,
                    ));
                }
            }
            at = record.site.address + record.site.old.len() as u64;
        }
        code.extend_from_slice(bytes(at, from + size - at));
        code
    }

    /// The same as text.
    pub fn text(&self, from: u64, size: u64) -> Vec<String> {
        text(&self.executed(from, size))
    }

    /// A number of a kernel that changed, before and after.
    pub fn setting(&self, kernel: usize, name: &str) -> Option<(&str, &str)> {
        let settings = &self.manifest.kernels[kernel].settings;
        let found = settings.iter().find(|it| it.name == name)?;
        Some((found.old.as_str(), found.new.as_str()))
    }
}

/// Code as text, a line for each instruction.
pub fn text(code: &[u8]) -> Vec<String> {
    let decoder = gfx1250::assembler().unwrap().decoder().clone();
    let stream = hsaco::analysis::Stream::decode(&decoder, 0, code);
    stream.steps().map(|it| it.inst.map_or("?".into(), |it| decoder.text(&it))).collect()
}

/// LLVM's tools accept the object, and find an instruction everywhere.
pub fn llvm_accepts(file: &[u8]) {
    let folder = scratch_dir();
    let path = folder.path().join("result.co");
    std::fs::write(&path, file).unwrap();
    let run = |tool: &str, argument: &str| {
        let output = Command::new(tool).arg(argument).arg(&path).output().unwrap();
        let (out, error) = (output.stdout, String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success() && error.is_empty(), "{tool}: {error}");
        String::from_utf8(out).unwrap()
    };
    run("llvm-readelf-22", "-a");
    let listing = run("llvm-objdump-22", "-d");
    assert_eq!(listing.lines().find(|line| line.contains(".long")), None);
}

/// Bytes as words of text, in the order of the file.
pub fn hex(code: &[u8]) -> String {
    code.chunks(4).map(encode).collect::<Vec<_>>().join(" ")
}
