//! The rules that LLVM's verifier holds a metadata document to.
//!
//! What breaks them still loads: real libraries do. `hsaco notes` marks such a document as
//! `llvm-readelf` does; everything else reads what is there.
//!
//! Derived from LLVM's AMDGPU metadata verifier (Apache-2.0 WITH LLVM-exception).

use crate::metadata::ValueKind;
use crate::msgpack::{Map, Value};
use crate::{Error, Result, Str};

use super::CONTEXT;

/// What a key's value must be.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    ValueKind,
    Integer,
    Boolean,
    /// So many integers.
    Integers(usize),
    Texts,
    /// Any number of maps, each of this shape.
    Maps(&'static [Key]),
}

struct Key {
    name: &'static str,
    required: bool,
    shape: Shape,
}

const fn must(name: &'static str, shape: Shape) -> Key {
    Key { name, required: true, shape }
}

const fn may(name: &'static str, shape: Shape) -> Key {
    Key { name, required: false, shape }
}

static ROOT: &[Key] = &[
    must("amdhsa.version", Shape::Integers(2)),
    may("amdhsa.printf", Shape::Texts),
    must("amdhsa.kernels", Shape::Maps(KERNEL)),
];

static KERNEL: &[Key] = &[
    must(".name", Shape::Text),
    must(".symbol", Shape::Text),
    may(".language", Shape::Word(&["OpenCL C", "OpenCL C++", "HCC", "HIP", "OpenMP", "Assembler"])),
    may(".language_version", Shape::Integers(2)),
    may(".args", Shape::Maps(ARGUMENT)),
    may(".reqd_workgroup_size", Shape::Integers(3)),
    may(".workgroup_size_hint", Shape::Integers(3)),
    may(".cluster_dims", Shape::Integers(3)),
    may(".vec_type_hint", Shape::Text),
    may(".device_enqueue_symbol", Shape::Text),
    must(".kernarg_segment_size", Shape::Integer),
    must(".group_segment_fixed_size", Shape::Integer),
    must(".private_segment_fixed_size", Shape::Integer),
    may(".uses_dynamic_stack", Shape::Boolean),
    may(".workgroup_processor_mode", Shape::Integer),
    must(".kernarg_segment_align", Shape::Integer),
    must(".wavefront_size", Shape::Integer),
    must(".sgpr_count", Shape::Integer),
    must(".vgpr_count", Shape::Integer),
    must(".max_flat_workgroup_size", Shape::Integer),
    may(".sgpr_spill_count", Shape::Integer),
    may(".vgpr_spill_count", Shape::Integer),
    may(".uniform_work_group_size", Shape::Integer),
];

const ACCESS: Shape = Shape::Word(&["read_only", "write_only", "read_write"]);

static ARGUMENT: &[Key] = &[
    may(".name", Shape::Text),
    may(".type_name", Shape::Text),
    must(".size", Shape::Integer),
    must(".offset", Shape::Integer),
    must(".value_kind", Shape::ValueKind),
    may(".pointee_align", Shape::Integer),
    may(
        ".address_space",
        Shape::Word(&["private", "global", "constant", "local", "generic", "region"]),
    ),
    may(".access", ACCESS),
    may(".actual_access", ACCESS),
    may(".is_const", Shape::Boolean),
    may(".is_restrict", Shape::Boolean),
    may(".is_volatile", Shape::Boolean),
    may(".is_pipe", Shape::Boolean),
];

/// Holds a metadata document to LLVM's rules; the error says which one it breaks.
///
/// ```
/// use hsaco_object::{metadata, msgpack::Value};
/// let empty = Value::parse(b"\x80").unwrap();
/// assert!(metadata::verify(empty).unwrap_err().to_string().contains("no amdhsa.version"));
/// ```
pub fn verify(document: Value<'_>) -> Result<()> {
    let root = document.as_map().ok_or_else(|| {
        let kind = document.kind_name();
        Error::new(crate::ErrorKind::Malformed, CONTEXT, format!("the root is {kind}, not a map"))
    })?;
    verify_map(root, ROOT)
}

fn verify_map(map: Map<'_>, keys: &[Key]) -> Result<()> {
    let mut missing: Vec<&Key> = keys.iter().filter(|key| key.required).collect();
    for entry in map.iter() {
        let entry = entry?;
        missing.retain(|key| entry.key != key.name);
        if let Some(key) = keys.iter().find(|key| entry.key == key.name) {
            key.verify(entry.offset, entry.value)?;
        }
    }
    match missing.first() {
        Some(key) => Err(Error::malformed(CONTEXT, map.offset(), format!("no {}", key.name))),
        None => Ok(()),
    }
}

impl Key {
    fn verify(&self, offset: u64, value: Value<'_>) -> Result<()> {
        let wrong = |expected: &str| {
            let kind = value.kind_name();
            Error::malformed(CONTEXT, offset, format!("{} is {kind}, not {expected}", self.name))
        };
        match self.shape {
            Shape::Text => value.as_str().map(|_| ()).ok_or_else(|| wrong("a string")),
            Shape::Word(words) => {
                let text = value.as_str().ok_or_else(|| wrong("a string"))?;
                self.known(offset, text, words.iter().any(|&word| text == word))
            }
            Shape::ValueKind => {
                let text = value.as_str().ok_or_else(|| wrong("a string"))?;
                let known = !matches!(ValueKind::from_name(text), ValueKind::Other(_));
                self.known(offset, text, known)
            }
            Shape::Integer if is_integer(value) => Ok(()),
            Shape::Integer => Err(wrong("an integer")),
            Shape::Boolean if matches!(value, Value::Bool(_)) => Ok(()),
            Shape::Boolean => Err(wrong("a boolean")),
            Shape::Integers(count) => {
                let array = value.as_array().filter(|it| it.len() == count);
                let array = array.ok_or_else(|| wrong(&format!("an array of {count} integers")))?;
                array.iter().try_for_each(|item| match is_integer(item?) {
                    true => Ok(()),
                    false => Err(wrong("an array of integers")),
                })
            }
            Shape::Texts => {
                let array = value.as_array().ok_or_else(|| wrong("an array"))?;
                array.iter().try_for_each(|item| match item?.as_str() {
                    Some(_) => Ok(()),
                    None => Err(wrong("an array of strings")),
                })
            }
            Shape::Maps(keys) => {
                let array = value.as_array().ok_or_else(|| wrong("an array"))?;
                array.iter().try_for_each(|item| {
                    let map = item?.as_map().ok_or_else(|| wrong("an array of maps"))?;
                    verify_map(map, keys)
                })
            }
        }
    }

    fn known(&self, offset: u64, text: Str<'_>, known: bool) -> Result<()> {
        match known {
            true => Ok(()),
            false => {
                let detail = format!("{} has the unknown value '{text}'", self.name);
                Err(Error::malformed(CONTEXT, offset, detail))
            }
        }
    }
}

fn is_integer(value: Value<'_>) -> bool {
    matches!(value, Value::Int(_) | Value::UInt(_))
}
