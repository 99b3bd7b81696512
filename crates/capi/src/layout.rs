//! The native projection of a kernel's arguments, for callers who pack: offsets of the metadata.

use std::ffi::c_char;

use hsaco::kernarg::{
    self, ArgumentSlot, Blob, Declaration, Declared, DirectLayout, HiddenField, LayoutHash,
    NativeLayout, Unsupplied, Value,
};
use hsaco::object::metadata::ValueKind;

use crate::border::{Out, Row, bytes, bytes_mut, list, optional_text, row_at, text};
use crate::error::{Failure, Result, Said, Status, border, lines};
use crate::handle::{self, Handle};
use crate::kernel::Kernel;
use crate::launch::{self, Launch};

/// Where the bytes of a kernel's arguments go; hsaco_layout_free takes it back. All functions may be called from any
/// thread.
pub struct Layout {
    layout: NativeLayout,
    info: Row<LayoutInfo>,
    parameters: Vec<Row<Parameter>>,
    hidden: Vec<Row<Parameter>>,
}

impl Handle for Layout {
    const NAME: &'static str = "layout";
}

/// What a layout is.
#[repr(C)]
#[derive(Debug)]
pub struct LayoutInfo {
    /// Bytes of the segment.
    pub size: u32,
    /// What its address must be a multiple of.
    pub alignment: u32,
    /// Bytes that a caller must bring: up to the end of the last argument of the source.
    pub required: u32,
    /// Where the caller's bytes end: at the first hidden argument, else with the segment.
    pub explicit_size: u32,
    /// Arguments of the source.
    pub parameter_count: usize,
    /// Arguments that the runtime adds.
    pub hidden_count: usize,
    /// Offsets at which addresses of global memory stand, for callers that translate them.
    pub pointer_slots: *const u32,
    /// How many.
    pub pointer_slot_count: usize,
    /// What tells layouts apart: the same for the same places and kinds.
    pub hash: [u8; 16],
}

/// An argument's place.
#[repr(C)]
#[derive(Debug)]
pub struct Parameter {
    /// Its name; null if not known.
    pub name: *const c_char,
    /// Where it is in the segment.
    pub offset: u32,
    /// Its size in bytes.
    pub size: u32,
    /// What it holds: "global_buffer", "by_value", "hidden_block_count_x".
    pub kind: *const c_char,
}

/// An argument that a caller declares.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DeclaredArgument {
    /// Its name; null for none.
    pub name: *const c_char,
    /// Where it is in the segment.
    pub offset: u64,
    /// Its size in bytes.
    pub size: u64,
    /// What it holds, as the metadata calls it: "global_buffer", "by_value", "hidden_block_count_x".
    pub kind: *const c_char,
}

/// A value for an argument. Either all values of a call have names, or none has.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ArgumentValue {
    /// The argument; null for the one at the same position.
    pub name: *const c_char,
    /// The bytes, which are copied as they are.
    pub data: *const u8,
    /// How many: exactly the argument's size.
    pub size: usize,
}

/// What is odd about a prepacked buffer that has every argument.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Prepacked {
    /// Bytes of the buffer that are used.
    pub used: u64,
    /// Bytes of padding at the end that the buffer leaves out; they are zero.
    pub padding: u64,
    /// Bytes that lie where hidden arguments are, and are not used.
    pub hidden: u64,
    /// Bytes behind the segment, which are not used.
    pub surplus: u64,
}

impl Prepacked {
    fn of(accepted: &kernarg::Prepacked<'_>) -> Self {
        Self {
            used: accepted.explicit().len() as u64,
            padding: accepted.padding().into(),
            hidden: accepted.hidden(),
            surplus: accepted.surplus(),
        }
    }
}

