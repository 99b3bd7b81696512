//! The compact protocol of Thrift, as far as Parquet's footer needs it.

/// A structure that is being written.
#[derive(Debug, Default)]
pub(super) struct Struct {
    bytes: Vec<u8>,
    last: i16,
}

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

impl Struct {
    /// The bytes of the structure.
    pub(super) fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }

    pub(super) fn bool(mut self, id: i16, value: bool) -> Self {
        self.field(id, if value { TRUE } else { FALSE });
        self
    }

    pub(super) fn byte(mut self, id: i16, value: u8) -> Self {
        self.field(id, BYTE);
        self.bytes.push(value);
        self
    }

    pub(super) fn i32(mut self, id: i16, value: i32) -> Self {
        self.field(id, I32);
        push_zigzag(&mut self.bytes, value.into());
        self
    }

    pub(super) fn i64(mut self, id: i16, value: i64) -> Self {
        self.field(id, I64);
        push_zigzag(&mut self.bytes, value);
        self
    }

    pub(super) fn text(mut self, id: i16, value: &str) -> Self {
        self.field(id, BINARY);
        push_text(&mut self.bytes, value);
        self
    }

    pub(super) fn structure(mut self, id: i16, value: Self) -> Self {
        self.field(id, STRUCT);
        self.bytes.extend(value.end());
        self
    }

    pub(super) fn structures(mut self, id: i16, values: Vec<Self>) -> Self {
        self.list(id, STRUCT, values.len());
        values.into_iter().for_each(|it| self.bytes.extend(it.end()));
        self
    }

    pub(super) fn i32s(mut self, id: i16, values: &[i32]) -> Self {
        self.list(id, I32, values.len());
        values.iter().for_each(|it| push_zigzag(&mut self.bytes, (*it).into()));
        self
    }

    pub(super) fn texts(mut self, id: i16, values: &[&str]) -> Self {
        self.list(id, BINARY, values.len());
        values.iter().for_each(|it| push_text(&mut self.bytes, it));
        self
    }

    /// Fields come in the order of their ids, none more than 15 after the one before.
    fn field(&mut self, id: i16, ty: u8) {
        let step = u8::try_from(id - self.last).unwrap_or(0);
        debug_assert!((1..=15).contains(&step));
        self.bytes.push(step << 4 | ty);
        self.last = id;
    }

    fn list(&mut self, id: i16, ty: u8, len: usize) {
        self.field(id, LIST);
        match u8::try_from(len) {
            Ok(len) if len < 15 => self.bytes.push(len << 4 | ty),
            _ => {
                self.bytes.push(0xf0 | ty);
                push_varint(&mut self.bytes, len as u64);
            }
        }
    }
}

fn push_text(bytes: &mut Vec<u8>, text: &str) {
    push_varint(bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
}

fn push_zigzag(bytes: &mut Vec<u8>, value: i64) {
    push_varint(bytes, (value << 1 ^ value >> 63).cast_unsigned());
}

/// Seven bits a byte, the lowest first.
pub(super) fn push_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push((value & 0x7f) as u8);
}
