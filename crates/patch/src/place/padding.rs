//! Words between functions that nothing reaches.

use std::collections::BTreeMap;

use crate::dialect::Dialect;
use crate::jump::{CODE_END, NOP};
use crate::survey::Survey;
use hsaco_analysis::Function;
use hsaco_isa::Decoder;
use hsaco_isa::effects::Flow;

/// Ranges of padding with what is left of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Padding {
    /// First free byte to the end, by start.
    free: BTreeMap<u64, u64>,
    /// What the bytes hold now.
    content: BTreeMap<u64, Vec<u8>>,
    /// What was taken, in order: start and end of each free range, and how much of it.
    taken: Vec<(u64, u64, u64)>,
}

/// A state to come back to: how much was taken.
#[derive(Clone, Copy)]
pub(crate) struct Mark(usize);

impl Padding {
    /// The padding of an object: `s_nop`, `s_code_end` or zeros between a function that ends and the next one, where
    /// no jump of the object leads. What is behind the last function stays, because fetching runs ahead of
    /// execution.
    pub(crate) fn new(survey: &Survey<'_>) -> Self {
        let decoder = survey.kit.usual().decoder();
        let mut padding = Padding::default();
        for pair in survey.functions.windows(2) {
            let [function, next] = pair else { continue };
            let (start, end) = (function.end(), next.address);
            if !start.is_multiple_of(4) || start >= end {
                continue;
            }
            let bytes = survey.code_at(start).and_then(|code| code.get(..(end - start) as usize));
            let Some(bytes) = bytes else { continue };
            let is_padding = |word: &[u8]| {
                let word = word.try_into().map_or(1, u32::from_le_bytes);
                word == 0 || word == CODE_END || word & 0xffff_0000 == NOP
            };
            let is_reached = || survey.branches_into(start, end).next().is_some();
            if bytes.chunks_exact(4).all(is_padding) && ends(function, decoder) && !is_reached() {
                padding.free.insert(start, end);
                padding.content.insert(start, bytes.to_vec());
            }
        }
        padding
    }

    /// Where so many bytes are free behind a function.
    pub(crate) fn behind(&self, end: u64, size: usize) -> Option<u64> {
        let (start, stop) = self.free.range(end..).next()?;
        let is_next =
            self.content.contains_key(&end) && self.content.range(..=*start).next_back()?.0 == &end;
        (is_next && stop - start >= size as u64).then_some(*start)
    }

    /// Where so many bytes are free within the reach of a branch.
    pub(crate) fn near(&self, dialect: &Dialect, from: u64, size: usize) -> Option<u64> {
        let reachable =
            self.free.range(from.saturating_sub(0x2_0000)..from.saturating_add(0x2_0004));
        let fits = |(start, stop): &(&u64, &u64)| {
            **stop - **start >= size as u64 && dialect.near(from, **start).is_some()
        };
        reachable.filter(fits).map(|(start, _)| *start).next()
    }

    /// The free word within the reach of a branch that is nearest to another place, if it is nearer than here.
    pub(crate) fn towards(&self, dialect: &Dialect, from: u64, to: u64) -> Option<u64> {
        let reachable =
            self.free.range(from.saturating_sub(0x2_0000)..from.saturating_add(0x2_0004));
        let near =
            reachable.map(|(start, _)| *start).filter(|it| dialect.near(from, *it).is_some());
        near.filter(|it| it.abs_diff(to) < from.abs_diff(to)).min_by_key(|it| it.abs_diff(to))
    }

    /// Takes bytes from the start of a free range, and says what they held.
    pub(crate) fn take(&mut self, at: u64, size: usize) -> Vec<u8> {
        let after = at + size as u64;
        if let Some(stop) = self.free.remove(&at) {
            self.taken.push((at, stop, after));
            if after < stop {
                self.free.insert(after, stop);
            }
        }
        let (start, content) = match self.content.range(..=at).next_back() {
            Some((start, content)) => (*start, content.as_slice()),
            None => (at, &[][..]),
        };
        let offset = (at - start) as usize;
        content.get(offset..offset + size).unwrap_or_default().to_vec()
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark(self.taken.len())
    }

    /// Gives back what was taken since.
    pub(crate) fn reset(&mut self, mark: Mark) {
        while self.taken.len() > mark.0
            && let Some((start, stop, after)) = self.taken.pop()
        {
            self.free.remove(&after);
            self.free.insert(start, stop);
        }
    }
}

/// Whether nothing follows the last instruction of a function: it ends the wave, leaves, or is padding itself.
fn ends(function: &Function<'_>, decoder: &Decoder) -> bool {
    let code = function.code;
    let Some(last) = code.len().checked_sub(4) else { return false };
    let inst = code.get(last..).and_then(|word| decoder.decode(word));
    let ends = inst.is_some_and(|inst| match inst.flow() {
        Flow::End | Flow::Branch | Flow::IndirectJump => true,
        _ => inst.mnemonic() == "s_code_end",
    });
    // The last word may be a constant of an instruction before it that only looks so.
    let covers = |start: usize| {
        let inst = code.get(start..).and_then(|code| decoder.decode(code));
        inst.is_some_and(|inst| start + inst.len() > last)
    };
    let may_be_constant =
        || (1..LONGEST / 4).any(|words| last.checked_sub(words * 4).is_some_and(covers));
    let begins = || {
        let address = function.address.wrapping_add(last as u64);
        function.decode(decoder).index_of(address).is_some()
    };
    ends && (!may_be_constant() || begins())
}

/// Bytes of the longest instruction.
const LONGEST: usize = 20;

#[cfg(test)]
mod tests {
    use hsaco_analysis::FunctionKind;
    use hsaco_isa::decoder::DecodeOptions;
    use hsaco_isa::{Assembler, Processor};

    use super::*;

    #[test]
    fn a_constant_that_looks_like_the_end_is_none() {
        let gfx1250 = Processor::from_name("gfx1250").unwrap();
        let assembler = Assembler::new(gfx1250, DecodeOptions::default()).unwrap();
        let ends = |lines: &[&str]| {
            let mut code = Vec::new();
            lines.iter().for_each(|line| assembler.assemble(line).unwrap().encode(&mut code));
            let kind = FunctionKind::Device;
            let function = Function { name: None, kind, address: 0x1000, code: &code };
            super::ends(&function, assembler.decoder())
        };
        assert!(ends(&["v_mov_b32_e32 v0, v1", "s_endpgm"]));
        assert!(ends(&["s_mov_b32 s0, 0xbfb00000", "s_endpgm"]));
        assert!(!ends(&["s_mov_b32 s0, 0xbfb00000"]));
        assert!(!ends(&["s_add_nc_u64 s[0:1], s[0:1], 0xbfb0000000000001"]));
        assert!(!ends(&["v_mov_b32_e32 v0, v1"]));
        // What looks like the start of a longer instruction is itself a constant.
        assert!(ends(&["s_mov_b32 s0, 0xbe8000ff", "s_endpgm"]));
    }
}
