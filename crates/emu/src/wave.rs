//! A wave: its registers and what it waits for.
#![allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "registers are checked when steps are made"
)]

use std::sync::Arc;

use crate::error::{Error, ErrorKind};
use crate::matrix::Matrix;
use crate::snapshot::Registers;

/// One vector register, or a constant in all lanes: chunks of eight lanes. Two chunks are in one line of a host's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub(crate) struct Vector<const C: usize>(pub(crate) [[u32; 8]; C]);

impl<const C: usize> Vector<C> {
    /// Its lanes, as many at a time as the widest vectors of hosts have.
    #[inline(always)]
    pub(crate) fn sixteens(&self) -> &[[u32; 16]] {
        self.0.as_flattened().as_chunks().0
    }

    #[inline(always)]
    pub(crate) fn sixteens_mut(&mut self) -> &mut [[u32; 16]] {
        self.0.as_flattened_mut().as_chunks_mut().0
    }

    pub(crate) const ZERO: Self = Self([[0; 8]; C]);

    pub(crate) const fn splat(value: u32) -> Self {
        Self([[value; 8]; C])
    }

    /// All ones in these lanes, zero in the others.
    #[inline(always)]
    pub(crate) fn of_lanes(lanes: u64) -> Self {
        let mut mask = Self::ZERO;
        for (chunk, lanes) in mask.0.iter_mut().zip(lanes.to_le_bytes()) {
            for (lane, to) in chunk.iter_mut().enumerate() {
                // By comparison, which hosts have for vectors, and not by shifts, which differ from lane to lane.
                let is_set = u32::from(lanes) & 1 << lane != 0;
                *to = if is_set { u32::MAX } else { 0 };
            }
        }
        mask
    }

    #[inline]
    pub(crate) fn lane(&self, lane: usize) -> u32 {
        self.0[lane / 8 % C][lane % 8]
    }

    #[inline]
    pub(crate) fn set_lane(&mut self, lane: usize, value: u32) {
        self.0[lane / 8 % C][lane % 8] = value;
    }
}

/// Numbers of scalar registers beyond those that instructions number, in a wave's scalar file.
pub(crate) mod scalar {
    pub(crate) const VCC: u16 = 106;
    pub(crate) const TTMP: u16 = 108;
    pub(crate) const M0: u16 = 124;
    pub(crate) const EXEC: u16 = 126;
    pub(crate) const FLAT_SCRATCH: u16 = 128;
    pub(crate) const XNACK_MASK: u16 = 130;
    pub(crate) const TBA: u16 = 132;
    pub(crate) const TMA: u16 = 134;
    pub(crate) const SHARED_BASE: u16 = 136;
    pub(crate) const SHARED_LIMIT: u16 = 138;
    pub(crate) const PRIVATE_BASE: u16 = 140;
    pub(crate) const PRIVATE_LIMIT: u16 = 142;
    pub(crate) const FLAT_SCRATCH_BASE: u16 = 144;
    /// Where results go that nothing reads; up to 16 registers.
    pub(crate) const SINK: u16 = 160;
    /// SCC, VCCZ and EXECZ as numbers of 64 bits, filled in before they are read.
    pub(crate) const FLAG: u16 = 148;
    /// Constants begin here.
    pub(crate) const CONSTANTS: u16 = 192;
}

/// A barrier that a wave can wait at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Workgroup,
    /// By number, from 1 on.
    Named(u8),
    /// Of all workgroups of a cluster.
    Cluster,
    /// Of the whole dispatch, by number.
    Grid(u8),
}

/// What a wave has to remember for errata.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trail {
    /// Registers of the last integer matrix instruction, first and count.
    pub(crate) matrix: Vec<(u16, u16)>,
    /// Vector instructions since.
    pub(crate) slots: u8,
    /// Whether a vector memory instruction has run.
    pub(crate) has_accessed: bool,
}

/// What a wave is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Running,
    /// Waits at a barrier.
    Waiting(Which),
    Ended,
    Failed,
}

/// Which space the addresses of an access are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Global,
    /// Global, shared or private, by the address.
    Flat,
    Lds,
    /// Offsets in a lane's own memory.
    Private,
}

/// Where vector registers are in a wave's file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) vgprs: u16,
    pub(crate) agprs: u16,
}

impl Layout {
    /// Registers for values within one instruction.
    pub(crate) const TEMPORARIES: u16 = 40;

    pub(crate) fn temporary(self) -> u16 {
        self.vgprs + self.agprs
    }

    pub(crate) fn constants(self) -> u16 {
        self.temporary() + Self::TEMPORARIES
    }
}

