//! The rules that LLVM's verifier holds a metadata document to.
//!
//! What breaks them still loads: real libraries do. `hsaco notes` marks such a document as
//! `llvm-readelf` does; everything else reads what is there.
//!
//! Derived from LLVM's AMDGPU metadata verifier (Apache-2.0 WITH LLVM-exception).

use hsaco_bytes::{Error, Result};

use crate::metadata::ValueKind;
use crate::msgpack::{Head, Map, Reader, Value};

use super::key::Shape::{Any, Integers, Kernels, Texts};
use super::key::{Key, Keys, Shape, Table, keys};
use super::{CONTEXT, argument, kernel};

static ROOT: &Table<()> = &keys! {
    MUST "amdhsa.kernels" Kernels, ();
    MAY "amdhsa.printf" Texts, ();
    MAY "amdhsa.target" Any, ();
    MUST "amdhsa.version" Integers(2), ();
};

/// Holds a metadata document to LLVM's rules; the error says which one it breaks.
///
/// ```
/// use hsaco_object::{metadata, msgpack::Value};
/// let empty = Value::parse(b"\x80").unwrap();
/// assert!(metadata::verify(empty).unwrap_err().to_string().contains("no amdhsa.kernels"));
/// ```
pub fn verify(document: Value<'_>) -> Result<()> {
    let Some(root) = document.as_map() else { return Err(no_map(document)) };
    let mut verifier = Verifier::default();
    verifier.entries(root, ROOT)?;
    verifier.broken.map_or(Ok(()), |broken| Err(broken.error))
}

/// A rule that a document breaks.
#[derive(Clone, Debug)]
pub struct Broken {
    /// Which, and where.
    pub error: Error,
    /// The key that the map at that place lacks, if that is the matter.
    pub missing: Option<&'static str>,
}

/// Reads a document that stands at `offset` of a file, all of it and once, and holds it to LLVM's rules: gives the
/// first that it breaks. The error says why it cannot be read, as [`Value::parse_at`] would.
///
/// ```
/// use hsaco_object::metadata;
/// assert!(metadata::verify_at(b"\x81", 0).is_err());
/// let broken = metadata::verify_at(b"\x80", 0).unwrap().unwrap();
/// assert_eq!(broken.missing, Some("amdhsa.kernels"));
/// ```
pub fn verify_at(data: &[u8], offset: u64) -> Result<Option<Broken>> {
    let mut reader = Reader::new(data, offset);
    let mut verifier = Verifier::default();
    verifier.map(&mut reader, ROOT, no_map)?;
    reader.finish()?;
    Ok(verifier.broken)
}

fn no_map(root: Value<'_>) -> Error {
    let kind = root.kind_name();
    Error::new(hsaco_bytes::ErrorKind::Malformed, CONTEXT, format!("the root is {kind}, not a map"))
}

/// What breaks a rule does not stop the reading.
#[derive(Default)]
struct Verifier {
    /// The first rule that is broken.
    broken: Option<Broken>,
}

impl Verifier {
    #[cold]
    fn breaks(&mut self, error: Error) {
        self.broken.get_or_insert(Broken { error, missing: None });
    }

    #[cold]
    fn lacks(&mut self, key: &'static str, map: u64) {
        let error = Error::malformed(CONTEXT, map, format!("no {key}"));
        self.broken.get_or_insert(Broken { error, missing: Some(key) });
    }

    /// Reads a map; `wrong` says what it is if it is none.
    fn map<R>(
        &mut self,
        reader: &mut Reader<'_>,
        table: &'static Table<R>,
        wrong: impl FnOnce(Value<'_>) -> Error,
    ) -> Result<()> {
        let start = *reader;
        if let Head::Map(count) = reader.head()? {
            let end = self.entries(Map::new(count, reader)?, table)?;
            reader.seek(end.position());
            return Ok(());
        }
        *reader = start;
        let value = reader.checked_value()?;
        self.breaks(wrong(value));
        Ok(())
    }

    /// Reads the entries of a map; gives the cursor behind them.
    fn entries<'a, R>(&mut self, map: Map<'a>, table: &'static Table<R>) -> Result<Reader<'a>> {
        let (mut reader, count) = map.items();
        let mut keys = Keys::new(table);
        let mut unknown = 0;
        for _ in 0..count {
            let name = reader.key()?;
            match keys.find(name, reader.offset())? {
                Some(key) => self.value(&mut reader, key)?,
                None => {
                    reader.checked_value()?;
                    unknown += 1;
                }
            }
        }
        if unknown > 1 {
            map.check_keys()?;
        }
        if let Some(key) = keys.missing() {
            self.lacks(key.name, map.offset());
        }
        Ok(reader)
    }

    fn value<R>(&mut self, reader: &mut Reader<'_>, key: &Key<R>) -> Result<()> {
        match key.shape {
            Shape::Kernels => return self.maps(reader, key, kernel::KEYS),
            Shape::Arguments => return self.maps(reader, key, argument::KEYS),
            _ => {}
        }
        let offset = reader.offset();
        let value = reader.checked_value()?;
        if !key.shape.fits(value) {
            self.breaks(key.wrong(offset, value));
        }
        Ok(())
    }

    /// Reads an array of maps.
    fn maps<R, S>(
        &mut self,
        reader: &mut Reader<'_>,
        key: &Key<R>,
        table: &'static Table<S>,
    ) -> Result<()> {
        let start = *reader;
        let Head::Array(count) = reader.head()? else {
            *reader = start;
            let value = reader.checked_value()?;
            self.breaks(key.wrong(start.offset(), value));
            return Ok(());
        };
        let mut items = reader.inside()?;
        for _ in 0..count {
            let offset = items.offset();
            let wrong = |item: Value<'_>| {
                let (name, kind) = (key.name, item.kind_name());
                Error::malformed(CONTEXT, offset, format!("{name} holds {kind}, and maps are due"))
            };
            self.map(&mut items, table, wrong)?;
        }
        reader.seek(items.position());
        Ok(())
    }
}

