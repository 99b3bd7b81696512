//! One instruction on a device, with no lane enabled: does the emulator take it?

use anyhow::{Context as _, Result};
use hsaco::emu::{Device, Dispatch, ErrorKind, Limits, with_apertures};
use hsaco::isa::decoder::DecodeOptions;
use hsaco::isa::{Assembler, Processor};
use hsaco::kernarg::Launch;
use hsaco::object::descriptor::KernelDescriptor;

const CODE_OFFSET: u64 = 256;
const CODE_SIZE: u64 = 64;
/// Instructions of a trial at most: it may branch anywhere.
const MOST_INSTRUCTIONS: u64 = 16;

pub(super) struct Trial {
    device: Device,
    descriptor: u64,
    /// What stands before the instruction, and after it.
    around: [Vec<u8>; 2],
}

impl Trial {
    /// A kernel with as many registers as there can be.
    pub(super) fn new(processor: &str, is_wave32: bool) -> Result<Self> {
        let known = Processor::from_name(processor).context("an unknown processor")?;
        let assembler = Assembler::new(known, DecodeOptions::default())?;
        let exec = if is_wave32 { "s_mov_b32 exec_lo, 0" } else { "s_mov_b64 exec, 0" };
        let around = [exec, "s_endpgm"].map(|line| -> Result<Vec<u8>> {
            let inst = assembler.assemble(line)?;
            Ok(inst.bytes().iter().take(inst.len()).copied().collect())
        });
        let [before, after] = around;
        let device = Device::new(processor.parse()?, 64 << 20);
        let start = device.memory.allocate(CODE_OFFSET + CODE_SIZE)?;
        let descriptor = KernelDescriptor {
            kernel_code_entry_byte_offset: CODE_OFFSET.cast_signed(),
            // Two user registers, and 512 vector registers: half of them accumulators where there are any.
            compute_pgm_rsrc1: 63,
            compute_pgm_rsrc2: 2 << 1,
            compute_pgm_rsrc3: if processor.starts_with("gfx9") { 63 } else { 0 },
            kernel_code_properties: 1 << 3 | u16::from(is_wave32) << 10,
            group_segment_fixed_size: 1024,
            private_segment_fixed_size: 64,
            ..KernelDescriptor::default()
        };
        device.memory.write(start, &descriptor.to_bytes())?;
        Ok(Self { device, descriptor: start, around: [before?, after?] })
    }

    /// Why it does not run the instruction, if it does not.
    pub(super) fn refuses(&mut self, instruction: &[u8]) -> Result<Option<String>> {
        let [before, after] = &self.around;
        let code = [before.as_slice(), instruction, after].concat();
        let Err(error) = self.run(&code) else { return Ok(None) };
        match error.downcast_ref::<hsaco::emu::Error>().map(hsaco::emu::Error::kind) {
            Some(ErrorKind::Unsupported) => Ok(Some(format!("{error:#}"))),
            None | Some(ErrorKind::Setup | ErrorKind::Memory) => Err(error),
            // Registers hold nothing that it could go on with.
            Some(_) => Ok(None),
        }
    }

    fn run(&mut self, code: &[u8]) -> Result<()> {
        self.device.memory.write(self.descriptor + CODE_OFFSET, code)?;
        let launch = with_apertures(Launch::of_workgroups(&[1], &[64])?)?;
        let limits = Limits { instructions: MOST_INSTRUCTIONS, ..Limits::default() };
        let dispatch = Dispatch::at(&mut self.device, "trial", self.descriptor, launch, &[])?;
        dispatch.with_limits(limits).run()?;
        Ok(())
    }
}
