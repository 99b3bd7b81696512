//! The JSON that programs rely on, version 1: a shape of its own for each answer.

use std::io::Write;

use anyhow::Result;
pub(crate) use hsaco::bytes::SCHEMA_VERSION;
use hsaco::container::Entry;
use serde::Serialize;

/// An entry of a container that holds no device code.
#[derive(Serialize)]
pub(crate) struct OtherEntry {
    pub(crate) entry_id: Option<String>,
    pub(crate) offset: Option<u64>,
    pub(crate) size: u64,
}

impl OtherEntry {
    pub(crate) fn new(entry: &Entry<'_>) -> Self {
        let (entry_id, offset) = (entry.id.clone(), entry.offset);
        Self { entry_id, offset, size: entry.data.len() as u64 }
    }
}

/// Writes `{"schema_version":1,"files":[…]}` file by file and object by object, so that no more than
/// one object's answer is in memory.
#[derive(Default)]
pub(crate) struct FileStream {
    files: usize,
    objects: usize,
    others: Vec<OtherEntry>,
    /// The beginning of a file that is not written yet.
    begun: Vec<u8>,
    /// Whether files of which no object is shown are left out.
    leaves_out_empty: bool,
}

impl FileStream {
    pub(crate) fn begin(&self, out: &mut dyn Write) -> Result<()> {
        Ok(write!(out, "{{\"schema_version\":{SCHEMA_VERSION},\"files\":[")?)
    }

    /// The same; with true, files of which no object is shown are left out, unless something is wrong with them.
    pub(crate) fn leaving_out_empty(self, leaves_out_empty: bool) -> Self {
        Self { leaves_out_empty, ..self }
    }

    pub(crate) fn begin_file(&mut self, path: &str, container: Option<&str>) -> Result<()> {
        self.objects = 0;
        self.begun.clear();
        self.begun.extend_from_slice(if self.files == 0 { b"{" } else { b",{" });
        member(&mut self.begun, "path", path)?;
        self.begun.push(b',');
        member(&mut self.begun, "container", &container)?;
        self.begun.extend_from_slice(b",\"objects\":[");
        Ok(())
    }

    fn write_begun(&mut self, out: &mut dyn Write) -> Result<()> {
        if !self.begun.is_empty() {
            out.write_all(&std::mem::take(&mut self.begun))?;
            self.files += 1;
        }
        Ok(())
    }

    /// Begins an object; its JSON is what is written next.
    pub(crate) fn begin_object(&mut self, out: &mut dyn Write) -> Result<()> {
        self.write_begun(out)?;
        if self.objects > 0 {
            out.write_all(b",")?;
        }
        self.objects += 1;
        Ok(())
    }

    pub(crate) fn other(&mut self, entry: OtherEntry) {
        self.others.push(entry);
    }

    pub(crate) fn end_file(&mut self, out: &mut dyn Write, error: Option<&str>) -> Result<()> {
        let others = std::mem::take(&mut self.others);
        if self.leaves_out_empty && self.objects == 0 && error.is_none() {
            return Ok(());
        }
        self.write_begun(out)?;
        out.write_all(b"],")?;
        member(out, "other_entries", &others)?;
        out.write_all(b",")?;
        member(out, "error", &error)?;
        out.write_all(b"}")?;
        Ok(())
    }

    /// Writes a file whose answer is one value.
    pub(crate) fn file(&mut self, out: &mut dyn Write, file: &impl Serialize) -> Result<()> {
        if self.files > 0 {
            out.write_all(b",")?;
        }
        self.files += 1;
        Ok(serde_json::to_writer(out, file)?)
    }

    pub(crate) fn end(&self, out: &mut dyn Write) -> Result<()> {
        out.write_all(b"]}\n")?;
        Ok(())
    }
}

fn member(out: &mut dyn Write, key: &str, value: &(impl Serialize + ?Sized)) -> Result<()> {
    write!(out, "\"{key}\":")?;
    serde_json::to_writer(out, value)?;
    Ok(())
}
