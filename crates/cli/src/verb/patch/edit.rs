//! Edits as the command line gives them: at addresses, source lines, entries and blocks.

use anyhow::{Context, Result, bail};
use hsaco::dwarf::{DebugSections, SourceMap};
use hsaco::object::CodeObject;
use hsaco::patch::{Call, CodeEdit, Points};

use super::Args;

/// Largest size that debug information may unfold to.
const MAX_SIZE: u64 = 4 << 30;

/// A place in code.
#[derive(Clone, Debug)]
pub(super) enum Place {
    Address(u64),
    /// The first instruction of each stretch of code that a source line has.
    Line(String, u32),
}

/// Where to count or call.
#[derive(Clone, Debug)]
pub(super) enum Where {
    Points(Points),
    Place(Place),
}

/// Lines of assembly and their place.
pub(super) type Lines = (Place, Vec<String>);

/// Reads `PLACE=LINE; LINE`.
pub(super) fn parse_lines(text: &str) -> Result<Lines, String> {
    let (place, lines) = text.split_once('=').ok_or("expected PLACE=ASM")?;
    let lines = lines.split(';').map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<String> = lines.map(str::to_owned).collect();
    if lines.is_empty() {
        return Err("no instructions behind `=`".to_owned());
    }
    Ok((parse_place(place)?, lines))
}

fn parse_place(text: &str) -> Result<Place, String> {
    if let Some((file, line)) = text.rsplit_once(':')
        && let Ok(line) = line.parse()
    {
        return Ok(Place::Line(file.to_owned(), line));
    }
    let address = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    address.map(Place::Address).map_err(|_| format!("`{text}` is neither an address nor FILE:LINE"))
}

pub(super) fn parse_points(text: &str) -> Result<Where, String> {
    match text {
        "entries" => Ok(Where::Points(Points::Entries)),
        "blocks" => Ok(Where::Points(Points::Blocks)),
        place => parse_place(place).map(Where::Place),
    }
}

/// Reads `WHERE=FUNCTION` or `WHERE=FUNCTION(ARGUMENT, …)`.
pub(super) fn parse_call(text: &str) -> Result<(Where, Call), String> {
    let (place, function) = text.split_once('=').ok_or("expected WHERE=FUNCTION")?;
    Ok((parse_points(place)?, function.parse()?))
}

/// What the command line asks to be done to the code of an object.
pub(super) fn all(args: &Args, file: &[u8]) -> Result<Vec<CodeEdit>> {
    let mut edits = Vec::new();
    for (place, lines) in &args.replace {
        let addresses = addresses(file, place)?.into_iter();
        edits.extend(addresses.map(|at| CodeEdit::Replace(at, lines.clone())));
    }
    for (place, lines) in &args.insert {
        let addresses = addresses(file, place)?.into_iter();
        edits.extend(addresses.map(|at| CodeEdit::Insert(at, lines.clone())));
    }
    for place in &args.count {
        edits.extend(points(file, place)?.into_iter().map(CodeEdit::Count));
    }
    for (place, call) in &args.call {
        let points = points(file, place)?.into_iter();
        edits.extend(points.map(|it| CodeEdit::Call(it, call.clone())));
    }
    Ok(edits)
}

fn points(file: &[u8], place: &Where) -> Result<Vec<Points>> {
    Ok(match place {
        Where::Points(points) => vec![*points],
        Where::Place(place) => addresses(file, place)?.into_iter().map(Points::Address).collect(),
    })
}

/// The addresses of a place.
fn addresses(file: &[u8], place: &Place) -> Result<Vec<u64>> {
    let (name, line) = match place {
        Place::Address(address) => return Ok(vec![*address]),
        Place::Line(name, line) => (name, *line),
    };
    let object = CodeObject::parse(file)?;
    let sections = DebugSections::new(&object, MAX_SIZE).context("debug information")?;
    let map = SourceMap::new(&sections).context("debug information")?;
    let stretches = map.stretches(&sections).context("debug information")?;
    let mut ranges: Vec<(u64, u64)> = stretches
        .iter()
        .filter(|(_, location)| location.is_at(name, line, None))
        .map(|(range, _)| (range.start, range.end))
        .filter(|(start, end)| start < end)
        .collect();
    ranges.sort_unstable();
    // Rows of one line that follow one another are one stretch.
    let mut addresses = Vec::new();
    let mut end = None;
    for (start, stop) in ranges {
        if end.is_none_or(|end| start > end) {
            addresses.push(start);
        }
        end = end.max(Some(stop));
    }
    if addresses.is_empty() {
        bail!("no code is of {name}:{line}; `hsaco lines` shows what is of where");
    }
    Ok(addresses)
}
