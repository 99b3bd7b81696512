//! The JSON that programs rely on, version 1: a shape of its own for each answer.

use std::borrow::Cow;
use std::io::Write;

use anyhow::Result;
pub(crate) use hsaco::bytes::SCHEMA_VERSION;
use hsaco::bytes::Str;
use hsaco::container::Entry;
use serde::Serialize;

/// One object of `ls`, up to its kernels.
#[derive(Serialize)]
pub(crate) struct Object<'a> {
    pub(crate) index: usize,
    pub(crate) entry_id: Option<&'a str>,
    pub(crate) offset: Option<u64>,
    pub(crate) size: u64,
    pub(crate) target: Option<&'a str>,
    pub(crate) abi_version: Option<u8>,
    pub(crate) code_object_version: Option<u8>,
    #[serde(rename = "type")]
    pub(crate) kind: &'a str,
}

/// What follows the kernels of an object of `ls`.
#[derive(Default, Serialize)]
pub(crate) struct Others<'a> {
    pub(crate) functions: Vec<Function<'a>>,
    pub(crate) variables: Vec<Variable<'a>>,
}

/// JSON in pieces that follow each other. What is large is made on many threads, and never copied.
pub(crate) type Pieces = Vec<Vec<u8>>;

/// An object whose kernels are JSON already: maps, and commas between them.
pub(crate) fn object(head: &Object<'_>, kernels: Pieces, others: &Others<'_>) -> Result<Pieces> {
    let mut before = serde_json::to_vec(head)?;
    before.pop();
    before.extend_from_slice(b",\"kernels\":[");
    let mut after = b"],".to_vec();
    after.extend(serde_json::to_vec(others)?.iter().skip(1));
    let mut pieces = vec![before];
    pieces.extend(kernels);
    pieces.push(after);
    Ok(pieces)
}

/// One kernel of `ls`; what is not known is null.
#[derive(Serialize)]
pub(crate) struct Kernel<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) demangled: Cow<'a, str>,
    pub(crate) symbol: Option<Cow<'a, str>>,
    pub(crate) descriptor: Option<u64>,
    pub(crate) entry: Option<u64>,
    pub(crate) code_size: Option<u64>,
    pub(crate) vgprs: Option<u64>,
    pub(crate) agprs: Option<u64>,
    pub(crate) sgprs: Option<u64>,
    pub(crate) lds: Option<u64>,
    pub(crate) scratch: Option<u64>,
    pub(crate) kernarg_size: Option<u64>,
    pub(crate) wavefront_size: Option<u64>,
    pub(crate) max_workgroup_size: Option<u64>,
}

impl Kernel<'_> {
    /// Bytes that the JSON is likely to take.
    pub(crate) fn json_size(name: Str<'_>) -> usize {
        const WITHOUT_NAMES: usize = 240;
        const NAMES: usize = 4;
        WITHOUT_NAMES + NAMES * name.as_bytes().len()
    }

    /// Appends the same JSON as [`Serialize`] makes, without a search of every key for what to escape.
    pub(crate) fn push_json(&self, json: &mut Vec<u8>) -> Result<()> {
        let texts = [
            ("{\"name\":", Some(&self.name)),
            (",\"demangled\":", Some(&self.demangled)),
            (",\"symbol\":", self.symbol.as_ref()),
        ];
        for (key, text) in texts {
            json.extend_from_slice(key.as_bytes());
            serde_json::to_writer(&mut *json, &text)?;
        }
        let numbers = [
            (",\"descriptor\":", self.descriptor),
            (",\"entry\":", self.entry),
            (",\"code_size\":", self.code_size),
            (",\"vgprs\":", self.vgprs),
            (",\"agprs\":", self.agprs),
            (",\"sgprs\":", self.sgprs),
            (",\"lds\":", self.lds),
            (",\"scratch\":", self.scratch),
            (",\"kernarg_size\":", self.kernarg_size),
            (",\"wavefront_size\":", self.wavefront_size),
            (",\"max_workgroup_size\":", self.max_workgroup_size),
        ];
        for (key, number) in numbers {
            json.extend_from_slice(key.as_bytes());
            serde_json::to_writer(&mut *json, &number)?;
        }
        json.push(b'}');
        Ok(())
    }
}

/// One device function of `ls`.
#[derive(Serialize)]
pub(crate) struct Function<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) demangled: Cow<'a, str>,
    pub(crate) address: u64,
    pub(crate) size: u64,
}

/// One variable of `ls`.
#[derive(Serialize)]
pub(crate) struct Variable<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) address: u64,
    pub(crate) size: u64,
}

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
    pub(crate) fn begin(out: &mut dyn Write) -> Result<Self> {
        write!(out, "{{\"schema_version\":{SCHEMA_VERSION},\"files\":[")?;
        Ok(Self {
            files: 0,
            objects: 0,
            others: Vec::new(),
            begun: Vec::new(),
            leaves_out_empty: false,
        })
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

    /// Adds an object that is JSON already.
    pub(crate) fn object(&mut self, out: &mut dyn Write, object: &Pieces) -> Result<()> {
        self.begin_object(out)?;
        for piece in object {
            out.write_all(piece)?;
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

    pub(crate) fn end(self, out: &mut dyn Write) -> Result<()> {
        out.write_all(b"]}\n")?;
        Ok(())
    }
}

fn member(out: &mut dyn Write, key: &str, value: &(impl Serialize + ?Sized)) -> Result<()> {
    write!(out, "\"{key}\":")?;
    serde_json::to_writer(out, value)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_the_same_json_either_way() {
        let kernel = Kernel {
            name: "quote\"tab\t".into(),
            demangled: "Stra\u{df}e".into(),
            symbol: None,
            descriptor: Some(u64::MAX),
            entry: None,
            code_size: Some(1),
            vgprs: Some(2),
            agprs: Some(3),
            sgprs: Some(4),
            lds: Some(5),
            scratch: Some(6),
            kernarg_size: Some(7),
            wavefront_size: Some(8),
            max_workgroup_size: Some(9),
        };
        let mut json = Vec::new();
        kernel.push_json(&mut json).unwrap();
        assert_eq!(json, serde_json::to_vec(&kernel).unwrap());
    }
}
