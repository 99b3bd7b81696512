//! How objects are listed, and what listing one after the other has in common.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hsaco_analysis::Reading;
use hsaco_isa::decoder::{DecodeOptions, DecoderCache, UnsupportedProcessor};
use hsaco_isa::target::WaveSize;
use hsaco_isa::{Assembler, Decoder, Processor};
use hsaco_object::CodeObject;

use crate::source::SourceOptions;

/// Does something with every number below the first argument, on as many threads as it likes.
pub type EachNumber = fn(usize, &(dyn Fn(usize) + Sync));

/// How code is decoded, and what is worked out of it.
#[derive(Clone)]
pub struct ListingOptions {
    /// How code is decoded.
    pub decode: DecodeOptions,
    /// Whether 16-bit operands name halves of registers is detected: whichever leaves fewer words undecoded.
    pub detects_true16: bool,
    /// Whether live registers are worked out.
    pub live: bool,
    /// Whether what is printed is to be assembled again.
    pub reassembles: bool,
    /// What is shown of the source.
    pub source: Option<SourceOptions>,
    /// Who works out live registers.
    pub each: EachNumber,
}

impl Default for ListingOptions {
    fn default() -> Self {
        Self {
            decode: DecodeOptions::default(),
            detects_true16: false,
            live: false,
            reassembles: false,
            source: None,
            each: |count, work| (0..count).for_each(work),
        }
    }
}

/// Lists objects: options, and decoders that are made once.
#[derive(Default)]
pub struct Lister {
    pub(crate) options: ListingOptions,
    /// Whether an object had debug information, where it is wanted.
    has_lines: AtomicBool,
    made: DecoderCache,
    assemblers: Mutex<Vec<(Processor, DecodeOptions, Reassembly)>>,
}

impl Lister {
    /// One for objects of any processor.
    #[must_use]
    pub fn new(options: ListingOptions) -> Self {
        Self { options, ..Self::default() }
    }

    pub(crate) fn note_lines(&self, has_lines: bool) {
        if has_lines {
            self.has_lines.store(true, Ordering::Relaxed);
        }
    }

    /// Whether an object had debug information, where source is to be shown.
    #[must_use]
    pub fn has_lines(&self) -> bool {
        self.has_lines.load(Ordering::Relaxed)
    }

    /// The decoder for an object's code, and its settings.
    pub(crate) fn decoder(
        &self,
        object: &CodeObject<'_>,
        processor: Processor,
    ) -> Result<(Decoder, DecodeOptions), UnsupportedProcessor> {
        let mut options = self.options.decode;
        if self.options.detects_true16 {
            let asked = DecodeOptions { real_true16: None, ..options };
            let reading = Reading::of_object(object, processor, asked, &self.made)?;
            options.real_true16 = reading.shows_halves().or(options.real_true16);
        }
        Ok((self.made.decoder(processor, options)?, options))
    }

    /// What assembles the text of a decoder with these settings; assemblers are made once.
    pub(crate) fn reassembly(
        &self,
        processor: Processor,
        options: DecodeOptions,
    ) -> Result<Reassembly, UnsupportedProcessor> {
        let mut made = self.assemblers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((.., known)) = made.iter().find(|it| (it.0, it.1) == (processor, options)) {
            return Ok(known.clone());
        }
        let assembler = Arc::new(Assembler::new(processor, options)?);
        let reassembly = Reassembly { assembler, arguments: arguments(processor, options) };
        made.push((processor, options, reassembly.clone()));
        Ok(reassembly)
    }
}

/// What makes bytes of a listing again.
#[derive(Clone)]
pub(crate) struct Reassembly {
    pub(crate) assembler: Arc<Assembler>,
    /// What `hsaco asm` is told to do the same.
    pub(crate) arguments: String,
}

/// The arguments of `hsaco asm` for code that was read with such options.
fn arguments(processor: Processor, options: DecodeOptions) -> String {
    let true16 = options.real_true16.map(|on| if on { "+real-true16" } else { "-real-true16" });
    let wave_size = options.wave_size.map(|size| match size {
        WaveSize::Wave32 => "+wavefrontsize32",
        WaveSize::Wave64 => "+wavefrontsize64",
    });
    let features: Vec<_> = true16.into_iter().chain(wave_size).collect();
    let mattr = if features.is_empty() { "" } else { " --mattr=" };
    format!("--target {processor}{mattr}{}", features.join(","))
}
