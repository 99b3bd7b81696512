//! What `source` says of an object: the JSON shape, which the text is made from too.

use std::collections::BTreeSet;

use hsaco::analysis::{LENIENT, Reading};
use hsaco::bytes::{Error, ErrorKind};
use hsaco::container::EntryKind;
use hsaco::db::Listing;
use hsaco::demangle::demangle;
use hsaco::dwarf::{DebugSections, Frame, Location, SourceMap};
use hsaco::isa::{Decoder, DecoderCache};
use hsaco::object::{CodeMap, CodeObject, Kernel};
use serde::Serialize;

use crate::json::hex;
use crate::report::Trouble;
use crate::scan::ObjectItem;
use crate::select::KernelSelection;
use crate::sought::Sought;
use crate::source_files::{Moved, SourceFiles};

/// What is asked of every object.
pub(super) struct Question<'q> {
    pub(super) kernels: &'q KernelSelection,
    /// Code that debug information maps to a file.
    pub(super) lines: Sought,
    pub(super) inlines: bool,
    /// Largest size that a debug section may unfold to.
    pub(super) max_size: u64,
    pub(super) moves: &'q [Moved],
    pub(super) files: SourceFiles,
    pub(super) decoders: DecoderCache,
}

#[derive(Serialize)]
pub(super) struct ObjectSource {
    index: usize,
    entry_id: Option<String>,
    target: Option<String>,
    pub(super) kernels: Vec<KernelSource>,
}

#[derive(Serialize)]
pub(super) struct KernelSource {
    name: String,
    pub(super) demangled: String,
    pub(super) stretches: Vec<Stretch>,
}

/// Instructions that follow one another and come from one line.
#[derive(Serialize)]
pub(super) struct Stretch {
    #[serde(flatten)]
    pub(super) place: Place,
    /// The line; null where its file is not there.
    pub(super) source: Option<String>,
    /// The calls that were inlined, the innermost first; null where nobody asked for them.
    pub(super) inlined_at: Option<Vec<Place>>,
    /// The columns that the instructions come from.
    pub(super) columns: BTreeSet<u32>,
    pub(super) instructions: Vec<Instruction>,
}

/// A place in a source file, and the function that it is in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Place {
    pub(super) function: Option<String>,
    pub(super) file: Option<String>,
    pub(super) line: Option<u32>,
    pub(super) column: Option<u32>,
}

#[derive(Serialize)]
pub(super) struct Instruction {
    pub(super) address: u64,
    bytes: String,
    pub(super) text: String,
}

impl ObjectSource {
    pub(super) fn new(
        item: &ObjectItem<'_, '_>,
        question: &Question<'_>,
        trouble: &mut Trouble,
    ) -> Self {
        let (entry_id, target) = (item.entry.id.clone(), item.target.clone());
        let mut found = Self { index: item.number, entry_id, target, kernels: Vec::new() };
        let read = match &item.object {
            Some(object) => found.read(object, item, question, trouble),
            None if matches!(item.entry.kind, EntryKind::Bitcode | EntryKind::Spirv) => {
                let detail = format!("{} has none before it is compiled", item.entry.kind.name());
                Err(Error::new(ErrorKind::Unsupported, "instructions", detail))
            }
            // What cannot be read has been complained about.
            None => Ok(()),
        };
        read.unwrap_or_else(|error| trouble.note(item.place(), item.located(error)));
        found
    }

    /// Reads all wanted kernels; one that cannot be shown is complained about.
    fn read(
        &mut self,
        object: &CodeObject<'_>,
        item: &ObjectItem<'_, '_>,
        question: &Question<'_>,
        trouble: &mut Trouble,
    ) -> Result<(), Error> {
        let index = item.index(object, trouble);
        let sections = DebugSections::new(object, question.max_size)?;
        let map = SourceMap::new(&sections)?;
        let code = CodeMap::new(object, &index);
        let source = Source { object, code, sections: &sections, map: &map, question };
        for kernel in question.kernels.of(&index) {
            match source.kernel(kernel) {
                Ok(kernel) => self.kernels.push(kernel),
                Err(error) => {
                    let place = format!("{}: kernel {}", item.place(), kernel.name());
                    trouble.note(place, item.located(error));
                }
            }
        }
        Ok(())
    }
}

/// What it takes to show the kernels of an object.
struct Source<'s, 'a> {
    object: &'s CodeObject<'a>,
    code: CodeMap<'a>,
    sections: &'s DebugSections<'a>,
    map: &'s SourceMap,
    question: &'s Question<'s>,
}

impl Source<'_, '_> {
    fn kernel(&self, kernel: &Kernel<'_>) -> Result<KernelSource, Error> {
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
        let name = kernel.name().to_string();
        let demangled = demangle(kernel.name().as_bytes()).unwrap_or_else(|| name.clone());
        Ok(KernelSource { name, demangled, stretches })
    }

    fn listing(&self, kernel: &Kernel<'_>) -> Result<Listing, Error> {
        let code = self.code.kernel(kernel).map_or(&[][..], |it| it.bytes);
        let Some(address) = kernel.entry().filter(|_| !code.is_empty()) else {
            let detail = "its code is not in the object";
            return Err(Error::new(ErrorKind::NotFound, "kernel", detail));
        };
        Ok(Listing::decode(self.decoder(kernel, code)?, address, code.to_vec()))
    }

    fn decoder(&self, kernel: &Kernel<'_>, code: &[u8]) -> Result<Decoder, Error> {
        let unsupported = |detail| Error::new(ErrorKind::Unsupported, "instructions", detail);
        let target = self.object.target();
        let processor = target.id().map(|it| it.processor);
        let processor =
            processor.ok_or_else(|| unsupported(format!("those of {target} are not known")))?;
        let cache = &self.question.decoders;
        let decoder = Reading::kernel_decoder(kernel, code, processor, LENIENT, cache);
        decoder.map_err(|error| unsupported(error.to_string()))
    }

    /// Where an instruction comes from, and if wanted the calls that brought it there.
    fn places(&self, kernel: &Kernel<'_>, address: u64) -> Result<Vec<Place>, Error> {
        let address = self.sections.address_of(kernel.entry_section(), address);
        if self.question.inlines {
            let frames = self.map.frames(self.sections, address)?;
            return Ok(frames.into_iter().map(Place::of_frame).collect());
        }
        let location = self.map.location(self.sections, address)?;
        Ok(location.map(|it| Place::new(None, Some(it))).into_iter().collect())
    }

    fn stretch(&self, places: &[Place]) -> Stretch {
        let (place, calls) = places.split_first().map_or((None, &[][..]), |(a, b)| (Some(a), b));
        let place = place.cloned().unwrap_or_default();
        self.question.lines.note(place.file.is_some());
        let source = place.file.as_deref().zip(place.line).and_then(|(file, line)| {
            self.question.files.line(&Moved::apply(self.question.moves, file), line)
        });
        let inlined_at = self.question.inlines.then(|| calls.to_vec());
        let columns = BTreeSet::new();
        Stretch { place, source, inlined_at, columns, instructions: Vec::new() }
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

impl Place {
    fn new(function: Option<String>, location: Option<Location<'_>>) -> Self {
        Self {
            function,
            file: location.map(|it| it.file.to_owned()),
            line: location.and_then(|it| it.line),
            column: location.and_then(|it| it.column),
        }
    }

    fn of_frame(frame: Frame<'_>) -> Self {
        let readable = |name: String| demangle(name.as_bytes()).unwrap_or(name);
        Self::new(frame.function.map(readable), frame.location)
    }
}
