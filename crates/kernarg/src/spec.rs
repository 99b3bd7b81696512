//! Arguments as people write them for a run: numbers with a type, bytes, buffers and what they begin with.

use std::str::FromStr;

use hsaco_bytes::{TextError, hex, memory, number};

use crate::types::ValueType;
use crate::value::Value;

/// An argument as it is written.
///
/// ```
/// use hsaco_kernarg::ArgumentSpec;
/// let ArgumentSpec::Number(number) = "i32:-5".parse()? else { unreachable!() };
/// assert_eq!(number.bytes(), [0xfb, 0xff, 0xff, 0xff]);
/// let ArgumentSpec::Buffer(buffer) = "buf:u16[2]=iota".parse()? else { unreachable!() };
/// assert_eq!(buffer.content(None)?, [0, 0, 1, 0]);
/// # Ok::<(), hsaco_bytes::TextError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum ArgumentSpec {
    /// Bytes of any type.
    Bytes(Vec<u8>),
    /// A number.
    Number(NumberSpec),
    /// A buffer, of which the kernel gets the address.
    Buffer(BufferSpec),
}

/// A number as it is written, with its type.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberSpec {
    element: Element,
    bytes: Vec<u8>,
}

/// An argument as it is written, and perhaps which: `SPEC` or `NAME=SPEC`.
///
/// ```
/// use hsaco_kernarg::GivenArgument;
/// let given: GivenArgument = "n=i32:4".parse()?;
/// assert_eq!(given.name.as_deref(), Some("n"));
/// # Ok::<(), hsaco_bytes::TextError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GivenArgument {
    /// The argument's name; without one, it is the next.
    pub name: Option<String>,
    /// Its value.
    pub spec: ArgumentSpec,
}

/// A buffer as it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct BufferSpec {
    size: usize,
    element: Element,
    content: Content,
}

/// What a buffer begins with.
#[derive(Clone, Debug, PartialEq)]
enum Content {
    /// Zeros, since nothing is said.
    Nothing,
    Zero,
    Iota,
    Random(u64),
    File(String),
}

/// The type of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Integer { bytes: usize, is_signed: bool },
    F16,
    Bf16,
    F32,
    F64,
}

impl Element {
    fn named(name: &str) -> Result<Self, TextError> {
        Ok(match name {
            "i8" => Self::Integer { bytes: 1, is_signed: true },
            "u8" => Self::Integer { bytes: 1, is_signed: false },
            "i16" => Self::Integer { bytes: 2, is_signed: true },
            "u16" => Self::Integer { bytes: 2, is_signed: false },
            "i32" => Self::Integer { bytes: 4, is_signed: true },
            "u32" => Self::Integer { bytes: 4, is_signed: false },
            "i64" => Self::Integer { bytes: 8, is_signed: true },
            "u64" => Self::Integer { bytes: 8, is_signed: false },
            "f16" => Self::F16,
            "bf16" => Self::Bf16,
            "f32" => Self::F32,
            "f64" => Self::F64,
            _ => return Err(TextError::new(format!("no type `{name}`"))),
        })
    }

