//! From an address of memory back to the source.

use hsaco_dwarf::DebugInfo;

use crate::error::{Result, unreadable};
use crate::executable::Executable;

/// A function that an instruction is in, and the place there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SourceFrame {
    /// The function's name, as the linker knows it if it does.
    pub function: Option<String>,
    /// The path, as absolute as the compiler wrote it down.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
}

impl Executable<'_> {
    /// Where the code at an address of memory comes from: the innermost inlined function first, the one that it
    /// really is in last; nothing where its object has no debug information. Reads that information each time.
    ///
    /// ```
    /// use hsaco_load::{Executable, Freeze};
    /// let file = std::fs::read("../../tests/fixtures/lines.dwarf5.co")?;
    /// let mut executable = Executable::new(None);
    /// executable.load("lines.co", file)?;
    /// executable.freeze(Freeze { base: 0x7f00_0000_0000, ..Freeze::default() })?;
    /// let kernel = executable.symbols().find(|it| it.kernel().is_some()).unwrap();
    /// let frames = executable.source(kernel.code().unwrap().0)?;
    /// assert!(frames[0].file.as_deref().unwrap().ends_with("lines.hip"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The debug information cannot be read.
    pub fn source(&self, address: u64) -> Result<Vec<SourceFrame>> {
        let Some(located) = self.locate(address) else { return Ok(Vec::new()) };
        let Some(object) = self.objects.get(located.object.index()) else { return Ok(Vec::new()) };
        let unreadable = |error: hsaco_bytes::Error| unreadable(&error).in_object(&object.name);
        let code = object.code_object()?;
        let debug = DebugInfo::open(&code).map_err(unreadable)?;
        let frames = debug.frames(located.object_address).map_err(unreadable)?;
        let own = |frame: hsaco_dwarf::Frame<'_>| SourceFrame {
            function: frame.function,
            file: frame.location.map(|it| it.file.to_owned()),
            line: frame.location.and_then(|it| it.line),
            column: frame.location.and_then(|it| it.column),
        };
        Ok(frames.into_iter().map(own).collect())
    }
}
