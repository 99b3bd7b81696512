//! `hsaco resources`: what kernels need, are given, and let run at once.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use hsaco::analysis::{Allocation, CallGraph, Code, Needs, Reach, Resource, Shortage, demand};
use hsaco::isa::{Generation, NextStep, Processor};
use hsaco::object::{Kernel, Resources};
use serde::Serialize;

use crate::args::{Answer, Format, Inputs, KernelFilter, ObjectFilter};
use crate::json_files;
use crate::output::Output;
use crate::report::{Status, Trouble};
use crate::scan::{ObjectItem, Verify};
use crate::select::KernelSelection;
use crate::table::{Align, Cell, Table};
use crate::text;
use crate::text_files::{self, Page};
use crate::verb::calls;
use crate::verb::ls::{object_line, source_name};

/// Shows the registers, LDS and scratch that kernels need with all they call, and their occupancy
///
/// Needed is what the code uses, of the kernel and of every function that it reaches; declared is
/// what the metadata says; allocated is what the descriptor gives each wave. A kernel that needs
/// more than it is given is named under the table, with the way to the function that needs it, and
/// the exit code is 1. Occupancy counts waves on one SIMD as LLVM does.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    objects: ObjectFilter,
    #[command(flatten)]
    kernels: KernelFilter,
    #[command(flatten)]
    answer: Answer,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.answer.color.apply();
    let mut out = Output::answer(&args.answer)?;
    let kernels = KernelSelection::new(&args.kernels);
    let short = AtomicBool::new(false);
    let read = |item: &ObjectItem<'_, '_>, trouble: &mut Trouble| {
        let object = ObjectResources::new(item, &kernels, trouble);
        short.fetch_or(object.is_short(), Ordering::Relaxed);
        object
    };
    let mut status = match args.answer.format {
        Format::Json => {
            let read = |item: &ObjectItem<'_, '_>, trouble: &mut Trouble| {
                Ok(vec![serde_json::to_vec(&read(item, trouble))?])
            };
            json_files::run(&mut out, &args.inputs, &args.objects, Verify::All, read)?
        }
        Format::Text => {
            text_files::run(&mut out, &args.inputs, &args.objects, |page, item, trouble| {
                let resources = read(item, trouble);
                let is_wanted = kernels.is_all() || !resources.kernels.is_empty();
                if is_wanted { write(page, item, &resources) } else { Ok(()) }
            })?
        }
    };
    out.finish()?;
    if short.load(Ordering::Relaxed) {
        status.note(Status::Findings);
    }
    Ok(kernels.conclude(status))
}

/// One object of `resources`.
#[derive(Serialize)]
struct ObjectResources {
    index: usize,
    entry_id: Option<String>,
    target: Option<String>,
    kernels: Vec<KernelResources>,
}

/// What one kernel needs and is given; what is not known is null.
#[derive(Serialize)]
struct KernelResources {
    name: String,
    demangled: String,
    wavefront_size: Option<u32>,
    vgprs: Amounts,
    agprs: Amounts,
    sgprs: Amounts,
    lds: LdsAmounts,
    scratch: Amounts,
    /// Whether the stack can grow by what only run time knows, after the code, the descriptor or the metadata.
    dynamic_stack: bool,
    recursive: bool,
    /// Whether all that runs is in this object, and known; else more may be needed.
    complete: bool,
    externals: Vec<String>,
    unknown_calls: usize,
    occupancy: Option<OccupancyRow>,
    shortages: Vec<ShortageRow>,
}

/// A resource, and the functions on the way to the one that needs the most.
#[derive(Default, Serialize)]
struct Amounts {
    needed: Option<u64>,
    declared: Option<u64>,
    allocated: Option<u64>,
    by: Vec<String>,
}

/// LDS has no needed amount: code computes its addresses.
#[derive(Default, Serialize)]
struct LdsAmounts {
    accessed: Option<bool>,
    declared: Option<u64>,
    allocated: Option<u64>,
    by: Vec<String>,
}

#[derive(Serialize)]
struct OccupancyRow {
    waves_per_simd: u32,
    max_waves_per_simd: u32,
    workgroups_per_cu: u32,
    /// The size that these workgroups have.
    workgroup_size: u32,
    cu_mode: bool,
    limiter: Option<&'static str>,
    next: Option<NextRow>,
}

/// What to free for more waves.
#[derive(Serialize)]
struct NextRow {
    waves_per_simd: u32,
    vgprs: u32,
    sgprs: u32,
    lds: u32,
}

#[derive(Serialize)]
struct ShortageRow {
    resource: &'static str,
    allocated: u32,
    needed: u32,
    by: Vec<String>,
}

/// What kernels of one object are looked at with.
struct Reader<'r, 'a> {
    graph: &'r CallGraph<'a>,
    code: &'r Code<'a>,
}

impl ObjectResources {
    fn new(item: &ObjectItem<'_, '_>, selection: &KernelSelection, trouble: &mut Trouble) -> Self {
        let mut resources = Self {
            index: item.number,
            entry_id: item.entry.id.clone(),
            target: item.target.clone(),
            kernels: Vec::new(),
        };
        if let Some((graph, code)) = calls::graph(item, trouble) {
            let reader = Reader { graph: &graph, code: &code };
            let kernels = selection.of(code.index());
            resources.kernels = kernels.into_iter().map(|kernel| reader.kernel(kernel)).collect();
        }
        resources
    }

    fn is_short(&self) -> bool {
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
        row.occupancy = occupancy(kernel, processor, generation);
        row.dynamic_stack = allocation.is_some_and(|it| it.has_dynamic_stack)
            || declares_dynamic_stack(kernel)
            || needs.is_some_and(|needs| needs.is_dynamic || !needs.reach.is_complete());
        row
    }

