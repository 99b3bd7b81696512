//! The instructions of kernels, by the source lines that they come from.

use std::collections::BTreeSet;

use crate::source_name;
use hsaco_analysis::{LENIENT, Reading};
use hsaco_bytes::hex::encode as hex;
use hsaco_bytes::{Error, ErrorKind, Result};
use hsaco_db::Listing;
use hsaco_dwarf::DebugInfo;
use hsaco_files::{KernelSelection, ObjectItem, Trouble};
use hsaco_isa::Decoder;
use hsaco_isa::decoder::DecoderCache;
use hsaco_object::CodeMap;
use hsaco_object::{CodeObject, Kernel};
use serde::Serialize;

use crate::Place;
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
    /// As a listing has it.
    pub text: String,
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
        for kernel in options.kernels.of(&index) {
            match reader.kernel(kernel) {
                Ok(kernel) => self.kernels.push(kernel),
                Err(error) => item.note_kernel(kernel.name(), error, trouble),
            }
        }
        Ok(())
    }
}

impl KernelSource {
    /// Whether any of its code has a file.
    #[must_use]
    pub fn has_lines(&self) -> bool {
        self.stretches.iter().any(|it| it.place.file.is_some())
    }
}

struct Reader<'s, 'a> {
    object: &'s CodeObject<'a>,
    code: CodeMap<'a>,
    debug: DebugInfo<'a>,
    options: &'s Options<'s>,
}

impl Reader<'_, '_> {
    fn kernel(&self, kernel: &Kernel<'_>) -> Result<KernelSource> {
        let mut stretches: Vec<Stretch> = Vec::new();
        let mut before: Option<Vec<Place>> = None;
        for instruction in self.listing(kernel)?.instructions() {
            let places = self.places(kernel, instruction.address())?;
            let column = places.first().and_then(|it| it.column);
            if before.as_ref().is_none_or(|before| !is_same_line(before, &places)) {
                stretches.push(self.stretch(&places));
                before = Some(places);
            }
            if let Some(stretch) = stretches.last_mut() {
                stretch.columns.extend(column);
                stretch.instructions.push(Instruction {
                    address: instruction.address(),
                    bytes: hex(instruction.bytes()),
                    text: instruction.text(),
                });
            }
        }
        let demangled = source_name(kernel.name()).into_owned();
        Ok(KernelSource { name: kernel.name().to_string(), demangled, stretches })
    }

    fn listing(&self, kernel: &Kernel<'_>) -> Result<Listing> {
        let code = self.code.kernel(kernel).map_or(&[][..], |it| it.bytes);
        let Some(address) = kernel.entry().filter(|_| !code.is_empty()) else {
            let detail = "its code is not in the object";
            return Err(Error::new(ErrorKind::NotFound, "kernel", detail));
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
    fn places(&self, kernel: &Kernel<'_>, address: u64) -> Result<Vec<Place>> {
        let address = self.debug.sections().address_of(kernel.entry_section(), address);
        if self.options.inlines {
            let frames = self.debug.frames(address)?;
            return Ok(frames.into_iter().map(Place::readable).collect());
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
