//! Values into bytes.

use hsaco_bytes::{Error, ErrorKind, Result};

use super::{Datum, Float, RecordType, ValueType};
use crate::float;

const CONTEXT: &str = "value";

/// Largest value that is made: an argument segment is far smaller.
const MAX_SIZE: u32 = 1 << 24;

fn mismatch(path: &str, detail: &str) -> Error {
    let detail = if path.is_empty() { detail.to_owned() } else { format!("{path}: {detail}") };
    Error::new(ErrorKind::Mismatch, CONTEXT, detail)
}

impl ValueType {
    /// The bytes of a value. Everything in it must be there once, fit, and be of the right kind; bytes of the right
    /// size stand for anything.
    pub fn encode(&self, value: &Datum) -> Result<Vec<u8>> {
        let size = self.size();
        if size > MAX_SIZE {
            let detail = format!("a type of {size} bytes, more than {MAX_SIZE}");
            return Err(Error::new(ErrorKind::LimitExceeded, CONTEXT, detail));
        }
        let mut bytes = vec![0; size as usize];
        self.encode_into(value, &mut bytes, "")?;
        Ok(bytes)
    }

    fn encode_into(&self, value: &Datum, out: &mut [u8], path: &str) -> Result<()> {
        if let Datum::Bytes(bytes) = value {
            return raw(bytes, out, path);
        }
        match (self, value) {
            (Self::Bool, Datum::Bool(value)) => integer(i128::from(*value), false, out, path),
            (Self::Bool, Datum::Integer(value @ (0 | 1))) => integer(*value, false, out, path),
            (Self::Integer { signed, .. }, Datum::Integer(value)) => {
                integer(*value, *signed, out, path)
            }
            (Self::Integer { signed, .. }, Datum::Bool(value)) => {
                integer(i128::from(*value), *signed, out, path)
            }
            (Self::Pointer { .. }, Datum::Integer(value)) => integer(*value, false, out, path),
            (Self::Float(format), Datum::Float(value)) => {
                encode_float(*format, *value, out);
                Ok(())
            }
            (Self::Float(format), Datum::Integer(value)) => {
                #[allow(clippy::cast_precision_loss, reason = "compared below")]
                let float = *value as f64;
                #[allow(clippy::cast_possible_truncation, reason = "what is compared")]
                if float as i128 != *value {
                    return Err(mismatch(path, &format!("{value} is no number of f64")));
                }
                encode_float(*format, float, out);
                Ok(())
            }
            (Self::Opaque { size: 1 | 2 | 4 | 8 | 16 }, Datum::Integer(value)) => {
                integer(*value, *value < 0, out, path)
            }
            (Self::Opaque { size: 1 }, Datum::Bool(value)) => {
                integer(i128::from(*value), false, out, path)
            }
            (Self::Opaque { size: 4 }, Datum::Float(value)) => {
                encode_float(Float::F32, *value, out);
                Ok(())
            }
            (Self::Opaque { size: 8 }, Datum::Float(value)) => {
                encode_float(Float::F64, *value, out);
                Ok(())
            }
            (Self::Array { of, count, .. }, Datum::List(items)) => {
                list(of, *count, items, out, path)
            }
            (Self::Record(record), Datum::Record(members)) => record.encode(members, out, path),
            _ => Err(mismatch(path, &format!("{} for {}", describe(value), self.wanted()))),
        }
    }

    fn wanted(&self) -> String {
        match self {
            Self::Opaque { size } => {
                format!("{size} bytes of unknown type; say which, or give bytes")
            }
            Self::Pointer { .. } => "a pointer".to_owned(),
            Self::Record(_) => format!("a {self}; members by name"),
            _ => self.to_string(),
        }
    }
}

fn describe(value: &Datum) -> &'static str {
    match value {
        Datum::Bool(_) => "a truth value",
        Datum::Integer(_) => "a whole number",
        Datum::Float(_) => "a number with a fraction",
        Datum::Bytes(_) => "bytes",
        Datum::List(_) => "a list",
        Datum::Record(_) => "members",
    }
}

fn raw(bytes: &[u8], out: &mut [u8], path: &str) -> Result<()> {
    if bytes.len() != out.len() {
        let detail = format!("{} bytes for {}", bytes.len(), out.len());
        return Err(mismatch(path, &detail));
    }
    out.copy_from_slice(bytes);
    Ok(())
}

fn integer(value: i128, signed: bool, out: &mut [u8], path: &str) -> Result<()> {
    let bits = u32::try_from(out.len().saturating_mul(8)).unwrap_or(u32::MAX);
    if !fits(value, signed, bits) {
        let word = if signed { 'i' } else { 'u' };
        return Err(mismatch(path, &format!("{value} does not fit in {word}{bits}")));
    }
    for (place, byte) in out.iter_mut().zip(value.to_le_bytes()) {
        *place = byte;
    }
    Ok(())
}

