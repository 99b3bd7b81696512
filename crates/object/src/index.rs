//! What a code object defines, by name: kernels, device functions, variables and the rest.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use hsaco_bytes::{Error, Problems, Str};
use hsaco_elf::symbol::{
    SHN_ABS, SHN_AMDGPU_LDS, SHN_COMMON, STT_AMDGPU_HSA_KERNEL, STT_COMMON, STT_FILE, STT_FUNC,
    STT_NOTYPE, STT_OBJECT, STT_SECTION, Symbol, SymbolTable,
};

use crate::code_object::CodeObject;
use crate::kernel::Kernel;
use crate::metadata::Metadata;

/// Everything a code object defines or wants, by kind.
#[derive(Clone, Debug, Default)]
pub struct Index<'a> {
    metadata: Metadata<'a>,
    kernels: Vec<Kernel<'a>>,
    functions: Vec<Symbol<'a>>,
    variables: Vec<Symbol<'a>>,
    lds_variables: Vec<Symbol<'a>>,
    externals: Vec<Symbol<'a>>,
    problems: Problems,
}

/// What a symbol stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolKind {
    /// Sixty-four bytes that describe a kernel.
    KernelDescriptor,
    /// A kernel of code object V2: header and code in one.
    KernelV2,
    /// Code: a kernel's entry or a device function.
    Function,
    /// Code that answers with the address of a function.
    IndirectFunction,
    /// Data in memory.
    Variable,
    /// Data in LDS.
    LdsVariable,
    /// Wanted from another object.
    External,
    /// A number, such as the registers a kernel needs.
    Absolute,
    /// A label without a type.
    Label,
    /// A section or a source file.
    Bookkeeping,
}

impl SymbolKind {
    /// The name to show.
    pub fn name(self) -> &'static str {
        match self {
            Self::KernelDescriptor => "descriptor",
            Self::KernelV2 => "kernel",
            Self::Function => "function",
            Self::IndirectFunction => "indirect function",
            Self::Variable => "variable",
            Self::LdsVariable => "LDS variable",
            Self::External => "external",
            Self::Absolute => "absolute",
            Self::Label => "label",
            Self::Bookkeeping => "section or file",
        }
    }
}

/// Size of a kernel descriptor.
const DESCRIPTOR_SIZE: u64 = 64;

impl SymbolKind {
    /// What a symbol stands for in an object of that version.
    pub fn of(symbol: &Symbol<'_>, is_v2: bool) -> Self {
        match (symbol.section, symbol.kind) {
            (_, STT_SECTION | STT_FILE) => Self::Bookkeeping,
            (SHN_AMDGPU_LDS, _) => Self::LdsVariable,
            (_, _) if !symbol.is_defined() => Self::External,
            (_, STT_AMDGPU_HSA_KERNEL) if is_v2 => Self::KernelV2,
            (_, STT_AMDGPU_HSA_KERNEL) => Self::IndirectFunction,
            (_, STT_FUNC) => Self::Function,
            (SHN_ABS, STT_NOTYPE | STT_OBJECT) => Self::Absolute,
            (SHN_COMMON, _) | (_, STT_COMMON) => Self::Variable,
            (_, STT_OBJECT) if is_descriptor(symbol) => Self::KernelDescriptor,
            (_, STT_OBJECT) => Self::Variable,
            _ => Self::Label,
        }
    }
}

/// A descriptor has 64 bytes; hand-written assembly may leave the size out.
fn is_descriptor(symbol: &Symbol<'_>) -> bool {
    matches!(symbol.size, 0 | DESCRIPTOR_SIZE) && symbol.name.strip_suffix(".kd").is_some()
}

impl<'a> CodeObject<'a> {
    /// Kernels, functions and variables by name. Decodes no instruction and no argument.
    pub fn index(&self) -> Index<'a> {
        Index::build(self)
    }

    /// The kernels of some names as the [`index`](Self::index) has them, but for metadata: found by symbols alone, so that
    /// what a few of them cost hardly depends on how many there are. Nothing if there are more than `most`, none, or any
    /// for which the index has to be asked.
    pub fn few_kernels(
        &self,
        most: usize,
        wants: impl Fn(Str<'_>) -> bool,
    ) -> Option<Vec<Kernel<'a>>> {
        let (table, wrong) = SymbolTable::find_readable(self.elf());
        let table = table.filter(|_| wrong.is_none())?;
        if self.is_relocatable() || self.is_v2() {
            return None;
        }
        let mut kernels: Vec<Kernel<'a>> = Vec::new();
        for symbol in table.objects() {
            let symbol = symbol.ok()?;
            let is_wanted = symbol.name.strip_suffix(".kd").is_some_and(&wants);
            if !is_wanted || SymbolKind::of(&symbol, false) != SymbolKind::KernelDescriptor {
                continue;
            }
            let mut kernel = Kernel::from_descriptor(self, symbol);
            let entry = table.find_named(kernel.name.as_bytes());
            let entry = entry.filter(|it| it.kind == STT_FUNC && kernel.enters_at(it))?;
            kernel.set_entry(&entry);
            if kernels.len() == most || kernels.iter().any(|it| it.name == kernel.name) {
                return None;
            }
            kernels.push(kernel);
        }
        Some(kernels).filter(|it| !it.is_empty())
    }
}

