//! The answer that verbs on objects share for people: files, and in each a page for each object.

use std::io::Write;

use anyhow::Result;
use hsaco::container::Container;

use crate::args::{Inputs, ObjectFilter};
use crate::output::Output;
use crate::report::{Status, Trouble};
use crate::scan::{self, FileItem, ObjectItem, Verify, Visit};
use crate::text::shown;

/// A page that is being written.
pub(crate) struct Page {
    pub(crate) out: Vec<u8>,
    pub(crate) color: bool,
}

/// Writes what each file is, and for each wanted object what `write` puts on its page.
pub(crate) fn run(
    out: &mut Output,
    inputs: &Inputs,
    filter: &ObjectFilter,
    write: impl Fn(&mut Page, &ObjectItem<'_, '_>, &mut Trouble) -> Result<()> + Sync,
) -> Result<Status> {
    scan::run(inputs, filter, Verify::All, &mut TextFiles { out, write })
}

struct TextFiles<'o, W> {
    out: &'o mut Output,
    write: W,
}

impl<W> Visit for TextFiles<'_, W>
where
    W: Fn(&mut Page, &ObjectItem<'_, '_>, &mut Trouble) -> Result<()> + Sync,
{
    type Row<'e> = Vec<u8>;

    fn begin(&mut self, file: &FileItem<'_>) -> Result<()> {
        // What is no container has been complained about, and has nothing to show.
        if let Some(container) = file.container {
            writeln!(self.out, "{}: {}", shown(&file.input.name), describe(container))?;
        }
        Ok(())
    }

    fn read(&self, item: &ObjectItem<'_, '_>, trouble: &mut Trouble) -> Result<Vec<u8>> {
        let mut page = Page { out: Vec::new(), color: self.out.color() };
        (self.write)(&mut page, item, trouble)?;
        Ok(page.out)
    }

    fn object(&mut self, page: Vec<u8>) -> Result<()> {
        self.out.write_all(&page)?;
        Ok(())
    }

    fn end(&mut self, _error: Option<&str>) -> Result<()> {
        Ok(())
    }
}

/// What a file is, in words.
pub(crate) fn describe(container: Container) -> &'static str {
    match container {
        Container::CodeObject => "code object",
        Container::Bundle => "offload bundle",
        Container::CompressedBundle => "compressed offload bundle",
        Container::OffloadBinary => "offload binary",
        Container::HostElf => "host ELF file",
        Container::HostPe => "Windows image",
        Container::HostCoff => "Windows object",
        Container::Archive => "archive",
        other => other.name(),
    }
}
