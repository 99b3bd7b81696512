//! What is different, as every format shows it.

use std::collections::{BTreeMap, BTreeSet};

use hsaco_analysis::{Code, Function, FunctionKind};
use hsaco_db::Listing;
use hsaco_isa::target::Generation;
use hsaco_object::Kernel;

use crate::align::{Pair, align};
use crate::name::{ObjectName, source_name};
use crate::record::{ComparedObject, FunctionRecord};
use crate::value::{FieldValue, FieldValues};

/// One object beside another.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ObjectDiff {
    /// The one of the first file, if it has one.
    pub a: Option<ObjectName>,
    /// The one of the second file, if it has one.
    pub b: Option<ObjectName>,
    /// Of the header: target, code object version.
    pub header: Vec<ValueChange>,
    /// Kernels and functions that are not the same in both, by name.
    pub functions: Vec<FunctionDiff>,
    /// How many kernels and functions are the same in both.
    pub identical: usize,
}

/// A value that is not the same in both.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ValueChange {
    /// Of what.
    pub name: String,
    /// In the first.
    pub a: FieldValue,
    /// In the second.
    pub b: FieldValue,
}

/// Where a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum Side {
    /// In the first only.
    OnlyA,
    /// In the second only.
    OnlyB,
    /// In both.
    Both,
}

/// A kernel or function that is not the same in both.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FunctionDiff {
    /// As the symbol has it.
    pub name: String,
    /// As in the source, if that can be known.
    pub demangled: String,
    /// Whether it is a kernel.
    pub kernel: bool,
    /// Where it is.
    pub found_in: Side,
    /// Keys of the metadata, arguments left out.
    pub metadata: Vec<ValueChange>,
    /// Fields of the descriptor.
    pub descriptor: Vec<ValueChange>,
    /// Arguments by their number, each with what is different.
    pub arguments: Vec<ValueChange>,
    /// How many instructions only the first has; none where instructions are not compared.
    pub removed: Option<usize>,
    /// How many only the second has.
    pub added: Option<usize>,
    /// How many have the same text in both, of one target, and other bytes.
    pub reencoded: Option<usize>,
    /// Instructions that differ, with those around them.
    pub hunks: Vec<Vec<DiffLine>>,
}

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct DiffLine {
    /// Where it is in the first, if it is.
    pub a: Option<u64>,
    /// Where it is in the second, if it is.
    pub b: Option<u64>,
    /// As a listing has it.
    pub text: String,
}

impl ObjectDiff {
    /// Whether nothing is different.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.a.is_some() && self.b.is_some() && self.header.is_empty() && self.functions.is_empty()
    }
}

impl FunctionDiff {
    pub(crate) fn new(record: &FunctionRecord, found_in: Side) -> Self {
        Self {
            name: record.name.clone(),
            demangled: source_name(&record.name),
            kernel: record.is_kernel,
            found_in,
            metadata: Vec::new(),
            descriptor: Vec::new(),
            arguments: Vec::new(),
            removed: None,
            added: None,
            reencoded: None,
            hunks: Vec::new(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found_in == Side::Both
            && self.metadata.is_empty()
            && self.descriptor.is_empty()
            && self.arguments.is_empty()
            && self.hunks.is_empty()
            && self.reencoded.unwrap_or(0) == 0
    }
}

/// How to show what is different.
#[derive(Clone, Copy, Debug)]
pub struct Detail {
    /// Whether instructions are compared.
    pub code: bool,
    /// How many instructions are shown around those that differ.
    pub context: usize,
}

/// One side of an object, as far as it is compared.
struct Opened<'o> {
    generation: Option<Generation>,
    kernels: BTreeMap<String, Kernel<'o>>,
    functions: BTreeMap<String, Function<'o>>,
    code: Option<Code<'o>>,
}

impl<'o> Opened<'o> {
    fn new(subject: &ComparedObject<'o>, names: &BTreeSet<&str>, with_code: bool) -> Self {
        let mut opened = Self {
            generation: None,
            kernels: BTreeMap::new(),
            functions: BTreeMap::new(),
            code: None,
        };
        let Some(object) = subject.object else { return opened };
        opened.generation = object.target().generation();
        let index = object.index();
        for kernel in index.kernels() {
            let name = kernel.name().to_string();
            if names.contains(name.as_str()) {
                opened.kernels.insert(name, *kernel);
            }
        }
        let code = if with_code { Code::of(object).ok() } else { None };
        if let Some(code) = code {
            for function in code.functions().as_slice() {
                let is_kernel = function.kind == FunctionKind::Kernel;
                let Some(name) = function.name.map(|it| it.to_string()) else { continue };
                if names.contains(name.as_str())
                    && (opened.kernels.contains_key(&name) || !is_kernel)
                {
                    opened.functions.insert(name, *function);
                }
            }
            opened.code = Some(code);
        }
        opened
    }

    /// The instructions of a function: where they are, their text and their bytes.
    fn instructions(&self, name: &str) -> Vec<(u64, String, Vec<u8>)> {
        let pair = self.functions.get(name).zip(self.code.as_ref());
        let Some((function, code)) = pair else { return Vec::new() };
        let decoder = code.decoder(function);
        let listing = Listing::decode(decoder, function.address, function.code.to_vec());
        listing.instructions().map(|it| (it.address(), it.text(), it.bytes().to_vec())).collect()
    }
}

impl Detail {
    /// What is different between functions of one name in two objects.
    pub(crate) fn functions(
        self,
        a: &ComparedObject<'_>,
        b: &ComparedObject<'_>,
        functions: &[&FunctionRecord],
    ) -> Vec<FunctionDiff> {
        let names: BTreeSet<&str> = functions.iter().map(|it| it.name.as_str()).collect();
        let (a, b) = (Opened::new(a, &names, self.code), Opened::new(b, &names, self.code));
        functions.iter().map(|record| self.function(record, &a, &b)).collect()
    }

