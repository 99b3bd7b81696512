//! `hsaco prove`: a rewritten object runs beside its original.

use std::ffi::OsString;
use std::io::Write as _;

use anyhow::{Context, Result, ensure};
use hsaco::emu::Revision;
use hsaco::kernarg::GivenArgument;
use hsaco::prove::Settings;
use hsaco_describe::prove::{GivenLaunch, ObjectPair, ProofRows, Proven, holds};

use super::kernarg::LaunchArgs;
use super::run::Silicon;
use crate::args::{Answer, Format, KernelFilter};
use crate::input::{self, Input};
use crate::json;
use crate::output::Output;
use crate::report::{self, Status};
use crate::select::KernelSelection;

/// Runs a rewritten object beside its original, and compares
///
/// Both run the same launches, each on its own silicon. Live registers are compared where replaced code begins and ends, memory
/// at the end, bit by bit; the result may meet no erratum of its silicon. Launches are generated from the arguments of each
/// kernel until they cover nothing new, or given (--arg, as for `hsaco run`). Exit code 1 where something differs, and where
/// nothing ran of what was rewritten.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The original
    original: OsString,
    /// What was made of it
    result: OsString,
    /// The manifest, which names rules and what they replaced; without it, sites are where the code differs
    #[arg(long, value_name = "FILE")]
    manifest: Option<OsString>,
    #[command(flatten)]
    kernels: KernelFilter,
    #[command(flatten)]
    launch: LaunchArgs,
    /// The value of the next argument, or of the one that is named, as for `hsaco run`; of one kernel
    #[arg(long = "arg", value_name = "[NAME=]SPEC", allow_hyphen_values = true)]
    values: Vec<GivenArgument>,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    answer: Answer,
}

/// How a proof is made.
#[derive(clap::Args)]
pub(crate) struct How {
    /// The silicon that the original runs on
    #[arg(long, value_enum, value_name = "STEPPING", default_value_t = Silicon::B0)]
    original_revision: Silicon,
    /// The silicon that the result runs on; other processors than gfx1250 have one
    #[arg(long, value_enum, value_name = "STEPPING", default_value_t = Silicon::A0)]
    result_revision: Silicon,
    /// Generated launches of a kernel at most
    #[arg(long, value_name = "N", default_value_t = 64)]
    seeds: u64,
}

impl How {
    pub(super) fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        settings.revisions = [self.original_revision, self.result_revision].map(Revision::from);
        settings.seeds = self.seeds;
        settings
    }
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    args.answer.color.apply();
    let [original, result] = [&args.original, &args.result].map(open);
    let (original, result) = (original?, result?);
    let manifest = args.manifest.as_ref().map(open).transpose()?;
    let pairs = ObjectPair::of_files(&original, &result, manifest.as_ref())?;
    let wanted = KernelSelection::new(&args.kernels);
    let given = GivenLaunch { arguments: &args.values, launch: args.launch.launch()? };
    let mut proven = Vec::new();
    for pair in &pairs {
        proven.extend(prove(pair, args.how.settings(), &wanted, &given)?);
    }
    ensure!(
        given.arguments.is_empty() || proven.len() == 1,
        "--arg is for one kernel, and there are {}: -k names it",
        proven.len()
    );
    let status = wanted.conclude(status(&proven));
    let mut out = Output::answer(&args.answer)?;
    match args.answer.format {
        Format::Json => json::document(&mut out, &ProofRows::new(&proven))?,
        Format::Text => proven.iter().try_for_each(|it| write!(out, "{it}"))?,
    }
    out.finish()?;
    Ok(status)
}

fn open(file: &OsString) -> Result<Input> {
    let opened = input::inputs(std::slice::from_ref(file)).next().context("no such file")?;
    Ok(opened?)
}

/// Whether all of it holds; a proof without kernels is none.
pub(super) fn status(proven: &[Proven]) -> Status {
    if proven.is_empty() {
        report::error("nothing ran: no kernel reaches anything that was rewritten");
        return Status::Findings;
    }
    if holds(proven) { Status::Fine } else { Status::Findings }
}

/// Proves the kernels of an object that are wanted.
pub(super) fn prove(
    pair: &ObjectPair<'_>,
    settings: Settings,
    wanted: &KernelSelection,
    given: &GivenLaunch<'_>,
) -> Result<Vec<Proven>> {
    let read = |file: &str| std::fs::read(file).with_context(|| file.to_owned());
    pair.prove(settings, wanted, given, read)
}
