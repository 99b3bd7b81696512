//! Applying relocations: what each type computes, and where that fits.

use hsaco_elf::relocation::RelocationType;

/// How a relocation's value is made and stored. S is the symbol's address, A the addend, P the place's address, B
/// how far the object was moved, G where the symbol's address stands in the GOT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    Nothing,
    /// S + A, low half.
    AbsoluteLow,
    /// S + A, high half.
    AbsoluteHigh,
    /// S + A.
    Absolute64,
    /// S + A, which must fit.
    Absolute32,
    /// S + A - P, which must fit.
    Relative32,
    /// S + A - P.
    Relative64,
    /// S + A - P, low half.
    RelativeLow,
    /// S + A - P, high half.
    RelativeHigh,
    /// S + A - P in words after this one, which must fit.
    Relative16,
    /// G + A - P, which must fit.
    Got32,
    /// G + A - P, low half.
    GotLow,
    /// G + A - P, high half.
    GotHigh,
    /// B + A.
    Moved,
}

/// Types by number: the rule, whether linkers keep it, whether loaders apply it.
const RULES: [(u32, Rule, bool, bool); 14] = [
    (0, Rule::Nothing, true, true),
    (1, Rule::AbsoluteLow, true, true),
    (2, Rule::AbsoluteHigh, true, true),
    (3, Rule::Absolute64, true, true),
    (4, Rule::Relative32, true, false),
    (5, Rule::Relative64, true, false),
    (6, Rule::Absolute32, true, true),
    (7, Rule::Got32, true, false),
    (8, Rule::GotLow, true, false),
    (9, Rule::GotHigh, true, false),
    (10, Rule::RelativeLow, true, false),
    (11, Rule::RelativeHigh, true, false),
    (13, Rule::Moved, false, true),
    (14, Rule::Relative16, true, false),
];

/// What a value is made of.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Terms {
    pub(crate) symbol: u64,
    pub(crate) addend: i64,
    pub(crate) place: u64,
    pub(crate) moved: u64,
    pub(crate) slot: u64,
}

impl Rule {
    /// The rule of a type, where such relocations exist.
    pub(crate) fn of(kind: RelocationType, is_static: bool) -> Option<Self> {
        let row = RULES.iter().find(|(number, ..)| *number == kind.0)?;
        let (_, rule, kept, applied) = *row;
        (if is_static { kept } else { applied }).then_some(rule)
    }

    /// Bytes that are stored.
    pub(crate) fn size(self) -> u64 {
        match self {
            Rule::Nothing => 0,
            Rule::Relative16 => 2,
            Rule::Absolute64 | Rule::Relative64 | Rule::Moved => 8,
            _ => 4,
        }
    }

    /// Whether the value is the distance to an entry of the GOT.
    pub(crate) fn is_got(self) -> bool {
        matches!(self, Rule::Got32 | Rule::GotLow | Rule::GotHigh)
    }

    /// Whether the value depends on where the object stands.
    pub(crate) fn is_relative(self) -> bool {
        !matches!(
            self,
            Rule::AbsoluteLow
                | Rule::AbsoluteHigh
                | Rule::Absolute64
                | Rule::Absolute32
                | Rule::Moved
        )
    }

    /// The value to store, or the one that does not fit.
    pub(crate) fn value(self, terms: &Terms) -> Result<u64, Misfit> {
        let absolute = terms.symbol.wrapping_add_signed(terms.addend);
        let distance = absolute.wrapping_sub(terms.place);
        let to_slot = terms.slot.wrapping_add_signed(terms.addend).wrapping_sub(terms.place);
        let low = |value: u64| value & u64::from(u32::MAX);
        let signed = |value: u64| match i32::try_from(value.cast_signed()) {
            Ok(_) => Ok(low(value)),
            Err(_) => Err(Misfit { value: value.cast_signed().into(), bits: 32, is_signed: true }),
        };
        match self {
            Rule::Nothing => Ok(0),
            Rule::AbsoluteLow => Ok(low(absolute)),
            Rule::AbsoluteHigh => Ok(absolute >> 32),
            Rule::Absolute64 => Ok(absolute),
            Rule::Absolute32 => match u32::try_from(absolute) {
                Ok(value) => Ok(value.into()),
                Err(_) => Err(Misfit { value: absolute.into(), bits: 32, is_signed: false }),
            },
            Rule::Relative32 => signed(distance),
            Rule::Relative64 => Ok(distance),
            Rule::RelativeLow => Ok(low(distance)),
            Rule::RelativeHigh => Ok(distance >> 32),
            Rule::Relative16 => words(distance.cast_signed()),
            Rule::Got32 => signed(to_slot),
            Rule::GotLow => Ok(low(to_slot)),
            Rule::GotHigh => Ok(to_slot >> 32),
            Rule::Moved => Ok(terms.moved.wrapping_add_signed(terms.addend)),
        }
    }

