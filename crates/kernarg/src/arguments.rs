//! What is known of a kernel's arguments, from metadata, descriptor and debug information together.

use hsaco_analysis::KernelArguments;
use hsaco_bytes::Error;
use hsaco_dwarf::{DebugSections, Encoding, Member, SourceMap, TypeId, TypeKind, Types};
use hsaco_object::{CodeObject, Index, Kernel};

use crate::{
    AbiMarker, CompactLayout, Declaration, DirectLayout, EntryState, Float, Inference,
    NativeLayout, RecordMember, RecordType, ValueType, elf_only,
};

/// How deep structures within structures are followed; what is further in is bytes.
const MAX_DEPTH: usize = 32;

/// Members that are read of one kernel's types at most.
const MAX_MEMBERS: usize = 1 << 16;

/// The arguments of one kernel.
#[derive(Clone, Debug)]
pub struct Arguments {
    /// What the file says.
    pub declaration: Declaration,
    /// Where the caller's bytes go, or why that cannot be said.
    pub native: Result<NativeLayout, Error>,
    /// How a runtime would pack, if the object is compiled for that.
    pub compact: Result<CompactLayout, Error>,
    /// What takes prepacked buffers where there is no layout.
    pub direct: DirectLayout,
    /// The kernel that the layout was taken from, where it is a guess.
    pub template: Option<String>,
    /// What registers hold when the kernel begins; none for a processor that is not known.
    pub entry: Option<Result<EntryState, Error>>,
}

impl Arguments {
    /// Reads them; `debug` is what there is of debug information.
    #[must_use]
    pub fn new(
        object: &CodeObject<'_>,
        index: &Index<'_>,
        kernel: &Kernel<'_>,
        debug: Option<(&SourceMap, &DebugSections<'_>)>,
        inference: Inference,
    ) -> Self {
        let declared = Declaration::of(kernel);
        let declaration = declared.as_ref().cloned().unwrap_or_default();
        let mut native = declared.clone().and_then(|it| NativeLayout::new(&it));
        if let Ok(layout) = &mut native {
            describe(layout, &KernelArguments::new(kernel, debug));
        }
        let compact = declared.and_then(|it| CompactLayout::new(&it, Some(AbiMarker::seen())));
        let size = declaration.size.and_then(|it| u32::try_from(it).ok());
        let processor = object.target().id().map(|it| it.processor);
        let mut arguments = Self {
            declaration,
            native,
            compact,
            direct: DirectLayout::new(size),
            template: None,
            entry: processor.zip(kernel.descriptor()).map(|(it, kd)| EntryState::new(it, &kd)),
        };
        if kernel.metadata().is_none() && inference != Inference::Off {
            arguments.infer(object, index, kernel, inference);
        }
        arguments
    }

    fn infer(
        &mut self,
        object: &CodeObject<'_>,
        index: &Index<'_>,
        kernel: &Kernel<'_>,
        inference: Inference,
    ) {
        let own = elf_only(object, index)
            .map(|all| all.into_iter().find(|it| it.name() == kernel.name()));
        let inferred = own.and_then(|own| own.map(|it| it.infer(index, inference)).transpose());
        match inferred {
            Ok(Some(inferred)) => {
                self.template = Some(inferred.template().to_owned());
                self.native = Ok(inferred.layout().clone());
            }
            Ok(None) => {}
            Err(error) => self.native = Err(error),
        }
    }
}

/// Gives arguments the names and types of the debug information, as far as their sizes agree.
pub fn describe(layout: &mut NativeLayout, known: &KernelArguments) {
    let explicit = known.arguments.iter().filter(|it| !it.is_hidden());
    let mut reader = TypeReader { types: &known.types, members_left: MAX_MEMBERS };
    for (position, argument) in explicit.enumerate() {
        let ty = argument.ty.and_then(|ty| reader.read(ty, 0));
        let size = layout.parameters().get(position).map(|it| it.size);
        let ty = ty.filter(|ty| Some(ty.size()) == size);
        // What the two say differently is what `hsaco args` shows; here the metadata counts.
        drop(layout.describe(position, argument.name.as_deref(), ty));
    }
}

/// Puts types of the debug information into the neutral description.
struct TypeReader<'t> {
    types: &'t Types,
    members_left: usize,
}

