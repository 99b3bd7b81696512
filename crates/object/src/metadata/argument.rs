//! What the map of an argument says.

use hsaco_bytes::{Error, Result, Str};

use crate::msgpack::{Entry, Head, Reader};

use super::key::Shape::{Any, Boolean, Integer, Text, ValueKind as Kind, Word};
use super::key::{Keys, Table, keys};
use super::read::{flag, integer, into, kind, string, take};
use super::{CONTEXT, ValueKind};

/// One argument of a kernel.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Argument<'a> {
    /// Where its map begins in the file.
    pub file_offset: u64,
    /// `.offset` in the kernarg segment.
    pub offset: u64,
    /// `.size` in bytes.
    pub size: u64,
    /// `.value_kind`.
    pub value_kind: ValueKind<Str<'a>>,
    /// `.name`.
    pub name: Option<Str<'a>>,
    /// `.type_name`.
    pub type_name: Option<Str<'a>>,
    /// `.value_type`, which LLVM no longer writes.
    pub value_type: Option<Str<'a>>,
    /// `.address_space`.
    pub address_space: Option<Str<'a>>,
    /// `.access`.
    pub access: Option<Str<'a>>,
    /// `.actual_access`.
    pub actual_access: Option<Str<'a>>,
    /// `.pointee_align`.
    pub pointee_align: Option<u64>,
    /// `.align` or `.alignment`, which some producers write.
    pub align: Option<u64>,
    /// `.is_const`.
    pub is_const: Option<bool>,
    /// `.is_restrict`.
    pub is_restrict: Option<bool>,
    /// `.is_volatile`.
    pub is_volatile: Option<bool>,
    /// `.is_pipe`.
    pub is_pipe: Option<bool>,
    /// Keys this crate has no name for, kept as they stand.
    pub unknown: Vec<Entry<'a>>,
}

type Read = for<'a> fn(&mut Argument<'a>, &Entry<'a>) -> Result<()>;

const ACCESS: &[&str] = &["read_only", "write_only", "read_write"];
const SPACES: &[&str] = &["private", "global", "constant", "local", "generic", "region"];

#[rustfmt::skip]
pub(super) static KEYS: &Table<Read> = &keys! {
    MAY  ".access"        Word(ACCESS), into!(access string);
    MAY  ".actual_access" Word(ACCESS), into!(actual_access string);
    MAY  ".address_space" Word(SPACES), into!(address_space string);
    MAY  ".align"         Any,          into!(align integer);
    MAY  ".alignment"     Any,          into!(align integer);
    MAY  ".is_const"      Boolean,      into!(is_const flag);
    MAY  ".is_pipe"       Boolean,      into!(is_pipe flag);
    MAY  ".is_restrict"   Boolean,      into!(is_restrict flag);
    MAY  ".is_volatile"   Boolean,      into!(is_volatile flag);
    MAY  ".name"          Text,         into!(name string);
    MUST ".offset"        Integer,      |it, entry| { it.offset = integer(entry)?; Ok(()) };
    MAY  ".pointee_align" Integer,      into!(pointee_align integer);
    MUST ".size"          Integer,      |it, entry| { it.size = integer(entry)?; Ok(()) };
    MAY  ".type_name"     Text,         into!(type_name string);
    MUST ".value_kind"    Kind,         |it, entry| { it.value_kind = kind(entry)?; Ok(()) };
    MAY  ".value_type"    Any,          into!(value_type string);
};

