//! The file: a page that needs nothing from elsewhere, with all data in it.
//!
//! Data is compressed and in base64, so that nothing of it can be taken for a part of the page. The policy of the page
//! lets it load nothing, and run and show only what this crate wrote, by the digests of both.

use std::io::{self, Write};

use hsaco_bytes::escape::Xml;
use hsaco_bytes::{SCHEMA_VERSION, hex};
use hsaco_compress::{Method, compress};
use hsaco_describe::mix::Class;
use hsaco_patch::Digest;
use serde::Serialize;

use crate::chunk::Chunk;
use crate::compare::{OlderFiles, Summary};
use crate::object::{ObjectHead, ObjectPages};
use crate::overview::Row;

const STYLE: &str = include_str!("../page/style.css");
/// The page's programs, in the order in which they need each other.
const SCRIPTS: [&str; 11] = [
    include_str!("../page/dom.js"),
    include_str!("../page/data.js"),
    include_str!("../page/chart.js"),
    include_str!("../page/overview.js"),
    include_str!("../page/code.js"),
    include_str!("../page/graph.js"),
    include_str!("../page/occupancy.js"),
    include_str!("../page/details.js"),
    include_str!("../page/changes.js"),
    include_str!("../page/kernel.js"),
    include_str!("../page/main.js"),
];

/// A report that is being put together.
#[derive(Debug)]
pub struct HtmlReport {
    title: String,
    files: Vec<FileHead>,
    objects: Vec<ObjectHead>,
    rows: Vec<Row>,
    chunks: Vec<Chunk>,
    remarks: Vec<String>,
}

#[derive(Debug, Serialize)]
struct FileHead {
    name: String,
    container: Option<String>,
}

/// All but the pages.
#[derive(Serialize)]
struct Index<'r> {
    schema_version: u32,
    program: &'static str,
    version: &'static str,
    title: &'r str,
    classes: Vec<&'static str>,
    files: &'r [FileHead],
    objects: &'r [ObjectHead],
    kernels: &'r [Row],
    /// How many pages each chunk has.
    chunks: Vec<usize>,
    remarks: &'r [String],
    comparison: Option<&'r Summary>,
}

impl HtmlReport {
    /// One of this name, with nothing in it.
    #[must_use]
    pub fn new(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            files: Vec::new(),
            objects: Vec::new(),
            rows: Vec::new(),
            chunks: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Objects from here on are of this file.
    pub fn begin_file(&mut self, name: &str, container: Option<&str>) {
        let container = container.map(str::to_owned);
        self.files.push(FileHead { name: name.to_owned(), container });
    }

    /// Adds an object.
    pub fn add(&mut self, pages: ObjectPages) {
        let ObjectPages { mut head, rows, chunks } = pages;
        head.file = self.files.len().saturating_sub(1);
        let object = self.objects.len();
        self.objects.push(head);
        self.rows.extend(rows.into_iter().map(|row| Row { object, ..row }));
        self.chunks.extend(chunks);
    }

    /// Adds what readers have to know of the whole report.
    pub fn remark(&mut self, remark: String) {
        self.remarks.push(remark);
    }

    /// How many kernels and functions there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes the file; with what is different from an older one, if that is given.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        self.write_compared(None, out)
    }

    /// Writes the file, with what is different from an older one.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_compared(
        &self,
        comparison: Option<&OlderFiles>,
        mut out: impl Write,
    ) -> io::Result<()> {
        let index = serde_json::to_vec(&Index {
            schema_version: SCHEMA_VERSION,
            program: "hsaco",
            version: env!("CARGO_PKG_VERSION"),
            title: &self.title,
            classes: Class::ALL.iter().map(|it| it.name()).collect(),
            files: &self.files,
            objects: &self.objects,
            kernels: &self.rows,
            chunks: self.chunks.iter().map(|it| it.pages).collect(),
            remarks: &self.remarks,
            comparison: comparison.map(OlderFiles::summary),
        })?;
        let index = compress(Method::Zlib, &index, 6).map_err(io::Error::other)?;
        let script = format!("'use strict';\n{}", SCRIPTS.concat());
        writeln!(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">")?;
        writeln!(
            out,
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
             script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; base-uri 'none'; \
             form-action 'none'\">",
            digest(&script),
            digest(STYLE)
        )?;
        writeln!(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")?;
        writeln!(out, "<meta name=\"referrer\" content=\"no-referrer\">")?;
        writeln!(out, "<link rel=\"icon\" href=\"data:,\">")?;
        writeln!(out, "<title>{}</title>", Xml(&shortened(&self.title)))?;
        write!(out, "<style>{STYLE}</style>\n</head>\n<body>\n")?;
        out.write_all(include_bytes!("../page/body.html"))?;
        write_data(&mut out, "index", &index)?;
        for (number, chunk) in self.chunks.iter().enumerate() {
            write_data(&mut out, &format!("pages-{number}"), &chunk.bytes)?;
        }
        writeln!(out, "<script>{script}</script>\n</body>\n</html>")
    }
}

fn shortened(title: &str) -> String {
    title.chars().take(200).collect()
}

/// Data that the page's programs look for.
fn write_data(out: &mut impl Write, id: &str, bytes: &[u8]) -> io::Result<()> {
    writeln!(
        out,
        "<script type=\"application/octet-stream\" id=\"{id}\">{}</script>",
        base64(bytes)
    )
}

/// A SHA-256 digest as policies spell it.
fn digest(text: &str) -> String {
    let digest = Digest::of(text.as_bytes()).to_string();
    base64(&hex::decode(&digest).unwrap_or_default())
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for (at, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let digit = DIGITS.get((bits >> shift & 63) as usize).copied().unwrap_or(b'=');
            text.push(char::from(if at > group.len() { b'=' } else { digit }));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn nothing_of_the_page_ends_a_script() {
        assert!(!SCRIPTS.concat().to_lowercase().contains("</script"));
        assert!(!STYLE.to_lowercase().contains("</style"));
    }
}
