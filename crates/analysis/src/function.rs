//! The functions of a code object.

use std::collections::BTreeMap;

use hsaco_isa::{Decoder, Flow};
use hsaco_object::elf::Section;
use hsaco_object::{CodeObject, Str};

use crate::stream::Stream;

/// What a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// A kernel's entry: it has a descriptor.
    Kernel,
    /// Other code that a symbol names.
    Device,
    /// Code that no symbol names, found by its shape.
    Unnamed,
}

/// A function.
#[derive(Clone, Copy, Debug)]
pub struct Function<'a> {
    /// Its name, if a symbol has one.
    pub name: Option<Str<'a>>,
    /// What it is.
    pub kind: FunctionKind,
    /// Where it starts.
    pub address: u64,
    /// Its bytes.
    pub code: &'a [u8],
}

impl Function<'_> {
    /// Its instructions.
    #[must_use]
    pub fn decode(&self, decoder: &Decoder) -> Stream {
        Stream::decode(decoder, self.address, self.code)
    }

    /// Where it ends.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.address + self.code.len() as u64
    }
}

/// The functions of a code object, by address.
#[derive(Clone, Debug)]
pub struct Functions<'a>(Vec<Function<'a>>);

/// A start: what it is, its name and, if known, its size.
type Start<'a> = (FunctionKind, Option<Str<'a>>, Option<u64>);

impl<'a> Functions<'a> {
    /// Finds them: kernels and functions by their symbols and descriptors; in sections that have none,
    /// by the shape of the code.
    #[must_use]
    pub fn new(object: &CodeObject<'a>, decoder: &Decoder) -> Self {
        let starts = named_starts(object);
        let mut functions = Vec::with_capacity(starts.len());
        for section in object.elf().sections().iter().filter(|section| section.is_executable()) {
            let Ok(code) = object.elf().section_data(section) else { continue };
            let before = functions.len();
            add_named(&mut functions, &starts, section, code);
            if functions.len() == before {
                add_by_shape(&mut functions, decoder, section.address, code);
            }
        }
        Functions(functions)
    }

    /// All of them, in the order of their sections and addresses.
    #[must_use]
    pub fn as_slice(&self) -> &[Function<'a>] {
        &self.0
    }

    /// The function that an address is in.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<&Function<'a>> {
        self.0.iter().find(|function| (function.address..function.end()).contains(&address))
    }
}

fn named_starts<'a>(object: &CodeObject<'a>) -> BTreeMap<u64, Start<'a>> {
    let index = object.index();
    let mut starts = BTreeMap::new();
    for symbol in index.functions() {
        let size = Some(symbol.size).filter(|size| *size != 0);
        starts.insert(symbol.value, (FunctionKind::Device, Some(symbol.name), size));
    }
    for kernel in index.kernels() {
        if let Some(entry) = kernel.entry() {
            starts.insert(entry, (FunctionKind::Kernel, Some(kernel.name()), kernel.code_size()));
        }
    }
    starts
}

/// A function ends where its symbol says, else at the next one, at the latest at the section's end.
fn add_named<'a>(
    functions: &mut Vec<Function<'a>>,
    starts: &BTreeMap<u64, Start<'a>>,
    section: &Section<'a>,
    code: &'a [u8],
) {
    let end = section.address.saturating_add(code.len() as u64);
    let mut inside = starts.range(section.address..end).peekable();
    while let Some((address, (kind, name, size))) = inside.next() {
        let next = inside.peek().map_or(end, |(next, _)| **next);
        let stop = size.map_or(next, |size| address.saturating_add(size).min(end));
        let range = (address - section.address) as usize..(stop - section.address) as usize;
        let code = code.get(range).unwrap_or_default();
        functions.push(Function { name: *name, kind: *kind, address: *address, code });
    }
}

/// A function ends with an instruction after which nothing follows and beyond which no branch goes; the next
/// starts after the padding.
fn add_by_shape<'a>(
    functions: &mut Vec<Function<'a>>,
    decoder: &Decoder,
    address: u64,
    code: &'a [u8],
) {
    let stream = Stream::decode(decoder, address, code);
    let mut start = None;
    let mut furthest = 0;
    for index in 0..stream.steps().len() {
        let (at, next) = (stream.address_of(index), stream.address_of(index + 1));
        let inst = stream.inst(index);
        if start.is_none() && inst.is_some_and(|inst| is_padding(inst.mnemonic())) {
            continue;
        }
        let (Some(inst), first) = (inst, *start.get_or_insert(at)) else { continue };
        furthest =
            furthest.max(inst.branch_target(at).filter(|_| inst.flow() != Flow::Call).unwrap_or(0));
        if !inst.flow().falls_through() && furthest <= at {
            let range = (first - address) as usize..(next - address) as usize;
            let code = code.get(range).unwrap_or_default();
            functions.push(Function {
                name: None,
                kind: FunctionKind::Unnamed,
                address: first,
                code,
            });
            start = None;
        }
    }
}

fn is_padding(mnemonic: &str) -> bool {
    matches!(mnemonic, "s_nop" | "s_code_end")
}
