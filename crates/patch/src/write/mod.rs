//! The fourth stage: the manifest of all that was placed, and the object that it makes.

mod apply;
mod kernel;

use hsaco_bytes::Result;

use crate::manifest::{Manifest, Pool};
use crate::place::Placed;
use crate::release::{self, Release};
use crate::survey::Survey;

pub(crate) use apply::{COUNTERS, ENTRY, POOL, apply};
pub(crate) use kernel::{KernelSettings, records, refused_records, settings};

/// Completes a manifest with what was placed, which says then all that the result depends on, and writes that.
///
/// # Errors
/// When a change cannot be written.
pub(crate) fn write(
    file: &[u8],
    release: Release<'_>,
    survey: &Survey<'_>,
    (placed, settings): (Placed, KernelSettings),
    mut manifest: Manifest,
) -> Result<(Vec<u8>, Manifest)> {
    manifest.kernels = records(survey, &manifest.remarks, &placed.touched, settings);
    manifest.pool = pool(survey, placed.pool);
    manifest.records = placed.records;
    manifest.stubs = placed.stubs.into_values().collect();
    manifest.counters = placed.counters;
    manifest.counter_space = placed.counter_space;
    let applied = apply(file, release::copied(file, release)?, &manifest)?;
    if let (Some(pool), Some(offset)) = (&mut manifest.pool, applied.pool_offset) {
        pool.offset = offset;
    }
    manifest.sizes.1 = applied.bytes.len() as u64;
    Ok((applied.bytes, manifest))
}

/// The pool, if there is one; where it is in the file shows when it is written.
fn pool(survey: &Survey<'_>, (address, code): (u64, u64)) -> Option<Pool> {
    let lines = survey.kernels.iter().map(|kernel| kernel.prefetch).max().unwrap_or(0);
    let guard = (lines * 128).max(survey.kit.usual().dialect().guard);
    (code != 0).then_some(Pool { address, offset: 0, size: code + guard, guard })
}
