//! Numbers of kernels that a caller sets, in descriptors and metadata together.

use hsaco_bytes::{Error, ErrorKind, Result, memory, number};
use hsaco_object::write::{KernelChange, NewValue};
use hsaco_object::{CodeObject, Kernel};

use crate::manifest::{KernelRecord, Manifest, Patched, Setting, Verdict};
use crate::write::apply;

/// A number of a kernel that a caller sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSetting {
    /// The kernel's name.
    pub kernel: String,
    /// A key of the metadata without its dot, or a field of the descriptor.
    pub field: String,
    /// The new value.
    pub value: u64,
}

impl std::str::FromStr for KernelSetting {
    type Err = String;

    /// Reads `KERNEL.FIELD=VALUE`; the value may be hexadecimal.
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let wanted = || format!("`{text}` is not KERNEL.FIELD=VALUE");
        let (place, value) = text.rsplit_once('=').ok_or_else(wanted)?;
        let (kernel, field) = place.rsplit_once('.').ok_or_else(wanted)?;
        let value = number::parse(value).ok_or_else(wanted)?;
        Ok(KernelSetting { kernel: kernel.to_owned(), field: field.to_owned(), value })
    }
}

/// Sets numbers of kernels, in descriptors and metadata together, in an object for any processor.
///
/// ```
/// use hsaco_patch::{KernelSetting, set};
/// let file = std::fs::read("../../tests/fixtures/s1.gfx942.co").unwrap();
/// let setting: KernelSetting = "foo.group_segment_fixed_size=4096".parse().unwrap();
/// let patched = set(&file, &[setting]).unwrap();
/// assert_eq!(patched.manifest.kernels[0].settings[0].new, "4096");
/// ```
///
/// # Errors
/// When there is no such kernel or field, or the value does not fit.
pub fn set(file: &[u8], settings: &[KernelSetting]) -> Result<Patched> {
    let object = CodeObject::parse(file)?;
    let index = object.index();
    let is_known =
        |it: &&KernelSetting| index.kernels().iter().any(|k| k.name() == it.kernel.as_str());
    if let Some(unknown) = settings.iter().find(|it| !is_known(it)) {
        return Err(Error::new(ErrorKind::NotFound, "kernel", unknown.kernel.clone()));
    }
    let mut manifest = Manifest::new(None, file.len(), Verdict::Changed);
    for kernel in index.kernels() {
        let own = settings.iter().filter(|it| kernel.name() == it.kernel.as_str());
        manifest.kernels.push(kernel_record(&object, kernel, own)?);
    }
    let bytes = apply(file, memory::copy(file, "file")?, &manifest)?.bytes;
    manifest.sizes.1 = bytes.len() as u64;
    let problems = CodeObject::parse(&bytes)?.problems();
    if let Some(error) = problems.first() {
        return Err(error.clone());
    }
    Ok(Patched { bytes: Some(bytes), manifest })
}

/// What settings do to a kernel.
fn kernel_record<'s>(
    object: &CodeObject<'_>,
    kernel: &Kernel<'_>,
    settings: impl Iterator<Item = &'s KernelSetting>,
) -> Result<KernelRecord> {
    let mut settings = settings.peekable();
    let name = kernel.name().to_string();
    if settings.peek().is_none() {
        let verdict = Verdict::Unchanged("nothing was asked for".to_owned());
        return Ok(KernelRecord { name, verdict, settings: Vec::new() });
    }
    let mut change = KernelChange::of(object, kernel)?;
    let mut records = Vec::new();
    for setting in settings {
        let KernelSetting { field, value, .. } = setting;
        let old = said(object, kernel, &change, field);
        change.set(field, *value)?;
        let key = format!(".{field}");
        let is_key = change.values().iter().any(|(it, _)| *it == key);
        let name = if is_key { key } else { field.clone() };
        let new = value.to_string();
        // The last word on a number counts.
        match records.iter_mut().find(|it: &&mut Setting| it.name == name) {
            Some(record) => record.new = new,
            None => records.push(Setting { name, old, new }),
        }
    }
    // One setting may move what another has set: vector registers are counted with accumulation registers.
    let is_undone = |setting: &&Setting| {
        let mut values = change.values().iter().filter(|(key, _)| *key == setting.name);
        values.any(|(_, value)| number(value).is_some_and(|it| it.to_string() != setting.new))
    };
    if let Some(undone) = records.iter().find(is_undone) {
        let detail =
            format!("{} of {name} cannot be {} beside the others", undone.name, undone.new);
        return Err(Error::new(ErrorKind::Mismatch, "settings", detail));
    }
    Ok(KernelRecord { name, verdict: Verdict::Changed, settings: records })
}

fn number(value: &NewValue) -> Option<u64> {
    match value {
        NewValue::UInt(value) => Some(*value),
        _ => None,
    }
}

/// What a number was: the metadata's, else the descriptor's.
fn said(
    object: &CodeObject<'_>,
    kernel: &Kernel<'_>,
    change: &KernelChange,
    field: &str,
) -> String {
    let map = kernel.metadata().and_then(|it| it.map().ok());
    let value = map.and_then(|map| map.value(&format!(".{field}")).ok().flatten());
    let generation = object.target().generation();
    let bits = generation.and_then(|it| hsaco_object::descriptor::Field::by_name(it, field));
    let value = value.and_then(hsaco_object::msgpack::Value::as_u64);
    let value = value.or_else(|| Some(change.descriptor().value(bits?)));
    value.map(|it| it.to_string()).unwrap_or_default()
}