impl<'a> Argument<'a> {
    /// Reads one argument in one pass and without an allocation: layouts are made of them while a launch waits.
    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self> {
        let start = *reader;
        let at = start.offset();
        let Head::Map(count) = reader.head()? else {
            *reader = start;
            let kind = reader.value()?.kind_name();
            return Err(Error::malformed(CONTEXT, at, format!("an argument is {kind}, not a map")));
        };
        let mut argument = Self::unsaid(at);
        let mut keys = Keys::new(KEYS);
        for _ in 0..count {
            let key = reader.key()?;
            let offset = reader.offset();
            let row = keys.find(key, offset)?;
            let entry = Entry { key, offset, value: reader.value()? };
            match row {
                Some(row) => (row.read)(&mut argument, &entry)?,
                None => argument.unknown.push(entry),
            }
        }
        keys.check_unknown(&argument.unknown)?;
        match keys.missing() {
            Some(key) => Err(missing(at, key.name)),
            None => Ok(argument),
        }
    }

    /// An argument of which nothing is said yet.
    fn unsaid(file_offset: u64) -> Self {
        Self {
            file_offset,
            offset: 0,
            size: 0,
            value_kind: ValueKind::ByValue,
            name: None,
            type_name: None,
            value_type: None,
            address_space: None,
            access: None,
            actual_access: None,
            pointee_align: None,
            align: None,
            is_const: None,
            is_restrict: None,
            is_volatile: None,
            is_pipe: None,
            unknown: Vec::new(),
        }
    }
}

fn missing(at: u64, key: &str) -> Error {
    Error::malformed(CONTEXT, at, format!("an argument has no {key}"))
}

/// What packing arguments takes of a kernel's map. `None` is "not said", never zero.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Segment<'a> {
    /// `.kernarg_segment_size`.
    pub size: Option<u64>,
    /// `.kernarg_segment_align`.
    pub alignment: Option<u64>,
    /// `.args`.
    pub arguments: Option<Vec<Place<'a>>>,
}

/// Where an argument is, and what it holds: an [`Argument`] without what only its reader wants to know.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Place<'a> {
    /// `.offset` in the kernarg segment.
    pub offset: u64,
    /// `.size` in bytes.
    pub size: u64,
    /// `.value_kind`.
    pub value_kind: ValueKind<Str<'a>>,
    /// `.name`.
    pub name: Option<Str<'a>>,
    /// `.type_name`.
    pub type_name: Option<Str<'a>>,
    /// `.value_type`, which LLVM no longer writes.
    pub value_type: Option<Str<'a>>,
}

impl<'a> Place<'a> {
    /// Bytes that an argument's map takes at least.
    const SMALLEST: usize = 24;

    pub(super) fn read_all(reader: &mut Reader<'a>) -> Result<Vec<Self>> {
        let at = reader.offset();
        let Head::Array(count) = reader.head()? else {
            return Err(Error::malformed(CONTEXT, at, ".args is not an array"));
        };
        // A count is no promise, but each argument takes bytes of the file.
        let mut places = Vec::with_capacity((count as usize).min(reader.left() / Self::SMALLEST));
        for _ in 0..count {
            places.push(Self::read(reader)?);
        }
        Ok(places)
    }

    fn read(reader: &mut Reader<'a>) -> Result<Self> {
        let at = reader.offset();
        let Head::Map(count) = reader.head()? else {
            return Err(Error::malformed(CONTEXT, at, "an argument is not a map"));
        };
        let (mut offset, mut size, mut value_kind) = (None, None, None);
        let (mut name, mut type_name, mut value_type) = (None, None, None);
        for _ in 0..count {
            let key = reader.key()?;
            match key.as_bytes() {
                b".offset" => take(&mut offset, key, reader, integer),
                b".size" => take(&mut size, key, reader, integer),
                b".value_kind" => take(&mut value_kind, key, reader, kind),
                b".name" => take(&mut name, key, reader, string),
                b".type_name" => take(&mut type_name, key, reader, string),
                b".value_type" => take(&mut value_type, key, reader, string),
                _ => reader.skip(),
            }?;
        }
        Ok(Self {
            offset: offset.ok_or_else(|| missing(at, ".offset"))?,
            size: size.ok_or_else(|| missing(at, ".size"))?,
            value_kind: value_kind.ok_or_else(|| missing(at, ".value_kind"))?,
            name,
            type_name,
            value_type,
        })
    }
}
