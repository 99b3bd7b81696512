//! `calls --together`: the graph of an executable made of all files, in addresses of the memory it would have.

use std::io::Write;

use anyhow::{Context, Result};
use hsaco::load::Freeze;
use hsaco_describe::calls::CallsTogether;

use super::{Args, Format};
use crate::executable::{self, Together};
use crate::json;
use crate::output::Output;
use crate::report::Status;
use crate::select::KernelSelection;

/// Where `load` puts the first object, too.
const BASE: u64 = 0x7f00_0000_0000;

pub(super) fn run(args: &Args, kernels: &KernelSelection, out: &mut Output) -> Result<Status> {
    let (mut executable, mut status) =
        executable::read(&args.inputs, &args.objects, &Together::default(), &[])?;
    if status != Status::Fine {
        return Ok(status);
    }
    if let Err(errors) = executable.freeze(Freeze { base: BASE, fix_resources: false }) {
        status.note(executable::tell(&errors));
        return Ok(status);
    }
    let row = executable.with_call_graph(|view| CallsTogether::new(&executable, view, kernels))?;
    let row = row.context("the code of these objects cannot be decoded")?;
    let mut page = Vec::new();
    match args.format {
        Format::Json => json::document(&mut page, &row)?,
        Format::Text => {
            let target = row.target.as_deref().unwrap_or("unknown");
            writeln!(page, "{}: {target}", row.objects.join(" + "))?;
            write!(page, "{}", row.calls.to_text(out.color()))?;
        }
        Format::Dot => page.extend(row.calls.to_dot(&row.objects.join(" + ")).into_bytes()),
    }
    out.write_all(&page)?;
    Ok(status)
}
