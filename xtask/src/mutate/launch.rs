//! Kernels that can be run, as they are and with a change.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use hsaco::emu::{self, Dispatch, FaultKind, Limits, Outcome, Sanitizer, TraceFilter};

use super::trace::{Counting, Judge};
use crate::{csmith, triton};

/// Where objects are loaded.
pub(super) const BASE: u64 = 0x7d00_0000_0000;
/// Wave instructions of a kernel that is run once for each of its changes.
const MOST_INSTRUCTIONS: u64 = 1_000_000;
/// A changed kernel may take longer, and may not end at all.
const MOST_CHANGED: u64 = 4 * MOST_INSTRUCTIONS;
/// What finds a missing wait, no-op or barrier.
const KINDS: [FaultKind; 4] =
    [FaultKind::Wait, FaultKind::Hazard, FaultKind::Race, FaultKind::Barrier];

/// How a kernel is launched.
pub(super) enum Launched {
    Triton(Box<triton::Case>),
    /// One work-item that leaves a checksum.
    Program,
}

/// What a kernel that runs without a finding has done.
pub(super) struct Base {
    /// The instructions that ran, as the object has their addresses.
    pub(super) executed: BTreeSet<u64>,
    /// The waits without which a value would have changed.
    pub(super) mattering: BTreeSet<u64>,
    results: Vec<Vec<u8>>,
}

impl Launched {
    /// How the kernel of a file is launched, if that is known.
    pub(super) fn of(path: &Path, is_program: bool) -> Result<Option<Self>> {
        if is_program {
            return Ok(Some(Self::Program));
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let is_triton = path.parent().is_some_and(|it| it.ends_with("triton"));
        let case = if is_triton { triton::Case::of(&name)? } else { None };
        Ok(case.map(|it| Self::Triton(Box::new(it))))
    }

    fn run(
        &self,
        object: &[u8],
        limits: Limits,
        run: impl FnOnce(Dispatch<'_>) -> emu::Result<Outcome>,
    ) -> Result<(Outcome, Vec<Vec<u8>>)> {
        let run = |it: Dispatch<'_>| run(it.with_limits(limits));
        match self {
            Self::Triton(case) => case.run(object.to_vec(), run),
            Self::Program => {
                let ran = csmith::program::launch(object.to_vec(), |it, _| run(it))?;
                Ok((ran.0, vec![ran.1.to_le_bytes().to_vec()]))
            }
        }
    }

    /// Runs a kernel as it is; nothing where it takes too long, stops, or is not free of findings.
    pub(super) fn base(&self, object: &[u8], counting: &Counting) -> Option<Base> {
        let limits = Limits { instructions: MOST_INSTRUCTIONS, ..Limits::default() };
        let (outcome, results) = self.run(object, limits, |it| it.with_profile().run()).ok()?;
        if !self.finds(object).is_empty() {
            return None;
        }
        let judge = Judge::new(counting);
        let filter = TraceFilter::default();
        self.run(object, limits, |it| it.with_tracer(&judge, &filter).run()).ok()?;
        let object_address = |it: &u64| it.wrapping_sub(BASE);
        let mattering = judge.mattering();
        Some(Base {
            executed: outcome.profile.keys().map(object_address).collect(),
            mattering: mattering.iter().map(object_address).collect(),
            results,
        })
    }

    /// The kinds of what sanitizers find.
    pub(super) fn finds(&self, object: &[u8]) -> Vec<FaultKind> {
        let sanitizer = Sanitizer::new(&KINDS);
        let limits = Limits { instructions: MOST_CHANGED, ..Limits::default() };
        // That it stops is no finding of theirs.
        let _ = self.run(object, limits, |it| it.with_sanitizer(&sanitizer).run());
        sanitizer.faults().iter().map(|it| it.kind).collect()
    }

    /// Whether results depend on the order in which waves run.
    pub(super) fn differs(&self, object: &[u8], base: &Base) -> bool {
        (1..4).any(|seed| {
            let limits = Limits { instructions: MOST_CHANGED, quantum: 1 << (2 * seed), seed };
            let ran = self.run(object, limits, |it| it.run());
            ran.map_or(true, |it| it.1 != base.results)
        })
    }
}
