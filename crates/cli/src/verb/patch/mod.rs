//! `hsaco patch`: rewrites code objects by rules, and checks what came out.

mod edit;
mod many;
mod outcome;
mod proof;
mod verify;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use hsaco::container::Container;
use hsaco::patch::{CodeEdit, KernelSetting, Options, PatchedFile, Patcher, RuleSet, Where, set};

use crate::args::{Color, Format};
use crate::input::{self, Input};
use crate::output::{self, Output};
use crate::report::Status;
use outcome::Outcome;

/// Rewrites code objects by rules, and checks the result
///
/// Nothing that is in the file moves. What grows goes to trampolines behind it; the manifest lists every change. The result
/// is checked before it is written. All that was asked for is done, or nothing is written: exit code 1 where the rules are for
/// another processor, where a rule has refused, or where an edit has found no place.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Anything that holds AMD GPU code, also several files, or directories; edits take one code object, and --verify three
    /// files: the original, the result and its manifest
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
    #[arg(long, value_name = "KERNEL.FIELD=VALUE", conflicts_with_all = ["rules", "from", "to", "options", "replace", "insert", "count", "call", "verify"])]
    set: Vec<KernelSetting>,
    /// Put instructions in place of the one at an address, or of the first of each stretch of code of a source line
    /// (0x1600=s_nop 0; s_nop 1)
    #[arg(long, value_name = "PLACE=ASM", value_parser = edit::parse_lines)]
    replace: Vec<edit::Lines>,
    /// Put instructions before the one at an address, or at a source line (scale.hip:12=s_nop 0)
    #[arg(long, value_name = "PLACE=ASM", value_parser = edit::parse_lines)]
    insert: Vec<edit::Lines>,
    /// Count the waves that come by: at `entries` of kernels, at `blocks`, at an address or a source line
    #[arg(long, value_name = "WHERE")]
    count: Vec<Where>,
    /// Call a function of the object there; what is needed and what it changes is saved around it. Arguments: kernarg,
    /// dispatch_ptr, workgroup_id_x, _y and _z, numbers of 32 bits, and of 64 bits with an l behind them
    /// (entries=probe(kernarg, workgroup_id_x, 42))
    #[arg(long, value_name = "WHERE=FUNCTION", value_parser = edit::parse_call)]
    call: Vec<(Where, hsaco::patch::InsertedCall)>,
    /// Change nothing, say what would be changed
    #[arg(long, conflicts_with = "output")]
    dry_run: bool,
    /// Check a result against its original and its manifest, which says by what rules and options it was made
    #[arg(long, conflicts_with_all = ["dry_run", "output", "manifest"])]
    verify: bool,
    /// Run the result beside its original, as `hsaco prove` does; what differs, or does not run at all, is not written
    #[arg(long, conflicts_with_all = ["verify", "set"])]
    prove: bool,
    #[command(flatten)]
    how: super::prove::How,
    /// Write the manifest to this file, as JSON
    #[arg(long, value_name = "FILE")]
    manifest: Option<OsString>,
    /// Where the result goes; of several files and of directories a directory, in which files have the names that they have
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
    check_paths(args)?;
    if args.verify {
        return verify::run(args);
    }
    ensure!(
        !args.prove || args.format == Format::Text,
        "--prove answers in text; hsaco prove has --format json"
    );
    if many::is_asked(args) {
        ensure!(!args.prove, "--prove takes one file at a time");
        ensure!(
            args.set.is_empty() && !has_edits(args),
            "edits are made in one code object at a time"
        );
        return many::patch(args, &patcher(args, Vec::new())?);
    }
    let [file] = args.files.as_slice() else { bail!("one file at a time") };
    let input = open(file)?;
    let outcome = outcome(args, &input)?;
    if !args.prove || outcome.file.is_refused() {
        return answer(args, &input, outcome);
    }
    let proven = proof::prove(&args.how, &input, &outcome)?;
    let status = proof::status(&outcome, &proven);
    if status == Status::Fine {
        answer(args, &input, outcome)?;
    }
    let mut out = Output::open(None)?.for_people(true);
    proven.iter().try_for_each(|it| write!(out, "{it}"))?;
    out.finish()?;
    Ok(status)
}

/// That what is written goes to files, and not to standard output, where the answer goes.
fn check_paths(args: &Args) -> Result<()> {
    let is_stdout = |path: &Option<OsString>| path.as_deref() == Some(OsStr::new("-"));
    ensure!(
        !is_stdout(&args.manifest),
        "--manifest - is taken by the answer; --format json makes it the manifest"
    );
    ensure!(!is_stdout(&args.output), "-o - is taken by the answer; name a file");
    let Some(manifest) = args.manifest.as_deref().map(Path::new) else { return Ok(()) };
    ensure!(!manifest.is_dir(), "{}: a directory, not a manifest", manifest.display());
    Ok(())
}

/// The rules that are asked for.
fn rule_set(args: &Args) -> Result<&'static RuleSet> {
    match named_rule_set(args)? {
        Some(set) => Ok(set),
        None if has_edits(args) => rule_set_named("none"),
        None => rule_set_named("gfx1250-b0-to-a0"),
    }
}

