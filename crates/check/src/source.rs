//! Source lines of what findings are about.

use std::collections::{BTreeMap, BTreeSet};

use hsaco_dwarf::DebugInfo;

use crate::facts::Facts;
use crate::finding::Finding;
use crate::result::SourceLine;

/// Source lines of the findings in one object.
#[derive(Clone, Debug, Default)]
pub struct Sources(BTreeMap<Key, SourceLine>);

/// A kernel, and perhaps the address of an instruction.
type Key = (String, Option<u64>);

impl Sources {
    /// Looks up the places of those findings that name kernels; `text` reads a line of a file, counted from 1.
    pub fn new<'f>(
        facts: &Facts<'_>,
        findings: impl Iterator<Item = &'f Finding>,
        text: impl Fn(&str, u32) -> Option<String>,
    ) -> Self {
        let wanted: BTreeSet<Key> = findings.filter_map(key).collect();
        if wanted.is_empty() {
            return Self::default();
        }
        Self::find(facts, wanted, text).unwrap_or_default()
    }

    /// The source line of a finding.
    #[must_use]
    pub fn line(&self, finding: &Finding) -> Option<&SourceLine> {
        self.0.get(&key(finding)?)
    }

    fn find(
        facts: &Facts<'_>,
        wanted: BTreeSet<Key>,
        text: impl Fn(&str, u32) -> Option<String>,
    ) -> Option<Self> {
        let (object, index) = (facts.object()?, facts.index()?);
        let debug = DebugInfo::open(object).ok().filter(|it| !it.is_empty())?;
        let entry = |name: &str| index.kernels().iter().find(|it| it.name() == name)?.entry();
        let line = |key: Key| {
            let address = key.1.or_else(|| entry(&key.0))?;
            let location = debug.location(address).ok().flatten()?;
            let (file, line) = (location.file.to_owned(), location.line?);
            Some((key, SourceLine { text: text(&file, line), file, line }))
        };
        Some(Self(wanted.into_iter().filter_map(line).collect()))
    }
}

fn key(finding: &Finding) -> Option<Key> {
    Some((finding.subject.kernel.clone()?, finding.subject.address))
}
