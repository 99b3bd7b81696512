//! What reads and writes the instructions of an object: chosen from the object, never from the rules.

use std::sync::{Arc, Mutex, PoisonError};

use hsaco_analysis::{Code, Function, LENIENT, Reading, instructions};
use hsaco_bytes::{Error, ErrorKind, Result};
use hsaco_isa::assembler::AsmError;
use hsaco_isa::decoder::{DecodeOptions, DecoderCache, Mode, UnsupportedProcessor};
use hsaco_isa::target::{Generation, WaveSize};
use hsaco_isa::{Assembler, Decoder, Inst, Processor};
use hsaco_object::CodeObject;

use crate::branch_target::Signs;
use crate::dialect::Dialect;
use crate::jump;

/// What reads and writes the instructions of waves of one size, made once and shared by all objects of a processor.
pub struct Tools {
    assembler: Arc<Assembler>,
    decoder: Decoder,
    dialect: &'static Dialect,
    processor: Processor,
    signs: Arc<Signs>,
}

impl Tools {
    /// For a processor, with LLVM's settings. Encodings that differ only in bits that the hardware ignores are read too:
    /// some rules are about such bits.
    ///
    /// ```
    /// use hsaco_patch::Tools;
    /// let tools = Tools::new(hsaco_isa::Processor::from_name("gfx1250").unwrap())?;
    /// assert_eq!(tools.assemble("s_nop 0").unwrap().len(), 4);
    /// # Ok::<(), hsaco_isa::decoder::UnsupportedProcessor>(())
    /// ```
    pub fn new(processor: Processor) -> std::result::Result<Self, UnsupportedProcessor> {
        Self::with_options(processor, DecodeOptions::default())
    }

    /// The same for waves of a size, and with or without halves of registers.
    pub fn with_options(
        processor: Processor,
        options: DecodeOptions,
    ) -> std::result::Result<Self, UnsupportedProcessor> {
        let usual = processor.limits().wave_sizes().next().unwrap_or(WaveSize::Wave64);
        let wave = options.wave_size.unwrap_or(usual);
        let dialect = Dialect::of(processor, wave).ok_or(UnsupportedProcessor(processor))?;
        let lenient = DecodeOptions { mode: Mode::Lenient, ..options };
        let decoder = Decoder::with_options(processor, lenient)?;
        let signs = Arc::new(Signs::new(&decoder));
        let strict = DecodeOptions { mode: Mode::Strict, ..options };
        let assembler = Arc::new(Assembler::new(processor, strict)?);
        Ok(Tools { assembler, decoder, dialect, processor, signs })
    }

    /// The same, with another decoder for the same processor.
    fn reading_with(&self, decoder: Decoder) -> Self {
        let Tools { assembler, dialect, processor, signs, .. } = self;
        let (assembler, signs) = (Arc::clone(assembler), Arc::clone(signs));
        Tools { assembler, decoder, dialect, processor: *processor, signs }
    }

    /// The decoder.
    #[must_use]
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// The processor.
    #[must_use]
    pub fn processor(&self) -> Processor {
        self.processor
    }

    /// The instruction that a line is.
    pub fn assemble(&self, line: &str) -> std::result::Result<Inst, AsmError> {
        self.assembler.assemble(line)
    }

    /// The instructions that some words are.
    pub(crate) fn insts(&self, words: &[u32]) -> Option<Vec<Inst>> {
        let bytes = jump::bytes(words);
        instructions(&self.decoder, &bytes).map(|(_, inst)| inst).collect()
    }

    pub(crate) fn dialect(&self) -> &'static Dialect {
        self.dialect
    }

    /// What jumps look like.
    pub(crate) fn signs(&self) -> &Signs {
        &self.signs
    }
}

impl std::fmt::Debug for Tools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Tools").field(&self.decoder).finish()
    }
}

/// The tools of one object.
#[derive(Clone)]
pub(crate) struct Kit {
    processor: Processor,
    usual: Arc<Tools>,
    /// Where kernels have waves of the other size.
    other: Option<Arc<Tools>>,
    /// Entries of these kernels, in order.
    unusual: Vec<u64>,
}

impl Kit {
    /// The processor of the object.
    pub(crate) fn processor(&self) -> Processor {
        self.processor
    }

    /// For most of the code, and for what is no kernel.
    pub(crate) fn usual(&self) -> &Tools {
        &self.usual
    }

    /// For a function.
    pub(crate) fn of(&self, function: &Function<'_>) -> &Tools {
        match &self.other {
            Some(other) if self.unusual.binary_search(&function.address).is_ok() => other,
            _ => &self.usual,
        }
    }
}

/// Tools that were made, for the objects to come.
#[derive(Default)]
pub(crate) struct Workshop {
    made: Mutex<Vec<(Processor, DecodeOptions, Arc<Tools>)>>,
    decoders: DecoderCache,
}

impl Workshop {
    /// The tools of an object.
    ///
    /// # Errors
    /// When its processor is not known, or its code is not rewritten.
    pub(crate) fn kit(&self, object: &CodeObject<'_>) -> Result<Kit> {
        let unsupported = |detail: String| Error::new(ErrorKind::Unsupported, "patch", detail);
        let Some(id) = object.target().id() else {
            return Err(unsupported(format!("code of {} cannot be read", object.target())));
        };
        let processor = id.processor;
        if Dialect::of(processor, WaveSize::Wave64).is_none() {
            let detail = format!("code of {processor} is not rewritten: that of gfx9 and later is");
            return Err(unsupported(detail));
        }
        let no_tables = |error: UnsupportedProcessor| unsupported(error.to_string());
        // Waves of one size: nothing to look for.
        if processor.generation() == Generation::Gfx125
            && let Some(reading) = Reading::without_look(processor)
        {
            let tools = self.tools(processor, DecodeOptions::default()).map_err(no_tables)?;
            let decoder = reading.decoder(None, &self.decoders).map_err(no_tables)?;
            let usual = Arc::new(tools.reading_with(decoder));
            return Ok(Kit { processor, usual, other: None, unusual: Vec::new() });
        }
        let code = Code::of(object)?;
        let cache = &self.decoders;
        let reading = Reading::of_object(object, processor, LENIENT, cache).map_err(no_tables)?;
        let tools = |wave_size| {
            let wave_size = Some(wave_size);
            let real_true16 = reading.shows_halves();
            let options = DecodeOptions { real_true16, wave_size, ..DecodeOptions::default() };
            let tools = self.tools(processor, options).map_err(no_tables)?;
            let decoder = reading.decoder(wave_size, cache).map_err(no_tables)?;
            Ok::<_, Error>(Arc::new(tools.reading_with(decoder)))
        };
        let unusual = code.unusual_entries().to_vec();
        let other = match code.usual_wave_size() {
            WaveSize::Wave32 => WaveSize::Wave64,
            WaveSize::Wave64 => WaveSize::Wave32,
        };
        let other = if unusual.is_empty() { None } else { Some(tools(other)?) };
        Ok(Kit { processor, usual: tools(code.usual_wave_size())?, other, unusual })
    }

    fn tools(
        &self,
        processor: Processor,
        options: DecodeOptions,
    ) -> std::result::Result<Arc<Tools>, UnsupportedProcessor> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let known = made.iter().find(|(of, with, _)| (*of, *with) == (processor, options));
        if let Some((.., tools)) = known {
            return Ok(Arc::clone(tools));
        }
        let tools = Arc::new(Tools::with_options(processor, options)?);
        made.push((processor, options, Arc::clone(&tools)));
        Ok(tools)
    }
}
