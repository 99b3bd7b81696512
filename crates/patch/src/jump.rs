//! The instructions that lead to a replacement and back, as words.

use hsaco_isa::{Decoder, OperandValue};

/// How control gets from one place to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jump {
    /// Nothing: the replacement is in place.
    None,
    /// By one `s_branch`.
    Near,
    /// By way of other `s_branch`es.
    Relay,
    /// By an address in a pair of scalar registers.
    Far,
}

impl Jump {
    /// A short name that programs may rely on.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Jump::None => "none",
            Jump::Near => "near",
            Jump::Relay => "relay",
            Jump::Far => "far",
        }
    }

    /// The jump of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::None, Self::Near, Self::Relay, Self::Far].into_iter().find(|it| it.name() == name)
    }
}

/// `s_nop 0`.
pub(crate) const NOP: u32 = 0xbf80_0000;
/// `s_code_end`.
pub(crate) const CODE_END: u32 = 0xbf9f_0000;
const BRANCH: u32 = 0xbfa0_0000;
/// The number of VCC as a scalar register.
pub(crate) const VCC: u16 = 106;

/// The most that a far jump takes.
pub(crate) const FAR: usize = 20;
/// What a far jump forward takes, but for the smallest distances.
pub(crate) const FAR_FORWARD: usize = 16;

/// `s_branch` at an address to a target, if it is near enough.
pub(crate) fn near(from: u64, to: u64) -> Option<u32> {
    let distance = to.wrapping_sub(from.wrapping_add(4)).cast_signed();
    let words = i16::try_from(distance / 4).ok().filter(|_| distance % 4 == 0)?;
    Some(BRANCH | u32::from(words.cast_unsigned()))
}

/// A jump by a pair of scalar registers: `s_get_pc_i64`, `s_add_nc_u64`, `s_set_pc_i64`. SCC is untouched.
///
/// `s_add_pc_i64` would be shorter, and does not work on A0.
pub(crate) fn far(from: u64, to: u64, pair: u16) -> Vec<u32> {
    let pair = u32::from(pair);
    let mut words = vec![0xbe80_4700 | pair << 16];
    words.extend(add(to.wrapping_sub(from.wrapping_add(4)).cast_signed(), pair));
    words.push(0xbe80_4800 | pair);
    words
}

/// `s_add_nc_u64` of a constant to a pair of registers, in as few bytes as can be.
fn add(value: i64, pair: u32) -> Vec<u32> {
    const INTEGER: u32 = 128;
    const LITERAL: u32 = 255;
    const LITERAL64: u32 = 254;
    let with = |source: u32| 0xa980_0000 | pair << 16 | source << 8 | pair;
    let low = value.cast_unsigned() as u32;
    match value {
        0..=64 => vec![with(INTEGER + low)],
        -16..0 => vec![with(INTEGER + 64 + value.unsigned_abs() as u32)],
        65..=0x7fff_ffff => vec![with(LITERAL), low],
        _ => vec![with(LITERAL64), low, (value.cast_unsigned() >> 32) as u32],
    }
}

/// Where a far jump goes, if one begins here: read from its three instructions.
pub(crate) fn far_target(decoder: &Decoder, at: u64, bytes: &[u8]) -> Option<u64> {
    let named = |bytes: &[u8], name| decoder.decode(bytes).filter(|it| it.mnemonic() == name);
    let get = named(bytes, "s_get_pc_i64")?;
    let bytes = bytes.get(get.len()..)?;
    let add = named(bytes, "s_add_nc_u64")?;
    let set = named(bytes.get(add.len()..)?, "s_set_pc_i64")?;
    let pair = decoder.operand(&get, "sdst")?;
    let is_pair = |inst, name| decoder.operand(inst, name) == Some(pair);
    if !is_pair(&add, "sdst") || !is_pair(&add, "src0") || !is_pair(&set, "src0") {
        return None;
    }
    let distance = match decoder.operand(&add, "src1")? {
        OperandValue::Integer(value) => i64::from(value).cast_unsigned(),
        OperandValue::Literal32(value) => value.into(),
        OperandValue::Literal64(value) => value,
        _ => return None,
    };
    Some(at.wrapping_add(get.len() as u64).wrapping_add(distance))
}

/// Words as bytes.
pub(crate) fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use hsaco_isa::{Assembler, DecodeOptions, Processor};

    use super::*;

    #[test]
    fn capability_34_distances_take_as_few_bytes_as_the_assembler_gives_them() {
        let gfx1250 = Processor::from_name("gfx1250").unwrap();
        let assembler = Assembler::new(gfx1250, DecodeOptions::default()).unwrap();
        let pairs = [(4, "s[4:5]"), (104, "s[104:105]"), (VCC, "vcc")];
        let values = [64_i64, 0, -16, 65, -17, 0x12345, -0x12345, 0x7fff_ffff, 0x8000_0000];
        for (pair, name) in pairs {
            for value in values {
                let lines = [
                    format!("s_get_pc_i64 {name}"),
                    format!("s_add_nc_u64 {name}, {name}, {value}"),
                    format!("s_set_pc_i64 {name}"),
                ];
                let mut expected = Vec::new();
                for line in &lines {
                    assembler.assemble(line).unwrap().encode(&mut expected);
                }
                let to = 0x10_0004_u64.wrapping_add_signed(value);
                assert_eq!(bytes(&far(0x10_0000, to, pair)), expected, "{lines:?}");
            }
        }
        let len = |value: i64| far(0, 4_u64.wrapping_add_signed(value), 4).len() * 4;
        assert_eq!([len(64), len(0x12345), len(-0x12345)], [12, 16, 20]);
    }

    #[test]
    fn a_branch_reaches_so_far_and_no_further() {
        assert_eq!(near(0, 4), Some(0xbfa0_0000));
        assert_eq!(near(0, 0), Some(0xbfa0_ffff));
        assert_eq!(near(0, 0x1_fffc + 4), Some(0xbfa0_7fff));
        assert_eq!(near(0, 0x2_0000 + 4), None);
        assert_eq!(near(0x2_0000, 4), Some(0xbfa0_8000));
        assert_eq!(near(0x2_0004, 4), None);
        assert_eq!(near(0, 6), None);
    }
}
