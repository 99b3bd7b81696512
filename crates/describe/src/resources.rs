//! What kernels need, are given, and let run at once.

use crate::source_name;
use hsaco_analysis::{
    Allocation, CallGraph, Code, Function, Needs, Reach, Resource, Shortage, demand,
};
use hsaco_dwarf::DebugInfo;
use hsaco_files::{KernelSelection, ObjectItem, Trouble};
use hsaco_isa::Processor;
use hsaco_isa::occupancy::{Demand, Limiter, NextStep, Stair};
use hsaco_load::ShortageRow;
use hsaco_object::{Kernel, Resources as Declared};
use serde::Serialize;

use crate::body::{Body, LivePeaks};
use crate::code::call_graph;
use crate::mix::Mix;
use crate::what_if::{Beyond, WhatIf};

/// What is worked out beside what kernels need.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Occupancy if kernels took more or less.
    pub what_if: Option<WhatIf>,
    /// Occupancy by every amount of each resource.
    pub curve: bool,
    /// Where the most registers are live.
    pub peak: bool,
    /// What the instructions of each kernel are.
    pub mix: bool,
}

/// What an object's kernels need and are given.
#[derive(Debug, Default, Serialize)]
pub struct Resources {
    /// In the order of the index.
    pub kernels: Vec<KernelResources>,
}

/// What one kernel needs and is given; what is not known is null.
#[derive(Debug, Serialize)]
pub struct KernelResources {
    /// The mangled name.
    pub name: String,
    /// The name in the source.
    pub demangled: String,
    /// Lanes of a wave.
    pub wavefront_size: Option<u32>,
    /// Vector registers.
    pub vgprs: Amounts,
    /// Accumulation registers.
    pub agprs: Amounts,
    /// Scalar registers.
    pub sgprs: Amounts,
    /// Bytes of LDS.
    pub lds: LdsAmounts,
    /// Bytes of scratch memory of a lane.
    pub scratch: Amounts,
    /// Whether the stack can grow by what only run time knows, after the code, the descriptor or the metadata.
    pub dynamic_stack: bool,
    /// Whether a function calls itself, directly or not.
    pub recursive: bool,
    /// Whether all that runs is in this object, and known; else more may be needed.
    pub complete: bool,
    /// Functions of other objects that it calls.
    pub externals: Vec<String>,
    /// Calls whose callee is not known.
    pub unknown_calls: usize,
    /// Registers that the compiler spilled.
    pub spills: Spills,
    /// What a device runs of it at once.
    pub occupancy: Option<OccupancyRow>,
    /// What it would run of it with other amounts; only where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what_if: Option<WhatIfRow>,
    /// What it would run of it with any amounts; only where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub curve: Option<Curve>,
    /// Where the most registers are live in the kernel's own code; only where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak: Option<LivePeaks>,
    /// What the instructions of the kernel's own code are; only where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mix: Option<Mix>,
    /// What the descriptor gives too little of.
    pub shortages: Vec<ShortageRow>,
}

/// Registers that the compiler spilled, as the metadata say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spills {
    /// Vector registers, to scratch memory.
    pub vgprs: Option<u64>,
    /// Scalar registers, to vector registers or scratch memory.
    pub sgprs: Option<u64>,
}

impl KernelResources {
    /// What more waves take.
    #[must_use]
    pub fn next(&self) -> Option<&NextRow> {
        self.occupancy.as_ref()?.next.as_ref()
    }
}

impl Spills {
    /// Those of a kernel.
    #[must_use]
    pub fn of(kernel: &Kernel<'_>) -> Self {
        let said = kernel.metadata().and_then(|it| it.decode().ok());
        Self {
            vgprs: said.as_ref().and_then(|it| it.vgpr_spill_count),
            sgprs: said.as_ref().and_then(|it| it.sgpr_spill_count),
        }
    }

    /// Of both kinds.
    #[must_use]
    pub fn total(self) -> Option<u64> {
        match (self.vgprs, self.sgprs) {
            (None, None) => None,
            (vgprs, sgprs) => Some(vgprs.unwrap_or(0).saturating_add(sgprs.unwrap_or(0))),
        }
    }
}

