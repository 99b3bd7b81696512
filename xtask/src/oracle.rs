//! `cargo xtask oracle`: the decoder, the assembler and `hsaco disasm` against LLVM 22.

mod asm;
mod database;
mod decode;
mod disasm;
mod exact;
mod generate;
mod golden;
mod llvm;
mod reassemble;

use anyhow::{Result, bail};

use crate::args::Args;

pub(crate) fn run(mut args: Args) -> Result<()> {
    match args.positional().as_deref() {
        Some("golden") => golden::run(args),
        Some("asm") => asm::run(args),
        Some("database") => database::run(args),
        Some("decode") => decode::run(args),
        Some("disasm") => disasm::run(args),
        Some("exact") => exact::run(args),
        Some("reassemble") => reassemble::run(args),
        Some(other) => {
            bail!(
                "no oracle `{other}`: there are golden, asm, database, decode, disasm, exact and reassemble"
            )
        }
        None => bail!("which oracle: golden, asm, database, decode, disasm, exact or reassemble?"),
    }
}
