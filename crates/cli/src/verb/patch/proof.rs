//! `hsaco patch --prove`: the result runs beside its original before it is written.

use anyhow::{Context, Result};
use hsaco::container;
use hsaco::patch::{PatchedObject, code_objects};
use hsaco_describe::prove::{GivenLaunch, ObjectPair, Proven};

use super::super::prove;
use super::outcome::{Outcome, place};
use crate::args::KernelFilter;
use crate::input::Input;
use crate::report::Status;
use crate::select::KernelSelection;

/// Proves the objects of a file that were changed.
pub(super) fn prove(how: &prove::How, input: &Input, outcome: &Outcome) -> Result<Vec<Proven>> {
    let entries = code_objects(input, &container::WalkOptions::default())?.unwrap_or_default();
    let wanted = KernelSelection::new(&KernelFilter::default());
    let given = GivenLaunch::default();
    let mut proven = Vec::new();
    for PatchedObject { entry, patched, .. } in &outcome.file.objects {
        let Some(result) = &patched.bytes else { continue };
        let original = match entry {
            None => input,
            Some(number) => {
                let found = entries.iter().find(|it| it.0 == *number);
                &*found.context("an object that is not there")?.1.data
            }
        };
        let place = place(&outcome.name, *entry);
        let pair = ObjectPair::of_manifest(place, original, result, &patched.manifest);
        proven.extend(prove::prove(&pair, how.settings(), &wanted, &given)?);
    }
    Ok(proven)
}

/// Whether it holds; where nothing was changed there is nothing to prove.
pub(super) fn status(outcome: &Outcome, proven: &[Proven]) -> Status {
    match outcome.file.objects.iter().any(|it| it.patched.bytes.is_some()) {
        true => prove::status(proven),
        false => Status::Fine,
    }
}