/// What a device would run of a kernel that took other amounts.
#[derive(Debug, Serialize)]
pub struct WhatIfRow {
    /// Vector registers that it would take.
    pub vgprs: u32,
    /// Scalar registers that it would take.
    pub sgprs: u32,
    /// Bytes of LDS that it would take.
    pub lds: u32,
    /// The size of its workgroups, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workgroup: Option<u32>,
    /// What is more than the device has.
    pub beyond: Vec<Beyond>,
    /// What the device would run of it at once; none where it has not so much.
    pub occupancy: Option<OccupancyRow>,
}

impl WhatIfRow {
    /// How many waves of it a SIMD would have; 0 if the device has not so much.
    #[must_use]
    pub fn waves_per_simd(&self) -> u32 {
        self.occupancy.as_ref().map_or(0, |it| it.waves_per_simd)
    }

    /// What there would be too little of for more waves.
    #[must_use]
    pub fn limiter(&self) -> Option<&'static str> {
        match &self.occupancy {
            Some(occupancy) => occupancy.limiter,
            None => self.beyond.first().map(|it| it.resource),
        }
    }
}

/// How many waves run, by the amount of one resource.
#[derive(Debug, Serialize)]
pub struct Curve {
    /// By vector registers.
    pub vgprs: Vec<StairRow>,
    /// By scalar registers.
    pub sgprs: Vec<StairRow>,
    /// By bytes of LDS.
    pub lds: Vec<StairRow>,
    /// By the size of workgroups, if all have the same.
    pub workgroup: Vec<StairRow>,
}

/// Amounts with which as many waves run.
#[derive(Debug, Serialize)]
pub struct StairRow {
    /// The smallest of them.
    pub first: u32,
    /// The largest of them.
    pub last: u32,
    /// Waves on a SIMD.
    pub waves_per_simd: u32,
    /// What there is too little of for more waves.
    pub limiter: Option<&'static str>,
}

impl From<Stair> for StairRow {
    fn from(Stair { first, last, waves, limiter }: Stair) -> Self {
        Self { first, last, waves_per_simd: waves, limiter: limiter.map(Limiter::name) }
    }
}

impl Curve {
    fn new(processor: Processor, demand: &Demand) -> Option<Self> {
        let stairs = |resource| {
            let stairs = processor.limits().curve(demand, resource)?;
            Some(stairs.into_iter().map(StairRow::from).collect())
        };
        Some(Self {
            vgprs: stairs(Limiter::Vgprs)?,
            sgprs: stairs(Limiter::Sgprs)?,
            lds: stairs(Limiter::Lds)?,
            workgroup: stairs(Limiter::Workgroups)?,
        })
    }
}

/// A resource, and the functions on the way to the one that needs the most.
#[derive(Debug, Default, Serialize)]
pub struct Amounts {
    /// What the code uses.
    pub needed: Option<u64>,
    /// What the metadata says.
    pub declared: Option<u64>,
    /// What the descriptor gives.
    pub allocated: Option<u64>,
    /// From the kernel to the function that needs the most.
    pub by: Vec<String>,
}

/// LDS has no needed amount: code computes its addresses.
#[derive(Debug, Default, Serialize)]
pub struct LdsAmounts {
    /// Whether the code accesses it.
    pub accessed: Option<bool>,
    /// What the metadata says.
    pub declared: Option<u64>,
    /// What the descriptor gives.
    pub allocated: Option<u64>,
    /// From the kernel to the function that accesses it.
    pub by: Vec<String>,
}

/// What a device runs at once.
#[derive(Debug, Serialize)]
pub struct OccupancyRow {
    /// Waves on a SIMD.
    pub waves_per_simd: u32,
    /// The most that a SIMD takes.
    pub max_waves_per_simd: u32,
    /// Workgroups on a compute unit.
    pub workgroups_per_cu: u32,
    /// The size that these workgroups have.
    pub workgroup_size: u32,
    /// Whether workgroups stay on one compute unit of two.
    pub cu_mode: bool,
    /// What there is too little of for more waves.
    pub limiter: Option<&'static str>,
    /// What more waves take.
    pub next: Option<NextRow>,
}

