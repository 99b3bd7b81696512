//! Code, one instruction after the other, where `llvm-objdump` begins each.

use hsaco_analysis::first_instruction;
use hsaco_isa::{Decoder, Inst};

/// What stands at one place of the code.
#[derive(Clone, Copy)]
pub(crate) enum Step {
    Inst(Inst),
    /// Bytes that are no instruction: four, or fewer where the section ends.
    Unknown,
    /// Zeros enough that they are passed over.
    Zeros,
}

impl Step {
    /// The instruction, if it is one.
    pub(crate) fn inst(self) -> Option<Inst> {
        match self {
            Step::Inst(inst) => Some(inst),
            Step::Unknown | Step::Zeros => None,
        }
    }
}

/// Iterator over the steps of a part of a section: the offset, the step and its length.
pub(crate) struct Steps<'p> {
    pub(crate) decoder: &'p Decoder,
    /// The whole section: its last instruction may reach past `end`.
    pub(crate) code: &'p [u8],
    pub(crate) at: usize,
    pub(crate) end: usize,
}

impl Iterator for Steps<'_> {
    type Item = (usize, Step, usize);

    // A step is longer than what a call returns in registers.
    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at;
        let zeros = zeros(self.code.get(at..self.end).filter(|it| !it.is_empty())?);
        let (step, size) = match zeros {
            0 => self.decode(self.code.get(at..)?),
            zeros => (Step::Zeros, zeros),
        };
        self.at = at + size;
        Some((at, step, size))
    }
}

impl Steps<'_> {
    /// Whether there are no more.
    pub(crate) fn is_done(&self) -> bool {
        self.at >= self.end.min(self.code.len())
    }

    #[inline(always)]
    fn decode(&self, rest: &[u8]) -> (Step, usize) {
        let (inst, size) = first_instruction(self.decoder, rest);
        (inst.map_or(Step::Unknown, Step::Inst), size)
    }
}

/// How many of the zeros that `bytes` begin with are passed over: none of fewer than eight, and
/// whole words of more.
#[inline]
fn zeros(bytes: &[u8]) -> usize {
    match bytes.first_chunk::<8>().map(|first| u64::from_le_bytes(*first)) {
        Some(0) => bytes.iter().position(|&it| it != 0).unwrap_or(bytes.len()) & !3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::zeros;

    #[test]
    fn zeros_are_passed_over_by_words_and_from_two_words_on() {
        assert_eq!(zeros(&[0; 7]), 0);
        assert_eq!(zeros(&[0; 8]), 8);
        assert_eq!(zeros(&[0; 15]), 12);
        assert_eq!(zeros(&[0, 0, 0, 0, 0, 0, 0, 1, 0]), 0);
        assert_eq!(zeros(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 1]), 8);
        assert_eq!(zeros(&[]), 0);
    }
}
