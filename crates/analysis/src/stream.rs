//! The instructions of a stretch of code.

use hsaco_isa::{Decoder, Flow, Inst, Outline};

/// One instruction and where it stands; a word that is none has no instruction.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Its distance from the start of the stream, in bytes.
    pub offset: u32,
    /// The instruction.
    pub inst: Option<Inst>,
}

/// The decoded instructions of a stretch of code, one after the other.
///
/// An instruction takes little more memory than its bytes, so that the largest kernels can be kept.
#[derive(Clone, Debug)]
pub struct Stream {
    address: u64,
    code: Box<[u8]>,
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

impl Stream {
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
    /// # Ok::<(), hsaco_isa::UnsupportedProcessor>(())
    /// ```
    #[must_use]
    pub fn decode(decoder: &Decoder, address: u64, bytes: &[u8]) -> Self {
        let size = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let code = bytes.get(..size as usize).unwrap_or_default();
        let mut stream = Stream {
            address,
            code: code.into(),
            places: Vec::with_capacity(code.len() / 5),
            turns: Vec::new(),
            writes_mode: false,
        };
        let mut rest = code;
        let mut offset = 0;
        while !rest.is_empty() {
            let inst = decoder.decode(rest);
            if inst.is_none_or(|inst| inst.flow() != Flow::Next) {
                stream.turns.push(stream.places.len() as u32);
            }
            stream.writes_mode |= inst.is_some_and(|inst| inst.writes_mode());
            stream.places.push(Place { offset, outline: inst.map(|inst| inst.outline()) });
            let len = inst.map_or(4, |inst| inst.len()).min(rest.len());
            offset += len as u32;
            rest = rest.get(len..).unwrap_or_default();
        }
        stream
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
        self.places.len()
    }

    /// Whether there is no code.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The instructions, in order.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = Step> + Clone + '_ {
        self.places.iter().map(|place| Step { offset: place.offset, inst: self.read(place) })
    }

    /// The instructions, without the words that are none.
    pub fn insts(&self) -> impl Iterator<Item = Inst> + Clone + '_ {
        self.steps().filter_map(|step| step.inst)
    }

    /// The instruction of that number.
    #[inline]
    #[must_use]
    pub fn inst(&self, index: usize) -> Option<Inst> {
        self.read(self.places.get(index)?)
    }

    #[inline]
    fn read(&self, place: &Place) -> Option<Inst> {
        Some(place.outline?.with_bytes(self.code.get(place.offset as usize..)?))
    }

    /// The numbers of the instructions that do not simply lead to the next: branches, calls, ends, and words that are
    /// no instructions, which may do anything.
    pub fn turns(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        self.turns.iter().map(|step| *step as usize)
    }

    /// Whether control ever goes on like that.
    #[must_use]
    pub fn has_flow(&self, is_meant: impl Fn(Flow) -> bool) -> bool {
        self.turns().any(|step| self.inst(step).is_some_and(|inst| is_meant(inst.flow())))
    }

    /// Whether any instruction writes fields of MODE.
    #[must_use]
    pub fn writes_mode(&self) -> bool {
        self.writes_mode
    }

    /// Whether there is an instruction everywhere.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.turns().all(|step| self.inst(step).is_some())
    }

    /// Where the instruction of that number stands; past the last, where the code ends.
    #[must_use]
    pub fn address_of(&self, index: usize) -> u64 {
        let offset = self.places.get(index).map_or(self.size(), |place| place.offset);
        self.address.wrapping_add(u64::from(offset))
    }

    /// The number of the instruction that starts at an address.
    #[must_use]
    pub fn index_of(&self, address: u64) -> Option<usize> {
        let offset = u32::try_from(address.checked_sub(self.address)?).ok()?;
        self.places.binary_search_by_key(&offset, |place| place.offset).ok()
    }

    /// The number of the instruction that an address is in; of the first or last for one outside.
    pub(crate) fn step_at(&self, address: u64) -> usize {
        let offset = address.saturating_sub(self.address);
        self.places.partition_point(|place| u64::from(place.offset) <= offset).saturating_sub(1)
    }
}