/// What to free for more waves.
#[derive(Debug, Serialize)]
pub struct NextRow {
    /// Waves on a SIMD.
    pub waves_per_simd: u32,
    /// Vector registers to free.
    pub vgprs: u32,
    /// Scalar registers to free.
    pub sgprs: u32,
    /// Bytes of LDS to free.
    pub lds: u32,
}

/// What kernels of one object are looked at with.
struct Reader<'r, 'a> {
    graph: &'r CallGraph<'a>,
    code: &'r Code<'a>,
    options: &'r Options,
    debug: Option<DebugInfo<'a>>,
}

impl Resources {
    /// Looks at all wanted kernels, with all that they call.
    pub fn new(
        item: &ObjectItem<'_, '_>,
        selection: &KernelSelection,
        trouble: &mut Trouble,
    ) -> Self {
        Self::with(item, selection, &Options::default(), trouble)
    }

    /// The same, with what else was asked for.
    pub fn with(
        item: &ObjectItem<'_, '_>,
        selection: &KernelSelection,
        options: &Options,
        trouble: &mut Trouble,
    ) -> Self {
        let Some((graph, code)) = call_graph(item, trouble) else { return Self::default() };
        let debug = options.peak.then(|| code.debug()).transpose();
        let debug = debug.unwrap_or_else(|error| {
            item.note(error, trouble);
            None
        });
        let reader = Reader { graph: &graph, code: &code, options, debug };
        let kernels = selection.of(code.index());
        Self { kernels: kernels.into_iter().map(|kernel| reader.kernel(kernel)).collect() }
    }

    /// Whether a kernel is given less than it needs.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.kernels.iter().any(|kernel| !kernel.shortages.is_empty())
    }
}

impl Reader<'_, '_> {
    fn kernel(&self, kernel: &Kernel<'_>) -> KernelResources {
        let processor = self.code.processor();
        let generation = processor.generation();
        let allocation = Allocation::of(kernel, generation);
        let declared = kernel.metadata().map(|_| kernel.resources(Some(generation)).0);
        let wave = allocation.map_or(self.code.usual_wave_size(), |it| it.wave);
        let function = self.graph.function_of(kernel);
        let needs = function.map(|function| self.graph.needs(function, processor, wave));
        let mut row =
            self.amounts(declared.unwrap_or_default(), allocation.as_ref(), needs.as_ref());
        row.name = kernel.name().to_string();
        row.demangled = source_name(kernel.name()).into_owned();
        row.spills = Spills::of(kernel);
        self.add_occupancy(&mut row, kernel);
        self.add_body(&mut row, kernel);
        row.dynamic_stack = allocation.is_some_and(|it| it.has_dynamic_stack)
            || declares_dynamic_stack(kernel)
            || needs.is_some_and(|needs| needs.is_dynamic || !needs.reach.is_complete());
        row
    }

    fn add_occupancy(&self, row: &mut KernelResources, kernel: &Kernel<'_>) {
        let processor = self.code.processor();
        let Some(demand) = demand(kernel, processor.generation()) else { return };
        row.occupancy = OccupancyRow::new(processor, &demand);
        row.what_if = self.options.what_if.as_ref().and_then(|it| {
            let demand = it.apply(&demand);
            let beyond = it.beyond(&demand, processor.limits());
            let occupancy = OccupancyRow::new(processor, &demand)?;
            let occupancy = beyond.is_empty().then_some(occupancy);
            let workgroup = it.workgroup(&demand);
            let Demand { vgprs, sgprs, lds, .. } = demand;
            Some(WhatIfRow { vgprs, sgprs, lds, workgroup, beyond, occupancy })
        });
        row.curve = self.options.curve.then(|| Curve::new(processor, &demand)).flatten();
    }

    fn add_body(&self, row: &mut KernelResources, kernel: &Kernel<'_>) {
        let Options { peak, mix, .. } = *self.options;
        if !peak && !mix {
            return;
        }
        let Some(function) = self.code.kernel(kernel) else { return };
        let body = Body::new(self.code, function);
        row.peak = peak.then(|| body.peaks(self.debug.as_ref()));
        row.mix = mix.then(|| body.mix());
    }

