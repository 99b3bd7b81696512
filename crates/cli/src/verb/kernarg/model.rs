//! What `kernarg` says of an object: the JSON shape, which the text is made from too.

use hsaco::bytes::Error;
use hsaco::dwarf::{DebugSections, SourceMap};
use hsaco::kernarg::{Arguments, CompactLayout, Entry, NativeLayout};
use hsaco::object::{CodeObject, Kernel};
use serde::Serialize;

use super::Question;
use crate::report::Trouble;
use crate::scan::ObjectItem;
use crate::verb::ls::source_name;

/// One object of `kernarg`.
#[derive(Serialize)]
pub(super) struct ObjectLayouts {
    pub(super) index: usize,
    pub(super) entry_id: Option<String>,
    pub(super) target: Option<String>,
    pub(super) kernels: Vec<KernelLayout>,
}

#[derive(Serialize)]
pub(super) struct KernelLayout {
    pub(super) name: String,
    pub(super) demangled: String,
    /// Bytes of the segment; null where nobody says.
    pub(super) size: Option<u64>,
    pub(super) alignment: Option<u64>,
    /// Bytes that a caller must bring.
    pub(super) required: Option<u32>,
    pub(super) hash: Option<String>,
    /// The kernel that the arguments were taken from, where they are a guess.
    pub(super) inferred_from: Option<String>,
    /// Why there is no layout: prepacked buffers only.
    pub(super) refused: Option<String>,
    pub(super) remarks: Vec<String>,
    pub(super) arguments: Vec<ArgumentLayout>,
    pub(super) pointer_slots: Vec<u32>,
    pub(super) compact: Option<Compact>,
    /// Why a runtime could not pack.
    pub(super) compact_refused: Option<String>,
    pub(super) preload: Option<PreloadInfo>,
    pub(super) registers: Vec<RegisterInfo>,
    /// Why nobody can say what registers hold.
    pub(super) registers_refused: Option<String>,
}

#[derive(Serialize)]
pub(super) struct ArgumentLayout {
    pub(super) name: Option<String>,
    /// Which argument of the source, counted from 0; null for hidden ones.
    pub(super) position: Option<usize>,
    pub(super) offset: u32,
    pub(super) size: u32,
    pub(super) kind: String,
    #[serde(rename = "type")]
    pub(super) ty: Option<String>,
    pub(super) hidden: bool,
    /// The first register that it is preloaded into.
    pub(super) register: Option<String>,
}

impl ArgumentLayout {
    /// What to call it.
    pub(super) fn label(&self) -> String {
        match (&self.name, self.position) {
            (Some(name), _) => name.clone(),
            (None, Some(position)) => format!("arg {position}"),
            (None, None) => self.kind.strip_prefix("hidden_").unwrap_or(&self.kind).to_owned(),
        }
    }
}

/// The projection for runtimes. Its numbers are no offsets of the caller's.
#[derive(Serialize)]
pub(super) struct Compact {
    pub(super) bindings: Vec<u32>,
    pub(super) constant_size: u32,
    pub(super) spans: Vec<SpanInfo>,
    pub(super) packed_bindings: bool,
    pub(super) contiguous_constants: bool,
    pub(super) zero_fill: bool,
}

#[derive(Serialize)]
pub(super) struct SpanInfo {
    pub(super) target: u32,
    pub(super) source: u32,
    pub(super) length: u32,
}

#[derive(Serialize)]
pub(super) struct PreloadInfo {
    pub(super) first_register: u16,
    pub(super) words: u16,
    pub(super) first_word: u16,
    pub(super) skipped_code: u32,
}

#[derive(Serialize)]
pub(super) struct RegisterInfo {
    pub(super) register: String,
    pub(super) low_bit: Option<u8>,
    pub(super) bits: Option<u8>,
    pub(super) holds: String,
}

impl ObjectLayouts {
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
        let Some(object) = &item.object else { return found };
        each_kernel(object, item, question, trouble, |kernel, arguments| {
            found.kernels.push(KernelLayout::new(kernel, arguments, question.registers));
        });
        found
    }
}

/// Shows every wanted kernel of an object with its arguments; debug information that cannot be read is reported.
pub(super) fn each_kernel(
    object: &CodeObject<'_>,
    item: &ObjectItem<'_, '_>,
    question: &Question<'_>,
    trouble: &mut Trouble,
    mut show: impl FnMut(&Kernel<'_>, &Arguments),
) {
    let index = item.index(object, trouble);
    let kernels = question.kernels.of(&index);
    if kernels.is_empty() {
        return;
    }
    let sections = DebugSections::new(object, question.max_size);
    let map = sections.as_ref().map_err(Clone::clone).and_then(SourceMap::new);
    let debug = map.as_ref().ok().zip(sections.as_ref().ok());
    for kernel in kernels {
        show(kernel, &Arguments::new(object, &index, kernel, debug, question.inference));
    }
    if let Err(error) = map {
        trouble.note(item.place(), item.located(error));
    }
}

impl KernelLayout {
    fn new(kernel: &Kernel<'_>, arguments: &Arguments, registers: bool) -> Self {
        let refused = |error: &Error| error.to_string();
        let entry = arguments.entry.as_ref().and_then(|it| it.as_ref().ok());
        let native = arguments.native.as_ref().ok();
        // A guess is nothing that a runtime may pack by.
        let compact = arguments.compact.as_ref().ok().filter(|_| arguments.template.is_none());
        let shown = entry.filter(|_| registers);
        Self {
            name: kernel.name().to_string(),
            demangled: source_name(kernel.name()).into_owned(),
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
            preload: entry.and_then(Entry::preload).map(|it| PreloadInfo {
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
pub(super) fn rows(layout: &NativeLayout, entry: Option<&Entry>) -> Vec<ArgumentLayout> {
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
        let span = |it: &hsaco::kernarg::Span| SpanInfo {
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

fn register_rows(entry: &Entry) -> Vec<RegisterInfo> {
    let row = |it: &hsaco::kernarg::EntryRegister| RegisterInfo {
        register: it.register.to_string(),
        low_bit: it.bits.map(|it| it.0),
        bits: it.bits.map(|it| it.1),
        holds: it.holds.name(),
    };
    entry.registers().iter().map(row).collect()
}
