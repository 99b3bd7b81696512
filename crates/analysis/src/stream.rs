//! The instructions of a range of code: the one loop that decodes.

use std::borrow::Cow;

use hsaco_isa::effects::Flow;
use hsaco_isa::model::Outline;
use hsaco_isa::{Decoder, Inst};

/// One instruction and where it stands; a word that is none has no instruction.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Its distance from the start of the stream, in bytes.
    pub offset: u32,
    /// The instruction.
    pub inst: Option<Inst>,
}

/// The instruction that some bytes begin with, and how many of them it takes. Bytes that are no instruction are passed
/// over by a word, or up to the end.
///
/// ```
/// use hsaco_analysis::first_instruction;
/// use hsaco_isa::{Decoder, Processor};
/// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
/// assert_eq!(first_instruction(&decoder, &[0, 0, 0x81, 0xbf, 0]).1, 4);
/// assert_eq!(first_instruction(&decoder, &[0xff, 0xff]), (None, 2));
/// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
/// ```
// An instruction is longer than what a call returns in registers.
#[inline(always)]
#[must_use]
pub fn first_instruction(decoder: &Decoder, bytes: &[u8]) -> (Option<Inst>, usize) {
    let inst = decoder.decode(bytes);
    (inst, inst.map_or(4, |inst| inst.len()).min(bytes.len()))
}

/// The instructions of some bytes, one after the other, each with its offset; nothing for a word that is none.
///
/// ```
/// use hsaco_analysis::instructions;
/// use hsaco_isa::{Decoder, Processor};
/// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
/// let found = instructions(&decoder, &[0xff, 0xff, 0xff, 0xff, 0, 0, 0x81, 0xbf]);
/// let found: Vec<_> = found.map(|(at, inst)| (at, inst.map(|inst| inst.mnemonic()))).collect();
/// assert_eq!(found, [(0, None), (4, Some("s_endpgm"))]);
/// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
/// ```
#[inline]
pub fn instructions<'a>(
    decoder: &'a Decoder,
    code: &'a [u8],
) -> impl Iterator<Item = (usize, Option<Inst>)> + 'a {
    let mut next = 0;
    std::iter::from_fn(move || {
        let at = next;
        let rest = code.get(at..).filter(|rest| !rest.is_empty())?;
        let (inst, size) = first_instruction(decoder, rest);
        next = at + size;
        Some((at, inst))
    })
}

/// The decoded instructions of a range of code, one after the other. It borrows the code.
///
/// An instruction takes less memory than its bytes, so that the largest kernels can be decoded.
#[derive(Clone, Debug)]
pub struct Stream<'a> {
    address: u64,
    code: &'a [u8],
    outlines: Cow<'a, Outlines>,
}

/// What was decoded of some code, without the code: for callers that keep both.
///
/// ```
/// use hsaco_analysis::Stream;
/// use hsaco_isa::{Decoder, Processor};
/// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
/// let code = vec![0, 0, 0x81, 0xbf];
/// let outlines = Stream::decode(&decoder, 0x100, &code).into_outlines();
/// let stream = Stream::of_outlines(&outlines, 0x100, &code);
/// assert_eq!(stream.inst(0).map(|inst| inst.mnemonic()), Some("s_endpgm"));
/// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Outlines {
    places: Vec<Place>,
    turns: Vec<u32>,
    writes_mode: bool,
}

/// Where an instruction stands, and what it is beside its bytes.
#[derive(Clone, Copy, Debug)]
struct Place {
    offset: u32,
    outline: Option<Outline>,
}

impl<'a> Stream<'a> {
    /// Decodes code that stands at `address`, at most 4 GiB of it.
    ///
    /// ```
    /// use hsaco_analysis::Stream;
    /// use hsaco_isa::{Decoder, Processor};
    /// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
    /// let stream = Stream::decode(&decoder, 0x100, &[0, 0, 0x81, 0xbf, 0xff, 0xff, 0xff, 0xff]);
    /// assert_eq!(stream.len(), 2);
    /// assert_eq!(stream.address_of(1), 0x104);
    /// assert!(stream.inst(1).is_none());
    /// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
    /// ```
    #[must_use]
    pub fn decode(decoder: &Decoder, address: u64, code: &'a [u8]) -> Self {
        let code = code.get(..u32::MAX as usize).unwrap_or(code);
        let places = Vec::with_capacity(code.len() / 5);
        let mut outlines = Outlines { places, ..Outlines::default() };
        instructions(decoder, code).for_each(|(offset, inst)| outlines.push(offset as u32, inst));
        Stream { address, code, outlines: Cow::Owned(outlines) }
    }