    fn amounts(
        &self,
        declared: Declared,
        allocation: Option<&Allocation>,
        needs: Option<&Needs<'_>>,
    ) -> KernelResources {
        let amounts = |resource: Resource, declared, allocated: Option<u32>| {
            let need = needs.map(|needs| needs.of(resource));
            Amounts {
                needed: need.map(|need| need.count.into()),
                declared,
                allocated: allocated.map(u64::from),
                by: need.map_or_else(Vec::new, |need| self.names(&need.route)),
            }
        };
        let allocated = |of: fn(&Allocation) -> u32| allocation.map(of);
        let lds_route = needs.and_then(|needs| needs.lds.as_ref());
        let reach = needs.map(|needs| &needs.reach);
        KernelResources {
            name: String::new(),
            demangled: String::new(),
            wavefront_size: allocation.map(|it| it.wave.lanes()),
            vgprs: amounts(Resource::Vgprs, declared.vgprs, allocated(|it| it.vgprs)),
            agprs: amounts(Resource::Agprs, declared.agprs, allocation.and_then(|it| it.agprs)),
            sgprs: amounts(Resource::Sgprs, declared.sgprs, allocation.and_then(|it| it.sgprs)),
            lds: LdsAmounts {
                accessed: needs.map(|needs| needs.lds.is_some()),
                declared: declared.lds,
                allocated: allocated(|it| it.lds).map(u64::from),
                by: lds_route.map_or_else(Vec::new, |route| self.names(route)),
            },
            scratch: amounts(Resource::Scratch, declared.scratch, allocated(|it| it.scratch)),
            dynamic_stack: false,
            recursive: reach.is_some_and(|reach| reach.is_recursive),
            complete: reach.is_some_and(Reach::is_complete),
            externals: reach.map_or_else(Vec::new, |reach| {
                reach.externals.iter().map(|name| source_name(*name).into_owned()).collect()
            }),
            unknown_calls: reach.map_or(0, |reach| reach.unknown.len()),
            spills: Spills::default(),
            occupancy: None,
            what_if: None,
            curve: None,
            peak: None,
            mix: None,
            shortages: match (allocation, needs) {
                (Some(allocation), Some(needs)) => self.shortages(allocation, needs),
                _ => Vec::new(),
            },
        }
    }

    fn shortages(&self, allocation: &Allocation, needs: &Needs<'_>) -> Vec<ShortageRow> {
        let shortages = allocation.shortages(needs).into_iter();
        let row = |short: Shortage| ShortageRow {
            resource: short.resource.name(),
            allocated: short.allocated,
            needed: short.needed,
            by: self.names(&needs.of(short.resource).route),
        };
        shortages.map(row).collect()
    }

    fn names(&self, route: &[usize]) -> Vec<String> {
        let functions = route.iter().filter_map(|number| self.graph.functions().get(*number));
        let name = |function: &Function<'_>| match function.name {
            Some(name) => source_name(name).into_owned(),
            None => format!("{:#x}", function.address),
        };
        functions.map(name).collect()
    }
}

/// Whether the metadata say that the stack grows.
fn declares_dynamic_stack(kernel: &Kernel<'_>) -> bool {
    let metadata = kernel.metadata().and_then(|it| it.decode().ok());
    metadata.and_then(|it| it.uses_dynamic_stack).unwrap_or(false)
}

impl OccupancyRow {
    fn new(processor: Processor, demand: &Demand) -> Option<Self> {
        let found = processor.limits().occupancy(demand)?;
        let next = |step: NextStep| NextRow {
            waves_per_simd: step.waves,
            vgprs: step.vgprs,
            sgprs: step.sgprs,
            lds: step.lds,
        };
        Some(Self {
            waves_per_simd: found.waves,
            max_waves_per_simd: found.max_waves,
            workgroups_per_cu: found.workgroups,
            workgroup_size: *demand.workgroup.end(),
            cu_mode: demand.cu_mode,
            limiter: found.limiter.map(Limiter::name),
            next: found.next.map(next),
        })
    }
}
