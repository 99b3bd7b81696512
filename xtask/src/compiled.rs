//! Random C programs, compiled for every target at every level of optimization.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::{apt, process};

/// The processors that everything is shown for.
pub(crate) const TARGETS: [&str; 8] =
    ["gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1201", "gfx1250"];
const HEADER: &str = include_str!("csmith/csmith.h");
const KERNEL: &str = include_str!("csmith/kernel.c");
/// Small enough to be run for each of their changes.
const SMALL: [&str; 4] = ["--max-funcs", "4", "--max-block-depth", "3"];

/// The objects of the programs of some seeds, each with one kernel `run`; made once.
pub(crate) fn programs(first: u64, end: u64) -> Result<Vec<PathBuf>> {
    apt::ensure("csmith", &["csmith", "libcsmith-dev"])?;
    let folder = process::target_dir()?.join("compiled/small");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("csmith.h"), HEADER)?;
    fs::write(folder.join("kernel.c"), KERNEL)?;
    let mut objects = Vec::new();
    for seed in first..end {
        let program = format!("{seed}.c");
        let mut csmith = Command::new("csmith");
        csmith.current_dir(&folder).args(["--no-argc", "--seed", &seed.to_string()]).args(SMALL);
        fs::write(folder.join(&program), process::output(&mut csmith)?)?;
        for target in TARGETS {
            for level in 0..4 {
                let object = folder.join(format!("{seed}.{target}.O{level}.co"));
                if !object.exists() {
                    compile(&folder, &program, target, level, &object)?;
                }
                objects.push(object);
            }
        }
    }
    Ok(objects)
}

fn compile(folder: &Path, program: &str, target: &str, level: u8, object: &Path) -> Result<()> {
    let mut clang = Command::new("clang-22");
    clang.current_dir(folder).args(["-ffreestanding", "-w", "-I.", "-nogpulib"]);
    clang.args(["-I/usr/include/csmith", "--target=amdgcn-amd-amdhsa"]);
    clang.arg(format!("-DPROGRAM=\"{program}\"")).arg(format!("-O{level}"));
    clang.arg(format!("-mcpu={target}")).arg("kernel.c").arg("-o").arg(object);
    process::output(&mut clang)?;
    Ok(())
}
