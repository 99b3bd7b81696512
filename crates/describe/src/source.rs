//! The instructions of kernels, by the source lines that they come from.

use std::collections::BTreeSet;

use std::cmp::Reverse;

use crate::source_name;
use hsaco_analysis::{Code, LENIENT, LiveCounts, Reading};
use hsaco_bytes::hex::encode as hex;
use hsaco_bytes::{Error, ErrorKind, Result};
use hsaco_db::Listing;
use hsaco_draw::flow::{Graph, label};
use hsaco_dwarf::DebugInfo;
use hsaco_files::{KernelSelection, ObjectItem, Trouble};
use hsaco_isa::Decoder;
use hsaco_isa::decoder::DecoderCache;
use hsaco_object::CodeMap;
use hsaco_object::{CodeObject, Kernel};
use serde::Serialize;

use crate::Place;
use crate::body::{Body, LoopRow};
use crate::code::compiled;

/// The text of a line of a file, counted from 1, if the file is there.
pub type SourceLine<'q> = &'q (dyn Fn(&str, u32) -> Option<String> + Sync);

/// How source is read.
#[derive(Clone, Copy)]
pub struct Options<'q> {
    /// Of which kernels.
    pub kernels: &'q KernelSelection,
    /// Whether the calls that were inlined are wanted.
    pub inlines: bool,
    /// Largest size that a debug section may unfold to.
    pub max_size: u64,
    /// What reads source files.
    pub line: SourceLine<'q>,
    /// Decoders that were made before.
    pub decoders: &'q DecoderCache,
    /// Whether code is shown loop by loop.
    pub loops: Option<LoopChoice>,
}

/// Which loops are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopChoice {
    /// All, the innermost first, then the rest of the code.
    Hot,
    /// One, by its number in the function, with the loops in it.
    Number(usize),
}

/// The source of an object's kernels.
#[derive(Debug, Default, Serialize)]
pub struct ObjectSource {
    /// Those whose code is in the object.
    pub kernels: Vec<KernelSource>,
    /// Whether nothing is wrong with the object: only then no lines means that it was compiled without.
    #[serde(skip)]
    pub is_readable: bool,
}

/// The source of one kernel.
#[derive(Debug, Serialize)]
pub struct KernelSource {
    /// The mangled name.
    pub name: String,
    /// The name in the source.
    pub demangled: String,
    /// The loops that were asked for, the innermost first, each without the code of loops that are shown before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loops: Option<Vec<LoopSource>>,
    /// In the order of the code; without the code of loops where these were asked for.
    pub stretches: Vec<Stretch>,
}

/// A loop and its code.
#[derive(Debug, Serialize)]
pub struct LoopSource {
    /// The loop.
    #[serde(flatten)]
    pub row: LoopRow,
    /// In the order of the code.
    pub stretches: Vec<Stretch>,
}

/// Instructions that follow one another and come from one line.
#[derive(Debug, Serialize)]
pub struct Stretch {
    /// The line, and the column of the first instruction.
    #[serde(flatten)]
    pub place: Place,
    /// The line's text; null where its file is not there.
    pub source: Option<String>,
    /// The calls that were inlined, the innermost first; null where they were not asked for.
    pub inlined_at: Option<Vec<Place>>,
    /// The columns that the instructions come from.
    pub columns: BTreeSet<u32>,
    /// In order.
    pub instructions: Vec<Instruction>,
}

/// An instruction.
#[derive(Debug, Serialize)]
pub struct Instruction {
    /// Where it is.
    pub address: u64,
    /// Its encoding, as hexadecimal.
    pub bytes: String,
    /// As a listing has it; branches name blocks where code is shown loop by loop.
    pub text: String,
    /// The block that begins here, where code is shown loop by loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The registers that are live before it, where code is shown loop by loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveRow>,
}

/// How many registers are live; null where that is not known.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LiveRow {
    /// Vector registers.
    pub vgprs: Option<usize>,
    /// Accumulation registers.
    pub agprs: Option<usize>,
    /// Scalar registers.
    pub sgprs: Option<usize>,
}

impl From<LiveCounts> for LiveRow {
    fn from(LiveCounts { vgprs, agprs, sgprs }: LiveCounts) -> Self {
        Self { vgprs, agprs, sgprs }
    }
}

impl ObjectSource {
    /// Reads all wanted kernels; one that cannot be shown is noted.
    pub fn new(item: &ObjectItem<'_, '_>, options: &Options<'_>, trouble: &mut Trouble) -> Self {
        let mut found = Self::default();
        let read = compiled(item).and_then(|()| match &item.object {
            Some(object) => found.read(object, item, options, trouble),
            None => Ok(()),
        });
        read.unwrap_or_else(|error| item.note(error, trouble));
        found.is_readable = trouble.is_empty();
        found
    }

