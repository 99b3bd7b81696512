//! Where the jumps of an object lead, whichever function they are in.

use hsaco_analysis::{Address, Cfg, Function, Stream, Values};
use hsaco_isa::{Decoder, Flow};

/// Where a jump leads, and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arrival {
    pub(crate) target: u64,
    pub(crate) source: u64,
}

/// Jumps, by where they lead.
#[derive(Debug, Default)]
pub(crate) struct Arrivals(Vec<Arrival>);

impl Arrivals {
    /// All words of some code that look like branches and calls. Some may be constants of other instructions: who
    /// keeps away from where they lead keeps away from too much.
    pub(crate) fn direct(decoder: &Decoder, code: &[(u64, &[u8])]) -> Self {
        let mut found = Vec::new();
        for (start, code) in code {
            for (word, at) in code.as_chunks().0.iter().zip((*start..).step_by(4)) {
                if is_like_branch(word)
                    && let Some(target) = decoder.decode(word).and_then(|it| it.branch_target(at))
                {
                    found.push(Arrival { target, source: at });
                }
            }
        }
        found.sort_unstable();
        Arrivals(found)
    }

    /// The jumps and calls of functions through registers, as far as their addresses are made in the function itself.
    pub(crate) fn indirect(decoder: &Decoder, functions: &[Function<'_>]) -> Self {
        let mut found = Vec::new();
        for function in functions {
            if function.code.as_chunks().0.iter().any(is_like_indirect) {
                add_indirect(decoder, &function.decode(decoder), &mut found);
            }
        }
        found.sort_unstable();
        Arrivals(found)
    }

    /// Those that lead to an address from one on and before another.
    pub(crate) fn within(&self, start: u64, end: u64) -> &[Arrival] {
        let first = self.0.partition_point(|it| it.target < start);
        let last = self.0.partition_point(|it| it.target < end);
        self.0.get(first..last).unwrap_or_default()
    }
}

/// `s_branch`, `s_cbranch_*` and `s_call_i64`.
fn is_like_branch(bytes: &[u8; 4]) -> bool {
    let word = u32::from_le_bytes(*bytes);
    word & 0xfff0_0000 == 0xbfa0_0000 || word & 0xff80_0000 == 0xba00_0000
}

/// `s_set_pc_i64` and `s_swap_pc_i64`.
fn is_like_indirect(bytes: &[u8; 4]) -> bool {
    u32::from_le_bytes(*bytes) & 0xff80_fe00 == 0xbe80_4800
}

fn add_indirect(decoder: &Decoder, stream: &Stream, found: &mut Vec<Arrival>) {
    let cfg = Cfg::new(decoder, stream);
    let values = Values::new(decoder, stream, &cfg);
    for (step, inst) in stream.turns().filter_map(|at| Some((at, stream.inst(at)?))) {
        if matches!(inst.flow(), Flow::IndirectJump | Flow::IndirectCall)
            && let Address::Known(target) = values.target(step)
        {
            found.push(Arrival { target, source: stream.address_of(step) });
        }
    }
}

#[cfg(test)]
mod tests {
    use hsaco_isa::{Assembler, DecodeOptions, Processor};

    use super::*;

    #[test]
    fn every_direct_jump_is_seen() {
        let gfx1250 = Processor::from_name("gfx1250").unwrap();
        let assembler = Assembler::new(gfx1250, DecodeOptions::default()).unwrap();
        for line in ["s_branch 2", "s_cbranch_scc0 2", "s_cbranch_execnz 2", "s_call_i64 s[4:5], 2"]
        {
            let mut code = Vec::new();
            assembler.assemble(line).unwrap().encode(&mut code);
            let arrivals = Arrivals::direct(assembler.decoder(), &[(0x1000, &code)]);
            let wanted = [Arrival { target: 0x100c, source: 0x1000 }];
            assert_eq!(arrivals.within(0x100c, 0x100d), wanted, "{line}");
            assert!(arrivals.within(0, 0x100c).is_empty(), "{line}");
        }
        for line in ["s_set_pc_i64 s[4:5]", "s_swap_pc_i64 s[30:31], s[4:5]"] {
            let mut code = Vec::new();
            assembler.assemble(line).unwrap().encode(&mut code);
            assert!(code.as_chunks().0.iter().any(is_like_indirect), "{line}");
        }
    }
}
