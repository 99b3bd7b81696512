//! What the instructions of a loop or function are, counted: classes, memory accesses, matrix operations.

use hsaco_analysis::Stream;
use hsaco_isa::effects::{Effects, Flow, Space};
use hsaco_isa::model::{OperandValue, VgprMsb};
use hsaco_isa::{Decoder, Inst};
use serde::Serialize;

/// A class of instructions; each instruction is of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Vector arithmetic.
    Valu,
    /// Matrix operations.
    Matrix,
    /// Scalar arithmetic.
    Salu,
    /// Accesses through the scalar cache.
    Smem,
    /// Accesses of global memory, by any kind of address.
    Vmem,
    /// Accesses of LDS.
    Lds,
    /// Accesses of scratch memory.
    Scratch,
    /// All that does not go on with the next instruction: branches, calls, ends.
    Branch,
    /// Waits for wait counters.
    Wait,
    /// Waits for other waves.
    Barrier,
    /// Instructions that only take time or hint at what follows.
    Nop,
    /// Messages, exports, modes and whatever else.
    Other,
    /// Bytes that are no instruction.
    Undecodable,
}

impl Class {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Class; 13] = [
        Class::Valu,
        Class::Matrix,
        Class::Salu,
        Class::Smem,
        Class::Vmem,
        Class::Lds,
        Class::Scratch,
        Class::Branch,
        Class::Wait,
        Class::Barrier,
        Class::Nop,
        Class::Other,
        Class::Undecodable,
    ];

    /// A short name that programs may rely on.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Class::Valu => "valu",
            Class::Matrix => "matrix",
            Class::Salu => "salu",
            Class::Smem => "smem",
            Class::Vmem => "vmem",
            Class::Lds => "lds",
            Class::Scratch => "scratch",
            Class::Branch => "branch",
            Class::Wait => "wait",
            Class::Barrier => "barrier",
            Class::Nop => "nop",
            Class::Other => "other",
            Class::Undecodable => "undecodable",
        }
    }

    /// The classes of all instructions of a stream, by number.
    #[must_use]
    pub fn of_all(decoder: &Decoder, stream: &Stream<'_>) -> Vec<Self> {
        let class = |inst: Inst| Self::of(&inst, &decoder.effects(&inst, VgprMsb::default()));
        stream.steps().map(|step| step.inst.map_or(Self::Undecodable, class)).collect()
    }

    /// The class of an instruction.
    #[must_use]
    pub fn of(inst: &Inst, effects: &Effects<'_>) -> Self {
        let name = inst.mnemonic();
        match effects.memory().map(|it| it.space) {
            Some(Space::Scalar) => return Class::Smem,
            Some(Space::Global | Space::Flat | Space::Buffer | Space::Image) => return Class::Vmem,
            Some(Space::Lds) => return Class::Lds,
            Some(Space::Scratch) => return Class::Scratch,
            None => {}
        }
        if inst.flow() != Flow::Next {
            return Class::Branch;
        }
        if effects.waits().next().is_some() || effects.waits_for_idle() {
            return Class::Wait;
        }
        match name.split('_').next() {
            _ if BARRIERS.iter().any(|it| name.starts_with(it)) => Class::Barrier,
            _ if NOPS.contains(&name) => Class::Nop,
            _ if is_matrix(name) => Class::Matrix,
            // Of the units that address memory, what does not: permutations and offsets of LDS.
            Some("ds") => Class::Lds,
            Some("buffer" | "global" | "flat" | "image" | "tensor") => Class::Vmem,
            Some("v") => Class::Valu,
            Some("s") if OTHERS.iter().any(|it| name.starts_with(it)) => Class::Other,
            Some("s") => Class::Salu,
            _ => Class::Other,
        }
    }
}

const BARRIERS: [&str; 2] = ["s_barrier", "s_get_barrier_state"];
const NOPS: [&str; 6] = ["s_nop", "v_nop", "s_delay_alu", "s_clause", "s_sleep", "s_sleep_var"];
/// Scalar instructions that compute nothing.
const OTHERS: [&str; 16] = [
    "s_sendmsg",
    "s_set_vgpr_msb",
    "s_setprio",
    "s_sethalt",
    "s_setkill",
    "s_trap",
    "s_ttrace",
    "s_inst_prefetch",
    "s_set_inst_prefetch",
    "s_icache_inv",
    "s_incperflevel",
    "s_decperflevel",
    "s_round_mode",
    "s_denorm_mode",
    "s_version",
    "s_wakeup",
];

