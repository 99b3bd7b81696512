//! Edits as the command line gives them: at addresses, source lines, entries and blocks.

use anyhow::{Context, Result, bail};
use hsaco::object::CodeObject;
use hsaco::patch::{CodeEdit, EditLocation, InsertedCall, Points, Where};

use super::Args;

/// Lines of assembly and their place.
pub(super) type Lines = (EditLocation, Vec<String>);

/// Reads `PLACE=LINE; LINE`.
pub(super) fn parse_lines(text: &str) -> Result<Lines, String> {
    let (place, lines) = text.split_once('=').ok_or("expected PLACE=ASM")?;
    let lines = lines.split(';').map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<String> = lines.map(str::to_owned).collect();
    if lines.is_empty() {
        return Err("no instructions behind `=`".to_owned());
    }
    Ok((place.parse()?, lines))
}

/// Reads `WHERE=FUNCTION` or `WHERE=FUNCTION(ARGUMENT, …)`.
pub(super) fn parse_call(text: &str) -> Result<(Where, InsertedCall), String> {
    let (place, function) = text.split_once('=').ok_or("expected WHERE=FUNCTION")?;
    Ok((place.parse()?, function.parse()?))
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
        Where::Location(place) => {
            addresses(file, place)?.into_iter().map(Points::Address).collect()
        }
    })
}

/// The addresses of a place.
fn addresses(file: &[u8], place: &EditLocation) -> Result<Vec<u64>> {
    let (name, line) = match place {
        EditLocation::Address(address) => return Ok(vec![*address]),
        EditLocation::Line(name, line) => (name, line),
    };
    let addresses = place.addresses(&CodeObject::parse(file)?).context("debug information")?;
    if addresses.is_empty() {
        bail!("no code is of {name}:{line}; `hsaco lines` shows what is of where");
    }
    Ok(addresses)
}
