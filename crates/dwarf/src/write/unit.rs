//! The first entry of each compile unit: where its attributes stand.

use super::cursor::Cursor;

const DW_TAG_COMPILE_UNIT: u64 = 0x11;
const DW_TAG_SKELETON_UNIT: u64 = 0x4a;

/// Where a value stands, and how many bytes it has.
pub(super) type Place = (u64, u64);

/// A compile unit, as far as it says where its code and its lines are.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    /// Where it begins in `.debug_info`.
    pub(super) offset: u64,
    pub(super) version: u16,
    /// How large offsets are: 4 or 8.
    pub(super) offset_size: u64,
    pub(super) address_size: u64,
    /// Where the header says which abbreviations it takes, and which.
    pub(super) abbreviations: (u64, u64),
    /// Where its abbreviation says how the upper end of its code is given.
    high_pc_abbreviation: Option<u64>,
    pub(super) statements: Option<Place>,
    statements_at: u64,
    pub(super) low_pc: Option<(u64, u64)>,
    pub(super) high_pc: Option<(u64, u64, Place)>,
    pub(super) ranges: Option<(u64, u64, Place)>,
    pub(super) ranges_base: Option<u64>,
    pub(super) addresses_base: Option<u64>,
}

impl Unit {
    /// Where its line table is.
    pub(super) fn lines(&self) -> Option<u64> {
        self.statements.map(|_| self.statements_at)
    }

    /// Where the two bytes stand that say how the upper end of its code is given: an attribute and
    /// its form, counted from the start of its abbreviations.
    pub(super) fn high_pc_abbreviation(&self) -> Option<u64> {
        self.high_pc_abbreviation
    }
}

/// The compile units of `.debug_info` whose first entry can be read.
pub(super) fn compile_units<'a>(
    info: &'a [u8],
    abbreviations: &'a [u8],
) -> impl Iterator<Item = Unit> + use<'a> {
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let start = next.filter(|&at| at < info.len() as u64)?;
        let mut cursor = Cursor::new(info, start)?;
        let Some((length, offset_size)) = cursor.length() else {
            next = None;
            return Some(None);
        };
        next = (cursor.at as u64).checked_add(length);
        Some(read(start, cursor, offset_size, abbreviations))
    })
    .flatten()
}

fn read(offset: u64, mut cursor: Cursor<'_>, offset_size: u64, all: &[u8]) -> Option<Unit> {
    let version = u16::try_from(cursor.word(2)?).ok().filter(|it| (2..=5).contains(it))?;
    let (abbreviations, address_size) = header_rest(&mut cursor, version, offset_size)?;
    let mut unit = Unit {
        offset,
        version,
        offset_size,
        address_size,
        abbreviations,
        high_pc_abbreviation: None,
        statements: None,
        statements_at: 0,
        low_pc: None,
        high_pc: None,
        ranges: None,
        ranges_base: None,
        addresses_base: None,
    };
    let code = cursor.uleb()?;
    let mut declaration = find_declaration(Cursor::new(all, abbreviations.1)?, code)?;
    loop {
        let described = declaration.at as u64;
        let (name, form) = (declaration.uleb()?, declaration.uleb()?);
        let constant = if form == form::IMPLICIT_CONST { Some(declaration.sleb()?) } else { None };
        if (name, form) == (0, 0) {
            return Some(unit);
        }
        let at = cursor.at as u64;
        let value = form::value(&mut cursor, form, &unit, constant)?;
        let place = (at, cursor.at as u64 - at);
        match name {
            0x10 => (unit.statements, unit.statements_at) = (Some(place), value),
            0x11 => unit.low_pc = Some((form, value)),
            0x12 => {
                unit.high_pc = Some((form, value, place));
                unit.high_pc_abbreviation = Some(described - abbreviations.1);
            }
            0x55 => unit.ranges = Some((form, value, place)),
            0x73 => unit.addresses_base = Some(value),
            0x74 => unit.ranges_base = Some(value),
            _ => {}
        }
    }
}

/// Where a header says that abbreviations are, with the place of that, and the size of addresses.
fn header_rest(
    cursor: &mut Cursor<'_>,
    version: u16,
    offset_size: u64,
) -> Option<((u64, u64), u64)> {
    const COMPILE: u64 = 1;
    const SKELETON: u64 = 4;
    if version < 5 {
        let place = cursor.at as u64;
        let at = cursor.word(offset_size)?;
        return Some(((place, at), cursor.word(1)?));
    }
    let kind = cursor.word(1)?;
    let address_size = cursor.word(1)?;
    let place = cursor.at as u64;
    let at = cursor.word(offset_size)?;
    match kind {
        COMPILE => {}
        SKELETON => cursor.skip(8)?,
        _ => return None,
    }
    Some(((place, at), address_size))
}

