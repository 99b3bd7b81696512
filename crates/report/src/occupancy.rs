//! Tables from which a page knows the occupancy of any amounts: of what one device allows, for waves of one size.
//!
//! Waves are the fewest that registers and workgroups leave room for, so that a table for each is enough for all
//! combinations. What is in them is `isa`'s answer.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use hsaco_isa::Processor;
use hsaco_isa::occupancy::{Demand, Limiter, Stair};
use serde::Serialize;

/// What a device allows, for waves of one size and workgroups of one kind.
#[derive(Debug, Serialize)]
pub(crate) struct DeviceTables {
    wave: u32,
    cu_mode: bool,
    max_waves: u32,
    max_vgprs: u32,
    max_sgprs: u32,
    lds_bytes: u32,
    max_workgroup: u32,
    vgprs: Vec<Step>,
    sgprs: Vec<Step>,
    /// By LDS, with workgroups as the kernel declares them.
    declared: Vec<Step>,
    /// By LDS, for workgroups of one wave, of two, and so on.
    workgroups: Vec<Vec<Step>>,
}

/// The largest amount with which so many waves run.
type Step = (u32, u32);

/// The tables of an object's kernels, each once.
#[derive(Debug, Default)]
pub(crate) struct Devices {
    numbers: HashMap<(u32, RangeInclusive<u32>, bool), usize>,
    pub(crate) tables: Vec<DeviceTables>,
}

/// What a kernel takes, beside what its device allows.
#[derive(Debug, Serialize)]
pub(crate) struct DemandRow {
    /// The device's tables, by number in the object.
    device: usize,
    vgprs: u32,
    sgprs: u32,
    lds: u32,
    /// The smallest and the largest workgroup.
    workgroup: (u32, u32),
}

impl Devices {
    /// What a kernel takes; none where there are no waves of its size.
    pub(crate) fn demand(&mut self, processor: Processor, demand: &Demand) -> Option<DemandRow> {
        let key = (demand.wave.lanes(), demand.workgroup.clone(), demand.cu_mode);
        let device = match self.numbers.get(&key) {
            Some(number) => *number,
            None => {
                self.tables.push(DeviceTables::new(processor, demand)?);
                self.numbers.insert(key, self.tables.len() - 1);
                self.tables.len() - 1
            }
        };
        let Demand { vgprs, sgprs, lds, .. } = *demand;
        let workgroup = (*demand.workgroup.start(), *demand.workgroup.end());
        Some(DemandRow { device, vgprs, sgprs, lds, workgroup })
    }
}

impl DeviceTables {
    fn new(processor: Processor, demand: &Demand) -> Option<Self> {
        let limits = processor.limits();
        let steps = |demand: &Demand, resource| Some(joined(&limits.curve(demand, resource)?));
        let free = Demand { cu_mode: demand.cu_mode, ..Demand::new(demand.wave) };
        let declared = Demand { workgroup: demand.workgroup.clone(), ..free.clone() };
        let lanes = demand.wave.lanes();
        let sizes = (1..=limits.max_workgroup / lanes).map(|waves| waves * lanes);
        let by_size = |size| steps(&free.with(Limiter::Workgroups, size), Limiter::Lds);
        Some(Self {
            wave: lanes,
            cu_mode: demand.cu_mode,
            max_waves: limits.max_waves,
            max_vgprs: limits.max_vgprs,
            max_sgprs: limits.max_sgprs,
            lds_bytes: limits.lds_bytes,
            max_workgroup: limits.max_workgroup,
            vgprs: steps(&free, Limiter::Vgprs)?,
            sgprs: steps(&free, Limiter::Sgprs)?,
            declared: steps(&declared, Limiter::Lds)?,
            workgroups: sizes.map(by_size).collect::<Option<_>>()?,
        })
    }
}

/// Stairs of as many waves as one, whatever limits them.
fn joined(stairs: &[Stair]) -> Vec<Step> {
    let same = stairs.chunk_by(|a, b| a.waves == b.waves);
    same.filter_map(<[Stair]>::last).map(|it| (it.last, it.waves)).collect()
}
