//! Code on one wave whose registers and memory callers see: for tools that examine what instructions do.

use std::collections::HashMap;

use hsaco_isa::Processor;
use hsaco_isa::target::{Generation, WaveSize};

use crate::barrier::Barriers;
use crate::error::{Error, ErrorKind, Result};
use crate::grid::GridSync;
use crate::memory::{Memory, View};
use crate::snapshot::Registers;
use crate::step::{Context, Parked};
use crate::translate::{Program, Target};
use crate::wave::{Hardware, Layout, Mode, State, Wave, scalar};
use crate::workgroup::run_wave;

/// Bytes for code; when they are full, all of it is dropped.
const CODE_BYTES: u64 = 1 << 16;
/// Bytes of memory that callers may allocate.
const MEMORY_BYTES: u64 = 1 << 28;
/// Instructions that [`Probe::run`] may take.
const FEW_INSTRUCTIONS: u64 = 16;
/// Instructions that [`Probe::execute`] may take.
const MOST_INSTRUCTIONS: u64 = 1 << 20;

/// Runs code on one wave: from registers that the caller gives, or piece by piece from what the last one left.
///
/// ```
/// use hsaco_emu::{Probe, Registers};
/// use hsaco_isa::Processor;
/// use hsaco_isa::target::WaveSize;
/// let mut probe = Probe::new(Processor::from_name("gfx942").unwrap(), WaveSize::Wave64, 4)?;
/// let mut registers = Registers::default();
/// registers.exec = 1;
/// registers.vectors = vec![vec![7; 64]; 4];
/// // v_add_u32_e32 v3, v1, v2
/// let code = [0x01, 0x05, 0x06, 0x68];
/// probe.run(&code, &mut registers)?;
/// assert_eq!(registers.vectors[3][..2], [14, 7]);
/// probe.vector_mut(1)[0] = 1;
/// probe.execute(&code)?;
/// assert_eq!(probe.vector(3)[0], 8);
/// # Ok::<(), hsaco_emu::Error>(())
/// ```
pub struct Probe(Width);

enum Width {
    Wave32(Machine<4>),
    Wave64(Machine<8>),
}

/// The same of a machine of either width.
macro_rules! machine {
    ($width:expr, $machine:ident => $answer:expr) => {
        match $width {
            Width::Wave32($machine) => $answer,
            Width::Wave64($machine) => $answer,
        }
    };
}

impl std::fmt::Debug for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Probe").finish_non_exhaustive()
    }
}

impl Probe {
    /// A wave of a processor with so many vector registers, all of its lanes enabled, and zero everywhere.
    ///
    /// # Errors
    /// There are no instruction tables for the processor, or no memory.
    pub fn new(processor: Processor, wave_size: WaveSize, vgprs: u16) -> Result<Self> {
        Ok(Self(match wave_size {
            WaveSize::Wave32 => Width::Wave32(Machine::new(processor, vgprs)?),
            WaveSize::Wave64 => Width::Wave64(Machine::new(processor, vgprs)?),
        }))
    }

    /// The same with so many words of LDS, which may be more than any device has.
    #[must_use]
    pub fn with_lds(mut self, words: usize) -> Self {
        machine!(&mut self.0, it => it.lds = vec![0; words]);
        self
    }

    /// Runs a short program to its end, and leaves what registers hold then.
    ///
    /// # Errors
    /// The program stopped; the registers are as they were.
    pub fn run(&mut self, code: &[u8], registers: &mut Registers) -> Result<()> {
        machine!(&mut self.0, it => it.run(code, registers))
    }

    /// Runs code to its end, from what the last code left.
    ///
    /// # Errors
    /// The code stopped, and registers are as they were then.
    pub fn execute(&mut self, code: &[u8]) -> Result<()> {
        machine!(&mut self.0, it => it.execute(code, MOST_INSTRUCTIONS))
    }

    /// The lanes of a vector register. There are none where it has no such register.
    #[must_use]
    pub fn vector(&self, number: u16) -> &[u32] {
        machine!(&self.0, it => it.vector(number))
    }

    /// The same, to be changed.
    pub fn vector_mut(&mut self, number: u16) -> &mut [u32] {
        machine!(&mut self.0, it => it.vector_mut(number))
    }

    /// s0 and those after it.
    #[must_use]
    pub fn scalars(&self) -> &[u32] {
        machine!(&self.0, it => it.wave.s.get(..usize::from(scalar::VCC)).unwrap_or_default())
    }

    /// The same, to be changed.
    pub fn scalars_mut(&mut self) -> &mut [u32] {
        machine!(&mut self.0, it => {
            it.wave.s.get_mut(..usize::from(scalar::VCC)).unwrap_or_default()
        })
    }

    /// M0.
    #[allow(clippy::indexing_slicing, reason = "every wave has it")]
    pub fn m0_mut(&mut self) -> &mut u32 {
        machine!(&mut self.0, it => &mut it.wave.s[usize::from(scalar::M0)])
    }

    /// SCC.
    pub fn scc_mut(&mut self) -> &mut bool {
        machine!(&mut self.0, it => &mut it.wave.scc)
    }

