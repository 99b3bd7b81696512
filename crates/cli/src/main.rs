//! The binary `hsaco`.

use std::process::ExitCode;

#[global_allocator]
static ALLOC: hsaco_cli::Alloc = hsaco_cli::Alloc;

fn main() -> ExitCode {
    hsaco_cli::prepare_heap();
    hsaco_cli::run(std::env::args_os()).into()
}