    /// Whether any code has a file.
    #[must_use]
    pub fn has_lines(&self) -> bool {
        self.kernels.iter().any(KernelSource::has_lines)
    }

    /// Whether a kernel has a loop that was asked for.
    #[must_use]
    pub fn has_loops(&self) -> bool {
        self.kernels.iter().any(|it| it.loops.as_ref().is_some_and(|it| !it.is_empty()))
    }

    fn read(
        &mut self,
        object: &CodeObject<'_>,
        item: &ObjectItem<'_, '_>,
        options: &Options<'_>,
        trouble: &mut Trouble,
    ) -> Result<()> {
        let index = item.index(object, trouble);
        let debug = DebugInfo::open_capped(object, options.max_size)?;
        let code = CodeMap::new(object, &index);
        let reader = Reader { object, code, debug, options };
        let by_loops = options.loops.map(|it| Ok((it, Code::of(object)?))).transpose()?;
        for kernel in options.kernels.of(&index) {
            let read = match &by_loops {
                Some((choice, code)) => reader.loops(kernel, code, *choice),
                None => reader.kernel(kernel),
            };
            match read {
                Ok(kernel) => self.kernels.push(kernel),
                Err(error) => item.note_kernel(kernel.name(), error, trouble),
            }
        }
        Ok(())
    }
}

impl KernelSource {
    fn new(kernel: &Kernel<'_>, loops: Option<Vec<LoopSource>>, stretches: Vec<Stretch>) -> Self {
        let demangled = source_name(kernel.name()).into_owned();
        Self { name: kernel.name().to_string(), demangled, loops, stretches }
    }

    /// Whether any of its code has a file.
    #[must_use]
    pub fn has_lines(&self) -> bool {
        let loops = self.loops.iter().flatten().flat_map(|it| &it.stretches);
        self.stretches.iter().chain(loops).any(|it| it.place.file.is_some())
    }
}

impl LoopSource {
    /// What the loop is, and what is in it, a line each.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let LoopRow { index, parent, depth, header, address, file, line, mix, live, .. } =
            &self.row;
        let parent = parent.map_or_else(String::new, |it| format!(" in loop {it}"));
        let place = match (file, line) {
            (Some(file), Some(line)) => format!(", {file}:{line}"),
            _ => String::new(),
        };
        let header = label(*header);
        let mut words =
            vec![format!("loop {index}{parent}, depth {depth}: {header} at {address:#x}{place}")];
        words.extend(mix.words());
        words.push(live.words());
        words
    }
}

fn no_code() -> Error {
    Error::new(ErrorKind::NotFound, "kernel", "its code is not in the object")
}

/// The instructions of a block, the first with its name.
fn block_instructions(graph: &Graph, body: &Body<'_>, block: usize) -> Vec<Instruction> {
    let Some(lines) = graph.blocks.get(block).map(|it| &it.instructions) else { return Vec::new() };
    let instruction = |(at, line): (usize, &hsaco_draw::flow::BlockLine)| {
        let step = body.stream().index_of(line.address);
        let live = step.and_then(|it| body.live().get(it)).copied().unwrap_or_default();
        Instruction {
            address: line.address,
            bytes: hex(step.map_or(&[], |it| body.stream().bytes(it))),
            text: line.text.clone(),
            label: (at == 0).then(|| label(block)),
            live: Some(live.into()),
        }
    };
    lines.iter().enumerate().map(instruction).collect()
}

struct Reader<'s, 'a> {
    object: &'s CodeObject<'a>,
    code: CodeMap<'a>,
    debug: DebugInfo<'a>,
    options: &'s Options<'s>,
}

impl Reader<'_, '_> {
    fn kernel(&self, kernel: &Kernel<'_>) -> Result<KernelSource> {
        let listing = self.listing(kernel)?;
        let instructions = listing.instructions().map(|it| {
            let (address, bytes, text) = (it.address(), hex(it.bytes()), it.text());
            Instruction { address, bytes, text, label: None, live: None }
        });
        let address = |it| self.debug.sections().address_of(kernel.entry_section(), it);
        let stretches = self.stretches(instructions, address)?;
        Ok(KernelSource::new(kernel, None, stretches))
    }

