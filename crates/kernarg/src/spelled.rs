//! Arguments with their types in words, as people and JSON have them.

use hsaco_analysis::{Argument, KernelArguments, Source};
use hsaco_dwarf::{BitField, Member, PointerKind, Spelling, TypeId, TypeKind, Types};

/// Members that are shown of one kernel at most: structures of structures may be made to have no end.
const MAX_MEMBERS: usize = 1 << 16;

/// Bytes of types that are shown of one kernel at most.
const MAX_TEXT: usize = 1 << 22;

/// How deep structures within structures are shown.
const MAX_DEPTH: usize = 64;

/// An argument, its types in words.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SpelledArgument {
    /// As metadata or debug information have it.
    pub name: Option<String>,
    /// In the segment.
    pub offset: Option<u64>,
    /// In bytes.
    pub size: Option<u64>,
    /// In bytes.
    pub alignment: Option<u64>,
    /// The value kind of the metadata.
    pub kind: Option<String>,
    /// Whether the runtime passes it.
    pub hidden: bool,
    /// Of a pointer.
    pub address_space: Option<String>,
    /// As declared.
    pub access: Option<String>,
    /// As the compiler found it.
    pub actual_access: Option<String>,
    /// In the words of the source.
    #[cfg_attr(feature = "serde", serde(rename = "type"))]
    pub ty: Option<String>,
    /// Of a value; null for what has none.
    pub members: Option<Vec<SpelledMember>>,
    /// What a pointer points to.
    pub pointee: Option<Pointee>,
    /// Who says so: metadata, debug information or both.
    pub source: &'static str,
}

/// A member of a structure, its types in words.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SpelledMember {
    /// As metadata or debug information have it.
    pub name: Option<String>,
    /// From the beginning of the structure that it is in.
    pub offset: Option<u64>,
    /// In bytes.
    pub size: Option<u64>,
    /// In bytes.
    pub alignment: Option<u64>,
    /// Of a bit field.
    pub bit_offset: Option<u64>,
    /// Of a bit field.
    pub bit_size: Option<u64>,
    /// Whether it is a base class.
    pub base: bool,
    /// In the words of the source.
    #[cfg_attr(feature = "serde", serde(rename = "type"))]
    pub ty: String,
    /// Of a structure.
    pub members: Option<Vec<SpelledMember>>,
}

/// What a pointer points to, its type in words.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Pointee {
    /// In the words of the source.
    #[cfg_attr(feature = "serde", serde(rename = "type"))]
    pub ty: String,
    /// In bytes.
    pub size: Option<u64>,
    /// In bytes.
    pub alignment: Option<u64>,
    /// Of a structure.
    pub members: Option<Vec<SpelledMember>>,
}

/// The arguments of a kernel with their members, to limits that only what is made to have no end reaches.
pub fn spell(found: &KernelArguments, spelling: Spelling) -> Vec<SpelledArgument> {
    let mut writer = Writer {
        types: &found.types,
        spelling,
        members_left: MAX_MEMBERS,
        text_left: MAX_TEXT,
        open: Vec::new(),
    };
    found.arguments.iter().map(|it| writer.argument(it)).collect()
}

/// Makes rows of one kernel's types.
struct Writer<'t> {
    types: &'t Types,
    spelling: Spelling,
    members_left: usize,
    text_left: usize,
    /// The structures whose members are being shown: one that holds itself is shown once.
    open: Vec<TypeId>,
}

impl Writer<'_> {
    fn argument(&mut self, argument: &Argument) -> SpelledArgument {
        let spelled = argument.ty.map(|ty| self.spell(Some(ty)));
        SpelledArgument {
            name: argument.name.clone(),
            offset: argument.offset,
            size: argument.size,
            alignment: argument.alignment,
            kind: argument.kind.as_ref().map(|it| it.name().to_owned()),
            hidden: argument.is_hidden(),
            address_space: argument.address_space.clone(),
            access: argument.access.clone(),
            actual_access: argument.actual_access.clone(),
            ty: spelled.or_else(|| argument.type_name.clone()),
            members: argument.ty.and_then(|ty| self.members(ty)),
            pointee: argument.ty.and_then(|ty| self.pointee(ty)),
            source: match argument.source {
                Source::Metadata => "metadata",
                Source::Debug => "debug",
                _ => "both",
            },
        }
    }

    fn spell(&mut self, ty: Option<TypeId>) -> String {
        if self.text_left == 0 {
            return "…".to_owned();
        }
        let text = self.types.spell(ty, self.spelling);
        self.text_left = self.text_left.saturating_sub(text.len());
        text
    }

    /// The members of a structure; none for other types.
    fn members(&mut self, ty: TypeId) -> Option<Vec<SpelledMember>> {
        let types = self.types;
        let ty = types.unqualified(ty)?;
        let TypeKind::Record { complete: true, members, .. } = &types.get(ty)?.kind else {
            return None;
        };
        if self.open.len() >= MAX_DEPTH || self.open.contains(&ty) {
            return None;
        }
        self.members_left = self.members_left.checked_sub(members.len())?;
        self.open.push(ty);
        let shown = members.iter().map(|it| self.member(it)).collect();
        self.open.pop();
        Some(shown)
    }

    fn member(&mut self, member: &Member) -> SpelledMember {
        let ty = member.ty.and_then(|ty| self.types.get(ty));
        if let Some(BitField { offset, size, .. }) = member.bits {
            return SpelledMember {
                bit_offset: Some(offset),
                bit_size: Some(size),
                ..self.place(member)
            };
        }
        SpelledMember {
            size: ty.and_then(|ty| ty.size),
            alignment: member.alignment.max(ty.and_then(|ty| ty.alignment)),
            members: member.ty.and_then(|ty| self.members(ty)),
            ..self.place(member)
        }
    }

    /// What every member has.
    fn place(&mut self, member: &Member) -> SpelledMember {
        SpelledMember {
            name: member.name.as_deref().map(str::to_owned),
            offset: member.offset,
            size: None,
            alignment: None,
            bit_offset: None,
            bit_size: None,
            base: member.base,
            ty: self.spell(member.ty),
            members: None,
        }
    }

    fn pointee(&mut self, ty: TypeId) -> Option<Pointee> {
        let TypeKind::Pointer(pointer) = self.types.get(self.types.unqualified(ty)?)?.kind else {
            return None;
        };
        if matches!(pointer.kind, PointerKind::Member { .. }) {
            return None;
        }
        let to = pointer.to.and_then(|to| self.types.get(to));
        Some(Pointee {
            ty: self.spell(pointer.to),
            size: to.and_then(|to| to.size),
            alignment: to.and_then(|to| to.alignment),
            members: pointer.to.and_then(|to| self.members(to)),
        })
    }
}
