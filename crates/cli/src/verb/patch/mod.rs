//! `hsaco patch`: rewrites code objects by rules, and checks what came out.

mod container;
mod edit;
mod manifest;

use std::ffi::OsString;
use std::io::Write;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, bail};
use hsaco::db::Owner;
use hsaco::object::container::Container;
use hsaco::patch::{
    CodeEdit, KernelSetting, Manifest, Options, Patched, Patcher, RuleSet, Verdict, set,
};

use crate::args::{Color, Format};
use crate::input::{self, Input};
use crate::output::{self, Output};
use crate::report::{self, Status};
use manifest::Document;
use serde::Serialize;

/// Rewrites code objects by rules, and checks the result
///
/// Nothing that is in the file moves. What grows goes to trampolines behind it; the manifest lists every change. The result
/// is checked before it is written. Exit code 1: a rule has refused, and nothing was written.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Anything that holds AMD GPU code; edits and --verify take code objects, the latter three files: the original, the
    /// result and its manifest
    #[arg(required = true, value_name = "FILE")]
    files: Vec<OsString>,
    /// The rules to rewrite by; `hsaco rules` lists them
    #[arg(long, value_name = "SET")]
    rules: Option<String>,
    /// What the code was made for; with --to, another way to name the rules (gfx1250:b0)
    #[arg(long, value_name = "STEPPING", requires = "to", conflicts_with = "rules")]
    from: Option<String>,
    /// What it is to run on (gfx1250:a0)
    #[arg(long, value_name = "STEPPING", requires = "from")]
    to: Option<String>,
    /// Another reading of what is not settled; `hsaco rules` lists them
    #[arg(long = "option", value_name = "NAME")]
    options: Vec<String>,
    /// Set a number of a kernel, in descriptor and metadata together; any processor (foo.vgpr_count=128)
    #[arg(long, value_name = "KERNEL.FIELD=VALUE", conflicts_with_all = ["rules", "from", "to", "verify"])]
    set: Vec<KernelSetting>,
    /// Put instructions in place of the one at an address, or of the first of each stretch of code of a source line
    /// (0x1600=s_nop 0; s_nop 1)
    #[arg(long, value_name = "PLACE=ASM", value_parser = edit::parse_lines)]
    replace: Vec<edit::Lines>,
    /// Put instructions before the one at an address, or at a source line (scale.hip:12=s_nop 0)
    #[arg(long, value_name = "PLACE=ASM", value_parser = edit::parse_lines)]
    insert: Vec<edit::Lines>,
    /// Count the waves that come by: at `entries` of kernels, at `blocks`, at an address or a source line
    #[arg(long, value_name = "WHERE", value_parser = edit::parse_points)]
    count: Vec<edit::Where>,
    /// Call a function of the object there; what is needed and what it changes is saved around it (entries=probe)
    #[arg(long, value_name = "WHERE=FUNCTION", value_parser = edit::parse_call)]
    call: Vec<(edit::Where, String)>,
    /// Change nothing, say what would be changed
    #[arg(long)]
    dry_run: bool,
    /// Check a result against its original and its manifest
    #[arg(long, conflicts_with_all = ["dry_run", "output", "manifest"])]
    verify: bool,
    /// Write the manifest to this file, as JSON
    #[arg(long, value_name = "FILE")]
    manifest: Option<OsString>,
    /// Where the result goes
    #[arg(short, long, value_name = "FILE", required_unless_present_any = ["dry_run", "verify"])]
    output: Option<OsString>,
    /// Text for people, JSON for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// When to colour the answer
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    color: Color,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.color.apply();
    if !args.set.is_empty() {
        return set_numbers(args);
    }
    if args.verify { verify(args) } else { patch(args) }
}

fn patcher(args: &Args, edits: Vec<CodeEdit>) -> Result<Patcher> {
    let name = match (&args.rules, &args.from, &args.to) {
        (Some(name), ..) => name.clone(),
        (None, Some(from), Some(to)) => {
            let stepping = to.split_once(':').map_or(to.as_str(), |(_, stepping)| stepping);
            format!("{}-to-{stepping}", from.replace(':', "-"))
        }
        _ if !has_edits(args) => "gfx1250-b0-to-a0".to_owned(),
        _ => "none".to_owned(),
    };
    let set = RuleSet::by_name(&name).with_context(|| {
        let names: Vec<&str> = RuleSet::all().iter().map(RuleSet::name).collect();
        format!("no rules `{name}`; there are {}", names.join(", "))
    })?;
    let mut options = Options::default();
    for name in &args.options {
        options.set(name).map_err(anyhow::Error::msg)?;
    }
    Ok(Patcher::new(set, options)?.with_edits(edits))
}

fn has_edits(args: &Args) -> bool {
    let places = args.replace.len() + args.insert.len() + args.count.len() + args.call.len();
    places != 0
}

fn set_numbers(args: &Args) -> Result<Status> {
    let [file] = args.files.as_slice() else { bail!("one file at a time") };
    let input = open(file)?;
    let patched = set(&input, &args.set).with_context(|| input.name.clone())?;
    answer(args, &input, &patched)
}

fn open(file: &OsString) -> Result<Input> {
    let opened = input::inputs(std::slice::from_ref(file)).next().context("no such file")?;
    opened.map_err(|it| it.error.context(it.name))
}

