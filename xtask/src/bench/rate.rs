//! How many instructions are read, printed, written and analysed in a second.

use std::fs;
use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use hsaco::analysis::{CallGraph, Cfg, Code, Function, Functions, Liveness, instructions};
use hsaco::isa::decoder::DecodeOptions;
use hsaco::isa::effects::Lanes;
use hsaco::isa::model::VgprMsb;
use hsaco::isa::print::Page;
use hsaco::isa::{Decoder, Inst};
use hsaco::object::CodeObject;

use crate::args::Args;

/// The verb that no developer types: the benchmark runs it in an optimised build of this program.
pub(crate) const VERB: &str = "decode-rate";

const TIME: Duration = Duration::from_secs(1);

/// Prints five rates for the code of an object, in millions a second.
pub(crate) fn run(mut args: Args) -> Result<()> {
    let file = fs::read(args.positional().context("which object?")?)?;
    args.finish()?;
    let object = CodeObject::parse(&file)?;
    let target = object.target().id().context("its target is not known")?;
    let decoder = Decoder::new(target.processor)?;
    let section = object.elf().section_named(".text").context("it has no .text")?;
    let code = object.elf().section_data(section)?;
    let decode = best_rate(|| {
        walk(&decoder, code, |inst| {
            black_box(inst);
        })
    });
    let print = best_rate(|| {
        let mut text = Vec::new();
        let mut page = Page::new(&mut text);
        walk(&decoder, code, |inst| {
            page.clear();
            decoder.print_on(&inst, VgprMsb::default(), &mut page);
            black_box(&page);
        })
    });
    // Code for gfx12 names halves of registers, which LLVM has off there.
    let options = DecodeOptions { real_true16: Some(true), ..DecodeOptions::default() };
    let decoder = Decoder::with_options(target.processor, options)?;
    let whole = Code::of(&object)?;
    let functions = Functions::new(whole.map(), &decoder);
    let analyse = best_rate(|| functions.as_slice().iter().map(|it| analysed(&decoder, it)).sum());
    let with_calls = best_rate(|| analysed_with_calls(&whole));
    let encode = encode_rate(&decoder, code);
    println!("{decode} {print} {encode} {analyse} {with_calls}");
    Ok(())
}

/// Finds the blocks of a function and the registers live in them; how many instructions it has.
fn analysed(decoder: &Decoder, function: &Function<'_>) -> u32 {
    let stream = function.decode(decoder);
    let cfg = Cfg::new(decoder, &stream);
    black_box(Liveness::new(decoder, &stream, &cfg, Lanes::All));
    u32::try_from(stream.len()).unwrap_or(u32::MAX)
}

/// Writes all instructions out again.
fn encode_rate(decoder: &Decoder, code: &[u8]) -> f64 {
    let mut insts = Vec::new();
    let count = walk(decoder, code, |inst| insts.push(inst));
    let mut bytes = Vec::with_capacity(code.len() + 32);
    best_rate(|| {
        bytes.clear();
        insts.iter().for_each(|inst| inst.encode(&mut bytes));
        black_box(&bytes);
        count
    })
}

/// Finds blocks, live registers, what each function uses and who calls whom, in a whole object.
fn analysed_with_calls(code: &Code<'_>) -> u32 {
    let mut count = 0;
    let graph = CallGraph::with_visitor(code, |_, effects| {
        count += effects.usage().instructions;
        black_box(Liveness::of(effects));
    });
    black_box(graph);
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Visits each instruction, and counts them; words that are none do not count.
fn walk(decoder: &Decoder, code: &[u8], mut visit: impl FnMut(Inst)) -> u32 {
    let mut count = 0;
    for inst in instructions(decoder, code).filter_map(|(_, inst)| inst) {
        count += 1;
        visit(inst);
    }
    count
}

/// The rate in millions a second: of the fastest pass, or of all of them by the time that they were on a core,
/// as what else the machine does only slows it.
fn best_rate(mut pass: impl FnMut() -> u32) -> f64 {
    let start = Instant::now();
    let on_core = time_on_core();
    let (mut best, mut all): (f64, f64) = (0.0, 0.0);
    while start.elapsed() < TIME {
        let start = Instant::now();
        let count = f64::from(pass());
        all += count;
        best = best.max(count / start.elapsed().as_secs_f64() / 1e6);
    }
    match (on_core, time_on_core()) {
        (Some(before), Some(after)) if after > before => {
            best.max(all / (after - before).as_secs_f64() / 1e6)
        }
        _ => best,
    }
}

/// How long this thread has been on a core, where Linux says so.
fn time_on_core() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}