    fn function(self, record: &FunctionRecord, a: &Opened<'_>, b: &Opened<'_>) -> FunctionDiff {
        let mut diff = FunctionDiff::new(record, Side::Both);
        if let (Some(old), Some(new)) = (a.kernels.get(&diff.name), b.kernels.get(&diff.name)) {
            diff.metadata = changes(metadata(old), metadata(new));
            diff.descriptor = changes(descriptor(old, a.generation), descriptor(new, b.generation));
            // What a generation does not have is zero there.
            for change in &mut diff.descriptor {
                for side in [&mut change.a, &mut change.b] {
                    if *side == FieldValue::None {
                        *side = FieldValue::Number(0);
                    }
                }
            }
            diff.arguments = changes(arguments(old), arguments(new));
            diff.arguments.sort_by_cached_key(|it| argument_number(&it.name));
        }
        if self.code {
            self.compare_code(&mut diff, a, b);
        }
        diff
    }

    fn compare_code(self, diff: &mut FunctionDiff, a: &Opened<'_>, b: &Opened<'_>) {
        let (old, new) = (a.instructions(&diff.name), b.instructions(&diff.name));
        let old_texts: Vec<&str> = old.iter().map(|it| it.1.as_str()).collect();
        let new_texts: Vec<&str> = new.iter().map(|it| it.1.as_str()).collect();
        let pairs = align(&old_texts, &new_texts);
        let processor = |side: &Opened<'_>| side.code.as_ref().map(Code::processor);
        let is_one_target = processor(a) == processor(b);
        let is_reencoded = |pair: &&Pair| match **pair {
            Pair::Same(x, y) => old.get(x).map(|it| &it.2) != new.get(y).map(|it| &it.2),
            _ => false,
        };
        let reencoded = pairs.iter().filter(is_reencoded).count();
        diff.reencoded = Some(if is_one_target { reencoded } else { 0 });
        diff.removed = Some(pairs.iter().filter(|it| matches!(it, Pair::Removed(_))).count());
        diff.added = Some(pairs.iter().filter(|it| matches!(it, Pair::Added(_))).count());
        let line = |pair: &Pair| {
            let (x, y) = match *pair {
                Pair::Same(x, y) => (Some(x), Some(y)),
                Pair::Removed(x) => (Some(x), None),
                Pair::Added(y) => (None, Some(y)),
            };
            let (x, y) = (x.and_then(|x| old.get(x)), y.and_then(|y| new.get(y)));
            let text = x.or(y).map_or(String::new(), |it| it.1.clone());
            DiffLine { a: x.map(|it| it.0), b: y.map(|it| it.0), text }
        };
        diff.hunks = hunks(&pairs, self.context)
            .into_iter()
            .map(|range| pairs.get(range).unwrap_or_default().iter().map(line).collect())
            .collect();
    }
}

/// The ranges to show: what differs, and a few that do not around it.
fn hunks(pairs: &[Pair], context: usize) -> Vec<std::ops::Range<usize>> {
    let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, _) in pairs.iter().enumerate().filter(|(_, it)| !matches!(it, Pair::Same(..))) {
        let range = at.saturating_sub(context)..(at + 1).saturating_add(context).min(pairs.len());
        match ranges.last_mut().filter(|last| last.end >= range.start) {
            Some(last) => last.end = range.end,
            None => ranges.push(range),
        }
    }
    ranges
}

/// What is not the same in both.
pub(crate) fn changes(mut a: FieldValues, mut b: FieldValues) -> Vec<ValueChange> {
    let names: BTreeSet<_> = a.keys().chain(b.keys()).cloned().collect();
    let change = |name: String| {
        let (a, b) = (a.remove(&name), b.remove(&name));
        (a != b).then(|| ValueChange { name, a: a.unwrap_or_default(), b: b.unwrap_or_default() })
    };
    names.into_iter().filter_map(change).collect()
}

fn metadata(kernel: &Kernel<'_>) -> FieldValues {
    let map = kernel.metadata().and_then(|it| it.map().ok());
    let entries = map.into_iter().flat_map(|it| it.iter().flatten());
    let entries = entries.filter(|it| it.key != ".args");
    entries.map(|it| (it.key.to_string(), it.value.into())).collect()
}

/// Arguments by number and what is said of them: `0.size`.
fn arguments(kernel: &Kernel<'_>) -> FieldValues {
    let map = kernel.metadata().and_then(|it| it.map().ok());
    let list = map.and_then(|it| it.value(".args").ok().flatten()?.as_array());
    let list = list.into_iter().flat_map(|it| it.iter().flatten()).enumerate();
    let keys = list.filter_map(|(number, it)| Some((number, it.as_map()?)));
    let keys = keys.flat_map(|(number, map)| map.iter().flatten().map(move |it| (number, it)));
    keys.map(|(number, it)| (format!("{number}{}", it.key), it.value.into())).collect()
}

/// What changes of arguments are sorted by: their number, then the order they have.
fn argument_number(name: &str) -> Option<usize> {
    name.split('.').next()?.parse().ok()
}

/// Fields that are not zero. The distance to the entry is no property of the kernel.
fn descriptor(kernel: &Kernel<'_>, generation: Option<Generation>) -> FieldValues {
    let fields = kernel.descriptor().zip(generation).map(|(it, generation)| it.fields(generation));
    let fields = fields
        .into_iter()
        .flatten()
        .filter(|&(field, value)| value != 0 && field.name != "kernel_code_entry_byte_offset");
    fields.map(|(field, value)| (field.name.to_owned(), FieldValue::number(value))).collect()
}
