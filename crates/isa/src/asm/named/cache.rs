//! Cache policies, formats of typed buffers, dimensions of images.

use crate::asm::cursor::Cursor;
use crate::asm::error::Parse;
use crate::model::Arch;
use crate::model::named::cache::{
    ATOMICS, DLC, GLC, LOADS, NV, SCALE_OFFSET, SCC, SLC, STORES, TemporalKind,
};
use crate::model::named::format::{
    DEFAULT_LAYOUT, DEFAULT_NUMBER, DIMENSIONS, LAYOUTS, NUMBERS, UNIFIED_GFX10, UNIFIED_GFX11,
    Unified,
};

/// One word of a cache policy: the bits that it sets, and those of all words that may not stand beside it.
pub(in crate::asm) fn cache_policy(
    cursor: &mut Cursor<'_>,
    arch: Arch,
    kind: TemporalKind,
    scalar: bool,
) -> Parse<Option<(u32, u32)>> {
    if arch.is_gfx12_plus() {
        return hint_or_scope(cursor, arch, kind);
    }
    let gfx940 = arch.has(Arch::GFX940) && !scalar;
    let bit = match cursor.word() {
        "sc0" if gfx940 => GLC,
        "nt" if gfx940 => SLC,
        "sc1" if gfx940 => SCC,
        _ if gfx940 => return Ok(None),
        "glc" => GLC,
        "slc" => SLC,
        "dlc" if arch.is_gfx10_plus() => DLC,
        "scc" if arch.has(Arch::GFX90A) && !scalar => SCC,
        _ => return Ok(None),
    };
    cursor.take_word();
    Ok(Some((bit, bit)))
}

/// Where a policy keeps the hint and the scope.
const HINT: u32 = 0x7;
const SCOPE: u32 = 0x18;
/// The hint that means another thing to the whole system, and the mark of a name that says so.
const LAST_USE: u32 = 3;
const BYPASS: u32 = 1 << 31;

/// The policy of the words that were read, if the hint goes with the scope.
pub(in crate::asm) fn settled_policy(words: u32, arch: Arch) -> Option<u32> {
    let depends_on_scope = arch.is_gfx12_plus() && words & HINT == LAST_USE;
    let is_for_all = words & SCOPE == SCOPE;
    let is_named_so = words & BYPASS != 0;
    (!depends_on_scope || is_for_all == is_named_so).then_some(words & !BYPASS)
}

static SCOPES: [&str; 4] = ["SCOPE_CU", "SCOPE_SE", "SCOPE_DEV", "SCOPE_SYS"];

fn hint_or_scope(
    cursor: &mut Cursor<'_>,
    arch: Arch,
    kind: TemporalKind,
) -> Parse<Option<(u32, u32)>> {
    // The decoder shows both words on all of gfx12.
    let is_gfx1250 = arch.has(Arch::GFX1250);
    if is_gfx1250 && cursor.eat_word("nv") {
        return Ok(Some((NV, NV)));
    }
    if is_gfx1250 && cursor.eat_word("scale_offset") {
        return Ok(Some((SCALE_OFFSET, SCALE_OFFSET)));
    }
    if let Some(scope) = super::choice(cursor, "scope", &SCOPES, "a scope")? {
        return Ok(Some((scope << 3, SCOPE)));
    }
    if !cursor.eat_label("th") {
        return Ok(None);
    }
    match temporal_hint(cursor.word(), kind) {
        Some(hint) => {
            cursor.take_word();
            Ok(Some((hint, HINT)))
        }
        None => cursor.wanted("a temporal hint for this kind of access"),
    }
}

fn temporal_hint(name: &str, kind: TemporalKind) -> Option<u32> {
    let (names, default, others): (_, _, &[(&str, u32)]) = match kind {
        TemporalKind::Load => (&LOADS, "TH_LOAD_RT", &[("TH_LOAD_BYPASS", LAST_USE | BYPASS)]),
        TemporalKind::Store => (&STORES, "TH_STORE_RT", &[("TH_STORE_BYPASS", LAST_USE | BYPASS)]),
        TemporalKind::Atomic => (
            &ATOMICS,
            "TH_ATOMIC_RT",
            &[("TH_ATOMIC_RT_RETURN", 1), ("TH_ATOMIC_CASCADE_RT", 4), ("TH_ATOMIC_CASCADE_NT", 6)],
        ),
    };
    if name == default || name == "TH_DEFAULT" {
        return Some(0);
    }
    let other = others.iter().find(|(other, _)| *other == name).map(|(_, hint)| *hint);
    other.or_else(|| {
        // Those that have no name but their number are printed, and refused.
        let is_name = !name.is_empty() && !name.contains("_0x");
        names.iter().position(|known| is_name && *known == name).map(|hint| hint as u32)
    })
}

