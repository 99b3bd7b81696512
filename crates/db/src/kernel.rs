//! A kernel and its instructions.

use std::fmt;
use std::sync::Arc;

use hsaco_analysis::{Cfg, KernelArguments, Stream};
use hsaco_bytes::{Id as _, Result, Str};
use hsaco_dwarf::{Frame, Location};
use hsaco_isa::effects::{Effects, Flow, Memory};
use hsaco_isa::model::{Operand, Register};
use hsaco_isa::print::Token;
use hsaco_isa::{Decoder, Inst};
use hsaco_object::Resources;

use crate::code::Code;
use crate::data::Data;
use crate::name::readable;
use crate::object::{KernelId, Object, Tables};

/// A kernel of the database. Cloning copies nothing; all clones share what was decoded.
#[derive(Clone)]
pub struct IndexedKernel {
    object: Arc<Object>,
    id: KernelId,
}

impl fmt::Debug for IndexedKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IndexedKernel({}, {:?})", self.name(), self.object)
    }
}

impl PartialEq for IndexedKernel {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.object, &other.object) && self.id == other.id
    }
}

impl Eq for IndexedKernel {}

impl IndexedKernel {
    pub(crate) fn new(object: Arc<Object>, id: KernelId) -> Self {
        IndexedKernel { object, id }
    }

    /// The object that it is in.
    #[must_use]
    pub fn object(&self) -> &Arc<Object> {
        &self.object
    }

    /// Which kernel of its object it is.
    #[must_use]
    pub fn number(&self) -> usize {
        self.id.index()
    }

    /// Its mangled name.
    #[must_use]
    pub fn name(&self) -> Str<'_> {
        self.object.kernel_name(self.id)
    }

    /// Its name as people read it.
    #[must_use]
    pub fn readable_name(&self) -> String {
        readable(self.name())
    }

    /// What the object's tables say of it: descriptor, metadata, entry. As all that is read from the file, it is an
    /// error of kind [`Changed`](hsaco_bytes::ErrorKind::Changed) if the file is not as it was.
    pub fn tables(&self) -> Result<Tables<'_>> {
        self.object.kernel_tables(self.id)
    }

    /// What it needs of a device.
    pub fn resources(&self) -> Result<Resources> {
        let generation = self.object.target_id().map(|id| id.processor.generation());
        Ok(self.tables()?.kernel().resources(generation).0)
    }

    /// Its arguments: what the metadata says of them, joined with the types of the debug information.
    pub fn arguments(&self) -> Result<KernelArguments> {
        self.object.arguments(self.id)
    }

    /// Where its code starts.
    #[must_use]
    pub fn entry(&self) -> Option<u64> {
        self.object.code_range(self.id).map(|(address, _)| address)
    }

    /// How many bytes of code it has.
    #[must_use]
    pub fn code_size(&self) -> Option<usize> {
        self.object.code_range(self.id).map(|(_, range)| range.len())
    }

    /// Its code.
    pub fn code(&self) -> Result<Data> {
        self.object.code_bytes(self.id)
    }

    /// Its instructions in the order of their addresses. Decodes it, the first time.
    pub fn instructions(&self) -> Result<impl ExactSizeIterator<Item = Instruction<'_>>> {
        let code = self.object.code(self.id)?;
        let instruction = move |index| Instruction { kernel: Some(self), code, index };
        Ok((0..code.stream().len()).map(instruction))
    }

    /// The instruction of that number, counted from 0. Decodes the kernel, the first time.
    pub fn instruction(&self, index: usize) -> Result<Option<Instruction<'_>>> {
        let code = self.object.code(self.id)?;
        let is_there = index < code.stream().len();
        Ok(is_there.then_some(Instruction { kernel: Some(self), code, index }))
    }

    /// Its instructions, for analyses. Decodes it, the first time.
    pub fn stream(&self) -> Result<(&Decoder, Stream<'_>)> {
        self.object.code(self.id).map(|code| (&code.decoder, code.stream()))
    }

    /// Its blocks and the edges between them. Decodes it, the first time.
    pub fn blocks(&self) -> Result<&Cfg> {
        self.object.code(self.id).map(Code::cfg)
    }
}

impl Object {
    /// Its kernels that are in the database.
    pub fn kernels(self: &Arc<Self>) -> impl ExactSizeIterator<Item = IndexedKernel> + use<> {
        let object = Arc::clone(self);
        object.kernel_ids().map(move |id| IndexedKernel::new(Arc::clone(&object), id))
    }

    /// The kernel of that number, counted from 0.
    #[must_use]
    pub fn kernel(self: &Arc<Self>, number: usize) -> Option<IndexedKernel> {
        self.kernel_id(number).map(|id| IndexedKernel::new(Arc::clone(self), id))
    }
}

