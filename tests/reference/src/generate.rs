//! Random instructions, and registers to run them from.

use std::collections::BTreeMap;

use hsaco_emu::Registers;
use hsaco_isa::model::{Form, Format, OperandValue, RegisterFile, Special};
use hsaco_isa::target::Generation;
use hsaco_isa::{Decoder, Inst};

/// xorshift64* by Marsaglia and Vigna.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0xd134_2543_de82_ef95) ^ 0x9e37_79b9_7f4a_7c15)
    }

    pub(super) fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.bits() >> 33) as usize % end.max(1)
    }
}

/// Vector registers that instructions use.
pub(super) const VGPRS: u16 = 24;
/// Numbers of vector registers in encodings; wide operands reach behind them.
const VGPR_BITS: u64 = 15;

/// The first words of the instructions of a processor, by name.
pub(super) struct Generator<'d> {
    decoder: &'d Decoder,
    generation: Generation,
    is_wave32: bool,
    /// For each mnemonic the masks and values of its first words.
    names: Vec<(&'static str, Vec<(u32, u32)>)>,
}

impl<'d> Generator<'d> {
    pub(super) fn new(decoder: &'d Decoder, generation: Generation) -> Self {
        let mut forms: BTreeMap<&'static str, Vec<(u32, u32)>> = BTreeMap::new();
        for form in decoder.forms().filter(|form| is_wanted(*form)) {
            forms.entry(form.mnemonic()).or_default();
        }
        for (name, words) in &mut forms {
            *words = decoder.first_words(&[name]);
        }
        let names = forms.into_iter().filter(|it| !it.1.is_empty()).collect();
        Self { decoder, generation, is_wave32: decoder.is_wave32(), names }
    }

