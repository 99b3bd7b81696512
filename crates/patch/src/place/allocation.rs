//! What replacements have kernels allocate.

use hsaco_isa::model::{Register, RegisterFile};

use crate::manifest::Record;
use crate::plan::Requests;

/// What replacements have a kernel allocate: one more than the highest scalar and vector register that they name, and
/// bytes of scratch memory.
#[derive(Clone, Copy, Default)]
pub(crate) struct Allocation {
    pub(crate) sgprs: u16,
    pub(crate) vgprs: u16,
    pub(crate) private_segment: u32,
}

impl Allocation {
    /// What some registers take.
    pub(super) fn of(registers: &[Register]) -> Self {
        let end = |file: RegisterFile| {
            let of_file = registers.iter().filter(|it| it.file == file);
            of_file.map(|it| it.first + u16::from(it.count.max(1))).max().unwrap_or(0)
        };
        let (sgprs, vgprs) = (end(RegisterFile::Sgpr), end(RegisterFile::Vgpr));
        Allocation { sgprs, vgprs, private_segment: 0 }
    }

    pub(super) fn join(&mut self, other: Self) {
        self.sgprs = self.sgprs.max(other.sgprs);
        self.vgprs = self.vgprs.max(other.vgprs);
        self.private_segment = self.private_segment.max(other.private_segment);
    }
}

/// What the replacements of a function take.
pub(super) fn allocation(requests: &Requests, records: &[Record]) -> Allocation {
    let mut all = Allocation { private_segment: requests.private_segment, ..Allocation::default() };
    let pairs: Vec<Register> = records.iter().filter_map(|record| record.pair).collect();
    all.join(Allocation::of(&pairs));
    requests.windows.iter().for_each(|window| all.join(Allocation::of(&window.scratch_registers)));
    all
}
