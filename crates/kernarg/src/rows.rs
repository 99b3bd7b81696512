//! The arguments of a kernel as rows, for people and for JSON.

use hsaco_bytes::Error;
use hsaco_bytes::hex;
use hsaco_demangle::demangle;
use hsaco_object::Kernel;

use crate::arguments::Arguments;
use crate::compact::{CompactLayout, ConstantSpan};
use crate::entry::{EntryRegister, EntryState};
use crate::native::NativeLayout;
#[cfg(feature = "serde")]
use crate::packet::Packet;
use crate::types::{Datum, ValueType};

/// Where the arguments of a kernel go.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct KernelLayout {
    /// As the object has it.
    pub name: String,
    /// As its author wrote it.
    pub demangled: String,
    /// Bytes of the segment; null where unknown.
    pub size: Option<u64>,
    /// Of the segment.
    pub alignment: Option<u64>,
    /// Bytes that a caller must bring.
    pub required: Option<u32>,
    /// Of the layout.
    pub hash: Option<String>,
    /// The kernel that the arguments were taken from, where they are a guess.
    pub inferred_from: Option<String>,
    /// Why there is no layout: prepacked buffers only.
    pub refused: Option<String>,
    /// What is odd about the declaration.
    pub remarks: Vec<String>,
    /// Those of the source, then those that the runtime adds.
    pub arguments: Vec<ArgumentLayout>,
    /// Offsets of pointers.
    pub pointer_slots: Vec<u32>,
    /// The projection for runtimes.
    pub compact: Option<Compact>,
    /// Why a runtime could not pack.
    pub compact_refused: Option<String>,
    /// What is preloaded.
    pub preload: Option<PreloadInfo>,
    /// What registers hold when the kernel begins.
    pub registers: Vec<RegisterInfo>,
    /// Why the values of registers are unknown.
    pub registers_refused: Option<String>,
}

/// Where an argument goes.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ArgumentLayout {
    /// As metadata or debug information have it.
    pub name: Option<String>,
    /// Which argument of the source, counted from 0; null for hidden ones.
    pub position: Option<usize>,
    /// In the segment.
    pub offset: u32,
    /// In bytes.
    pub size: u32,
    /// The value kind of the metadata.
    pub kind: String,
    /// In words.
    #[cfg_attr(feature = "serde", serde(rename = "type"))]
    pub ty: Option<String>,
    /// Whether the runtime passes it.
    pub hidden: bool,
    /// The first register that it is preloaded into.
    pub register: Option<String>,
}

impl ArgumentLayout {
    /// What to call it.
    #[must_use]
    pub fn label(&self) -> String {
        match (&self.name, self.position) {
            (Some(name), _) => name.clone(),
            (None, Some(position)) => format!("arg {position}"),
            (None, None) => self.kind.strip_prefix("hidden_").unwrap_or(&self.kind).to_owned(),
        }
    }
}

/// The projection for runtimes. Its numbers are no offsets of the caller's.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Compact {
    /// The word of each binding.
    pub bindings: Vec<u32>,
    /// Bytes of constants.
    pub constant_size: u32,
    /// How constants are copied.
    pub spans: Vec<SpanInfo>,
    /// Whether bindings follow one another.
    pub packed_bindings: bool,
    /// Whether constants are one span.
    pub contiguous_constants: bool,
    /// Whether the rest has to be zero.
    pub zero_fill: bool,
}

/// Constants that are copied together.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SpanInfo {
    /// Where to.
    pub target: u32,
    /// Where from.
    pub source: u32,
    /// How many bytes.
    pub length: u32,
}

/// The words of the segment that registers hold when the kernel begins.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PreloadInfo {
    /// The first scalar register.
    pub first_register: u16,
    /// How many words.
    pub words: u16,
    /// The first word of the segment.
    pub first_word: u16,
    /// Bytes of code that load them where nothing is preloaded.
    pub skipped_code: u32,
}

/// What a register holds when the kernel begins.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct RegisterInfo {
    /// Its name.
    pub register: String,
    /// The lowest bit, where it is not all of the register.
    pub low_bit: Option<u8>,
    /// How many bits.
    pub bits: Option<u8>,
    /// What it holds.
    pub holds: String,
}

impl KernelLayout {
    /// The rows of a kernel; those of registers where they are asked for.
    #[must_use]
    pub fn new(kernel: &Kernel<'_>, arguments: &Arguments, registers: bool) -> Self {
        let refused = |error: &Error| error.to_string();
        let entry = arguments.entry.as_ref().and_then(|it| it.as_ref().ok());
        let native = arguments.native.as_ref().ok();
        // A guess is nothing that a runtime may pack by.
        let compact = arguments.compact.as_ref().ok().filter(|_| arguments.template.is_none());
        let shown = entry.filter(|_| registers);
        Self {
            name: kernel.name().to_string(),
            demangled: demangle(kernel.name().as_bytes())
                .unwrap_or_else(|| kernel.name().to_string()),
            size: native.map(|it| u64::from(it.size())).or(arguments.declaration.size),
            alignment: arguments.declaration.alignment,
            required: native.map(NativeLayout::required),
            hash: native.map(|it| it.hash().to_string()),
            inferred_from: arguments.template.clone(),
            refused: arguments.native.as_ref().err().map(refused),
            remarks: arguments.declaration.remarks.iter().map(ToString::to_string).collect(),
            arguments: native.map(|it| rows(it, entry)).unwrap_or_default(),
            pointer_slots: native.map(NativeLayout::pointer_slots).unwrap_or_default(),
            compact: compact.map(Compact::new),
            compact_refused: arguments.compact.as_ref().err().map(refused),
            preload: entry.and_then(EntryState::preload).map(|it| PreloadInfo {
                first_register: it.first,
                words: it.words,
                first_word: it.offset,
                skipped_code: it.skipped,
            }),
            registers: shown.map(register_rows).unwrap_or_default(),
            registers_refused: match &arguments.entry {
                Some(Err(error)) => Some(error.to_string()),
                _ => None,
            },
        }
    }
}