/// Whether a number has that many bits, in two's complement if `signed`.
fn fits(value: i128, signed: bool, bits: u32) -> bool {
    match signed {
        true if bits >= 128 => true,
        true => bits > 0 && (-(1_i128 << (bits - 1))..1_i128 << (bits - 1)).contains(&value),
        false if bits >= 127 => value >= 0,
        false => (0..1_i128 << bits).contains(&value),
    }
}

fn encode_float(format: Float, value: f64, out: &mut [u8]) {
    #[allow(clippy::cast_possible_truncation, reason = "rounds to the nearest")]
    let bits = match format {
        Float::F16 => u64::from(float::to_half(value)),
        Float::Bf16 => u64::from(float::to_brain(value)),
        Float::F32 => u64::from((value as f32).to_bits()),
        Float::F64 => value.to_bits(),
    };
    for (place, byte) in out.iter_mut().zip(bits.to_le_bytes()) {
        *place = byte;
    }
}

fn list(of: &ValueType, count: u32, items: &[Datum], out: &mut [u8], path: &str) -> Result<()> {
    if items.len() != count as usize {
        return Err(mismatch(path, &format!("{} elements for {count}", items.len())));
    }
    // Elements without a size take no bytes, and cannot be told apart.
    let size = (of.size() as usize).max(1);
    for (at, (item, place)) in items.iter().zip(out.chunks_exact_mut(size)).enumerate() {
        of.encode_into(item, place, &format!("{path}[{at}]"))?;
    }
    Ok(())
}

impl RecordType {
    fn encode(&self, given: &[(String, Datum)], out: &mut [u8], path: &str) -> Result<()> {
        let mut used = vec![false; given.len()];
        let mut missing = Vec::new();
        self.fill(given, &mut used, &mut missing, out, path)?;
        if let Some(((name, _), _)) = given.iter().zip(&used).find(|(_, used)| !**used) {
            return Err(mismatch(
                path,
                &format!("no member is called {name}, or it is given twice"),
            ));
        }
        match missing.is_empty() {
            true => Ok(()),
            false => Err(mismatch(path, &format!("members are missing: {}", missing.join(", ")))),
        }
    }

    /// Writes the members that are given, those of unnamed members included. Says whether any was.
    fn fill(
        &self,
        given: &[(String, Datum)],
        used: &mut [bool],
        missing: &mut Vec<String>,
        out: &mut [u8],
        path: &str,
    ) -> Result<bool> {
        let mut any = false;
        let mut lacking = Vec::new();
        for member in &self.members {
            let Some(name) = member.name.as_deref() else {
                if let ValueType::Record(inner) = &member.ty {
                    let place = place(out, member.offset, inner.size, path)?;
                    any |= inner.fill(given, used, &mut lacking, place, path)?;
                }
                continue;
            };
            let found =
                given.iter().zip(used.iter_mut()).find(|((key, _), used)| key == name && !**used);
            let Some(((_, value), used)) = found else {
                lacking.push(name.to_owned());
                continue;
            };
            if self.is_union && any {
                return Err(mismatch(path, "more than one member of a union"));
            }
            (*used, any) = (true, true);
            let inner = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            match member.bits {
                Some((low, width)) => {
                    bit_field(value, &member.ty, low, width, out, &inner)?;
                }
                None => {
                    let place = place(out, member.offset, member.ty.size(), path)?;
                    member.ty.encode_into(value, place, &inner)?;
                }
            }
        }
        // Of a union one member is enough.
        if !(self.is_union && any) {
            missing.append(&mut lacking);
        }
        Ok(any)
    }
}

fn place<'o>(out: &'o mut [u8], offset: u32, size: u32, path: &str) -> Result<&'o mut [u8]> {
    let place = out.get_mut(offset as usize..).and_then(|it| it.get_mut(..size as usize));
    place.ok_or_else(|| mismatch(path, "a member is outside of its structure"))
}

fn bit_field(
    value: &Datum,
    ty: &ValueType,
    low: u32,
    width: u32,
    out: &mut [u8],
    path: &str,
) -> Result<()> {
    let value = match value {
        Datum::Integer(value) => *value,
        Datum::Bool(value) => i128::from(*value),
        other => return Err(mismatch(path, &format!("{} for {width} bits", describe(other)))),
    };
    let signed = matches!(ty, ValueType::Integer { signed: true, .. });
    if !fits(value, signed, width) {
        return Err(mismatch(path, &format!("{value} does not fit in {width} bits")));
    }
    for bit in 0..width {
        let at = low.saturating_add(bit);
        let place = out.get_mut(at as usize / 8);
        let place = place.ok_or_else(|| mismatch(path, "a member is outside of its structure"))?;
        let one = 1 << (at % 8);
        *place = if value >> bit & 1 == 1 { *place | one } else { *place & !one };
    }
    Ok(())
}
