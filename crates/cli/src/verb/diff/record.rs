//! What an object has, in a few bytes for each function: enough to say which are the same.

use std::collections::BTreeMap;

use hsaco::analysis::{Function, FunctionKind};
use hsaco::isa::TargetId;
use hsaco::object::Kernel;
use hsaco::object::descriptor::KernelDescriptor;

use super::digest::Digest;
use super::model::{Values, header};
use super::resources::Metrics;
use crate::code;
use crate::report::Trouble;
use crate::scan::ObjectItem;
use crate::select::KernelSelection;

/// A kernel or function.
pub(super) struct FunctionRecord {
    pub(super) name: String,
    pub(super) is_kernel: bool,
    /// The same where nothing that is compared is different.
    pub(super) digest: Digest,
    /// What a kernel takes of the device.
    pub(super) metrics: Metrics,
}

/// An object.
pub(super) struct ObjectRecord {
    pub(super) number: usize,
    /// The target as text, and as what devices can be asked about, with its generic version.
    pub(super) target: String,
    pub(super) target_id: Option<(TargetId, u8)>,
    pub(super) header: Values,
    /// By name.
    pub(super) functions: Vec<FunctionRecord>,
}

/// What is compared.
#[derive(Clone, Copy)]
pub(super) struct What<'w> {
    pub(super) kernels: &'w KernelSelection,
    /// Whether functions are that are no kernels.
    pub(super) functions: bool,
    /// Whether instructions are.
    pub(super) code: bool,
}

impl ObjectRecord {
    pub(super) fn new(item: &ObjectItem<'_, '_>, what: What<'_>, trouble: &mut Trouble) -> Self {
        let mut record = Self {
            number: item.number,
            target: item.target.clone().unwrap_or_default(),
            target_id: None,
            header: header(item),
            functions: Vec::new(),
        };
        let Some(object) = &item.object else {
            code::open(item, trouble);
            return record;
        };
        let version = object.e_flags().generic_version();
        record.target_id = object.target().id().map(|id| (id, version));
        let index = object.index();
        let kernels = what.kernels.of(&index);
        let opened = if what.functions { code::open(item, trouble) } else { None };
        let functions = opened.as_ref().map_or(&[][..], |code| code.functions().as_slice());
        let named = functions.iter().filter_map(|it| Some((it.name?.to_string(), it)));
        let mut code: BTreeMap<String, &Function<'_>> = named.collect();
        // Of kernels of one name the last counts.
        let kernels: BTreeMap<String, &Kernel<'_>> =
            kernels.into_iter().map(|it| (it.name().to_string(), it)).collect();
        for (name, kernel) in kernels {
            let code = code.remove(&name).filter(|_| what.code).map_or(&[][..], |it| it.code);
            let metadata = kernel.metadata().map_or(&[][..], |it| it.bytes());
            let digest = Digest::of(&[
                record.target.as_bytes(),
                code,
                metadata,
                &kernel.descriptor().map_or([0; _], without_entry),
            ]);
            let metrics = Metrics::new(kernel, object);
            record.functions.push(FunctionRecord { name, is_kernel: true, digest, metrics });
        }
        if what.kernels.is_all() {
            let others = code.into_iter().filter(|(_, it)| it.kind != FunctionKind::Kernel);
            record.functions.extend(others.map(|(name, function)| FunctionRecord {
                digest: Digest::of(&[
                    record.target.as_bytes(),
                    if what.code { function.code } else { &[] },
                ]),
                name,
                is_kernel: false,
                metrics: Metrics::default(),
            }));
        }
        record
    }
}

/// The bytes of a descriptor. The distance to the entry is no property of the kernel.
fn without_entry(descriptor: KernelDescriptor) -> [u8; KernelDescriptor::SIZE] {
    KernelDescriptor { kernel_code_entry_byte_offset: 0, ..descriptor }.to_bytes()
}
