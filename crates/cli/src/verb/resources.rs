//! `hsaco resources`: what kernels need, are given, and let run at once.

use std::io::Write;

use anyhow::Result;
use hsaco_describe::names::Names;
use hsaco_describe::resources::{KernelResources, Options, Resources};
use hsaco_describe::tables::{self, Place};
use hsaco_describe::what_if::WhatIf;
use hsaco_table::Rows;

use crate::frame::Heading;
use crate::report::Status;
use crate::select::KernelSelection;
use crate::skeleton::{self, Look, Page, TableVerb, Verb};
use crate::table::{Cell, Table};
use crate::tabular::{NameStyle, TableReading};
use hsaco::bytes::escape::shown;

/// Shows the registers, LDS and scratch that kernels need with all they call, and their occupancy
///
/// Needed is what the code uses, of the kernel and of every function that it reaches; declared is
/// what the metadata says; allocated is what the descriptor gives each wave. A kernel that needs
/// more than it is given is named under the table, with the way to the function that needs it, and
/// the exit code is 1. Occupancy counts waves on one SIMD as LLVM does.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reading: TableReading,
    #[command(flatten)]
    style: NameStyle,
    /// Show occupancy with other amounts: vgprs=-10,lds=-4K,sgprs=+8,workgroup=256
    #[arg(long, value_name = "CHANGES")]
    what_if: Option<WhatIf>,
    /// Show how many waves run with every amount of registers, LDS and workgroup size
    #[arg(long)]
    curve: bool,
    /// Show where the most registers are live: address and line
    #[arg(long)]
    peak: bool,
    /// Count the instructions of each kernel by class, its memory accesses and matrix operations
    #[arg(long)]
    mix: bool,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    skeleton::run_table(args, &(&args.reading).into())
}

impl TableVerb for Args {
    type Record<'a> = KernelResources;

    fn names(&self) -> Names {
        self.style.names
    }

    fn rows(&self, row: &Resources, place: Place<'_>) -> Rows {
        tables::rows(Some(place), &row.kernels)
    }
}

impl Verb for Args {
    type Row<'e> = Resources;
    const HEADING: Heading = Heading::Container;

    fn read(&self, look: &mut Look<'_, '_, '_>) -> Resources {
        let &Self { curve, peak, mix, .. } = self;
        let options = Options { what_if: self.what_if.clone(), curve, peak, mix };
        Resources::with(look.item, look.kernels, &options, look.trouble)
    }

    fn text(&self, row: &Resources, page: &mut Page) -> Result<()> {
        if !row.kernels.is_empty() {
            writeln!(page.out, "\nneeded/declared/allocated")?;
            self.table(&row.kernels).write(&mut page.out, page.color)?;
        }
        for kernel in &row.kernels {
            let name = self.style.names.of(kernel.name.as_str().into());
            for remark in kernel.remarks() {
                writeln!(page.out, "{}: {}", shown(&name), shown(&remark))?;
            }
        }
        Ok(())
    }

    fn is_shown(&self, row: &Resources, kernels: &KernelSelection) -> bool {
        kernels.is_all() || !row.kernels.is_empty()
    }

    fn is_finding(&self, row: &Resources) -> bool {
        row.is_short()
    }
}

impl Args {
    fn table(&self, kernels: &[KernelResources]) -> Table {
        let titles =
            ">VGPRS|>AGPRS|>SGPRS|>LDS|>SCRATCH|>SPILLS|>WAVES|>GROUPS|LIMIT|MORE WAVES|KERNEL";
        let mut table = Table::titled(titles);
        for kernel in kernels {
            let occupancy = kernel.occupancy.as_ref();
            let spelt = kernel.spelt();
            table.row([
                Cell::from(&spelt.vgprs),
                Cell::from(&spelt.agprs),
                Cell::from(&spelt.sgprs),
                Cell::from(&spelt.lds),
                Cell::from(&spelt.scratch),
                Cell::from(kernel.spills.total()),
                Cell::from(&spelt.waves),
                Cell::from(occupancy.map(|it| u64::from(it.workgroups_per_cu))),
                occupancy.and_then(|it| it.limiter).map_or(Cell::Unknown, Cell::Text),
                Cell::from(&spelt.more_waves),
                Cell::from(&*self.style.names.of(kernel.name.as_str().into())),
            ]);
        }
        table
    }
}
