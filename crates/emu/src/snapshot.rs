//! What the registers of a wave hold, kept to say why a program stopped.

use std::fmt;

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