/// Whether an instruction multiplies matrices, or loads scales for one that does.
#[must_use]
pub fn is_matrix(mnemonic: &str) -> bool {
    ["v_mfma_", "v_smfmac_", "v_wmma_", "v_swmmac_"].iter().any(|it| mnemonic.starts_with(it))
}

/// What instructions are, counted.
///
/// ```
/// use hsaco_analysis::Stream;
/// use hsaco_describe::mix::{Class, Mix};
/// use hsaco_isa::{Decoder, Processor};
/// let decoder = Decoder::new(Processor::from_name("gfx942").unwrap())?;
/// // v_add_u32 v3, v1, v2; s_endpgm
/// let code = [0x01, 0x05, 0x06, 0x68, 0x00, 0x00, 0x81, 0xbf];
/// let stream = Stream::decode(&decoder, 0, &code);
/// let mix = Mix::of(&decoder, &stream, 0..stream.len());
/// assert_eq!((mix.instructions, mix.count(Class::Valu), mix.count(Class::Branch)), (2, 1, 1));
/// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Mix {
    /// How many.
    pub instructions: u64,
    /// By class, without classes that do not occur.
    pub classes: Vec<ClassCount>,
    /// Memory accesses by space, access and width. One that moves data between memory and LDS is in two rows.
    pub memory: Vec<MemoryCount>,
    /// Matrix operations by shape and data types.
    pub matrix: Vec<MatrixCount>,
}

/// Instructions of a class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClassCount {
    /// Its name.
    pub class: &'static str,
    /// How many.
    pub count: u64,
}

/// Accesses of one kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct MemoryCount {
    /// Where the memory is.
    pub space: &'static str,
    /// What is done to it.
    pub access: &'static str,
    /// Bytes that a lane moves, or the wave in scalar accesses; null where a format or a descriptor decides.
    pub width: Option<u8>,
    /// How many.
    pub count: u64,
}

/// Matrix operations of one kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct MatrixCount {
    /// `mfma`, `smfmac`, `wmma` or `swmmac`.
    pub kind: String,
    /// Rows, columns and depth: `16x16x32`.
    pub shape: String,
    /// The type of the first operand's elements.
    pub a: String,
    /// The type of the second operand's elements.
    pub b: String,
    /// The type of sums.
    pub sum: String,
    /// Whether elements have scales.
    pub scaled: bool,
    /// How many.
    pub count: u64,
}

impl Mix {
    /// Counts the instructions of these numbers.
    #[must_use]
    pub fn of(
        decoder: &Decoder,
        stream: &Stream<'_>,
        steps: impl IntoIterator<Item = usize>,
    ) -> Self {
        let mut mix = Self::default();
        let mut classes = [0; Class::ALL.len()];
        for step in steps {
            mix.instructions += 1;
            let class = match stream.inst(step) {
                Some(inst) => mix.add(decoder, &inst),
                None => Class::Undecodable,
            };
            if let Some(count) = classes.get_mut(class as usize) {
                *count += 1;
            }
        }
        let counted = Class::ALL.into_iter().zip(classes).filter(|(_, count)| *count > 0);
        mix.classes = counted.map(|(it, count)| ClassCount { class: it.name(), count }).collect();
        mix.memory.sort();
        mix.matrix.sort();
        mix
    }

    /// How many instructions are of a class.
    #[must_use]
    pub fn count(&self, class: Class) -> u64 {
        self.classes.iter().find(|it| it.class == class.name()).map_or(0, |it| it.count)
    }

    fn add(&mut self, decoder: &Decoder, inst: &Inst) -> Class {
        let effects = decoder.effects(inst, VgprMsb::default());
        if let Some(memory) = effects.memory() {
            let sides =
                [Some((memory.space, memory.access)), memory.lds.map(|it| (Space::Lds, it))];
            for (space, access) in sides.into_iter().flatten() {
                let (space, access, width) = (space.name(), access.name(), memory.bytes);
                let is_same = |it: &&mut MemoryCount| {
                    (it.space, it.access, it.width) == (space, access, width)
                };
                match self.memory.iter_mut().find(is_same) {
                    Some(row) => row.count += 1,
                    None => self.memory.push(MemoryCount { space, access, width, count: 1 }),
                }
            }
        }
        if let Some(row) = MatrixCount::of(decoder, inst) {
            let is_same = |it: &&mut MatrixCount| MatrixCount { count: 1, ..(*it).clone() } == row;
            match self.matrix.iter_mut().find(is_same) {
                Some(same) => same.count += 1,
                None => self.matrix.push(row),
            }
        }
        Class::of(inst, &effects)
    }
}

