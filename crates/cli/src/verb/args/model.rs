//! What `args` says of an object: the JSON shape, which the text is made from too.

use std::sync::atomic::Ordering;

use hsaco::analysis::{
    Argument, BitField, DebugSections, Disagreement, KernelArguments, Member, PointerKind, Source,
    SourceMap, Spelling, TypeId, TypeKind, Types,
};
use hsaco::object::{CodeObject, Error, Kernel};
use serde::Serialize;

use super::Question;
use crate::report::Trouble;
use crate::scan::ObjectItem;
use crate::verb::ls::source_name;

/// Members that are shown of one kernel at most: structures of structures may be made to have no end.
const MAX_MEMBERS: usize = 1 << 16;

/// Bytes of types that are shown of one kernel at most.
const MAX_TEXT: usize = 1 << 22;

/// How deep structures within structures are shown.
const MAX_DEPTH: usize = 64;

/// One object of `args`.
#[derive(Serialize)]
pub(super) struct ObjectArguments {
    pub(super) index: usize,
    pub(super) entry_id: Option<String>,
    pub(super) target: Option<String>,
    pub(super) kernels: Vec<KernelInfo>,
}

#[derive(Serialize)]
pub(super) struct KernelInfo {
    pub(super) name: String,
    pub(super) demangled: String,
    pub(super) kernarg_size: Option<u64>,
    /// Whether offsets follow from the types, as there is no metadata.
    pub(super) computed: bool,
    pub(super) arguments: Vec<ArgumentInfo>,
    pub(super) disagreements: Vec<DisagreementInfo>,
}

#[derive(Serialize)]
pub(super) struct ArgumentInfo {
    pub(super) name: Option<String>,
    pub(super) offset: Option<u64>,
    pub(super) size: Option<u64>,
    pub(super) alignment: Option<u64>,
    pub(super) kind: Option<String>,
    pub(super) hidden: bool,
    pub(super) address_space: Option<String>,
    pub(super) access: Option<String>,
    pub(super) actual_access: Option<String>,
    #[serde(rename = "type")]
    pub(super) ty: Option<String>,
    /// Of a value; null for what has none.
    pub(super) members: Option<Vec<MemberInfo>>,
    /// What a pointer points to.
    pub(super) pointee: Option<Pointee>,
    pub(super) source: &'static str,
}

#[derive(Serialize)]
pub(super) struct MemberInfo {
    pub(super) name: Option<String>,
    /// From the beginning of the structure that it is in.
    pub(super) offset: Option<u64>,
    pub(super) size: Option<u64>,
    pub(super) alignment: Option<u64>,
    pub(super) bit_offset: Option<u64>,
    pub(super) bit_size: Option<u64>,
    pub(super) base: bool,
    #[serde(rename = "type")]
    pub(super) ty: String,
    pub(super) members: Option<Vec<MemberInfo>>,
}

#[derive(Serialize)]
pub(super) struct Pointee {
    #[serde(rename = "type")]
    pub(super) ty: String,
    pub(super) size: Option<u64>,
    pub(super) alignment: Option<u64>,
    pub(super) members: Option<Vec<MemberInfo>>,
}

/// Both sides of a contradiction, and what it is about.
#[derive(Serialize)]
pub(super) struct DisagreementInfo {
    pub(super) about: &'static str,
    pub(super) argument: Option<usize>,
    pub(super) metadata: serde_json::Value,
    pub(super) debug: serde_json::Value,
    pub(super) message: String,
}

impl ObjectArguments {
    pub(super) fn new(
        item: &ObjectItem<'_, '_>,
        question: &Question<'_>,
        trouble: &mut Trouble,
    ) -> Self {
        let mut found = Self {
            index: item.number,
            entry_id: item.entry.id.clone(),
            target: item.target.clone(),
            kernels: Vec::new(),
        };
        if let Some(object) = &item.object {
            let result = found.read(object, item, question, trouble);
            if let Err(error) = result {
                trouble.note(item.place(), item.located(error));
            }
        }
        found
    }