    fn size(self) -> usize {
        match self {
            Self::Integer { bytes, .. } => bytes,
            Self::F16 | Self::Bf16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// The bits of a whole number: of those that it has bytes for.
    fn whole(self, number: u64) -> u64 {
        #[allow(clippy::cast_precision_loss, reason = "counts up to what a float holds")]
        let float = number as f64;
        match self {
            Self::Integer { .. } => number,
            _ => self.float(float),
        }
    }

    fn float(self, number: f64) -> u64 {
        let half = |value| match value {
            Value::F16(bits) | Value::Bf16(bits) => bits.into(),
            _ => 0,
        };
        match self {
            Self::F16 => half(Value::half(number)),
            Self::Bf16 => half(Value::brain(number)),
            #[allow(clippy::cast_possible_truncation, reason = "rounded to single precision")]
            Self::F32 => (number as f32).to_bits().into(),
            _ => number.to_bits(),
        }
    }

    /// Appends the bytes of an element.
    fn append(self, bits: u64, bytes: &mut Vec<u8>) {
        bytes.extend(bits.to_le_bytes().iter().take(self.size()));
    }

    /// The bytes of an element.
    fn bytes(self, bits: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.append(bits, &mut bytes);
        bytes
    }

    /// The bytes of a number as it is written.
    fn number(self, text: &str) -> Result<Vec<u8>, TextError> {
        let wrong = || TextError::new(format!("`{text}` is no such number"));
        let Element::Integer { bytes, is_signed } = self else {
            return text.parse().map(|it| self.bytes(self.float(it))).map_err(|_| wrong());
        };
        let bits = bytes * 8;
        let half = 1_i128 << (bits - 1);
        let (number, range) = match text.strip_prefix("0x") {
            // What is written in bits may have any of them.
            Some(_) => (number::parse_wide(text).and_then(|it| it.try_into().ok()), 0..2 * half),
            None if is_signed => (text.parse().ok(), -half..half),
            None => (text.parse().ok(), 0..2 * half),
        };
        let number: i128 = number.ok_or_else(wrong)?;
        if !range.contains(&number) {
            let sign = if is_signed { "signed" } else { "unsigned" };
            return Err(TextError::new(format!("{number} is no {sign} number of {bits} bits")));
        }
        Ok(number.to_le_bytes().into_iter().take(bytes).collect())
    }
}

impl NumberSpec {
    /// The number in memory.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Why it is not what a kernel takes that takes this type.
    #[must_use]
    pub fn mismatch(&self, ty: &ValueType) -> Option<String> {
        let is_float = !matches!(self.element, Element::Integer { .. });
        let given = if is_float { "a floating-point number" } else { "an integer" };
        let wanted = match ty {
            ValueType::Float(_) if !is_float => "a floating-point number",
            ValueType::Integer { .. } | ValueType::Bool if is_float => "an integer",
            _ => return None,
        };
        Some(format!("it is {wanted}, and {given} is given (bytes: takes anything)"))
    }
}

impl FromStr for GivenArgument {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        match text.split_once('=') {
            Some((name, spec)) if !name.contains(':') => {
                Ok(Self { name: Some(name.to_owned()), spec: spec.parse()? })
            }
            _ => Ok(Self { name: None, spec: text.parse()? }),
        }
    }
}

impl FromStr for ArgumentSpec {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        const EXPECTED: &str = "expected i32:-5, f32:1.5, bytes:0a0b, buf:4096 or buf:f32[1024]=iota, or one of these after NAME=";
        let (kind, rest) = text.split_once(':').ok_or_else(|| TextError::new(EXPECTED))?;
        match kind {
            "buf" => rest.parse().map(ArgumentSpec::Buffer),
            "bytes" => match hex::decode(rest) {
                Some(bytes) => Ok(ArgumentSpec::Bytes(bytes)),
                None => Err(TextError::new(format!("`{rest}` is no hexadecimal number"))),
            },
            _ => {
                let element = Element::named(kind)?;
                let bytes = element.number(rest)?;
                Ok(ArgumentSpec::Number(NumberSpec { element, bytes }))
            }
        }
    }
}

impl FromStr for BufferSpec {
    type Err = TextError;

    /// Reads `4096`, `f32[1024]`, and either with what it begins with behind `=`.
    fn from_str(text: &str) -> Result<Self, TextError> {
        let (shape, content) = match text.split_once('=') {
            Some((shape, content)) => (shape, content.parse()?),
            None => (text, Content::Nothing),
        };
        let number = |text: &str| {
            text.parse::<usize>().map_err(|_| TextError::new(format!("`{text}` is no size")))
        };
        let (element, count) = match shape.split_once('[') {
            Some((name, rest)) => {
                let element = Element::named(name)?;
                let count = rest.strip_suffix(']');
                (element, number(count.ok_or_else(|| TextError::new("expected buf:TYPE[COUNT]"))?)?)
            }
            None => (Element::Integer { bytes: 1, is_signed: false }, number(shape)?),
        };
        let size = count.checked_mul(element.size());
        let size = size.ok_or_else(|| TextError::new("a buffer of that size"))?;
        Ok(BufferSpec { size, element, content })
    }
}

impl FromStr for Content {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        if let Some(file) = text.strip_prefix('@') {
            return Ok(Content::File(file.to_owned()));
        }
        if let Some(seed) = text.strip_prefix("random:") {
            let wrong = |_| TextError::new(format!("`{seed}` is no seed"));
            return seed.parse().map(Content::Random).map_err(wrong);
        }
        match text {
            "zero" => Ok(Content::Zero),
            "iota" => Ok(Content::Iota),
            _ => Err(TextError::new("expected zero, iota, random:SEED or @FILE")),
        }
    }
}

