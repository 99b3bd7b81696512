//! The functions of a code object.

use hsaco_bytes::Str;
use hsaco_isa::Decoder;
use hsaco_isa::effects::Flow;
use hsaco_object::{CodeMap, CodeRange};

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

impl<'a> Function<'a> {
    /// Its instructions.
    #[must_use]
    pub fn decode(&self, decoder: &Decoder) -> Stream<'a> {
        Stream::decode(decoder, self.address, self.code)
    }

    /// Where it ends.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.address.saturating_add(self.code.len() as u64)
    }
}

/// The functions of a code object, by address.
#[derive(Clone, Debug)]
pub struct Functions<'a>(Vec<Function<'a>>);

impl<'a> Functions<'a> {
    /// Finds them: kernels and functions by their symbols and descriptors; in code between them, of which
    /// stripped objects have some, by its shape.
    #[must_use]
    pub fn new(map: &CodeMap<'a>, decoder: &Decoder) -> Self {
        let mut functions = Vec::with_capacity(map.named().len());
        for range in map.ranges() {
            let named: Vec<_> = named(map, range).collect();
            for (address, code) in gaps(&named, range.address, range.bytes) {
                add_by_shape(&mut functions, decoder, address, code);
            }
            functions.extend(named);
        }
        functions.sort_by_key(|function| function.address);
        Functions(functions)
    }

    /// All of them, in the order of their addresses.
    #[must_use]
    pub fn as_slice(&self) -> &[Function<'a>] {
        &self.0
    }

    /// All of them, in the order of their addresses, for who keeps them.
    #[must_use]
    pub fn into_vec(self) -> Vec<Function<'a>> {
        self.0
    }

    /// The function that an address is in.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<&Function<'a>> {
        self.0.get(self.index_at(address)?)
    }

    /// The number of the function that an address is in, or at the start of.
    #[must_use]
    pub fn index_at(&self, address: u64) -> Option<usize> {
        let after = self.0.partition_point(|function| function.address <= address);
        let nearest = after.checked_sub(1)?;
        let function = self.0.get(nearest)?;
        (address == function.address || address < function.end()).then_some(nearest)
    }

    /// The number of the function that starts at an address.
    #[must_use]
    pub fn index_of(&self, address: u64) -> Option<usize> {
        let found = self.index_at(address)?;
        self.0.get(found).is_some_and(|function| function.address == address).then_some(found)
    }
}

/// Those in a range that symbols and descriptors name.
fn named<'m, 'a>(
    map: &'m CodeMap<'a>,
    range: &'m CodeRange<'a>,
) -> impl Iterator<Item = Function<'a>> + 'm {
    let named = map.named();
    let first = named.partition_point(|it| it.address < range.address);
    let inside = named.iter().skip(first).take_while(|it| it.address < range.end());
    inside.map(|it| Function {
        name: Some(it.name),
        kind: if it.is_kernel { FunctionKind::Kernel } else { FunctionKind::Device },
        address: it.address,
        code: map.extent(it.address, it.size).map_or(&[][..], |extent| extent.bytes),
    })
}

/// The code that is in none of these functions, which are in the order of their addresses.
fn gaps<'a>(functions: &[Function<'a>], address: u64, code: &'a [u8]) -> Vec<(u64, &'a [u8])> {
    let mut gaps = Vec::new();
    let mut covered = address;
    let end = address.saturating_add(code.len() as u64);
    let bounds = functions.iter().map(|function| (function.address, function.end()));
    for (start, stop) in bounds.chain([(end, end)]) {
        if covered < start {
            let range = (covered - address) as usize..(start - address) as usize;
            gaps.extend(code.get(range).map(|code| (covered, code)));
        }
        covered = covered.max(stop);
    }
    gaps
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
    for index in 0..stream.len() {
        let (at, next) = (stream.address_of(index), stream.address_of(index + 1));
        let inst = stream.inst(index);
        // What is no instruction starts no function.
        if start.is_none() && inst.is_none_or(|inst| is_padding(inst.mnemonic())) {
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

#[cfg(test)]
mod tests {
    use hsaco_isa::Processor;
    use hsaco_object::CodeObject;

    use super::*;

    fn functions(bytes: &[u8]) -> Vec<(String, u64, usize)> {
        let object = CodeObject::parse(bytes).unwrap();
        let decoder = Decoder::new(Processor::from_name("gfx942").unwrap()).unwrap();
        let name =
            |function: &Function<'_>| function.name.map_or("-".to_owned(), |it| it.to_string());
        let functions = Functions::new(&CodeMap::new(&object, &object.index()), &decoder);
        functions.as_slice().iter().map(|it| (name(it), it.address, it.code.len())).collect()
    }

    #[test]
    fn a_stripped_object_has_its_functions_still() {
        let whole = functions(include_bytes!("../../../tests/fixtures/s1.gfx942.co"));
        let stripped = functions(include_bytes!("../../../tests/fixtures/s1.stripped.co"));
        assert_eq!(whole.first().map(|it| it.0.as_str()), Some("helper"));
        assert_eq!(stripped.first().map(|it| it.0.as_str()), Some("-"));
        let places = |all: &[(String, u64, usize)]| -> Vec<(u64, usize)> {
            all.iter().map(|(_, address, size)| (*address, *size)).collect()
        };
        assert_eq!(places(&whole), places(&stripped));
        let bare = functions(include_bytes!("../../../tests/fixtures/s1.no-sections.co"));
        assert_eq!(places(&whole), places(&bare));
    }
}
