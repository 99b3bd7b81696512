//! Rewriting a large object, on one core.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use hsaco_tests::{gfx1250, workspace_root};

use super::Bench;
use super::measure::{repeat, wall_time};

/// What runtimes load: libraries of this size took comgr's rewriter 40 to 100 seconds.
const SIZE: usize = 200 << 20;
const KERNELS: usize = 2000;
/// A run takes seconds: a few are enough.
const RUNS: usize = 5;

/// What kernels are full of.
const USUAL: &str = "v_add_f32_e32 v1, v2, v3
v_fma_f32 v4, v5, v6, v7
s_add_co_u32 s4, s5, 0x12345
global_load_b128 v[8:11], v[12:13], off offset:64
v_dual_mul_f32 v0, v1, v2 :: v_dual_mov_b32 v3, v4
ds_load_b128 v[16:19], v20 offset:1024
s_wait_loadcnt 0x1
v_wmma_f32_16x16x32_f16 v[24:31], v[32:39], v[40:47], v[24:31]
s_load_b64 s[8:9], s[2:3], 0x40
v_cndmask_b32_e64 v21, v22, v23, s6
";

/// Instructions that have to be rewritten, each of another rule.
const SITES: [&str; 3] = [
    "ds_load_2addr_b32 v[48:49], v50 offset0:1 offset1:3",
    "v_wmma_f32_16x16x128_f8f6f4 v[24:31], v[32:47], v[0:15], v[24:31]",
    "cluster_load_b32 v51, v52, s[2:3]",
];

pub(super) fn patch(bench: &mut Bench) -> Result<()> {
    for (name, percent, seconds, wanted) in [
        ("patch 200 MB, no site", 0, 2, "unchanged: no rule has anything to rewrite"),
        ("patch 200 MB, 1 % sites", 1, 6, "changed: "),
    ] {
        if !bench.wants(name) {
            continue;
        }
        let file = synthetic(percent)?;
        let result = file.with_file_name("patched.co");
        let to = result.to_string_lossy();
        let arguments = ["patch", "--output", &to];
        bench.check_answer(&arguments, &file, wanted)?;
        // From start to end, the result written: one object keeps one core busy.
        let runs = bench.runs.min(RUNS);
        let time = repeat(runs, || wall_time(&mut bench.hsaco(&arguments, &file)))?;
        bench.time_row(name, time.min, Duration::from_secs(seconds));
        bench.memory_row(&format!("{name}, memory"), &arguments, &file, 3 * SIZE as u64)?;
        fs::remove_file(file)?;
        fs::remove_file(result)?;
    }
    Ok(())
}

/// An object in which so many of a hundred instructions have to be rewritten.
fn synthetic(percent: usize) -> Result<PathBuf> {
    let assembler = gfx1250::assembler()?;
    let usual = gfx1250::assemble(assembler, USUAL)?;
    let lines = USUAL.lines().count();
    let mut kernels = Vec::with_capacity(KERNELS);
    for number in 0..KERNELS {
        let mut kernel = gfx1250::kernel(&format!("kernel_{number}"), "")?;
        let end = std::mem::take(&mut kernel.code);
        let mut instructions = 0;
        while kernel.code.len() < SIZE / KERNELS {
            kernel.code.extend_from_slice(&usual);
            instructions += lines;
            if percent != 0 && instructions % (100 / percent) < lines {
                let site = SITES.get(number % SITES.len()).copied().unwrap_or_default();
                kernel.code.extend(gfx1250::assemble(assembler, site)?);
            }
        }
        kernel.code.extend(end);
        kernels.push(kernel);
    }
    let path = workspace_root().join("target/bench/patch.co");
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    fs::write(&path, gfx1250::object(&kernels)?)?;
    Ok(path)
}
