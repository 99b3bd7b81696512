//! What jumps, waits and padding are on each generation: one table, and the words that follow from it.
//!
//! Derived from LLVM's AMDGPU target (Apache-2.0 WITH LLVM-exception): encodings, `insertIndirectBranch`, `EmitCodeEnd`.

use hsaco_isa::Processor;
use hsaco_isa::target::{Generation, WaveSize};

use crate::jump::{CODE_END, NOP};

/// How an address is made of the program counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Add {
    /// `s_add_u32` and `s_addc_u32`: SCC is lost.
    Carry,
    /// `s_add_nc_u64` or `s_sub_nc_u64` with 32 bits.
    Wide,
    /// `s_add_nc_u64` with 64 bits.
    Wide64,
}

/// What is particular to a generation.
#[derive(Debug)]
pub(crate) struct Dialect {
    /// `s_branch`, its distance zero.
    branch: u32,
    /// Distances of branches that must not be: gfx1010 loses its way with them.
    bad_distance: Option<i16>,
    /// `s_getpc_b64` of s[0:1], and its name.
    get_pc: u32,
    /// `s_setpc_b64` of s[0:1].
    set_pc: u32,
    /// The name of `s_swappc_b64`.
    pub(crate) swap_pc: &'static str,
    add: Add,
    /// `s_cselect_b32 s0, 1, 0`.
    select: u32,
    /// `s_sext_i32_i16 s0, s0`, where the program counter is read without its sign.
    sign_extend: Option<u32>,
    /// What has to follow a write of a scalar register, before it is read, where vector instructions may have read it
    /// before: `s_wait_alu depctr_sa_sdst(0)`.
    settle: Option<(u32, &'static str)>,
    /// What fills space that nothing reaches: trap handlers of gfx9 take `s_code_end` for their own.
    pub(crate) pad: u32,
    /// Bytes behind code that fetching may run into, at the least.
    pub(crate) guard: u64,
    /// Waits until no memory operation is outstanding.
    pub(crate) drain: &'static [&'static str],
    /// The name of `global_atomic_add_u32`.
    pub(crate) atomic_add: &'static str,
    /// Waits for an atomic that returns nothing.
    pub(crate) atomic_done: &'static [&'static str],
    /// Waits between other matrix and vector instructions and ours, which the hardware does not do by itself.
    pub(crate) distance: &'static [&'static str],
    /// Scalar registers beside the numbered ones that kernels allocate: VCC; up to gfx9 FLAT_SCRATCH and XNACK_MASK.
    pub(crate) reserved_sgprs: u16,
}

/// `s_cmp_lg_u32 s0, 0`: SCC as `select` has saved it.
const COMPARE: u32 = 0xbf07_8000;
const SETTLE: u32 = 0xbf88_ff9e;

const GFX9: Dialect = Dialect {
    branch: 0xbf82_0000,
    bad_distance: None,
    get_pc: 0xbe80_1c00,
    set_pc: 0xbe80_1d00,
    swap_pc: "s_swappc_b64",
    add: Add::Carry,
    select: 0x8500_8081,
    sign_extend: None,
    settle: None,
    pad: NOP,
    guard: 16 * 64,
    drain: &["s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)"],
    atomic_add: "global_atomic_add",
    atomic_done: &["s_waitcnt vmcnt(0)"],
    // A matrix instruction of 16 passes reads its sources for 19 states.
    distance: &["s_nop 15", "s_nop 7"],
    reserved_sgprs: 6,
};

const GFX10: Dialect = Dialect {
    bad_distance: Some(0x3f),
    get_pc: 0xbe80_1f00,
    set_pc: 0xbe80_2000,
    pad: CODE_END,
    guard: 3 * 64,
    drain: &["s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)", "s_waitcnt_vscnt null, 0x0"],
    atomic_done: &["s_waitcnt_vscnt null, 0x0"],
    distance: &[],
    reserved_sgprs: 2,
    ..GFX9
};

const GFX11: Dialect = Dialect {
    branch: 0xbfa0_0000,
    bad_distance: None,
    get_pc: 0xbe80_4700,
    set_pc: 0xbe80_4800,
    select: 0x9800_8081,
    guard: 3 * 128,
    atomic_add: "global_atomic_add_u32",
    ..GFX10
};

/// Waves of 64 lanes read masks late.
const GFX11_WAVE64: Dialect =
    Dialect { settle: Some((SETTLE, "s_waitcnt_depctr depctr_sa_sdst(0)")), ..GFX11 };

