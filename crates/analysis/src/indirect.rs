//! Control flow with indirect jumps: blocks say what registers hold, and registers where jumps go.

use std::collections::BTreeMap;

use hsaco_isa::Decoder;
use hsaco_isa::effects::Flow;

use crate::cfg::Cfg;
use crate::stream::Stream;
use crate::value::Values;

/// How often newly found targets may lead to others.
const ROUNDS: usize = 8;

impl Cfg {
    /// The control flow of a stream, entered at its start.
    ///
    /// Calls do not end blocks. Indirect jumps go where the values of their registers say, where
    /// the stream itself makes these values.
    #[must_use]
    pub fn new(decoder: &Decoder, stream: &Stream<'_>) -> Self {
        let has_jumps = stream.has_flow(|flow| flow == Flow::IndirectJump);
        let mut known = BTreeMap::new();
        let mut cfg = Cfg::with_jumps(stream, &known);
        for _ in 0..if has_jumps { ROUNDS } else { 0 } {
            let found = Values::new(decoder, stream, &cfg).jumps();
            if found == known {
                break;
            }
            known = found;
            cfg = Cfg::with_jumps(stream, &known);
        }
        cfg
    }
}
