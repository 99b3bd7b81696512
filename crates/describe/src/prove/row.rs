//! What was proven, as rows.

use hsaco_bytes::SCHEMA_VERSION;
use hsaco_load::SourceFrame;
use hsaco_prove::{Difference, SiteRuns};
use serde::Serialize;

use super::{Proven, holds};

/// What was proven of two files.
#[derive(Clone, Debug, Serialize)]
pub struct ProofRows<'a> {
    schema_version: u32,
    /// Whether every kernel behaves as before.
    pub holds: bool,
    /// The kernels that reach what was rewritten.
    pub kernels: Vec<ProofRow<'a>>,
}

/// What was proven of a kernel.
#[derive(Clone, Debug, Serialize)]
pub struct ProofRow<'a> {
    /// The object that it is of.
    pub file: &'a str,
    /// Its name.
    pub kernel: &'a str,
    /// `holds`, `differs` or `nothing-ran`.
    pub verdict: &'static str,
    /// Launches that both ran.
    pub launches: u64,
    /// Launches on which the original itself stopped.
    pub discarded: Vec<DiscardedRow<'a>>,
    /// Blocks of the original that ran.
    pub blocks_run: usize,
    /// All its blocks.
    pub blocks: usize,
    /// Mnemonics that ran and whose results are approximate.
    pub approximate: Vec<&'static str>,
    /// What was rewritten.
    pub sites: Vec<SiteRow<'a>>,
    /// What was not the same.
    pub differences: Vec<DifferenceRow<'a>>,
}

/// A launch on which the original itself stopped.
#[derive(Clone, Debug, Serialize)]
pub struct DiscardedRow<'a> {
    /// The launch.
    pub input: &'a str,
    /// Why it stopped.
    pub reason: &'a str,
}

/// A place that was rewritten, and how often it ran.
#[derive(Clone, Debug, Serialize)]
pub struct SiteRow<'a> {
    /// Where it is in the original.
    pub address: u64,
    /// The rules that rewrote it.
    pub rules: &'a [String],
    /// Where the new code is.
    pub placement: &'static str,
    /// How often waves came to it in the original.
    pub original_runs: u64,
    /// How often in the result.
    pub result_runs: u64,
    /// The errata that the original meets there on the silicon of the result.
    pub errata: Vec<&'static str>,
}

/// Something that was not the same.
#[derive(Clone, Debug, Serialize)]
pub struct DifferenceRow<'a> {
    /// What kind of thing.
    pub kind: &'static str,
    /// The launch.
    pub input: &'a str,
    /// Where waves were.
    pub address: Option<u64>,
    /// The instruction there.
    pub instruction: &'a str,
    /// The workgroup.
    pub workgroup: Option<[u32; 3]>,
    /// The wave's number in it.
    pub wave: Option<u32>,
    /// The lanes, as a mask.
    pub lanes: u64,
    /// The register or the memory.
    pub place: &'a str,
    /// What the original has.
    pub original: &'a str,
    /// What the result has.
    pub result: &'a str,
    /// The source line, the innermost function first.
    pub source: &'a [SourceFrame],
}

impl<'a> ProofRows<'a> {
    /// The proofs of kernels.
    #[must_use]
    pub fn new(proven: &'a [Proven]) -> Self {
        let kernels = proven.iter().map(ProofRow::from).collect();
        Self { schema_version: SCHEMA_VERSION, holds: holds(proven), kernels }
    }
}

impl<'a> From<&'a Proven> for ProofRow<'a> {
    fn from(Proven { place, proof }: &'a Proven) -> Self {
        let discarded = proof.discarded.iter();
        Self {
            file: place,
            kernel: &proof.name,
            verdict: proof.verdict().name(),
            launches: proof.launches,
            discarded: discarded.map(|(input, reason)| DiscardedRow { input, reason }).collect(),
            blocks_run: proof.blocks.0,
            blocks: proof.blocks.1,
            approximate: proof.approximate.iter().copied().collect(),
            sites: proof.sites.iter().map(SiteRow::from).collect(),
            differences: proof.differences.iter().map(DifferenceRow::from).collect(),
        }
    }
}

impl<'a> From<&'a SiteRuns> for SiteRow<'a> {
    fn from(it: &'a SiteRuns) -> Self {
        Self {
            address: it.site.address,
            rules: &it.site.rules,
            placement: it.site.placement,
            original_runs: it.original,
            result_runs: it.result,
            errata: it.errata.iter().copied().collect(),
        }
    }
}

impl<'a> From<&'a Difference> for DifferenceRow<'a> {
    fn from(it: &'a Difference) -> Self {
        Self {
            kind: it.kind.name(),
            input: &it.input,
            address: it.address,
            instruction: &it.instruction,
            workgroup: it.wave.map(|it| it.0),
            wave: it.wave.map(|it| it.1),
            lanes: it.lanes,
            place: &it.place,
            original: &it.original,
            result: &it.result,
            source: &it.source,
        }
    }
}
