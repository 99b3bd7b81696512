//! Branch targets of all code of an object, whichever function they are in.

use hsaco_analysis::{Address, Cfg, Function, Stream, Values};
use hsaco_isa::Decoder;
use hsaco_isa::effects::Flow;

/// A branch, call or jump: where it leads, and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Branch {
    pub(crate) target: u64,
    pub(crate) source: u64,
}

/// Branches of an object, by their targets.
#[derive(Debug, Default)]
pub(crate) struct BranchTargets(Vec<Branch>);

impl BranchTargets {
    /// All words of some code that look like branches and calls. Some may be constants of other instructions: who
    /// keeps away from where they lead keeps away from too much.
    pub(crate) fn direct(decoder: &Decoder, signs: &Signs, code: &[(u64, &[u8])]) -> Self {
        let mut found = Vec::new();
        for (start, code) in code {
            for (word, at) in code.as_chunks().0.iter().zip((*start..).step_by(4)) {
                if signs.direct.fits(word)
                    && let Some(target) = decoder.decode(word).and_then(|it| it.branch_target(at))
                {
                    found.push(Branch { target, source: at });
                }
            }
        }
        found.sort_unstable();
        BranchTargets(found)
    }

    /// The jumps and calls of functions through registers, as far as their addresses are made in the function itself.
    pub(crate) fn indirect(decoder: &Decoder, signs: &Signs, functions: &[Function<'_>]) -> Self {
        let mut found = Vec::new();
        for function in functions {
            if function.code.as_chunks().0.iter().any(|word| signs.indirect.fits(word)) {
                add_indirect(decoder, &function.decode(decoder), &mut found);
            }
        }
        found.sort_unstable();
        BranchTargets(found)
    }

    /// Those that lead to an address from one on and before another.
    pub(crate) fn within(&self, start: u64, end: u64) -> &[Branch] {
        let first = self.0.partition_point(|it| it.target < start);
        let last = self.0.partition_point(|it| it.target < end);
        self.0.get(first..last).unwrap_or_default()
    }
}

/// What jumps look like, before anything is decoded.
pub(crate) struct Signs {
    /// Jumps that name where they lead.
    direct: Words,
    /// Jumps and calls through registers.
    indirect: Words,
}

/// The names of all jumps of all generations that name where they lead.
const DIRECT: [&str; 18] = [
    "s_branch",
    "s_cbranch_scc0",
    "s_cbranch_scc1",
    "s_cbranch_vccz",
    "s_cbranch_vccnz",
    "s_cbranch_execz",
    "s_cbranch_execnz",
    "s_cbranch_cdbgsys",
    "s_cbranch_cdbguser",
    "s_cbranch_cdbgsys_or_user",
    "s_cbranch_cdbgsys_and_user",
    "s_cbranch_i_fork",
    "s_subvector_loop_begin",
    "s_subvector_loop_end",
    "s_call_b64",
    "s_call_i64",
    "s_add_pc_i64",
    "s_cbranch_join",
];
const INDIRECT: [&str; 5] =
    ["s_setpc_b64", "s_set_pc_i64", "s_swappc_b64", "s_swap_pc_i64", "s_rfe_b64"];

impl Signs {
    pub(crate) fn new(decoder: &Decoder) -> Self {
        Signs { direct: Words::new(decoder, &DIRECT), indirect: Words::new(decoder, &INDIRECT) }
    }
}

/// The first words of some instructions.
struct Words {
    /// Masks, and what is under them.
    signs: Vec<(u32, u32)>,
    /// A bit for each value of the upper byte of a word: nearly every word ends there.
    wanted: [u64; 4],
}

impl Words {
    fn new(decoder: &Decoder, names: &[&str]) -> Self {
        let signs = decoder.first_words(names);
        let mut wanted = [0; 4];
        for top in 0..=u8::MAX {
            let word = u32::from(top) << 24;
            let may_be = signs.iter().any(|(mask, value)| (word ^ value) & mask & 0xff00_0000 == 0);
            if let Some(bits) = wanted.get_mut(usize::from(top / 64)).filter(|_| may_be) {
                *bits |= 1_u64 << (top % 64);
            }
        }
        Words { signs, wanted }
    }

    fn fits(&self, bytes: &[u8; 4]) -> bool {
        let word = u32::from_le_bytes(*bytes);
        let top = word >> 24;
        let bits = self.wanted.get(top as usize / 64).copied().unwrap_or(0);
        bits >> (top % 64) & 1 == 1 && self.signs.iter().any(|(mask, value)| word & mask == *value)
    }
}

fn add_indirect(decoder: &Decoder, stream: &Stream<'_>, found: &mut Vec<Branch>) {
    let cfg = Cfg::new(decoder, stream);
    let values = Values::new(decoder, stream, &cfg);
    for (step, inst) in stream.turns().filter_map(|at| Some((at, stream.inst(at)?))) {
        if matches!(inst.flow(), Flow::IndirectJump | Flow::IndirectCall)
            && let Address::Known(target) = values.target(step)
        {
            found.push(Branch { target, source: stream.address_of(step) });
        }
    }
}

#[cfg(test)]
mod tests {
    use hsaco_isa::Processor;

    use super::*;
    use crate::tools::Tools;

    #[test]
    fn every_direct_jump_is_seen() {
        let older = ["s_call_b64 s[4:5], 2", "s_setpc_b64 s[4:5]", "s_swappc_b64 s[30:31], s[4:5]"];
        let newer =
            ["s_call_i64 s[4:5], 2", "s_set_pc_i64 s[4:5]", "s_swap_pc_i64 s[30:31], s[4:5]"];
        for name in ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "gfx1250"] {
            let tools = Tools::new(Processor::from_name(name).unwrap()).unwrap();
            let encoded = |line: &str| {
                let mut code = Vec::new();
                tools.assemble(line).unwrap().encode(&mut code);
                code
            };
            let (decoder, signs) = (tools.decoder(), tools.signs());
            let [call, indirect @ ..] = if name == "gfx1250" { newer } else { older };
            for line in ["s_branch 2", "s_cbranch_scc0 2", "s_cbranch_execnz 2", call] {
                let branches = BranchTargets::direct(decoder, signs, &[(0x1000, &encoded(line))]);
                let wanted = [Branch { target: 0x100c, source: 0x1000 }];
                assert_eq!(branches.within(0x100c, 0x100d), wanted, "{name}: {line}");
                assert!(branches.within(0, 0x100c).is_empty(), "{name}: {line}");
            }
            for line in indirect {
                let code = encoded(line);
                let mut words = code.as_chunks().0.iter();
                assert!(words.any(|word| signs.indirect.fits(word)), "{name}: {line}");
            }
        }
    }
}
