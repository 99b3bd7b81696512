//! Drawing control flow: functions of a thousand blocks, as a compiler makes them and as none does.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use hsaco_tests::random::Random;
use hsaco_tests::workspace_root;

use super::Bench;
use super::measure::{repeat, wall_time};
use crate::{llvm, process};

const BLOCKS: usize = 1000;
const DRAW: &[&str] = &["cfg", "--format", "svg"];
/// What people do not wait for. Times differ from machine to machine, so this decides nothing.
const AT_ONCE: &str = "(100 ms)";

/// How a function's blocks are joined.
#[derive(Clone, Copy)]
enum Shape {
    /// Loops and conditions, one inside the other.
    Structured,
    /// Branches from anywhere to anywhere.
    Chaotic,
}

pub(super) fn flow(bench: &mut Bench) -> Result<()> {
    for (name, shape) in [("structured", Shape::Structured), ("chaotic", Shape::Chaotic)] {
        let row = format!("cfg svg, {BLOCKS} blocks, {name}");
        if !bench.wants(&row) {
            continue;
        }
        let Some(object) = object(name, shape)? else {
            println!("{row}: skipped: no LLVM 22");
            continue;
        };
        bench.check_answer(DRAW, &object, &format!(">bb{} 0x", BLOCKS - 1))?;
        let time = repeat(bench.runs, || wall_time(&mut bench.hsaco(DRAW, &object)))?;
        println!("{row:<44} {time:>19} {:>19} {:>14} {AT_ONCE:>9}", "", "");
    }
    Ok(())
}

/// The linked object, or nothing where LLVM 22 is missing.
fn object(name: &str, shape: Shape) -> Result<Option<PathBuf>> {
    if !llvm::missing().is_empty() {
        return Ok(None);
    }
    let dir = workspace_root().join("target/bench");
    fs::create_dir_all(&dir)?;
    let [source, relocatable, object] =
        ["s", "o", "co"].map(|kind| dir.join(format!("flow-{name}.{kind}")));
    fs::write(&source, source_text(shape))?;
    let mut assembler = Command::new("llvm-mc-22");
    assembler.args(["--triple=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-filetype=obj", "-o"]);
    process::output(assembler.arg(&relocatable).arg(&source))?;
    let mut linker = Command::new("ld.lld-22");
    process::output(linker.arg("-shared").arg(&relocatable).arg("-o").arg(&object))?;
    fs::remove_file(&relocatable)?;
    Ok(Some(object))
}

fn source_text(shape: Shape) -> String {
    let mut writer = Writer { random: Random::new(7), text: String::new(), blocks: 1, labels: 0 };
    writer.line(".globl flow\n.type flow,@function\nflow:");
    match shape {
        Shape::Structured => {
            while let Some(depth) = (BLOCKS - writer.blocks).checked_ilog2() {
                writer.statement(depth.min(6));
            }
        }
        Shape::Chaotic => writer.anywhere(),
    }
    writer.line("s_endpgm\n.size flow, .-flow");
    writer.text
}

/// Writes code, and counts the blocks so far.
struct Writer {
    random: Random,
    text: String,
    blocks: usize,
    labels: usize,
}

impl Writer {
    fn line(&mut self, line: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{line}");
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!(".L{}", self.labels)
    }

    fn code(&mut self) {
        for _ in 0..=self.random.below(12) {
            self.line("v_add_u32 v0, v1, v2");
        }
    }

    /// Ends a block with a branch.
    fn branch(&mut self, mnemonic: &str, label: &str) {
        self.line(&format!("{mnemonic} {label}"));
        self.blocks += 1;
    }

    /// Begins a block to which something branches; one that follows a branch has begun already.
    fn place(&mut self, label: &str, follows_branch: bool) {
        self.line(&format!("{label}:"));
        self.blocks += usize::from(!follows_branch);
    }

    /// At most as many more blocks as two to the depth.
    fn statement(&mut self, depth: u32) {
        self.code();
        let Some(depth) = depth.checked_sub(1) else {
            let next = self.label();
            self.branch("s_cbranch_scc0", &next);
            return self.place(&next, true);
        };
        match self.random.below(3) {
            0 => self.condition(depth),
            1 => self.repetition(depth),
            _ => {
                self.statement(depth);
                self.statement(depth);
            }
        }
    }

    fn condition(&mut self, depth: u32) {
        let after = self.label();
        self.branch("s_cbranch_scc0", &after);
        if depth > 1 {
            self.statement(depth - 1);
        }
        self.code();
        self.place(&after, false);
    }

    fn repetition(&mut self, depth: u32) {
        let header = self.label();
        self.place(&header, false);
        if depth > 1 {
            self.statement(depth - 1);
        }
        self.code();
        self.branch("s_cbranch_scc1", &header);
    }

    fn anywhere(&mut self) {
        for block in 0..BLOCKS - 1 {
            self.line(&format!(".B{block}:"));
            self.code();
            let target = self.random.below(BLOCKS - 1);
            let mnemonic = self.random.pick(&["s_cbranch_scc0", "s_cbranch_scc1", "s_branch"]);
            self.line(&format!("{mnemonic} .B{target}"));
        }
    }
}
