//! The mix of instructions in real kernels, as a table to draw from.

use std::collections::HashMap;
use std::fs;

use anyhow::{Context as _, Result, ensure};
use hsaco::analysis::instructions;
use hsaco::isa::{Decoder, Inst, Processor};
use hsaco::object::CodeObject;

use super::{Bytes, Kind, decode};
use crate::args::Args;

/// The verb that prints a table: `cargo xtask bench-mix --target T FILE…`.
pub(crate) const VERB: &str = "bench-mix";

/// Kinds that are rarer than this many of all instructions are left out.
const RARE: usize = 10_000;

/// What was seen of a kind.
struct Seen {
    count: usize,
    runs: usize,
    example: Bytes,
    free: Bytes,
}

/// Prints the table of the code of objects for a target.
pub(crate) fn run(mut args: Args) -> Result<()> {
    let target = args.option::<String>("--target")?.context("which --target?")?;
    let decoder = Decoder::new(Processor::from_name(&target).context("no such processor")?)?;
    let mut kinds = HashMap::new();
    while let Some(path) = args.positional() {
        let file = fs::read(&path)?;
        let object = CodeObject::parse(&file)?;
        let Some(section) = object.elf().section_named(".text") else { continue };
        count(&decoder, object.elf().section_data(section)?, &mut kinds);
    }
    args.finish()?;
    let all: usize = kinds.values().map(|it| it.count).sum();
    ensure!(all > 0, "no instructions");
    let mut rows: Vec<_> = kinds.into_values().filter(|it| it.count * RARE >= all).collect();
    rows.sort_by_key(|it| (std::cmp::Reverse(it.count), it.example));
    let shown: usize = rows.iter().map(|it| it.count).sum();
    println!("# {shown} of {all} instructions: count, runs, example, free bits, text");
    for Seen { count, runs, example, free } in rows {
        let example = without(example, free);
        let Some(inst) = decode(&decoder, &example) else { continue };
        let hex = |bytes: Bytes| hsaco::bytes::hex::encode(&bytes[..inst.len()]);
        println!("{count}\t{runs}\t{}\t{}\t{}", hex(example), hex(free), decoder.text(&inst));
    }
    Ok(())
}

/// An encoding whose free bits are zero: a table holds no instruction of the kernels that it was counted in.
fn without(mut example: Bytes, free: Bytes) -> Bytes {
    example.iter_mut().zip(free).for_each(|(byte, free)| *byte &= !free);
    example
}

fn count(decoder: &Decoder, code: &[u8], kinds: &mut HashMap<Kind, Seen>) {
    let mut last = None;
    for (_, inst) in instructions(decoder, code) {
        let Some(inst) = inst.and_then(|it| decode(decoder, &it.bytes())) else { continue };
        let kind = Kind::of(decoder, &inst);
        let is_run = last.as_ref() == Some(&kind);
        let seen = kinds.entry(kind.clone()).or_insert_with(|| Seen {
            count: 0,
            runs: 0,
            example: inst.bytes(),
            free: Bytes::default(),
        });
        seen.count += 1;
        seen.runs += usize::from(!is_run);
        // What one instruction does not show, such as bits that only some registers leave free, another does.
        if seen.count <= 16 {
            let free = free_bits(decoder, &inst, &kind);
            seen.free.iter_mut().zip(free).for_each(|(all, more)| *all |= more);
        }
        last = Some(kind);
    }
}

/// The bits that can be changed one at a time.
fn free_bits(decoder: &Decoder, inst: &Inst, kind: &Kind) -> Bytes {
    let mut free = Bytes::default();
    for bit in 0..8 * inst.len() {
        let mut bytes = inst.bytes();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let changed = decode(decoder, &bytes[..inst.len()]);
        if changed.is_some_and(|it| Kind::of(decoder, &it) == *kind && it != *inst) {
            free[bit / 8] |= 1 << (bit % 8);
        }
    }
    free
}