/// The rules that the command line names, if it names any.
fn named_rule_set(args: &Args) -> Result<Option<&'static RuleSet>> {
    match (&args.rules, &args.from, &args.to) {
        (Some(name), ..) => rule_set_named(name).map(Some),
        (None, Some(from), Some(to)) => rules_between(from, to).map(Some),
        _ => Ok(None),
    }
}

fn rule_set_named(name: &str) -> Result<&'static RuleSet> {
    RuleSet::by_name(name).with_context(|| {
        let names: Vec<&str> = RuleSet::all().iter().map(RuleSet::name).collect();
        format!("no rules `{name}`; there are {}", names.join(", "))
    })
}

/// The rules that turn code for a stepping into code for another one.
fn rules_between(from: &str, to: &str) -> Result<&'static RuleSet> {
    let ways = RuleSet::all().iter().filter_map(|set| {
        let stepping = set.stepping().filter(|it| it.takes != it.gives)?;
        let place = |name: &str| format!("{}:{}", set.processor(), name.to_ascii_lowercase());
        Some((set, place(stepping.takes), place(stepping.gives)))
    });
    let ways: Vec<_> = ways.collect();
    let is_it = |(_, takes, gives): &&(_, String, String)| {
        takes.eq_ignore_ascii_case(from) && gives.eq_ignore_ascii_case(to)
    };
    ways.iter().find(is_it).map(|(set, ..)| *set).with_context(|| {
        let ways: Vec<_> = ways.iter().map(|(_, from, to)| format!("{from} to {to}")).collect();
        format!("no rules make code for {from} run on {to}; there are: {}", ways.join(", "))
    })
}

fn patcher(args: &Args, edits: Vec<CodeEdit>) -> Result<Patcher> {
    let set = rule_set(args)?;
    let mut options = Options::default();
    for name in &args.options {
        options.set(name).map_err(anyhow::Error::msg)?;
        let is_used = Options::rule_of(name).is_some_and(|rule| set.rule(rule).is_some());
        ensure!(is_used, "no rule of {} has an option `{name}`", set.name());
    }
    Ok(Patcher::new(set, options)?.with_edits(edits))
}

fn has_edits(args: &Args) -> bool {
    let places = args.replace.len() + args.insert.len() + args.count.len() + args.call.len();
    places != 0
}

fn open(file: &OsString) -> Result<Input> {
    let opened = input::inputs(std::slice::from_ref(file)).next().context("no such file")?;
    Ok(opened?)
}

/// What becomes of one file.
fn outcome(args: &Args, input: &Input) -> Result<Outcome> {
    let edits_code = has_edits(args);
    let is_container = Container::detect(input).is_some_and(|it| it != Container::CodeObject);
    if is_container && (edits_code || !args.set.is_empty()) {
        bail!("{}: edits are made in one code object: extract it, then edit it", input.name);
    }
    if !args.set.is_empty() {
        check_settings(&args.set)?;
        let patched = set(input, &args.set).with_context(|| input.name.clone())?;
        return Ok(Outcome::of_object(input, patched));
    }
    let edits = match edits_code {
        true => edit::all(args, input).with_context(|| input.name.clone())?,
        false => Vec::new(),
    };
    let outcome = Outcome::of(&patcher(args, edits)?, input)?;
    let mut outcome = outcome.with_context(|| format!("{}: it holds no code", input.name))?;
    PatchedFile::settle([&mut outcome.file]);
    Ok(outcome)
}

/// That no number is set twice.
fn check_settings(settings: &[KernelSetting]) -> Result<()> {
    let mut known = BTreeSet::new();
    let twice = settings.iter().find(|it| !known.insert((&it.kernel, &it.field)));
    ensure!(twice.is_none(), "{} is set twice", twice.map_or("", |it| &it.field));
    Ok(())
}

/// Writes the result and its manifest, and says what became of it.
fn answer(args: &Args, input: &Input, mut outcome: Outcome) -> Result<Status> {
    let is_refused = outcome.file.is_refused();
    let path = args.output.as_deref().filter(|_| !is_refused);
    let result = (!is_refused).then(|| outcome.take_bytes(input)).transpose()?;
    let write_manifest = |out: &mut Output| outcome.write_manifest(out, input, result.as_deref());
    // The manifest takes its place once the result is there.
    let manifest = args.manifest.as_deref().map(|path| {
        let mut out = Output::open(Some(path))?;
        write_manifest(&mut out)?;
        anyhow::Ok(out)
    });
    let manifest = manifest.transpose()?;
    if let Some((path, bytes)) = path.zip(result.as_deref()) {
        output::write_file(Path::new(path), bytes)?;
    }
    manifest.map(Output::finish).transpose()?;
    let mut out = Output::open(None)?.for_people(args.format == Format::Text);
    match args.format {
        Format::Json => {
            write_manifest(&mut out)?;
            writeln!(out)?;
        }
        Format::Text => outcome.write_text(&mut out)?,
    }
    out.finish()?;
    outcome.report();
    Ok(if is_refused { Status::Findings } else { Status::Fine })
}
