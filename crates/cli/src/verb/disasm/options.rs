//! How code is decoded: processor features and the decoder's mode.

use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use clap::ValueEnum;
use hsaco::analysis::Reading;
use hsaco::isa::{
    Assembler, DecodeOptions, Decoder, DecoderCache, Mode, Processor, UnsupportedProcessor,
    WaveSize,
};
use hsaco::object::CodeObject;

use super::source::SourceArgs;
use crate::report::Status;
use crate::sought::Sought;
use crate::verb::lines::NO_LINES;

/// What one `--mattr` can be, with a sign before it.
const FEATURES: [&str; 3] = ["real-true16", "wavefrontsize32", "wavefrontsize64"];

/// A processor feature, switched on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::verb) struct Attribute {
    feature: &'static str,
    on: bool,
}

impl FromStr for Attribute {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (on, name) = match text.split_at_checked(1) {
            Some(("+", name)) => (true, name),
            Some(("-", name)) => (false, name),
            _ => return Err("a feature begins with + (on) or - (off)".to_owned()),
        };
        let feature = FEATURES.into_iter().find(|&it| it == name);
        let feature = feature.ok_or_else(|| {
            format!("unknown feature '{name}'; the known ones are {}", FEATURES.join(", "))
        })?;
        Ok(Self { feature, on })
    }
}

impl Attribute {
    /// Switching a size off that is not on changes nothing.
    fn set_wave(self, options: &mut DecodeOptions, size: WaveSize) {
        if self.on {
            options.wave_size = Some(size);
        } else if options.wave_size == Some(size) {
            options.wave_size = None;
        }
    }
}

/// How much is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::verb) enum DecodeMode {
    /// What LLVM 22 decodes
    Strict,
    /// What the hardware runs, even if LLVM 22 refuses it
    Lenient,
}

/// Whether 16-bit operands name halves of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::verb) enum True16 {
    /// As LLVM 22 has it for the processor
    Llvm,
    On,
    Off,
    /// Whichever leaves fewer words of the object undecoded
    Auto,
}

/// The options of a run: how code is decoded, and what is worked out of it.
pub(in crate::verb) struct Decoding {
    pub(in crate::verb) options: DecodeOptions,
    pub(super) true16: True16,
    /// Whether live registers are worked out.
    pub(super) live: bool,
    /// Whether what is printed is to be assembled again.
    pub(super) reassembles: bool,
    pub(super) source: Option<SourceArgs>,
    /// Debug information, where it is wanted.
    pub(super) lines: Sought,
    made: DecoderCache,
    assemblers: Mutex<Vec<(Processor, DecodeOptions, Reassembly)>>,
}

impl Decoding {
    /// `true16` unless it is LLVM's has the last word; of attributes the last has.
    pub(in crate::verb) fn new(attributes: &[Attribute], true16: True16, mode: DecodeMode) -> Self {
        let mode = match mode {
            DecodeMode::Strict => Mode::Strict,
            DecodeMode::Lenient => Mode::Lenient,
        };
        let mut options = DecodeOptions { mode, ..DecodeOptions::default() };
        for attribute in attributes {
            match attribute.feature {
                "wavefrontsize32" => attribute.set_wave(&mut options, WaveSize::Wave32),
                "wavefrontsize64" => attribute.set_wave(&mut options, WaveSize::Wave64),
                _ => options.real_true16 = Some(attribute.on),
            }
        }
        match true16 {
            True16::On => options.real_true16 = Some(true),
            True16::Off => options.real_true16 = Some(false),
            True16::Llvm | True16::Auto => {}
        }
        Self {
            options,
            true16,
            live: false,
            reassembles: false,
            source: None,
            lines: Sought::default(),
            made: DecoderCache::default(),
            assemblers: Mutex::default(),
        }
    }

    /// The same, and live registers if they are wanted.
    pub(super) fn with_live(self, live: bool) -> Self {
        Self { live, ..self }
    }

    /// The same, so that it can be assembled again if that is wanted.
    pub(super) fn with_reassembly(self, reassembles: bool) -> Self {
        Self { reassembles, ..self }
    }

    /// The same, and what it comes from if that is wanted.
    pub(super) fn with_source(self, source: &SourceArgs) -> Self {
        Self { source: Some(source.clone()).filter(SourceArgs::is_wanted), ..self }
    }

    /// The status of a run. The listing is whole without source lines: as with llvm-objdump, that no object has any is
    /// only said.
    pub(super) fn conclude(&self, status: Status) -> Status {
        match self.source {
            Some(_) => self.lines.conclude(status, Status::Fine, NO_LINES),
            None => status,
        }
    }

    /// The decoder for an object's code, and its settings.
    pub(super) fn decoder(
        &self,
        object: &CodeObject<'_>,
        processor: Processor,
    ) -> Result<(Decoder, DecodeOptions), UnsupportedProcessor> {
        let mut options = self.options;
        if self.true16 == True16::Auto {
            let asked = DecodeOptions { real_true16: None, ..options };
            let reading = Reading::of_object(object, processor, asked, &self.made)?;
            options.real_true16 = reading.shows_halves().or(options.real_true16);
        }
        Ok((self.made.decoder(processor, options)?, options))
    }
}

impl Decoding {
    /// What assembles the text of a decoder with these settings; assemblers are made once.
    pub(super) fn reassembly(
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
pub(super) struct Reassembly {
    pub(super) assembler: Arc<Assembler>,
    /// What `hsaco asm` is told to do the same.
    pub(super) arguments: String,
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

/// Reads `0x1900` and `6400`.
pub(super) fn parse_address(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let address = match digits {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    address.map_err(|_| "expected an address such as 0x1900".to_owned())
}
