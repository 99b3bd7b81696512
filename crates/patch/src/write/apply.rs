//! What an original becomes by a manifest.
//!
//! The patcher and the validator both come here. So the manifest says everything that a result depends on, and a result
//! can be made again from its original to compare every byte.

use hsaco_bytes::{Error, ErrorKind, Result, memory, number};
use hsaco_dwarf::{MovedCode, add_debug};
use hsaco_elf::symbol::{Binding, STT_FUNC, Visibility};
use hsaco_isa::target::WaveSize;
use hsaco_object::write::{Access, Edit, KernelChange, MetadataEdit, NewSymbol, NewValue, Placed};
use hsaco_object::{CodeObject, Kernel};

use crate::dialect::Dialect;
use crate::jump::{self, CODE_END};
use crate::manifest::{Change, Manifest, Pool, Setting};

/// The name of the section that holds replacements.
pub(crate) const POOL: &str = ".text.hsaco";
/// The name of the section that holds counters.
pub(crate) const COUNTERS: &str = ".hsaco.counters";
/// The name of the setting that moves a kernel's entry.
pub(crate) const ENTRY: &str = "entry";

const CONTEXT: &str = "manifest";

/// A result, and where in it the pool is.
pub(crate) struct Applied {
    pub(crate) bytes: Vec<u8>,
    pub(crate) pool_offset: Option<u64>,
}

/// Makes the changes of a manifest to a copy of its original.
///
/// # Errors
/// When the manifest does not fit the original, or a change cannot be written.
pub(crate) fn apply(original: &[u8], copy: Vec<u8>, manifest: &Manifest) -> Result<Applied> {
    let object = CodeObject::parse(original)?;
    let mut edit = Edit::on_copy(original, copy)?;
    for change in manifest.changes().filter(|it| !it.old.is_empty()) {
        edit.replace_at(change.address, &change.new)?;
    }
    if manifest.counter_space != 0 {
        let size = usize::try_from(manifest.counter_space).unwrap_or(usize::MAX);
        edit.append(COUNTERS, Access::Writable, &memory::zeros(size, CONTEXT)?)?;
    }
    let placed =
        manifest.pool.map(|pool| append_pool(&mut edit, &object, manifest, pool)).transpose()?;
    if let Some(section) = placed.and_then(|it| it.section) {
        symbols(manifest, section).for_each(|symbol| edit.add_symbol(symbol));
    }
    add_debug(&mut edit, &moved_code(manifest))?;
    set_kernels(&mut edit, &object, manifest)?;
    Ok(Applied { bytes: edit.finish()?, pool_offset: placed.map(|it| it.offset) })
}

fn mismatch(detail: String) -> Error {
    Error::new(ErrorKind::Mismatch, CONTEXT, detail)
}

fn append_pool(
    edit: &mut Edit<'_>,
    object: &CodeObject<'_>,
    manifest: &Manifest,
    pool: Pool,
) -> Result<Placed> {
    let processor = object.target().id().map(|id| id.processor);
    let dialect = processor.and_then(|it| Dialect::of(it, WaveSize::Wave64));
    let pad = dialect.map_or(CODE_END, |it| it.pad);
    let placed = edit.append(POOL, Access::Code, &pool_bytes(manifest, pool, pad)?)?;
    if placed.address != pool.address {
        let (is, said) = (placed.address, pool.address);
        return Err(mismatch(format!("the pool belongs at {is:#x}, not at {said:#x}")));
    }
    Ok(placed)
}

/// The pool: what the manifest places there, and between and behind it words of padding.
fn pool_bytes(manifest: &Manifest, pool: Pool, pad: u32) -> Result<Vec<u8>> {
    let size = usize::try_from(pool.size).unwrap_or(usize::MAX);
    let mut bytes = jump::bytes(&vec![pad; size / 4]);
    let appended = manifest.changes().filter(|it| it.old.is_empty());
    let appended = appended.map(|Change { address, new, .. }| (*address, &**new));
    let stubs = manifest.stubs.iter().map(|it| (it.address, it.code.as_slice()));
    for (address, code) in appended.chain(stubs) {
        let start = address.checked_sub(pool.address).and_then(|it| usize::try_from(it).ok());
        let place = start.and_then(|start| bytes.get_mut(start..start.checked_add(code.len())?));
        let outside = || mismatch(format!("{} bytes at {address:#x} of no pool", code.len()));
        place.ok_or_else(outside)?.copy_from_slice(code);
    }
    Ok(bytes)
}

