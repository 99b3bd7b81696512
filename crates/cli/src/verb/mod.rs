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
mod query;
mod resources;
mod rules;
mod size;
mod source;
mod symbols;

use anyhow::Result;
pub use args::arguments_json;
pub use asm::without_comment;
use clap::Subcommand;

use crate::report::Status;

/// What to do.
#[derive(Subcommand)]
pub(crate) enum Verb {
    Ls(ls::Args),
    Info(info::Args),
    Notes(notes::Args),
    Args(args::Args),
    Kernarg(kernarg::Args),
    Packet(packet::Args),
    Disasm(disasm::Args),
    Lines(lines::Args),
    Source(source::Args),
    Query(query::Args),
    Asm(asm::Args),
    Calls(calls::Args),
    Resources(resources::Args),
    Check(Box<check::Args>),
    Explain(explain::Args),
    Cfg(cfg::Args),
    Symbols(symbols::Args),
    Load(load::Args),
    Link(link::Args),
    Diff(diff::Args),
    Extract(extract::Args),
    Patch(patch::Args),
    Rules(rules::Args),
    Bundle(bundle::Args),
    Generate(generate::Args),
    Demo(demo::Args),
    Size(size::Args),
}

impl Verb {
    /// Does it.
    pub(crate) fn run(self) -> Result<Status> {
        match self {
            Self::Ls(args) => ls::run(&args),
            Self::Info(args) => info::run(&args),
            Self::Notes(args) => notes::run(&args),
            Self::Args(args) => args::run(&args),
            Self::Kernarg(args) => kernarg::run(&args),
            Self::Packet(args) => packet::run(&args),
            Self::Disasm(args) => disasm::run(&args),
            Self::Lines(args) => lines::run(&args),
            Self::Source(args) => source::run(&args),
            Self::Query(args) => query::run(&args),
            Self::Asm(args) => asm::run(&args),
            Self::Calls(args) => calls::run(&args),
            Self::Resources(args) => resources::run(&args),
            Self::Check(args) => check::run(&args),
            Self::Explain(args) => explain::run(&args),
            Self::Cfg(args) => cfg::run(&args),
            Self::Symbols(args) => symbols::run(&args),
            Self::Load(args) => load::run(&args),
            Self::Link(args) => link::run(&args),
            Self::Diff(args) => diff::run(&args),
            Self::Extract(args) => extract::run(&args),
            Self::Patch(args) => patch::run(&args),
            Self::Rules(args) => rules::run(&args),
            Self::Bundle(args) => bundle::run(&args),
            Self::Generate(args) => generate::run(&args),
            Self::Demo(args) => demo::run(&args),
            Self::Size(args) => size::run(&args),
        }
    }
}
