//! How many registers are live before each instruction.

use std::ops::Range;
use std::sync::OnceLock;

use hsaco_analysis::{Cfg, Function, Functions, Liveness, RegisterSet, States, Stream};
use hsaco_isa::Decoder;
use hsaco_isa::effects::Lanes;
use hsaco_isa::model::{Register, RegisterFile, Special, VgprMsb};
use hsaco_object::{CodeMap, CodeObject};

use crate::lister::EachNumber;

/// Registers whose values are still needed; none where that cannot be known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize))]
pub(crate) struct Counts {
    pub(crate) vgprs: Option<usize>,
    pub(crate) agprs: Option<usize>,
    pub(crate) sgprs: Option<usize>,
}

impl Counts {
    pub(crate) fn is_known(self) -> bool {
        self.vgprs.is_some() && self.agprs.is_some() && self.sgprs.is_some()
    }
}

/// The counts of an object, by function and instruction.
pub(crate) struct Live<'a> {
    functions: Vec<Lines>,
    map: CodeMap<'a>,
}

/// The counts of one function.
struct Lines {
    address: u64,
    /// By the address of the instruction.
    counts: Vec<(u64, Counts)>,
}

impl<'a> Live<'a> {
    /// Works them out for the functions that have code in some ranges of sections.
    pub(crate) fn new(
        object: &CodeObject<'a>,
        decoder: &Decoder,
        shown: impl Iterator<Item = (usize, Range<u64>)>,
        each: EachNumber,
    ) -> Self {
        let map = CodeMap::new(object, &object.index());
        let functions = Functions::new(&map, decoder);
        let mut live = Self { functions: Vec::new(), map };
        let mut shown: Vec<_> = shown
            .map(|(section, range)| {
                let start = live.start(section);
                start.wrapping_add(range.start)..start.wrapping_add(range.end)
            })
            .collect();
        shown.sort_by_key(|range| range.start);
        let is_shown = |it: &&Function<'_>| {
            let before = shown.partition_point(|range| range.start < it.end());
            let last = before.checked_sub(1).and_then(|at| shown.get(at));
            last.is_some_and(|range| range.end > it.address)
        };
        let wanted: Vec<&Function<'_>> = functions.as_slice().iter().filter(is_shown).collect();
        let lines: Vec<OnceLock<Lines>> = wanted.iter().map(|_| OnceLock::new()).collect();
        each(wanted.len(), &|number| {
            if let Some((function, place)) = wanted.get(number).zip(lines.get(number)) {
                place.get_or_init(|| Lines::new(decoder, function));
            }
        });
        live.functions = lines.into_iter().filter_map(OnceLock::into_inner).collect();
        live.functions.sort_by_key(|it| it.address);
        live
    }

    /// What is added to the addresses of a section, so that those of several differ: all of them begin at zero in
    /// objects that are not linked.
    pub(crate) fn start(&self, section: usize) -> u64 {
        u32::try_from(section).map_or(0, |section| self.map.address_of(section, 0))
    }

    /// What is live before the instruction at an address with that added; none for what is in no function, such as padding.
    pub(crate) fn at(&self, address: u64) -> Option<Counts> {
        let function = self.functions.partition_point(|it| it.address <= address).checked_sub(1)?;
        let counts = &self.functions.get(function)?.counts;
        let found = counts.binary_search_by_key(&address, |it| it.0).ok()?;
        counts.get(found).map(|it| it.1)
    }
}

impl Lines {
    fn new(decoder: &Decoder, function: &Function<'_>) -> Self {
        let stream = function.decode(decoder);
        let cfg = Cfg::new(decoder, &stream);
        let liveness = Liveness::new(decoder, &stream, &cfg, Lanes::All);
        let counter = Counter::new(decoder, &stream, &cfg);
        let mut counts = vec![Counts::default(); stream.len()];
        for block in cfg.blocks().ids() {
            liveness.walk(block, |step, before, _| {
                if let Some(place) = counts.get_mut(step) {
                    *place = counter.count(before);
                }
            });
        }
        let addresses = (0..counts.len()).map(|it| stream.address_of(it));
        let counts = addresses.zip(counts).collect();
        Self { address: function.address, counts }
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

    fn count(&self, live: &RegisterSet) -> Counts {
        if live.contains(&ANYTHING) {
            return Counts::default();
        }
        let [vgprs, agprs, sgprs] = [0, 1, 2].map(|file: usize| {
            let last = LAST.get(file)?;
            let is_any = self.is_indexed.get(file) == Some(&true) && live.contains(last);
            (!is_any).then(|| live.count(last.file))
        });
        Counts { vgprs: vgprs.filter(|_| self.knows_banks), agprs, sgprs }
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

    fn counts(words: &[u32]) -> Vec<Counts> {
        counts_on("gfx942", words)
    }

    fn counts_on(processor: &str, words: &[u32]) -> Vec<Counts> {
        let code: Vec<u8> = words.iter().flat_map(|it| it.to_le_bytes()).collect();
        let decoder = Decoder::new(Processor::from_name(processor).unwrap()).unwrap();
        let kind = hsaco_analysis::FunctionKind::Unnamed;
        let function = Function { name: None, kind, address: 0x100, code: &code };
        Lines::new(&decoder, &function).counts.into_iter().map(|it| it.1).collect()
    }

    fn known(vgprs: usize, agprs: usize, sgprs: usize) -> Counts {
        Counts { vgprs: Some(vgprs), agprs: Some(agprs), sgprs: Some(sgprs) }
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
        assert_eq!(counts(&[0xbf80_0000, 0xbe80_1d00]), [Counts::default(); 2]);
    }

    #[test]
    fn before_a_call_nothing_is_known() {
        // s_swappc_b64 s[30:31], s[0:1]; v_mov_b32 v0, v1; s_endpgm
        let counts = counts(&[0xbe9e_1e00, 0x7e00_0301, 0xbf81_0000]);
        assert_eq!(counts, [Counts::default(), known(1, 0, 0), known(0, 0, 0)]);
    }

    #[test]
    fn vector_registers_in_banks_that_a_callee_chose_are_not_known() {
        // s_set_vgpr_msb 0x41; v_mov_b32 v0, v1; s_endpgm
        let counts = counts_on("gfx1250", &[0xbf86_0041, 0x7e00_0301, 0xbfb0_0000]);
        assert_eq!(counts, [known(1, 0, 0), known(1, 0, 0), known(0, 0, 0)]);
        // s_swap_pc_i64 s[30:31], s[0:1]; v_mov_b32 v0, v1; s_endpgm
        let counts = counts_on("gfx1250", &[0xbe9e_4900, 0x7e00_0301, 0xbfb0_0000]);
        let no_vgprs = Counts { vgprs: None, ..known(0, 0, 0) };
        assert_eq!(counts, [Counts::default(), no_vgprs, no_vgprs]);
    }

    #[test]
    fn registers_that_m0_chooses_are_not_known() {
        // s_movrels_b32 s0, s1; s_mov_b32 s1, s0; s_endpgm
        let counts = counts(&[0xbe80_2a01, 0xbe81_0000, 0xbf81_0000]);
        let only_sgprs = Counts { sgprs: None, ..known(0, 0, 0) };
        assert_eq!(counts, [only_sgprs, known(0, 0, 1), known(0, 0, 0)]);
    }
}