const GFX12: Dialect = Dialect {
    add: Add::Wide,
    sign_extend: Some(0xbe80_0f00),
    settle: Some((SETTLE, "s_wait_alu depctr_sa_sdst(0)")),
    drain: &["s_wait_idle"],
    atomic_done: &["s_wait_storecnt 0x0"],
    ..GFX11
};

const GFX125: Dialect = Dialect {
    swap_pc: "s_swap_pc_i64",
    add: Add::Wide64,
    sign_extend: None,
    settle: None,
    guard: 128,
    atomic_done: &["s_wait_storecnt 0x0", "s_wait_xcnt 0x0"],
    ..GFX12
};

static GFX9_TABLE: Dialect = GFX9;
static GFX10_TABLE: Dialect = GFX10;
static GFX11_TABLE: Dialect = GFX11;
static GFX11_WAVE64_TABLE: Dialect = GFX11_WAVE64;
static GFX12_TABLE: Dialect = GFX12;
static GFX125_TABLE: Dialect = GFX125;

impl Dialect {
    /// Of the waves of a processor; none where code is not rewritten.
    pub(crate) fn of(processor: Processor, wave: WaveSize) -> Option<&'static Self> {
        Some(match (processor.generation(), wave) {
            (Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx940, _) => &GFX9_TABLE,
            (Generation::Gfx10, _) => &GFX10_TABLE,
            (Generation::Gfx11, WaveSize::Wave32) => &GFX11_TABLE,
            (Generation::Gfx11, WaveSize::Wave64) => &GFX11_WAVE64_TABLE,
            (Generation::Gfx12, _) => &GFX12_TABLE,
            (Generation::Gfx125, _) => &GFX125_TABLE,
            (Generation::Gfx6 | Generation::Gfx7 | Generation::Gfx8, _) => return None,
        })
    }

    /// Whether making an address loses SCC.
    pub(crate) fn loses_scc(&self) -> bool {
        self.add == Add::Carry
    }

    /// How far from all other code a pool may be.
    pub(crate) fn reach(&self) -> u64 {
        match self.add {
            Add::Wide64 => 1 << 62,
            Add::Carry | Add::Wide => 1 << 31,
        }
    }

    /// Bytes of a far jump, but for the way back on gfx1250.
    pub(crate) fn far_size(&self) -> usize {
        let settles = if self.settle.is_some() { 8 } else { 0 };
        match self.add {
            Add::Carry => 20 + settles,
            Add::Wide => 16 + settles,
            Add::Wide64 => 16,
        }
    }

    /// `s_branch` at an address to a target, if it is near enough.
    pub(crate) fn near(&self, from: u64, to: u64) -> Option<u32> {
        self.near_like(self.branch, from, to)
    }

    /// The same branch at another address.
    pub(crate) fn near_like(&self, branch: u32, from: u64, to: u64) -> Option<u32> {
        let distance = to.wrapping_sub(from.wrapping_add(4)).cast_signed();
        let words = i16::try_from(distance / 4).ok().filter(|_| distance % 4 == 0)?;
        let is_good = self.bad_distance != Some(words);
        is_good.then_some(branch & 0xffff_0000 | u32::from(words.cast_unsigned()))
    }

    /// A jump by a pair of scalar registers.
    ///
    /// `s_add_pc_i64` would be shorter on gfx1250, and does not work on A0.
    pub(crate) fn far(&self, from: u64, to: u64, pair: u16) -> Vec<u32> {
        let mut words = vec![self.get_pc | u32::from(pair) << 16];
        let distance = to.wrapping_sub(from.wrapping_add(4)).cast_signed();
        words.extend(self.settle_word());
        words.extend(match self.add {
            Add::Wide64 => add_short(distance, pair.into()),
            Add::Wide | Add::Carry => self.add(distance, pair.into()),
        });
        words.extend(self.settle_word());
        words.push(self.set_pc | u32::from(pair));
        words
    }

    /// An address in a pair of scalar registers, in words whose number the address does not change.
    pub(crate) fn address(&self, from: u64, to: u64, pair: u16) -> Vec<u32> {
        let distance = to.wrapping_sub(from.wrapping_add(4)).cast_signed();
        let high = u32::from(pair) + 1;
        let mut words = vec![self.get_pc | u32::from(pair) << 16];
        words.extend(self.settle_word());
        if let Some(extend) = self.sign_extend {
            words.push(extend | high << 16 | high);
            words.extend(self.settle_word());
        }
        words.extend(self.add(distance, pair.into()));
        words.extend(self.settle_word());
        words
    }

    /// The pair of registers of an address that begins with this word.
    pub(crate) fn address_pair(&self, word: u32) -> u16 {
        (word >> 16 & 0x7f) as u16
    }

    fn add(&self, distance: i64, pair: u32) -> Vec<u32> {
        let bits = distance.cast_unsigned();
        let (low, high) = (bits as u32, (bits >> 32) as u32);
        match self.add {
            Add::Carry => {
                let sign = if distance < 0 { MINUS_ONE } else { INTEGER };
                vec![
                    0x8000_0000 | pair << 16 | LITERAL << 8 | pair,
                    low,
                    0x8200_0000 | (pair + 1) << 16 | sign << 8 | (pair + 1),
                ]
            }
            Add::Wide => {
                let op = if distance < 0 { SUB_NC_U64 } else { ADD_NC_U64 };
                vec![op | pair << 16 | LITERAL << 8 | pair, distance.unsigned_abs() as u32]
            }
            Add::Wide64 => vec![ADD_NC_U64 | pair << 16 | LITERAL64 << 8 | pair, low, high],
        }
    }

    fn settle_word(&self) -> Option<u32> {
        self.settle.map(|(word, _)| word)
    }

    /// Saves SCC in a scalar register.
    pub(crate) fn save_scc(&self, register: u16) -> Vec<u32> {
        let mut words = vec![self.select | u32::from(register) << 16];
        words.extend(self.settle_word());
        words
    }

    /// SCC as it was saved.
    pub(crate) fn restore_scc(&self, register: u16) -> u32 {
        COMPARE | u32::from(register)
    }

    /// Lines with what has to follow writes of scalar registers.
    pub(crate) fn settled(&self, lines: Vec<String>) -> Vec<String> {
        let Some((_, settle)) = self.settle else { return lines };
        let others = ["s_wait", "s_nop", "s_cmp", "s_set", "s_swap"];
        let writes = |line: &str| {
            line.starts_with("s_") && !others.iter().any(|name| line.starts_with(name))
        };
        let mut settled = Vec::with_capacity(lines.len() * 2);
        for line in lines {
            let is_write = writes(&line);
            settled.push(line);
            settled.extend(is_write.then(|| settle.to_owned()));
        }
        settled
    }
}

