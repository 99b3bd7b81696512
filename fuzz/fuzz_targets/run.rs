//! Any code on a device, from any registers, or with any descriptor: it ends, and says why where it cannot go on.
#![no_main]

use std::sync::LazyLock;

use hsaco_emu::{Device, Dispatch, Limits, Memory, with_apertures};
use hsaco_isa::decoder::DecodeOptions;
use hsaco_isa::{Assembler, Processor};
use hsaco_kernarg::Launch;
use hsaco_object::descriptor::KernelDescriptor;
use libfuzzer_sys::fuzz_target;

const TARGETS: [&str; 8] =
    ["gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1201", "gfx1250"];
const KERNARG_SIZE: usize = 192;
const CODE_OFFSET: u64 = 256;
const BUFFER_SIZE: u64 = 4096;
/// Registers of either kind that the prologue fills, and the first scalar one of these.
const FILLED: usize = KERNARG_SIZE / 4;
const FIRST: usize = 8;

/// Code that fills registers with the arguments, by target.
static PROLOGUES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| TARGETS.map(prologue).to_vec());

fn prologue(target: &str) -> Vec<u8> {
    let processor = Processor::from_name(target).expect("a target");
    let assembler = Assembler::new(processor, DecodeOptions::default()).expect("an assembler");
    let is_of = |family: &str| target.starts_with(family);
    let load = if is_of("gfx11") || is_of("gfx12") { "s_load_b512" } else { "s_load_dwordx16" };
    let wait = if is_of("gfx12") { "s_wait_kmcnt 0" } else { "s_waitcnt lgkmcnt(0)" };
    let mut lines = Vec::new();
    for at in (0..FILLED).step_by(16) {
        let first = FIRST + at;
        lines.push(format!("{load} s[{first}:{}], s[0:1], {:#x}", first + 15, at * 4));
    }
    lines.push(wait.to_owned());
    for register in 1..FILLED {
        lines.push(format!("v_xor_b32_e32 v{register}, s{}, v0", FIRST + register));
    }
    let mut code = Vec::new();
    for line in lines {
        let inst = assembler.assemble(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
        code.extend(&inst.bytes()[..inst.len()]);
    }
    code
}

/// What the first bytes choose.
struct Choice<'a> {
    target: usize,
    is_wave32: bool,
    has_prologue: bool,
    items: u32,
    workgroups: u32,
    seed: u64,
    /// Turns bits of the descriptor over.
    descriptor: &'a [u8; 24],
    kernarg: &'a [u8; KERNARG_SIZE],
    code: &'a [u8],
}

impl<'a> Choice<'a> {
    fn new(data: &'a [u8]) -> Option<Self> {
        let (first, rest) = data.split_first_chunk::<4>()?;
        let (descriptor, rest) = rest.split_first_chunk()?;
        let (kernarg, code) = rest.split_first_chunk()?;
        let [which, items, workgroups, seed] = *first;
        Some(Self {
            target: usize::from(which & 7),
            is_wave32: which & 8 != 0,
            has_prologue: which & 16 != 0,
            items: u32::from(items) + 1,
            workgroups: u32::from(workgroups & 3) + 1,
            seed: seed.into(),
            descriptor,
            kernarg,
            code,
        })
    }

    fn descriptor(&self) -> KernelDescriptor {
        let turned = |at: usize| match self.has_prologue {
            true => 0,
            false => u32::from_le_bytes(self.descriptor[at..at + 4].try_into().expect("a word")),
        };
        let is_gfx9 = TARGETS[self.target].starts_with("gfx9");
        let wave32 = u32::from(!is_gfx9 && self.is_wave32) << 10;
        KernelDescriptor {
            kernel_code_entry_byte_offset: CODE_OFFSET as i64,
            kernarg_size: KERNARG_SIZE as u32,
            group_segment_fixed_size: 1024 ^ turned(0),
            private_segment_fixed_size: 64 ^ turned(4),
            compute_pgm_rsrc1: (0xf << 16 | 15) ^ turned(8),
            compute_pgm_rsrc2: (2 << 1 | 1 << 7) ^ turned(12),
            compute_pgm_rsrc3: if is_gfx9 { 15 } else { 0 } ^ turned(16),
            kernel_code_properties: ((1 << 3 | wave32) ^ turned(20)) as u16,
            ..KernelDescriptor::default()
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let Some(choice) = Choice::new(data) else { return };
    let mut device = Device::new(TARGETS[choice.target].parse().expect("a target"), 16 << 20);
    let prologue: &[u8] = if choice.has_prologue { &PROLOGUES[choice.target] } else { &[] };
    let size = CODE_OFFSET + (prologue.len() + choice.code.len()) as u64;
    let memory: &mut Memory = &mut device.memory;
    let (Ok(start), Ok(buffer)) = (memory.allocate(size), memory.allocate(BUFFER_SIZE)) else {
        panic!("there is memory for a few bytes");
    };
    let put = |at: u64, bytes: &[u8]| memory.write(at, bytes).expect("it is allocated");
    put(start, &choice.descriptor().to_bytes());
    put(start + CODE_OFFSET, prologue);
    put(start + CODE_OFFSET + prologue.len() as u64, choice.code);
    let mut kernarg = choice.kernarg.to_vec();
    // Addresses that can be used, or the code would never get far.
    kernarg[..8].copy_from_slice(&buffer.to_le_bytes());
    kernarg[16..24].copy_from_slice(&(buffer + BUFFER_SIZE / 2).to_le_bytes());
    let launch = Launch::of_workgroups(&[choice.workgroups], &[choice.items]);
    let Some(launch) = launch.ok().and_then(|it| with_apertures(it).ok()) else { return };
    let limits = Limits { instructions: 4096, quantum: 64, seed: choice.seed };
    if let Ok(dispatch) = Dispatch::at(&mut device, "kernel", start, launch, &kernarg) {
        std::hint::black_box(dispatch.with_limits(limits).run().is_ok());
    }
});
