//! Where the sections of a file's code begin.

use crate::{ET_REL, Elf};

/// Where the sections of a file's code begin.
///
/// Those of a linked file say so. Those of a relocatable file all begin at zero; here they follow one another in the
/// order of the file, so that an address tells in which of them it is. Where there is one, it still begins at zero.
///
/// ```
/// use hsaco_elf::{CodeAddresses, Elf};
/// # let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
/// let elf = Elf::parse(&file)?;
/// let text = elf.section_named(".text").unwrap();
/// assert_eq!(CodeAddresses::new(&elf).of(text.index, text.address), text.address);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CodeAddresses(Vec<(u32, u64)>);

/// What functions begin at a multiple of.
const ALIGNMENT: u64 = 256;

impl CodeAddresses {
    /// Reads them from the headers.
    #[must_use]
    pub fn new(elf: &Elf<'_>) -> Self {
        if elf.header().e_type != ET_REL {
            return Self::default();
        }
        let mut next = 0_u64;
        let starts = elf.code_sections().map(|section| {
            let start = next;
            let end = start.saturating_add(section.size);
            next = end.checked_next_multiple_of(ALIGNMENT).unwrap_or(end);
            (section.index, start)
        });
        Self(starts.collect())
    }

    /// The address of what is so far into a section, or at that address of a linked file.
    #[must_use]
    pub fn of(&self, section: u32, value: u64) -> u64 {
        // They are in the order of their numbers.
        let at = self.0.binary_search_by_key(&section, |(index, _)| *index).ok();
        let start = at.and_then(|at| self.0.get(at));
        start.map_or(value, |(_, start)| start.saturating_add(value))
    }

    /// Where the sections of a relocatable file begin, by their numbers.
    #[must_use]
    pub fn starts(&self) -> &[(u32, u64)] {
        &self.0
    }
}
