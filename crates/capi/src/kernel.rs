//! Kernels: what they are, their instructions, blocks and source lines. They are decoded when first asked for.

use std::collections::BTreeMap;
use std::ffi::c_char;
use std::ptr;
use std::sync::OnceLock;

use hsaco::analysis::{Cfg, Exit};
use hsaco::bytes::Id;
use hsaco::db::{self, IndexedKernel};
use hsaco::dwarf;

use crate::border::{Out, Row, Texts, cached, row_at};
use crate::buffer::Buffer;
use crate::demangle::demangled;
use crate::error::{Failure, Result, Status, border};
use crate::handle::{self, Handle};
use crate::instruction::Instruction;

/// A kernel of a database; hsaco_kernel_free takes it back. Its instructions are decoded when they are first asked for,
/// once for all threads and handles. All functions may be called from any thread.
pub struct Kernel {
    pub(crate) kernel: IndexedKernel,
    info: OnceLock<Row<KernelInfo>>,
    instructions: OnceLock<Vec<Slot>>,
    blocks: OnceLock<Vec<Row<Block>>>,
    lines: OnceLock<Vec<Row<Line>>>,
}

impl Handle for Kernel {
    const NAME: &'static str = "kernel";
}

/// What is known of one instruction, each part when it is first asked for.
#[derive(Default)]
struct Slot {
    instruction: OnceLock<Row<Instruction>>,
    location: OnceLock<Option<Row<Location>>>,
    frames: OnceLock<Vec<Row<Frame>>>,
}

/// What a kernel is and what it needs. Numbers that are not known are HSACO_UNKNOWN.
#[repr(C)]
#[derive(Debug)]
pub struct KernelInfo {
    /// Its mangled name.
    pub name: *const c_char,
    /// Its name as people read it.
    pub demangled: *const c_char,
    /// The target of its object, such as "gfx90a:xnack-".
    pub target: *const c_char,
    /// The name under which its file was added.
    pub file: *const c_char,
    /// Which object of the file it is in, from 0.
    pub object_number: usize,
    /// Which kernel of its object it is, from 0.
    pub number: usize,
    /// The address of its first instruction in the object.
    pub entry: u64,
    /// Bytes of code.
    pub code_size: u64,
    /// Vector registers, accumulation registers included where they share a file.
    pub vgprs: u64,
    /// Accumulation registers.
    pub agprs: u64,
    /// Scalar registers.
    pub sgprs: u64,
    /// Bytes of static LDS.
    pub lds: u64,
    /// Bytes of scratch memory of a work-item.
    pub scratch: u64,
    /// Bytes of the kernarg segment.
    pub kernarg_size: u64,
    /// Work-items of a wave.
    pub wavefront_size: u64,
    /// Most work-items of a workgroup.
    pub max_workgroup_size: u64,
}

/// A place in a source file.
#[repr(C)]
#[derive(Debug)]
pub struct Location {
    /// The path, as absolute as the compiler wrote it down.
    pub file: *const c_char,
    /// From 1; 0 if not known.
    pub line: u32,
    /// From 1; 0 if not known.
    pub column: u32,
}

/// A function that an instruction is in.
#[repr(C)]
#[derive(Debug)]
pub struct Frame {
    /// Its name, as the linker knows it if it does; null if not known.
    pub function: *const c_char,
    /// Its name as people read it; null if not known.
    pub demangled: *const c_char,
    /// The path of the place there; null if not known.
    pub file: *const c_char,
    /// From 1; 0 if not known.
    pub line: u32,
    /// From 1; 0 if not known.
    pub column: u32,
}

/// Instructions of a kernel that run one after the other.
#[repr(C)]
#[derive(Debug)]
pub struct Block {
    /// Which block of the kernel it is, from 0; 0 is the entry.
    pub index: usize,
    /// The address of its first instruction.
    pub start: u64,
    /// The address behind its last instruction.
    pub end: u64,
    /// The number of its first instruction.
    pub first_instruction: usize,
    /// How many it has.
    pub instruction_count: usize,
    /// The numbers of the blocks that may follow it.
    pub successors: *const usize,
    /// How many.
    pub successor_count: usize,
    /// The numbers of the blocks that it may follow.
    pub predecessors: *const usize,
    /// How many.
    pub predecessor_count: usize,
    /// How it leaves the kernel, beside its successors.
    pub exit: BlockExit,
}

/// How a block leaves its kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockExit {
    /// It does not.
    None = 0,
    /// The wave ends.
    End = 1,
    /// It returns to its caller.
    Return = 2,
    /// It goes to code outside.
    Outside = 3,
    /// It goes where nothing says.
    Unknown = 4,
}

/// A source line that code comes from.
#[repr(C)]
#[derive(Debug)]
pub struct Line {
    /// The path, as absolute as the compiler wrote it down.
    pub file: *const c_char,
    /// From 1.
    pub line: u32,
    /// The numbers of the instructions that come from it, in the order of their addresses.
    pub instructions: *const usize,
    /// How many.
    pub instruction_count: usize,
}