impl MatrixCount {
    /// A matrix operation, taken apart by its name: `v_mfma_f32_16x16x16_bf16`, `v_mfma_f32_16x16x16bf16_1k`.
    fn of(decoder: &Decoder, inst: &Inst) -> Option<Self> {
        let name = inst.mnemonic();
        if !is_matrix(name) {
            return None;
        }
        let mut words = name.split('_').skip(1).peekable();
        let kind = words.next()?.to_owned();
        let scaled = words.next_if(|it| it.starts_with("scale")).is_some();
        let sum = words.next()?.to_owned();
        let (shape, attached) = split_shape(words.next()?)?;
        let is_block_count = |it: &&str| it.ends_with('b') && it.len() < 4;
        let rest = words.filter(|it| *it != "1k" && !is_block_count(it));
        let types: Vec<&str> = attached_types(attached).into_iter().chain(rest).collect();
        let (a, b) = (*types.first()?, *types.last()?);
        let fields =
            if kind == "mfma" { ["cbsz", "blgp"] } else { ["matrix_a_fmt", "matrix_b_fmt"] };
        let [a, b] = [(a, 0), (b, 1)].map(|(ty, side)| match (ty, fields.get(side)) {
            ("f8f6f4", Some(field)) => small_format(decoder, inst, field).to_owned(),
            _ => ty.to_owned(),
        });
        Some(Self { kind, shape: shape.to_owned(), a, b, sum, scaled, count: 1 })
    }
}

/// `32x32x4f16`: the shape, and what is attached to it.
fn split_shape(word: &str) -> Option<(&str, &str)> {
    let is_shape = |it: char| it.is_ascii_digit() || it == 'x';
    // xf32 is a type that begins like a shape.
    let end = word.find("xf32").or_else(|| word.find(|it| !is_shape(it))).unwrap_or(word.len());
    let (shape, attached) = word.split_at_checked(end)?;
    (shape.matches('x').count() == 2).then_some((shape, attached))
}

/// The one or two types that old names attach to a shape: `bf8fp8`.
fn attached_types(attached: &str) -> Vec<&str> {
    let is_small = |it: &str| matches!(it, "bf8" | "fp8");
    match attached.split_at_checked(3) {
        _ if attached.is_empty() => Vec::new(),
        Some((a, b)) if is_small(a) && is_small(b) => vec![a, b],
        _ => vec![attached],
    }
}

/// The format of elements that a field of the instruction says.
fn small_format(decoder: &Decoder, inst: &Inst, field: &str) -> &'static str {
    match decoder.operand(inst, field) {
        Some(OperandValue::Number(0)) => "fp8",
        Some(OperandValue::Number(1)) => "bf8",
        Some(OperandValue::Number(2)) => "fp6",
        Some(OperandValue::Number(3)) => "bf6",
        Some(OperandValue::Number(4)) => "fp4",
        _ => "f8f6f4",
    }
}

#[cfg(test)]
mod tests {
    use hsaco_isa::decoder::DecodeOptions;
    use hsaco_isa::{Assembler, Processor};

    use super::*;

    fn mix(processor: &str, lines: &[&str]) -> Mix {
        let processor = Processor::from_name(processor).unwrap();
        let decoder = Decoder::new(processor).unwrap();
        let assembler = Assembler::new(processor, DecodeOptions::default()).unwrap();
        let insts = lines.iter().map(|line| assembler.assemble(line).unwrap());
        let code: Vec<u8> = insts.flat_map(|it| it.bytes()[..it.len()].to_vec()).collect();
        let stream = Stream::decode(&decoder, 0, &code);
        assert_eq!(stream.len(), lines.len());
        Mix::of(&decoder, &stream, 0..stream.len())
    }

    fn classes(mix: &Mix) -> String {
        let words: Vec<String> =
            mix.classes.iter().map(|it| format!("{} {}", it.class, it.count)).collect();
        words.join(", ")
    }

