//! What stands around the rows of a verb: files and objects, in JSON and in text.

use std::io::Write;

use anyhow::Result;
use hsaco::container::{Container, Entry};
use hsaco_describe::list::ObjectRow;

use crate::args::{Inputs, ObjectFilter};
use crate::output::Output;
use crate::report::{Status, Trouble};
use crate::scan::{self, FileItem, ObjectItem, Verify, Visit};
use crate::schema::{FileStream, OtherEntry};
use crate::table::human_size;
use hsaco::bytes::escape::shown;

/// What is written of each object.
pub(crate) trait Rows: Sync {
    /// What is read of an object; it may borrow the object's bytes.
    type Row<'e>: Send;

    /// Whether there is an answer for a file without objects.
    fn takes_any_file(&self) -> bool {
        false
    }
    /// Reads a wanted object, on any thread.
    fn read<'e>(&self, item: &ObjectItem<'e, '_>, trouble: &mut Trouble) -> Result<Self::Row<'e>>;
    /// Whether the object has an answer.
    fn is_shown(&self, _row: &Self::Row<'_>) -> bool {
        true
    }
    /// Writes what was read, in the order of the file.
    fn write(&self, row: Self::Row<'_>, out: &mut Output) -> Result<()>;
}

/// How text names files and objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heading {
    /// A file with what it is, and a line for each object below a blank one.
    Container,
    /// A file, and a line for each object.
    Name,
    /// The same for files and objects that have an answer.
    Found,
    /// A file below a blank line, and an indented line for each object.
    Spaced,
    /// As llvm-readelf: files if there are several, objects unless the file is one.
    Readelf,
    /// The same with a blank line below objects.
    ReadelfSpaced,
}

/// What stands around rows.
pub(crate) enum Frame {
    Json(FileStream),
    Text { heading: Heading, several: bool, is_object: bool, files: usize, unsaid: String },
}

/// Writes the answer for all inputs: every row in its frame.
pub(crate) fn run<R: Rows>(
    rows: &R,
    frame: Frame,
    (inputs, filter, verify): (&Inputs, &ObjectFilter, Verify),
    out: &mut Output,
) -> Result<Status> {
    let mut files = Files { rows, frame, out };
    if let Frame::Json(stream) = &mut files.frame {
        stream.begin(files.out)?;
    }
    let status = scan::run(inputs, filter, verify, &mut files)?;
    if let Frame::Json(stream) = &mut files.frame {
        stream.end(files.out)?;
    }
    Ok(status)
}

impl Frame {
    pub(crate) fn json() -> Self {
        Self::Json(FileStream::default())
    }

    pub(crate) fn text(heading: Heading, inputs: &Inputs) -> Self {
        let several = inputs.files.len() > 1;
        Self::Text { heading, several, is_object: false, files: 0, unsaid: String::new() }
    }

    fn begin(&mut self, file: &FileItem<'_>, out: &mut Output) -> Result<()> {
        let name = &file.input.name;
        let Self::Text { heading, several, is_object, files, unsaid } = self else {
            return self.begin_json(name, file.container);
        };
        *is_object = file.container == Some(Container::CodeObject);
        let is_first = *files == 0;
        *files += 1;
        match (heading, file.container) {
            (Heading::Container, Some(container)) => {
                writeln!(out, "{}: {}", shown(name), container.title())?;
            }
            // What is no container has been complained about, and has nothing to show.
            (Heading::Container, None) => {}
            (Heading::Found, _) => *unsaid = format!("{name}\n"),
            (Heading::Spaced, _) if !is_first => writeln!(out, "\n{}", shown(name))?,
            (Heading::Name | Heading::Spaced, _) => writeln!(out, "{}", shown(name))?,
            (Heading::Readelf | Heading::ReadelfSpaced, _) => {
                if *several || file.input.found {
                    writeln!(out, "\nFile: {name}")?;
                }
            }
        }
        Ok(())
    }

    fn begin_json(&mut self, name: &str, container: Option<Container>) -> Result<()> {
        match self {
            Self::Json(stream) => stream.begin_file(name, container.map(Container::name)),
            Self::Text { .. } => Ok(()),
        }
    }

    fn begin_object(&mut self, line: &str, out: &mut Output) -> Result<()> {
        let (heading, is_object, unsaid) = match self {
            Self::Json(stream) => return stream.begin_object(out),
            Self::Text { heading, is_object, unsaid, .. } => (heading, is_object, unsaid),
        };
        out.write_all(std::mem::take(unsaid).as_bytes())?;
        match heading {
            Heading::Container => writeln!(out, "\n{line}")?,
            Heading::Name | Heading::Found => writeln!(out, "{line}")?,
            Heading::Spaced => writeln!(out, "  {line}")?,
            Heading::Readelf if !*is_object => writeln!(out, "\n{line}")?,
            Heading::ReadelfSpaced if !*is_object => writeln!(out, "\n{line}\n")?,
            Heading::Readelf | Heading::ReadelfSpaced => {}
        }
        Ok(())
    }
}

/// Shows rows in their frame.
struct Files<'o, R> {
    rows: &'o R,
    frame: Frame,
    out: &'o mut Output,
}

impl<R: Rows> Visit for Files<'_, R> {
    type Row<'e> = (String, R::Row<'e>);

    fn takes_any_file(&self) -> bool {
        self.rows.takes_any_file()
    }

    fn begin(&mut self, file: &FileItem<'_>) -> Result<()> {
        self.frame.begin(file, self.out)
    }

    fn read<'e>(&self, item: &ObjectItem<'e, '_>, trouble: &mut Trouble) -> Result<Self::Row<'e>> {
        let row = self.rows.read(item, trouble)?;
        Ok(match self.frame {
            Frame::Json(_) => (String::new(), row),
            Frame::Text { .. } => (shown(&object_line(&ObjectRow::new(item))).into_owned(), row),
        })
    }

    fn object(&mut self, (line, row): Self::Row<'_>) -> Result<()> {
        if !self.rows.is_shown(&row) {
            return Ok(());
        }
        self.frame.begin_object(&line, self.out)?;
        self.rows.write(row, self.out)
    }

    fn other(&mut self, entry: &Entry<'_>) -> Result<()> {
        if let Frame::Json(stream) = &mut self.frame {
            stream.other(OtherEntry::new(entry));
        }
        Ok(())
    }

    fn unopened(&mut self, name: &str, error: Option<&str>) -> Result<()> {
        self.frame.begin_json(name, None)?;
        self.end(error)
    }

    fn end(&mut self, error: Option<&str>) -> Result<()> {
        match &mut self.frame {
            Frame::Json(stream) => stream.end_file(self.out, error),
            Frame::Text { .. } => Ok(()),
        }
    }
}

/// `object 3: gfx942, V6, ET_DYN, 7.8 KiB at 0x1000, hipv4-amdgcn-amd-amdhsa--gfx942`
pub(crate) fn object_line(row: &ObjectRow<'_>) -> String {
    let mut parts = vec![row.target.unwrap_or("unknown").to_owned()];
    parts.extend(row.version.clone());
    parts.push(row.kind.to_owned());
    let size = human_size(row.size);
    parts.push(match row.offset {
        Some(offset) => format!("{size} at {offset:#x}"),
        None => format!("{size} decompressed"),
    });
    parts.extend(row.entry_id.map(str::to_owned));
    parts.extend(row.member.as_ref().map(|path| format!("in {path}")));
    format!("object {}: {}", row.index, parts.join(", "))
}