/// The names of what is in the pool.
fn symbols(manifest: &Manifest, section: u32) -> impl Iterator<Item = NewSymbol> {
    let stubs = manifest
        .stubs
        .iter()
        .map(|stub| (format!("{}.stub", stub.kernel), stub.address, stub.code.len()));
    let bodies = manifest.records.iter().filter_map(|record| {
        let body = record.body.as_ref().filter(|body| body.old.is_empty())?;
        let rule = record.rules.first().map_or("", |(rule, _)| rule);
        let name = format!("{}.{rule}.{:x}", record.function, record.site.address);
        Some((name, body.address, body.new.len()))
    });
    stubs.chain(bodies).map(move |(name, value, size)| NewSymbol {
        name: name.into_bytes(),
        value,
        size: size as u64,
        kind: STT_FUNC,
        binding: Binding::Local,
        visibility: Visibility::Default,
        section,
    })
}

/// The code that stands elsewhere, each piece with the instruction that it stands for.
fn moved_code(manifest: &Manifest) -> Vec<MovedCode> {
    let bodies = manifest.records.iter().filter_map(|record| {
        let body = record.body.as_ref()?;
        let size = body.new.len() as u64;
        Some(MovedCode { address: body.address, size, original: record.site.address })
    });
    let stubs = manifest.stubs.iter().map(|stub| MovedCode {
        address: stub.address,
        size: stub.code.len() as u64,
        original: stub.entry,
    });
    bodies.chain(stubs).collect()
}

/// Lets descriptors and metadata say what the manifest lists of kernels.
fn set_kernels(edit: &mut Edit<'_>, object: &CodeObject<'_>, manifest: &Manifest) -> Result<()> {
    let mut settled = manifest.kernels.iter().enumerate().filter(|(_, it)| !it.settings.is_empty());
    let Some(first) = settled.next() else { return Ok(()) };
    let index = object.index();
    let mut metadata = MetadataEdit::of(object)?;
    for (number, record) in std::iter::once(first).chain(settled) {
        let kernel = index.kernels().get(number).filter(|it| it.name() == record.name.as_str());
        let missing =
            || mismatch(format!("kernel {number} of the original is not {}", record.name));
        let kernel = kernel.ok_or_else(missing)?;
        let mut change = KernelChange::of(object, kernel)?;
        for setting in &record.settings {
            match NewSetting::of(setting)? {
                NewSetting::Entry(address) => change.set_entry(descriptor(kernel), address)?,
                NewSetting::Number(name, value) => change.set(name, value)?,
                NewSetting::Text(key, value) => metadata.set(&record.name, key, value)?,
            }
        }
        change.apply(edit, &mut metadata)?;
    }
    metadata.apply(edit)
}

fn descriptor(kernel: &Kernel<'_>) -> u64 {
    kernel.descriptor_symbol().map_or(0, |it| it.value)
}

/// What a setting of a manifest sets.
enum NewSetting<'m> {
    Entry(u64),
    /// A key of the metadata, without its dot, or a field of the descriptor.
    Number(&'m str, u64),
    /// A key of the metadata whose value is no number.
    Text(&'m str, NewValue),
}

impl<'m> NewSetting<'m> {
    fn of(setting: &'m Setting) -> Result<Self> {
        let Setting { name, new, .. } = setting;
        let wrong = || mismatch(format!("{name} cannot be `{new}`"));
        if name == ENTRY {
            let address = new.strip_prefix("0x").and_then(number::hex);
            return address.map(NewSetting::Entry).ok_or_else(wrong);
        }
        let key = name.strip_prefix('.');
        match (key, new.parse()) {
            (_, Ok(value)) => Ok(NewSetting::Number(key.unwrap_or(name), value)),
            (Some(_), Err(_)) => Ok(NewSetting::Text(name, new.as_str().into())),
            (None, Err(_)) => Err(wrong()),
        }
    }
}