/// The cursor at the attributes of an abbreviation of a compile unit.
fn find_declaration(mut cursor: Cursor<'_>, wanted: u64) -> Option<Cursor<'_>> {
    loop {
        let code = cursor.uleb().filter(|&code| code != 0)?;
        let tag = cursor.uleb()?;
        cursor.skip(1)?;
        if code == wanted {
            return matches!(tag, DW_TAG_COMPILE_UNIT | DW_TAG_SKELETON_UNIT).then_some(cursor);
        }
        skip_attributes(&mut cursor)?;
    }
}

fn skip_attributes(cursor: &mut Cursor<'_>) -> Option<()> {
    loop {
        let (name, form) = (cursor.uleb()?, cursor.uleb()?);
        if form == form::IMPLICIT_CONST {
            cursor.sleb()?;
        }
        if (name, form) == (0, 0) {
            return Some(());
        }
    }
}

/// Where a unit's abbreviations end.
pub(super) fn abbreviations_end(all: &[u8], start: u64) -> Option<u64> {
    let mut cursor = Cursor::new(all, start)?;
    while cursor.uleb()? != 0 {
        cursor.uleb()?;
        cursor.skip(1)?;
        skip_attributes(&mut cursor)?;
    }
    Some(cursor.at as u64)
}

pub(super) mod form {
    //! How values are stored.

    use super::super::cursor::Cursor;
    use super::Unit;

    pub(in super::super) const ADDR: u64 = 0x01;
    pub(in super::super) const DATA4: u64 = 0x06;
    pub(in super::super) const DATA8: u64 = 0x07;
    pub(in super::super) const SEC_OFFSET: u64 = 0x17;
    pub(super) const IMPLICIT_CONST: u64 = 0x21;
    pub(in super::super) const RNGLISTX: u64 = 0x23;
    pub(in super::super) const ADDRX: [u64; 5] = [0x1b, 0x29, 0x2a, 0x2b, 0x2c];

    /// A value, as a number where it is one; moves past it.
    pub(super) fn value(
        cursor: &mut Cursor<'_>,
        form: u64,
        unit: &Unit,
        constant: Option<i64>,
    ) -> Option<u64> {
        let block = |cursor: &mut Cursor<'_>, size: u64| cursor.skip(size).map(|()| 0);
        match form {
            ADDR => cursor.word(unit.address_size),
            0x03 => cursor.word(2).and_then(|size| block(cursor, size)),
            0x04 => cursor.word(4).and_then(|size| block(cursor, size)),
            0x05 | 0x12 | 0x26 | 0x2a => cursor.word(2),
            DATA4 | 0x13 | 0x1c | 0x28 | 0x2c => cursor.word(4),
            DATA8 | 0x14 | 0x20 | 0x24 => cursor.word(8),
            0x08 => cursor.string().map(|_| 0),
            0x09 | 0x18 => cursor.uleb().and_then(|size| block(cursor, size)),
            0x0a => cursor.word(1).and_then(|size| block(cursor, size)),
            0x0b | 0x0c | 0x11 | 0x25 | 0x29 => cursor.word(1),
            0x0d => cursor.sleb().map(i64::cast_unsigned),
            0x0e | SEC_OFFSET | 0x1d | 0x1f => cursor.word(unit.offset_size),
            0x10 if unit.version == 2 => cursor.word(unit.address_size),
            0x10 => cursor.word(unit.offset_size),
            0x0f | 0x15 | 0x1a | 0x1b | 0x22 | RNGLISTX => cursor.uleb(),
            0x16 => {
                let form = cursor.uleb().filter(|&form| form != 0x16)?;
                value(cursor, form, unit, None)
            }
            0x19 => Some(1),
            0x1e => block(cursor, 16),
            0x27 | 0x2b => block(cursor, 3),
            IMPLICIT_CONST => constant.map(i64::cast_unsigned),
            0x1f20 | 0x1f21 => cursor.word(unit.offset_size),
            0x1f01 | 0x1f02 => cursor.uleb(),
            _ => None,
        }
    }
}
