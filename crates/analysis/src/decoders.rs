//! The decoders that an object's code takes: the one place that chooses them.

use std::collections::BTreeMap;
use std::sync::Arc;

use hsaco_isa::decoder::{DecodeOptions, DecoderCache, Mode, UnsupportedProcessor};
use hsaco_isa::model::Form;
use hsaco_isa::target::{Generation, WaveSize};
use hsaco_isa::{Decoder, Processor};
use hsaco_object::{CodeMap, CodeObject, CodeRange, Index, Kernel};

use crate::function::Function;
use crate::stream::instructions;

/// How code is read, and which text it has. Each function is judged by its own code, so that decoding a kernel touches
/// no other.
///
/// It is read as the hardware runs it: bits that the hardware ignores may be anything, 16-bit operands name halves of
/// registers where that decodes as much, and waves have the size that the kernel's descriptor says. The text is LLVM's
/// wherever LLVM decodes the code: 16-bit operands are spelled otherwise only where that leaves fewer words undecoded, and
/// waves are of LLVM's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    processor: Processor,
    read: DecodeOptions,
    shown: DecodeOptions,
    /// Whether any part of the code would be read and shown alike if it were judged alone.
    holds_for_parts: bool,
}

impl Reading {
    /// How all code for a processor is read, but for what `asked` says already; nothing where that takes a look at it.
    fn of_processor(processor: Processor, asked: DecodeOptions) -> Option<Self> {
        let is_known = asked.real_true16.is_some() || processor.generation() < Generation::Gfx11;
        let reading = Reading { processor, read: asked, shown: asked, holds_for_parts: true };
        is_known.then_some(reading)
    }

    /// How code is read of which that is known without a look at it: on gfx125 16-bit operands name halves of registers,
    /// whatever LLVM calls them.
    #[must_use]
    pub fn without_look(processor: Processor) -> Option<Self> {
        let asked = match processor.generation() {
            Generation::Gfx125 => DecodeOptions { real_true16: Some(true), ..LENIENT },
            _ => LENIENT,
        };
        Some(Reading { shown: LENIENT, ..Self::of_processor(processor, asked)? })
    }

    /// How the code of an object is read as a whole.
    pub fn of_object(
        object: &CodeObject<'_>,
        processor: Processor,
        asked: DecodeOptions,
        cache: &DecoderCache,
    ) -> Result<Self, UnsupportedProcessor> {
        Self::of_ranges(&CodeMap::ranges_of(object), processor, asked, cache)
    }

