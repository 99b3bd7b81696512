//! Decoded code.

use std::sync::OnceLock;

use hsaco_analysis::{Cfg, Outlines, Step, Stream};
use hsaco_isa::Decoder;
use hsaco_isa::model::VgprMsb;

use crate::data::Data;

/// The instructions of a kernel.
#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) bytes: Data,
    pub(crate) decoder: Decoder,
    address: u64,
    outlines: Outlines,
    /// The upper bits of vector register numbers before each instruction, where the processor has them.
    states: Vec<VgprMsb>,
    cfg: OnceLock<Cfg>,
}

impl Code {
    pub(crate) fn decode(decoder: Decoder, address: u64, bytes: Data) -> Self {
        let stream = Stream::decode(&decoder, address, bytes.as_ref());
        let (states, outlines) = (states(&decoder, &stream), stream.into_outlines());
        Code { bytes, decoder, address, outlines, states, cfg: OnceLock::new() }
    }

    /// The instructions.
    #[inline]
    pub(crate) fn stream(&self) -> Stream<'_> {
        Stream::of_outlines(&self.outlines, self.address, self.bytes.as_ref())
    }

    /// The blocks.
    pub(crate) fn cfg(&self) -> &Cfg {
        self.cfg.get_or_init(|| Cfg::new(&self.decoder, &self.stream()))
    }

    /// The upper bits of vector register numbers before an instruction.
    pub(crate) fn state(&self, index: usize) -> VgprMsb {
        self.states.get(index).copied().unwrap_or_default()
    }
}

/// The states along the listing, as LLVM's disassembler follows them.
fn states(decoder: &Decoder, stream: &Stream<'_>) -> Vec<VgprMsb> {
    if !decoder.has_vgpr_msb() {
        return Vec::new();
    }
    let mut state = VgprMsb::default();
    let step = |step: Step| {
        let before = state;
        step.inst.iter().for_each(|inst| state.update(inst));
        before
    };
    stream.steps().map(step).collect()
}
