//! The compact projection of a kernel's arguments, for runtimes that pack: bindings and constants.

use hsaco::kernarg::{AbiMarker, CompactLayout, Declaration};

use crate::border::{Out, Row, bytes, bytes_mut, list, row_at};
use crate::error::{Failure, Status, border};
use crate::handle::{self, Handle};
use crate::kernel::Kernel;
use crate::launch::{self, Launch};
use crate::layout::{DeclaredArgument, Parameter, declaration, unsupplied};

/// How a runtime copies bindings and constants into a segment; hsaco_compact_free takes it back. All functions may be
/// called from any thread.
pub struct Compact {
    layout: CompactLayout,
    info: Row<CompactInfo>,
    hidden: Vec<Row<Parameter>>,
}

impl Handle for Compact {
    const NAME: &'static str = "compact layout";
}

/// What a compact layout is.
#[repr(C)]
#[derive(Debug)]
pub struct CompactInfo {
    /// Bytes of the segment that packing fills.
    pub segment_size: u32,
    /// What its address must be a multiple of.
    pub segment_alignment: u32,
    /// For each binding, by ordinal, the word of 8 bytes that its address goes to.
    pub bindings: *const u32,
    /// How many bindings a caller must bring.
    pub binding_count: usize,
    /// Where constants go.
    pub spans: *const ConstantSpan,
    /// How many.
    pub span_count: usize,
    /// Bytes of constants that a caller must bring.
    pub constant_size: u32,
    /// Arguments that the runtime adds.
    pub hidden_count: usize,
    /// Whether binding i goes to word i: all of them are one copy.
    pub has_packed_bindings: bool,
    /// Whether constants go to one run of the segment: all of them are one copy.
    pub has_contiguous_constants: bool,
    /// Whether bindings and constants leave bytes of the segment unwritten.
    pub needs_zero_fill: bool,
    /// What tells layouts apart; never that of a native one.
    pub hash: [u8; 16],
}

/// Constants to copy.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ConstantSpan {
    /// Where they go in the segment.
    pub target: u32,
    /// Where they are in the run of constants.
    pub source: u32,
    /// How many bytes.
    pub length: u32,
}

impl Compact {
    fn handle(layout: CompactLayout) -> *mut Self {
        let info = Row::new(|texts| {
            let words = layout.bindings().iter().map(|it| it.word).collect();
            let (bindings, binding_count) = texts.items::<u32>(words);
            let span = |it: &hsaco::kernarg::ConstantSpan| ConstantSpan {
                target: it.target,
                source: it.source,
                length: it.length,
            };
            let (spans, span_count) = texts.items(layout.spans().iter().map(span).collect());
            CompactInfo {
                segment_size: layout.segment_size(),
                segment_alignment: layout.segment_alignment(),
                bindings,
                binding_count,
                spans,
                span_count,
                constant_size: layout.constant_size(),
                hidden_count: layout.hidden_arguments().len(),
                has_packed_bindings: layout.has_packed_bindings(),
                has_contiguous_constants: layout.has_contiguous_constants(),
                needs_zero_fill: layout.needs_zero_fill(),
                hash: layout.hash().to_bytes(),
            }
        });
        let hidden = layout.hidden_arguments().iter().map(Parameter::hidden).collect();
        handle::new(Self { layout, info, hidden })
    }
}

fn marker(is_seen: bool) -> Option<AbiMarker> {
    is_seen.then(AbiMarker::seen)
}

/// The compact layout of a kernel. `marker_seen` is the caller's word that the object carries a marker of a runtime that
/// packs: without it arguments are the caller's to pack, and this is HSACO_STATUS_UNSUPPORTED.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_kernel_compact(
    kernel: *const Kernel,
    marker_seen: bool,
    compact: *mut *mut Compact,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::handle(compact, "compact") }?;
        let kernel = handle::get(kernel)?;
        let declared = Declaration::of(&kernel.kernel.tables()?.kernel())?;
        out.set(Compact::handle(CompactLayout::new(&declared, marker(marker_seen))?));
        Ok(())
    })
}

/// The compact layout of arguments that the caller declares; see hsaco_layout_create.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_compact_create(
    size: u64,
    alignment: u64,
    arguments: *const DeclaredArgument,
    count: usize,
    marker_seen: bool,
    compact: *mut *mut Compact,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (out, declared) = unsafe {
            (Out::handle(compact, "compact")?, declaration(size, alignment, arguments, count)?)
        };
        out.set(Compact::handle(CompactLayout::new(&declared, marker(marker_seen))?));
        Ok(())
    })
}

/// What a compact layout is. It lives as long as the handle.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_compact_get_info(
    compact: *const Compact,
    info: *mut *const CompactInfo,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::row(info, "info") }?;
        out.set(handle::get(compact)?.info.as_ptr());
        Ok(())
    })
}

/// The hidden argument of that number; HSACO_STATUS_NOT_FOUND behind the last. It lives as long as the handle.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_compact_hidden(
    compact: *const Compact,
    index: usize,
    parameter: *mut *const Parameter,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::row(parameter, "parameter") }?;
        out.set(row_at(&handle::get(compact)?.hidden, index, "hidden argument")?);
        Ok(())
    })
}

/// Packs addresses and constants, exactly as many as the kernel takes. The rest is as for hsaco_layout_pack.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_compact_pack(
    compact: *const Compact,
    bindings: *const u64,
    binding_count: usize,
    constants: *const u8,
    constant_size: usize,
    launch: *const Launch,
    segment: *mut u8,
    segment_size: usize,
    left_zero: *mut usize,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (left_zero, bindings, constants, launch, segment) = unsafe {
            (
                Out::optional(left_zero, 0),
                list(bindings, binding_count, "bindings")?,
                bytes(constants, constant_size, "constants")?,
                launch::optional(launch)?,
                bytes_mut(segment, segment_size, "segment")?,
            )
        };
        let compact = handle::get(compact)?;
        let packed = compact.layout.pack(bindings, constants, launch.as_ref(), segment)?;
        Ok(unsupplied(&packed, &left_zero))
    })
}

/// Takes addresses and constants out of a packed segment. There must be room for exactly as many as the kernel takes.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_compact_unpack(
    compact: *const Compact,
    segment: *const u8,
    segment_size: usize,
    bindings: *mut u64,
    binding_count: usize,
    constants: *mut u8,
    constant_size: usize,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (segment, room, constants) = unsafe {
            (
                bytes(segment, segment_size, "segment")?,
                list(bindings.cast_const(), binding_count, "bindings")?,
                bytes_mut(constants, constant_size, "constants")?,
            )
        };
        let (addresses, values) = handle::get(compact)?.layout.unpack(segment)?;
        if (addresses.len(), values.len()) != (room.len(), constants.len()) {
            let reason = format!(
                "room for {} bindings and {} bytes of constants, and there are {} and {}",
                room.len(),
                constants.len(),
                addresses.len(),
                values.len()
            );
            return Err(Failure::new(Status::Mismatch, reason));
        }
        // SAFETY: as many places for numbers as the caller says, aligned and not null if there are any.
        unsafe { bindings.copy_from_nonoverlapping(addresses.as_ptr(), addresses.len()) };
        constants.copy_from_slice(&values);
        Ok(())
    })
}

/// Takes a compact layout back; null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn hsaco_compact_free(compact: *mut Compact) -> Status {
    handle::free(compact)
}
