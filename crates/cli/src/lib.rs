//! The `hsaco` command: one file for each verb, and the manners they share. The binary and the Python package run it.

mod alloc;
mod args;
mod executable;
mod frame;
mod index_file;
mod json;
mod named_files;
mod output;
mod report;
mod scan;
mod schema;
mod select;
mod skeleton;
mod tabular;
mod verb;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;

use clap::error::ErrorKind;
use clap::{Command, CommandFactory as _, Parser};
use hsaco_files::{input, parallel, progress, source_files, stream};
use hsaco_table::text as table;

pub use crate::alloc::{Alloc, prepare_heap};
use crate::report::Status;
use crate::verb::{Task, VERBS, Verb};

/// Opens, lists, inspects, extracts and bundles AMD GPU code objects, with no GPU and no ROCm.
///
/// FILE is anything that holds AMD GPU code: a code object (.co, .hsaco), an offload bundle, plain
/// or compressed, a host executable, library, object or archive, a wheel or other package, a file in
/// one (x.whl/lib/x.so), a directory of them, a code object URI, or - for standard input. It is
/// judged by its content, never by its name.
///
/// `hsaco FILE` is `hsaco ls FILE`.
#[derive(Parser)]
#[command(name = "hsaco", version, max_term_width = 100)]
#[command(subcommand_required = true, arg_required_else_help = true)]
#[command(after_help = "Exit codes: 0 fine; 1 findings or differences; 2 usage or unreadable \
input; 3 partly unsupported, so not to be trusted. A closed pipe is 0.")]
struct Cli {}

/// The command with all its verbs.
pub(crate) fn command() -> Command {
    Cli::command().subcommands(VERBS.iter().map(Verb::command))
}

/// What a command line asks for; its first word is the command's name.
pub(crate) fn task(words: Vec<OsString>) -> clap::error::Result<Task> {
    let verb = words.get(1).and_then(|word| Verb::named(word.to_str()?));
    // To describe all verbs takes longer than most of them take for their work.
    let mut command = match verb {
        Some(verb) => Cli::command().subcommand(verb.command()),
        None if is_version(&words) => Cli::command(),
        None => command(),
    };
    let matches = command.try_get_matches_from_mut(words)?;
    if let Some(conflict) = named_files::conflict(&matches) {
        return Err(command.error(ErrorKind::ArgumentConflict, conflict));
    }
    let asked = matches.subcommand().and_then(|(name, its)| Some((Verb::named(name)?, its)));
    match asked {
        Some((verb, arguments)) => verb.task(arguments).map_err(|error| error.format(&mut command)),
        None => Err(command.error(ErrorKind::MissingSubcommand, "no verb")),
    }
}

/// Runs the command; the first argument is its name. Gives its exit code.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    let task = match misspelt_verb(&args) {
        Some(message) => Err(command().error(ErrorKind::InvalidSubcommand, message)),
        None => task(with_default_verb(args)),
    };
    let code = match task {
        Ok(task) => answer(task),
        Err(error) => match error.print().and_then(|()| std::io::stdout().flush()) {
            Ok(()) => u8::try_from(error.exit_code()).unwrap_or(u8::MAX),
            Err(unprinted) => failed(&unprinted.into()).exit_code(),
        },
    };
    // In a process that is not ours nothing else does it.
    drop(std::io::stdout().flush());
    code
}

fn answer(task: Task) -> u8 {
    progress::begin();
    let ended = task();
    progress::end();
    ended.unwrap_or_else(|error| failed(&error)).exit_code()
}

/// Says why the command could not go on. A reader that has closed the pipe wants no more of it.
fn failed(error: &anyhow::Error) -> Status {
    if is_broken_pipe(error) {
        return Status::Fine;
    }
    report::error(&format!("{error:#}"));
    Status::Unreadable
}

/// Whether the version is all that is asked for.
fn is_version(words: &[OsString]) -> bool {
    words.get(1).is_some_and(|word| word == "-V" || word == "--version")
}

/// Puts `ls` before the first argument unless that is a verb or a flag of `hsaco` itself.
fn with_default_verb(mut args: Vec<OsString>) -> Vec<OsString> {
    let is_own = |first: &str| {
        let flag = matches!(first, "-h" | "--help" | "-V" | "--version" | "help");
        flag || Verb::named(first).is_some()
    };
    match args.get(1) {
        Some(first) if !first.to_str().is_some_and(is_own) => args.insert(1, "ls".into()),
        _ => {}
    }
    args
}

/// What to say of a first argument that is no verb and no file, and was most likely meant to be a verb.
fn misspelt_verb(args: &[OsString]) -> Option<String> {
    let word = args.get(1)?.to_str()?;
    let is_word = word.chars().all(|letter| letter.is_ascii_alphanumeric());
    if !is_word || Verb::named(word).is_some() || word == "help" || Path::new(word).exists() {
        return None;
    }
    let nearest =
        VERBS.iter().map(|verb| (strsim::damerau_levenshtein(word, verb.name), verb.name));
    let (distance, verb) = nearest.min()?;
    let is_near = distance <= 2 && distance < verb.len();
    is_near.then(|| format!("'{word}' is neither a verb nor a file; did you mean '{verb}'?"))
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let is = |kind: Option<std::io::ErrorKind>| kind == Some(std::io::ErrorKind::BrokenPipe);
    error.chain().any(|cause| {
        is(cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind))
            || is(cause
                .downcast_ref::<serde_json::Error>()
                .and_then(serde_json::Error::io_error_kind))
    })
}
