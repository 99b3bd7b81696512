//! Small objects for every processor, whose text depends on the size of waves and on halves of registers.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "test helpers: failing the test is the point"
)]

use std::fs;
use std::path::Path;

use hsaco::isa::target::{Generation, WaveSize};
use hsaco::isa::{Decoder, Processor};

use crate::program::sh;

/// Code that reads otherwise by the size of waves and by halves of registers.
pub const LINES: &str = "
    v_cmp_eq_u32_e32 VCC, v1, v2
    v_cmp_eq_u32_e64 MASK, v1, v2
    v_cndmask_b32_e32 v3, v1, v2, VCC
    v_cvt_f32_f16_e32 v4, HALF(1)
    v_add_f16_e32 HALF(1), HALF(2), HALF(3)
    s_and_b32 s6, s7, s8";

/// A processor and how its waves run.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// What the object is for.
    pub processor: Processor,
    /// Whether waves have 64 lanes.
    pub wave64: bool,
    /// Whether 16-bit operands name halves of registers.
    pub halves: bool,
}

impl Case {
    /// Every processor whose instructions are known, with each of its wave sizes.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let known = Processor::all().filter(|it| Decoder::new(*it).is_ok());
        let cases = known.flat_map(|processor| {
            // LLVM 22 assembles halves of gfx11 only; those of later ones have to be asked for.
            let halves = processor.generation() == Generation::Gfx11;
            let sizes = processor.wave_sizes();
            sizes.map(move |it| Self { processor, wave64: it == WaveSize::Wave64, halves })
        });
        cases.collect()
    }

    /// A name for files.
    #[must_use]
    pub fn name(self) -> String {
        format!("{}-wave{}", self.processor, if self.wave64 { 64 } else { 32 })
    }

    /// Assembly of a kernel `k` of these lines and a last one.
    #[must_use]
    pub fn source(self, lines: &str, last: &str) -> String {
        let (vcc, mask) = if self.wave64 { ("vcc", "s[2:3]") } else { ("vcc_lo", "s2") };
        let mut code = lines.replace("VCC", vcc).replace("MASK", mask);
        for number in 1..4 {
            let half = if self.halves { ".l" } else { "" };
            code = code.replace(&format!("HALF({number})"), &format!("v{number}{half}"));
        }
        let wave = match self.has_both_sizes() {
            true => format!(".amdhsa_wavefront_size32 {}", u8::from(!self.wave64)),
            false => String::new(),
        };
        let offset = if self.is_unified() { ".amdhsa_accum_offset 8" } else { "" };
        format!(
            ".globl k\n.p2align 8\n.type k,@function\nk:{code}\n {last}\n s_endpgm\n.size k, .-k\n.rodata\n.p2align 6\n\
             .amdhsa_kernel k\n .amdhsa_next_free_vgpr 8\n .amdhsa_next_free_sgpr 16\n {wave}\n {offset}\n.end_amdhsa_kernel\n"
        )
    }

    /// Assembles and links `name.co` in a folder.
    pub fn build(self, folder: &Path, name: &str, source: &str) {
        fs::write(folder.join(format!("{name}.s")), source).unwrap();
        let size = if self.wave64 { "+wavefrontsize64" } else { "+wavefrontsize32" };
        let wave = self.has_both_sizes().then_some(size);
        let halves = self.halves.then_some("+real-true16");
        let features: Vec<&str> = wave.into_iter().chain(halves).collect();
        let assemble = "llvm-mc-22 -triple=amdgcn-amd-amdhsa -g -filetype=obj";
        let (processor, features) = (self.processor, features.join(","));
        let what = format!("-mcpu={processor} -mattr={features} {name}.s -o {name}.o");
        sh(folder, &format!("{assemble} {what}"));
        sh(folder, &format!("ld.lld-22 -shared {name}.o -o {name}.co"));
    }

    fn has_both_sizes(self) -> bool {
        self.processor.generation() >= Generation::Gfx10
    }

    /// Whether vector and accumulation registers share a file.
    fn is_unified(self) -> bool {
        matches!(self.processor.generation(), Generation::Gfx90a | Generation::Gfx940)
    }
}

/// The texts of a listing of llvm-objdump or `disasm`.
#[must_use]
pub fn listed(listing: &str) -> Vec<String> {
    let lines = listing.lines().filter(|line| line.starts_with('\t'));
    lines.map(|line| line.split("//").next().unwrap_or_default().trim().to_owned()).collect()
}

/// Makes an object of each case, and beside it a file of the texts that llvm-objdump prints, a line each.
pub fn build_all(folder: &Path) {
    for case in Case::all() {
        let name = case.name();
        case.build(folder, &name, &case.source(LINES, "s_mov_b32 s0, s1"));
        let texts = listed(&sh(folder, &format!("llvm-objdump-22 -d {name}.co")));
        fs::write(folder.join(format!("{name}.txt")), texts.join("\n") + "\n").unwrap();
    }
}