const INTEGER: u32 = 128;
const MINUS_ONE: u32 = 193;
const LITERAL: u32 = 255;
const LITERAL64: u32 = 254;
const ADD_NC_U64: u32 = 0xa980_0000;
const SUB_NC_U64: u32 = 0xaa00_0000;

/// `s_add_nc_u64` of a constant to a pair of registers, in as few bytes as can be.
fn add_short(value: i64, pair: u32) -> Vec<u32> {
    let with = |source: u32| ADD_NC_U64 | pair << 16 | source << 8 | pair;
    let low = value.cast_unsigned() as u32;
    match value {
        0..=64 => vec![with(INTEGER + low)],
        -16..0 => vec![with(INTEGER + 64 + value.unsigned_abs() as u32)],
        65..=0x7fff_ffff => vec![with(LITERAL), low],
        _ => vec![with(LITERAL64), low, (value.cast_unsigned() >> 32) as u32],
    }
}

#[cfg(test)]
mod tests {
    use hsaco_isa::Assembler;
    use hsaco_isa::decoder::DecodeOptions;

    use super::*;
    use crate::jump::{VCC, bytes, far_way};

    fn assembler(name: &str, wave_size: WaveSize) -> (Assembler, &'static Dialect) {
        let processor = Processor::from_name(name).unwrap();
        let options = DecodeOptions { wave_size: Some(wave_size), ..DecodeOptions::default() };
        let assembler = Assembler::new(processor, options).unwrap();
        (assembler, Dialect::of(processor, wave_size).unwrap())
    }

    fn encoded(assembler: &Assembler, lines: &[String]) -> Vec<u8> {
        let mut bytes = Vec::new();
        lines.iter().for_each(|it| assembler.assemble(it).unwrap().encode(&mut bytes));
        bytes
    }

    /// Capability 34.
    #[test]
    fn distances_take_as_few_bytes_as_the_assembler_gives_them() {
        let (assembler, dialect) = assembler("gfx1250", WaveSize::Wave32);
        let pairs = [(4, "s[4:5]"), (104, "s[104:105]"), (VCC, "vcc")];
        let values = [64_i64, 0, -16, 65, -17, 0x12345, -0x12345, 0x7fff_ffff, 0x8000_0000];
        for (pair, name) in pairs {
            for value in values {
                let lines = [
                    format!("s_get_pc_i64 {name}"),
                    format!("s_add_nc_u64 {name}, {name}, {value}"),
                    format!("s_set_pc_i64 {name}"),
                ];
                let to = 0x10_0004_u64.wrapping_add_signed(value);
                let words = dialect.far(0x10_0000, to, pair);
                assert_eq!(bytes(&words), encoded(&assembler, &lines), "{lines:?}");
            }
        }
        let len = |value: i64| dialect.far(0, 4_u64.wrapping_add_signed(value), 4).len() * 4;
        assert_eq!([len(64), len(0x12345), len(-0x12345)], [12, 16, 20]);
    }

