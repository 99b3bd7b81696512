//! Arguments with their types in words, as people and JSON have them.

use hsaco_analysis::{Argument, KernelArguments};
use hsaco_dwarf::{BitField, Member, PointerKind, Spelling, TypeId, TypeKind, Types};

/// Members that are shown of one kernel at most: structures of structures may be made to have no end.
const MAX_MEMBERS: usize = 1 << 16;

/// Bytes of types that are shown of one kernel at most.
const MAX_TEXT: usize = 1 << 22;

/// How deep structures within structures are shown.
const MAX_DEPTH: usize = 64;

/// An argument that has gained its type in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpelledArgument {
    /// The argument.
    pub argument: Argument,
    /// Its type in the words of the source.
    pub ty: Option<String>,
    /// Of a value; none for what has none.
    pub members: Option<Vec<SpelledMember>>,
    /// What a pointer points to.
    pub pointee: Option<Pointee>,
}

#[cfg(feature = "serde")]
impl serde::Serialize for SpelledArgument {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use hsaco_object::metadata::OwnedValueKind;
        use serde::ser::SerializeStruct as _;

        let Self { argument, ty, members, pointee } = self;
        let mut map = serializer.serialize_struct("SpelledArgument", 13)?;
        map.serialize_field("name", &argument.name)?;
        map.serialize_field("offset", &argument.offset)?;
        map.serialize_field("size", &argument.size)?;
        map.serialize_field("alignment", &argument.alignment)?;
        map.serialize_field("kind", &argument.kind.as_ref().map(OwnedValueKind::name))?;
        map.serialize_field("hidden", &argument.is_hidden())?;
        map.serialize_field("address_space", &argument.address_space)?;
        map.serialize_field("access", &argument.access)?;
        map.serialize_field("actual_access", &argument.actual_access)?;
        map.serialize_field("type", ty)?;
        map.serialize_field("members", members)?;
        map.serialize_field("pointee", pointee)?;
        map.serialize_field("source", argument.source.name())?;
        map.end()
    }
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
            argument: argument.clone(),
            ty: spelled.or_else(|| argument.type_name.clone()),
            members: argument.ty.and_then(|ty| self.members(ty)),
            pointee: argument.ty.and_then(|ty| self.pointee(ty)),
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