    /// MODE.
    pub fn mode_mut(&mut self) -> &mut u32 {
        machine!(&mut self.0, it => &mut it.wave.mode.0)
    }

    /// The number of the cluster that the wave is in, from 1 on; 0 is none.
    pub fn cluster_mut(&mut self) -> &mut u32 {
        machine!(&mut self.0, it => &mut it.wave.hardware.cluster)
    }

    /// The words of LDS.
    #[must_use]
    pub fn lds(&self) -> &[u32] {
        machine!(&self.0, it => &it.lds)
    }

    /// The same, to be changed.
    pub fn lds_mut(&mut self) -> &mut [u32] {
        machine!(&mut self.0, it => &mut it.lds)
    }

    /// Memory.
    pub fn memory_mut(&mut self) -> &mut Memory {
        machine!(&mut self.0, it => &mut it.memory)
    }
}

struct Machine<const C: usize> {
    target: Target,
    program: Program<C>,
    memory: Memory,
    lds: Vec<u32>,
    /// Where code begins, and what there is of it so far.
    code: u64,
    used: u64,
    known: HashMap<Vec<u8>, u64>,
    wave: Wave<C>,
}

impl<const C: usize> Machine<C> {
    fn new(processor: Processor, vgprs: u16) -> Result<Self> {
        let target = Target::new(processor);
        let layout = Layout { vgprs, agprs: 0 };
        let memory = Memory::new(MEMORY_BYTES);
        let code = memory.allocate(CODE_BYTES)?;
        let mut wave = Wave::new(layout.constants(), 0, None);
        wave.set_pair(scalar::EXEC, Wave::<C>::ALL);
        wave.mode = Mode(0x3f0);
        Ok(Self {
            target,
            program: Program::new(target, layout)?,
            memory,
            lds: Vec::new(),
            code,
            used: 0,
            known: HashMap::new(),
            wave,
        })
    }

    fn vector(&self, number: u16) -> &[u32] {
        let exists = number < self.program.layout.vgprs;
        let found = self.wave.v.get(usize::from(number)).filter(|_| exists);
        found.map_or(&[], |it| it.0.as_flattened())
    }

    fn vector_mut(&mut self, number: u16) -> &mut [u32] {
        let exists = number < self.program.layout.vgprs;
        let found = self.wave.v.get_mut(usize::from(number)).filter(|_| exists);
        found.map_or(&mut [], |it| it.0.as_flattened_mut())
    }

    fn run(&mut self, code: &[u8], registers: &mut Registers) -> Result<()> {
        self.wave.set_registers(registers);
        (self.wave.msb, self.wave.index_mode) = (0, 0);
        self.wave.hardware = Hardware::default();
        self.execute(code, FEW_INSTRUCTIONS)?;
        *registers = self.wave.registers(self.program.layout);
        Ok(())
    }

    fn execute(&mut self, code: &[u8], most: u64) -> Result<()> {
        let start = self.place(code)?;
        let wave = &mut self.wave;
        wave.sync_exec();
        (wave.pc, wave.state, wave.executed) = (start, State::Running, 0);
        let barriers = Barriers::new(1, 0);
        let view = View::new(&self.memory);
        let grid = GridSync::default();
        let parked = Parked::new(0, barriers, self.target.numerics());
        let mut context = Context::new(&view, &grid, parked);
        context.lds = std::mem::take(&mut self.lds);
        let ran = run_wave(wave, &mut context, &mut self.program, most);
        self.lds = context.lds;
        ran.map_err(|stopped| stopped.error)?;
        match wave.state {
            State::Ended => Ok(()),
            _ => Err(Error::new(ErrorKind::Limit, "the program does not end")),
        }
    }

    /// Where code is in memory; it is put there if it is not.
    fn place(&mut self, code: &[u8]) -> Result<u64> {
        if let Some(start) = self.known.get(code) {
            return Ok(*start);
        }
        // s_endpgm
        let end = if self.target.is_gfx9() || self.target.generation == Generation::Gfx10 {
            0xbf81_0000_u32
        } else {
            0xbfb0_0000
        };
        let mut bytes = code.to_vec();
        bytes.extend(end.to_le_bytes());
        let size = bytes.len() as u64;
        if size > CODE_BYTES {
            return Err(Error::new(ErrorKind::Setup, "the program is too long"));
        }
        if self.used + size > CODE_BYTES {
            self.forget()?;
        }
        let start = self.code + self.used;
        self.memory.write(start, &bytes)?;
        self.used += size;
        self.known.insert(code.to_vec(), start);
        Ok(start)
    }

    /// Drops all code, and with it the constants that a wave has for it.
    fn forget(&mut self) -> Result<()> {
        let layout = self.program.layout;
        self.program = Program::new(self.target, layout)?;
        self.wave.v.truncate(layout.constants().into());
        self.wave.s.truncate(scalar::CONSTANTS.into());
        self.wave.matrices.clear();
        self.known.clear();
        self.used = 0;
        Ok(())
    }
}
