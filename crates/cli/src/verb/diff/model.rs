//! What is different, as every format shows it.

use std::collections::{BTreeMap, BTreeSet};

use hsaco::analysis::{Code, Function, FunctionKind};
use hsaco::db::Listing;
use hsaco::isa::Generation;
use hsaco::object::Kernel;
use hsaco::object::msgpack::Value;
use serde::Serialize;

use super::align::{Pair, align};
use super::record::FunctionRecord;
use super::side::Seen;
use crate::code;
use crate::report::Trouble;
use crate::scan::ObjectItem;
use crate::verb::ls::source_name;

/// One object beside another.
#[derive(Serialize)]
pub(super) struct ObjectDiff {
    pub(super) a: Option<ObjectName>,
    pub(super) b: Option<ObjectName>,
    /// Of the header: target, code object version.
    pub(super) header: Vec<Change>,
    pub(super) functions: Vec<FunctionDiff>,
    /// How many kernels and functions are the same in both.
    pub(super) identical: usize,
}

#[derive(Clone, Serialize)]
pub(super) struct ObjectName {
    pub(super) index: usize,
    pub(super) entry_id: Option<String>,
    pub(super) target: Option<String>,
}

/// A value in both; null where there is none.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Change {
    pub(super) name: String,
    pub(super) a: serde_json::Value,
    pub(super) b: serde_json::Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Side {
    OnlyA,
    OnlyB,
    Both,
}

/// A kernel or function that is not the same in both.
#[derive(Serialize)]
pub(super) struct FunctionDiff {
    pub(super) name: String,
    pub(super) demangled: String,
    pub(super) kernel: bool,
    pub(super) found_in: Side,
    /// Keys of the metadata, arguments left out.
    pub(super) metadata: Vec<Change>,
    /// Fields of the descriptor.
    pub(super) descriptor: Vec<Change>,
    /// Arguments by their number, each with what is different.
    pub(super) arguments: Vec<Change>,
    /// How many instructions only one of them has; null where nobody looked.
    pub(super) removed: Option<usize>,
    pub(super) added: Option<usize>,
    /// How many have the same text in both, of one target, and other bytes; null where nobody looked.
    pub(super) reencoded: Option<usize>,
    pub(super) hunks: Vec<Vec<Line>>,
}

/// One instruction: where it is in either, if it is.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Line {
    pub(super) a: Option<u64>,
    pub(super) b: Option<u64>,
    pub(super) text: String,
}

impl ObjectDiff {
    pub(super) fn is_empty(&self) -> bool {
        self.a.is_some() && self.b.is_some() && self.header.is_empty() && self.functions.is_empty()
    }
}

impl ObjectName {
    pub(super) fn new(seen: &Seen) -> Self {
        let (entry_id, target) = (seen.id.clone(), seen.target.clone());
        Self { index: seen.number, entry_id, target }
    }
}