/// An instruction of a kernel or a listing, or a word that is none.
#[derive(Clone, Copy)]
pub struct Instruction<'k> {
    pub(crate) kernel: Option<&'k IndexedKernel>,
    pub(crate) code: &'k Code,
    pub(crate) index: usize,
}

impl fmt::Debug for Instruction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}: {}", self.address(), self.text())
    }
}

impl<'k> Instruction<'k> {
    /// Which instruction of the kernel it is.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Where it stands.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.code.stream().address_of(self.index)
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &'k [u8] {
        self.code.stream().bytes(self.index)
    }

    /// What was decoded; none of a word that is no instruction.
    #[must_use]
    pub fn inst(&self) -> Option<Inst> {
        self.code.stream().inst(self.index)
    }

    /// Its name without the suffix of its encoding; `.long` of a word that is none, `.byte` of less than a word.
    #[must_use]
    pub fn mnemonic(&self) -> &'static str {
        self.inst().map_or_else(|| self.directive(), |inst| inst.mnemonic())
    }

    /// Its name with the suffix of its encoding, as its text has it.
    #[must_use]
    pub fn full_mnemonic(&self) -> &'static str {
        self.inst().map_or_else(|| self.directive(), |inst| inst.full_mnemonic())
    }

    /// Its text, as llvm-objdump prints it.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = Vec::new();
        match self.inst() {
            Some(inst) => {
                self.code.decoder.print_after(&inst, self.code.state(self.index), &mut text);
            }
            None => text = self.word().into_bytes(),
        }
        String::from_utf8_lossy(&text).trim_start().to_owned()
    }

    /// Its text, and where each token of it starts.
    #[must_use]
    pub fn tokens(&self) -> (String, Vec<(Token, usize)>) {
        let Some(inst) = self.inst() else {
            let tokens = vec![(Token::Mnemonic, 0), (Token::Immediate, ".long ".len())];
            return (self.word(), tokens);
        };
        let (mut text, mut tokens) = (Vec::new(), Vec::new());
        let state = self.code.state(self.index);
        self.code.decoder.print_tokens(&inst, state, &mut text, &mut tokens);
        (String::from_utf8_lossy(&text).into_owned(), tokens)
    }

    /// The name of the directive of bytes that are no instruction: the last may be less than a word.
    fn directive(&self) -> &'static str {
        if self.bytes().len() < 4 { ".byte" } else { ".long" }
    }

    /// The directive of bytes that are no instruction.
    fn word(&self) -> String {
        hsaco_isa::assembler::Data::of_bytes(self.bytes()).to_string()
    }

    /// Its operands.
    pub fn operands(&self) -> impl Iterator<Item = Operand> + use<'k> {
        let code = self.code;
        self.inst().into_iter().flat_map(move |inst| code.decoder.operands(&inst))
    }

    /// What memory it reads or writes, and how much of it.
    #[must_use]
    pub fn memory(&self) -> Option<Memory> {
        self.with_effects(|it| it.memory()).flatten()
    }

    /// The registers that it reads, those of its operands first, then implicit ones.
    #[must_use]
    pub fn reads(&self) -> Vec<Register> {
        self.with_effects(|it| it.reads().collect()).unwrap_or_default()
    }

    /// The registers that it writes, those of its operands first, then implicit ones.
    #[must_use]
    pub fn writes(&self) -> Vec<Register> {
        self.with_effects(|it| it.writes().collect()).unwrap_or_default()
    }

    /// Where execution goes after it; none of a word that is no instruction.
    #[must_use]
    pub fn flow(&self) -> Option<Flow> {
        self.with_effects(|it| it.flow())
    }

    /// What it does, where it is an instruction.
    fn with_effects<T>(&self, look: impl FnOnce(Effects<'_>) -> T) -> Option<T> {
        let inst = self.inst()?;
        Some(look(self.code.decoder.effects(&inst, self.code.state(self.index))))
    }

    /// Where it branches to, if it says so itself.
    #[must_use]
    pub fn branch_target(&self) -> Option<u64> {
        self.inst()?.branch_target(self.address())
    }

    /// The place in the source that it comes from; none where nothing says.
    pub fn location(&self) -> Result<Option<Location<'k>>> {
        let Some(kernel) = self.kernel else { return Ok(None) };
        let places = kernel.object.places(kernel.id)?;
        let Some(place) = places.get(self.index).copied().flatten() else { return Ok(None) };
        Ok(kernel.object.source_map()?.location_of(place))
    }

    /// The functions that it is in, those inlined first, each with the place there.
    pub fn frames(&self) -> Result<Vec<Frame<'k>>> {
        let Some(kernel) = self.kernel else { return Ok(Vec::new()) };
        kernel.object.frames(kernel.id, self.address())
    }
}