    fn of_ranges(
        ranges: &[CodeRange<'_>],
        processor: Processor,
        asked: DecodeOptions,
        cache: &DecoderCache,
    ) -> Result<Self, UnsupportedProcessor> {
        let code: Vec<&[u8]> = ranges.iter().map(|range| range.bytes).collect();
        Self::of_code(&code, processor, asked, cache)
    }

    /// How some code for a processor is read, but for what `asked` says already. Decodes all of it where the
    /// processor has halves of registers.
    pub fn of_code(
        code: &[&[u8]],
        processor: Processor,
        asked: DecodeOptions,
        cache: &DecoderCache,
    ) -> Result<Self, UnsupportedProcessor> {
        if let Some(known) = Self::of_processor(processor, asked) {
            return Ok(known);
        }
        let halves = Halves::of(code, processor, cache)?;
        let read = DecodeOptions { real_true16: Some(halves.are_read), ..asked };
        let shown = DecodeOptions { real_true16: halves.are_shown, ..asked };
        Ok(Reading { processor, read, shown, holds_for_parts: halves.hold_for_parts })
    }

    /// The decoder for a kernel whose code is looked at alone.
    pub fn kernel_decoder(
        kernel: &Kernel<'_>,
        code: &[u8],
        processor: Processor,
        asked: DecodeOptions,
        cache: &DecoderCache,
    ) -> Result<Decoder, UnsupportedProcessor> {
        let wave_size = wave_size(kernel, processor);
        Self::of_code(&[code], processor, asked, cache)?.decoder(wave_size, cache)
    }

    /// Whether 16-bit operands name halves of registers in the text; nothing where they do as LLVM has it.
    #[must_use]
    pub fn shows_halves(&self) -> Option<bool> {
        self.shown.real_true16
    }

    /// The decoder for code that runs in waves of a size, where that is known.
    pub fn decoder(
        &self,
        wave_size: Option<WaveSize>,
        cache: &DecoderCache,
    ) -> Result<Decoder, UnsupportedProcessor> {
        let wave_size = self.read.wave_size.or(wave_size);
        let read = cache.decoder(self.processor, DecodeOptions { wave_size, ..self.read })?;
        Ok(read.with_text_of(&cache.decoder(self.processor, self.shown)?))
    }
}

/// The decoder for instructions that hardware fetches, in waves of a size: where registers have halves, 16-bit operands name
/// them, whatever the disassembler prints.
///
/// ```
/// use hsaco_analysis::hardware_decoder;
/// use hsaco_isa::target::WaveSize;
/// let decoder = hardware_decoder("gfx1100".parse()?, WaveSize::Wave32)?;
/// assert!(decoder.names_halves());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Instructions of the processor are not known.
pub fn hardware_decoder(
    processor: Processor,
    wave_size: WaveSize,
) -> Result<Decoder, UnsupportedProcessor> {
    let real_true16 = Some(processor.generation() >= Generation::Gfx11);
    let options = DecodeOptions { real_true16, wave_size: Some(wave_size), ..LENIENT };
    Decoder::with_options(processor, options)
}

/// What analyses use by default.
pub const LENIENT: DecodeOptions =
    DecodeOptions { mode: Mode::Lenient, real_true16: None, wave_size: None };

/// Whether 16-bit operands name halves of registers.
struct Halves {
    are_read: bool,
    are_shown: Option<bool>,
    hold_for_parts: bool,
}

impl Halves {
    /// Counts what each of both leaves undecoded. As many: they are read, as registers have halves; and the text is
    /// LLVM's.
    fn of(
        code: &[&[u8]],
        processor: Processor,
        cache: &DecoderCache,
    ) -> Result<Self, UnsupportedProcessor> {
        let decoder = |real_true16| {
            let real_true16 = Some(real_true16);
            cache.decoder(processor, DecodeOptions { real_true16, ..LENIENT })
        };
        let does_llvm = cache.decoder(processor, LENIENT)?.names_halves();
        let named = decoder(true)?;
        let unnamed = if does_llvm { None } else { Some(decoder(false)?) };
        let (with, is_alike) = undecoded_and_alike(code, &named, unnamed.as_ref());
        if does_llvm && with == 0 {
            return Ok(Halves { are_read: true, are_shown: None, hold_for_parts: true });
        }
        let without = match unnamed {
            Some(_) if with == 0 && is_alike => 0,
            Some(unnamed) => undecoded_in(code, &unnamed),
            None => undecoded_in(code, &decoder(false)?),
        };
        let (as_llvm, otherwise) = if does_llvm { (with, without) } else { (without, with) };
        let are_shown = (otherwise < as_llvm).then_some(!does_llvm);
        let hold_for_parts = with == 0 && without == 0;
        Ok(Halves { are_read: with <= without, are_shown, hold_for_parts })
    }
}

/// The decoders for the code of one object: waves of each size have one. How code is read and shown [`Reading`] says,
/// for each function.
#[derive(Clone, Debug)]
pub(crate) struct Decoders {
    usual: Decoder,
    /// Where kernels have waves of the other size.
    other: Option<Decoder>,
    /// Entries of these kernels.
    unusual: Vec<u64>,
    processor: Processor,
    usual_size: WaveSize,
    /// For functions that have to be judged one by one.
    each: Option<Arc<DecoderCache>>,
}

impl Decoders {
    pub(crate) fn new(
        index: &Index<'_>,
        map: &CodeMap<'_>,
        processor: Processor,
    ) -> Result<Self, UnsupportedProcessor> {
        let sizes = kernel_sizes(index, map, processor);
        let narrow = sizes.values().filter(|size| **size == WaveSize::Wave32).count();
        let usual_size = match processor.limits().wave_sizes().next() {
            _ if sizes.is_empty() => processor.limits().wave_sizes().next(),
            Some(WaveSize::Wave32) if narrow * 2 >= sizes.len() => Some(WaveSize::Wave32),
            _ => Some(WaveSize::Wave64),
        };
        let usual_size = usual_size.unwrap_or(WaveSize::Wave64);
        let cache = DecoderCache::default();
        let reading = Reading::of_ranges(map.ranges(), processor, LENIENT, &cache)?;
        let decoder = |wave_size| reading.decoder(Some(wave_size), &cache);
        let unusual: Vec<u64> = sizes
            .iter()
            .filter(|(_, size)| **size != usual_size)
            .map(|(entry, _)| *entry)
            .collect();
        let other = if unusual.is_empty() { None } else { Some(decoder(other_size(usual_size))?) };
        let usual = decoder(usual_size)?;
        let each = (!reading.holds_for_parts).then(|| Arc::new(cache));
        Ok(Decoders { usual, other, unusual, processor, usual_size, each })
    }

