//! JSON that is written member by member: what is long need not be in memory.

use std::io::{self, Write};

use anyhow::Result;
pub(crate) use hsaco::bytes::hex::encode as hex;
use serde::Serialize;

/// Writes an answer that is one value, on a line of its own.
pub(crate) fn document(out: &mut dyn Write, answer: &impl Serialize) -> Result<()> {
    serde_json::to_writer(&mut *out, answer)?;
    Ok(writeln!(out)?)
}

/// A JSON object that is being written.
pub(crate) struct Members<W> {
    out: W,
    comma: &'static str,
}

impl<W: Write> Members<W> {
    pub(crate) fn begin(mut out: W) -> Result<Self> {
        out.write_all(b"{")?;
        Ok(Self { out, comma: "" })
    }

    fn key(&mut self, key: &str) -> Result<()> {
        write!(self.out, "{}\"{key}\":", self.comma)?;
        self.comma = ",";
        Ok(())
    }

    pub(crate) fn member(&mut self, key: &str, value: &(impl Serialize + ?Sized)) -> Result<()> {
        self.key(key)?;
        Ok(serde_json::to_writer(&mut self.out, value)?)
    }

    /// A list whose items, and the commas between them, `write` writes.
    pub(crate) fn list(
        &mut self,
        key: &str,
        write: impl FnOnce(&mut W) -> Result<()>,
    ) -> Result<()> {
        self.key(key)?;
        self.out.write_all(b"[")?;
        write(&mut self.out)?;
        Ok(self.out.write_all(b"]")?)
    }

    pub(crate) fn end(mut self) -> Result<W> {
        self.out.write_all(b"}")?;
        Ok(self.out)
    }
}

/// Bytes in pieces that follow each other. What is large is made on many threads, and never copied.
#[derive(Default)]
pub(crate) struct Pieces(Vec<Vec<u8>>);

impl Pieces {
    /// Appends a piece.
    pub(crate) fn push(&mut self, piece: Vec<u8>) {
        self.0.extend([piece, Vec::new()]);
    }

    pub(crate) fn write_to(&self, out: &mut dyn Write) -> Result<()> {
        Ok(self.0.iter().try_for_each(|piece| out.write_all(piece))?)
    }
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            self.0.push(Vec::new());
        }
        self.0.last_mut().map_or(Ok(0), |last| last.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
