//! Which parts of the code to show: symbols, kernels, addresses.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use hsaco_bytes::Str;
use hsaco_object::{CodeMap, CodeObject, Kernel};

use crate::layout::{Label, Layout, shown_by_default};

/// So few functions can be shown without a look at all others.
const FEW: usize = 8;

/// Whether a kernel of a mangled name is wanted.
pub type WantsKernel<'k> = dyn Fn(Str<'_>) -> bool + Sync + 'k;

/// What to show of objects, and what of that was found.
pub struct Selection<'k> {
    /// Which kernels are; none where code is not chosen by kernels.
    kernels: Option<&'k WantsKernel<'k>>,
    /// Names of symbols, each with whether it was found.
    symbols: HashMap<Vec<u8>, AtomicBool>,
    /// The addresses from the first to before the second.
    addresses: Range<u64>,
    /// Anything to show.
    has_code: AtomicBool,
}

/// What that comes to in one object.
pub(crate) struct Wanted<'s> {
    selection: &'s Selection<'s>,
    /// Where the wanted kernels are: the section, where only that tells them apart, and the code.
    kernels: Vec<(Option<usize>, Range<u64>)>,
}

/// A kernel that is wanted.
pub(crate) struct WantedKernel<'a> {
    name: Str<'a>,
    /// Where it begins, in an object whose addresses are final.
    entry: Option<u64>,
    size: u64,
}

impl Default for Selection<'_> {
    /// All code.
    fn default() -> Self {
        Self::new(None, &[], 0..u64::MAX)
    }
}

impl<'k> Selection<'k> {
    /// The code of kernels and symbols, each up to the next symbol, as far as either are given, at these addresses.
    #[must_use]
    pub fn new(
        kernels: Option<&'k WantsKernel<'k>>,
        symbols: &[String],
        addresses: Range<u64>,
    ) -> Self {
        let symbol = |name: &String| (name.clone().into_bytes(), AtomicBool::new(false));
        Self {
            kernels,
            symbols: symbols.iter().map(symbol).collect(),
            addresses,
            has_code: AtomicBool::new(false),
        }
    }

    /// The kernels of an object that are wanted.
    pub(crate) fn kernels_of<'a>(&self, object: &CodeObject<'a>) -> Vec<WantedKernel<'a>> {
        let Some(wants) = self.kernels else { return Vec::new() };
        if let Some(few) = object.few_kernels(FEW, wants) {
            let wanted: Option<Vec<_>> =
                few.iter().map(|it| WantedKernel::new(object, it)).collect();
            if let Some(wanted) = wanted {
                return wanted;
            }
        }
        let index = object.index();
        let kernels: Vec<_> = index.kernels().iter().filter(|it| wants(it.name())).collect();
        if kernels.is_empty() {
            return Vec::new();
        }
        let code = CodeMap::new(object, &index);
        let wanted = |kernel: &&Kernel<'a>| WantedKernel {
            name: kernel.name(),
            entry: kernel.entry(),
            size: code.kernel(kernel).map_or(1, |code| code.bytes.len() as u64),
        };
        kernels.iter().map(wanted).collect()
    }

    pub(crate) fn of(
        &self,
        kernels: &[WantedKernel<'_>],
        object: &CodeObject<'_>,
        layout: &Layout<'_>,
    ) -> Wanted<'_> {
        let mut places = Vec::new();
        for kernel in kernels {
            match object.is_relocatable() {
                true => places.extend(kernel.places(layout)),
                false => places.extend(kernel.code().map(|code| (None, code))),
            }
        }
        Wanted { selection: self, kernels: places }
    }

    /// The functions that are asked for, if they are few and all that is asked for.
    pub(crate) fn few<'s>(&'s self, kernels: &'s [WantedKernel<'_>]) -> Option<Vec<&'s [u8]>> {
        let names: Vec<&[u8]> = match self.kernels {
            Some(_) if !self.symbols.is_empty() => return None,
            Some(_) => kernels.iter().map(|it| it.name.as_bytes()).collect(),
            None => self.symbols.keys().map(Vec::as_slice).collect(),
        };
        (1..=FEW).contains(&names.len()).then_some(names)
    }

    pub(crate) fn note(&self, has_code: bool) {
        if has_code {
            self.has_code.store(true, Ordering::Relaxed);
        }
    }

    /// Whether any object had code to show.
    #[must_use]
    pub fn has_code(&self) -> bool {
        self.has_code.load(Ordering::Relaxed)
    }

    /// The symbols that no object had, sorted.
    #[must_use]
    pub fn missing_symbols(&self) -> Vec<String> {
        let missing = self.symbols.iter().filter(|(_, found)| !found.load(Ordering::Relaxed));
        let mut names: Vec<_> =
            missing.map(|(name, _)| String::from_utf8_lossy(name).into_owned()).collect();
        names.sort();
        names
    }
}

