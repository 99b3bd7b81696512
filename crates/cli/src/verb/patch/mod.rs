//! `hsaco patch`: rewrites code objects by rules, and checks what came out.

mod container;
mod manifest;

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use hsaco::object::container::Container;
use hsaco::patch::{
    CodeEdit, KernelSetting, Manifest, Options, Patched, Patcher, Points, RuleSet, Verdict, set,
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
    /// Put instructions in place of the one at an address (0x1600=s_nop 0; s_nop 1)
    #[arg(long, value_name = "ADDRESS=ASM", value_parser = parse_lines)]
    replace: Vec<(u64, Vec<String>)>,
    /// Put instructions before the one at an address
    #[arg(long, value_name = "ADDRESS=ASM", value_parser = parse_lines)]
    insert: Vec<(u64, Vec<String>)>,
    /// Count the waves that come by: at `entries` of kernels, at `blocks`, or at an address
    #[arg(long, value_name = "WHERE", value_parser = parse_points)]
    count: Vec<Points>,
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
    let patcher = patcher(args)?;
    if args.verify { verify(args, &patcher) } else { patch(args, &patcher) }
}

fn patcher(args: &Args) -> Result<Patcher> {
    let name = match (&args.rules, &args.from, &args.to) {
        (Some(name), ..) => name.clone(),
        (None, Some(from), Some(to)) => {
            let stepping = to.split_once(':').map_or(to.as_str(), |(_, stepping)| stepping);
            format!("{}-to-{stepping}", from.replace(':', "-"))
        }
        _ if edits(args).is_empty() => "gfx1250-b0-to-a0".to_owned(),
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
    Ok(Patcher::new(set, options)?.with_edits(edits(args)))
}

/// Reads `ADDRESS=LINE; LINE`.
fn parse_lines(text: &str) -> Result<(u64, Vec<String>), String> {
    let (address, lines) = text.split_once('=').ok_or("expected ADDRESS=ASM")?;
    let lines = lines.split(';').map(str::trim).filter(|line| !line.is_empty());
    Ok((parse_address(address)?, lines.map(str::to_owned).collect()))
}

fn parse_address(text: &str) -> Result<u64, String> {
    let address = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    address.map_err(|_| format!("`{text}` is no address"))
}

fn parse_points(text: &str) -> Result<Points, String> {
    match text {
        "entries" => Ok(Points::Entries),
        "blocks" => Ok(Points::Blocks),
        address => parse_address(address).map(Points::Address),
    }
}

/// What the command line asks to be done to code.
fn edits(args: &Args) -> Vec<CodeEdit> {
    let replaced = args.replace.iter().map(|(at, lines)| CodeEdit::Replace(*at, lines.clone()));
    let inserted = args.insert.iter().map(|(at, lines)| CodeEdit::Insert(*at, lines.clone()));
    let counted = args.count.iter().map(|points| CodeEdit::Count(*points));
    replaced.chain(inserted).chain(counted).collect()
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

fn patch(args: &Args, patcher: &Patcher) -> Result<Status> {
    let [file] = args.files.as_slice() else { bail!("one file at a time") };
    let input = open(file)?;
    if !matches!(Container::detect(&input), None | Some(Container::CodeObject)) {
        if !edits(args).is_empty() {
            bail!("{}: addresses are those of one object: extract it, then edit it", input.name);
        }
        return container::patch(args, patcher, &input);
    }
    let patched = patcher.patch(&input).with_context(|| input.name.clone())?;
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
    let Some(path) = &args.manifest else { return Ok(()) };
    output::write_file(Path::new(path), &serde_json::to_vec(&manifest())?)
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

fn verify(args: &Args, patcher: &Patcher) -> Result<Status> {
    let [original, result, manifest] = args.files.as_slice() else {
        bail!("--verify takes three files: the original, the result and its manifest");
    };
    let (original, result, manifest) = (open(original)?, open(result)?, open(manifest)?);
    let manifest = Document::parse(&manifest).with_context(|| manifest.name.clone())?;
    let findings = patcher.verify(&original, &result, &manifest);
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
        let rules: Vec<&str> = record.rules.iter().map(|(rule, _)| rule.as_str()).collect();
        let place = match &record.body {
            Some(body) => {
                format!("{} {:#x}, {}", record.placement.name(), body.address, record.jump.name())
            }
            None => record.placement.name().to_owned(),
        };
        let registers: Vec<&str> =
            record.leases.iter().chain(&record.pair).map(String::as_str).collect();
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