    /// What was decoded before, of the same code.
    #[must_use]
    pub fn of_outlines(outlines: &'a Outlines, address: u64, code: &'a [u8]) -> Self {
        Stream { address, code, outlines: Cow::Borrowed(outlines) }
    }

    /// What was decoded, without the code.
    #[must_use]
    pub fn into_outlines(self) -> Outlines {
        self.outlines.into_owned()
    }

    /// Where the code starts.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// How many bytes of code there are.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.code.len() as u32
    }

    /// How many instructions there are, and words that are none.
    #[must_use]
    pub fn len(&self) -> usize {
        self.outlines.places.len()
    }

    /// Whether there is no code.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.outlines.places.is_empty()
    }

    /// The instructions, in order.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = Step> + Clone + '_ {
        self.outlines
            .places
            .iter()
            .map(|place| Step { offset: place.offset, inst: self.read(place) })
    }

    /// The instructions, without the words that are none.
    pub fn insts(&self) -> impl Iterator<Item = Inst> + Clone + '_ {
        self.steps().filter_map(|step| step.inst)
    }

    /// The instruction of that number.
    #[inline]
    #[must_use]
    pub fn inst(&self, index: usize) -> Option<Inst> {
        self.read(self.outlines.places.get(index)?)
    }

    #[inline]
    fn read(&self, place: &Place) -> Option<Inst> {
        Some(place.outline?.with_bytes(self.code.get(place.offset as usize..)?))
    }

    /// The bytes of the instruction of that number, or of the word that is none; past the last there are none.
    #[must_use]
    pub fn bytes(&self, index: usize) -> &'a [u8] {
        let (start, end) = (self.offset_of(index), self.offset_of(index + 1));
        self.code.get(start as usize..end as usize).unwrap_or_default()
    }

    /// The numbers of the instructions that do not simply lead to the next: branches, calls, ends, and words that are
    /// no instructions, which may do anything.
    pub fn turns(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        self.outlines.turns.iter().map(|step| *step as usize)
    }

    /// Whether control ever goes on like that.
    #[must_use]
    pub fn has_flow(&self, is_meant: impl Fn(Flow) -> bool) -> bool {
        self.turns().any(|step| self.inst(step).is_some_and(|inst| is_meant(inst.flow())))
    }

    /// Whether any instruction writes fields of MODE.
    #[must_use]
    pub fn writes_mode(&self) -> bool {
        self.outlines.writes_mode
    }

    /// Whether there is an instruction everywhere.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.turns().all(|step| self.inst(step).is_some())
    }

    /// Where the instruction of that number stands; past the last, where the code ends.
    #[must_use]
    pub fn address_of(&self, index: usize) -> u64 {
        self.address.wrapping_add(u64::from(self.offset_of(index)))
    }

    fn offset_of(&self, index: usize) -> u32 {
        self.outlines.places.get(index).map_or(self.size(), |place| place.offset)
    }

    /// The number of the instruction that starts at an address.
    #[must_use]
    pub fn index_of(&self, address: u64) -> Option<usize> {
        let offset = u32::try_from(address.checked_sub(self.address)?).ok()?;
        self.outlines.places.binary_search_by_key(&offset, |place| place.offset).ok()
    }

    /// The number of the instruction that an address is in; of the first or last for one outside.
    #[must_use]
    pub fn step_at(&self, address: u64) -> usize {
        let offset = address.saturating_sub(self.address);
        self.outlines
            .places
            .partition_point(|place| u64::from(place.offset) <= offset)
            .saturating_sub(1)
    }
}

impl Outlines {
    #[inline]
    fn push(&mut self, offset: u32, inst: Option<Inst>) {
        if inst.is_none_or(|inst| inst.flow() != Flow::Next) {
            self.turns.push(self.places.len() as u32);
        }
        self.writes_mode |= inst.is_some_and(|inst| inst.writes_mode());
        self.places.push(Place { offset, outline: inst.map(|inst| inst.outline()) });
    }
}
