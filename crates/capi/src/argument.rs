//! Arguments with their types: metadata joined with debug information.

use std::ffi::{CString, c_char};

use hsaco::dwarf::Spelling;
use hsaco::kernarg::{SpelledArgument, SpelledMember, spell};
use hsaco::object::metadata::OwnedValueKind;

use crate::border::{Out, Row, Texts, row_at, text_at};
use crate::error::{Failure, Status, border, c_string};
use crate::handle::{self, Handle};
use crate::kernel::Kernel;

/// Replaces names of types by what they stand for: a flag of hsaco_kernel_arguments.
pub const ARGUMENTS_RESOLVE_TYPEDEFS: u32 = 1;
/// Writes "struct", "class", "union" and "enum" before names of types: a flag of hsaco_kernel_arguments.
pub const ARGUMENTS_KEYWORDS: u32 = 2;

/// The arguments of a kernel; hsaco_arguments_free takes them back. All functions may be called from any thread.
pub struct Arguments {
    arguments: Vec<Row<Argument>>,
    disagreements: Vec<CString>,
}

impl Handle for Arguments {
    const NAME: &'static str = "list of arguments";
}

/// An argument of a kernel. Numbers that are not known are HSACO_UNKNOWN, text that is not known is null.
#[repr(C)]
#[derive(Debug)]
pub struct Argument {
    /// Its name.
    pub name: *const c_char,
    /// Its type in the words of the source.
    pub type_name: *const c_char,
    /// Where it is in the kernarg segment.
    pub offset: u64,
    /// Its size in bytes.
    pub size: u64,
    /// The alignment of its type.
    pub alignment: u64,
    /// What it holds, as the metadata says it: "global_buffer", "by_value", "hidden_block_count_x".
    pub kind: *const c_char,
    /// Whether the runtime adds it.
    pub is_hidden: bool,
    /// The memory that it points into, as the metadata calls it.
    pub address_space: *const c_char,
    /// Where it is known from: "metadata", "debug" or "both".
    pub source: *const c_char,
    /// The members of a structure that is passed by value.
    pub members: *const *const Member,
    /// How many.
    pub member_count: usize,
    /// The type that a pointer points to.
    pub pointee_type: *const c_char,
    /// The size of that.
    pub pointee_size: u64,
    /// The members of that.
    pub pointee_members: *const *const Member,
    /// How many.
    pub pointee_member_count: usize,
}

/// A member of a structure. Numbers that are not known are HSACO_UNKNOWN, text that is not known is null.
#[repr(C)]
#[derive(Debug)]
pub struct Member {
    /// Its name.
    pub name: *const c_char,
    /// Its type in the words of the source.
    pub type_name: *const c_char,
    /// Where it is in the structure.
    pub offset: u64,
    /// Its size in bytes.
    pub size: u64,
    /// Its alignment.
    pub alignment: u64,
    /// Of a bit field, its first bit.
    pub bit_offset: u64,
    /// Of a bit field, how many bits.
    pub bit_size: u64,
    /// Whether it is a base class.
    pub is_base: bool,
    /// Its own members.
    pub members: *const *const Member,
    /// How many.
    pub member_count: usize,
}

fn known(number: Option<u64>) -> u64 {
    number.unwrap_or(u64::MAX)
}

impl Argument {
    fn new(texts: &mut Texts, it: &SpelledArgument) -> Self {
        let said = &it.argument;
        let (members, member_count) = members(texts, it.members.as_deref());
        let to = it.pointee.as_ref();
        let (pointee_members, pointee_member_count) =
            self::members(texts, to.and_then(|it| it.members.as_deref()));
        Argument {
            name: texts.keep_some(said.name.as_deref()),
            type_name: texts.keep_some(it.ty.as_deref()),
            offset: known(said.offset),
            size: known(said.size),
            alignment: known(said.alignment),
            kind: texts.keep_some(said.kind.as_ref().map(OwnedValueKind::name)),
            is_hidden: said.is_hidden(),
            address_space: texts.keep_some(said.address_space.as_deref()),
            source: texts.keep(said.source.name()),
            members,
            member_count,
            pointee_type: texts.keep_some(to.map(|it| it.ty.as_str())),
            pointee_size: known(to.and_then(|it| it.size)),
            pointee_members,
            pointee_member_count,
        }
    }
}

