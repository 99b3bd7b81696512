//! Source places and lines between instructions, as `llvm-objdump -l` and `-S` print them.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use hsaco_bytes::{Error, Str};
use hsaco_dwarf::{DebugInfo, Location};
use hsaco_elf::symbol::Symbol;
use hsaco_object::CodeObject;

/// The text of a line of a source file, counted from 1, if the file is there.
pub type SourceLine = Arc<dyn Fn(&str, u32) -> Option<String> + Send + Sync>;

/// What to show of the source.
#[derive(Clone, Default)]
pub struct SourceOptions {
    /// Before code of another line, show its function and place.
    pub line_numbers: bool,
    /// Before code of another line, show the line, which is asked for here.
    pub line: Option<SourceLine>,
    /// Look for sources under this folder: it comes before absolute paths.
    pub prefix: Option<String>,
    /// With a prefix, leave out so many folders from the start of absolute paths.
    pub prefix_strip: usize,
}

impl SourceOptions {
    /// A path as it is shown and looked for.
    fn placed<'p>(&self, path: &'p str) -> Cow<'p, str> {
        let Some(prefix) = self.prefix.as_ref().filter(|_| path.starts_with('/')) else {
            return Cow::Borrowed(path);
        };
        let parts: Vec<_> = path.split('/').filter(|part| !part.is_empty()).collect();
        let kept = parts.get(self.prefix_strip.min(parts.len().saturating_sub(1))..);
        Cow::Owned(format!(
            "{}/{}",
            prefix.trim_end_matches('/'),
            kept.unwrap_or_default().join("/")
        ))
    }
}

/// Where an instruction comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place<'s> {
    function: Option<Cow<'s, str>>,
    location: Option<Location<'s>>,
}

impl Place<'_> {
    fn file_and_line(&self) -> Option<(&str, u32)> {
        self.location.and_then(|it| Some((it.file, it.line?)))
    }
}

/// The source of an object's code.
pub(crate) struct Source<'a> {
    options: SourceOptions,
    debug: DebugInfo<'a>,
    /// Functions by address, with their names.
    symbols: Vec<(Range<u64>, Str<'a>)>,
}

impl<'a> Source<'a> {
    pub(crate) fn new(object: &CodeObject<'a>, options: &SourceOptions) -> Result<Self, Error> {
        let debug = DebugInfo::open(object)?;
        let sections = debug.sections();
        let index = object.index();
        let kernels = index.kernels().iter().filter_map(|it| {
            Some((sections.address_of(it.entry_section(), it.entry()?), it.code_size()?, it.name()))
        });
        let functions = index
            .functions()
            .iter()
            .map(|it| (it.value.wrapping_add(sections.base_of(it.section)), it.size, it.name));
        let symbols = kernels.chain(functions).collect();
        Ok(Self::with_symbols(options, debug, symbols))
    }

    /// The source of a few functions, whose code is in these ranges.
    pub(crate) fn of_functions(
        object: &CodeObject<'a>,
        options: &SourceOptions,
        functions: &[Symbol<'a>],
        code: &[Range<u64>],
    ) -> Result<Self, Error> {
        let start = code.iter().map(|it| it.start).min().unwrap_or(0);
        let end = code.iter().map(|it| it.end).max().unwrap_or(0);
        let debug = DebugInfo::for_code(object, start..end)?;
        let symbols = functions.iter().map(|it| (it.value, it.size, it.name)).collect();
        Ok(Self::with_symbols(options, debug, symbols))
    }

    fn with_symbols(
        options: &SourceOptions,
        debug: DebugInfo<'a>,
        symbols: Vec<(u64, u64, Str<'a>)>,
    ) -> Self {
        let range = |(start, size, name): (u64, u64, _)| (start..start.saturating_add(size), name);
        let mut symbols: Vec<_> = symbols.into_iter().map(range).collect();
        symbols.sort_by_key(|(code, _)| code.start);
        Self { options: options.clone(), debug, symbols }
    }

    /// What cannot be read of the lines of the code that is shown, given where stretches of it begin.
    pub(crate) fn errors(&self, starts: impl Iterator<Item = (usize, u64)>) -> Vec<Error> {
        for (section, address) in starts {
            self.at(section, address);
        }
        self.debug.map().errors().cloned().collect()
    }

    /// Whether there is anything that maps code to its source.
    pub(crate) fn has_lines(&self) -> bool {
        !self.debug.is_empty()
    }

    /// Where the instruction at an address of a section comes from. Its function is that of the symbol, else the one
    /// that was inlined there.
    pub(crate) fn at(&self, section: usize, address: u64) -> Place<'_> {
        let base =
            u32::try_from(section).map_or(0, |section| self.debug.sections().base_of(section));
        let address = address.wrapping_add(base);
        let location = self.debug.location(address).ok().flatten();
        let after = self.symbols.partition_point(|(code, _)| code.start <= address);
        let symbol = after.checked_sub(1).and_then(|at| self.symbols.get(at));
        let function = match symbol.filter(|(code, _)| code.contains(&address)) {
            Some((_, name)) => Some(name.to_str_lossy()),
            None => self.inlined_function(address).map(Cow::Owned),
        };
        Place { function, location }
    }

    fn inlined_function(&self, address: u64) -> Option<String> {
        let frames = self.debug.frames(address).ok()?;
        frames.into_iter().next()?.function
    }

    /// What stands between an instruction and the one before it.
    pub(crate) fn write(&self, before: &Place<'_>, place: &Place<'_>, out: &mut Vec<u8>) {
        let is_new_function = place.function.is_some() && place.function != before.function;
        let is_new_line = place.file_and_line() != before.file_and_line();
        if self.options.line_numbers {
            if let Some(function) = place.function.as_ref().filter(|_| is_new_function) {
                out.extend_from_slice(format!("; {function}():\n").as_bytes());
            }
            if let Some((file, line)) = place.file_and_line()
                && (is_new_line || is_new_function)
            {
                out.extend_from_slice(
                    format!("; {}:{line}\n", self.options.placed(file)).as_bytes(),
                );
            }
        }
        if let Some((file, line)) = place.file_and_line()
            && let Some(text_of) = self.options.line.as_ref().filter(|_| is_new_line)
            && let Some(text) = text_of(&self.options.placed(file), line)
            && !text.is_empty()
        {
            out.extend_from_slice(format!("; {text}\n").as_bytes());
        }
    }
}