impl BufferSpec {
    /// How many bytes it has.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// The file that it begins with, if that is one.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        match &self.content {
            Content::File(path) => Some(path),
            _ => None,
        }
    }

    /// Whether it is said what it holds before the kernel runs; if not, it holds zeros.
    ///
    /// ```
    /// use hsaco_kernarg::BufferSpec;
    /// assert!("64=zero".parse::<BufferSpec>().unwrap().is_filled());
    /// assert!(!"64".parse::<BufferSpec>().unwrap().is_filled());
    /// ```
    #[must_use]
    pub fn is_filled(&self) -> bool {
        self.content != Content::Nothing
    }

    /// What it holds before the kernel runs; of a file that it begins with, the caller brings the bytes.
    ///
    /// # Errors
    /// When the file is larger than the buffer, or there is not that much memory.
    pub fn content(&self, file: Option<Vec<u8>>) -> Result<Vec<u8>, TextError> {
        let Self { size, element, .. } = *self;
        let count = size / element.size();
        let mut bytes = Vec::new();
        memory::reserve(&mut bytes, size, "buffer")?;
        match &self.content {
            Content::Nothing | Content::Zero => {}
            Content::Iota => {
                (0..count as u64).for_each(|it| element.append(element.whole(it), &mut bytes));
            }
            Content::Random(seed) => {
                let mut next = random(*seed);
                let mut one = || match element {
                    Element::Integer { .. } => element.whole(next()),
                    // From -1 to 1, in steps that every format holds.
                    #[allow(clippy::cast_precision_loss, reason = "ten bits")]
                    _ => element.float((next() % 2048) as f64 / 1024.0 - 1.0),
                };
                (0..count).for_each(|_| element.append(one(), &mut bytes));
            }
            Content::File(_) => bytes = file.unwrap_or_default(),
        }
        if bytes.len() > size {
            let given = bytes.len();
            return Err(TextError::new(format!("{given} bytes do not fit a buffer of {size}")));
        }
        bytes.resize(size, 0);
        Ok(bytes)
    }
}

/// Numbers that look random and are the same for the same seed: SplitMix64.
fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Result<Vec<u8>, String> {
        match text.parse().map_err(|error: TextError| error.to_string())? {
            ArgumentSpec::Number(number) => Ok(number.bytes),
            ArgumentSpec::Bytes(bytes) => Ok(bytes),
            ArgumentSpec::Buffer(_) => Err("a buffer".to_owned()),
        }
    }

    #[test]
    fn numbers_are_read() {
        assert_eq!(bytes("i32:-5"), Ok(vec![0xfb, 0xff, 0xff, 0xff]));
        assert_eq!(bytes("f16:1"), Ok(vec![0, 0x3c]));
        assert_eq!(bytes("bf16:1"), Ok(vec![0x80, 0x3f]));
        assert_eq!(bytes("u64:7"), Ok(7_u64.to_le_bytes().to_vec()));
        assert_eq!(bytes("i16:0xffff"), Ok(vec![0xff, 0xff]));
        assert_eq!(bytes("f32:-inf"), Ok(f32::NEG_INFINITY.to_le_bytes().to_vec()));
        assert_eq!(bytes("bytes:0a0b"), Ok(vec![10, 11]));
        assert_eq!(bytes("u8:256"), Err("256 is no unsigned number of 8 bits".to_owned()));
        assert_eq!(bytes("u32:-1"), Err("-1 is no unsigned number of 32 bits".to_owned()));
        assert_eq!(bytes("i8:128"), Err("128 is no signed number of 8 bits".to_owned()));
        assert!(bytes("i33:1").is_err() && bytes("7").is_err() && bytes("bytes:0").is_err());
    }

    #[test]
    fn buffers_are_filled() {
        let buffer: BufferSpec = "f32[3]=iota".parse().unwrap();
        let expected = [[0; 4], 1_f32.to_le_bytes(), 2_f32.to_le_bytes()].concat();
        assert_eq!(buffer.content(None), Ok(expected));
        let file: BufferSpec = "4=@x".parse().unwrap();
        assert_eq!(file.content(Some(vec![7])), Ok(vec![7, 0, 0, 0]));
        assert!(file.content(Some(vec![7; 5])).is_err());
        let random =
            |seed| format!("f32[16]=random:{seed}").parse::<BufferSpec>().unwrap().content(None);
        assert_eq!(random(1), random(1));
        assert_ne!(random(1), random(2));
        let huge: BufferSpec = format!("{}", usize::MAX / 2).parse().unwrap();
        assert!(huge.content(None).is_err());
        assert!("buf:f32[3".parse::<ArgumentSpec>().is_err());
        assert!("buf:4=other".parse::<ArgumentSpec>().is_err());
    }

    #[test]
    fn names_come_before_an_equals_sign() {
        let name = |text: &str| text.parse::<GivenArgument>().unwrap().name;
        assert_eq!(name("x=f32:1.5"), Some("x".to_owned()));
        assert_eq!(name("x=buf:4=zero"), Some("x".to_owned()));
        assert_eq!(name("buf:4=zero"), None);
    }

    #[test]
    fn types_that_are_known_must_agree() {
        let mismatch = |text: &str, ty: &ValueType| {
            let ArgumentSpec::Number(number) = text.parse().unwrap() else { return None };
            number.mismatch(ty)
        };
        let float = ValueType::Float(crate::types::Float::F32);
        assert!(mismatch("i32:1", &float).is_some());
        assert!(mismatch("f32:1", &float).is_none());
        assert!(mismatch("f32:1", &ValueType::Integer { size: 4, signed: true }).is_some());
        assert!(mismatch("i32:1", &ValueType::Opaque { size: 4 }).is_none());
    }
}
