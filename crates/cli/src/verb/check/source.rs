//! Source lines of what findings are about.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use hsaco::analysis::{DebugSections, SourceMap};
use hsaco::check::{Facts, Finding};

use super::model::SourceLine;

/// The most that a compressed debug section may unfold to.
const MAX_SECTION: u64 = 4 << 30;

/// Lines by what findings name: a kernel, and perhaps an instruction.
#[derive(Default)]
pub(super) struct Sources(BTreeMap<Key, SourceLine>);

type Key = (String, Option<u64>);

impl Sources {
    /// Looks up the places of those findings that name kernels.
    pub(super) fn new<'f>(facts: &Facts<'_>, findings: impl Iterator<Item = &'f Finding>) -> Self {
        let wanted: BTreeSet<_> = findings.filter_map(key).collect();
        Self::find(facts, wanted).unwrap_or_default()
    }

    fn find(facts: &Facts<'_>, wanted: BTreeSet<Key>) -> Option<Self> {
        let (object, index) = (facts.object()?, facts.index()?);
        if wanted.is_empty() {
            return None;
        }
        let sections = DebugSections::new(object, MAX_SECTION).ok().filter(|it| !it.is_empty())?;
        let map = SourceMap::new(&sections).ok()?;
        let entry = |name: &str| index.kernels().iter().find(|it| it.name() == name)?.entry();
        let place = |key: Key| {
            let address = key.1.or_else(|| entry(&key.0))?;
            let location = map.location(&sections, address).ok().flatten()?;
            let (file, line) = (location.file.to_owned(), location.line?);
            Some((key, SourceLine { text: text(&file, line), file, line }))
        };
        Some(Self(wanted.into_iter().filter_map(place).collect()))
    }
}

/// The source line of a finding, by the object that it is in.
pub(super) fn located(sources: &[(usize, Sources)], finding: &Finding) -> Option<SourceLine> {
    let number = finding.subject.object.or_else(|| sources.first().map(|(number, _)| *number))?;
    let (_, lines) = sources.iter().find(|(it, _)| *it == number)?;
    lines.0.get(&key(finding)?).cloned()
}

fn key(finding: &Finding) -> Option<Key> {
    Some((finding.subject.kernel.clone()?, finding.subject.address))
}

/// A line of a file, if it is here.
fn text(file: &str, line: u32) -> Option<String> {
    let content = fs::read_to_string(file).ok()?;
    let index = usize::try_from(line).ok()?.checked_sub(1)?;
    content.lines().nth(index).map(str::to_owned)
}
