//! Source lines of what findings are about.

use std::collections::BTreeMap;
use std::fs;

use hsaco::analysis::{DebugSections, SourceMap};
use hsaco::check::Finding;
use hsaco::object::CodeObject;

use super::model::SourceLine;

/// The most that a compressed debug section may unfold to.
const MAX_SECTION: u64 = 4 << 30;

/// Lines by what findings name: a kernel, and perhaps an instruction.
#[derive(Default)]
pub(super) struct Sources(BTreeMap<(String, Option<u64>), SourceLine>);

impl Sources {
    /// Looks up the places of those findings that name kernels.
    pub(super) fn new<'f>(
        object: &CodeObject<'_>,
        findings: impl Iterator<Item = &'f Finding>,
    ) -> Self {
        let mut wanted = findings.filter_map(key).peekable();
        if wanted.peek().is_none() {
            return Self::default();
        }
        let Some(sections) =
            DebugSections::new(object, MAX_SECTION).ok().filter(|it| !it.is_empty())
        else {
            return Self::default();
        };
        let Ok(map) = SourceMap::new(&sections) else { return Self::default() };
        let index = object.index();
        let entry = |name: &str| index.kernels().iter().find(|it| it.name() == name)?.entry();
        let place = |key: (String, Option<u64>)| {
            let address = key.1.or_else(|| entry(&key.0))?;
            let location = map.location(&sections, address).ok().flatten()?;
            let (file, line) = (location.file.to_owned(), location.line?);
            Some((key, SourceLine { text: text(&file, line), file, line }))
        };
        Self(wanted.filter_map(place).collect())
    }
}

/// The source line of a finding, by the object that it is in.
pub(super) fn located(sources: &[(usize, Sources)], finding: &Finding) -> Option<SourceLine> {
    let number = finding.subject.object.or_else(|| sources.first().map(|(number, _)| *number))?;
    let (_, lines) = sources.iter().find(|(it, _)| *it == number)?;
    lines.0.get(&key(finding)?).cloned()
}

fn key(finding: &Finding) -> Option<(String, Option<u64>)> {
    Some((finding.subject.kernel.clone()?, finding.subject.address))
}

/// A line of a file, if it is here.
fn text(file: &str, line: u32) -> Option<String> {
    let content = fs::read_to_string(file).ok()?;
    let index = usize::try_from(line).ok()?.checked_sub(1)?;
    content.lines().nth(index).map(str::to_owned)
}