    #[test]
    fn every_instruction_is_of_one_class() {
        let mix = mix(
            "gfx942",
            &[
                "v_add_u32 v0, v1, v2",
                "v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]",
                "s_add_u32 s0, s1, s2",
                "s_load_dwordx2 s[0:1], s[2:3], 0x0",
                "global_load_dwordx4 v[0:3], v4, s[0:1]",
                "buffer_store_short v0, off, s[0:3], 0",
                "ds_read_b64 v[0:1], v2",
                "ds_bpermute_b32 v0, v1, v2",
                "scratch_store_dword off, v0, s32",
                "s_cbranch_scc0 2",
                "s_waitcnt vmcnt(0)",
                "s_barrier",
                "s_nop 0",
                "s_sendmsg sendmsg(MSG_INTERRUPT)",
                "s_endpgm",
            ],
        );
        assert_eq!(
            classes(&mix),
            "valu 1, matrix 1, salu 1, smem 1, vmem 2, lds 2, scratch 1, branch 2, wait 1, \
             barrier 1, nop 1, other 1"
        );
        assert_eq!(mix.instructions, 15);
        let memory = |it: &MemoryCount| format!("{} {} {:?}", it.space, it.access, it.width);
        let memory: Vec<String> = mix.memory.iter().map(memory).collect();
        assert_eq!(
            memory,
            [
                "buffer store Some(2)",
                "global load Some(16)",
                "lds load Some(8)",
                "scalar load Some(8)",
                "scratch store Some(4)"
            ]
        );
    }

    #[test]
    fn what_bypasses_the_registers_is_two_accesses() {
        let mix = mix("gfx942", &["global_load_lds_dword v0, s[0:1]"]);
        let memory: Vec<_> = mix.memory.iter().map(|it| (it.space, it.access, it.count)).collect();
        assert_eq!(memory, [("global", "load", 1), ("lds", "store", 1)]);
        assert_eq!(classes(&mix), "vmem 1");
    }

    #[test]
    fn matrix_operations_are_known_by_their_types() {
        for (processor, line, expected) in [
            (
                "gfx90a",
                "v_mfma_f32_16x16x16bf16_1k a[0:3], v[4:5], v[6:7], a[0:3]",
                "mfma 16x16x16 bf16 bf16 f32 false",
            ),
            (
                "gfx942",
                "v_mfma_f32_16x16x8_xf32 v[0:3], v[4:5], v[6:7], v[0:3]",
                "mfma 16x16x8 xf32 xf32 f32 false",
            ),
            (
                "gfx942",
                "v_mfma_f32_4x4x1_16b_f32 v[0:3], v4, v5, v[0:3]",
                "mfma 4x4x1 f32 f32 f32 false",
            ),
            (
                "gfx942",
                "v_smfmac_f32_16x16x64_bf8_fp8 v[0:3], v[4:5], v[6:9], v10",
                "smfmac 16x16x64 bf8 fp8 f32 false",
            ),
            (
                "gfx950",
                "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:7], v[8:15], v[0:3] cbsz:4 blgp:1",
                "mfma 16x16x128 fp4 bf8 f32 false",
            ),
            (
                "gfx1100",
                "v_wmma_i32_16x16x16_iu8 v[0:7], v[8:11], v[12:15], v[0:7]",
                "wmma 16x16x16 iu8 iu8 i32 false",
            ),
            (
                "gfx1201",
                "v_swmmac_f32_16x16x32_fp8_bf8 v[0:7], v[8:9], v[10:13], v14",
                "swmmac 16x16x32 fp8 bf8 f32 false",
            ),
            (
                "gfx1250",
                "v_wmma_f32_16x16x128_f8f6f4 v[0:7], v[8:23], v[24:35], v[0:7] matrix_b_fmt:MATRIX_FMT_FP6",
                "wmma 16x16x128 fp8 fp6 f32 false",
            ),
        ] {
            let mix = mix(processor, &[line]);
            let [it] = mix.matrix.as_slice() else { panic!("{line}") };
            let MatrixCount { kind, shape, a, b, sum, scaled, count: 1 } = it else { panic!() };
            assert_eq!(format!("{kind} {shape} {a} {b} {sum} {scaled}"), expected);
            assert_eq!(classes(&mix), "matrix 1");
        }
    }
}