impl<'a> Index<'a> {
    fn build(object: &CodeObject<'a>) -> Self {
        let metadata = object.metadata();
        let mut problems = Problems::default();
        problems.extend(metadata.problems());
        let kernels = metadata.kernels().iter().map(|&it| Kernel::from_metadata(it)).collect();
        let mut index = Self { metadata, kernels, problems, ..Self::default() };
        index.read_symbols(object);
        index
    }

    fn read_symbols(&mut self, object: &CodeObject<'a>) {
        let (table, wrong) = SymbolTable::find_readable(object.elf());
        wrong.into_iter().for_each(|error| self.problems.note(error));
        let Some(table) = table else { return };
        let mut names = Names::new(&self.kernels);
        let is_v2 = object.is_v2();
        for symbol in table.named_things() {
            match symbol {
                Ok(symbol) => self.file(object, symbol, is_v2, &mut names),
                Err(error) => self.problems.note(error),
            }
        }
        self.claim_entries(&mut names);
        self.drop_repeated_descriptions(&mut names);
    }

    fn file(
        &mut self,
        object: &CodeObject<'a>,
        symbol: Symbol<'a>,
        is_v2: bool,
        names: &mut Names<'a>,
    ) {
        match SymbolKind::of(&symbol, is_v2) {
            SymbolKind::KernelDescriptor => self.add_descriptor(object, symbol, names),
            SymbolKind::Variable if names.is_metadata_symbol(symbol.name) => {
                self.add_descriptor(object, symbol, names);
            }
            SymbolKind::KernelV2 => self.kernels.push(Kernel::from_v2(object, symbol)),
            SymbolKind::Function | SymbolKind::IndirectFunction => self.functions.push(symbol),
            SymbolKind::Variable => self.variables.push(symbol),
            SymbolKind::LdsVariable => self.lds_variables.push(symbol),
            SymbolKind::External if !symbol.name.is_empty() => self.externals.push(symbol),
            SymbolKind::External
            | SymbolKind::Absolute
            | SymbolKind::Label
            | SymbolKind::Bookkeeping => {}
        }
    }

    /// Gives a descriptor to the kernel that metadata announced, else begins a new kernel.
    fn add_descriptor(
        &mut self,
        object: &CodeObject<'a>,
        symbol: Symbol<'a>,
        names: &mut Names<'a>,
    ) {
        let name = symbol.name.strip_suffix(".kd").unwrap_or(symbol.name);
        let is_waiting = |kernel: &Kernel<'a>| kernel.descriptor_symbol().is_none();
        let waiting = names.find(name, &self.kernels, is_waiting);
        match waiting.and_then(|at| self.kernels.get_mut(at)) {
            Some(kernel) => {
                kernel.set_descriptor(object, symbol);
                // Compilers write a kernel's entry right before its descriptor.
                if let Some(entry) = self.functions.pop_if(|it| kernel.enters_at(it)) {
                    kernel.set_entry(&entry);
                }
            }
            None => {
                self.kernels.push(Kernel::from_descriptor(object, symbol));
                names.added(&self.kernels);
            }
        }
    }

    /// Moves the functions that are kernel entries, and are not with their kernels yet, to them.
    fn claim_entries(&mut self, names: &mut Names<'a>) {
        let kernels = &mut self.kernels;
        names.guess = 0;
        self.functions.retain(|function| {
            let claims = |kernel: &Kernel<'a>| kernel.may_enter_at(function);
            let kernel = names.find(function.name, kernels, claims);
            match kernel.and_then(|at| kernels.get_mut(at)) {
                Some(kernel) => {
                    kernel.set_entry(function);
                    false
                }
                None => true,
            }
        });
    }

