//! Small programs of our own assembler, run as kernels.

use hsaco_emu::{Device, Dispatch, Limits, Outcome, Result, Run, with_apertures};
use hsaco_isa::decoder::DecodeOptions;
use hsaco_isa::{Assembler, Processor};
use hsaco_kernarg::Launch;
use hsaco_object::descriptor::KernelDescriptor;

/// A kernel with the address of its arguments in s[0:1] and its workgroup's number in s2 (ttmp9 on gfx12), and 64
/// registers of each kind.
pub(crate) struct Kernel {
    pub(crate) device: Device,
    descriptor: u64,
    pub(crate) code: u64,
}

/// How a kernel is run.
#[derive(Clone, Copy)]
pub(crate) struct How {
    pub(crate) workgroups: u32,
    pub(crate) items: u32,
    pub(crate) threads: usize,
    pub(crate) limits: Limits,
    /// Workgroups of a cluster.
    pub(crate) cluster: u32,
}

impl Default for How {
    fn default() -> Self {
        let limits = Limits { instructions: 10_000_000, ..Limits::default() };
        Self { workgroups: 1, items: 64, threads: 1, limits, cluster: 1 }
    }
}

impl Kernel {
    pub(crate) fn new(target: &str, lines: &str) -> Self {
        Self::with(target, lines, |_| {})
    }

    /// The same with changes of its descriptor.
    pub(crate) fn with(target: &str, lines: &str, change: impl Fn(&mut KernelDescriptor)) -> Self {
        let processor = Processor::from_name(target).unwrap();
        let assembler = Assembler::new(processor, DecodeOptions::default()).unwrap();
        let code = assemble(&assembler, lines);
        let device = Device::new(target.parse().unwrap(), 64 << 20);
        let start = device.memory.allocate(256 + code.len() as u64).unwrap();
        let mut descriptor = KernelDescriptor {
            kernel_code_entry_byte_offset: 256,
            kernarg_size: 64,
            // Denormals are kept.
            compute_pgm_rsrc1: 0xf << 16 | 7,
            // Two user registers, then the workgroup.
            compute_pgm_rsrc2: 2 << 1 | 1 << 7,
            // On gfx90a and later gfx9 the first 32 registers are VGPRs, the rest AGPRs.
            compute_pgm_rsrc3: if target.starts_with("gfx9") { 7 } else { 0 },
            kernel_code_properties: 1 << 3,
            ..KernelDescriptor::default()
        };
        // Waves of 32 lanes where there are any.
        if target.starts_with("gfx1") {
            descriptor.kernel_code_properties |= 1 << 10;
        }
        change(&mut descriptor);
        device.memory.write(start, &descriptor.to_bytes()).unwrap();
        device.memory.write(start + 256, &code).unwrap();
        Self { device, descriptor: start, code: start + 256 }
    }

    /// Runs it with 64-bit numbers as arguments.
    pub(crate) fn run(&mut self, arguments: &[u64], how: How) -> Result<Outcome> {
        let How { workgroups, items, threads, limits, cluster } = how;
        let launch = Launch::of_workgroups(&[workgroups], &[items]).unwrap();
        let bytes: Vec<u8> = arguments.iter().flat_map(|it| it.to_le_bytes()).collect();
        let launch = with_apertures(launch)?;
        let mut dispatch =
            Dispatch::at(&mut self.device, "kernel", self.descriptor, launch, &bytes)?;
        if cluster != 1 {
            dispatch = dispatch.with_cluster([cluster, 1, 1])?;
        }
        run_on(&dispatch.with_limits(limits), threads)
    }

    /// A dispatch of one workgroup, to be watched.
    pub(crate) fn dispatch(&mut self, arguments: &[u64], items: u32) -> Dispatch<'_> {
        self.dispatch_of(arguments, 1, items)
    }

    /// The same of several workgroups.
    pub(crate) fn dispatch_of(
        &mut self,
        arguments: &[u64],
        workgroups: u32,
        items: u32,
    ) -> Dispatch<'_> {
        let launch = Launch::of_workgroups(&[workgroups], &[items]).unwrap();
        let launch = with_apertures(launch).unwrap();
        let bytes: Vec<u8> = arguments.iter().flat_map(|it| it.to_le_bytes()).collect();
        Dispatch::at(&mut self.device, "kernel", self.descriptor, launch, &bytes).unwrap()
    }

    pub(crate) fn buffer(&mut self, size: u64) -> u64 {
        self.device.memory.allocate(size).unwrap()
    }

    pub(crate) fn words(&self, address: u64, count: usize) -> Vec<u32> {
        let bytes = self.device.memory.read(address, count * 4).unwrap();
        bytes.as_chunks::<4>().0.iter().map(|it| u32::from_le_bytes(*it)).collect()
    }
}

/// The bytes of lines: instructions, `.long N`, and labels (`again:`), which branches name as `@again`.
fn assemble(assembler: &Assembler, lines: &str) -> Vec<u8> {
    let mut labels: Vec<(&str, usize)> = Vec::new();
    let mut code = Vec::new();
    // The first pass finds out where labels are.
    for _ in 0..2 {
        code.clear();
        for line in lines.lines().map(str::trim).filter(|it| !it.is_empty()) {
            if let Some(label) = line.strip_suffix(':') {
                labels.push((label, code.len()));
            } else if let Some(word) = line.strip_prefix(".long ") {
                code.extend(word.parse::<u32>().unwrap().to_le_bytes());
            } else {
                let line = resolve(line, &labels, code.len());
                let inst = assembler.assemble(&line).map_err(|error| (line, error)).unwrap();
                code.extend(&inst.bytes()[..inst.len()]);
            }
        }
    }
    code
}

/// A line with the distance to a label, in words from behind the branch, where it names one.
fn resolve(line: &str, labels: &[(&str, usize)], at: usize) -> String {
    let Some((instruction, label)) = line.split_once('@') else { return line.to_owned() };
    let place = labels.iter().rfind(|(name, _)| *name == label).map_or(0, |it| it.1);
    let words = (place as i64 - at as i64) / 4 - 1;
    format!("{instruction}{}", words as u16)
}

fn run_on(dispatch: &Dispatch<'_>, threads: usize) -> Result<Outcome> {
    let run = Run::new(dispatch, threads);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| run.work());
        }
    });
    run.finish()
}
