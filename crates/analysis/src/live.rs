//! How many registers are live before each instruction.

use hsaco_isa::Decoder;
use hsaco_isa::effects::Lanes;
use hsaco_isa::model::{Register, RegisterFile, Special, VgprMsb};

use crate::cfg::Cfg;
use crate::liveness::Liveness;
use crate::register_set::RegisterSet;
use crate::state::States;
use crate::stream::Stream;

/// How many registers hold values that are still needed; none where that cannot be known.
///
/// ```
/// use hsaco_analysis::{Cfg, LiveCounts, Stream};
/// use hsaco_isa::{Decoder, Processor};
/// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
/// // v_add_u32 v3, v1, v2; s_endpgm
/// let code = [0x01, 0x05, 0x06, 0x68, 0x00, 0x00, 0x81, 0xbf];
/// let stream = Stream::decode(&decoder, 0, &code);
/// let counts = LiveCounts::of(&decoder, &stream, &Cfg::new(&decoder, &stream));
/// assert_eq!(counts[0], LiveCounts { vgprs: Some(2), agprs: Some(0), sgprs: Some(0) });
/// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveCounts {
    /// Vector registers.
    pub vgprs: Option<usize>,
    /// Accumulation registers.
    pub agprs: Option<usize>,
    /// Scalar registers.
    pub sgprs: Option<usize>,
}

impl LiveCounts {
    /// Those before each instruction of a function, by number.
    #[must_use]
    pub fn of(decoder: &Decoder, stream: &Stream<'_>, cfg: &Cfg) -> Vec<LiveCounts> {
        let liveness = Liveness::new(decoder, stream, cfg, Lanes::All);
        let counter = Counter::new(decoder, stream, cfg);
        let mut counts = vec![LiveCounts::default(); stream.len()];
        for block in cfg.blocks().ids() {
            liveness.walk(block, |step, before, _| {
                if let Some(place) = counts.get_mut(step) {
                    *place = counter.count(before);
                }
            });
        }
        counts
    }

    /// Whether all three are known.
    #[must_use]
    pub const fn is_known(self) -> bool {
        self.vgprs.is_some() && self.agprs.is_some() && self.sgprs.is_some()
    }
}

/// The last register of a file, which code that may need any register of it needs too.
const LAST: [Register; 3] = [
    Register { file: RegisterFile::Vgpr, first: 1023, count: 1, half: None },
    Register { file: RegisterFile::Agpr, first: 255, count: 1, half: None },
    Register { file: RegisterFile::Sgpr, first: 105, count: 1, half: None },
];

/// A register that only trap handlers read: where it is needed, any register may be.
const ANYTHING: Register =
    Register { file: RegisterFile::Special(Special::Tma), first: 0, count: 1, half: None };

/// Counts what is in a set, where that says something.
struct Counter {
    /// By file, as in [`LAST`]: whether M0 chooses registers of it somewhere.
    is_indexed: [bool; 3],
    /// Whether it is always known which vector registers instructions name.
    knows_banks: bool,
}

impl Counter {
    fn new(decoder: &Decoder, stream: &Stream<'_>, cfg: &Cfg) -> Self {
        let mut is_indexed = [false; 3];
        for inst in stream.insts() {
            for register in decoder.effects(&inst, VgprMsb::default()).indexed() {
                for (last, is_indexed) in LAST.iter().zip(&mut is_indexed) {
                    *is_indexed |= last.file == register.file;
                }
            }
        }
        let states = States::new(decoder, stream, cfg, Lanes::All);
        let [vectors, ..] = &mut is_indexed;
        *vectors |= states.has_index_mode();
        Self { is_indexed, knows_banks: knows_banks(decoder, &states, cfg) }
    }

    fn count(&self, live: &RegisterSet) -> LiveCounts {
        if live.contains(&ANYTHING) {
            return LiveCounts::default();
        }
        let [vgprs, agprs, sgprs] = [0, 1, 2].map(|file: usize| {
            let last = LAST.get(file)?;
            let is_any = self.is_indexed.get(file) == Some(&true) && live.contains(last);
            (!is_any).then(|| live.count(last.file))
        });
        LiveCounts { vgprs: vgprs.filter(|_| self.knows_banks), agprs, sgprs }
    }
}