impl Layout {
    fn handle(layout: NativeLayout) -> *mut Self {
        let info = Row::new(|texts| {
            let (pointer_slots, pointer_slot_count) = texts.items(layout.pointer_slots());
            LayoutInfo {
                size: layout.size(),
                alignment: layout.alignment(),
                required: layout.required(),
                explicit_size: layout.explicit_size(),
                parameter_count: layout.parameters().len(),
                hidden_count: layout.hidden().len(),
                pointer_slots,
                pointer_slot_count,
                hash: layout.hash().to_bytes(),
            }
        });
        let parameter = |it: &ArgumentSlot| {
            Parameter::row(it.name.as_deref(), it.offset, it.size, it.kind.name())
        };
        let parameters = layout.parameters().iter().map(parameter).collect();
        let hidden = layout.hidden().iter().map(Parameter::hidden).collect();
        handle::new(Self { layout, info, parameters, hidden })
    }
}

impl Parameter {
    fn row(name: Option<&str>, offset: u32, size: u32, kind: &str) -> Row<Self> {
        Row::new(|texts| Parameter {
            name: texts.keep_some(name),
            offset,
            size,
            kind: texts.keep(kind),
        })
    }

    /// Of a hidden argument.
    pub(crate) fn hidden(field: &HiddenField) -> Row<Self> {
        Self::row(None, field.offset, field.size, field.name())
    }
}

/// What a caller declares: `size` bytes of segment, and arguments.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
pub(crate) unsafe fn declaration(
    size: u64,
    alignment: u64,
    arguments: *const DeclaredArgument,
    count: usize,
) -> Result<Declaration> {
    let mut all = Vec::new();
    // SAFETY: as this function asks.
    for it in unsafe { list(arguments, count, "arguments") }? {
        // SAFETY: as above.
        let (name, kind) =
            unsafe { (optional_text(it.name, "name")?, text(it.kind, "the kind of an argument")?) };
        let kind = ValueKind::from_name(kind.into()).to_owned();
        let declared = Declared::new(it.offset, it.size, kind);
        all.push(match name {
            Some(name) => declared.named(name),
            None => declared,
        });
    }
    let mut declaration = Declaration::new(size, all);
    declaration.alignment = Some(alignment).filter(|it| *it != 0);
    Ok(declaration)
}

/// Lays out the arguments of a kernel, with names and types of the debug information where there are any.
///
/// HSACO_STATUS_UNSUPPORTED where the metadata does not say which arguments there are: then only prepacked buffers will
/// do, which hsaco_kernel_check_prepacked checks.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_kernel_layout(
    kernel: *const Kernel,
    layout: *mut *mut Layout,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::handle(layout, "layout") }?;
        let kernel = handle::get(kernel)?;
        let tables = kernel.kernel.tables()?;
        let mut layout = NativeLayout::new(&Declaration::of(&tables.kernel())?)?;
        kernarg::describe(&mut layout, &kernel.kernel.arguments()?);
        out.set(Layout::handle(layout));
        Ok(())
    })
}

/// Lays out arguments that the caller declares, of a segment of `size` bytes; an alignment of 0 is one that nothing says.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_layout_create(
    size: u64,
    alignment: u64,
    arguments: *const DeclaredArgument,
    count: usize,
    layout: *mut *mut Layout,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (out, declared) = unsafe {
            (Out::handle(layout, "layout")?, declaration(size, alignment, arguments, count)?)
        };
        out.set(Layout::handle(NativeLayout::new(&declared)?));
        Ok(())
    })
}

/// What a layout is. It lives as long as the handle.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_layout_get_info(
    layout: *const Layout,
    info: *mut *const LayoutInfo,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::row(info, "info") }?;
        out.set(handle::get(layout)?.info.as_ptr());
        Ok(())
    })
}

/// The argument of the source of that number; HSACO_STATUS_NOT_FOUND behind the last. It lives as long as the handle.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_layout_parameter(
    layout: *const Layout,
    index: usize,
    parameter: *mut *const Parameter,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::row(parameter, "parameter") }?;
        out.set(row_at(&handle::get(layout)?.parameters, index, "argument")?);
        Ok(())
    })
}