fn members(texts: &mut Texts, members: Option<&[SpelledMember]>) -> (*const *const Member, usize) {
    let mut all = Vec::new();
    for it in members.unwrap_or_default() {
        let (members, member_count) = self::members(texts, it.members.as_deref());
        let member = Member {
            name: texts.keep_some(it.name.as_deref()),
            type_name: texts.keep(&it.ty),
            offset: known(it.offset),
            size: known(it.size),
            alignment: known(it.alignment),
            bit_offset: known(it.bit_offset),
            bit_size: known(it.bit_size),
            is_base: it.base,
            members,
            member_count,
        };
        all.push(texts.item(member));
    }
    texts.items(all)
}

/// The arguments of a kernel: those of the source in its order, then hidden ones, as its metadata and its debug
/// information have them. `flags` are HSACO_ARGUMENTS_RESOLVE_TYPEDEFS and HSACO_ARGUMENTS_KEYWORDS.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_kernel_arguments(
    kernel: *const Kernel,
    flags: u32,
    arguments: *mut *mut Arguments,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::handle(arguments, "arguments") }?;
        if flags & !(ARGUMENTS_RESOLVE_TYPEDEFS | ARGUMENTS_KEYWORDS) != 0 {
            return Err(Failure::argument(format!("flags are {flags:#x}, which has no meaning")));
        }
        let spelling = Spelling {
            resolve_typedefs: flags & ARGUMENTS_RESOLVE_TYPEDEFS != 0,
            keywords: flags & ARGUMENTS_KEYWORDS != 0,
        };
        let found = handle::get(kernel)?.kernel.arguments()?;
        let arguments = spell(&found, spelling);
        let row = |it: &SpelledArgument| Row::new(|texts| Argument::new(texts, it));
        out.set(handle::new(Arguments {
            arguments: arguments.iter().map(row).collect(),
            disagreements: found.disagreements.iter().map(|it| c_string(&it.to_string())).collect(),
        }));
        Ok(())
    })
}

/// How many arguments there are.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_arguments_count(
    arguments: *const Arguments,
    count: *mut usize,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::new(count, "count", 0) }?;
        out.set(handle::get(arguments)?.arguments.len());
        Ok(())
    })
}

/// The argument of that number; HSACO_STATUS_NOT_FOUND behind the last. It lives as long as the list.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_arguments_get(
    arguments: *const Arguments,
    index: usize,
    argument: *mut *const Argument,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::row(argument, "argument") }?;
        out.set(row_at(&handle::get(arguments)?.arguments, index, "argument")?);
        Ok(())
    })
}

/// Something that metadata and debug information say differently, in words; HSACO_STATUS_NOT_FOUND behind the last. It
/// lives as long as the list. The arguments have what the metadata says.
///
/// # Safety
/// Pointers are as the head of hsaco.h asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaco_arguments_disagreement(
    arguments: *const Arguments,
    index: usize,
    words: *mut *const c_char,
) -> Status {
    border(|| {
        // SAFETY: as this function asks of its caller.
        let out = unsafe { Out::row(words, "words") }?;
        let arguments = handle::get(arguments)?;
        out.set(text_at(&arguments.disagreements, index, "disagreement")?);
        Ok(())
    })
}

/// Takes arguments back; null is fine.
#[unsafe(no_mangle)]
pub extern "C" fn hsaco_arguments_free(arguments: *mut Arguments) -> Status {
    handle::free(arguments)
}
