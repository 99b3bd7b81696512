//! The decoders that an object's code takes.

use std::collections::BTreeMap;

use hsaco_isa::{
    DecodeOptions, Decoder, DecoderCache, Generation, Processor, UnsupportedProcessor, WaveSize,
};
use hsaco_object::CodeObject;

use crate::code_address::CodeAddresses;
use crate::function::{Function, executable};

/// The decoders for the code of one object: waves of each size have one, and 16-bit operands name halves of
/// registers where that decodes more.
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
        let real_true16 = names_halves(object, processor)?;
        let decoder = |wave_size| {
            let options =
                DecodeOptions { real_true16, wave_size: Some(wave_size), ..Default::default() };
            Decoder::with_options(processor, options)
        };
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

/// The decoder for one kernel, by what is known of it alone: the size of its waves, and whether its code has to be read
/// with halves of registers, or without, for more of it to be instructions; in doubt as LLVM does. What `options` say
/// comes first.
pub fn kernel_decoder(
    cache: &DecoderCache,
    processor: Processor,
    mut options: DecodeOptions,
    wave_size: Option<WaveSize>,
    code: &[u8],
) -> Result<Decoder, UnsupportedProcessor> {
    options.wave_size = options.wave_size.or(wave_size);
    let usual = cache.decoder(processor, options)?;
    if options.real_true16.is_some() || processor.generation() < Generation::Gfx11 {
        return Ok(usual);
    }
    let (mut best, mut fewest) = (usual, usize::MAX);
    for real_true16 in [None, Some(true), Some(false)] {
        let decoder = cache.decoder(processor, DecodeOptions { real_true16, ..options })?;
        let undecoded = undecoded_in(code, &decoder, fewest);
        if undecoded < fewest {
            (best, fewest) = (decoder, undecoded);
        }
        if fewest == 0 {
            break;
        }
    }
    Ok(best)
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

/// Whether 16-bit operands name halves of registers: what leaves fewer words undecoded, halves if both do as
/// well; nothing where processors have none.
fn names_halves(
    object: &CodeObject<'_>,
    processor: Processor,
) -> Result<Option<bool>, UnsupportedProcessor> {
    if processor.generation() < Generation::Gfx11 {
        return Ok(None);
    }
    let undecoded = |real_true16: bool, most: usize| {
        let options = DecodeOptions { real_true16: Some(real_true16), ..Default::default() };
        let decoder = Decoder::with_options(processor, options)?;
        Ok(undecoded_words(object, &decoder, most))
    };
    let with = undecoded(true, 1)?;
    if with == 0 {
        return Ok(Some(true));
    }
    Ok(Some(undecoded(true, usize::MAX)? <= undecoded(false, usize::MAX)?))
}

/// Words of code that are no instructions, counted up to so many.
fn undecoded_words(object: &CodeObject<'_>, decoder: &Decoder, most: usize) -> usize {
    executable(object).iter().fold(0, |count: usize, (_, code)| {
        count.saturating_add(undecoded_in(code, decoder, most.saturating_sub(count)))
    })
}

fn undecoded_in(code: &[u8], decoder: &Decoder, most: usize) -> usize {
    let (mut count, mut rest) = (0, code);
    while !rest.is_empty() && count < most {
        let inst = decoder.decode(rest);
        count += usize::from(inst.is_none());
        rest = rest.get(inst.map_or(4, |inst| inst.len())..).unwrap_or_default();
    }
    count
}