/// `format:` in its spellings.
pub(in crate::asm) fn buffer_format(cursor: &mut Cursor<'_>, arch: Arch) -> Parse<Option<u32>> {
    let unified = if arch.is_gfx11_plus() {
        Some(UNIFIED_GFX11)
    } else {
        arch.has(Arch::GFX10).then_some(UNIFIED_GFX10)
    };
    if !cursor.eat_label("format") {
        return if unified.is_none() { split_numbers(cursor) } else { Ok(None) };
    }
    if !cursor.eat(b'[') {
        return Ok(Some(cursor.number_between("a format", 0, 127)?));
    }
    let format = match unified {
        Some(formats) => unified_format(cursor, formats)?,
        None => split_format(cursor)?,
    };
    cursor.expect("]")?;
    Ok(Some(format))
}

/// `dfmt:1, nfmt:2`, in either order.
fn split_numbers(cursor: &mut Cursor<'_>) -> Parse<Option<u32>> {
    let (mut layout, mut number) = (None, None);
    loop {
        if layout.is_none() && cursor.eat_label("dfmt") {
            layout = Some(cursor.number_between("dfmt", 0, 15)?);
        } else if number.is_none() && cursor.eat_label("nfmt") {
            number = Some(cursor.number_between("nfmt", 0, 7)?);
        } else {
            break;
        }
        cursor.eat(b',');
    }
    let found = layout.is_some() || number.is_some();
    Ok(found.then(|| layout.unwrap_or(DEFAULT_LAYOUT) | number.unwrap_or(DEFAULT_NUMBER) << 4))
}

fn unified_format(cursor: &mut Cursor<'_>, formats: &Unified) -> Parse<u32> {
    let Some(name) = cursor.word().strip_prefix("BUF_FMT_") else {
        return cursor.wanted("BUF_FMT_ and a format");
    };
    let listed = || {
        formats
            .iter()
            .flat_map(|(layout, numbers)| numbers.iter().map(move |number| (*layout, *number)))
    };
    let is_named = |(layout, number): (&str, &str)| {
        name.strip_prefix(layout).and_then(|rest| rest.strip_prefix('_')) == Some(number)
    };
    let position = if name == "INVALID" {
        Some(0)
    } else {
        listed().position(is_named).map(|at| at as u32 + 1)
    };
    match position {
        Some(format) => {
            cursor.take_word();
            Ok(format)
        }
        None => cursor.wanted("a format that the processor has"),
    }
}

fn split_format(cursor: &mut Cursor<'_>) -> Parse<u32> {
    let (mut layout, mut number) = (None, None);
    loop {
        let word = cursor.word();
        let named = |prefix: &str, names: &[&str]| {
            let name = word.strip_prefix(prefix)?;
            names.iter().position(|other| *other == name).map(|at| at as u32)
        };
        match (named("BUF_DATA_FORMAT_", &LAYOUTS), named("BUF_NUM_FORMAT_", &NUMBERS)) {
            (Some(found), _) if layout.is_none() => layout = Some(found),
            (_, Some(found)) if number.is_none() => number = Some(found),
            _ => return cursor.wanted("BUF_DATA_FORMAT_ or BUF_NUM_FORMAT_ and a format"),
        }
        cursor.take_word();
        if !cursor.eat(b',') {
            break;
        }
    }
    Ok(layout.unwrap_or(DEFAULT_LAYOUT) | number.unwrap_or(DEFAULT_NUMBER) << 4)
}

/// `dim:` with a number or a name, which may start with a digit.
pub(in crate::asm) fn image_dim(cursor: &mut Cursor<'_>) -> Parse<Option<u32>> {
    if !cursor.eat_label("dim") {
        return Ok(None);
    }
    let rest = cursor.rest();
    let length =
        rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    let word = rest.get(..length).unwrap_or_default();
    let name = word.strip_prefix("SQ_RSRC_IMG_").unwrap_or(word);
    match DIMENSIONS.iter().position(|other| *other == name) {
        Some(position) => {
            cursor.advance(length);
            Ok(Some(position as u32))
        }
        None if word.bytes().all(|byte| byte.is_ascii_digit()) => {
            Ok(Some(cursor.number_between("a dimension", 0, 7)?))
        }
        None => cursor.wanted("the dimensions of an image"),
    }
}