impl Kernel {
    /// A handle of a kernel.
    pub(crate) fn handle(kernel: IndexedKernel) -> *mut Self {
        handle::new(Self {
            kernel,
            info: OnceLock::new(),
            instructions: OnceLock::new(),
            blocks: OnceLock::new(),
            lines: OnceLock::new(),
        })
    }

    fn info(&self) -> Result<&Row<KernelInfo>> {
        cached(&self.info, || {
            let needs = self.kernel.resources()?;
            let object = self.kernel.object();
            let known = |number: Option<u64>| number.unwrap_or(u64::MAX);
            Ok(Row::new(|texts| KernelInfo {
                name: texts.keep(&self.kernel.name().to_string()),
                demangled: texts.keep(&self.kernel.readable_name()),
                target: texts.keep(object.target()),
                file: texts.keep(object.file()),
                object_number: object.number(),
                number: self.kernel.number(),
                entry: known(self.kernel.entry()),
                code_size: known(self.kernel.code_size().map(|it| it as u64)),
                vgprs: known(needs.vgprs),
                agprs: known(needs.agprs),
                sgprs: known(needs.sgprs),
                lds: known(needs.lds),
                scratch: known(needs.scratch),
                kernarg_size: known(needs.kernarg_size),
                wavefront_size: known(needs.wavefront_size),
                max_workgroup_size: known(needs.max_workgroup_size),
            }))
        })
    }

    /// Decodes it, the first time.
    fn slots(&self) -> Result<&[Slot]> {
        let slots = cached(&self.instructions, || {
            let count = self.kernel.instructions()?.len();
            Ok((0..count).map(|_| Slot::default()).collect())
        })?;
        Ok(slots)
    }

    fn slot(&self, index: usize) -> Result<(&Slot, db::Instruction<'_>)> {
        let slots = self.slots()?;
        let missing = || Failure::index("instruction", index, slots.len());
        let slot = slots.get(index).ok_or_else(missing)?;
        Ok((slot, self.kernel.instruction(index)?.ok_or_else(missing)?))
    }

    fn frames(&self, index: usize) -> Result<&[Row<Frame>]> {
        let (slot, instruction) = self.slot(index)?;
        let frames = cached(&slot.frames, || {
            let frames = instruction.frames()?;
            Ok(frames.iter().map(|frame| Row::new(|texts| Frame::new(texts, frame))).collect())
        })?;
        Ok(frames)
    }

    fn blocks(&self) -> Result<&[Row<Block>]> {
        let blocks = cached(&self.blocks, || {
            let (cfg, (_, stream)) = (self.kernel.blocks()?, self.kernel.stream()?);
            let address = |step| stream.address_of(step);
            let ids = (0..cfg.blocks().len()).filter_map(|it| cfg.blocks().id(it));
            Ok(ids.map(|id| Row::new(|texts| Block::new(texts, cfg, id, &address))).collect())
        })?;
        Ok(blocks)
    }

    fn lines(&self) -> Result<&[Row<Line>]> {
        let lines = cached(&self.lines, || {
            let mut lines: BTreeMap<(&str, u32), Vec<usize>> = BTreeMap::new();
            for instruction in self.kernel.instructions()? {
                let Some(location) = instruction.location()? else { continue };
                let Some(line) = location.line else { continue };
                lines.entry((location.file, line)).or_default().push(instruction.index());
            }
            let row = |((file, line), instructions): ((&str, u32), Vec<usize>)| {
                Row::new(|texts| {
                    let (instructions, instruction_count) = texts.items(instructions);
                    Line { file: texts.keep(file), line, instructions, instruction_count }
                })
            };
            Ok(lines.into_iter().map(row).collect())
        })?;
        Ok(lines)
    }
}

impl Frame {
    fn new(texts: &mut Texts, frame: &dwarf::Frame<'_>) -> Self {
        let (function, place) = (frame.function.as_deref(), frame.location.as_ref());
        Frame {
            function: texts.keep_some(function),
            demangled: texts.keep_some(function.map(demangled).as_deref()),
            file: texts.keep_some(place.map(|it| it.file)),
            line: place.and_then(|it| it.line).unwrap_or(0),
            column: place.and_then(|it| it.column).unwrap_or(0),
        }
    }
}

