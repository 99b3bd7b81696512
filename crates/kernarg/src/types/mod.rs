//! What an argument is made of, as far as it is known: the neutral description that debug information,
//! OpenCL's type names and a caller's own knowledge are all put into.

mod decode;
mod encode;

use std::fmt;

/// The type of an argument.
///
/// ```
/// use hsaco_kernarg::{Datum, Float, RecordMember, RecordType, ValueType};
/// let pair = ValueType::Record(RecordType::new(8, vec![
///     RecordMember::new("count", 0, ValueType::integer(4, true)),
///     RecordMember::new("scale", 4, ValueType::Float(Float::F32)),
/// ]));
/// let value = Datum::Record(vec![
///     ("scale".to_owned(), Datum::Float(0.5)),
///     ("count".to_owned(), Datum::Integer(-1)),
/// ]);
/// let bytes = pair.encode(&value)?;
/// assert_eq!(bytes, [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0x3f]);
/// assert_eq!(pair.decode(&bytes).to_string(), "{count: -1, scale: 0.5}");
/// # Ok::<(), hsaco_bytes::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ValueType {
    /// A truth value of one byte.
    Bool,
    /// A number of 1, 2, 4, 8 or 16 bytes.
    Integer {
        /// Size in bytes.
        size: u32,
        /// Whether it may be negative.
        signed: bool,
    },
    /// A floating-point number.
    Float(Float),
    /// An address: of 8 bytes, in LDS of 4.
    Pointer {
        /// Size in bytes.
        size: u32,
    },
    /// Several of one type.
    Array {
        /// The type of an element.
        of: Box<ValueType>,
        /// Number of elements.
        count: u32,
        /// Bytes in all: vectors of three have the size of four.
        size: u32,
    },
    /// A structure or union.
    Record(RecordType),
    /// Bytes of which no more is known.
    Opaque {
        /// Size in bytes.
        size: u32,
    },
}

/// The floating-point formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Float {
    /// Half precision (IEEE 754).
    F16,
    /// Half precision with the exponent of single precision.
    Bf16,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

/// A structure or union.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RecordType {
    /// Bytes in all.
    pub size: u32,
    /// Whether a value has one of its members rather than all.
    pub is_union: bool,
    /// Its members.
    pub members: Vec<RecordMember>,
}

/// A member of a record. One without a name is a base or an anonymous record: its members count as the record's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RecordMember {
    /// Its name.
    pub name: Option<Box<str>>,
    /// Where it begins.
    pub offset: u32,
    /// Its type.
    pub ty: ValueType,
    /// Which bits it is, if it is no whole number of bytes: the lowest, counted from the record's, and how many.
    pub bits: Option<(u32, u32)>,
}

/// A value of any type, as people and JSON write it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Datum {
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Integer(i128),
    /// A number with a fraction.
    Float(f64),
    /// Bytes as they stand.
    Bytes(Vec<u8>),
    /// Elements of an array or vector.
    List(Vec<Datum>),
    /// Members of a record.
    Record(Vec<(String, Datum)>),
}

