//! The instructions of a function, column by column: a page of many thousand stays small.

use hsaco_analysis::{Awaited, LiveCounts, awaited};
use hsaco_describe::body::Body;
use hsaco_describe::mix::Class;
use hsaco_draw::Graph;
use hsaco_isa::model::VgprMsb;
use serde::Serialize;

/// Columns; an instruction is a number.
#[derive(Debug)]
pub(crate) struct CodeColumns {
    /// Lines.
    pub(crate) texts: String,
    /// Bytes of each, as words: a digit, or a letter from ten on.
    pub(crate) sizes: String,
    /// The class of each, by its letter: `a` is the first of the report's list.
    pub(crate) classes: String,
    pub(crate) live_vgprs: Column,
    pub(crate) live_agprs: Column,
    pub(crate) live_sgprs: Column,
    /// For each wait the operations that it waits for, with the counter.
    pub(crate) waits: Vec<Wait>,
}

/// An instruction, and the operations that it waits for.
type Wait = (usize, Vec<(usize, &'static str)>);

/// Numbers; null where they are not known. Nothing where all are zero.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Column(Vec<Option<usize>>);

impl Column {
    fn new(live: &[LiveCounts], of: fn(&LiveCounts) -> Option<usize>) -> Self {
        let column: Vec<Option<usize>> = live.iter().map(of).collect();
        let is_zero = column.iter().all(|it| *it == Some(0));
        Self(if is_zero { Vec::new() } else { column })
    }
}

impl CodeColumns {
    pub(crate) fn new(body: &Body<'_>, graph: &Graph) -> Self {
        let lines = graph.blocks.iter().flat_map(|it| &it.instructions);
        let mut texts = String::new();
        for line in lines {
            texts.push_str(&line.text);
            texts.push('\n');
        }
        texts.pop();
        let stream = body.stream();
        let words = |step| u32::try_from(stream.bytes(step).len() / 4).unwrap_or(0);
        let size = |step| char::from_digit(words(step), 36).unwrap_or('0');
        let live = body.live();
        Self {
            texts,
            sizes: (0..stream.len()).map(size).collect(),
            classes: body.classes().into_iter().map(letter).collect(),
            live_vgprs: Column::new(live, |it| it.vgprs),
            live_agprs: Column::new(live, |it| it.agprs),
            live_sgprs: Column::new(live, |it| it.sgprs),
            waits: waits(&awaited(body.decoder(), stream, body.cfg())),
        }
    }
}

/// The letter of a class.
fn letter(class: Class) -> char {
    char::from(b'a' + class as u8)
}

fn waits(awaited: &[Awaited]) -> Vec<Wait> {
    let by_wait = awaited.chunk_by(|a, b| a.wait == b.wait);
    let operations =
        |it: &[Awaited]| it.iter().map(|it| (it.operation, it.counter.name())).collect();
    by_wait.filter_map(|it| Some((it.first()?.wait, operations(it)))).collect()
}

/// The texts of a function's instructions, as listings have them.
pub(crate) fn texts(body: &Body<'_>) -> Vec<String> {
    let mut msb = VgprMsb::default();
    let text = |step: hsaco_analysis::Step| {
        let Some(inst) = step.inst else {
            msb = VgprMsb::default();
            return String::new();
        };
        let mut text = Vec::new();
        body.decoder().print_after(&inst, msb, &mut text);
        msb.update(&inst);
        String::from_utf8_lossy(&text).into_owned()
    };
    body.stream().steps().map(text).collect()
}
