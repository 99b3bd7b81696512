//! What the registers of a wave hold, kept to say why a program stopped.

use std::fmt;

use crate::translate::Layout;
use crate::wave::{Mode, Wave, scalar};

/// The registers of a wave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Registers {
    /// s0 and those after it.
    pub scalars: Vec<u32>,
    /// VCC.
    pub vcc: u64,
    /// The lanes that are enabled.
    pub exec: u64,
    /// M0.
    pub m0: u32,
    /// Whether SCC is set.
    pub scc: bool,
    /// MODE.
    pub mode: u32,
    /// v0 and those after it, each with a value for every lane.
    pub vectors: Vec<Vec<u32>>,
    /// a0 and those after it.
    pub accumulators: Vec<Vec<u32>>,
}

impl Registers {
    /// Gives the registers of a wave these values; those that are not listed keep theirs.
    pub(crate) fn put<const C: usize>(&self, wave: &mut Wave<C>) {
        for (to, from) in wave.s.iter_mut().zip(&self.scalars).take(usize::from(scalar::VCC)) {
            *to = *from;
        }
        wave.set_pair(scalar::VCC, self.vcc);
        wave.set_pair(scalar::EXEC, self.exec & Wave::<C>::ALL);
        if let Some(m0) = wave.s.get_mut(usize::from(scalar::M0)) {
            *m0 = self.m0;
        }
        wave.scc = self.scc;
        wave.mode = Mode(self.mode);
        let registers = self.vectors.iter().chain(&self.accumulators);
        for (vector, lanes) in wave.v.iter_mut().zip(registers) {
            for (lane, value) in lanes.iter().enumerate().take(Wave::<C>::LANES) {
                vector.set_lane(lane, *value);
            }
        }
    }

    pub(crate) fn of<const C: usize>(wave: &Wave<C>, layout: Layout) -> Self {
        let lanes = |at: usize| {
            let lane = |lane| wave.v.get(at).map_or(0, |vector| vector.lane(lane));
            (0..Wave::<C>::LANES).map(lane).collect()
        };
        let (vgprs, agprs) = (usize::from(layout.vgprs), usize::from(layout.agprs));
        Self {
            scalars: wave.s.iter().take(usize::from(scalar::VCC)).copied().collect(),
            vcc: wave.lane_mask(scalar::VCC),
            exec: wave.exec(),
            m0: wave.s.get(usize::from(scalar::M0)).copied().unwrap_or(0),
            scc: wave.scc,
            mode: wave.mode.0,
            vectors: (0..vgprs).map(lanes).collect(),
            accumulators: (vgprs..vgprs + agprs).map(lanes).collect(),
        }
    }
}

impl fmt::Display for Registers {
    /// One line for eight values, each with the register of the first and, for vectors, its lane.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "exec {:#x}  vcc {:#x}  m0 {:#x}  scc {}  mode {:#x}",
            self.exec,
            self.vcc,
            self.m0,
            u8::from(self.scc),
            self.mode
        )?;
        for (at, values) in self.scalars.chunks(8).enumerate() {
            line(f, &format!("s{}", at * 8), values)?;
        }
        for (file, registers) in [("v", &self.vectors), ("a", &self.accumulators)] {
            for (number, lanes) in registers.iter().enumerate() {
                for (at, values) in lanes.chunks(8).enumerate() {
                    line(f, &format!("{file}{number}[{}]", at * 8), values)?;
                }
            }
        }
        Ok(())
    }
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, values: &[u32]) -> fmt::Result {
    write!(f, "{name:<8}")?;
    for value in values {
        write!(f, " {value:08x}")?;
    }
    writeln!(f)
}
