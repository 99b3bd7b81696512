//! Symbols as they are written.

use hsaco_bytes::{Result, Str};

use crate::symbol::{Binding, Visibility};

use super::unsupported;

const CONTEXT: &str = "new symbol";

/// Section indices from here on have meanings of their own.
const SHN_LORESERVE: u32 = 0xff00;

/// A symbol to add.
///
/// ```
/// use hsaco_elf::Elf;
/// use hsaco_elf::symbol::{Binding, STT_FUNC, SymbolTable, Visibility};
/// use hsaco_elf::write::{Access, Edit, NewSymbol};
/// # let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
/// let mut edit = Edit::new(&file)?;
/// let pool = edit.append(".text.hsaco", Access::Code, &[0; 64])?;
/// edit.add_symbol(NewSymbol {
///     name: b"foo.patch.0".to_vec(),
///     value: pool.address,
///     size: 64,
///     kind: STT_FUNC,
///     binding: Binding::Local,
///     visibility: Visibility::Default,
///     section: pool.section.unwrap_or(0),
/// });
/// let edited = edit.finish()?;
/// let table = SymbolTable::find(&Elf::parse(&edited)?)?.unwrap();
/// assert!(table.iter().flatten().any(|it| it.name == "foo.patch.0" && it.value == 0x5000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSymbol {
    /// Name, without its NUL.
    pub name: Vec<u8>,
    /// `st_value`.
    pub value: u64,
    /// `st_size`.
    pub size: u64,
    /// Type: the low half of `st_info`.
    pub kind: u8,
    /// Binding: the high half of `st_info`.
    pub binding: Binding,
    /// Visibility.
    pub visibility: Visibility,
    /// Section index, or one of the special ones: undefined, absolute, LDS.
    pub section: u32,
}

impl NewSymbol {
    pub(super) const SIZE: u64 = 24;

    pub(super) fn is_local(&self) -> bool {
        self.binding == Binding::Local
    }

    /// The row of a symbol table, for a name at an offset of its strings, in a file of so many
    /// sections.
    pub(super) fn bytes(&self, name: u32, sections: usize) -> Result<Vec<u8>> {
        let is_special = (SHN_LORESERVE..0xffff).contains(&self.section);
        let section = u16::try_from(self.section).ok();
        let known = section.filter(|_| is_special || (self.section as usize) < sections);
        let Some(section) = known else {
            let name = Str::new(&self.name);
            let detail = format!("{name} is in section {} of {sections}", self.section);
            return Err(unsupported(CONTEXT, detail));
        };
        let info = self.binding.value() << 4 | self.kind & 0xf;
        Ok([
            &name.to_le_bytes()[..],
            &[info, self.visibility.value()],
            &section.to_le_bytes(),
            &self.value.to_le_bytes(),
            &self.size.to_le_bytes(),
        ]
        .concat())
    }
}
