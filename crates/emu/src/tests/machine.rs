//! A workgroup for tests: registers and LDS go in, a program runs, registers and LDS come out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use hsaco_isa::decoder::{DecodeOptions, Mode as Decoding};
use hsaco_isa::target::{Generation, WaveSize};
use hsaco_isa::{Assembler, Processor};
use hsaco_kernarg::{EntryState, Launch};
use hsaco_object::descriptor::KernelDescriptor;

use crate::code::KernelCode;
use crate::device::Device;
use crate::dispatch::{Dispatch, Limits};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::View;
use crate::revision::{Met, MetErratum, Revision};
use crate::translate::{Program, Target};
use crate::watch::Watching;
use crate::wave::{Layout, Wave, scalar};
use crate::workgroup::{Budget, Eyes, Progress, Workgroup};

/// The eight targets that are emulated.
pub(crate) const ALL: [&str; 8] =
    ["gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1201", "gfx1250"];

/// Numbers of special registers.
pub(crate) const M0: u16 = scalar::M0;
pub(crate) const EXEC: u16 = scalar::EXEC;

/// What a program finds, and the memory that it shares with others.
pub(crate) struct Machine {
    pub(crate) device: Device,
    wave_size: WaveSize,
    waves: u16,
    /// Work-items, where the last wave has fewer than lanes.
    items: Option<u32>,
    mode: u32,
    scratch_bytes: u32,
    named_barriers: u32,
    lds: Vec<u8>,
    vectors: BTreeMap<(u16, u16), [u32; 64]>,
    scalars: BTreeMap<u16, u32>,
}

/// What a wave of a program leaves.
pub(crate) struct Left {
    vectors: Vec<[u32; 64]>,
    scalars: Vec<u32>,
    pub(crate) scc: bool,
}

/// What a program leaves.
pub(crate) struct Ran {
    waves: Vec<Left>,
    pub(crate) lds: Vec<u8>,
    /// The errata that were met.
    pub(crate) errata: Vec<MetErratum>,
}

impl Left {
    pub(crate) fn v(&self, register: usize, lane: usize) -> u32 {
        self.vectors[register][lane]
    }

    pub(crate) fn s(&self, register: u16) -> u32 {
        self.scalars[usize::from(register)]
    }
}

impl Ran {
    pub(crate) fn wave(&self, number: usize) -> &Left {
        &self.waves[number]
    }

    pub(crate) fn v(&self, register: usize, lane: usize) -> u32 {
        self.waves[0].v(register, lane)
    }

    pub(crate) fn s(&self, register: u16) -> u32 {
        self.waves[0].s(register)
    }

    pub(crate) fn lds_word(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.lds[at * 4..at * 4 + 4].try_into().unwrap())
    }
}

impl Machine {
    /// One wave of the target's usual size, with EXEC all ones and every register zero.
    pub(crate) fn new(target: &str) -> Self {
        let device = Device::new(target.parse().unwrap(), 1 << 24);
        let is_gfx9 = device.processor().generation() < Generation::Gfx10;
        let wave_size = if is_gfx9 { WaveSize::Wave64 } else { WaveSize::Wave32 };
        Self {
            device,
            wave_size,
            waves: 1,
            items: None,
            mode: 0xf0,
            scratch_bytes: 0,
            named_barriers: 0,
            lds: Vec::new(),
            vectors: BTreeMap::new(),
            scalars: BTreeMap::new(),
        }
    }

    pub(crate) fn lanes(&self) -> usize {
        if self.wave_size == WaveSize::Wave64 { 64 } else { 32 }
    }

    pub(crate) fn wave64(mut self) -> Self {
        self.wave_size = WaveSize::Wave64;
        self
    }

    /// The first stepping.
    pub(crate) fn a0(mut self) -> Self {
        self.device.revision = Revision::A0;
        self
    }

    pub(crate) fn waves(mut self, count: u16) -> Self {
        self.waves = count;
        self
    }

    /// So many work-items, in as many waves as they need.
    pub(crate) fn items(mut self, count: u32) -> Self {
        self.waves = count.div_ceil(self.lanes() as u32) as u16;
        self.items = Some(count);
        self
    }

