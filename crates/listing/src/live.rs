//! How many registers are live before each instruction.

use std::ops::Range;
use std::sync::OnceLock;

use hsaco_analysis::{Cfg, Code, Function, LiveCounts};
use hsaco_isa::Decoder;

use crate::lister::EachNumber;

/// The counts of an object, by function and instruction.
pub(crate) struct Live<'a> {
    functions: Vec<Lines>,
    code: Code<'a>,
}

/// The counts of one function.
struct Lines {
    address: u64,
    /// By the address of the instruction.
    counts: Vec<(u64, LiveCounts)>,
}

impl<'a> Live<'a> {
    /// Works them out for the functions that have code in some ranges of sections. Each is decoded as the hardware runs it,
    /// whatever the listing shows.
    pub(crate) fn new(
        code: Code<'a>,
        shown: impl Iterator<Item = (usize, Range<u64>)>,
        each: EachNumber,
    ) -> Self {
        let mut live = Self { functions: Vec::new(), code };
        let mut shown: Vec<_> = shown
            .map(|(section, range)| {
                let start = live.start(section);
                start.wrapping_add(range.start)..start.wrapping_add(range.end)
            })
            .collect();
        shown.sort_by_key(|range| range.start);
        let is_shown = |it: &&Function<'_>| {
            let before = shown.partition_point(|range| range.start < it.end());
            let last = before.checked_sub(1).and_then(|at| shown.get(at));
            last.is_some_and(|range| range.end > it.address)
        };
        let code = &live.code;
        let functions = code.functions().as_slice();
        let wanted: Vec<&Function<'_>> = functions.iter().filter(is_shown).collect();
        let lines: Vec<OnceLock<Lines>> = wanted.iter().map(|_| OnceLock::new()).collect();
        each(wanted.len(), &|number| {
            if let Some((function, place)) = wanted.get(number).zip(lines.get(number)) {
                place.get_or_init(|| Lines::new(&code.decoder(function), function));
            }
        });
        live.functions = lines.into_iter().filter_map(OnceLock::into_inner).collect();
        live.functions.sort_by_key(|it| it.address);
        live
    }

    /// What is added to the addresses of a section, so that those of several differ: all of them begin at zero in
    /// objects that are not linked.
    pub(crate) fn start(&self, section: usize) -> u64 {
        u32::try_from(section).map_or(0, |section| self.code.map().address_of(section, 0))
    }

    /// What is live before the instruction at an address with that added; none for what is in no function, such as padding.
    pub(crate) fn at(&self, address: u64) -> Option<LiveCounts> {
        let function = self.functions.partition_point(|it| it.address <= address).checked_sub(1)?;
        let counts = &self.functions.get(function)?.counts;
        let found = counts.binary_search_by_key(&address, |it| it.0).ok()?;
        counts.get(found).map(|it| it.1)
    }
}

impl Lines {
    fn new(decoder: &Decoder, function: &Function<'_>) -> Self {
        let stream = function.decode(decoder);
        let cfg = Cfg::new(decoder, &stream);
        let counts = LiveCounts::of(decoder, &stream, &cfg);
        let addresses = (0..counts.len()).map(|it| stream.address_of(it));
        let counts = addresses.zip(counts).collect();
        Self { address: function.address, counts }
    }
}