impl Shape {
    /// Whether a value is what it should be.
    #[inline]
    fn fits(self, value: Value<'_>) -> bool {
        match (self, value) {
            (Shape::Any, _)
            | (Shape::Text, Value::Str(_))
            | (Shape::Integer, Value::Int(_) | Value::UInt(_))
            | (Shape::Boolean, Value::Bool(_)) => true,
            (Shape::Word(words), Value::Str(text)) => words.iter().any(|&word| text == word),
            (Shape::ValueKind, Value::Str(text)) => {
                !matches!(ValueKind::from_name(text), ValueKind::Other(_))
            }
            (Shape::Integers(count), Value::Array(array)) => {
                array.len() == count
                    && array.iter().all(|it| it.is_ok_and(|it| Shape::Integer.fits(it)))
            }
            (Shape::Texts, Value::Array(array)) => {
                array.iter().all(|it| it.is_ok_and(|it| Shape::Text.fits(it)))
            }
            _ => false,
        }
    }
}

impl<R> Key<R> {
    /// What to say of a value that does not fit.
    #[cold]
    fn wrong(&self, offset: u64, value: Value<'_>) -> Error {
        let (name, kind) = (self.name, value.kind_name());
        let expected = match (self.shape, value) {
            (Shape::Word(_) | Shape::ValueKind, Value::Str(text)) => {
                let detail = format!("{name} has the unknown value '{text}'");
                return Error::malformed(CONTEXT, offset, detail);
            }
            (Shape::Integers(count), _) => format!("an array of {count} integers"),
            (Shape::Any, _) => "anything".to_owned(),
            (Shape::Text | Shape::Word(_) | Shape::ValueKind, _) => "a string".to_owned(),
            (Shape::Integer, _) => "an integer".to_owned(),
            (Shape::Boolean, _) => "a boolean".to_owned(),
            (Shape::Texts, Value::Array(_)) => "an array of strings".to_owned(),
            (Shape::Texts | Shape::Kernels | Shape::Arguments, _) => "an array".to_owned(),
        };
        Error::malformed(CONTEXT, offset, format!("{name} is {kind}, not {expected}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted() {
        let root: Vec<_> = ROOT.keys.iter().map(|key| key.name).collect();
        let kernel: Vec<_> = kernel::KEYS.keys.iter().map(|key| key.name).collect();
        let argument: Vec<_> = argument::KEYS.keys.iter().map(|key| key.name).collect();
        for names in [root, kernel, argument] {
            assert!(names.is_sorted(), "{names:?}");
        }
    }

    /// What is read in one pass is judged as what is read first and held to the rules then.
    #[test]
    fn documents_are_refused_as_they_are_when_parsed_first() {
        let whole: &[u8] =
            b"\x83\xaeamdhsa.kernels\x92\x82\xa5.name\xa1k\xa5.args\x91\x81\xa5.size\xa1x\x01\
              \xa1x\x81\xa1y\x01\xa1z\x02";
        for end in 0..=whole.len() {
            for flipped in 0..=whole.len() {
                let mut bytes = whole.get(..end).unwrap_or_default().to_vec();
                if let Some(byte) = bytes.get_mut(flipped) {
                    *byte ^= 0x20;
                }
                let first = Value::parse_at(&bytes, 0).map(|it| verify(it).is_ok());
                let once = verify_at(&bytes, 0).map(|it| it.is_none());
                assert_eq!(once.ok(), first.ok(), "{bytes:02x?}");
            }
        }
    }
}
