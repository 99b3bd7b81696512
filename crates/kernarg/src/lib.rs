//! Kernel arguments: where every byte goes, and who may say so.
//!
//! A [`Declaration`] is what a file says. Two projections are made of it, which share nothing and cannot be taken for
//! one another: a [`NativeLayout`] has the offsets of the metadata, for callers who pack; a [`CompactLayout`] has
//! bindings and constants, for runtimes that pack. A kernel of whose arguments nothing is known has a
//! [`DirectLayout`], which takes prepacked buffers only.
//!
//! ```
//! use hsaco_kernarg::{Declaration, Launch, NativeLayout, Value};
//! use hsaco_object::CodeObject;
//! # let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
//! let object = CodeObject::parse(&file)?;
//! let index = object.index();
//! let kernel = index.kernels().iter().find(|it| it.name() == "ind").unwrap();
//! let layout = NativeLayout::new(&Declaration::of(kernel)?)?;
//! let mut segment = vec![0; layout.size() as usize];
//! let launch = Launch::new(&[100], &[32])?;
//! let report = layout.pack(&[Value::Pointer(0x1000)], Some(&launch), &mut segment)?;
//! assert_eq!(segment[8..12], 3_u32.to_le_bytes());
//! assert!(report.names().any(|name| name == "hidden_heap_v1"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

#[cfg(feature = "analysis")]
mod arguments;
mod compact;
mod declaration;
#[cfg(feature = "analysis")]
mod draw;
mod elf_only;
mod entry;
mod float;
mod hash;
mod hidden;
mod launch;
#[cfg(feature = "serde")]
mod literal;
mod native;
mod packet;
mod prepacked;
#[cfg(feature = "analysis")]
mod rows;
mod spec;
#[cfg(feature = "analysis")]
mod spelled;
mod types;
mod value;

#[cfg(feature = "analysis")]
pub use arguments::{Arguments, describe};
pub use compact::{AbiMarker, Binding, CompactLayout, ConstantSpan};
pub use declaration::{Declaration, Declared, LayoutRemark};
#[cfg(feature = "analysis")]
pub use draw::draw_segment;
pub use elf_only::{ElfOnlyKernel, Inference, Inferred, elf_only};
pub use entry::{EntryRegister, EntryState, EntryValue, Preload, Wave};
pub use hash::LayoutHash;
pub use hidden::{HiddenField, HiddenSet, Unsupplied};
pub use launch::{BLOCK_SIZE, Launch, blocks, command_words, group_segment};
#[cfg(feature = "serde")]
pub use literal::spaced_hex;
pub use native::{ArgumentSlot, NativeLayout};
pub use packet::{
    AgentPacket, BarrierPacket, DispatchPacket, Fences, KernelNeeds, Packet, PacketNeeds, Scope,
};
pub use prepacked::{Blob, DirectLayout, Prepacked};
#[cfg(all(feature = "analysis", feature = "serde"))]
pub use rows::PacketRow;
#[cfg(feature = "analysis")]
pub use rows::{
    ArgumentLayout, Compact, KernelLayout, PreloadInfo, RegisterInfo, SpanInfo, UnpackedArgument,
};
pub use spec::{ArgumentSpec, BufferSpec, GivenArgument, NumberSpec};
#[cfg(feature = "analysis")]
pub use spelled::{Pointee, SpelledArgument, SpelledMember, spell};
pub use types::{Datum, Float, RecordMember, RecordType, ValueType};
pub use value::Value;

use hsaco_bytes::{Error, ErrorKind, Result};

const CONTEXT: &str = "kernel arguments";

/// Alignment of a segment if the file does not say: what the runtime aligns all of them to.
const UNSTATED_ALIGNMENT: u32 = 16;

/// An argument's place, which must end within `segment` bytes.
fn range(
    offset: u64,
    size: u64,
    segment: u32,
    name: impl FnOnce() -> String,
) -> Result<(u32, u32)> {
    let end = offset.checked_add(size).filter(|&end| end <= u64::from(segment));
    let place = end.and_then(|_| Some((u32::try_from(offset).ok()?, u32::try_from(size).ok()?)));
    place.ok_or_else(|| {
        let name = name();
        let detail =
            format!("{name} has {size} bytes at {offset}, out of range of the segment's {segment}");
        Error::new(ErrorKind::LimitExceeded, CONTEXT, detail)
    })
}
