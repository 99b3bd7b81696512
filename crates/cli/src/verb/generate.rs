//! `hsaco generate`: manual pages and completions, made from the command line's own description.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::{Command, ValueEnum};
use clap_complete::Shell;
use clap_mangen::Man;

use super::bundle::write_bytes;
use crate::output;
use crate::report::Status;

/// Writes manual pages or shell completions
///
/// Manual pages go to a directory: hsaco.1, and hsaco-ls.1 and so on for each verb. Completions are
/// one file: `hsaco generate bash -o ~/.local/share/bash-completion/completions/hsaco`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What to write
    #[arg(value_enum)]
    what: What,
    /// For man the directory to write to, which must be named; for completions the file [default:
    /// standard output]
    #[arg(short, long, value_name = "PATH")]
    output: Option<OsString>,
}

/// Something that can be generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    Man,
    Bash,
    Zsh,
    Fish,
    Powershell,
    Elvish,
}

impl What {
    fn shell(self) -> Option<Shell> {
        match self {
            Self::Man => None,
            Self::Bash => Some(Shell::Bash),
            Self::Zsh => Some(Shell::Zsh),
            Self::Fish => Some(Shell::Fish),
            Self::Powershell => Some(Shell::PowerShell),
            Self::Elvish => Some(Shell::Elvish),
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let output = args.output.as_deref();
    match args.what.shell() {
        Some(shell) => completions(shell, output.unwrap_or(OsStr::new("-")))?,
        None => manual(output.unwrap_or(OsStr::new("-")))?,
    }
    Ok(Status::Fine)
}

fn completions(shell: Shell, output: &OsStr) -> Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut crate::command(), "hsaco", &mut text);
    write_bytes(output, &text)
}

fn manual(output: &OsStr) -> Result<()> {
    if output == "-" {
        bail!("manual pages are several files: give a directory with -o");
    }
    let directory = Path::new(output);
    std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    let mut command = crate::command().disable_help_subcommand(true);
    command.build();
    page(directory, "hsaco", command.clone())?;
    for verb in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        let name = format!("hsaco-{}", verb.get_name());
        page(directory, &name, verb.clone())?;
    }
    Ok(())
}

fn page(directory: &Path, name: &str, command: Command) -> Result<()> {
    let mut text = Vec::new();
    Man::new(command).title(name.to_uppercase()).render(&mut text)?;
    output::write_file(&directory.join(format!("{name}.1")), &text)
}
