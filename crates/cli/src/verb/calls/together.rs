//! `calls --together`: the graph of an executable made of all files, in addresses of the memory it would have.

use std::io::Write;

use anyhow::{Context, Result};
use hsaco::load::{CallView, Executable, Freeze};
use hsaco_describe::calls::Calls;
use serde::Serialize;

use super::{Args, Format, text};
use crate::executable::{self, Together};
use crate::output::Output;
use crate::report::Status;
use crate::schema::SCHEMA_VERSION;
use crate::select::KernelSelection;

/// Where `load` puts the first object, too.
const BASE: u64 = 0x7f00_0000_0000;

/// The answer.
#[derive(Serialize)]
struct Document<'d> {
    schema_version: u32,
    target: Option<String>,
    objects: Vec<&'d str>,
    #[serde(flatten)]
    calls: &'d Calls,
}

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
    let calls = executable.with_call_graph(|view| calls(&executable, view, kernels))?;
    let calls = calls.context("the code of these objects cannot be decoded")?;
    let objects: Vec<&str> = executable.objects().map(|it| executable.object_name(it)).collect();
    let target = executable.target().map(|it| it.to_string());
    let mut page = Vec::new();
    match args.format {
        Format::Json => {
            let calls = &calls;
            let document = Document { schema_version: SCHEMA_VERSION, target, objects, calls };
            serde_json::to_writer(&mut page, &document)?;
            writeln!(page)?;
        }
        Format::Text => {
            let target = target.as_deref().unwrap_or("unknown");
            writeln!(page, "{}: {target}", objects.join(" + "))?;
            text::write_trees(&mut page, &calls, out.color())?;
        }
        Format::Dot => page.extend(calls.to_dot(&objects.join(" + ")).into_bytes()),
    }
    out.write_all(&page)?;
    Ok(status)
}

/// The calls, with everything where it would be in memory.
fn calls(executable: &Executable<'_>, view: &CallView<'_>, selection: &KernelSelection) -> Calls {
    let mut calls = Calls::of(view.object, view.graph, selection);
    let memory = |address: u64| view.place(address).map_or(address, |(_, address)| address);
    for function in &mut calls.functions {
        let object = view.place(function.address).map(|(object, _)| object);
        function.object = object.map(|it| executable.object_name(it).to_owned());
        function.address = memory(function.address);
        for call in &mut function.calls {
            call.site = memory(call.site);
            call.address = call.address.map(memory);
            call.slot = call.slot.map(memory);
        }
    }
    calls
}