    /// Inputs that share a template instantiation each describe it; the linker keeps one.
    fn drop_repeated_descriptions(&mut self, names: &mut Names<'a>) {
        let is_described = |kernel: &Kernel<'a>| kernel.descriptor_symbol().is_some();
        if self.kernels.iter().all(is_described) {
            return;
        }
        let mut keep = |kernel: &Kernel<'a>| {
            is_described(kernel) || names.find(kernel.name(), &self.kernels, is_described).is_none()
        };
        let keep: Vec<bool> = self.kernels.iter().map(&mut keep).collect();
        let mut keep = keep.into_iter();
        self.kernels.retain(|_| keep.next().unwrap_or(true));
    }

    /// The merged metadata.
    pub fn metadata(&self) -> &Metadata<'a> {
        &self.metadata
    }

    /// Kernels: those of the metadata in its order, then those that only the symbols know.
    pub fn kernels(&self) -> &[Kernel<'a>] {
        &self.kernels
    }

    /// Device functions: code without a descriptor.
    pub fn functions(&self) -> &[Symbol<'a>] {
        &self.functions
    }

    /// Variables in memory.
    pub fn variables(&self) -> &[Symbol<'a>] {
        &self.variables
    }

    /// Variables in LDS; only relocatable objects have them.
    pub fn lds_variables(&self) -> &[Symbol<'a>] {
        &self.lds_variables
    }

    /// Symbols wanted from other objects.
    pub fn externals(&self) -> &[Symbol<'a>] {
        &self.externals
    }

    /// What was wrong with metadata and symbols.
    pub fn problems(&self) -> &[Error] {
        self.problems.as_slice()
    }
}

/// Kernels by name, and the descriptor symbols that metadata names without `.kd`.
struct Names<'a> {
    /// Where the next kernel is likely to be: compilers write symbols in the order of metadata.
    guess: usize,
    /// Made when a guess is wrong for the first time.
    by_name: Option<ByName<'a>>,
    odd_symbols: HashSet<Str<'a>, RandomState>,
}

struct ByName<'a> {
    first: HashMap<Str<'a>, usize, RandomState>,
    /// For each kernel the next one of the same name.
    next: Vec<Option<usize>>,
}

/// How many kernels of one name are told apart; a hostile file may have any number.
const MAX_SAME_NAME: usize = 64;

impl<'a> Names<'a> {
    fn new(kernels: &[Kernel<'a>]) -> Self {
        // Lengths tell, and the bytes of the names need not be looked at again.
        let size = |name: Str<'_>| name.as_bytes().len();
        let odd = |kernel: &Kernel<'a>| {
            kernel.metadata()?.symbol().filter(|&it| size(it) == size(kernel.name()))
        };
        Self { guess: 0, by_name: None, odd_symbols: kernels.iter().filter_map(odd).collect() }
    }