/// One wave of `C` times eight lanes.
pub(crate) struct Wave<const C: usize> {
    pub(crate) v: Vec<Vector<C>>,
    pub(crate) s: Vec<u32>,
    /// Matrix operations of the program, as far as it has been translated.
    pub(crate) matrices: Vec<Arc<Matrix>>,
    /// The lanes that vector instructions work on: EXEC, or fewer within one instruction.
    pub(crate) active: u64,
    /// The same as a vector of zeros and ones.
    pub(crate) mask: Vector<C>,
    /// Whether all lanes are active.
    pub(crate) full: bool,
    pub(crate) scc: bool,
    /// Whether a step has asked to stop.
    pub(crate) stop: bool,
    pub(crate) state: State,
    pub(crate) pc: u64,
    pub(crate) mode: Mode,
    /// What the trap handler or the debugger would set; read by s_getreg.
    pub(crate) hardware: Hardware,
    /// Upper bits of vector register numbers, as s_set_vgpr_msb has set them.
    pub(crate) msb: u16,
    /// Whether vector register numbers are relative to M0: the four bits of s_set_gpr_idx_on.
    pub(crate) index_mode: u8,
    /// Addresses of an access.
    pub(crate) addresses: [u64; 64],
    /// Lanes whose address may be accessed; others read zero and write nothing.
    pub(crate) valid: u64,
    /// How many words of a buffer may be accessed, where a lane is not valid.
    pub(crate) reach: [u8; 64],
    pub(crate) space: Space,
    /// Memory of lanes: words of all lanes after each other.
    pub(crate) scratch: Vec<u32>,
    pub(crate) failure: Option<Failure>,
    pub(crate) executed: u64,
    /// How often it has gone through the barrier of the workgroup, the named one that it has joined, that of the cluster, and
    /// one of the dispatch.
    pub(crate) barriers_seen: [u32; 4],
    /// The named barrier that it has joined; 0 is none.
    pub(crate) joined: u8,
    /// Whether others are to run next.
    pub(crate) yields: bool,
    /// What counts for errata of a device.
    pub(crate) errata: Trail,
}

/// Why a wave has stopped.
pub(crate) struct Failure {
    pub(crate) error: Error,
    pub(crate) lanes: u64,
}

/// Numbers that identify where a wave runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hardware {
    pub(crate) lds_words: u32,
    /// What tells a wave that it is in a cluster: not zero. Of the hardware's number nothing more is known.
    pub(crate) cluster: u32,
}

/// The fields of MODE that change results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Mode(pub(crate) u32);

impl<const C: usize> Wave<C> {
    pub(crate) const LANES: usize = C * 8;
    pub(crate) const ALL: u64 = if C == 8 { u64::MAX } else { (1 << (C * 8)) - 1 };

    /// A wave with so many vector registers and words of scratch for each lane, all zero; `spare` is one whose memory
    /// can be used again.
    pub(crate) fn new(registers: u16, scratch_words: usize, spare: Option<Self>) -> Self {
        let (mut v, mut scratch) =
            spare.map_or_else(Default::default, |wave| (wave.v, wave.scratch));
        v.clear();
        v.resize(usize::from(registers), Vector::ZERO);
        scratch.clear();
        scratch.resize(scratch_words * Self::LANES, 0);
        Self {
            v,
            s: vec![0; usize::from(scalar::CONSTANTS)],
            matrices: Vec::new(),
            active: 0,
            mask: Vector::ZERO,
            full: false,
            scc: false,
            stop: false,
            state: State::Running,
            pc: 0,
            mode: Mode::default(),
            hardware: Hardware::default(),
            msb: 0,
            index_mode: 0,
            addresses: [0; 64],
            valid: 0,
            reach: [0; 64],
            space: Space::Global,
            scratch,
            failure: None,
            executed: 0,
            barriers_seen: [0; 4],
            joined: 0,
            yields: false,
            errata: Trail::default(),
        }
    }

    #[inline]
    pub(crate) fn exec(&self) -> u64 {
        self.pair(scalar::EXEC) & Self::ALL
    }

    /// Two scalar registers as one number.
    #[inline]
    pub(crate) fn pair(&self, first: u16) -> u64 {
        let at = usize::from(first);
        u64::from(self.s[at]) | u64::from(self.s[at + 1]) << 32
    }

    #[inline]
    pub(crate) fn set_pair(&mut self, first: u16, value: u64) {
        let at = usize::from(first);
        self.s[at] = value as u32;
        self.s[at + 1] = (value >> 32) as u32;
    }

    /// A lane mask: one register in waves of 32 lanes.
    #[inline]
    pub(crate) fn lane_mask(&self, first: u16) -> u64 {
        if C == 8 { self.pair(first) } else { u64::from(self.s[usize::from(first)]) }
    }