    /// MODE at the entry.
    pub(crate) fn mode(mut self, mode: u32) -> Self {
        self.mode = mode;
        self
    }

    /// Bytes of scratch memory for each lane.
    pub(crate) fn scratch(mut self, bytes: u32) -> Self {
        self.scratch_bytes = bytes;
        self
    }

    pub(crate) fn named_barriers(mut self, count: u32) -> Self {
        self.named_barriers = count;
        self
    }

    pub(crate) fn lds(mut self, bytes: Vec<u8>) -> Self {
        self.lds = bytes;
        self
    }

    /// A vector register by wave and lane.
    pub(crate) fn of_wave(mut self, register: u16, value: impl Fn(usize, usize) -> u32) -> Self {
        for wave in 0..self.waves {
            let lanes = std::array::from_fn(|lane| value(usize::from(wave), lane));
            self.vectors.insert((wave, register), lanes);
        }
        self
    }

    /// A vector register by lane.
    pub(crate) fn v(self, register: u16, value: impl Fn(usize) -> u32) -> Self {
        self.of_wave(register, |_, lane| value(lane))
    }

    /// Two vector registers by lane.
    pub(crate) fn v64(self, register: u16, value: impl Fn(usize) -> u64) -> Self {
        self.v(register, |lane| value(lane) as u32)
            .v(register + 1, |lane| (value(lane) >> 32) as u32)
    }

    pub(crate) fn s(mut self, register: u16, value: u32) -> Self {
        self.scalars.insert(register, value);
        self
    }

    pub(crate) fn s64(self, register: u16, value: u64) -> Self {
        self.s(register, value as u32).s(register + 1, (value >> 32) as u32)
    }

    pub(crate) fn exec(self, lanes: u64) -> Self {
        self.s64(EXEC, lanes)
    }

    /// Memory of the device with these bytes.
    pub(crate) fn buffer(&mut self, bytes: &[u8]) -> u64 {
        let address = self.device.memory.allocate(bytes.len() as u64).unwrap();
        self.device.memory.write(address, bytes).unwrap();
        address
    }

    pub(crate) fn words(&mut self, words: &[u32]) -> u64 {
        let bytes: Vec<u8> = words.iter().flat_map(|it| it.to_le_bytes()).collect();
        self.buffer(&bytes)
    }

    pub(crate) fn read_words(&self, address: u64, count: usize) -> Vec<u32> {
        let bytes = self.device.memory.read(address, count * 4).unwrap();
        bytes.as_chunks().0.iter().map(|it| u32::from_le_bytes(*it)).collect()
    }

    /// Runs a program, one instruction a line, and an end after it.
    pub(crate) fn run(&mut self, program: &str) -> Ran {
        self.try_run(program).unwrap_or_else(|error| panic!("{}: {error}", self.device.target))
    }

    pub(crate) fn try_run(&mut self, program: &str) -> Result<Ran> {
        match self.wave_size {
            WaveSize::Wave32 => self.run_waves::<4>(program),
            WaveSize::Wave64 => self.run_waves::<8>(program),
        }
    }

    fn assemble(&self, processor: Processor, program: &str) -> Result<Vec<u8>> {
        let options = DecodeOptions {
            mode: Decoding::Lenient,
            real_true16: Some(processor.generation() >= Generation::Gfx11),
            wave_size: Some(self.wave_size),
        };
        let assembler = Assembler::new(processor, options).unwrap();
        let mut code = Vec::new();
        for line in program.lines().chain(["s_endpgm"]) {
            match assembler.line(line) {
                Some(Ok(statement)) => statement.encode(&mut code),
                Some(Err(error)) => {
                    return Err(Error::new(ErrorKind::Setup, format!("{line}: {error}")));
                }
                None => {}
            }
        }
        Ok(code)
    }

    /// Bytes of a program without its end.
    pub(crate) fn code_bytes(&self, program: &str) -> usize {
        self.assemble(self.device.processor(), program).map_or(0, |code| code.len() - 4)
    }