    /// Stores a value, where there is room for it.
    pub(crate) fn store(self, bytes: &mut [u8], at: usize, value: u64) {
        let size = usize::try_from(self.size()).unwrap_or(0);
        let place = bytes.get_mut(at..).and_then(|tail| tail.get_mut(..size));
        if let (Some(place), Some(value)) = (place, value.to_le_bytes().get(..size)) {
            place.copy_from_slice(value);
        }
    }

    /// What is stored now.
    pub(crate) fn load(self, bytes: &[u8], at: usize) -> u64 {
        let size = usize::try_from(self.size()).unwrap_or(0);
        let stored = bytes.get(at..).and_then(|tail| tail.get(..size)).unwrap_or_default();
        stored.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
    }
}

/// A distance in words, counted from the next instruction.
fn words(distance: i64) -> Result<u64, Misfit> {
    let after = distance.wrapping_sub(4);
    let misfit = Misfit { value: distance.into(), bits: 16, is_signed: true };
    match i16::try_from(after / 4) {
        Ok(words) if after % 4 == 0 => Ok(words.cast_unsigned().into()),
        _ => Err(misfit),
    }
}

/// A value and the field that it does not fit into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Misfit {
    pub(crate) value: i128,
    pub(crate) bits: u32,
    pub(crate) is_signed: bool,
}

impl std::fmt::Display for Misfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.value < 0 { "-" } else { "" };
        let field = if self.is_signed { "signed" } else { "unsigned" };
        let size = self.value.unsigned_abs();
        write!(f, "{sign}{size:#x} does not fit into {} {field} bits", self.bits)?;
        if self.bits == 16 {
            write!(f, " of words")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(kind: u32, terms: Terms) -> Result<u64, String> {
        let kind = RelocationType(kind);
        let rule = Rule::of(kind, true).or_else(|| Rule::of(kind, false)).unwrap();
        rule.value(&terms).map_err(|misfit| misfit.to_string())
    }

    #[test]
    fn each_type_has_its_formula() {
        let terms = Terms {
            symbol: 0x1_2345_6780,
            addend: 8,
            place: 0x1_0000_1000,
            moved: 0x7f00_0000_0000,
            slot: 0x1_0000_3000,
        };
        let values: Vec<_> = (0..15)
            .filter(|kind| *kind != 12)
            .map(|kind| value(kind, terms).unwrap_or(0xbad))
            .collect();
        let expected = [
            0,
            0x2345_6788,
            1,
            0x1_2345_6788,
            0x2345_5788,
            0x2345_5788,
            0xbad,
            0x2008,
            0x2008,
            0,
            0x2345_5788,
            0,
            0x7f00_0000_0008,
            0xbad,
        ];
        assert_eq!(values, expected);
        assert_eq!(Rule::of(RelocationType(12), true), None);
        assert_eq!(Rule::of(RelocationType(15), true), None);
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let at = |symbol, place| Terms { symbol, place, ..Terms::default() };
        assert_eq!(
            value(6, at(0x1_0000_0000, 0)).unwrap_err(),
            "0x100000000 does not fit into 32 unsigned bits"
        );
        assert_eq!(
            value(4, at(0, 0x8000_0001)).unwrap_err(),
            "-0x80000001 does not fit into 32 signed bits"
        );
        assert_eq!(value(4, at(0, 0x8000_0000)), Ok(0x8000_0000));
        let last = 4 + 4 * 0x7fff;
        assert_eq!(value(14, at(last, 0)), Ok(0x7fff));
        assert_eq!(value(14, at(0, 4 * 0x7fff)), Ok(0x8000));
        assert_eq!(
            value(14, at(last + 4, 0)).unwrap_err(),
            "0x20004 does not fit into 16 signed bits of words"
        );
        assert!(value(14, at(6, 0)).is_err());
    }

    #[test]
    fn a_value_is_stored_in_its_size_and_nothing_else_changes() {
        let mut bytes = [0xff; 12];
        Rule::AbsoluteLow.store(&mut bytes, 4, 0x1234_5678);
        assert_eq!(bytes, [0xff, 0xff, 0xff, 0xff, 0x78, 0x56, 0x34, 0x12, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(Rule::AbsoluteLow.load(&bytes, 4), 0x1234_5678);
        Rule::Absolute64.store(&mut bytes, 8, 0);
        assert_eq!(bytes[8], 0xff);
    }
}
