//! Code that is no kernel's.

use hsaco_isa::Decoder;

use crate::code::Code;
use crate::data::Data;
use crate::kernel::Instruction;

/// Code that is no kernel's, decoded.
///
/// ```
/// use hsaco_db::Listing;
/// use hsaco_isa::{Decoder, Processor};
/// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
/// let listing = Listing::decode(decoder, 0x100, vec![0x01, 0x05, 0x06, 0x68, 0, 0, 0x81, 0xbf]);
/// let texts: Vec<_> = listing.instructions().map(|it| it.text()).collect();
/// assert_eq!(texts, ["v_add_u32_e32 v3, v1, v2", "s_endpgm"]);
/// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
/// ```
#[derive(Debug)]
pub struct Listing(Code);

impl Listing {
    /// Decodes code that stands at `address`.
    #[must_use]
    pub fn decode(decoder: Decoder, address: u64, code: impl Into<Data>) -> Self {
        Listing(Code::decode(decoder, address, code.into()))
    }

    /// The instructions, in the order of their addresses.
    pub fn instructions(&self) -> impl ExactSizeIterator<Item = Instruction<'_>> {
        let instruction = |index| Instruction { kernel: None, code: &self.0, index };
        (0..self.0.stream().len()).map(instruction)
    }

    /// The instruction of that number, counted from 0.
    #[must_use]
    pub fn instruction(&self, index: usize) -> Option<Instruction<'_>> {
        let is_there = index < self.0.stream().len();
        is_there.then_some(Instruction { kernel: None, code: &self.0, index })
    }
}
