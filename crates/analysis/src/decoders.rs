//! The decoders that an object's code takes: the one place that chooses them.

use std::collections::BTreeMap;

use hsaco_isa::{
    DecodeOptions, Decoder, DecoderCache, Generation, Mode, Processor, UnsupportedProcessor,
    WaveSize,
};
use hsaco_object::CodeObject;

use crate::code_address::CodeAddresses;
use crate::function::{Function, executable};

/// How the code of an object is read, and which text it has.
///
/// It is read as the hardware runs it: bits that the hardware ignores may be anything, 16-bit operands name halves of
/// registers where that decodes as much, and waves have the size that the kernel's descriptor says. The text is what
/// `hsaco disasm --mode lenient --true16 auto` prints, which is LLVM's wherever LLVM decodes the code: with halves only where
/// that leaves fewer words undecoded, and with waves of LLVM's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    processor: Processor,
    read: DecodeOptions,
    shown: DecodeOptions,
}

impl Reading {
    /// How all code for a processor is read, but for what `asked` says already; nothing where that takes a look at it.
    #[must_use]
    pub fn of_processor(processor: Processor, asked: DecodeOptions) -> Option<Self> {
        let is_known = asked.real_true16.is_some() || processor.generation() < Generation::Gfx11;
        is_known.then_some(Reading { processor, read: asked, shown: asked })
    }

    /// How the code of an object for a processor is read, but for what `asked` says already. Decodes all of it where
    /// the processor has halves of registers.
    pub fn new(
        object: &CodeObject<'_>,
        processor: Processor,
        asked: DecodeOptions,
        cache: &DecoderCache,
    ) -> Result<Self, UnsupportedProcessor> {
        if let Some(known) = Self::of_processor(processor, asked) {
            return Ok(known);
        }
        let halves = Halves::of(object, processor, cache)?;
        let read = DecodeOptions { real_true16: Some(halves.are_read), ..asked };
        let shown = DecodeOptions { real_true16: halves.are_shown, ..asked };
        Ok(Reading { processor, read, shown })
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

/// What analyses are asked for unless somebody says otherwise.
pub const LENIENT: DecodeOptions =
    DecodeOptions { mode: Mode::Lenient, real_true16: None, wave_size: None };

/// Whether 16-bit operands name halves of registers.
struct Halves {
    are_read: bool,
    are_shown: Option<bool>,
}

impl Halves {
    /// Counts what each of both leaves undecoded. As many: they are read, as registers have halves; and the text is
    /// LLVM's.
    fn of(
        object: &CodeObject<'_>,
        processor: Processor,
        cache: &DecoderCache,
    ) -> Result<Self, UnsupportedProcessor> {
        let code = executable(object);
        let undecoded = |real_true16| {
            let real_true16 = Some(real_true16);
            let decoder = cache.decoder(processor, DecodeOptions { real_true16, ..LENIENT })?;
            Ok(code.iter().map(|(_, code)| undecoded_in(code, &decoder)).sum::<usize>())
        };
        let does_llvm = cache.decoder(processor, LENIENT)?.names_halves();
        let with = undecoded(true)?;
        if does_llvm && with == 0 {
            return Ok(Halves { are_read: true, are_shown: None });
        }
        let without = undecoded(false)?;
        let (as_llvm, otherwise) = if does_llvm { (with, without) } else { (without, with) };
        let are_shown = (otherwise < as_llvm).then_some(!does_llvm);
        Ok(Halves { are_read: with <= without, are_shown })
    }
}

/// The decoders for the code of one object: waves of each size have one. How it is read and shown [`Reading`] says.
///
/// ```no_run
/// # fn example(object: &hsaco_object::CodeObject<'_>) {
/// use hsaco_analysis::{Decoders, Functions};
/// let Some(Ok(decoders)) = Decoders::new(object) else { return };
/// for function in Functions::new(object, decoders.usual()).as_slice() {
///     println!("{} instructions", function.decode(decoders.of(function)).len());
/// }
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Decoders {
    usual: Decoder,
    /// Where kernels have waves of the other size.
    other: Option<Decoder>,
    /// Entries of these kernels.
    unusual: Vec<u64>,
    processor: Processor,
    usual_size: WaveSize,
}

impl Decoders {
    /// The decoders for an object; nothing where its processor is not known.
    #[must_use]
    pub fn new(object: &CodeObject<'_>) -> Option<Result<Self, UnsupportedProcessor>> {
        let processor = object.target().id()?.processor;
        Some(Self::for_processor(object, processor))
    }

    fn for_processor(
        object: &CodeObject<'_>,
        processor: Processor,
    ) -> Result<Self, UnsupportedProcessor> {
        let sizes = kernel_sizes(object, processor);
        let narrow = sizes.values().filter(|size| **size == WaveSize::Wave32).count();
        let usual_size = match processor.limits().wave_sizes().next() {
            _ if sizes.is_empty() => processor.limits().wave_sizes().next(),
            Some(WaveSize::Wave32) if narrow * 2 >= sizes.len() => Some(WaveSize::Wave32),
            _ => Some(WaveSize::Wave64),
        };
        let usual_size = usual_size.unwrap_or(WaveSize::Wave64);
        let cache = DecoderCache::default();
        let reading = Reading::new(object, processor, LENIENT, &cache)?;
        let decoder = |wave_size| reading.decoder(Some(wave_size), &cache);
        let unusual: Vec<u64> = sizes
            .iter()
            .filter(|(_, size)| **size != usual_size)
            .map(|(entry, _)| *entry)
            .collect();
        let other_size = match usual_size {
            WaveSize::Wave32 => WaveSize::Wave64,
            WaveSize::Wave64 => WaveSize::Wave32,
        };
        let other = if unusual.is_empty() { None } else { Some(decoder(other_size)?) };
        Ok(Decoders { usual: decoder(usual_size)?, other, unusual, processor, usual_size })
    }

    /// The processor.
    #[must_use]
    pub fn processor(&self) -> Processor {
        self.processor
    }

    /// The decoder for most of the code, and for what is no kernel.
    #[must_use]
    pub fn usual(&self) -> &Decoder {
        &self.usual
    }

    /// The size of most waves.
    #[must_use]
    pub fn usual_size(&self) -> WaveSize {
        self.usual_size
    }

    /// The decoder for a function.
    #[must_use]
    pub fn of(&self, function: &Function<'_>) -> &Decoder {
        match &self.other {
            Some(other) if self.unusual.binary_search(&function.address).is_ok() => other,
            _ => &self.usual,
        }
    }
}

/// The sizes of waves, by the entries of kernels.
fn kernel_sizes(object: &CodeObject<'_>, processor: Processor) -> BTreeMap<u64, WaveSize> {
    let index = object.index();
    let addresses = CodeAddresses::new(object);
    let generation = Some(processor.generation());
    let sizes = index.kernels().iter().filter_map(|kernel| {
        let lanes = kernel.resources(generation).0.wavefront_size?;
        Some((addresses.entry(kernel)?, WaveSize::from_lanes(u32::try_from(lanes).ok()?)?))
    });
    sizes.collect()
}

/// How many words of code are no instructions.
fn undecoded_in(code: &[u8], decoder: &Decoder) -> usize {
    let (mut count, mut rest) = (0, code);
    while !rest.is_empty() {
        let inst = decoder.decode(rest);
        count += usize::from(inst.is_none());
        rest = rest.get(inst.map_or(4, |inst| inst.len())..).unwrap_or_default();
    }
    count
}
