//! Instructions of real code, printed and assembled again.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use hsaco::analysis::{Function, Functions};
use hsaco::container::{EntryKind, WalkOptions, entries};
use hsaco::isa::decoder::DecodeOptions;
use hsaco::isa::model::VgprMsb;
use hsaco::isa::target::WaveSize;
use hsaco::isa::{Decoder, Processor};
use hsaco::object::{CodeMap, CodeObject};

use crate::assembly::{AsmJudge, AsmTally, TEXT_CAUSES};
use crate::exact::{ExactJudge, ExactTally, Lines};
use crate::oracle::Target;

/// All distinct instructions of some files, by target.
#[derive(Debug, Default)]
pub struct Reassembly {
    /// How many objects were read.
    pub objects: usize,
    /// How many instructions, each as often as it occurs.
    pub instructions: usize,
    targets: HashMap<String, Distinct>,
}

/// The instructions of one target.
#[derive(Debug)]
struct Distinct {
    decoder: Decoder,
    judge: AsmJudge,
    exact: ExactJudge,
    target: Target,
    lines: Lines,
    seen: HashSet<([u8; 20], usize)>,
    tally: AsmTally,
    exact_tally: ExactTally,
}

impl Reassembly {
    /// Adds every so-many-th object of a file.
    pub fn add_file(&mut self, path: &Path, every: usize) -> Result<()> {
        let bytes = fs::read(path)?;
        let mut objects = 0;
        for entry in entries(&bytes, &WalkOptions::default()) {
            let entry = entry?;
            if entry.kind == EntryKind::CodeObject {
                objects += 1;
                if objects % every == 0 {
                    self.add_object(&CodeObject::parse(&entry.data)?)?;
                }
            }
        }
        Ok(())
    }

    fn add_object(&mut self, object: &CodeObject<'_>) -> Result<()> {
        let Some(processor) = object.target().id().map(|id| id.processor) else { return Ok(()) };
        let Ok(plain) = Decoder::new(processor) else { return Ok(()) };
        self.objects += 1;
        let mut wave_sizes = BTreeMap::new();
        for kernel in object.index().kernels() {
            let size = kernel.resources(object.target().generation()).0.wavefront_size;
            wave_sizes.extend(kernel.entry().map(|entry| (entry, size == Some(32))));
        }
        let any = wave_sizes.values().next().copied();
        let map = CodeMap::new(object, &object.index());
        for function in Functions::new(&map, &plain).as_slice() {
            if let Some(narrow) = wave_sizes.get(&function.address).copied().or(any) {
                self.add_function(processor, narrow, function)?;
            }
        }
        Ok(())
    }

    fn add_function(
        &mut self,
        processor: Processor,
        narrow: bool,
        function: &Function<'_>,
    ) -> Result<()> {
        let distinct = self.target(processor, narrow)?;
        let mut count = 0;
        for inst in function.decode(&distinct.decoder).steps().filter_map(|it| it.inst) {
            count += 1;
            if distinct.seen.insert((inst.bytes(), inst.len())) {
                let mut encoded = Vec::new();
                inst.encode(&mut encoded);
                ensure!(inst.bytes().starts_with(&encoded), "{inst:?} is encoded otherwise");
                let text = distinct.decoder.text(&inst);
                distinct.tally.add(&distinct.judge, &text, &encoded);
                let line = distinct.exact.add(&inst, VgprMsb::default(), &mut distinct.exact_tally);
                distinct.lines.add(&line, &encoded);
            }
        }
        self.instructions += count;
        Ok(())
    }

    fn target(&mut self, processor: Processor, narrow: bool) -> Result<&mut Distinct> {
        let name = format!("{} {}", processor.name(), if narrow { 32 } else { 64 });
        if !self.targets.contains_key(&name) {
            let wave_size = Some(if narrow { WaveSize::Wave32 } else { WaveSize::Wave64 });
            let options = DecodeOptions { wave_size, ..DecodeOptions::default() };
            let features = match wave_size {
                Some(WaveSize::Wave64) => "+wavefrontsize64",
                _ => "",
            };
            let target = Target { processor, options, features: features.to_owned() };
            let distinct = Distinct {
                exact: ExactJudge::new(&target)?,
                lines: Lines::default(),
                exact_tally: ExactTally::default(),
                decoder: Decoder::with_options(processor, options)?,
                judge: AsmJudge::new(&target, TEXT_CAUSES)?,
                seen: HashSet::new(),
                tally: AsmTally::default(),
                target,
            };
            self.targets.insert(name.clone(), distinct);
        }
        self.targets.get_mut(&name).ok_or_else(|| anyhow::anyhow!("just added"))
    }

    /// The verdicts, by processor and wave size: on the decoder's text, and on that which is to be exact.
    #[must_use]
    pub fn tallies(&self) -> BTreeMap<&str, (&AsmTally, &ExactTally)> {
        self.targets
            .iter()
            .map(|(name, it)| (name.as_str(), (&it.tally, &it.exact_tally)))
            .collect()
    }

    /// Lets llvm-mc assemble what is to be exact; an error where it makes other bytes of it.
    pub fn ask_llvm_mc(&self) -> Result<()> {
        self.targets.values().try_for_each(|it| it.lines.ask_llvm_mc(&it.target))
    }
}