fn patch(args: &Args) -> Result<Status> {
    let [file] = args.files.as_slice() else { bail!("one file at a time") };
    let input = open(file)?;
    if !matches!(Container::detect(&input), None | Some(Container::CodeObject)) {
        if has_edits(args) {
            bail!("{}: addresses are those of one object: extract it, then edit it", input.name);
        }
        return container::patch(args, &patcher(args, Vec::new())?, &input);
    }
    let edits = edit::all(args, &input).with_context(|| input.name.clone())?;
    let release = |part: Range<usize>| Owner::release(&input, part);
    let patched = patcher(args, edits)?.patch_releasing(&input, &release);
    let patched = patched.with_context(|| input.name.clone())?;
    answer(args, &input, &patched)
}

/// Writes the result and its manifest, and says what became of it.
fn answer(args: &Args, input: &Input, patched: &Patched) -> Result<Status> {
    write_manifest(args, || Document::new(&patched.manifest))?;
    let is_refused = patched.manifest.verdict == Verdict::Refused;
    if let Some(path) = result_path(args, is_refused)? {
        output::write_file(path, patched.bytes.as_deref().unwrap_or(input))?;
    }
    let mut out = Output::open(None)?;
    match args.format {
        Format::Json => {
            serde_json::to_writer(&mut out, &Document::new(&patched.manifest))?;
            writeln!(out)?;
        }
        Format::Text => write_text(&input.name, &patched.manifest, &mut out)?,
    }
    out.finish()?;
    report_refusals(&input.name, &patched.manifest);
    Ok(if is_refused { Status::Findings } else { Status::Fine })
}

fn write_manifest<T: Serialize>(args: &Args, manifest: impl FnOnce() -> T) -> Result<()> {
    let Some(path) = args.manifest.as_deref() else { return Ok(()) };
    if path == "-" {
        bail!("--manifest - is taken by the answer; --format json makes it the manifest");
    }
    let mut out = Output::open(Some(path))?;
    serde_json::to_writer(&mut out, &manifest())?;
    out.finish()
}

/// Where the result is to be written, if it is.
fn result_path(args: &Args, is_refused: bool) -> Result<Option<&Path>> {
    let path = args.output.as_deref().filter(|_| !args.dry_run && !is_refused);
    if path.is_some_and(|it| it == "-") {
        bail!("-o - is taken by the answer; name a file");
    }
    Ok(path.map(Path::new))
}

fn report_refusals(place: &str, manifest: &Manifest) {
    for (remark, refusal) in manifest.refusals() {
        let place = format!("{place}: {} at {:#x}", remark.function, remark.address);
        report::line(&place, &format!("{}: {refusal}", remark.rule));
    }
}

fn verify(args: &Args) -> Result<Status> {
    let [original, result, manifest] = args.files.as_slice() else {
        bail!("--verify takes three files: the original, the result and its manifest");
    };
    let (original, result, manifest) = (open(original)?, open(result)?, open(manifest)?);
    let manifest = Document::parse(&manifest).with_context(|| manifest.name.clone())?;
    let findings = patcher(args, Vec::new())?.verify(&original, &result, &manifest);
    for finding in &findings {
        report::line(&result.name, &finding.to_string());
    }
    let mut out = Output::open(None)?;
    match findings.len() {
        0 => writeln!(out, "{}: holds", result.name)?,
        count => writeln!(out, "{}: {count} findings", result.name)?,
    }
    out.finish()?;
    Ok(if findings.is_empty() { Status::Fine } else { Status::Findings })
}

fn write_text(name: &str, manifest: &Manifest, out: &mut Output) -> Result<()> {
    match &manifest.verdict {
        Verdict::Unchanged(reason) => writeln!(out, "{name}: unchanged: {reason}")?,
        Verdict::Refused => writeln!(out, "{name}: refused")?,
        Verdict::Changed => {
            let changed = manifest.kernels.iter().filter(|it| it.verdict == Verdict::Changed);
            writeln!(
                out,
                "{name}: changed: {} places, {} of {} kernels, {} bytes more",
                manifest.records.len() + manifest.stubs.len(),
                changed.count(),
                manifest.kernels.len(),
                manifest.sizes.1.saturating_sub(manifest.sizes.0),
            )?;
        }
    }
    for record in &manifest.records {
        let rules: Vec<&str> = record.rules.iter().map(|(rule, _)| *rule).collect();
        let place = match &record.body {
            Some(body) => {
                format!("{} {:#x}, {}", record.placement.name(), body.address, record.jump.name())
            }
            None => record.placement.name().to_owned(),
        };
        let registers: Vec<String> =
            record.leases.iter().chain(&record.pair).map(ToString::to_string).collect();
        let taken = if registers.is_empty() {
            String::new()
        } else {
            format!(", takes {}", registers.join(" "))
        };
        writeln!(
            out,
            "  {:#x} {}: {} ({place}{taken})",
            record.site.address,
            record.function,
            rules.join(", ")
        )?;
    }
    for (site, address) in &manifest.counters {
        writeln!(out, "  {site:#x}: counted at {address:#x}")?;
    }
    for stub in &manifest.stubs {
        writeln!(
            out,
            "  {:#x} {}: {} (stub, takes {})",
            stub.address, stub.kernel, stub.rule, stub.pair
        )?;
    }
    for kernel in &manifest.kernels {
        for setting in &kernel.settings {
            writeln!(
                out,
                "  {} {}: {} -> {}",
                kernel.name, setting.name, setting.old, setting.new
            )?;
        }
    }
    for (remark, reason) in
        manifest.remarks.iter().filter_map(|it| Some((it, it.said.as_ref().ok()?)))
    {
        writeln!(
            out,
            "  {:#x} {}: {} kept: {reason}",
            remark.address, remark.function, remark.rule
        )?;
    }
    Ok(())
}