/// Whether the upper bits of vector register numbers are known everywhere.
fn knows_banks(decoder: &Decoder, states: &States<'_>, cfg: &Cfg) -> bool {
    if !decoder.has_vgpr_msb() {
        return true;
    }
    let mut reached = cfg.reverse_post_order().iter();
    reached.all(|&block| {
        let mut state = states.before_block(block);
        cfg.blocks()[block].steps().all(|step| {
            let is_known = state.msb.is_some();
            state = states.after(state, step);
            is_known
        })
    })
}

#[cfg(test)]
mod tests {
    use hsaco_isa::Processor;

    use super::*;

    fn counts(words: &[u32]) -> Vec<LiveCounts> {
        counts_on("gfx942", words)
    }

    fn counts_on(processor: &str, words: &[u32]) -> Vec<LiveCounts> {
        let code: Vec<u8> = words.iter().flat_map(|it| it.to_le_bytes()).collect();
        let decoder = Decoder::new(Processor::from_name(processor).unwrap()).unwrap();
        let stream = Stream::decode(&decoder, 0x100, &code);
        LiveCounts::of(&decoder, &stream, &Cfg::new(&decoder, &stream))
    }

    fn known(vgprs: usize, agprs: usize, sgprs: usize) -> LiveCounts {
        LiveCounts { vgprs: Some(vgprs), agprs: Some(agprs), sgprs: Some(sgprs) }
    }

    #[test]
    fn registers_live_until_they_are_read_last() {
        // v_mov_b32 v1, s0; v_add_u32 v1, v1, v0; s_nop 0; s_endpgm
        let counts = counts(&[0x7e02_0200, 0x6802_0101, 0xbf80_0000, 0xbf81_0000]);
        assert_eq!(counts, [known(1, 0, 1), known(2, 0, 0), known(0, 0, 0), known(0, 0, 0)]);
    }

    #[test]
    fn before_a_jump_to_anywhere_nothing_is_known() {
        // s_nop 0; s_setpc_b64 s[0:1]
        assert_eq!(counts(&[0xbf80_0000, 0xbe80_1d00]), [LiveCounts::default(); 2]);
    }

    #[test]
    fn before_a_call_nothing_is_known() {
        // s_swappc_b64 s[30:31], s[0:1]; v_mov_b32 v0, v1; s_endpgm
        let counts = counts(&[0xbe9e_1e00, 0x7e00_0301, 0xbf81_0000]);
        assert_eq!(counts, [LiveCounts::default(), known(1, 0, 0), known(0, 0, 0)]);
    }

    #[test]
    fn vector_registers_in_banks_that_a_callee_chose_are_not_known() {
        // s_set_vgpr_msb 0x41; v_mov_b32 v0, v1; s_endpgm
        let counts = counts_on("gfx1250", &[0xbf86_0041, 0x7e00_0301, 0xbfb0_0000]);
        assert_eq!(counts, [known(1, 0, 0), known(1, 0, 0), known(0, 0, 0)]);
        // s_swap_pc_i64 s[30:31], s[0:1]; v_mov_b32 v0, v1; s_endpgm
        let counts = counts_on("gfx1250", &[0xbe9e_4900, 0x7e00_0301, 0xbfb0_0000]);
        let no_vgprs = LiveCounts { vgprs: None, ..known(0, 0, 0) };
        assert_eq!(counts, [LiveCounts::default(), no_vgprs, no_vgprs]);
    }

    #[test]
    fn registers_that_m0_chooses_are_not_known() {
        // s_movrels_b32 s0, s1; s_mov_b32 s1, s0; s_endpgm
        let counts = counts(&[0xbe80_2a01, 0xbe81_0000, 0xbf81_0000]);
        let only_sgprs = LiveCounts { sgprs: None, ..known(0, 0, 0) };
        assert_eq!(counts, [only_sgprs, known(0, 0, 1), known(0, 0, 0)]);
    }
}
