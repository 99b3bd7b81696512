//! Single instructions from given registers: for tools that examine what an instruction does.

use hsaco_isa::Processor;
use hsaco_isa::target::{Generation, WaveSize};

use crate::error::{Error, ErrorKind, Result};
use crate::exec::barrier::Barriers;
use crate::memory::Memory;
use crate::snapshot::Registers;
use crate::step::Context;
use crate::translate::{Layout, Program, Target};
use crate::wave::{Hardware, State, Wave};
use crate::workgroup::run_wave;

/// Bytes for the code of one program, behind which it must end.
const CODE_BYTES: u64 = 64;
/// Programs that are kept before translated code is dropped.
const KEPT: u64 = 1024;
/// Instructions that a program may take.
const MOST_INSTRUCTIONS: u64 = 16;

/// Runs short programs on one wave, each from registers that the caller gives.
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
/// probe.run(&[0x01, 0x05, 0x06, 0x68], &mut registers)?;
/// assert_eq!(registers.vectors[3][..2], [14, 7]);
/// # Ok::<(), hsaco_emu::Error>(())
/// ```
pub struct Probe(Width);

enum Width {
    Wave32(Machine<4>),
    Wave64(Machine<8>),
}

impl std::fmt::Debug for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Probe").finish_non_exhaustive()
    }
}

impl Probe {
    /// A wave of a processor with so many vector registers.
    ///
    /// # Errors
    /// There are no instruction tables for the processor, or no memory.
    pub fn new(processor: Processor, wave_size: WaveSize, vgprs: u16) -> Result<Self> {
        Ok(Self(match wave_size {
            WaveSize::Wave32 => Width::Wave32(Machine::new(processor, vgprs)?),
            WaveSize::Wave64 => Width::Wave64(Machine::new(processor, vgprs)?),
        }))
    }

    /// Runs a program of at most 60 bytes to its end, and leaves what registers hold then. Of LDS and scratch memory it has
    /// none.
    ///
    /// # Errors
    /// The program stopped; the registers are as they were.
    pub fn run(&mut self, code: &[u8], registers: &mut Registers) -> Result<()> {
        match &mut self.0 {
            Width::Wave32(machine) => machine.run(code, registers),
            Width::Wave64(machine) => machine.run(code, registers),
        }
    }
}

struct Machine<const C: usize> {
    target: Target,
    program: Program<C>,
    memory: Memory,
    code: u64,
    programs: u64,
    wave: Wave<C>,
}

impl<const C: usize> Machine<C> {
    fn new(processor: Processor, vgprs: u16) -> Result<Self> {
        let target = Target { processor, generation: processor.generation() };
        let layout = Layout { vgprs, agprs: 0 };
        let mut memory = Memory::new(1 << 20);
        let code = memory.allocate(CODE_BYTES * KEPT)?;
        Ok(Self {
            target,
            program: Program::new(target, layout)?,
            memory,
            code,
            programs: 0,
            wave: Wave::new(layout.constants(), 0, None),
        })
    }

    fn run(&mut self, code: &[u8], registers: &mut Registers) -> Result<()> {
        let start = self.place(code)?;
        registers.put(&mut self.wave);
        let wave = &mut self.wave;
        wave.sync_exec();
        (wave.pc, wave.state, wave.executed) = (start, State::Running, 0);
        (wave.msb, wave.index_mode) = (0, 0);
        wave.hardware = Hardware::default();
        let mut context = Context {
            memory: &self.memory,
            hint: 0,
            lds: Vec::new(),
            clock: 0,
            barriers: Barriers::new(1, 0),
            numerics: self.target.numerics(),
            wide_private: self.target.generation == Generation::Gfx125,
        };
        run_wave(wave, &mut context, &mut self.program, MOST_INSTRUCTIONS)
            .map_err(|stopped| stopped.error)?;
        if wave.state != State::Ended {
            return Err(Error::new(ErrorKind::Limit, "the program does not end"));
        }
        *registers = Registers::of(wave, self.program.layout);
        Ok(())
    }

    /// Puts a program where none has been since translated code was dropped.
    fn place(&mut self, code: &[u8]) -> Result<u64> {
        let slot = self.programs % KEPT;
        if slot == 0 {
            let layout = self.program.layout;
            self.program = Program::new(self.target, layout)?;
            // Registers for constants were filled for the code that is dropped.
            self.wave = Wave::new(layout.constants(), 0, None);
        }
        self.programs += 1;
        let start = self.code + slot * CODE_BYTES;
        // s_endpgm
        let end = if self.target.is_gfx9() || self.target.generation == Generation::Gfx10 {
            0xbf81_0000_u32
        } else {
            0xbfb0_0000
        };
        let mut bytes = code.to_vec();
        bytes.extend(end.to_le_bytes());
        if bytes.len() as u64 > CODE_BYTES {
            return Err(Error::new(ErrorKind::Setup, "the program is too long"));
        }
        self.memory.write(start, &bytes)?;
        Ok(start)
    }
}
