//! The instructions of a stretch of code.

use hsaco_isa::{Decoder, Flow, Inst};

/// One instruction and where it stands; a word that is none has no instruction.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Its distance from the start of the stream, in bytes.
    pub offset: u32,
    /// The instruction.
    pub inst: Option<Inst>,
}

/// The decoded instructions of a stretch of code, one after the other.
#[derive(Clone, Debug)]
pub struct Stream {
    address: u64,
    size: u32,
    steps: Vec<Step>,
    turns: Vec<u32>,
    writes_mode: bool,
}

impl Stream {
    /// Decodes code that stands at `address`, at most 4 GiB of it.
    ///
    /// ```
    /// use hsaco_analysis::Stream;
    /// use hsaco_isa::{Decoder, Processor};
    /// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
    /// let stream = Stream::decode(&decoder, 0x100, &[0, 0, 0x81, 0xbf, 0xff, 0xff, 0xff, 0xff]);
    /// assert_eq!(stream.steps().len(), 2);
    /// assert_eq!(stream.address_of(1), 0x104);
    /// assert!(stream.steps()[1].inst.is_none());
    /// # Ok::<(), hsaco_isa::UnsupportedProcessor>(())
    /// ```
    #[must_use]
    pub fn decode(decoder: &Decoder, address: u64, bytes: &[u8]) -> Self {
        let size = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let mut rest = bytes.get(..size as usize).unwrap_or_default();
        let mut steps = Vec::with_capacity(rest.len() / 5);
        let (mut turns, mut writes_mode) = (Vec::new(), false);
        let mut offset = 0;
        while !rest.is_empty() {
            let inst = decoder.decode(rest);
            let len = inst.map_or(4, |inst| inst.len()).min(rest.len());
            if inst.is_none_or(|inst| inst.flow() != Flow::Next) {
                turns.push(steps.len() as u32);
            }
            writes_mode |= inst.is_some_and(|inst| inst.writes_mode());
            steps.push(Step { offset, inst });
            offset += len as u32;
            rest = rest.get(len..).unwrap_or_default();
        }
        Stream { address, size, steps, turns, writes_mode }
    }

    /// Where the code starts.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// How many bytes of code there are.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The instructions, in order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The instruction of that number.
    #[must_use]
    pub fn inst(&self, index: usize) -> Option<&Inst> {
        self.steps.get(index)?.inst.as_ref()
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
        let offset = self.steps.get(index).map_or(self.size, |step| step.offset);
        self.address.wrapping_add(u64::from(offset))
    }

    /// The number of the instruction that starts at an address.
    #[must_use]
    pub fn index_of(&self, address: u64) -> Option<usize> {
        let offset = u32::try_from(address.checked_sub(self.address)?).ok()?;
        self.steps.binary_search_by_key(&offset, |step| step.offset).ok()
    }

    /// The number of the instruction that an address is in; of the first or last for one outside.
    pub(crate) fn step_at(&self, address: u64) -> usize {
        let offset = address.saturating_sub(self.address);
        self.steps.partition_point(|step| u64::from(step.offset) <= offset).saturating_sub(1)
    }
}
