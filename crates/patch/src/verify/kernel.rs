//! Descriptors and metadata: they differ in what the manifest lists alone, and agree.

use hsaco_isa::target::Generation;
use hsaco_object::Kernel;
use hsaco_object::descriptor::Field;
use hsaco_object::metadata::Metadata;
use hsaco_object::msgpack::{Map, Value};

use super::VerifyFinding;
use super::layout::File;
use crate::manifest::{Manifest, Setting};
use crate::write::ENTRY;

/// The field of the descriptor that says where a kernel begins.
const ENTRY_FIELD: &str = "kernel_code_entry_byte_offset";

/// Fields of the descriptor that follow from a key of the metadata.
const FOLLOWS: [(&str, &[&str]); 8] = [
    (".vgpr_count", &["granulated_workitem_vgpr_count", "accum_offset"]),
    (".agpr_count", &["granulated_workitem_vgpr_count", "accum_offset"]),
    (".sgpr_count", &["granulated_wavefront_sgpr_count"]),
    (".private_segment_fixed_size", &["private_segment_fixed_size", "enable_private_segment"]),
    (".group_segment_fixed_size", &["group_segment_fixed_size"]),
    (".kernarg_segment_size", &["kernarg_size"]),
    (".uses_dynamic_stack", &["uses_dynamic_stack"]),
    (".workgroup_processor_mode", &["wgp_mode"]),
];

/// Keys of the metadata that follow from another.
const FOLLOWING_KEYS: [(&str, &str); 1] = [(".agpr_count", ".vgpr_count")];

pub(super) fn check(
    old: File<'_, '_>,
    new: File<'_, '_>,
    manifest: &Manifest,
) -> Vec<VerifyFinding> {
    let mut wrong = Vec::new();
    let generation = old.object.target().generation();
    if old.index.kernels().len() != new.index.kernels().len() {
        wrong.push("the number of kernels differs".to_owned());
    }
    if manifest.kernels.len() > old.index.kernels().len() {
        wrong.push("the manifest lists more kernels than there are".to_owned());
    }
    if manifest.kernels.iter().all(|it| it.settings.is_empty()) {
        // Neither notes nor descriptors may differ then, and their bytes do not.
        return wrong.into_iter().map(|it| VerifyFinding::new("metadata", None, it)).collect();
    }
    let pairs = old.index.kernels().iter().zip(new.index.kernels());
    for (number, (old, new)) in pairs.enumerate() {
        let settings = manifest.kernels.get(number).map_or(&[][..], |it| &it.settings);
        let pair = Pair { old, new, settings, generation };
        wrong.extend(pair.check().into_iter().map(|it| format!("kernel {number}: {it}")));
    }
    wrong.extend(root(&old.object.metadata(), &new.object.metadata()));
    wrong.into_iter().map(|detail| VerifyFinding::new("metadata", None, detail)).collect()
}

/// What the metadata says beside kernels.
fn root(old: &Metadata<'_>, new: &Metadata<'_>) -> Option<String> {
    let unknown = old.unknown().iter().zip(new.unknown());
    let is_same = (old.documents(), old.version(), old.target(), old.printf())
        == (new.documents(), new.version(), new.target(), new.printf())
        && old.unknown().len() == new.unknown().len()
        && unknown.into_iter().all(|(old, new)| old.key == new.key && same(old.value, new.value));
    (!is_same).then(|| "what the metadata says beside kernels differs".to_owned())
}

/// A kernel before and after.
struct Pair<'p, 'a> {
    old: &'p Kernel<'a>,
    new: &'p Kernel<'a>,
    settings: &'p [Setting],
    generation: Option<Generation>,
}

impl Pair<'_, '_> {
    fn check(&self) -> Vec<String> {
        let (old, new) = (self.old, self.new);
        if old.name() != new.name() {
            return vec![format!("it was {} and is {}", old.name(), new.name())];
        }
        let mut wrong = self.descriptor();
        wrong.extend(self.metadata());
        wrong.extend(self.entry());
        wrong.extend(self.registers());
        wrong
    }

    fn setting(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().find(|it| it.name == name)
    }

    /// Fields that differ are listed, with what they were and are, or follow from what is.
    fn descriptor(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let (old, new) = match (self.old.descriptor(), self.new.descriptor()) {
            (Some(old), Some(new)) => (old, new),
            (None, None) => return wrong,
            _ => return vec!["its descriptor is gone".to_owned()],
        };
        let Some(generation) = self.generation else { return wrong };
        for field in Field::all(generation) {
            let (before, after) = (old.value(field), new.value(field));
            let is_entry = field.name == ENTRY_FIELD;
            let follows = |(key, fields): &(&str, &[&str])| {
                fields.contains(&field.name) && self.setting(key).is_some()
            };
            match self.setting(field.name) {
                Some(it) => wrong.extend(differs(it, &before.to_string(), &after.to_string())),
                // Where that leads is looked at below.
                None if is_entry && self.setting(ENTRY).is_some() => {}
                None if before == after || FOLLOWS.iter().any(follows) => {}
                None => wrong.push(format!(
                    "{} is {after} and was {before}, which is not in the manifest",
                    field.name
                )),
            }
        }
        wrong
    }