impl Block {
    fn new(
        texts: &mut Texts,
        cfg: &Cfg,
        id: hsaco::analysis::BlockId,
        address: &dyn Fn(usize) -> u64,
    ) -> Self {
        let block = &cfg.blocks()[id];
        let (successors, successor_count) =
            texts.items(cfg.successors(id).map(Id::index).collect());
        let (predecessors, predecessor_count) =
            texts.items(cfg.predecessors(id).map(Id::index).collect());
        Block {
            index: id.index(),
            start: address(block.first),
            end: address(block.end),
            first_instruction: block.first,
            instruction_count: block.end.saturating_sub(block.first),
            successors,
            successor_count,
            predecessors,
            predecessor_count,
            exit: match block.exit {
                None => BlockExit::None,
                Some(Exit::End) => BlockExit::End,
                Some(Exit::Return) => BlockExit::Return,
                Some(Exit::Outside(_)) => BlockExit::Outside,
                Some(Exit::Unknown) => BlockExit::Unknown,
            },
        }
    }
}

/// What a kernel is and what it needs. It lives as long as the handle. Decodes nothing.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_kernel_get_info(
    kernel: *const Kernel,
    info: *mut *const KernelInfo,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::row(info, "info") }?;
        out.set(handle::get(kernel)?.info()?.as_ptr());
        Ok(())
    })
}

/// The code of a kernel. hsaco_buffer_free takes it back.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_kernel_code(
    kernel: *const Kernel,
    code: *mut *mut Buffer,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::handle(code, "code") }?;
        let code = handle::get(kernel)?.kernel.code()?;
        out.set(Buffer::handle(code.as_ref().to_vec()));
        Ok(())
    })
}

/// How many instructions a kernel has. Decodes it, the first time.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_kernel_instruction_count(
    kernel: *const Kernel,
    count: *mut usize,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::new(count, "count", 0) }?;
        out.set(handle::get(kernel)?.slots()?.len());
        Ok(())
    })
}

/// The instruction of that number, in the order of their addresses; HSACO_STATUS_NOT_FOUND behind the last. It lives as
/// long as the handle. Decodes the kernel, the first time.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_kernel_instruction(
    kernel: *const Kernel,
    index: usize,
    instruction: *mut *const Instruction,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::row(instruction, "instruction") }?;
        let kernel = handle::get(kernel)?;
        let (slot, instruction) = kernel.slot(index)?;
        out.set(slot.instruction.get_or_init(|| Instruction::row(&instruction)).as_ptr());
        Ok(())
    })
}

/// The place in the source that an instruction comes from; null where nothing says, which is no failure. It lives as long
/// as the handle. Reads the debug information of the object, the first time.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_kernel_location(
    kernel: *const Kernel,
    index: usize,
    location: *mut *const Location,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::row(location, "location") }?;
        let kernel = handle::get(kernel)?;
        let (slot, instruction) = kernel.slot(index)?;
        let found = cached(&slot.location, || {
            let row = |it: dwarf::Location<'_>| {
                Row::new(|texts| Location {
                    file: texts.keep(it.file),
                    line: it.line.unwrap_or(0),
                    column: it.column.unwrap_or(0),
                })
            };
            Ok(instruction.location()?.map(row))
        })?;
        out.set(found.as_ref().map_or(ptr::null(), Row::as_ptr));
        Ok(())
    })
}

/// A function that an instruction is in, those inlined first; HSACO_STATUS_NOT_FOUND behind the last. It lives as long as
/// the handle.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_kernel_frame(
    kernel: *const Kernel,
    instruction: usize,
    index: usize,
    frame: *mut *const Frame,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::row(frame, "frame") }?;
        let kernel = handle::get(kernel)?;
        out.set(row_at(kernel.frames(instruction)?, index, "frame")?);
        Ok(())
    })
}

/// How many blocks a kernel has. Decodes it, the first time.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_kernel_block_count(
    kernel: *const Kernel,
    count: *mut usize,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::new(count, "count", 0) }?;
        out.set(handle::get(kernel)?.blocks()?.len());
        Ok(())
    })
}

/// The block of that number, in the order of their addresses; HSACO_STATUS_NOT_FOUND behind the last. It lives as long as
/// the handle. Decodes the kernel, the first time.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_kernel_block(
    kernel: *const Kernel,
    index: usize,
    block: *mut *const Block,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::row(block, "block") }?;
        out.set(row_at(handle::get(kernel)?.blocks()?, index, "block")?);
        Ok(())
    })
}

/// How many source lines the code of a kernel comes from, those of inlined functions included; 0 without debug
/// information. Decodes the kernel, the first time.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_kernel_line_count(
    kernel: *const Kernel,
    count: *mut usize,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::new(count, "count", 0) }?;
        out.set(handle::get(kernel)?.lines()?.len());
        Ok(())
    })
}

/// The source line of that number, sorted by file and line; HSACO_STATUS_NOT_FOUND behind the last. It lives as long as
/// the handle.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_kernel_line(
    kernel: *const Kernel,
    index: usize,
    line: *mut *const Line,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::row(line, "line") }?;
        out.set(row_at(handle::get(kernel)?.lines()?, index, "line")?);
        Ok(())
    })
}

/// Takes a kernel back; null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn hsaco_kernel_free(kernel: *mut Kernel) -> Status {
    handle::free(kernel)
}
