//! The source of a function: where each instruction comes from, and the lines around it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use hsaco_describe::Place;
use hsaco_dwarf::DebugInfo;
use serde::Serialize;

/// What a source file holds, if it is there.
pub type SourceText<'q> = &'q (dyn Fn(&str) -> Option<Arc<str>> + Sync);

/// Lines that are shown before and after those that instructions come from.
const AROUND: u32 = 6;
/// Characters of a line that are kept.
const LONG: usize = 2000;
/// Lines of a file that are kept: a broken table may name any.
const MOST_LINES: usize = 20_000;

/// Places in files, each once, and the parts of files that they are in.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Sources {
    files: Vec<FileRow>,
    /// The calls that lead to each place, the innermost first: function, file, line, column.
    places: Vec<Vec<FrameRow>>,
    #[serde(skip)]
    numbers: HashMap<Vec<FrameRow>, usize>,
    #[serde(skip)]
    paths: HashMap<String, usize>,
}

type FrameRow = (Option<String>, Option<usize>, Option<u32>, Option<u32>);

/// A source file.
#[derive(Debug, Serialize)]
struct FileRow {
    path: String,
    /// Whether the file is there.
    found: bool,
    /// The number of a line, and lines from there on.
    parts: Vec<(u32, Vec<String>)>,
    #[serde(skip)]
    lines: BTreeSet<u32>,
}

impl Sources {
    /// The places of some addresses, by number from 1 on; 0 for code without a place.
    pub(crate) fn places(
        &mut self,
        debug: &DebugInfo<'_>,
        addresses: impl Iterator<Item = u64>,
    ) -> hsaco_bytes::Result<Vec<usize>> {
        addresses.map(|address| Ok(self.number(Place::frames(debug, address)?))).collect()
    }

    fn number(&mut self, places: Vec<Place>) -> usize {
        if places.iter().all(|it| it.file.is_none() && it.function.is_none()) {
            return 0;
        }
        let frames: Vec<FrameRow> = places.into_iter().map(|it| self.frame(it)).collect();
        if let Some(number) = self.numbers.get(&frames) {
            return *number;
        }
        self.places.push(frames.clone());
        self.numbers.insert(frames, self.places.len());
        self.places.len()
    }

    fn frame(&mut self, place: Place) -> FrameRow {
        let Place { function, file, line, column } = place;
        let file = file.map(|path| self.file(path, line));
        (function, file, line, column)
    }

    fn file(&mut self, path: String, line: Option<u32>) -> usize {
        let number = *self.paths.entry(path.clone()).or_insert_with(|| {
            let (parts, lines) = (Vec::new(), BTreeSet::new());
            self.files.push(FileRow { path, found: false, parts, lines });
            self.files.len() - 1
        });
        if let Some(file) = self.files.get_mut(number) {
            file.lines.extend(line);
        }
        number
    }

    /// The file and line of each place, as samples have them: `/src/a.hip:17`.
    pub(crate) fn comment(&self, place: usize) -> Option<String> {
        let (_, file, line, _) = self.places.get(place.checked_sub(1)?)?.first()?;
        Some(format!("{}:{}", self.files.get((*file)?)?.path, (*line)?))
    }

    /// Reads what is needed of the files.
    pub(crate) fn read(&mut self, text: SourceText<'_>) {
        for file in &mut self.files {
            let Some(text) = text(&file.path) else { continue };
            file.found = true;
            file.parts = parts(&text, &file.lines);
        }
    }
}

/// The wanted lines of a text and those around them, as parts without gaps.
fn parts(text: &str, wanted: &BTreeSet<u32>) -> Vec<(u32, Vec<String>)> {
    let mut parts: Vec<(u32, Vec<String>)> = Vec::new();
    let mut until = 0;
    let mut wanted = wanted.iter().copied().peekable();
    let mut kept = 0;
    for (number, line) in (1..).zip(text.lines()) {
        while let Some(line) = wanted.next_if(|it| it.saturating_sub(AROUND) <= number) {
            until = line.saturating_add(AROUND);
        }
        if number > until || kept == MOST_LINES {
            continue;
        }
        kept += 1;
        let line = line.chars().take(LONG).collect();
        match parts.last_mut() {
            Some((first, lines)) if *first as usize + lines.len() == number as usize => {
                lines.push(line);
            }
            _ => parts.push((number, vec![line])),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn lines_around_those_of_instructions_are_kept() {
        let text: String = (1..=100).map(|it| format!("line {it}\n")).collect();
        let parts = parts(&text, &[1, 20, 30, 200].into());
        let found: Vec<(u32, usize)> = parts.iter().map(|it| (it.0, it.1.len())).collect();
        assert_eq!(found, [(1, 7), (14, 23)]);
        assert_eq!(parts[1].1[0], "line 14");
    }
}