impl<'a> WantedKernel<'a> {
    /// A kernel whose symbol says where its code is; nothing if that is not all in one section.
    fn new(object: &CodeObject<'a>, kernel: &Kernel<'a>) -> Option<Self> {
        let wanted =
            WantedKernel { name: kernel.name(), entry: kernel.entry(), size: kernel.code_size()? };
        let code = wanted.code()?;
        let holds = |section: &hsaco_elf::Section<'_>| {
            let size = object.elf().code_of(section).len() as u64;
            section.address <= code.start && code.end - section.address <= size
        };
        object.elf().code_sections().any(holds).then_some(wanted)
    }

    /// Where its code is in an object whose addresses are final.
    pub(crate) fn code(&self) -> Option<Range<u64>> {
        let entry = self.entry?;
        Some(entry..entry.saturating_add(self.size))
    }

    /// Whether it begins where it has a name, and no other name is in its code: then the names near it are all that its
    /// listing shows.
    pub(crate) fn is_one_span(&self, layout: &Layout<'_>) -> bool {
        let Some(code) = self.code() else { return false };
        let labels = || layout.sections.iter().flat_map(|it| &it.labels);
        let within = code.start.saturating_add(1)..code.end;
        labels().any(|it| it.address == code.start)
            && !labels().any(|it| within.contains(&it.address))
    }

    /// Where its code is in an object whose sections all begin at zero.
    fn places(&self, layout: &Layout<'_>) -> impl Iterator<Item = (Option<usize>, Range<u64>)> {
        let (name, size) = (self.name.as_bytes(), self.size);
        let code = layout.sections.iter().enumerate().filter(|(_, it)| !it.code.is_empty());
        code.filter_map(move |(number, section)| {
            let label = section.labels.iter().find(|it| *it.name == *name)?;
            Some((Some(number), label.address..label.address.saturating_add(size)))
        })
    }
}

impl Wanted<'_> {
    pub(crate) fn start(&self) -> u64 {
        self.selection.addresses.start
    }

    pub(crate) fn stop(&self) -> u64 {
        self.selection.addresses.end
    }

    /// The names to show at the head of a span, by number; `None` when the span is not wanted.
    pub(crate) fn shown(
        &self,
        section: usize,
        labels: &[Label<'_>],
        span: Range<u64>,
    ) -> Option<Vec<usize>> {
        let Selection { symbols, kernels, .. } = self.selection;
        if symbols.is_empty() && kernels.is_none() {
            return Some(vec![shown_by_default(labels)]);
        }
        let asked = |(number, label): (usize, &Label<'_>)| {
            symbols.get(&*label.name)?.store(true, Ordering::Relaxed);
            Some(number)
        };
        let named: Vec<usize> = labels.iter().enumerate().filter_map(asked).collect();
        match named.is_empty() {
            false => Some(named),
            true => self.kernel_in(section, span).map(|_| vec![shown_by_default(labels)]),
        }
    }

    /// Where to begin in a span: at the address that was asked for, or where a kernel without a name
    /// of its own begins.
    pub(crate) fn start_in(&self, section: usize, span: Range<u64>) -> u64 {
        let kernel = self.kernel_in(section, span).map_or(0, |it| it.start);
        self.start().max(kernel)
    }

    /// The code of a wanted kernel that a span has a part of.
    fn kernel_in(&self, section: usize, span: Range<u64>) -> Option<&Range<u64>> {
        let here = |(number, code): &&(Option<usize>, Range<u64>)| {
            number.is_none_or(|it| it == section) && code.start < span.end && span.start < code.end
        };
        self.kernels.iter().find(here).map(|(_, code)| code)
    }
}
