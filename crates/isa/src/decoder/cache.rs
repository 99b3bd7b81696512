//! Decoders that are made once.

use std::sync::{Mutex, PoisonError};

use super::{DecodeOptions, Decoder, UnsupportedProcessor};
use crate::target::Processor;

/// Makes each decoder once: files have much code for a few processors.
///
/// ```
/// use hsaco_isa::decoder::{DecodeOptions, DecoderCache};
/// use hsaco_isa::Processor;
/// let cache = DecoderCache::default();
/// let gfx942 = Processor::from_name("gfx942").unwrap();
/// let decoder = cache.decoder(gfx942, DecodeOptions::default())?;
/// assert!(decoder.decode(&[0, 0, 0x81, 0xbf]).is_some());
/// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
/// ```
#[derive(Debug, Default)]
pub struct DecoderCache(Mutex<Vec<(Processor, DecodeOptions, Decoder)>>);

impl DecoderCache {
    /// The decoder for a processor under settings.
    pub fn decoder(
        &self,
        processor: Processor,
        options: DecodeOptions,
    ) -> Result<Decoder, UnsupportedProcessor> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((.., decoder)) = made.iter().find(|it| (it.0, it.1) == (processor, options)) {
            return Ok(decoder.clone());
        }
        let decoder = Decoder::with_options(processor, options)?;
        made.push((processor, options, decoder.clone()));
        Ok(decoder)
    }
}
