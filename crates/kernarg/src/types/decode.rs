//! Bytes into values: the inverse of encoding.

use super::{Datum, Float, RecordType, ValueType};
use crate::float;

/// How deep records in records are shown; the rest is bytes.
const MAX_DEPTH: u32 = 64;

impl ValueType {
    /// The value of these bytes. What is too short, or is no number of its format, stays bytes.
    pub fn decode(&self, bytes: &[u8]) -> Datum {
        self.decode_at(bytes, 0)
    }

    fn decode_at(&self, bytes: &[u8], depth: u32) -> Datum {
        let raw = || Datum::Bytes(bytes.to_vec());
        if bytes.len() != self.size() as usize || depth > MAX_DEPTH {
            return raw();
        }
        match self {
            Self::Bool => match bytes {
                [0] => Datum::Bool(false),
                [1] => Datum::Bool(true),
                _ => raw(),
            },
            Self::Integer { size: 1 | 2 | 4 | 8 | 16, signed } => integer(bytes, *signed),
            Self::Pointer { size: 4 | 8 } | Self::Opaque { size: 1 | 2 | 4 | 8 } => {
                integer(bytes, false)
            }
            Self::Float(format) => decode_float(*format, bytes).map_or_else(raw, Datum::Float),
            Self::Array { of, count, .. } => {
                let items = bytes.chunks_exact((of.size() as usize).max(1)).take(*count as usize);
                Datum::List(items.map(|it| of.decode_at(it, depth + 1)).collect())
            }
            Self::Record(record) => {
                let mut members = Vec::new();
                record.decode(bytes, depth + 1, &mut members);
                Datum::Record(members)
            }
            _ => raw(),
        }
    }
}

fn integer(bytes: &[u8], signed: bool) -> Datum {
    let negative = signed && bytes.last().is_some_and(|it| it >> 7 == 1);
    let mut all = [if negative { 0xff } else { 0 }; 16];
    all.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
    match (signed, i128::from_le_bytes(all)) {
        // An unsigned number of 128 bits that is none of i128.
        (false, value) if value < 0 => Datum::Bytes(bytes.to_vec()),
        (_, value) => Datum::Integer(value),
    }
}

/// The number; none for one that is none, as its payload would be lost.
fn decode_float(format: Float, bytes: &[u8]) -> Option<f64> {
    let mut all = [0; 8];
    all.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
    let bits = u64::from_le_bytes(all);
    let half = u16::try_from(bits).unwrap_or(0);
    let value = match format {
        Float::F16 => float::from_half(half),
        Float::Bf16 => float::from_brain(half),
        Float::F32 => shortest(f32::from_bits(u32::try_from(bits).unwrap_or(0))),
        Float::F64 => f64::from_bits(bits),
    };
    (!value.is_nan()).then_some(value)
}

/// The number of double precision that is written like a single one: 0.1 rather than 0.10000000149011612.
fn shortest(value: f32) -> f64 {
    let written: Option<f64> = format!("{value:e}").parse().ok();
    #[allow(clippy::cast_possible_truncation, reason = "compared with what it came from")]
    let same = |it: &f64| (*it as f32).to_bits() == value.to_bits();
    written.filter(same).unwrap_or(f64::from(value))
}

impl RecordType {
    fn decode(&self, bytes: &[u8], depth: u32, members: &mut Vec<(String, Datum)>) {
        for member in &self.members {
            let part = |size: u32| {
                bytes.get(member.offset as usize..).and_then(|it| it.get(..size as usize))
            };
            let value = match member.bits {
                Some((low, width)) => bit_field(bytes, &member.ty, low, width),
                None => match (&member.name, &member.ty) {
                    (None, ValueType::Record(inner)) => {
                        if let Some(part) = part(inner.size) {
                            inner.decode(part, depth, members);
                        }
                        continue;
                    }
                    (_, ty) => part(ty.size()).map(|part| ty.decode_at(part, depth)),
                },
            };
            if let (Some(name), Some(value)) = (&member.name, value) {
                members.push((name.to_string(), value));
            }
        }
    }
}

fn bit_field(bytes: &[u8], ty: &ValueType, low: u32, width: u32) -> Option<Datum> {
    let mut value = 0_i128;
    for bit in 0..width.min(127) {
        let at = low.checked_add(bit)?;
        value |= i128::from(bytes.get(at as usize / 8)? >> (at % 8) & 1) << bit;
    }
    if matches!(ty, ValueType::Bool) && width == 1 {
        return Some(Datum::Bool(value == 1));
    }
    let signed = matches!(ty, ValueType::Integer { signed: true, .. });
    let top = 1_i128 << width.clamp(1, 127).saturating_sub(1);
    Some(Datum::Integer(if signed && value & top != 0 { value - (top << 1) } else { value }))
}