/// The hidden argument of that number; HSACO_STATUS_NOT_FOUND behind the last. It lives as long as the handle.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_layout_hidden(
    layout: *const Layout,
    index: usize,
    parameter: *mut *const Parameter,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::row(parameter, "parameter") }?;
        out.set(row_at(&handle::get(layout)?.hidden, index, "hidden argument")?);
        Ok(())
    })
}

/// How many blocks of 64 bytes the segment takes in a kernarg ring.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_layout_blocks(layout: *const Layout, blocks: *mut u32) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::new(blocks, "blocks", 0) }?;
        out.set(handle::get(layout)?.layout.blocks()?);
        Ok(())
    })
}

/// Packs values into the first bytes of `segment`, with the hidden arguments of a launch, which may be null; all bytes of
/// the segment are written, none behind it, and nothing if anything is wrong. `segment_size` is the room there is.
///
/// `left_zero` is null or becomes the number of declared hidden arguments that nothing supplies: they are zero, and
/// hsaco_last_error() names them, a line each, although the status is HSACO_STATUS_OK.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_layout_pack(
    layout: *const Layout,
    values: *const ArgumentValue,
    count: usize,
    launch: *const Launch,
    segment: *mut u8,
    segment_size: usize,
    left_zero: *mut usize,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (left_zero, launch, segment, values) = unsafe {
            (
                Out::optional(left_zero, 0),
                launch::optional(launch)?,
                bytes_mut(segment, segment_size, "segment")?,
                read_values(values, count)?,
            )
        };
        let layout = handle::get(layout)?;
        let packed = match values {
            Values::ByPosition(values) => layout.layout.pack(&values, launch.as_ref(), segment),
            Values::ByName(values) => layout.layout.pack_named(&values, launch.as_ref(), segment),
        };
        Ok(unsupplied(&packed?, &left_zero))
    })
}

/// Values of one kind.
enum Values<'v> {
    ByPosition(Vec<Value<'v>>),
    ByName(Vec<(&'v str, Value<'v>)>),
}

/// # Safety
/// Pointers are as the head of hsaco.h asks.
unsafe fn read_values<'v>(values: *const ArgumentValue, count: usize) -> Result<Values<'v>> {
    let mut named = Vec::new();
    let mut placed = Vec::new();
    // SAFETY: as this function asks.
    for it in unsafe { list(values, count, "values") }? {
        // SAFETY: as above.
        let (name, data) = unsafe {
            (optional_text(it.name, "name")?, bytes(it.data, it.size, "the data of a value")?)
        };
        match name {
            Some(name) => named.push((name, Value::Bytes(data))),
            None => placed.push(Value::Bytes(data)),
        }
    }
    match (named.is_empty(), placed.is_empty()) {
        (true, _) => Ok(Values::ByPosition(placed)),
        (false, true) => Ok(Values::ByName(named)),
        _ => Err(Failure::argument("some values have names, and some have not")),
    }
}

/// Tells which hidden arguments are zero because nothing supplies them.
pub(crate) fn unsupplied(report: &Unsupplied<'_>, left_zero: &Out<usize>) -> Said {
    let names: Vec<_> = report.names().collect();
    left_zero.set(names.len());
    Said(lines(names))
}

/// Checks a buffer that the caller has packed: every byte of every visible argument must be there. A length with a null
/// pointer is refused before anything is read.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_layout_check_prepacked(
    layout: *const Layout,
    data: *const u8,
    size: usize,
    prepacked: *mut Prepacked,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (out, data) =
            unsafe { (Out::optional(prepacked, Prepacked::default()), bytes(data, size, "data")?) };
        let layout = handle::get(layout)?;
        out.set(Prepacked::of(&layout.layout.prepacked(Blob::from(data))?));
        Ok(())
    })
}

