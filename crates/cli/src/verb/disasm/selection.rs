//! Which parts of the code to show: symbols, kernels, addresses.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use hsaco::object::{CodeObject, Kernel};

use super::layout::{Label, Layout};
use super::plan::shown_by_default;
use crate::report::{self, Status};
use crate::select::KernelSelection;
use crate::sought::Sought;

/// What the command line asks for.
pub(super) struct Selection {
    pub(super) kernels: KernelSelection,
    /// Names of symbols, each with whether it was found.
    pub(super) symbols: HashMap<Vec<u8>, AtomicBool>,
    /// The addresses from the first to before the second.
    pub(super) addresses: Range<u64>,
    /// Anything to show.
    pub(super) code: Sought,
}

/// What that comes to in one object.
pub(super) struct Wanted<'s> {
    selection: &'s Selection,
    /// Where the wanted kernels are: the section, where only that tells them apart, and the code.
    kernels: Vec<(Option<usize>, Range<u64>)>,
}

impl Selection {
    pub(super) fn new(kernels: KernelSelection, symbols: &[String], addresses: Range<u64>) -> Self {
        let symbol = |name: &String| (name.clone().into_bytes(), AtomicBool::new(false));
        Self {
            kernels,
            symbols: symbols.iter().map(symbol).collect(),
            addresses,
            code: Sought::default(),
        }
    }

    pub(super) fn of(&self, object: &CodeObject<'_>, layout: &Layout<'_>) -> Wanted<'_> {
        let mut kernels = Vec::new();
        if !self.kernels.is_all() {
            let index = object.index();
            for kernel in self.kernels.of(&index) {
                match object.is_relocatable() {
                    true => kernels.extend(places_of(kernel, layout)),
                    false => kernels.extend(linked_place_of(kernel)),
                }
            }
        }
        Wanted { selection: self, kernels }
    }

    /// The symbols that are asked for, if they are few and all that is asked for.
    pub(super) fn few_symbols(&self) -> Option<impl Iterator<Item = &[u8]>> {
        const FEW: usize = 8;
        let is_few = (1..=FEW).contains(&self.symbols.len()) && self.kernels.is_all();
        is_few.then(|| self.symbols.keys().map(Vec::as_slice))
    }

    /// The status of a run, which is not fine if something that was asked for is nowhere.
    pub(super) fn conclude(&self, mut status: Status) -> Status {
        let missing = self.symbols.iter().filter(|(_, found)| !found.load(Ordering::Relaxed));
        let mut names: Vec<_> =
            missing.map(|(name, _)| String::from_utf8_lossy(name).into_owned()).collect();
        names.sort();
        for name in names {
            report::error(&format!(
                "no code has the symbol '{name}'; hsaco info lists the symbols"
            ));
            status.note(Status::Unreadable);
        }
        let status = self.kernels.conclude(status);
        let Range { start, end } = self.addresses;
        if (start, end) == (0, u64::MAX) {
            return status;
        }
        let missing = format!("no code from {start:#x} to {end:#x}");
        self.code.conclude(status, Status::Unreadable, &missing)
    }
}

/// Where a kernel's code is in an object whose addresses are final.
fn linked_place_of(kernel: &Kernel<'_>) -> Option<(Option<usize>, Range<u64>)> {
    let entry = kernel.entry()?;
    Some((None, entry..entry.saturating_add(kernel.code_size().unwrap_or(1))))
}

/// Where a kernel's code is in an object whose sections all begin at zero.
fn places_of(
    kernel: &Kernel<'_>,
    layout: &Layout<'_>,
) -> impl Iterator<Item = (Option<usize>, Range<u64>)> {
    let name = kernel.name().as_bytes();
    let size = kernel.code_size().unwrap_or(1);
    let code = layout.sections.iter().enumerate().filter(|(_, it)| !it.code.is_empty());
    code.filter_map(move |(number, section)| {
        let label = section.labels.iter().find(|it| *it.name == *name)?;
        Some((Some(number), label.address..label.address.saturating_add(size)))
    })
}

impl Wanted<'_> {
    pub(super) fn start(&self) -> u64 {
        self.selection.addresses.start
    }

    pub(super) fn stop(&self) -> u64 {
        self.selection.addresses.end
    }

    /// The names to show at the head of a span, by number; `None` when the span is not wanted.
    pub(super) fn shown(
        &self,
        section: usize,
        labels: &[Label<'_>],
        span: Range<u64>,
    ) -> Option<Vec<usize>> {
        let Selection { symbols, kernels, .. } = self.selection;
        if symbols.is_empty() && kernels.is_all() {
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
    pub(super) fn start_in(&self, section: usize, span: Range<u64>) -> u64 {
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