    /// A kernel's code loop by loop.
    fn loops(
        &self,
        kernel: &Kernel<'_>,
        code: &Code<'_>,
        choice: LoopChoice,
    ) -> Result<KernelSource> {
        let function = code.kernel(kernel).ok_or_else(no_code)?;
        let body = Body::new(code, function);
        let graph = Graph::new(&code.decoder(function), code.functions(), function);
        let mut rows = body.loops(Some(&self.debug));
        rows.sort_by_key(|it| (Reverse(it.depth), Reverse(it.mix.instructions), it.index));
        if let LoopChoice::Number(number) = choice {
            rows.retain(|it| it.index == number);
        }
        let is_hot = choice == LoopChoice::Hot;
        let blocks = |is_meant: &dyn Fn(usize) -> bool| {
            let blocks = (0..graph.blocks.len()).filter(|it| is_meant(*it));
            let instructions = blocks.flat_map(|it| block_instructions(&graph, &body, it));
            self.stretches(instructions, |address| address)
        };
        let innermost = |block: usize| graph.blocks.get(block).and_then(|it| it.innermost);
        let mut loops = Vec::with_capacity(rows.len());
        for row in rows {
            let is_meant = |block: usize| match is_hot {
                true => innermost(block) == Some(row.index),
                false => row.blocks.contains(&block),
            };
            loops.push(LoopSource { stretches: blocks(&is_meant)?, row });
        }
        let rest = blocks(&|block| is_hot && innermost(block).is_none())?;
        Ok(KernelSource::new(kernel, Some(loops), rest))
    }

    /// Instructions by the lines that they come from; `address` gives that of an instruction in the debug information.
    fn stretches(
        &self,
        instructions: impl Iterator<Item = Instruction>,
        address: impl Fn(u64) -> u64,
    ) -> Result<Vec<Stretch>> {
        let mut stretches: Vec<Stretch> = Vec::new();
        let mut before: Option<Vec<Place>> = None;
        for instruction in instructions {
            let places = self.places(address(instruction.address))?;
            let column = places.first().and_then(|it| it.column);
            if before.as_ref().is_none_or(|before| !is_same_line(before, &places)) {
                stretches.push(self.stretch(&places));
                before = Some(places);
            }
            if let Some(stretch) = stretches.last_mut() {
                stretch.columns.extend(column);
                stretch.instructions.push(instruction);
            }
        }
        Ok(stretches)
    }

    fn listing(&self, kernel: &Kernel<'_>) -> Result<Listing> {
        let code = self.code.kernel(kernel).map_or(&[][..], |it| it.bytes);
        let Some(address) = kernel.entry().filter(|_| !code.is_empty()) else {
            return Err(no_code());
        };
        Ok(Listing::decode(self.decoder(kernel, code)?, address, code.to_vec()))
    }

    fn decoder(&self, kernel: &Kernel<'_>, code: &[u8]) -> Result<Decoder> {
        let unsupported = |detail| Error::new(ErrorKind::Unsupported, "instructions", detail);
        let target = self.object.target();
        let processor = target.id().map(|it| it.processor);
        let processor =
            processor.ok_or_else(|| unsupported(format!("those of {target} are not known")))?;
        let cache = self.options.decoders;
        let decoder = Reading::kernel_decoder(kernel, code, processor, LENIENT, cache);
        decoder.map_err(|error| unsupported(error.to_string()))
    }

    /// Where an instruction comes from, and if wanted the calls that brought it there.
    fn places(&self, address: u64) -> Result<Vec<Place>> {
        if self.options.inlines {
            return Place::frames(&self.debug, address);
        }
        let location = self.debug.location(address)?;
        Ok(location.map(|it| Place::new(None, Some(it))).into_iter().collect())
    }

    fn stretch(&self, places: &[Place]) -> Stretch {
        let (place, calls) = places.split_first().map_or((None, &[][..]), |(a, b)| (Some(a), b));
        let place = place.cloned().unwrap_or_default();
        let line = place.file.as_deref().zip(place.line);
        Stretch {
            source: line.and_then(|(file, line)| (self.options.line)(file, line)),
            place,
            inlined_at: self.options.inlines.then(|| calls.to_vec()),
            columns: BTreeSet::new(),
            instructions: Vec::new(),
        }
    }
}

/// Whether code is of the line that the code before it is of, and got there by the same calls.
fn is_same_line(before: &[Place], places: &[Place]) -> bool {
    let same_line =
        |a: &Place, b: &Place| (&a.file, a.line, &a.function) == (&b.file, b.line, &b.function);
    match (before.split_first(), places.split_first()) {
        (Some((a, calls)), Some((b, others))) => same_line(a, b) && calls == others,
        (None, None) => true,
        _ => false,
    }
}