/// The arguments of the source, then those that the runtime adds.
fn rows(layout: &NativeLayout, entry: Option<&EntryState>) -> Vec<ArgumentLayout> {
    let register = |offset, size| {
        let register = entry?.preload()?.register(offset, size)?;
        Some(format!("s{register}"))
    };
    let visible = layout.parameters().iter().enumerate().map(|(position, it)| ArgumentLayout {
        name: it.name.as_deref().map(str::to_owned),
        position: Some(position),
        offset: it.offset,
        size: it.size,
        kind: it.kind.name().to_owned(),
        ty: Some(it.ty.to_string()),
        hidden: false,
        register: register(it.offset, it.size),
    });
    let hidden = layout.hidden().iter().map(|it| ArgumentLayout {
        name: None,
        position: None,
        offset: it.offset,
        size: it.size,
        kind: it.name().to_owned(),
        ty: None,
        hidden: true,
        register: register(it.offset, it.size),
    });
    visible.chain(hidden).collect()
}

impl Compact {
    fn new(layout: &CompactLayout) -> Self {
        let span = |it: &ConstantSpan| SpanInfo {
            target: it.target,
            source: it.source,
            length: it.length,
        };
        Self {
            bindings: layout.bindings().iter().map(|it| it.word).collect(),
            constant_size: layout.constant_size(),
            spans: layout.spans().iter().map(span).collect(),
            packed_bindings: layout.has_packed_bindings(),
            contiguous_constants: layout.has_contiguous_constants(),
            zero_fill: layout.needs_zero_fill(),
        }
    }
}

fn register_rows(entry: &EntryState) -> Vec<RegisterInfo> {
    let row = |it: &EntryRegister| RegisterInfo {
        register: it.register.to_string(),
        low_bit: it.bits.map(|it| it.0),
        bits: it.bits.map(|it| it.1),
        holds: it.holds.name(),
    };
    entry.registers().iter().map(row).collect()
}

/// The value of an argument in a packed buffer.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct UnpackedArgument<'a> {
    /// As metadata or debug information have it.
    pub name: Option<&'a str>,
    /// In the segment.
    pub offset: u32,
    /// In bytes.
    pub size: u32,
    /// The value kind of the metadata.
    pub kind: &'a str,
    /// In words.
    #[cfg_attr(feature = "serde", serde(rename = "type"))]
    pub ty: Option<String>,
    /// Whether the runtime passes it.
    pub hidden: bool,
    /// Its bytes in hexadecimal.
    pub bytes: String,
    /// What the bytes are.
    pub value: Datum,
    /// The same in words.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub text: String,
}

impl NativeLayout {
    /// The value of every argument in a packed buffer, those of the source first.
    ///
    /// # Errors
    /// When the buffer has not all of them.
    pub fn unpack_rows<'a>(&'a self, bytes: &'a [u8]) -> Result<Vec<UnpackedArgument<'a>>, Error> {
        let visible = self.unpack(bytes)?.map(|(parameter, bytes)| {
            let value = parameter.ty.decode(bytes);
            UnpackedArgument {
                name: parameter.name.as_deref(),
                offset: parameter.offset,
                size: parameter.size,
                kind: parameter.kind.name(),
                ty: Some(parameter.ty.to_string()),
                hidden: false,
                bytes: hex::encode(bytes),
                text: match parameter.ty {
                    ValueType::Pointer { .. } => address(bytes),
                    _ => value.to_string(),
                },
                value,
            }
        });
        let hidden = self.unpack_hidden(bytes).map(|(field, bytes)| {
            let value = ValueType::unknown(field.size).decode(bytes);
            UnpackedArgument {
                name: None,
                offset: field.offset,
                size: field.size,
                kind: field.name(),
                ty: None,
                hidden: true,
                bytes: hex::encode(bytes),
                text: if field.size == 8 { address(bytes) } else { value.to_string() },
                value,
            }
        });
        Ok(visible.chain(hidden).collect())
    }
}

fn address(bytes: &[u8]) -> String {
    let value = bytes.iter().rev().fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
    format!("{value:#x}")
}

/// A packet, for JSON.
#[cfg(feature = "serde")]
#[derive(Clone, Debug, serde::Serialize)]
pub struct PacketRow {
    /// What it is.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Its bytes, in hexadecimal.
    pub bytes: String,
    #[serde(flatten)]
    fields: serde_json::Value,
    /// Which rules it breaks.
    pub problems: Vec<String>,
}

#[cfg(feature = "serde")]
impl PacketRow {
    /// Decodes a packet.
    #[must_use]
    pub fn new(bytes: &[u8; Packet::SIZE]) -> Self {
        let (packet, wrong) = Packet::decode(bytes);
        let fields = match &packet {
            Packet::Dispatch(it) => serde_json::to_value(it),
            Packet::BarrierAnd(it) | Packet::BarrierOr(it) => serde_json::to_value(it),
            Packet::Agent(it) => serde_json::to_value(it),
            _ => Ok(serde_json::Value::Object(serde_json::Map::new())),
        };
        let problems = wrong.iter().map(ToString::to_string).collect();
        debug_assert!(fields.is_ok(), "numbers, names and lists of them always serialize");
        let fields = fields.unwrap_or_default();
        Self { kind: packet.name(), bytes: hex::encode(bytes), fields, problems }
    }
}