impl TypeReader<'_> {
    fn read(&mut self, id: TypeId, depth: usize) -> Option<ValueType> {
        let types = self.types;
        let ty = types.get(types.unqualified(id)?)?;
        let size = u32::try_from(ty.size?).ok()?;
        let opaque = ValueType::unknown(size);
        if depth > MAX_DEPTH {
            return Some(opaque);
        }
        let known = match &ty.kind {
            TypeKind::Base(encoding) => base(*encoding, size, ty.name.as_deref()),
            TypeKind::Pointer(_) | TypeKind::NullPointer => Some(ValueType::Pointer { size }),
            TypeKind::Enumeration { underlying, .. } => match underlying {
                Some(of) => self.read(*of, depth + 1),
                None => Some(ValueType::integer(size, true)),
            },
            TypeKind::Vector { of, lanes } => {
                let of = Box::new(self.read((*of)?, depth + 1)?);
                Some(ValueType::Array { of, count: u32::try_from(*lanes).ok()?, size })
            }
            TypeKind::Array { of, dimensions } => {
                let mut all = self.read((*of)?, depth + 1)?;
                for dimension in dimensions.iter().rev() {
                    all = ValueType::array(all, u32::try_from((*dimension)?).ok()?);
                }
                Some(all)
            }
            TypeKind::Record { keyword, complete: true, members } => {
                self.members_left = self.members_left.checked_sub(members.len())?;
                let members = members.iter().filter_map(|it| self.member(it, depth + 1)).collect();
                Some(ValueType::Record(match keyword.name() {
                    "union" => RecordType::union(size, members),
                    _ => RecordType::new(size, members),
                }))
            }
            _ => None,
        };
        Some(known.filter(|it| it.size() == size).unwrap_or(opaque))
    }

    fn member(&mut self, member: &Member, depth: usize) -> Option<RecordMember> {
        let ty = self.read(member.ty?, depth)?;
        let name = member.name.as_deref();
        if let Some(bits) = member.bits {
            let (low, width) = (u32::try_from(bits.offset).ok()?, u32::try_from(bits.size).ok()?);
            return Some(RecordMember::bit_field(name, ty, low, width));
        }
        let offset = u32::try_from(member.offset?).ok()?;
        Some(match name {
            Some(name) => RecordMember::new(name, offset, ty),
            None => RecordMember::anonymous(offset, ty),
        })
    }
}

fn base(encoding: Encoding, size: u32, name: Option<&str>) -> Option<ValueType> {
    match (encoding, size) {
        (Encoding::Boolean, 1) => Some(ValueType::Bool),
        (Encoding::Signed | Encoding::SignedCharacter, _) => Some(ValueType::integer(size, true)),
        (Encoding::Unsigned | Encoding::UnsignedCharacter | Encoding::Utf, _) => {
            Some(ValueType::integer(size, false))
        }
        (Encoding::Float, 2) if name == Some("__bf16") => Some(ValueType::Float(Float::Bf16)),
        (Encoding::Float, 2) => Some(ValueType::Float(Float::F16)),
        (Encoding::Float, 4) => Some(ValueType::Float(Float::F32)),
        (Encoding::Float, 8) => Some(ValueType::Float(Float::F64)),
        (Encoding::ComplexFloat, 8) => Some(ValueType::array(ValueType::Float(Float::F32), 2)),
        (Encoding::ComplexFloat, 16) => Some(ValueType::array(ValueType::Float(Float::F64), 2)),
        _ => None,
    }
}