    fn run_waves<const C: usize>(&mut self, program: &str) -> Result<Ran> {
        let processor = self.device.processor();
        let generation = processor.generation();
        let code = self.assemble(processor, program)?;
        let start = self.buffer(&code);
        let is_wave32 = self.wave_size == WaveSize::Wave32;
        let descriptor = KernelDescriptor {
            compute_pgm_rsrc1: rsrc1(self.mode),
            compute_pgm_rsrc3: match generation {
                Generation::Gfx125 => self.named_barriers.div_ceil(4) << 14,
                _ => 0,
            },
            kernel_code_properties: u16::from(is_wave32 && generation >= Generation::Gfx10) << 10,
            ..KernelDescriptor::default()
        };
        let items = self.items.unwrap_or(u32::from(self.waves) * (C as u32 * 8));
        let launch = Launch::new(&[items], &[items]).unwrap();
        let has_agprs = generation < Generation::Gfx10;
        let target = Target { revision: self.device.revision, ..Target::new(processor) };
        let kernel = KernelCode {
            name: "test".to_owned(),
            address: 0,
            descriptor,
            entry: EntryState::new(processor, &descriptor).unwrap(),
            start,
            target,
            layout: Layout { vgprs: 1024, agprs: if has_agprs { 256 } else { 0 } },
            narrow: Mutex::default(),
            wide: Mutex::default(),
        };
        let dispatch = Dispatch {
            device: &self.device,
            code: Arc::new(kernel),
            keeps_code: false,
            launch,
            cluster: [1; 3],
            kernarg: Vec::new(),
            kernarg_address: 0,
            packet_address: 0,
            queue_address: 0,
            dispatch_id: 0,
            lds_bytes: self.lds.len() as u32,
            scratch_bytes: self.scratch_bytes,
            limits: Limits { instructions: 1_000_000, ..Limits::default() },
            watching: Watching::default(),
            host: None,
            sanitizer: None,
            stop: None,
        };
        let mut workgroup = Workgroup::<C>::new(&dispatch, [0; 3], None, &mut Vec::new());
        for (number, wave) in workgroup.waves.iter_mut().enumerate() {
            self.fill(number, wave);
        }
        for (word, bytes) in workgroup.lds_mut().iter_mut().zip(self.lds.chunks(4)) {
            let mut padded = [0; 4];
            padded[..bytes.len()].copy_from_slice(bytes);
            *word = u32::from_le_bytes(padded);
        }
        let mut program = Program::<C>::new(target, dispatch.code.layout)?;
        let run = Budget::new(dispatch.limits.instructions);
        let view = View::new(&self.device.memory);
        let mut met = Met::default();
        let mut turn = || {
            let eyes = Eyes { watcher: &mut None, observer: &mut None };
            workgroup.turn(&mut program, &view, &run, &mut met, eyes)
        };
        while matches!(turn()?, Progress::Goes | Progress::Sleeps) {}
        Ok(Ran {
            waves: workgroup.waves.iter().map(left).collect(),
            lds: workgroup.lds_mut().iter().flat_map(|it| it.to_le_bytes()).collect(),
            errata: met.reports(|_| String::new()),
        })
    }

    fn fill<const C: usize>(&self, number: usize, wave: &mut Wave<C>) {
        for vector in &mut wave.v {
            *vector = crate::wave::Vector::ZERO;
        }
        for ((of, register), lanes) in &self.vectors {
            if usize::from(*of) == number {
                for (lane, value) in lanes.iter().enumerate().take(C * 8) {
                    wave.v[usize::from(*register)].set_lane(lane, *value);
                }
            }
        }
        for (register, value) in &self.scalars {
            wave.s[usize::from(*register)] = *value;
        }
        wave.sync_exec();
    }
}

/// The bits of a descriptor that MODE comes from.
fn rsrc1(mode: u32) -> u32 {
    (mode & 0xff) << 12 | (mode >> 8 & 1) << 21 | (mode >> 9 & 1) << 23 | (mode >> 23 & 1) << 26
}

fn left<const C: usize>(wave: &Wave<C>) -> Left {
    let lanes = |vector: &crate::wave::Vector<C>| {
        std::array::from_fn(|lane| if lane < C * 8 { vector.lane(lane) } else { 0 })
    };
    Left {
        vectors: wave.v.iter().take(256).map(lanes).collect(),
        scalars: wave.s.clone(),
        scc: wave.scc,
    }
}