/// Checks a prepacked buffer, and writes it with the hidden arguments of a launch, which may be null, into the first
/// bytes of `segment`; padding is zero. The rest is as for hsaco_layout_pack.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_layout_write_prepacked(
    layout: *const Layout,
    data: *const u8,
    size: usize,
    launch: *const Launch,
    segment: *mut u8,
    segment_size: usize,
    left_zero: *mut usize,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (left_zero, launch, segment, data) = unsafe {
            (
                Out::optional(left_zero, 0),
                launch::optional(launch)?,
                bytes_mut(segment, segment_size, "segment")?,
                bytes(data, size, "data")?,
            )
        };
        let layout = handle::get(layout)?;
        let accepted = layout.layout.prepacked(Blob::from(data))?;
        let written = layout.layout.write_prepacked(&accepted, launch.as_ref(), segment)?;
        Ok(unsupplied(&written, &left_zero))
    })
}

/// Replaces the value of one argument in a packed segment; one that does not fit leaves the old bytes.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_layout_replace(
    layout: *const Layout,
    position: usize,
    data: *const u8,
    size: usize,
    segment: *mut u8,
    segment_size: usize,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (segment, data) =
            unsafe { (bytes_mut(segment, segment_size, "segment")?, bytes(data, size, "data")?) };
        let layout = handle::get(layout)?;
        Ok(layout.layout.replace(position, &Value::Bytes(data), segment)?)
    })
}

/// Where the bytes of an argument are in a packed segment, which must have all of them: a pointer into it. Positions
/// from hsaco_layout_info.parameter_count on are hidden arguments.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_layout_unpack(
    layout: *const Layout,
    segment: *const u8,
    segment_size: usize,
    position: usize,
    data: *mut *const u8,
    size: *mut usize,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (data, size, segment) = unsafe {
            let data = Out::row(data, "data")?;
            (data, Out::optional(size, 0), bytes(segment, segment_size, "segment")?)
        };
        let layout = handle::get(layout)?;
        let explicit = layout.layout.unpack(segment)?.map(|(_, bytes)| bytes);
        let hidden = layout.layout.unpack_hidden(segment).map(|(_, bytes)| bytes);
        let count = layout.parameters.len() + layout.hidden.len();
        let found = explicit.chain(hidden).nth(position);
        let found = found.ok_or_else(|| Failure::index("argument", position, count))?;
        data.set(found.as_ptr());
        size.set(found.len());
        Ok(())
    })
}

/// Fails with HSACO_STATUS_MISMATCH unless the 16 bytes of `hash` are this layout's: bytes that were packed for another
/// one mean something else here.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_layout_check_hash(
    layout: *const Layout,
    hash: *const u8,
    hash_size: usize,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let hash = unsafe { bytes(hash, hash_size, "hash") }?;
        let wrong = |_| Failure::argument(format!("a hash has 16 bytes, not {hash_size}"));
        let hash = LayoutHash::from_bytes(hash.try_into().map_err(wrong)?);
        Ok(handle::get(layout)?.layout.check_hash(hash)?)
    })
}

/// Checks a prepacked buffer of a kernel of whose arguments the metadata says nothing: by the size of its segment, if the
/// descriptor has one.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_kernel_check_prepacked(
    kernel: *const Kernel,
    data: *const u8,
    size: usize,
    prepacked: *mut Prepacked,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let (out, data) =
            unsafe { (Out::optional(prepacked, Prepacked::default()), bytes(data, size, "data")?) };
        let kernel = handle::get(kernel)?;
        let declared = Declaration::of(&kernel.kernel.tables()?.kernel())?;
        let segment = declared.size.and_then(|it| u32::try_from(it).ok());
        let accepted = DirectLayout::new(segment).prepacked(Blob::from(data))?;
        out.set(Prepacked::of(&accepted));
        Ok(())
    })
}

/// Takes a layout back; null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn hsaco_layout_free(layout: *mut Layout) -> Status {
    handle::free(layout)
}
