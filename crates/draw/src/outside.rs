//! What pictures have beside blocks: the places outside that a block calls or leaves to.

use crate::flow::{EdgeKind, Exit, Graph};

/// A place outside, beside the block that goes there.
pub(crate) struct Outside {
    pub(crate) from: usize,
    pub(crate) kind: EdgeKind,
    pub(crate) words: String,
}

/// The places outside, each once for a block.
pub(crate) fn outsides(graph: &Graph) -> Vec<Outside> {
    let mut outsides: Vec<Outside> = Vec::new();
    for (from, block) in graph.blocks.iter().enumerate() {
        let calls = block.calls.iter().map(|it| (EdgeKind::Call, it.callee.words()));
        let exit = block.exit.as_ref().and_then(Exit::target);
        let start = outsides.len();
        for (kind, words) in calls.chain(exit) {
            let own = outsides.iter().skip(start);
            if !own.into_iter().any(|it| it.kind == kind && it.words == words) {
                outsides.push(Outside { from, kind, words });
            }
        }
    }
    outsides
}
