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

/// Instructions of eight rules.
const EIGHT: [&str; 8] = [
    "ds_load_2addr_b32 v[48:49], v50 offset0:1 offset1:3",
    "v_wmma_f32_16x16x128_f8f6f4 v[24:31], v[32:47], v[0:15], v[24:31]",
    "cluster_load_b32 v51, v52, s[2:3]",
    "s_sethalt 1",
    "ds_load_addtid_b32 v5 offset:128",
    "v_cvt_pk_fp8_f32 v0, v1, v2 clamp",
    "v_wmma_scale16_f32_16x16x128_f8f6f4 v[0:7], v[16:31], v[32:47], v[0:7], v[48:49], v[50:51]",
    "v_wmma_i32_16x16x64_iu8 v[16:23], v[0:7], v[8:15], v[16:23]\nv_add_f32_e32 v16, v0, v1",
];

/// Eight instructions that a branch may pass over. Blocks of two or three leave no room for a far jump: sites among them
/// are refused.
const BRANCH: &str = "s_cmp_eq_u32 s4, 1
s_cbranch_scc1 8
v_add_f32_e32 v1, v2, v3
v_add_f32_e32 v4, v5, v6
v_add_f32_e32 v7, v8, v9
v_add_f32_e32 v10, v11, v12
v_add_f32_e32 v1, v2, v3
v_add_f32_e32 v4, v5, v6
v_add_f32_e32 v7, v8, v9
v_add_f32_e32 v10, v11, v12
";

/// What an object of a size is made of.
struct Shape {
    name: &'static str,
    kernels: usize,
    /// What most of the code is, and how much of it stands before a site.
    usual: &'static str,
    repeated: usize,
    /// What has to be rewritten, in turns.
    sites: &'static [&'static str],
    wanted: &'static str,
    seconds: u64,
    /// Whether the bars only are told.
    is_aim: bool,
}

const CHANGED: &str = "changed: ";

const SHAPES: [Shape; 5] = [
    Shape {
        name: "patch 200 MB, no site",
        kernels: KERNELS,
        usual: USUAL,
        repeated: 10,
        sites: &[],
        wanted: "unchanged: no rule has anything to rewrite",
        seconds: 2,
        is_aim: false,
    },
    Shape {
        name: "patch 200 MB, 1 % sites",
        kernels: KERNELS,
        usual: USUAL,
        repeated: 10,
        sites: &SITES,
        wanted: CHANGED,
        seconds: 6,
        is_aim: false,
    },
    Shape {
        name: "patch 200 MB, one kernel, far sites",
        kernels: 1,
        usual: USUAL,
        repeated: 10,
        sites: &SITES,
        wanted: CHANGED,
        seconds: 6,
        is_aim: true,
    },
    Shape {
        name: "patch 200 MB, one kernel, eight rules",
        kernels: 1,
        usual: USUAL,
        repeated: 10,
        sites: &EIGHT,
        wanted: CHANGED,
        seconds: 6,
        is_aim: true,
    },
    Shape {
        name: "patch 200 MB, dense branches",
        kernels: KERNELS,
        usual: BRANCH,
        repeated: 20,
        sites: &SITES,
        wanted: CHANGED,
        seconds: 6,
        is_aim: true,
    },
];

pub(super) fn patch(bench: &mut Bench) -> Result<()> {
    for shape in &SHAPES {
        let name = shape.name;
        if !bench.wants(name) {
            continue;
        }
        let file = synthetic(shape)?;
        let result = file.with_file_name("patched.co");
        let to = result.to_string_lossy();
        let arguments = ["patch", "--output", &to];
        bench.check_answer(&arguments, &file, shape.wanted)?;
        // From start to end, the result written: one object keeps one core busy.
        let runs = bench.runs.min(RUNS);
        let time = repeat(runs, || wall_time(&mut bench.hsaco(&arguments, &file)))?;
        let (limit, memory) = (Duration::from_secs(shape.seconds), format!("{name}, memory"));
        if shape.is_aim {
            bench.time_aim(name, time.min, limit);
            bench.memory_aim(&memory, &arguments, &file, 3 * SIZE as u64)?;
        } else {
            bench.time_row(name, time.min, limit);
            bench.memory_row(&memory, &arguments, &file, 3 * SIZE as u64)?;
        }
        fs::remove_file(file)?;
        fs::remove_file(result)?;
    }
    Ok(())
}

fn synthetic(shape: &Shape) -> Result<PathBuf> {
    let assembler = gfx1250::assembler()?;
    let usual = gfx1250::assemble(assembler, shape.usual)?.repeat(shape.repeated);
    let sites = shape.sites.iter().map(|it| gfx1250::assemble(assembler, it));
    let sites: Vec<Vec<u8>> = sites.collect::<Result<_>>()?;
    let mut kernels = Vec::with_capacity(shape.kernels);
    for number in 0..shape.kernels {
        let mut kernel = gfx1250::kernel(&format!("kernel_{number}"), "")?;
        let end = std::mem::take(&mut kernel.code);
        // A kernel of many has sites of one kind.
        let step = if shape.kernels == 1 { 1 } else { sites.len().max(1) };
        let mut sites = sites.iter().cycle().skip(number).step_by(step);
        while kernel.code.len() < SIZE / shape.kernels {
            kernel.code.extend_from_slice(&usual);
            kernel.code.extend(sites.next().into_iter().flatten());
        }
        kernel.code.extend(end);
        kernels.push(kernel);
    }
    let path = workspace_root().join("target/bench/patch.co");
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    fs::write(&path, gfx1250::object(&kernels)?)?;
    Ok(path)
}
