//! `cargo xtask bench`: hsaco against the incumbents.
use crate::args::Args;
use anyhow::Result;
pub(crate) fn run(args: Args) -> Result<()> {
    args.finish()
}
