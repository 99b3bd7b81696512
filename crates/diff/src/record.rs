//! What an object has, in a few bytes for each function: enough to say which are the same.

use std::collections::BTreeMap;

use hsaco_analysis::{Code, Function, FunctionKind};
use hsaco_bytes::Str;
use hsaco_isa::TargetId;
use hsaco_object::descriptor::KernelDescriptor;
use hsaco_object::{CodeObject, Kernel};

use crate::digest::Fingerprint;
use crate::name::ObjectName;
use crate::resources::Numbers;
use crate::value::{FieldValue, FieldValues};

/// An object to compare; none where an entry is something else, such as bitcode.
#[derive(Clone, Copy)]
pub struct ComparedObject<'o> {
    /// Its number in its file.
    pub index: usize,
    /// The id of its entry in the bundle.
    pub entry_id: Option<&'o str>,
    /// The target: of the object, else of the entry's id.
    pub target: Option<&'o str>,
    /// The object.
    pub object: Option<&'o CodeObject<'o>>,
}

impl ComparedObject<'_> {
    /// Which object it is.
    pub(crate) fn name(&self) -> ObjectName {
        let ComparedObject { index, entry_id, target, .. } = *self;
        ObjectName {
            index,
            entry_id: entry_id.map(str::to_owned),
            target: target.map(str::to_owned),
        }
    }
}

/// A kernel or function.
#[derive(Debug)]
pub(crate) struct FunctionRecord {
    pub(crate) name: String,
    pub(crate) is_kernel: bool,
    /// The same where nothing that is compared is different.
    pub(crate) digest: Fingerprint,
    /// What a kernel takes of the device.
    pub(crate) metrics: Numbers,
}

/// An object in a few bytes for each of its functions.
#[derive(Debug)]
pub struct ObjectRecord {
    pub(crate) name: ObjectName,
    /// The target as what devices can be asked about, with its generic version.
    pub(crate) target_id: Option<(TargetId, u8)>,
    pub(crate) header: FieldValues,
    /// By name.
    pub(crate) functions: Vec<FunctionRecord>,
}

/// What is compared.
#[derive(Clone, Copy)]
pub struct What<'w> {
    /// Whether a kernel of this mangled name is; all kernels and functions are where none are chosen.
    pub chosen: Option<&'w (dyn Fn(Str<'_>) -> bool + Sync)>,
    /// Whether functions are that are no kernels.
    pub functions: bool,
    /// Whether instructions are.
    pub code: bool,
}

impl What<'_> {
    /// Everything.
    pub const ALL: Self = What { chosen: None, functions: true, code: true };
}

impl ObjectRecord {
    pub(crate) fn target(&self) -> &str {
        self.name.target.as_deref().unwrap_or_default()
    }

    /// Reads an object. What cannot be decoded has no functions.
    #[must_use]
    pub fn new(subject: &ComparedObject<'_>, what: What<'_>) -> Self {
        let mut record = Self {
            name: subject.name(),
            target_id: None,
            header: header(subject),
            functions: Vec::new(),
        };
        let Some(object) = subject.object else { return record };
        let version = object.e_flags().generic_version();
        record.target_id = object.target().id().map(|id| (id, version));
        let index = object.index();
        let is_chosen = |it: &&Kernel<'_>| what.chosen.is_none_or(|chosen| chosen(it.name()));
        let kernels = index.kernels().iter().filter(is_chosen);
        let opened = if what.functions { Code::of(object).ok() } else { None };
        let functions = opened.as_ref().map_or(&[][..], |code| code.functions().as_slice());
        let named = functions.iter().filter_map(|it| Some((it.name?.to_string(), it)));
        let mut code: BTreeMap<String, &Function<'_>> = named.collect();
        // Of kernels of one name the last counts.
        let kernels: BTreeMap<String, &Kernel<'_>> =
            kernels.map(|it| (it.name().to_string(), it)).collect();
        let target = record.name.target.clone().unwrap_or_default();
        for (name, kernel) in kernels {
            let code = code.remove(&name).filter(|_| what.code).map_or(&[][..], |it| it.code);
            let metadata = kernel.metadata().map_or(&[][..], |it| it.bytes());
            let digest = Fingerprint::of(&[
                target.as_bytes(),
                code,
                metadata,
                &kernel.descriptor().map_or([0; _], without_entry),
            ]);
            let metrics = Numbers::new(kernel, object);
            record.functions.push(FunctionRecord { name, is_kernel: true, digest, metrics });
        }
        if what.chosen.is_none() {
            let others = code.into_iter().filter(|(_, it)| it.kind != FunctionKind::Kernel);
            record.functions.extend(others.map(|(name, function)| FunctionRecord {
                digest: Fingerprint::of(&[
                    target.as_bytes(),
                    if what.code { function.code } else { &[] },
                ]),
                name,
                is_kernel: false,
                metrics: Numbers::default(),
            }));
        }
        record
    }
}

fn header(subject: &ComparedObject<'_>) -> FieldValues {
    let mut values = FieldValues::new();
    let target = subject.target.map_or(FieldValue::None, |it| FieldValue::Text(it.to_owned()));
    values.insert("target".to_owned(), target);
    if let Some(object) = subject.object {
        let header = object.elf().header();
        values.insert("abi_version".to_owned(), FieldValue::number(header.abi_version));
        values.insert("e_type".to_owned(), FieldValue::number(header.e_type));
        values.insert("e_flags".to_owned(), FieldValue::number(header.flags));
    }
    values
}

/// The bytes of a descriptor. The distance to the entry is no property of the kernel.
fn without_entry(descriptor: KernelDescriptor) -> [u8; KernelDescriptor::SIZE] {
    KernelDescriptor { kernel_code_entry_byte_offset: 0, ..descriptor }.to_bytes()
}