    /// Reads all kernels; debug information that cannot be read leaves the metadata.
    fn read(
        &mut self,
        object: &CodeObject<'_>,
        item: &ObjectItem<'_, '_>,
        question: &Question<'_>,
        trouble: &mut Trouble,
    ) -> Result<(), Error> {
        let index = item.index(object, trouble);
        let sections = DebugSections::new(object, question.max_size);
        let map = sections.as_ref().map_err(Clone::clone).and_then(SourceMap::new);
        let debug = map.as_ref().ok().zip(sections.as_ref().ok());
        for kernel in question.kernels.of(&index) {
            let arguments = KernelArguments::new(kernel, debug);
            let place = || format!("{}: kernel {}", item.place(), kernel.name());
            for problem in &arguments.problems {
                trouble.note(place(), item.located(problem.clone()));
            }
            if !arguments.disagreements.is_empty() {
                question.differs.store(true, Ordering::Relaxed);
            }
            self.kernels.push(KernelInfo::new(kernel, object, &arguments, question.spelling));
        }
        map.map(drop)
    }
}

impl KernelInfo {
    fn new(
        kernel: &Kernel<'_>,
        object: &CodeObject<'_>,
        found: &KernelArguments,
        spelling: Spelling,
    ) -> Self {
        let (resources, _) = kernel.resources(object.target().generation());
        Self {
            name: kernel.name().to_string(),
            demangled: source_name(kernel.name()).into_owned(),
            kernarg_size: resources.kernarg_size,
            computed: found.arguments.iter().any(|it| it.source == Source::Debug),
            arguments: describe(found, spelling),
            disagreements: found.disagreements.iter().map(DisagreementInfo::new).collect(),
        }
    }
}

/// The arguments of a kernel with their members, to limits that only what is made to have no end reaches.
pub(super) fn describe(found: &KernelArguments, spelling: Spelling) -> Vec<ArgumentInfo> {
    let mut writer = Writer {
        types: &found.types,
        spelling,
        members_left: MAX_MEMBERS,
        text_left: MAX_TEXT,
        open: Vec::new(),
    };
    found.arguments.iter().map(|it| writer.argument(it)).collect()
}

impl DisagreementInfo {
    fn new(disagreement: &Disagreement) -> Self {
        let (about, argument, metadata, debug) = match disagreement {
            Disagreement::Count { metadata, debug } => {
                ("count", None, (*metadata).into(), (*debug).into())
            }
            Disagreement::Size { position, metadata, debug } => {
                ("size", Some(*position), (*metadata).into(), (*debug).into())
            }
            Disagreement::Offset { position, metadata, debug } => {
                ("offset", Some(*position), (*metadata).into(), (*debug).into())
            }
            Disagreement::Name { position, metadata, debug } => {
                ("name", Some(*position), metadata.as_str().into(), debug.as_str().into())
            }
            _ => ("other", None, serde_json::Value::Null, serde_json::Value::Null),
        };
        Self { about, argument, metadata, debug, message: disagreement.to_string() }
    }
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
    fn argument(&mut self, argument: &Argument) -> ArgumentInfo {
        let spelled = argument.ty.map(|ty| self.spell(Some(ty)));
        ArgumentInfo {
            name: argument.name.clone(),
            offset: argument.offset,
            size: argument.size,
            alignment: argument.alignment,
            kind: argument.kind.clone(),
            hidden: argument.hidden,
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
    fn members(&mut self, ty: TypeId) -> Option<Vec<MemberInfo>> {
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

    fn member(&mut self, member: &Member) -> MemberInfo {
        let ty = member.ty.and_then(|ty| self.types.get(ty));
        if let Some(BitField { offset, size, .. }) = member.bits {
            return MemberInfo {
                bit_offset: Some(offset),
                bit_size: Some(size),
                ..self.place(member)
            };
        }
        MemberInfo {
            size: ty.and_then(|ty| ty.size),
            alignment: member.alignment.max(ty.and_then(|ty| ty.alignment)),
            members: member.ty.and_then(|ty| self.members(ty)),
            ..self.place(member)
        }
    }

    /// What every member has.
    fn place(&mut self, member: &Member) -> MemberInfo {
        MemberInfo {
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