    /// A random instruction whose registers are all modelled; some tries make none.
    pub(super) fn instruction(&self, random: &mut Random) -> Option<Inst> {
        let (_, words) = self.names.get(random.below(self.names.len()))?;
        let (mask, value) = words.get(random.below(words.len()))?;
        let noise = random.bits() as u32;
        let first = value | noise & !mask;
        let mut bytes = [0; 20];
        for (at, chunk) in bytes.chunks_mut(4).enumerate() {
            let word = match (at, random.below(3)) {
                (0, _) => first,
                // Most modifiers off: many instructions have few of them.
                (1, 0) => random.bits() as u32 & 0x0003_ffff,
                (1, 1) => (random.bits() & random.bits()) as u32 & 0x07ff_ffff,
                _ => random.bits() as u32,
            };
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        let inst = self.decoder.decode(&bytes)?;
        let bytes = self.with_small_numbers(&inst, bytes, random);
        let inst = self.decoder.decode(&bytes)?;
        (is_wanted(inst.form()) && self.is_modelled(&inst)).then_some(inst)
    }

    /// The same encoding with small numbers of vector registers, and with more registers than constants.
    fn with_small_numbers(&self, inst: &Inst, bytes: [u8; 20], random: &mut Random) -> [u8; 20] {
        // The upper bit of a number chooses a half of a register where an instruction has such.
        let has_halves = self.generation >= Generation::Gfx11
            && inst.mnemonic().contains("16")
            && matches!(inst.format(), Format::Vop1 | Format::Vop2 | Format::Vopc);
        let bits = if has_halves { VGPR_BITS | 0x80 } else { VGPR_BITS };
        let mut new = bytes;
        for field in fields(inst) {
            let (at, width) = match field {
                Field::Source(at) => (at, 9),
                Field::Vector(at) => (at, 8),
            };
            let Some(place) = new.get_mut(at / 8..at / 8 + 4) else { continue };
            let mut word = 0;
            for (byte, shift) in place.iter().zip([0, 8, 16, 24]) {
                word |= u64::from(*byte) << shift;
            }
            let old = word >> (at % 8) & ((1 << width) - 1);
            let value = match old {
                _ if width == 8 => old & bits,
                0xf9 | 0xfa | 0xe9 | 0xea => old,
                0..256 if random.below(4) == 0 => old,
                _ => 256 | old & bits,
            };
            word = word & !(((1 << width) - 1) << (at % 8)) | value << (at % 8);
            for (byte, shift) in place.iter_mut().zip([0, 8, 16, 24]) {
                *byte = (word >> shift) as u8;
            }
        }
        new
    }

    /// Whether all registers of an instruction are among those that are compared.
    fn is_modelled(&self, inst: &Inst) -> bool {
        // An operand whose bits stand for nothing is not listed.
        let is_whole = self.decoder.operands(inst).count() == inst.form().operands().count();
        let is_modelled = self.decoder.operands(inst).all(|operand| {
            let register = match operand.value {
                OperandValue::Register(register) => register,
                OperandValue::Number(number) => return !is_reserved(operand.name, number),
                _ => return true,
            };
            match register.file {
                RegisterFile::Vgpr => register.first + u16::from(register.count.max(1)) <= VGPRS,
                RegisterFile::Sgpr => register.first + u16::from(register.count.max(1)) <= 102,
                RegisterFile::Special(special) => match special {
                    Special::VccLo | Special::ExecLo | Special::M0 | Special::Null => true,
                    Special::Null64 | Special::Scc | Special::VccZ | Special::ExecZ => true,
                    Special::Vcc | Special::VccHi | Special::Exec | Special::ExecHi => {
                        !self.is_wave32
                    }
                    _ => false,
                },
                _ => false,
            }
        });
        let name = inst.mnemonic();
        // In waves of 32 lanes the upper half of EXEC is not compared. Of moves clamp means nothing.
        let has_exec = !self.is_wave32 || !name.ends_with("exec_b64");
        let is_clamped_move = name.starts_with("v_cndmask")
            && self.decoder.operand(inst, "clamp") == Some(OperandValue::Number(1));
        is_whole && is_modelled && has_exec && !is_clamped_move && !inst.is_doubtful()
    }
}

/// Where an encoding has the number of an operand: of any kind in nine bits, or of a vector register in eight.
enum Field {
    Source(usize),
    Vector(usize),
}

fn fields(inst: &Inst) -> Vec<Field> {
    use Field::{Source, Vector};
    let name = inst.mnemonic();
    let writes_scalars =
        name.starts_with("v_cmp") || name.contains("lane_b32") && name.contains("read");
    let mut fields = match inst.format() {
        Format::Vop1 => vec![Source(0), Vector(17)],
        Format::Vop2 => vec![Source(0), Vector(9), Vector(17)],
        Format::Vopc => vec![Source(0), Vector(9)],
        Format::Vop3 | Format::Vop3p => vec![Vector(0), Source(32), Source(41), Source(50)],
        Format::Vopd => {
            vec![Source(0), Vector(9), Source(32), Vector(41), Vector(48), Vector(56)]
        }
        Format::Ds => vec![Vector(32), Vector(40), Vector(48), Vector(56)],
        Format::Mubuf if inst.len() == 12 => vec![Vector(32), Vector(64)],
        Format::Mubuf => vec![Vector(32), Vector(40)],
        Format::Flat | Format::Global if inst.len() == 12 => {
            vec![Vector(32), Vector(55), Vector(64)]
        }
        Format::Flat | Format::Global => vec![Vector(32), Vector(40), Vector(56)],
        _ => Vec::new(),
    };
    if writes_scalars {
        fields.retain(|field| !matches!(field, Vector(0 | 17)));
    }
    match inst.format() {
        Format::Vop1 | Format::Vop2 | Format::Vopc if inst.extension().is_some() => {
            fields.push(Vector(32));
        }
        Format::Vop3 | Format::Vop3p if inst.extension().is_some() => fields.push(Vector(64)),
        _ => {}
    }
    fields
}

/// Values of fields that manuals give no meaning to.
fn is_reserved(name: &str, value: i64) -> bool {
    match name {
        "dst_unused" => value > 2,
        "dst_sel" | "src0_sel" | "src1_sel" => value > 6,
        _ => false,
    }
}

/// Whether instructions of a form compute, or load and store.
fn is_wanted(form: Form) -> bool {
    matches!(
        form.format(),
        Format::Sop1
            | Format::Sop2
            | Format::Sopc
            | Format::Sopk
            | Format::Vop1
            | Format::Vop2
            | Format::Vopc
            | Format::Vop3
            | Format::Vop3p
            | Format::Vopd
            | Format::Ds
            | Format::Mubuf
            | Format::Flat
            | Format::Global
    )
}

/// Numbers that make operations do what they rarely do.
const SPECIAL: [u32; 24] = [
    0,
    1,
    2,
    31,
    32,
    63,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x3f80_0000,
    0xbf80_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0001,
    0x7f80_0001,
    0x0000_0001,
    0x0080_0000,
    0x3c00_bc00,
    0x7c00_fc01,
    0x7bff_0400,
];

fn value(random: &mut Random) -> u32 {
    let bits = random.bits();
    match bits >> 60 {
        0 | 1 => SPECIAL[random.below(SPECIAL.len())],
        // Floats of one size, so that sums cancel.
        2 | 3 => (bits as u32) & 0x83ff_ffff | 0x3c00_0000,
        4 => (bits as u32) & 0x83ff_83ff | 0x3c00_3c00,
        // Denormals.
        5 => (bits as u32) & 0x807f_83ff,
        6 => bits as u32 & 0xff,
        _ => bits as u32,
    }
}

/// Random registers; EXEC is all ones, none, or anything.
pub(super) fn registers(random: &mut Random, lanes: usize, generation: Generation) -> Registers {
    let mut registers = Registers::default();
    registers.scalars = (0..106).map(|_| value(random)).collect();
    registers.vectors = (0..VGPRS).map(|_| (0..lanes).map(|_| value(random)).collect()).collect();
    let cut = if lanes == 64 { u64::MAX } else { 0xffff_ffff };
    registers.vcc = random.bits() & cut;
    registers.exec = match random.below(8) {
        0 => 0,
        1..=3 => u64::MAX,
        _ => random.bits(),
    } & cut;
    registers.m0 = value(random);
    registers.scc = random.below(2) == 1;
    registers.mode = mode(random, generation);
    registers
}

/// Round and denormal modes, and the bits that gfx12 has no more: DX10_CLAMP, IEEE; FP16_OVFL.
fn mode(random: &mut Random, generation: Generation) -> u32 {
    let bits = random.bits() as u32;
    let kept = match random.below(4) {
        0 => 0xf0,
        1 => bits & 0xf0,
        _ => bits & 0xff,
    };
    let flags = bits & (1 << 8 | 1 << 9);
    let overflow = bits & 1 << 23;
    if generation >= Generation::Gfx12 { kept | 0x300 | overflow } else { kept | flags | overflow }
}
