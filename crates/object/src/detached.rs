//! Kernels without the bytes that they are views of, for callers that store both.

use std::ops::Range;

use hsaco_bytes::{Result, Str};
use hsaco_elf::symbol::Symbol;

use crate::kernel::{EntrySymbol, Header, Kernel};
use crate::{CodeObject, metadata};

/// Where a kernel's parts are in its object: all that must be kept to have it again at once.
///
/// ```
/// # let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
/// use hsaco_object::CodeObject;
/// let kept = {
///     let object = CodeObject::parse(&file)?;
///     object.index().kernels()[0].detach(&object)
/// };
/// let copy = file.clone();
/// let kernel = kept.attach(&copy);
/// assert_eq!(kernel.name().to_string(), "foo");
/// assert!(kernel.descriptor().is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct DetachedKernel {
    name: Span,
    symbol: Option<(Symbol<'static>, Span)>,
    entry_symbol: Option<EntrySymbol>,
    metadata: Option<DetachedMetadata>,
    header: Option<(bool, Span)>,
    relocatable: bool,
}

#[derive(Clone, Copy, Debug)]
struct DetachedMetadata {
    name: Span,
    symbol: Option<Span>,
    raw: Span,
    offset: u64,
    number: u32,
    args: (u32, u32),
}

/// A part of a file. One that is not in the file has no bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    start: usize,
    len: u32,
}

impl Span {
    fn of(part: &[u8], file: &[u8]) -> Self {
        let start = part.as_ptr().addr().checked_sub(file.as_ptr().addr());
        let is_inside =
            |start: &usize| start.checked_add(part.len()).is_some_and(|end| end <= file.len());
        match (start.filter(is_inside), u32::try_from(part.len())) {
            (Some(start), Ok(len)) => Span { start, len },
            _ => Span::default(),
        }
    }

    fn bytes(self, file: &[u8]) -> &[u8] {
        let end = self.start.saturating_add(self.len as usize);
        file.get(self.start..end).unwrap_or_default()
    }

    fn text(self, file: &[u8]) -> Str<'_> {
        Str::new(self.bytes(file))
    }

    fn range(self) -> Range<usize> {
        self.start..self.start.saturating_add(self.len as usize)
    }
}

impl<'a> Kernel<'a> {
    /// The kernel without the bytes of its object.
    #[must_use]
    pub fn detach(&self, object: &CodeObject<'a>) -> DetachedKernel {
        let span = |text: Str<'_>| Span::of(text.as_bytes(), object.data());
        let symbol = self.symbol.map(|it| (Symbol { name: Str::new(b""), ..it }, span(it.name)));
        let metadata = self.metadata.map(|it| DetachedMetadata {
            name: span(it.name),
            symbol: it.symbol.map(span),
            raw: Span::of(it.raw, object.data()),
            offset: it.offset,
            number: it.number,
            args: it.args,
        });
        let header = self.header.map(|it| match it {
            Header::Descriptor(bytes) => (false, Span::of(bytes, object.data())),
            Header::V2(bytes) => (true, Span::of(bytes, object.data())),
        });
        DetachedKernel {
            name: span(self.name),
            symbol,
            entry_symbol: self.entry_symbol,
            metadata,
            header,
            relocatable: self.relocatable,
        }
    }
}

impl DetachedKernel {
    /// The section that the symbol of the entry is in.
    #[must_use]
    pub fn entry_section(self) -> Option<u32> {
        self.entry_symbol.map(|it| it.section)
    }

    /// The same kernel in a copy of only those bytes that it is a view of. `read` gives the bytes of parts of the file, one
    /// part after the other.
    ///
    /// ```
    /// # let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
    /// let object = hsaco_object::CodeObject::parse(&file)?;
    /// let kernel = object.index().kernels()[0];
    /// let (copied, bytes) = kernel.detach(&object).copy_parts(|parts| {
    ///     Ok(parts.iter().flat_map(|part| file[part.clone()].to_vec()).collect())
    /// })?;
    /// assert_eq!(copied.attach(&bytes).resources(None).0, kernel.resources(None).0);
    /// assert!(bytes.len() < file.len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn copy_parts(
        mut self,
        read: impl FnOnce(&[Range<usize>]) -> Result<Vec<u8>>,
    ) -> Result<(Self, Vec<u8>)> {
        let mut parts: Vec<Range<usize>> = self.spans().map(|it| it.range()).collect();
        parts.sort_unstable_by_key(|it| (it.start, std::cmp::Reverse(it.end)));
        // Names are parts of other parts.
        parts.dedup_by(|part, before| part.end <= before.end);
        let copy = read(&parts)?;
        for span in self.spans() {
            let mut start = 0;
            for part in &parts {
                if part.start <= span.start && span.range().end <= part.end {
                    span.start = start + (span.start - part.start);
                    break;
                }
                start += part.len();
            }
        }
        Ok((self, copy))
    }

    /// All parts of the file that it is a view of.
    fn spans(&mut self) -> impl Iterator<Item = &mut Span> {
        let symbol = self.symbol.iter_mut().map(|(_, name)| name);
        let metadata = self.metadata.iter_mut().flat_map(|it| {
            [Some(&mut it.name), it.symbol.as_mut(), Some(&mut it.raw)].into_iter().flatten()
        });
        let header = self.header.iter_mut().map(|(_, bytes)| bytes);
        [&mut self.name].into_iter().chain(symbol).chain(metadata).chain(header)
    }

    /// The kernel again; `file` holds the object that it is of, here or elsewhere in memory.
    #[must_use]
    pub fn attach(self, file: &[u8]) -> Kernel<'_> {
        let header = |(is_v2, span): (bool, Span)| match is_v2 {
            false => span.bytes(file).first_chunk().map(Header::Descriptor),
            true => span.bytes(file).first_chunk().map(Header::V2),
        };
        Kernel {
            name: self.name.text(file),
            symbol: self.symbol.map(|(symbol, name)| Symbol { name: name.text(file), ..symbol }),
            entry_symbol: self.entry_symbol,
            metadata: self.metadata.map(|it| metadata::Kernel {
                name: it.name.text(file),
                symbol: it.symbol.map(|span| span.text(file)),
                raw: it.raw.bytes(file),
                offset: it.offset,
                number: it.number,
                args: it.args,
            }),
            header: self.header.and_then(header),
            relocatable: self.relocatable,
        }
    }
}
