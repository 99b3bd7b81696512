//! `hsaco resources`: what kernels need, are given, and let run at once.

use std::io::Write;

use anyhow::Result;
use hsaco::bytes::number::count;
use hsaco_describe::resources::{Amounts, KernelResources, LdsAmounts, NextRow, Resources};

use crate::args::Reading;
use crate::frame::Heading;
use crate::report::Status;
use crate::select::KernelSelection;
use crate::skeleton::{self, Look, Page, Verb};
use crate::table::{Cell, Table};
use crate::text::shown;

/// Shows the registers, LDS and scratch that kernels need with all they call, and their occupancy
///
/// Needed is what the code uses, of the kernel and of every function that it reaches; declared is
/// what the metadata says; allocated is what the descriptor gives each wave. A kernel that needs
/// more than it is given is named under the table, with the way to the function that needs it, and
/// the exit code is 1. Occupancy counts waves on one SIMD as LLVM does.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    skeleton::run(args, &args.reading)
}

impl Verb for Args {
    type Row<'e> = Resources;
    const HEADING: Heading = Heading::Container;

    fn read(&self, look: &mut Look<'_, '_, '_>) -> Resources {
        Resources::new(look.item, look.kernels, look.trouble)
    }

    fn text(&self, row: &Resources, page: &mut Page) -> Result<()> {
        if !row.kernels.is_empty() {
            writeln!(page.out, "\nneeded/declared/allocated")?;
            table(&row.kernels).write(&mut page.out, page.color)?;
        }
        row.kernels.iter().try_for_each(|kernel| write_remarks(&mut page.out, kernel))
    }

    fn is_shown(&self, row: &Resources, kernels: &KernelSelection) -> bool {
        kernels.is_all() || !row.kernels.is_empty()
    }

    fn is_finding(&self, row: &Resources) -> bool {
        row.is_short()
    }
}

fn table(kernels: &[KernelResources]) -> Table {
    let titles = ">VGPRS|>AGPRS|>SGPRS|>LDS|>SCRATCH|>WAVES|>GROUPS|LIMIT|MORE WAVES|KERNEL";
    let mut table = Table::titled(titles);
    for kernel in kernels {
        let occupancy = kernel.occupancy.as_ref();
        let waves = occupancy
            .map_or_else(dash, |it| format!("{}/{}", it.waves_per_simd, it.max_waves_per_simd));
        let next = occupancy.and_then(|it| it.next.as_ref());
        table.row([
            Cell::from(&amounts(&kernel.vgprs)),
            Cell::from(&amounts(&kernel.agprs)),
            Cell::from(&amounts(&kernel.sgprs)),
            Cell::from(&lds(&kernel.lds)),
            Cell::from(&amounts(&kernel.scratch)),
            Cell::from(&waves),
            Cell::from(occupancy.map(|it| u64::from(it.workgroups_per_cu))),
            occupancy.and_then(|it| it.limiter).map_or(Cell::Unknown, Cell::Text),
            Cell::from(&next.map_or_else(dash, freed)),
            Cell::from(&kernel.demangled),
        ]);
    }
    table
}

/// What makes the stack grow.
fn growth(kernel: &KernelResources) -> &'static str {
    if kernel.recursive {
        "recursion"
    } else if kernel.unknown_calls > 0 || !kernel.externals.is_empty() {
        "what callees need that are not known"
    } else {
        "what only run time knows"
    }
}

fn amounts(it: &Amounts) -> String {
    [it.needed, it.declared, it.allocated].map(number).join("/")
}

fn lds(it: &LdsAmounts) -> String {
    let accessed = match it.accessed {
        Some(true) => "used".to_owned(),
        Some(false) => "0".to_owned(),
        None => dash(),
    };
    [accessed, number(it.declared), number(it.allocated)].join("/")
}

fn freed(it: &NextRow) -> String {
    let parts = [(it.vgprs, "vgprs"), (it.sgprs, "sgprs"), (it.lds, "bytes of LDS")];
    let freed = parts.iter().filter(|(count, _)| *count > 0);
    let freed: Vec<String> = freed.map(|(count, what)| format!("{count} {what}")).collect();
    format!("{} without {}", it.waves_per_simd, freed.join(", "))
}

/// What the table has no room for.
fn write_remarks(out: &mut Vec<u8>, kernel: &KernelResources) -> Result<()> {
    let name = shown(&kernel.demangled);
    for short in &kernel.shortages {
        let (what, by) = (short.resource, short.by.join(" > "));
        let by = shown(&by);
        let (allocated, needed) = (short.allocated, short.needed);
        writeln!(out, "{name}: {what}: {allocated} allocated, {needed} needed by {by}")?;
    }
    if !kernel.externals.is_empty() {
        let externals = kernel.externals.join(", ");
        let externals = shown(&externals);
        writeln!(out, "{name}: not counted, as other objects have it: {externals}")?;
    }
    if kernel.unknown_calls > 0 {
        let calls = count(kernel.unknown_calls, "unknown call");
        writeln!(out, "{name}: {calls}: every function counted whose address is taken")?;
    }
    if kernel.dynamic_stack {
        writeln!(out, "{name}: scratch also grows by {}", growth(kernel))?;
    }
    Ok(())
}

fn number(number: Option<u64>) -> String {
    number.map_or_else(dash, |number| number.to_string())
}

fn dash() -> String {
    "-".to_owned()
}