    /// The processor.
    pub(crate) fn processor(&self) -> Processor {
        self.processor
    }

    /// The decoder for the code as a whole: it finds functions.
    pub(crate) fn usual(&self) -> &Decoder {
        &self.usual
    }

    /// The entries of the kernels whose waves have the other size, in order.
    pub(crate) fn unusual(&self) -> &[u64] {
        &self.unusual
    }

    /// The size of most waves.
    pub(crate) fn usual_size(&self) -> WaveSize {
        self.usual_size
    }

    /// The decoder for a function.
    pub(crate) fn of(&self, function: &Function<'_>) -> Decoder {
        let is_unusual = self.unusual.binary_search(&function.address).is_ok();
        let (size, decoder) = match &self.other {
            Some(other) if is_unusual => (other_size(self.usual_size), other),
            _ => (self.usual_size, &self.usual),
        };
        let own = |cache: &Arc<DecoderCache>| {
            let reading = Reading::of_code(&[function.code], self.processor, LENIENT, cache);
            reading.ok()?.decoder(Some(size), cache).ok()
        };
        self.each.as_ref().and_then(own).unwrap_or_else(|| decoder.clone())
    }
}

const fn other_size(size: WaveSize) -> WaveSize {
    match size {
        WaveSize::Wave32 => WaveSize::Wave64,
        WaveSize::Wave64 => WaveSize::Wave32,
    }
}

/// The sizes of waves, by the entries of kernels.
fn kernel_sizes(
    index: &Index<'_>,
    map: &CodeMap<'_>,
    processor: Processor,
) -> BTreeMap<u64, WaveSize> {
    let kernels = index.kernels().iter();
    kernels.filter_map(|it| Some((map.entry(it)?, wave_size(it, processor)?))).collect()
}

/// The size of a kernel's waves.
fn wave_size(kernel: &Kernel<'_>, processor: Processor) -> Option<WaveSize> {
    let lanes = kernel.resources(Some(processor.generation())).0.wavefront_size?;
    WaveSize::from_lanes(u32::try_from(lanes).ok()?)
}

/// How many words of code are no instructions.
fn undecoded_in(code: &[&[u8]], decoder: &Decoder) -> usize {
    let all = code.iter().flat_map(|code| instructions(decoder, code));
    all.filter(|(_, inst)| inst.is_none()).count()
}

/// The same, and whether all instructions are some to another decoder as well. Those of forms that both have are not decoded
/// again.
fn undecoded_and_alike(
    code: &[&[u8]],
    decoder: &Decoder,
    other: Option<&Decoder>,
) -> (usize, bool) {
    let Some(other) = other else { return (undecoded_in(code, decoder), true) };
    let mut has: Vec<Option<bool>> = vec![None; Form::all().len()];
    let (mut undecoded, mut is_alike) = (0, true);
    for code in code {
        for (at, inst) in instructions(decoder, code) {
            let Some(form) = inst.map(|it| it.form()) else {
                undecoded += 1;
                continue;
            };
            let is_known = has.get_mut(form.index());
            if is_alike && !is_known.is_some_and(|it| *it.get_or_insert_with(|| other.has(form))) {
                let rest = code.get(at..).unwrap_or_default();
                is_alike = instructions(other, rest).next().is_some_and(|it| it.1.is_some());
            }
        }
    }
    (undecoded, is_alike)
}
