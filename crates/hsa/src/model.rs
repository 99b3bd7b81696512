//! Devices that there are: what a board of each target reports about itself.
//!
//! What code can see of a processor comes from `isa`'s limits. The rest, here, is what AMD publishes of one board with
//! it; numbers of gfx1250, of which no board is sold, are those of its predecessor. No program's result depends on it.

use hsaco_emu::Revision;
use hsaco_isa::{Processor, TargetId};

/// A board.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) target: TargetId,
    pub(crate) product: String,
    pub(crate) chip_id: u32,
    pub(crate) compute_units: u32,
    pub(crate) shader_engines: u32,
    pub(crate) arrays_per_engine: u32,
    /// MHz.
    pub(crate) clock: u32,
    pub(crate) memory_clock: u32,
    pub(crate) memory_bits: u32,
    /// Bytes of each level.
    pub(crate) caches: [u32; 3],
    pub(crate) dies: u32,
    /// Bytes of its memory.
    pub(crate) memory: u64,
    /// Its silicon.
    pub(crate) revision: Revision,
}

/// Memory of a device where none is set: less than boards have, so that programs that fill it end.
pub(crate) const DEFAULT_MEMORY: u64 = 16 << 30;

struct Row {
    target: &'static str,
    product: &'static str,
    chip_id: u32,
    compute_units: u32,
    engines: [u32; 2],
    clocks: [u32; 2],
    memory_bits: u32,
    caches: [u32; 3],
    dies: u32,
}

const KIB: u32 = 1 << 10;
const MIB: u32 = 1 << 20;

#[rustfmt::skip]
const ROWS: [Row; 8] = [
    Row { target: "gfx90a:sramecc+:xnack-", product: "AMD Instinct MI250X", chip_id: 0x740c, compute_units: 104, engines: [8, 1],
          clocks: [1700, 1600], memory_bits: 4096, caches: [16 * KIB, 8 * MIB, 0], dies: 1 },
    Row { target: "gfx942:sramecc+:xnack-", product: "AMD Instinct MI300X", chip_id: 0x74a1, compute_units: 304, engines: [32, 1],
          clocks: [2100, 1300], memory_bits: 8192, caches: [32 * KIB, 4 * MIB, 256 * MIB], dies: 8 },
    Row { target: "gfx950:sramecc+:xnack-", product: "AMD Instinct MI350X", chip_id: 0x75a0, compute_units: 256, engines: [32, 1],
          clocks: [2200, 2000], memory_bits: 8192, caches: [32 * KIB, 4 * MIB, 256 * MIB], dies: 8 },
    Row { target: "gfx1030", product: "AMD Radeon RX 6800 XT", chip_id: 0x73bf, compute_units: 72, engines: [4, 2],
          clocks: [2575, 1000], memory_bits: 256, caches: [16 * KIB, 4 * MIB, 128 * MIB], dies: 1 },
    Row { target: "gfx1100", product: "AMD Radeon RX 7900 XTX", chip_id: 0x744c, compute_units: 96, engines: [6, 2],
          clocks: [2371, 1249], memory_bits: 384, caches: [32 * KIB, 6 * MIB, 96 * MIB], dies: 1 },
    Row { target: "gfx1151", product: "AMD Radeon 8060S Graphics", chip_id: 0x1586, compute_units: 40, engines: [2, 2],
          clocks: [2900, 1000], memory_bits: 256, caches: [32 * KIB, 2 * MIB, 32 * MIB], dies: 1 },
    Row { target: "gfx1201", product: "AMD Radeon RX 9070 XT", chip_id: 0x7550, compute_units: 64, engines: [4, 2],
          clocks: [2400, 1258], memory_bits: 256, caches: [32 * KIB, 8 * MIB, 64 * MIB], dies: 1 },
    Row { target: "gfx1250", product: "AMD gfx1250", chip_id: 0x75b0, compute_units: 256, engines: [32, 1],
          clocks: [2200, 2000], memory_bits: 8192, caches: [32 * KIB, 4 * MIB, 256 * MIB], dies: 8 },
];

impl Model {
    /// The board of a target; what the name leaves open of features is as boards have it.
    pub(crate) fn new(name: &str) -> Result<Self, String> {
        let asked: TargetId = name.parse().map_err(|_| format!("there is no target `{name}`"))?;
        let is_it = |row: &&Row| Self::processor(row.target) == Some(asked.processor);
        let Some(row) = ROWS.iter().find(is_it) else {
            let known: Vec<_> = ROWS.iter().filter_map(|it| it.target.split(':').next()).collect();
            return Err(format!("{name} is not emulated; these are: {}", known.join(", ")));
        };
        let target = if name.contains(':') { name } else { row.target };
        Ok(Self {
            target: target.parse().map_err(|_| format!("there is no target `{target}`"))?,
            product: row.product.to_owned(),
            chip_id: row.chip_id,
            compute_units: row.compute_units,
            shader_engines: row.engines[0],
            arrays_per_engine: row.engines[1],
            clock: row.clocks[0],
            memory_clock: row.clocks[1],
            memory_bits: row.memory_bits,
            caches: row.caches,
            dies: row.dies,
            memory: DEFAULT_MEMORY,
            revision: Revision::default(),
        })
    }

    fn processor(target: &str) -> Option<Processor> {
        target.parse::<TargetId>().ok().map(|it| it.processor)
    }

    /// Lanes of a wave, where a kernel does not say.
    pub(crate) fn wave_size(&self) -> u32 {
        let limits = self.target.processor.limits();
        if limits.wave32.is_some() { 32 } else { 64 }
    }
}