    /// A kernel of this name that is acceptable.
    fn find(
        &mut self,
        name: Str<'a>,
        kernels: &[Kernel<'a>],
        accepts: impl Fn(&Kernel<'a>) -> bool,
    ) -> Option<usize> {
        let fits = |at: &usize| {
            kernels.get(*at).is_some_and(|kernel| kernel.name() == name && accepts(kernel))
        };
        if fits(&self.guess) {
            self.guess += 1;
            return Some(self.guess - 1);
        }
        let by_name = self.by_name.get_or_insert_with(|| ByName::new(kernels));
        let found = by_name.kernels(name).find(fits);
        self.guess = found.map_or(self.guess, |at| at + 1);
        found
    }

    /// Takes note of the last kernel.
    fn added(&mut self, kernels: &[Kernel<'a>]) {
        if let (Some(by_name), Some((last, others))) = (&mut self.by_name, kernels.split_last()) {
            by_name.add(last.name(), others.len());
        }
    }

    fn is_metadata_symbol(&self, name: Str<'a>) -> bool {
        self.odd_symbols.contains(&name)
    }
}

impl<'a> ByName<'a> {
    fn new(kernels: &[Kernel<'a>]) -> Self {
        let first = HashMap::with_capacity_and_hasher(kernels.len(), RandomState::default());
        let mut names = Self { first, next: vec![None; kernels.len()] };
        for (at, kernel) in kernels.iter().enumerate().rev() {
            names.add(kernel.name(), at);
        }
        names
    }

    fn kernels(&self, name: Str<'a>) -> impl Iterator<Item = usize> {
        let first = self.first.get(&name).copied();
        let next = |&at: &usize| self.next.get(at).copied().flatten();
        std::iter::successors(first, next).take(MAX_SAME_NAME)
    }

    fn add(&mut self, name: Str<'a>, at: usize) {
        let follower = self.first.insert(name, at);
        self.next.resize(self.next.len().max(at + 1), None);
        if let Some(slot) = self.next.get_mut(at) {
            *slot = follower;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! fixture {
        ($name:literal) => {
            include_bytes!(concat!("../../../tests/fixtures/", $name))
        };
    }

    fn names(symbols: &[Symbol<'_>]) -> Vec<String> {
        symbols.iter().map(|it| it.name.to_string()).collect()
    }

    fn kernels(bytes: &[u8]) -> Vec<String> {
        let index = CodeObject::parse(bytes).unwrap().index();
        assert_eq!(index.problems(), []);
        index.kernels().iter().map(|it| it.name().to_string()).collect()
    }

    #[test]
    fn each_symbol_is_told_for_what_it_is() {
        let object = CodeObject::parse(fixture!("s1.gfx942.co")).unwrap();
        let index = object.index();
        assert_eq!(kernels(fixture!("s1.gfx942.co")), ["foo", "none", "ind"]);
        assert_eq!(names(index.functions()), ["helper"]);
        assert_eq!(names(index.variables()), ["pointer"]);
        assert_eq!(names(index.externals()), [] as [&str; 0]);
        let foo = index.kernels()[0];
        assert_eq!(foo.descriptor_address(), Some(0xc00));
        assert_eq!((foo.entry(), foo.code_size()), (Some(0x1e00), Some(88)));
        let (resources, metadata) = foo.resources(object.target().generation());
        assert!(metadata.is_ok());
        assert_eq!((resources.vgprs, resources.kernarg_size), (Some(2), Some(24)));
    }

    #[test]
    fn kernels_are_found_whatever_was_taken_away() {
        let all = ["foo", "none", "ind"];
        assert_eq!(kernels(fixture!("s1.stripped.co")), all);
        assert_eq!(kernels(fixture!("s1.no-sections.co")), all);
        assert_eq!(kernels(fixture!("s1.gfx942.o")), all);
        let without_metadata = CodeObject::parse(fixture!("s1.no-note.co")).unwrap().index();
        let kernel = without_metadata.kernels()[0];
        assert!(kernel.metadata().is_none() && kernel.entry().is_some());
        assert_eq!(kernel.resources(None).0.max_workgroup_size, None);
    }

    #[test]
    fn notes_are_merged() {
        let index = CodeObject::parse(fixture!("two-notes.co")).unwrap().index();
        assert_eq!(index.metadata().documents(), 2);
        assert_eq!(kernels(fixture!("two-notes.co")), ["one", "two"]);
    }

    #[test]
    fn v2_kernels_have_a_symbol_type_of_their_own() {
        let object = CodeObject::parse(fixture!("v2.co")).unwrap();
        let index = object.index();
        assert_eq!(object.target().to_string(), "gfx906:sramecc-:xnack+");
        let kernel = index.kernels()[0];
        assert_eq!(kernel.name(), "old_kernel");
        let address = kernel.descriptor_address().unwrap();
        assert_eq!(kernel.entry(), Some(address + 256));
    }

    #[test]
    fn lds_and_external_symbols_are_no_variables() {
        let lds = CodeObject::parse(fixture!("lds.o")).unwrap().index();
        assert_eq!(names(lds.lds_variables()), ["tile", "dynamic_tile"]);
        let external = CodeObject::parse(fixture!("external.co")).unwrap().index();
        assert_eq!(names(external.externals()), ["external_variable", "external_function"]);
        assert!(lds.variables().is_empty() && external.variables().is_empty());
    }

    #[test]
    fn a_broken_symbol_table_leaves_the_metadata() {
        let mut bytes = fixture!("s1.gfx942.co").to_vec();
        let table =
            CodeObject::parse(&bytes).unwrap().elf().section_named(".symtab").unwrap().index;
        let headers = u64::from_le_bytes(*bytes[40..].first_chunk().unwrap());
        let header = usize::try_from(headers).unwrap() + table as usize * 64;
        let near_end = bytes.len() as u64 - 8;
        bytes[header + 24..header + 32].copy_from_slice(&near_end.to_le_bytes());
        bytes[header + 32..header + 40].copy_from_slice(&64_u64.to_le_bytes());
        let object = CodeObject::parse(&bytes).unwrap();
        let index = object.index();
        assert_eq!(index.kernels().len(), 3);
        assert!(index.functions().is_empty());
        assert!(index.kernels()[0].entry().is_some(), "the dynamic symbols are still there");
        assert_eq!(
            object.problems()[0].to_string(),
            "truncated: section content: 8 bytes of 64 (at offset 0x1f48)"
        );
    }
}
