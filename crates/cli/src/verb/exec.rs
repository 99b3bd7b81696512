//! `hsaco exec`: a program of ROCm on emulated devices.

use std::env;
use std::ffi::OsString;

use anyhow::{Context as _, Result};
use hsaco_exec::{ExecSettings, Installation};

use crate::report::Status;

/// Runs a program of ROCm with no GPU, on emulated devices
///
/// The program is not changed: it finds hsaco's libhsa-runtime64.so.1 before the machine's own, and with it the devices.
/// hsaco becomes the program, so the exit code is the program's. What is not said here is as the environment has it
/// (HSACO_DEVICES and so on).
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The devices, in order; gfx90a if nothing says otherwise
    #[arg(long, value_name = "T,…")]
    device: Option<OsString>,
    /// A TOML file that describes devices
    #[arg(long, value_name = "FILE", conflicts_with = "device")]
    config: Option<OsString>,
    /// Print what `check` finds in objects when they are loaded
    #[arg(long)]
    check: bool,
    /// Rewrite objects by this rule set when they are loaded
    #[arg(long, value_name = "SET")]
    patch: Option<OsString>,
    /// Watch kernels for what they must not do, as `run --sanitize` does
    #[arg(long, value_name = "KINDS", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    sanitize: Option<OsString>,
    /// Write every instruction that runs to this file, as lines of JSON
    #[arg(long, value_name = "FILE", conflicts_with = "sanitize")]
    trace: Option<OsString>,
    /// Write objects and dispatches into this folder, for `run --replay`
    #[arg(long, value_name = "DIR")]
    dump: Option<OsString>,
    /// Sum up what was run when the program ends, on standard error or in a file
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    summary: Option<OsString>,
    /// The program and its arguments
    #[arg(required = true, last = true, value_names = ["PROGRAM", "ARGS"])]
    program: Vec<OsString>,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let (program, arguments) = args.program.split_first().context("no program")?;
    let command = env::current_exe().context("where this command is")?;
    let named = env::var_os("HSACO_RUNTIME").filter(|it| !it.is_empty());
    let installation = Installation::find(&command, named.as_deref())?;
    match args.settings().exec(&installation, program, arguments)? {}
}

impl Args {
    fn settings(&self) -> ExecSettings {
        ExecSettings {
            devices: self.device.clone(),
            config: self.config.clone(),
            check: self.check,
            patch: self.patch.clone(),
            sanitize: self.sanitize.clone(),
            trace: self.trace.clone(),
            dump: self.dump.clone(),
            summary: self.summary.clone(),
        }
    }
}