    #[inline]
    pub(crate) fn set_lane_mask(&mut self, first: u16, mask: u64) {
        if C == 8 {
            self.set_pair(first, mask);
        } else {
            self.s[usize::from(first)] = mask as u32;
        }
    }

    /// Makes EXEC what vector instructions go by.
    #[inline]
    pub(crate) fn sync_exec(&mut self) {
        self.set_active(self.exec());
    }

    #[inline]
    pub(crate) fn set_active(&mut self, lanes: u64) {
        self.active = lanes;
        self.full = lanes == Self::ALL;
        if !self.full {
            self.mask = Vector::of_lanes(lanes);
        }
    }

    /// Writes one register in the active lanes.
    #[inline]
    pub(crate) fn write(&mut self, register: u16, value: &Vector<C>) {
        let to = &mut self.v[usize::from(register)];
        if self.full {
            *to = *value;
            return;
        }
        for ((to, from), mask) in to.0.iter_mut().zip(&value.0).zip(&self.mask.0) {
            for ((to, from), mask) in to.iter_mut().zip(from).zip(mask) {
                *to = *from & mask | *to & !mask;
            }
        }
    }

    /// How often the wave has gone through a barrier.
    pub(crate) fn seen(&mut self, which: Which) -> &mut u32 {
        match which {
            Which::Workgroup => &mut self.barriers_seen[0],
            Which::Named(_) => &mut self.barriers_seen[1],
            Which::Cluster => &mut self.barriers_seen[2],
            Which::Grid(_) => &mut self.barriers_seen[3],
        }
    }

    /// Takes these values into its registers; those that are not listed keep theirs.
    pub(crate) fn set_registers(&mut self, registers: &Registers) {
        for (to, from) in self.s.iter_mut().zip(&registers.scalars).take(usize::from(scalar::VCC)) {
            *to = *from;
        }
        self.set_pair(scalar::VCC, registers.vcc);
        self.set_pair(scalar::EXEC, registers.exec & Self::ALL);
        self.s[usize::from(scalar::M0)] = registers.m0;
        self.scc = registers.scc;
        self.mode = Mode(registers.mode);
        let vectors = registers.vectors.iter().chain(&registers.accumulators);
        for (vector, lanes) in self.v.iter_mut().zip(vectors) {
            for (lane, value) in lanes.iter().enumerate().take(Self::LANES) {
                vector.set_lane(lane, *value);
            }
        }
    }

    /// What its registers hold.
    pub(crate) fn registers(&self, layout: Layout) -> Registers {
        let lanes = |at: usize| {
            let lane = |lane| self.v.get(at).map_or(0, |vector| vector.lane(lane));
            (0..Self::LANES).map(lane).collect()
        };
        let (vgprs, agprs) = (usize::from(layout.vgprs), usize::from(layout.agprs));
        Registers {
            scalars: self.s.iter().take(usize::from(scalar::VCC)).copied().collect(),
            vcc: self.lane_mask(scalar::VCC),
            exec: self.exec(),
            m0: self.s[usize::from(scalar::M0)],
            scc: self.scc,
            mode: self.mode.0,
            vectors: (0..vgprs).map(lanes).collect(),
            accumulators: (vgprs..vgprs + agprs).map(lanes).collect(),
        }
    }

    /// A wave with all lanes active and so many vector registers, for tests of single instructions.
    #[cfg(test)]
    pub(crate) fn blank(registers: usize) -> Self {
        let mut wave = Self::new(u16::try_from(registers).unwrap_or(u16::MAX), 0, None);
        wave.mode = Mode(0xf0);
        wave.set_pair(scalar::EXEC, Self::ALL);
        wave.sync_exec();
        wave
    }

    /// The same for an access to an address.
    #[cold]
    pub(crate) fn fail_at(&mut self, kind: ErrorKind, lanes: u64, address: u64, detail: String) {
        self.fail(kind, lanes, detail);
        if let Some(failure) = self.failure.take() {
            let error = failure.error.of_access(address);
            self.failure = Some(Failure { error, ..failure });
        }
    }

    #[cold]
    pub(crate) fn fail(&mut self, kind: ErrorKind, lanes: u64, detail: impl Into<String>) {
        self.failure = Some(Failure { error: Error::new(kind, detail), lanes });
        self.state = State::Failed;
        self.stop = true;
    }
}

/// The lanes of a mask, the lowest first.
pub(crate) fn lanes(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros();
        if lane == 64 {
            return None;
        }
        mask &= mask - 1;
        Some(lane as usize)
    })
}
