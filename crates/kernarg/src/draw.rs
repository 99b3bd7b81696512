//! A segment drawn to scale: eight bytes a line, four columns a byte.

use crate::rows::ArgumentLayout;

/// Bytes of a line.
const ROW: u32 = 8;
/// Columns of a byte.
const BYTE: usize = 4;
/// Lines that are drawn at most: no real segment has as many different ones.
const MAX_LINES: usize = 4096;

/// The lines of a picture; a line like the one before it is left out, and `*` stands for all of these.
#[must_use]
pub fn draw_segment(size: u32, arguments: &[ArgumentLayout]) -> Vec<String> {
    let mut sorted: Vec<_> = arguments.iter().filter(|it| it.size > 0).collect();
    sorted.sort_by_key(|it| it.offset);
    let mut lines = Vec::new();
    let mut whole_before = None;
    let mut next = 0;
    let mut row = 0;
    while row < size && lines.len() < MAX_LINES {
        // What ends before the line is of no more interest.
        while sorted.get(next).is_some_and(|it| it.offset.saturating_add(it.size) <= row) {
            next += 1;
        }
        let end = row.saturating_add(ROW).min(size);
        let whole = filled_by_one(sorted.get(next).copied(), row, end);
        if whole.is_some() && whole == whole_before {
            if lines.last().is_none_or(|it: &String| it != "*") {
                lines.push("*".to_owned());
            }
            row = skip_to(whole, sorted.get(next).copied(), row, size);
            continue;
        }
        let here = sorted.get(next..).unwrap_or_default().iter().copied();
        lines.push(line(row, end, here.take_while(|it| it.offset < end)));
        whole_before = whole;
        row = end;
    }
    if lines.last().is_some_and(|it| it == "*") {
        lines.push(format!("{size:6}"));
    }
    lines
}

/// What fills a line all by itself and begins before it: an argument by its offset, or padding.
fn filled_by_one(next: Option<&ArgumentLayout>, row: u32, end: u32) -> Option<Option<u32>> {
    match next {
        Some(it) if it.offset <= row && it.offset.saturating_add(it.size) >= end => {
            Some(Some(it.offset))
        }
        Some(it) if it.offset >= end => Some(None),
        None => Some(None),
        Some(_) => None,
    }
}

/// The first line behind those that the same argument or padding fills.
fn skip_to(whole: Option<Option<u32>>, next: Option<&ArgumentLayout>, row: u32, size: u32) -> u32 {
    let until = match (whole, next) {
        (Some(Some(_)), Some(it)) => it.offset.saturating_add(it.size),
        (Some(None), Some(it)) => it.offset,
        _ => size,
    };
    let lines = until.saturating_sub(row) / ROW;
    row.saturating_add(lines.max(1).saturating_mul(ROW)).min(size)
}

fn line<'a>(row: u32, end: u32, items: impl Iterator<Item = &'a ArgumentLayout>) -> String {
    let mut text = String::new();
    let mut at = row;
    for item in items {
        let from = item.offset.max(row);
        let to = item.offset.saturating_add(item.size).min(end);
        padding(&mut text, from.saturating_sub(at));
        let label = if item.offset >= row { item.label() } else { String::new() };
        let border = if item.offset >= row { '|' } else { ' ' };
        cell(&mut text, border, &label, to.saturating_sub(from));
        at = to;
    }
    padding(&mut text, end.saturating_sub(at));
    format!("{row:6}  {text}|")
}

/// A place of so many bytes with a name in it, as much as fits.
fn cell(text: &mut String, border: char, label: &str, bytes: u32) {
    let width = bytes as usize * BYTE - 1;
    let label = match label.chars().count() > width {
        true => label.chars().take(width - 1).chain(['…']).collect(),
        false => label.to_owned(),
    };
    text.push(border);
    text.push_str(&format!("{label:<width$}"));
}

fn padding(text: &mut String, bytes: u32) {
    if bytes > 0 {
        text.push('|');
        text.push_str(&"·".repeat(bytes as usize * BYTE - 1));
    }
}
