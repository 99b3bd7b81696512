//! Kernels that can be run, as they are and with a change.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use hsaco::emu::{self, Dispatch, FaultKind, Limits, Outcome, Sanitizer, TraceFilter};

use super::trace::{Accessed, Accesses, Counting, Judge};
use super::{Change, Found};
use crate::{csmith, triton};

/// Where objects are loaded.
pub(super) const BASE: u64 = 0x7d00_0000_0000;
/// Wave instructions of a kernel that is run once for each of its changes.
const MOST_INSTRUCTIONS: u64 = 1_000_000;
/// A changed kernel may take longer, and may not end at all.
const MOST_CHANGED: u64 = 4 * MOST_INSTRUCTIONS;
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
    /// Nothing is found of memory.
    is_defined: bool,
}

/// Why an access elsewhere makes no difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Harmless {
    NoLane,
    SameValues,
    UnusedValues,
    UnusedPlace,
}

impl Harmless {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::NoLane => {
                "access nothing, with no lane enabled or behind the end of a buffer that masks it"
            }
            Self::SameValues => "load the same values from there",
            Self::UnusedValues => "load values that no result depends on",
            Self::UnusedPlace => "store where nothing is loaded from that a result depends on",
        }
    }
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
        if !self.finds(object, Change::WaitDeleted.kinds()).is_empty() {
            return None;
        }
        let is_defined = self.finds(object, Change::AddressShifted.kinds()).is_empty();
        let judge = Judge::new(counting);
        let filter = TraceFilter::default();
        self.run(object, limits, |it| it.with_tracer(&judge, &filter).run()).ok()?;
        let object_address = |it: &u64| it.wrapping_sub(BASE);
        let mattering = judge.mattering();
        Some(Base {
            executed: outcome.profile.keys().map(object_address).collect(),
            mattering: mattering.iter().map(object_address).collect(),
            results,
            is_defined,
        })
    }

    /// What comes of an access elsewhere, at an address of the object: results are others, or a sanitizer finds it, or there is
    /// a reason for neither.
    pub(super) fn shifted(&self, object: &[u8], original: &[u8], at: u64, base: &Base) -> Found {
        let limits = Limits { instructions: MOST_CHANGED, ..Limits::default() };
        let ran = self.run(object, limits, |it| it.run());
        if ran.is_err() || ran.is_ok_and(|it| it.1 != base.results) {
            return Found::Reported;
        }
        if base.is_defined && !self.finds(object, Change::AddressShifted.kinds()).is_empty() {
            return Found::Reported;
        }
        let [old, new] = [original, object].map(|it| self.accesses(it, at));
        Found::Harmless(match (old, new) {
            (old, _) if old.iter().all(|it| it.lanes == 0) => Harmless::NoLane,
            (old, _) if old.iter().all(|it| it.loaded.is_none()) => Harmless::UnusedPlace,
            (old, new) if old == new => Harmless::SameValues,
            _ => Harmless::UnusedValues,
        })
    }

    /// What an instruction accesses, each time that it runs.
    fn accesses(&self, object: &[u8], at: u64) -> Vec<Accessed> {
        let seen = Accesses::default();
        let at = at.wrapping_add(BASE);
        let filter = TraceFilter { addresses: Some(at..at + 1), ..TraceFilter::default() };
        let limits = Limits { instructions: MOST_CHANGED, ..Limits::default() };
        // It has run to its end before.
        let _ = self.run(object, limits, |it| it.with_tracer(&seen, &filter).run());
        seen.finish()
    }

    /// The kinds of what sanitizers find.
    pub(super) fn finds(&self, object: &[u8], kinds: &[FaultKind]) -> Vec<FaultKind> {
        let sanitizer = Sanitizer::new(kinds);
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
