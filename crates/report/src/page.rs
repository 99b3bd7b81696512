//! The page of one kernel or function.

use std::collections::BTreeMap;

use hsaco_describe::body::{LivePeaks, LoopRow};
use hsaco_describe::info::KernelInfo;
use hsaco_describe::mix::Mix;
use hsaco_describe::resources::KernelResources;
use hsaco_kernarg::KernelLayout;
use serde::Serialize;

use crate::code::CodeColumns;
use crate::compare::PageChanges;
use crate::occupancy::DemandRow;
use crate::overview::FindingRow;
use crate::picture::{BlockColumns, Picture};
use crate::rewriting::RewritingRows;
use crate::run::ProfileColumns;
use crate::samples::SampleColumns;
use crate::source::Sources;

/// Everything about a kernel or function; what is not known is null.
pub(crate) struct Page<'p> {
    pub(crate) name: &'p str,
    pub(crate) address: u64,
    pub(crate) info: Option<KernelInfo<'p>>,
    pub(crate) resources: Option<&'p KernelResources>,
    pub(crate) demand: Option<&'p DemandRow>,
    pub(crate) arguments: Option<&'p KernelLayout>,
    pub(crate) findings: Vec<FindingRow>,
    pub(crate) code: CodeColumns,
    /// By instruction; nothing without debug information.
    pub(crate) places: Vec<usize>,
    pub(crate) sources: Sources,
    pub(crate) blocks: BlockColumns,
    pub(crate) loops: Vec<LoopRow>,
    pub(crate) picture: Option<Picture>,
    pub(crate) mix: Mix,
    pub(crate) peaks: LivePeaks,
    pub(crate) profile: Option<ProfileColumns>,
    pub(crate) samples: Option<SampleColumns>,
    pub(crate) changes: Option<PageChanges<'p>>,
    pub(crate) rewriting: Option<RewritingRows>,
}

/// A page as it is compressed: its instructions, and everything else as JSON by name.
pub(crate) struct PageParts {
    pub(crate) texts: String,
    pub(crate) columns: Vec<(&'static str, Vec<u8>)>,
}

impl Page<'_> {
    pub(crate) fn parts(self) -> PageParts {
        let code = &self.code;
        let columns = vec![
            ("name", json(&self.name)),
            ("address", json(&self.address)),
            ("info", json(&self.info)),
            ("resources", json(&self.resources)),
            ("demand", json(&self.demand)),
            ("arguments", json(&self.arguments)),
            ("findings", json(&self.findings)),
            ("sizes", json(&code.sizes)),
            ("classes", json(&code.classes)),
            ("live_vgprs", json(&code.live_vgprs)),
            ("live_agprs", json(&code.live_agprs)),
            ("live_sgprs", json(&code.live_sgprs)),
            ("waits", json(&code.waits)),
            ("places", json(&self.places)),
            ("sources", json(&self.sources)),
            ("blocks", json(&self.blocks)),
            ("loops", json(&self.loops)),
            ("picture", json(&self.picture)),
            ("mix", json(&self.mix)),
            ("peaks", json(&self.peaks)),
            ("profile", json(&self.profile)),
            ("samples", json(&self.samples)),
            ("changes", json(&self.changes)),
            ("rewriting", json(&self.rewriting)),
        ];
        PageParts { texts: self.code.texts, columns }
    }
}

/// Writing to memory fails for maps whose keys are no strings, and there are none.
fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_else(|_| b"null".to_vec())
}

/// Things by the name of their kernel.
pub(crate) type ByName<'p, T> = BTreeMap<&'p str, &'p T>;
