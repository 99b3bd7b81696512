//! Decoders, one for each processor that code was met for.

use std::sync::Mutex;

use hsaco_isa::{DecodeOptions, Decoder, Processor, UnsupportedProcessor};

/// Makes each decoder once.
#[derive(Debug)]
pub(crate) struct Decoders {
    options: DecodeOptions,
    made: Mutex<Vec<(Processor, Decoder)>>,
}

impl Decoders {
    pub(crate) fn new(options: DecodeOptions) -> Self {
        Decoders { options, made: Mutex::default() }
    }

    pub(crate) fn of(&self, processor: Processor) -> Result<Decoder, UnsupportedProcessor> {
        let mut made = self.made.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((_, decoder)) = made.iter().find(|(it, _)| *it == processor) {
            return Ok(decoder.clone());
        }
        let decoder = Decoder::with_options(processor, self.options)?;
        made.push((processor, decoder.clone()));
        Ok(decoder)
    }
}
