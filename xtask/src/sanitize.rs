//! Programs of compilers under all sanitizers, which must find nothing in them.

use std::ops::Range;

use anyhow::{Result, bail};
use hsaco::emu::{Dispatch, FaultKind, Sanitizer};

use crate::args::Args;

/// Whether programs are to be sanitized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sanitize {
    Off,
    On,
}

impl Sanitize {
    /// Takes the flag `--sanitize`.
    pub(crate) fn new(args: &mut Args) -> Self {
        if args.flag("--sanitize") { Self::On } else { Self::Off }
    }

    /// All kinds, for one run; `undefined` is memory that was never written.
    pub(crate) fn watch(self, undefined: Option<Range<u64>>) -> Sanitized {
        let sanitizer = || {
            let all = Sanitizer::new(&FaultKind::ALL);
            undefined.into_iter().fold(all, Sanitizer::with_undefined)
        };
        Sanitized((self == Self::On).then(sanitizer))
    }
}

/// A run, and what is found in it.
pub(crate) struct Sanitized(Option<Sanitizer>);

impl Sanitized {
    /// The dispatch as it is to run.
    pub(crate) fn dispatch<'d>(&'d self, dispatch: Dispatch<'d>) -> Dispatch<'d> {
        match &self.0 {
            Some(sanitizer) => dispatch.with_sanitizer(sanitizer),
            None => dispatch,
        }
    }

    /// What was found is an error.
    pub(crate) fn judge(&self) -> Result<()> {
        let faults = self.0.as_ref().map(Sanitizer::faults).unwrap_or_default();
        let Some(fault) = faults.first() else { return Ok(()) };
        let before = fault
            .before
            .as_ref()
            .map(|it| format!("; {} {:#x} `{}`", it.what, it.at.address, it.at.instruction));
        bail!(
            "{} findings, the first: {}: {:#x} `{}`, lanes {:#x}: {}{}",
            faults.len(),
            fault.kind,
            fault.at.address,
            fault.at.instruction,
            fault.at.lanes,
            fault.message,
            before.unwrap_or_default()
        );
    }
}
