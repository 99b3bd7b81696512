//! Arguments: what a layout costs, and packing with it.

use std::fs;
use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use hsaco::kernarg::{Declaration, Launch, NativeLayout, Value};
use hsaco::object::{CodeObject, Kernel};

use super::measure::repeat;
use super::{Bar, Bench};
use crate::args::Args;
use crate::{llvm, process};

/// The verb that no developer types: prints nanoseconds for a layout and for packing, of each kernel of an object.
pub(crate) const VERB: &str = "kernarg-cost";

/// Ten arguments, with and without what the runtime adds.
const SOURCE: &str = "\
typedef __attribute__((address_space(1))) float *P;
#define KERNEL __attribute__((amdgpu_kernel, visibility(\"protected\"))) void
KERNEL plain(P a, P b, P c, P d, int e, int f, float g, long h, short i, char j) { a[e] = g; }
KERNEL hidden(P a, P b, P c, P d, int e, int f, float g, long h, short i, char j) {
  a[e] = *(__attribute__((address_space(4))) int *)__builtin_amdgcn_implicitarg_ptr();
}
";
/// What packing may take: how many times as long stays within the bar.
const PACK_LIMIT: Duration = Duration::from_nanos(100);
const LAYOUT_LIMIT: Duration = Duration::from_micros(1);

pub(crate) fn run(mut args: Args) -> Result<()> {
    let file = fs::read(args.positional().context("which object?")?)?;
    args.finish()?;
    let object = CodeObject::parse(&file)?;
    for kernel in object.index().kernels() {
        let (layout, pack) = cost(kernel)?;
        println!("{} {} {}", kernel.name(), layout.as_nanos(), pack.as_nanos());
    }
    Ok(())
}

fn cost(kernel: &Kernel<'_>) -> Result<(Duration, Duration)> {
    let make = || Declaration::of(kernel).and_then(|it| NativeLayout::new(&it));
    let layout = make()?;
    let bytes: Vec<_> = layout.parameters().iter().map(|it| vec![7; it.size as usize]).collect();
    let values: Vec<_> = bytes.iter().map(|it| Value::Bytes(it)).collect();
    let launch = Launch::new(&[1000, 3], &[256, 1])?;
    let mut segment = vec![0; layout.size() as usize];
    let layout_time = best(|| drop(black_box(make())));
    let pack_time = best(|| {
        drop(black_box(layout.pack(black_box(&values), Some(&launch), black_box(&mut segment))));
    });
    Ok((layout_time, pack_time))
}

/// The time of one call, in the best of several rounds of many.
fn best(mut work: impl FnMut()) -> Duration {
    const CALLS: u32 = 20_000;
    let round = |_| {
        let start = Instant::now();
        (0..CALLS).for_each(|_| work());
        start.elapsed() / CALLS
    };
    (0..20).map(round).min().unwrap_or_default()
}

pub(super) fn kernarg(bench: &mut Bench) -> Result<()> {
    let rows = ["plain", "hidden"].map(|kernel| {
        [format!("layout of 10 arguments, {kernel}"), format!("packing 10 arguments, {kernel}")]
    });
    if !rows.iter().flatten().any(|row| bench.wants(row)) {
        return Ok(());
    }
    if !llvm::missing().is_empty() {
        println!("kernarg: skipped: no LLVM 22");
        return Ok(());
    }
    let dir = hsaco_tests::workspace_root().join("target/bench");
    fs::create_dir_all(&dir)?;
    let (source, object) = (dir.join("kernarg.c"), dir.join("kernarg.co"));
    fs::write(&source, SOURCE)?;
    let mut compiler = Command::new("clang-22");
    compiler.args(["--target=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-nogpulib", "-O2", "-o"]);
    process::output(compiler.arg(&object).arg(&source))?;
    let xtask = process::release_binary("xtask", "xtask")?;
    let text = process::output(Command::new(xtask).arg(VERB).arg(&object))?;
    let text = String::from_utf8(text)?;
    for (names, line) in rows.iter().zip(text.lines()) {
        let numbers: Vec<u64> =
            line.split(' ').skip(1).map(str::parse).collect::<Result<_, _>>()?;
        ensure!(numbers.len() == 2, "{line}");
        for ((row, limit), time) in names.iter().zip([LAYOUT_LIMIT, PACK_LIMIT]).zip(numbers) {
            let time = repeat(1, || Ok(Duration::from_nanos(time)))?;
            let limit = repeat(1, || Ok(limit))?;
            // The kernel with hidden arguments has three times as many, and no bar.
            let bar = if row.ends_with("plain") { Bar::Within(1.0) } else { Bar::Shown };
            bench.row(row, time, limit, bar);
        }
    }
    Ok(())
}