impl FunctionDiff {
    pub(super) fn new(record: &FunctionRecord, found_in: Side) -> Self {
        Self {
            name: record.name.clone(),
            demangled: source_name(record.name.as_str().into()).into_owned(),
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

    pub(super) fn is_empty(&self) -> bool {
        self.found_in == Side::Both
            && self.metadata.is_empty()
            && self.descriptor.is_empty()
            && self.arguments.is_empty()
            && self.hunks.is_empty()
            && self.reencoded.unwrap_or(0) == 0
    }
}

/// How to compare.
#[derive(Clone, Copy)]
pub(super) struct Reader {
    pub(super) code: bool,
    pub(super) context: usize,
}

/// One side of an object, as far as it is compared.
struct Opened<'o> {
    generation: Option<Generation>,
    kernels: BTreeMap<String, Kernel<'o>>,
    functions: BTreeMap<String, Function<'o>>,
    code: Option<Code<'o>>,
}

impl<'o> Opened<'o> {
    fn new(item: &'o ObjectItem<'_, '_>, names: &BTreeSet<&str>, with_code: bool) -> Self {
        let mut opened = Self {
            generation: None,
            kernels: BTreeMap::new(),
            functions: BTreeMap::new(),
            code: None,
        };
        let Some(object) = &item.object else { return opened };
        opened.generation = object.target().generation();
        let index = object.index();
        for kernel in index.kernels() {
            let name = kernel.name().to_string();
            if names.contains(name.as_str()) {
                opened.kernels.insert(name, *kernel);
            }
        }
        // What cannot be opened was complained about before it was paired.
        let code = if with_code { code::open(item, &mut Trouble::default()) } else { None };
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

impl Reader {
    /// What is different between functions of one name in two objects.
    pub(super) fn functions(
        self,
        a: &ObjectItem<'_, '_>,
        b: &ObjectItem<'_, '_>,
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
                    *side = if side.is_null() { 0.into() } else { side.take() };
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
            Line { a: x.map(|it| it.0), b: y.map(|it| it.0), text }
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

pub(super) type Values = BTreeMap<String, serde_json::Value>;

/// What is not the same in both.
pub(super) fn changes(mut a: Values, mut b: Values) -> Vec<Change> {
    let names: BTreeSet<_> = a.keys().chain(b.keys()).cloned().collect();
    let change = |name: String| {
        let (a, b) = (a.remove(&name), b.remove(&name));
        let or_null = |value: Option<_>| value.unwrap_or(serde_json::Value::Null);
        (a != b).then(|| Change { name, a: or_null(a), b: or_null(b) })
    };
    names.into_iter().filter_map(change).collect()
}

pub(super) fn header(item: &ObjectItem<'_, '_>) -> Values {
    let mut values = Values::new();
    values.insert("target".to_owned(), item.target.clone().into());
    if let Some(object) = &item.object {
        let header = object.elf().header();
        values.insert("abi_version".to_owned(), header.abi_version.into());
        values.insert("e_type".to_owned(), header.e_type.into());
        values.insert("e_flags".to_owned(), header.flags.into());
    }
    values
}

fn metadata(kernel: &Kernel<'_>) -> Values {
    let map = kernel.metadata().and_then(|it| it.map().ok());
    let entries = map.into_iter().flat_map(|it| it.iter().flatten());
    let entries = entries.filter(|it| it.key != ".args");
    entries.map(|it| (it.key.to_string(), json(it.value))).collect()
}

/// Arguments by number and what is said of them: `0.size`.
fn arguments(kernel: &Kernel<'_>) -> Values {
    let map = kernel.metadata().and_then(|it| it.map().ok());
    let list = map.and_then(|it| it.value(".args").ok().flatten()?.as_array());
    let list = list.into_iter().flat_map(|it| it.iter().flatten()).enumerate();
    let keys = list.filter_map(|(number, it)| Some((number, it.as_map()?)));
    let keys = keys.flat_map(|(number, map)| map.iter().flatten().map(move |it| (number, it)));
    keys.map(|(number, it)| (format!("{number}{}", it.key), json(it.value))).collect()
}

/// What changes of arguments are sorted by: their number, then the order they have.
fn argument_number(name: &str) -> Option<usize> {
    name.split('.').next()?.parse().ok()
}

/// Fields that are not zero. The distance to the entry is no property of the kernel.
fn descriptor(kernel: &Kernel<'_>, generation: Option<Generation>) -> Values {
    let fields = kernel.descriptor().zip(generation).map(|(it, generation)| it.fields(generation));
    let fields = fields
        .into_iter()
        .flatten()
        .filter(|&(field, value)| value != 0 && field.name != "kernel_code_entry_byte_offset");
    fields.map(|(field, value)| (field.name.to_owned(), value.into())).collect()
}

fn json(value: Value<'_>) -> serde_json::Value {
    match value {
        Value::Nil => serde_json::Value::Null,
        Value::Bool(value) => value.into(),
        Value::Int(value) => value.into(),
        Value::UInt(value) => value.into(),
        Value::F32(value) => value.into(),
        Value::F64(value) => value.into(),
        Value::Str(text) => text.to_string().into(),
        Value::Bin(bytes) | Value::Ext(_, bytes) => {
            bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()
        }
        Value::Array(array) => array.iter().flatten().map(json).collect(),
        Value::Map(map) => {
            let entries = map.iter().flatten().map(|it| (it.key.to_string(), json(it.value)));
            serde_json::Value::Object(entries.collect())
        }
    }
}
