//! `--replay`: a dispatch that the HSA runtime has kept, run again.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use hsaco::emu::{Dispatch, Run};
use hsaco_describe::replay::{KeptDispatch, REPLAY_FILE};
use hsaco_describe::run::{Answered, stop_message};

use super::Args;
use crate::report::{self, Status};

/// Runs it; memory that then differs from what the kept run has left is a finding.
pub(super) fn run(args: &Args, folder: &Path) -> Result<Status> {
    let read = |file: &str| {
        let path = folder.join(file);
        std::fs::read(&path).with_context(|| path.display().to_string())
    };
    let kept = KeptDispatch::parse(&String::from_utf8_lossy(&read(REPLAY_FILE)?))?;
    let device = kept.device(read)?;
    let code = Arc::new(kept.code(&device)?);
    let segments = [kept.group_segment, kept.private_segment];
    let dispatch = Dispatch::of_packet(&device, code, kept.launch()?, kept.places(), segments)?;
    let dispatch = dispatch.with_limits(args.limits());
    let run = Run::new(&dispatch, args.threads.into());
    std::thread::scope(|scope| {
        (1..args.threads).for_each(|_| drop(scope.spawn(|| run.work())));
        run.work();
    });
    let outcome = match run.finish() {
        Ok(outcome) => outcome,
        Err(error) => {
            report::error(&stop_message(&error, &[], args.registers));
            return Ok(Status::Findings);
        }
    };
    let answered = Answered::new(&kept.kernel, &device, &outcome, &[]);
    super::answer(args, answered, &device, &Default::default(), &[])?;
    let differences = kept.differences(&device, read)?;
    for it in &differences {
        let text = format!("{} bytes from {:#x} on differ from the kept run", it.bytes, it.address);
        report::error(&text);
    }
    Ok(if differences.is_empty() { Status::Fine } else { Status::Findings })
}
