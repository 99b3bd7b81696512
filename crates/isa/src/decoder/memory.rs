//! The texts of instructions that were printed a while ago.

use std::fmt;

use super::Decoder;
use crate::model::VgprMsb;
use crate::model::inst::{Inst, Key};

/// Remembers how instructions print: most of what compilers write was there some thousand instructions before.
///
/// For printing much code on one thread. It holds the texts of one decoder; printing with another empties it.
///
/// ```
/// use hsaco_isa::decoder::TextMemory;
/// use hsaco_isa::model::VgprMsb;
/// use hsaco_isa::{Decoder, Processor};
/// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
/// let inst = decoder.decode(&[0x01, 0x05, 0x06, 0x68]).unwrap();
/// let (mut memory, mut text) = (TextMemory::new(), Vec::new());
/// for _ in 0..2 {
///     memory.print(&decoder, &inst, VgprMsb::default(), &mut text);
/// }
/// assert_eq!(text, b"v_add_u32_e32 v3, v1, v2v_add_u32_e32 v3, v1, v2");
/// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
/// ```
pub struct TextMemory {
    /// Whose texts they are.
    decoder: Option<Decoder>,
    /// As many as a number of `bits` bits counts.
    lines: Vec<Line>,
    bits: u32,
    /// How many were put there.
    learned: usize,
    /// How many were there.
    hits: usize,
    /// So many are printed without it.
    pause: usize,
}

/// So few that little code costs little.
const FEWEST_BITS: u32 = 8;
/// Half a megabyte: that stays near the core.
const MOST_BITS: u32 = 12;

/// Code that does not repeat is printed without a memory for so long before the next attempt.
const PAUSE: usize = 1 << 17;

/// Longer texts are not remembered.
const LONGEST: usize = 96;

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line {
    key: Key,
    /// Where it was printed.
    state: VgprMsb,
    len: u8,
    text: [u8; LONGEST],
}

impl Line {
    const NONE: Line = Line { key: Key::NONE, state: VgprMsb::new(0), len: 0, text: [0; LONGEST] };
}

impl fmt::Debug for TextMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextMemory").field("decoder", &self.decoder).finish_non_exhaustive()
    }
}

impl Default for TextMemory {
    fn default() -> Self {
        Self::new()
    }
}

impl TextMemory {
    /// A memory with nothing in it.
    #[must_use]
    pub fn new() -> Self {
        let mut memory =
            TextMemory { decoder: None, lines: Vec::new(), bits: 0, learned: 0, hits: 0, pause: 0 };
        memory.forget(FEWEST_BITS);
        memory
    }

    /// Begins again with so many lines.
    fn forget(&mut self, bits: u32) {
        self.lines.clear();
        self.lines.resize(1 << bits, Line::NONE);
        self.bits = bits;
        (self.learned, self.hits) = (0, 0);
    }

    /// Appends an instruction's text, as [`Decoder::print_after`] does.
    #[inline]
    pub fn print(&mut self, decoder: &Decoder, inst: &Inst, state: VgprMsb, out: &mut Vec<u8>) {
        if self.pause > 0 {
            self.pause -= 1;
            return decoder.print_after(inst, state, out);
        }
        let key = inst.key();
        let line = self.lines.get(self.place(&key, state));
        let known = line.filter(|line| line.key == key && line.state == state);
        match known.filter(|_| self.decoder.as_ref().is_some_and(|it| it.is(decoder))) {
            Some(line) => {
                self.hits += 1;
                let end = out.len() + usize::from(line.len);
                // A copy of one size takes no call.
                out.extend_from_slice(&line.text);
                out.truncate(end);
            }
            None => self.print_and_learn(decoder, inst, state, out),
        }
    }

    /// Where a text is kept. `FEWEST_BITS` are as many as a state has.
    #[inline]
    fn place(&self, key: &Key, state: VgprMsb) -> usize {
        key.place(self.bits) ^ usize::from(state.bits())
    }

    #[inline(never)]
    fn print_and_learn(
        &mut self,
        decoder: &Decoder,
        inst: &Inst,
        state: VgprMsb,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        decoder.print_after(inst, state, out);
        if !self.decoder.as_ref().is_some_and(|it| it.is(decoder)) {
            self.decoder = Some(decoder.clone());
            self.forget(self.bits);
        } else if self.learned > 2 * self.lines.len() {
            self.grow_or_pause();
        }
        let printed = out.get(start..).unwrap_or_default();
        self.learn(inst.key(), state, printed);
    }

    /// To learn a text costs about what one saves that was there, and pays later if more of the code is alike.
    fn grow_or_pause(&mut self) {
        match self.bits < MOST_BITS {
            true => self.forget(self.bits + 2),
            false => {
                self.pause = if 2 * self.hits < self.learned { PAUSE } else { 0 };
                (self.learned, self.hits) = (0, 0);
            }
        }
    }

    fn learn(&mut self, key: Key, state: VgprMsb, printed: &[u8]) {
        let place = self.place(&key, state);
        let Some(line) = self.lines.get_mut(place) else { return };
        let Ok(len) = u8::try_from(printed.len()) else { return };
        if let Some(text) = line.text.get_mut(..printed.len()) {
            text.copy_from_slice(printed);
            (line.key, line.state, line.len) = (key, state, len);
            self.learned += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Processor;

    /// Prints instructions of these numbers, and compares with what the decoder prints.
    fn check(memory: &mut TextMemory, decoder: &Decoder, numbers: impl Iterator<Item = u32>) {
        for number in numbers {
            let add = 0x6800_0000 | number << 4;
            let bytes = [add.to_le_bytes(), number.to_le_bytes()].concat();
            let Some(inst) = decoder.decode(&bytes) else { continue };
            for state in [VgprMsb::default(), VgprMsb::new(number.to_le_bytes()[0])] {
                let (mut ours, mut theirs) = (b"x".to_vec(), b"x".to_vec());
                memory.print(decoder, &inst, state, &mut ours);
                decoder.print_after(&inst, state, &mut theirs);
                assert_eq!(ours, theirs);
            }
        }
    }

    fn decoders() -> [Decoder; 2] {
        ["gfx942", "gfx1250"].map(|name| Decoder::new(Processor::from_name(name).unwrap()).unwrap())
    }

    /// Code of which much is there again, some of it only at other addresses.
    #[test]
    fn texts_are_those_of_the_decoder() {
        let decoders = decoders();
        let mut memory = TextMemory::new();
        for decoder in decoders.iter().chain(&decoders) {
            check(&mut memory, decoder, (0..3000).chain(0..1000).chain(0..1000));
            assert!(memory.bits == MOST_BITS && memory.hits > 1000 && memory.pause == 0);
        }
    }

    #[test]
    fn code_that_does_not_repeat_is_printed_without_it() {
        let [decoder, _] = decoders();
        let mut memory = TextMemory::new();
        check(&mut memory, &decoder, 0..30_000);
        assert!(memory.pause > 0 && memory.hits < memory.lines.len());
    }
}
