//! A function, decoded once: its loops, what its instructions are, and how many registers are live where.

use std::cell::OnceCell;

use hsaco_analysis::{BlockId, Cfg, Code, Dominators, Function, LiveCounts, LoopId, Loops, Stream};
use hsaco_bytes::Id;
use hsaco_dwarf::DebugInfo;
use hsaco_isa::Decoder;
use serde::Serialize;

use crate::mix::{Class, Mix};

/// A function's instructions, blocks and loops.
///
/// ```
/// use hsaco_analysis::Code;
/// use hsaco_describe::body::Body;
/// # let file = std::fs::read("../../tests/fixtures/flow.co")?;
/// let code = Code::of(&hsaco_object::CodeObject::parse(&file)?)?;
/// let debug = code.debug()?;
/// let loops = code.functions().as_slice().iter().map(|it| Body::new(&code, it).loops(Some(&debug)).len());
/// assert_eq!(loops.max(), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Body<'a> {
    decoder: Decoder,
    stream: Stream<'a>,
    cfg: Cfg,
    loops: Loops,
    live: OnceCell<Vec<LiveCounts>>,
}

/// A loop, with all that is in it.
#[derive(Clone, Debug, Serialize)]
pub struct LoopRow {
    /// Its number in the function; outer loops come first.
    pub index: usize,
    /// The loop around it.
    pub parent: Option<usize>,
    /// 1 for a loop that is in no other.
    pub depth: usize,
    /// The block through which it is entered, by number.
    pub header: usize,
    /// The address of that block.
    pub address: u64,
    /// The source file that it comes from.
    pub file: Option<String>,
    /// The line there.
    pub line: Option<u32>,
    /// Its blocks by number, those of inner loops among them.
    pub blocks: Vec<usize>,
    /// What its instructions are.
    pub mix: Mix,
    /// The most registers that are live in it.
    pub live: LivePeaks,
}

/// Where the most registers are live.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LivePeaks {
    /// Of vector registers.
    pub vgprs: Option<LivePeak>,
    /// Of accumulation registers.
    pub agprs: Option<LivePeak>,
    /// Of scalar registers.
    pub sgprs: Option<LivePeak>,
    /// Whether the numbers are known at all instructions; else there may be more live where they are not.
    pub complete: bool,
}

/// The first instruction before which the most registers are live.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LivePeak {
    /// How many.
    pub count: u64,
    /// Where.
    pub address: u64,
    /// The source file that the instruction comes from.
    pub file: Option<String>,
    /// The line there.
    pub line: Option<u32>,
}

impl<'a> Body<'a> {
    /// Decodes a function.
    #[must_use]
    pub fn new(code: &Code<'_>, function: &Function<'a>) -> Self {
        let decoder = code.decoder(function);
        let stream = function.decode(&decoder);
        let cfg = Cfg::new(&decoder, &stream);
        let loops = Loops::new(&cfg, &Dominators::new(&cfg));
        Self { decoder, stream, cfg, loops, live: OnceCell::new() }
    }

    /// What decodes it.
    #[must_use]
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// The classes of its instructions, by number.
    #[must_use]
    pub fn classes(&self) -> Vec<Class> {
        Class::of_all(&self.decoder, &self.stream)
    }

    /// Its instructions.
    #[must_use]
    pub fn stream(&self) -> &Stream<'a> {
        &self.stream
    }

    /// Its blocks.
    #[must_use]
    pub fn cfg(&self) -> &Cfg {
        &self.cfg
    }

    /// The registers that are live before each instruction.
    pub fn live(&self) -> &[LiveCounts] {
        self.live.get_or_init(|| LiveCounts::of(&self.decoder, &self.stream, &self.cfg))
    }

    /// What its instructions are.
    #[must_use]
    pub fn mix(&self) -> Mix {
        Mix::of(&self.decoder, &self.stream, 0..self.stream.len())
    }

    /// Where the most registers are live.
    #[must_use]
    pub fn peaks(&self, debug: Option<&DebugInfo<'_>>) -> LivePeaks {
        self.peaks_of(&(0..self.stream.len()), debug)
    }

    /// Its loops, outer ones first.
    #[must_use]
    pub fn loops(&self, debug: Option<&DebugInfo<'_>>) -> Vec<LoopRow> {
        self.loops.loops().ids().map(|id| self.row(id, debug)).collect()
    }

    fn row(&self, id: LoopId, debug: Option<&DebugInfo<'_>>) -> LoopRow {
        let ring = self.loops.loops()[id];
        let blocks: Vec<BlockId> = self.loops.blocks(id).collect();
        let steps = || blocks.iter().flat_map(|it| self.cfg.blocks()[*it].steps());
        let address = self.stream.address_of(self.cfg.blocks()[ring.header].first);
        let (file, line) = place(debug, address);
        LoopRow {
            index: id.index(),
            parent: ring.parent.map(Id::index),
            depth: self.loops.around(ring.header).count(),
            header: ring.header.index(),
            address,
            file,
            line,
            mix: Mix::of(&self.decoder, &self.stream, steps()),
            live: self.peaks_of(&steps(), debug),
            blocks: blocks.into_iter().map(Id::index).collect(),
        }
    }

    fn peaks_of(
        &self,
        steps: &(impl Iterator<Item = usize> + Clone),
        debug: Option<&DebugInfo<'_>>,
    ) -> LivePeaks {
        let live = self.live();
        let peak = |of: fn(&LiveCounts) -> Option<usize>| {
            let mut most: Option<(usize, usize)> = None;
            for step in steps.clone() {
                if let Some(count) = live.get(step).and_then(of)
                    && most.is_none_or(|(before, _)| count > before)
                {
                    most = Some((count, step));
                }
            }
            most.map(|(count, step)| {
                let address = self.stream.address_of(step);
                let (file, line) = place(debug, address);
                LivePeak { count: count as u64, address, file, line }
            })
        };
        LivePeaks {
            vgprs: peak(|it| it.vgprs),
            agprs: peak(|it| it.agprs),
            sgprs: peak(|it| it.sgprs),
            complete: steps.clone().all(|it| live.get(it).is_some_and(|it| it.is_known())),
        }
    }
}

/// The file and line that an instruction comes from.
fn place(debug: Option<&DebugInfo<'_>>, address: u64) -> (Option<String>, Option<u32>) {
    let location = debug.and_then(|it| it.location(address).ok()?);
    (location.map(|it| it.file.to_owned()), location.and_then(|it| it.line))
}