impl Float {
    /// Its size.
    pub const fn size(self) -> u32 {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// Its name, as on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

impl RecordType {
    /// A structure.
    #[must_use]
    pub fn new(size: u32, members: Vec<RecordMember>) -> Self {
        Self { size, is_union: false, members }
    }

    /// A union.
    #[must_use]
    pub fn union(size: u32, members: Vec<RecordMember>) -> Self {
        Self { size, is_union: true, members }
    }
}

impl RecordMember {
    /// A member of whole bytes.
    #[must_use]
    pub fn new(name: &str, offset: u32, ty: ValueType) -> Self {
        Self { name: Some(name.into()), offset, ty, bits: None }
    }

    /// A base or an anonymous record.
    #[must_use]
    pub fn anonymous(offset: u32, ty: ValueType) -> Self {
        Self { name: None, offset, ty, bits: None }
    }

    /// A bit-field: its lowest bit, counted from the record's, and how many.
    #[must_use]
    pub fn bit_field(name: Option<&str>, ty: ValueType, low: u32, width: u32) -> Self {
        Self { name: name.map(Into::into), offset: low / 8, ty, bits: Some((low, width)) }
    }
}

/// What the words for numbers stand for, those of the command line and those of OpenCL.
#[rustfmt::skip]
const WORDS: &[(&str, ValueType)] = &[
    ("bool", ValueType::Bool),
    ("i8", ValueType::integer(1, true)),    ("char", ValueType::integer(1, true)),
    ("u8", ValueType::integer(1, false)),   ("uchar", ValueType::integer(1, false)),
    ("i16", ValueType::integer(2, true)),   ("short", ValueType::integer(2, true)),
    ("u16", ValueType::integer(2, false)),  ("ushort", ValueType::integer(2, false)),
    ("i32", ValueType::integer(4, true)),   ("int", ValueType::integer(4, true)),
    ("u32", ValueType::integer(4, false)),  ("uint", ValueType::integer(4, false)),
    ("i64", ValueType::integer(8, true)),   ("long", ValueType::integer(8, true)),
    ("u64", ValueType::integer(8, false)),  ("ulong", ValueType::integer(8, false)),
    ("i128", ValueType::integer(16, true)), ("u128", ValueType::integer(16, false)),
    ("f16", ValueType::Float(Float::F16)),  ("half", ValueType::Float(Float::F16)),
    ("bf16", ValueType::Float(Float::Bf16)),
    ("f32", ValueType::Float(Float::F32)),  ("float", ValueType::Float(Float::F32)),
    ("f64", ValueType::Float(Float::F64)),  ("double", ValueType::Float(Float::F64)),
    ("ptr", ValueType::Pointer { size: 8 }),
];

impl ValueType {
    /// A number.
    pub const fn integer(size: u32, signed: bool) -> Self {
        Self::Integer { size, signed }
    }

    /// Several of one type, one after the other.
    #[must_use]
    pub fn array(of: Self, count: u32) -> Self {
        let size = of.size().saturating_mul(count);
        Self::Array { of: Box::new(of), count, size }
    }

    /// A vector: as an array, with the size of the next power of two.
    #[must_use]
    pub fn vector(of: Self, count: u32) -> Self {
        let lanes = count.checked_next_power_of_two().unwrap_or(count);
        let size = of.size().saturating_mul(lanes);
        Self::Array { of: Box::new(of), count, size }
    }

    /// The type of a word: `f32`, `u8`, `ptr`; with a count a vector: `f32x4`, OpenCL's `float4`.
    ///
    /// ```
    /// use hsaco_kernarg::{Float, ValueType};
    /// assert_eq!(ValueType::from_word("bf16"), Some(ValueType::Float(Float::Bf16)));
    /// assert_eq!(ValueType::from_word("float3"), Some(ValueType::vector(ValueType::Float(Float::F32), 3)));
    /// assert_eq!(ValueType::from_word("i32x4"), ValueType::from_word("int4"));
    /// assert_eq!(ValueType::from_word("Matrix"), None);
    /// ```
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        let plain = |word: &str| WORDS.iter().find(|it| it.0 == word).map(|it| it.1.clone());
        if let Some(ty) = plain(word) {
            return Some(ty);
        }
        let base = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let lanes: u32 =
            word.get(base.len()..)?.parse().ok().filter(|it| (2..=256).contains(it))?;
        let named = base.strip_suffix('x').filter(|it| it.ends_with(|c: char| c.is_ascii_digit()));
        let spelled = Some(base).filter(|it| it.len() > 3 || matches!(*it, "int"));
        Some(Self::vector(plain(named.or(spelled)?)?, lanes))
    }

    /// What is known of an argument by its size alone.
    #[must_use]
    pub const fn unknown(size: u32) -> Self {
        Self::Opaque { size }
    }

    /// Bytes of a value.
    pub const fn size(&self) -> u32 {
        match self {
            Self::Bool => 1,
            Self::Integer { size, .. }
            | Self::Pointer { size }
            | Self::Array { size, .. }
            | Self::Opaque { size } => *size,
            Self::Float(float) => float.size(),
            Self::Record(record) => record.size,
        }
    }

    /// Where addresses stand in a value, counted from `base`.
    pub(crate) fn pointers(&self, base: u32, found: &mut Vec<u32>) {
        match self {
            Self::Pointer { size: 8 } => found.push(base),
            Self::Array { of, count, .. } => {
                for at in 0..*count {
                    of.pointers(base.saturating_add(at.saturating_mul(of.size())), found);
                }
            }
            Self::Record(record) => {
                for member in &record.members {
                    member.ty.pointers(base.saturating_add(member.offset), found);
                }
            }
            _ => {}
        }
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool => f.write_str("bool"),
            Self::Integer { size, signed } => {
                write!(f, "{}{}", if *signed { 'i' } else { 'u' }, size * 8)
            }
            Self::Float(float) => f.write_str(float.name()),
            Self::Pointer { .. } => f.write_str("ptr"),
            Self::Array { of, count, .. } => match **of {
                Self::Array { .. } | Self::Record(_) | Self::Opaque { .. } => {
                    write!(f, "{of}[{count}]")
                }
                _ => write!(f, "{of}x{count}"),
            },
            Self::Record(record) => f.write_str(if record.is_union { "union" } else { "struct" }),
            Self::Opaque { size } => write!(f, "bytes{size}"),
        }
    }
}

impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Bytes(bytes) => {
                f.write_str("hex:")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
            Self::List(items) => {
                f.write_str("[")?;
                for (at, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if at == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Self::Record(members) => {
                f.write_str("{")?;
                for (at, (name, value)) in members.iter().enumerate() {
                    write!(f, "{}{name}: {value}", if at == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
        }
    }
}
