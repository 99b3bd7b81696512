//! The verbs, one file each.

mod args;
mod asm;
mod bundle;
mod calls;
mod cfg;
mod check;
mod demo;
mod diff;
mod disasm;
mod exec;
mod explain;
mod extract;
mod generate;
mod info;
mod kernarg;
mod lines;
mod link;
mod load;
mod ls;
mod notes;
mod packet;
mod patch;
mod prove;
mod query;
mod report;
mod resources;
mod rules;
mod run;
mod size;
mod source;
mod symbols;
mod table;

use anyhow::Result;
use clap::{ArgMatches, Command, FromArgMatches as _};
use hsaco_describe::examples;

use crate::report::Status;

/// Something that `hsaco` does.
pub(crate) struct Verb {
    pub(crate) name: &'static str,
    describe: fn(Command) -> Command,
    task: fn(&ArgMatches) -> clap::error::Result<Task>,
}

/// What a command line asks for.
pub(crate) type Task = Box<dyn FnOnce() -> Result<Status>>;

/// A verb for each module, in the order in which help lists them.
macro_rules! verbs {
    ($($verb:ident)*) => {
        &[$(Verb {
            name: stringify!($verb),
            describe: <$verb::Args as clap::Args>::augment_args,
            task: |matches| {
                let args = $verb::Args::from_arg_matches(matches)?;
                Ok(Box::new(move || $verb::run(&args)))
            },
        }),*]
    };
}

pub(crate) static VERBS: &[Verb] = verbs! {
    ls info notes args kernarg packet disasm lines source query asm calls resources check explain cfg report
    symbols load link diff extract patch rules bundle generate demo size table run exec prove
};

impl Verb {
    pub(crate) fn named(name: &str) -> Option<&'static Verb> {
        VERBS.iter().find(|verb| verb.name == name)
    }

    /// Its name, its arguments and what they mean.
    pub(crate) fn command(&self) -> Command {
        (self.describe)(Command::new(self.name)).after_help(examples::of(self.name))
    }

    /// What these arguments ask for.
    pub(crate) fn task(&self, arguments: &ArgMatches) -> clap::error::Result<Task> {
        (self.task)(arguments)
    }
}