    fn entry(&self) -> Option<String> {
        let text = |entry: Option<u64>| entry.map_or(String::new(), |it| format!("{it:#x}"));
        let (old, new) = (text(self.old.entry()), text(self.new.entry()));
        self.setting(ENTRY).and_then(|setting| differs(setting, &old, &new))
    }

    /// Keys that differ are listed, with what they were and are.
    fn metadata(&self) -> Vec<String> {
        let (old, new) = match (map(self.old), map(self.new)) {
            (Some(old), Some(new)) => (old, new),
            (None, None) => return Vec::new(),
            _ => return vec!["its metadata is gone".to_owned()],
        };
        let mut wrong = Vec::new();
        for entry in new.iter().flatten() {
            let name = entry.key.to_string();
            let before = value(&old, &name);
            let is_same = before.is_some_and(|before| same(before, entry.value));
            let leader = FOLLOWING_KEYS.iter().find(|(_, key)| *key == name).map(|(it, _)| *it);
            match self.setting(&name) {
                Some(it) => {
                    let before = before.map_or_else(|| it.old.clone(), text);
                    wrong.extend(differs(it, &before, &text(entry.value)));
                }
                None if is_same || leader.is_some_and(|it| self.setting(it).is_some()) => {}
                None => wrong.push(format!("{name} differs and is not in the manifest")),
            }
        }
        for entry in old.iter().flatten() {
            let name = entry.key.to_string();
            if value(&new, &name).is_none() {
                wrong.push(format!("{name} is gone"));
            }
        }
        let listed = self.settings.iter().filter(|it| it.name.starts_with('.'));
        let missing = listed.filter(|it| value(&new, &it.name).is_none());
        wrong.extend(missing.map(|it| format!("{} is in the manifest and nowhere else", it.name)));
        wrong
    }

    /// As many vector registers are allocated as the metadata says.
    fn registers(&self) -> Option<String> {
        let generation = self.generation?;
        let said = |kernel: &Kernel<'_>| kernel.resources(Some(generation)).0.vgprs;
        let (before, after) = (said(self.old), said(self.new)?);
        let allocated = u64::from(self.new.descriptor()?.vgprs(generation));
        (before != Some(after) && allocated < after)
            .then(|| format!("{after} vector registers are said and {allocated} allocated"))
    }
}

/// Whether a setting says what was and is there.
fn differs(setting: &Setting, old: &str, new: &str) -> Option<String> {
    let Setting { name, .. } = setting;
    let said = (setting.old.as_str(), setting.new.as_str());
    (said != (old, new)).then(|| {
        let (before, after) = said;
        format!("{name} was {old} and is {new}, not {before} and {after} as the manifest says")
    })
}

fn map<'a>(kernel: &Kernel<'a>) -> Option<Map<'a>> {
    kernel.metadata()?.map().ok()
}

fn value<'a>(map: &Map<'a>, key: &str) -> Option<Value<'a>> {
    map.value(key).ok().flatten()
}

/// A value as manifests write it.
fn text(value: Value<'_>) -> String {
    match value {
        Value::Bool(value) => u8::from(value).to_string(),
        Value::Int(value) => value.to_string(),
        Value::UInt(value) => value.to_string(),
        Value::Str(text) => text.to_string(),
        other => other.kind_name().to_owned(),
    }
}

/// Whether two values are the same, whichever way they are stored.
fn same(left: Value<'_>, right: Value<'_>) -> bool {
    match (left, right) {
        (Value::Array(left), Value::Array(right)) => {
            let pairs = || left.iter().zip(right.iter());
            left.len() == right.len()
                && pairs().all(|pair| matches!(pair, (Ok(left), Ok(right)) if same(left, right)))
        }
        (Value::Map(left), Value::Map(right)) => {
            let pairs = || left.iter().zip(right.iter());
            left.len() == right.len()
                && pairs().all(|pair| match pair {
                    (Ok(left), Ok(right)) => left.key == right.key && same(left.value, right.value),
                    _ => false,
                })
        }
        (Value::Array(_) | Value::Map(_), _) | (_, Value::Array(_) | Value::Map(_)) => false,
        (Value::Bin(left), Value::Bin(right)) => left == right,
        (Value::Ext(kind, left), Value::Ext(other, right)) => (kind, left) == (other, right),
        (Value::F32(left), Value::F32(right)) => left.to_bits() == right.to_bits(),
        (Value::F64(left), Value::F64(right)) => left.to_bits() == right.to_bits(),
        (Value::Nil, Value::Nil) => true,
        (left, right) => left.kind_name() == right.kind_name() && text(left) == text(right),
    }
}