    const WAVES: [(&str, WaveSize); 7] = [
        ("gfx90a", WaveSize::Wave64),
        ("gfx942", WaveSize::Wave64),
        ("gfx1030", WaveSize::Wave32),
        ("gfx1100", WaveSize::Wave32),
        ("gfx1100", WaveSize::Wave64),
        ("gfx1201", WaveSize::Wave32),
        ("gfx1250", WaveSize::Wave32),
    ];

    #[test]
    fn words_are_those_of_the_assembler_on_every_generation() {
        for (name, wave) in WAVES {
            let (assembler, dialect) = assembler(name, wave);
            let line = |text: &str| encoded(&assembler, &[text.to_owned()]);
            let word = |text: &str| u32::from_le_bytes(line(text)[..4].try_into().unwrap());
            assert_eq!(dialect.branch, word("s_branch 0"), "{name}");
            let get_pc = dialect.get_pc | 4 << 16;
            assert_eq!(
                get_pc,
                word(if name == "gfx1250" { "s_get_pc_i64 s[4:5]" } else { "s_getpc_b64 s[4:5]" })
            );
            let set_pc =
                if name == "gfx1250" { "s_set_pc_i64 s[4:5]" } else { "s_setpc_b64 s[4:5]" };
            assert_eq!(dialect.set_pc | 4, word(set_pc), "{name}");
            assert_eq!(dialect.save_scc(7)[0], word("s_cselect_b32 s7, 1, 0"), "{name}");
            assert_eq!(dialect.restore_scc(7), word("s_cmp_lg_u32 s7, 0"), "{name}");
            if let Some((settle, text)) = dialect.settle {
                assert_eq!(settle, word(text), "{name}");
            }
            if let Some(extend) = dialect.sign_extend {
                assert_eq!(extend | 5 << 16 | 5, word("s_sext_i32_i16 s5, s5"), "{name}");
            }
            for text in dialect.drain.iter().chain(dialect.atomic_done).chain(dialect.distance) {
                line(text);
            }
        }
    }

    #[test]
    fn far_jumps_lead_where_they_are_read_to_lead() {
        for (name, wave) in WAVES {
            let (assembler, dialect) = assembler(name, wave);
            for (pair, distance) in
                [(4, 0x20_0000_i64), (VCC, -0x20_0000), (100, 0x7000_0000), (6, -0x7000_0000)]
            {
                let from = 0x7100_0000_u64;
                let to = from.wrapping_add_signed(distance);
                let words = [dialect.save_scc(9), dialect.far(from, to, pair)].concat();
                let skipped = dialect.save_scc(9).len() as u64 * 4;
                let at = from - skipped;
                let way = far_way(assembler.decoder(), at, &bytes(&words)).unwrap();
                assert_eq!((way.target, way.saved.map(|it| it.first)), (to, Some(9)), "{name}");
                let is_forward = distance > 0 || name != "gfx1250";
                let size = dialect.far(from, to, pair).len() * 4;
                assert!(!is_forward || size == dialect.far_size(), "{name}: {size}");
            }
            let lengths = [0x10_u64, 0x7000_0000].map(|to| dialect.address(0x1000, to, 4).len());
            assert_eq!(lengths[0], lengths[1], "{name}");
        }
    }

    #[test]
    fn a_branch_reaches_so_far_and_no_further() {
        let (_, dialect) = assembler("gfx1250", WaveSize::Wave32);
        assert_eq!(dialect.near(0, 4), Some(0xbfa0_0000));
        assert_eq!(dialect.near(0, 0), Some(0xbfa0_ffff));
        assert_eq!(dialect.near(0, 0x1_fffc + 4), Some(0xbfa0_7fff));
        assert_eq!(dialect.near(0, 0x2_0000 + 4), None);
        assert_eq!(dialect.near(0x2_0000, 4), Some(0xbfa0_8000));
        assert_eq!(dialect.near(0x2_0004, 4), None);
        assert_eq!(dialect.near(0, 6), None);
    }
}
