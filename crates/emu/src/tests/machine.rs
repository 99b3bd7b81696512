//! Waves outside of any dispatch: registers in, assembler text, registers out.

use hsaco_isa::decoder::DecodeOptions;
use hsaco_isa::target::{Generation, WaveSize};
use hsaco_isa::{Assembler, Processor};

use crate::exec::address::{PRIVATE_APERTURE, SHARED_APERTURE};
use crate::exec::barrier::Barriers;
use crate::memory::Memory;
use crate::step::Context;
use crate::translate::{Layout, Program, Target};
use crate::wave::{Hardware, Mode, State, Wave, scalar};
use crate::workgroup::run_wave;

/// Instructions after which a program has failed.
const LIMIT: u64 = 100_000;
const LDS_WORDS: usize = 16 << 10;
/// Words of scratch for each lane.
const SCRATCH_WORDS: usize = 16 << 10;

/// A workgroup of a processor.
pub(super) struct Machine<const C: usize> {
    processor: Processor,
    pub(super) memory: Memory,
    pub(super) waves: Vec<Wave<C>>,
    program: Option<(u64, Program<C>)>,
    lds: Vec<u32>,
}

impl<const C: usize> Machine<C> {
    /// Waves of so many lanes, with all vector registers and zero in them.
    pub(super) fn new(processor: &str, lanes: usize, mode: u32) -> Self {
        let processor = Processor::from_name(processor).unwrap();
        let count = lanes.div_ceil(Wave::<C>::LANES);
        let waves = (0..count).map(|number| {
            let left = lanes - number * Wave::<C>::LANES;
            let mut wave = Wave::new(Self::LAYOUT.constants(), SCRATCH_WORDS, None);
            let exec = if left >= Wave::<C>::LANES { Wave::<C>::ALL } else { (1 << left) - 1 };
            wave.set_pair(scalar::EXEC, exec);
            wave.sync_exec();
            wave.mode = Mode(mode);
            wave.hardware = Hardware { lds_words: LDS_WORDS as u32 };
            wave.set_pair(scalar::SHARED_BASE, u64::from(SHARED_APERTURE) << 32);
            wave.set_pair(scalar::PRIVATE_BASE, u64::from(PRIVATE_APERTURE) << 32);
            wave
        });
        Self {
            processor,
            memory: Memory::new(1 << 24),
            waves: waves.collect(),
            program: None,
            lds: vec![0; LDS_WORDS],
        }
    }

    pub(super) const LAYOUT: Layout = Layout { vgprs: 256, agprs: 0 };

    /// Runs instructions, one a line or separated by semicolons, to their end.
    pub(super) fn run(&mut self, text: &str) -> Result<(), String> {
        let start = self.place(text)?;
        let program = Program::new(target(self.processor), Self::LAYOUT)
            .map_err(|error| error.to_string())?;
        self.program = Some((start, program));
        self.again()
    }

    /// Runs the same instructions once more.
    pub(super) fn again(&mut self) -> Result<(), String> {
        let Some((start, program)) = &mut self.program else { return Ok(()) };
        let mut context = Context {
            memory: &self.memory,
            hint: 0,
            lds: std::mem::take(&mut self.lds),
            clock: 0,
            barriers: Barriers::new(self.waves.len() as u32, 0),
            wide_private: self.processor.generation() == Generation::Gfx125,
            numerics: target(self.processor).numerics(),
        };
        for wave in &mut self.waves {
            (wave.pc, wave.state, wave.executed) = (*start, State::Running, 0);
        }
        while self.waves.iter().any(|wave| wave.state != State::Ended) {
            let mut has_run = false;
            for wave in &mut self.waves {
                context.barriers.wakes(wave);
                if wave.state == State::Running {
                    has_run = true;
                    run_wave(wave, &mut context, program, LIMIT)
                        .map_err(|stopped| stopped.error.to_string())?;
                }
                if wave.executed >= LIMIT {
                    return Err("runs for too long".into());
                }
            }
            if !has_run {
                return Err("waits for ever".into());
            }
        }
        self.lds = context.lds;
        Ok(())
    }

    /// Assembles the program into memory.
    fn place(&mut self, text: &str) -> Result<u64, String> {
        let wave_size = if C == 8 { WaveSize::Wave64 } else { WaveSize::Wave32 };
        let options = DecodeOptions { wave_size: Some(wave_size), ..DecodeOptions::default() };
        let assembler =
            Assembler::new(self.processor, options).map_err(|error| error.to_string())?;
        let mut code = Vec::new();
        let lines = text.split([';', '\n']).map(str::trim).filter(|line| !line.is_empty());
        for line in lines.chain(["s_endpgm"]) {
            let statement =
                assembler.statement(line).map_err(|error| format!("{line}: {error}"))?;
            statement.encode(&mut code);
        }
        let start = self.memory.allocate(code.len() as u64).map_err(|it| it.to_string())?;
        self.memory.write(start, &code).map_err(|it| it.to_string())?;
        Ok(start)
    }
}

fn target(processor: Processor) -> Target {
    Target { processor, generation: processor.generation() }
}