    fn amounts(
        &self,
        declared: Resources,
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
            occupancy: None,
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
            by: self.names(&short.way),
        };
        shortages.map(row).collect()
    }

    fn names(&self, route: &[usize]) -> Vec<String> {
        let functions = route.iter().filter_map(|number| self.graph.functions().get(*number));
        let name = |function: &hsaco::analysis::Function<'_>| match function.name {
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

fn occupancy(
    kernel: &Kernel<'_>,
    processor: Processor,
    generation: Generation,
) -> Option<OccupancyRow> {
    let demand = demand(kernel, generation)?;
    let found = processor.limits().occupancy(&demand)?;
    let next = |step: NextStep| NextRow {
        waves_per_simd: step.waves,
        vgprs: step.vgprs,
        sgprs: step.sgprs,
        lds: step.lds,
    };
    Some(OccupancyRow {
        waves_per_simd: found.waves,
        max_waves_per_simd: found.max_waves,
        workgroups_per_cu: found.workgroups,
        workgroup_size: *demand.workgroup.end(),
        cu_mode: demand.cu_mode,
        limiter: found.limiter.map(hsaco::isa::Limiter::name),
        next: found.next.map(next),
    })
}

fn write(page: &mut Page, item: &ObjectItem<'_, '_>, resources: &ObjectResources) -> Result<()> {
    writeln!(page.out, "\n{}", object_line(item))?;
    if !resources.kernels.is_empty() {
        writeln!(page.out, "\nneeded/declared/allocated")?;
        table(&resources.kernels).write(&mut page.out, page.color)?;
    }
    resources.kernels.iter().try_for_each(|kernel| write_remarks(&mut page.out, kernel))
}

fn table(kernels: &[KernelResources]) -> Table {
    let mut table = Table::new(&[
        ("VGPRS", Align::Right),
        ("AGPRS", Align::Right),
        ("SGPRS", Align::Right),
        ("LDS", Align::Right),
        ("SCRATCH", Align::Right),
        ("WAVES", Align::Right),
        ("GROUPS", Align::Right),
        ("LIMIT", Align::Left),
        ("MORE WAVES", Align::Left),
        ("KERNEL", Align::Left),
    ]);
    for kernel in kernels {
        let occupancy = kernel.occupancy.as_ref();
        let waves = occupancy
            .map_or_else(dash, |it| format!("{}/{}", it.waves_per_simd, it.max_waves_per_simd));
        let next = occupancy.and_then(|it| it.next.as_ref());
        table.row([
            Cell::from(&kernel.vgprs.shown()),
            Cell::from(&kernel.agprs.shown()),
            Cell::from(&kernel.sgprs.shown()),
            Cell::from(&kernel.lds.shown()),
            Cell::from(&kernel.scratch.shown()),
            Cell::from(&waves),
            Cell::from(occupancy.map(|it| u64::from(it.workgroups_per_cu))),
            occupancy.and_then(|it| it.limiter).map_or(Cell::Unknown, Cell::Text),
            Cell::from(&next.map_or_else(dash, NextRow::shown)),
            Cell::from(&kernel.demangled),
        ]);
    }
    table
}

impl KernelResources {
    /// What makes the stack grow.
    fn growth(&self) -> &'static str {
        if self.recursive {
            "recursion"
        } else if self.unknown_calls > 0 || !self.externals.is_empty() {
            "what callees need that are not known"
        } else {
            "what only run time knows"
        }
    }
}

impl Amounts {
    fn shown(&self) -> String {
        [self.needed, self.declared, self.allocated].map(shown).join("/")
    }
}

impl LdsAmounts {
    fn shown(&self) -> String {
        let accessed = match self.accessed {
            Some(true) => "used".to_owned(),
            Some(false) => "0".to_owned(),
            None => dash(),
        };
        [accessed, shown(self.declared), shown(self.allocated)].join("/")
    }
}

impl NextRow {
    fn shown(&self) -> String {
        let parts = [(self.vgprs, "vgprs"), (self.sgprs, "sgprs"), (self.lds, "bytes of LDS")];
        let freed = parts.iter().filter(|(count, _)| *count > 0);
        let freed: Vec<String> = freed.map(|(count, what)| format!("{count} {what}")).collect();
        format!("{} without {}", self.waves_per_simd, freed.join(", "))
    }
}

/// What the table has no room for.
fn write_remarks(out: &mut Vec<u8>, kernel: &KernelResources) -> Result<()> {
    let name = text::shown(&kernel.demangled);
    for short in &kernel.shortages {
        let (what, by) = (short.resource, short.by.join(" > "));
        let by = text::shown(&by);
        let (allocated, needed) = (short.allocated, short.needed);
        writeln!(out, "{name}: {what}: {allocated} allocated, {needed} needed by {by}")?;
    }
    if !kernel.externals.is_empty() {
        let externals = kernel.externals.join(", ");
        let externals = text::shown(&externals);
        writeln!(out, "{name}: not counted, as other objects have it: {externals}")?;
    }
    if kernel.unknown_calls > 0 {
        let calls = crate::table::count(kernel.unknown_calls, "unknown call");
        writeln!(out, "{name}: {calls}: every function counted whose address is taken")?;
    }
    if kernel.dynamic_stack {
        writeln!(out, "{name}: scratch also grows by {}", kernel.growth())?;
    }
    Ok(())
}

fn shown(number: Option<u64>) -> String {
    number.map_or_else(dash, |number| number.to_string())
}

fn dash() -> String {
    "-".to_owned()
}
