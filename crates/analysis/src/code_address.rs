//! Addresses of code, one for each place: before an object is linked all its sections begin at zero.

use hsaco_object::elf::Section;
use hsaco_object::{CodeObject, Kernel};

/// Where the sections of an object's code begin.
///
/// Those of a linked object say so. Those of a relocatable object all begin at zero; here they follow one
/// another in the order of the file, so that an address tells in which of them it is. Where there is one, it
/// still begins at zero.
///
/// ```
/// use hsaco_analysis::CodeAddresses;
/// use hsaco_object::CodeObject;
/// # let file = include_bytes!("../../../tests/fixtures/s1.gfx942.co");
/// let object = CodeObject::parse(file)?;
/// let index = object.index();
/// let kernel = &index.kernels()[0];
/// assert_eq!(CodeAddresses::new(&object).entry(kernel), kernel.entry());
/// # Ok::<(), hsaco_object::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CodeAddresses(Vec<(u32, u64)>);

/// What functions begin at a multiple of.
const ALIGNMENT: u64 = 256;

impl CodeAddresses {
    /// Finds them.
    #[must_use]
    pub fn new(object: &CodeObject<'_>) -> Self {
        if !object.is_relocatable() {
            return Self::default();
        }
        let mut next = 0_u64;
        let code = object.elf().sections().iter().filter(|section| is_code(section));
        let starts = code.map(|section| {
            let start = next;
            let end = start.saturating_add(section.size);
            next = end.checked_next_multiple_of(ALIGNMENT).unwrap_or(end);
            (section.index, start)
        });
        Self(starts.collect())
    }

    /// The address of what is so far into a section, or at that address of a linked object.
    #[must_use]
    pub fn of(&self, section: u32, value: u64) -> u64 {
        // They are in the order of their numbers.
        let at = self.0.binary_search_by_key(&section, |(index, _)| *index).ok();
        let start = at.and_then(|at| self.0.get(at));
        start.map_or(value, |(_, start)| start.saturating_add(value))
    }

    /// Where the code of a kernel begins.
    #[must_use]
    pub fn entry(&self, kernel: &Kernel<'_>) -> Option<u64> {
        let entry = kernel.entry()?;
        Some(kernel.entry_section().map_or(entry, |section| self.of(section, entry)))
    }
}

fn is_code(section: &Section<'_>) -> bool {
    section.is_executable() && section.size > 0
}
