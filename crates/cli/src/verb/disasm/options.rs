//! How code is decoded and shown: processor features, the decoder's mode, source lines.

use std::sync::Arc;

use clap::ValueEnum;
use hsaco::bytes::number;
use hsaco::isa::decoder::{DecodeOptions, Mode};
pub(in crate::verb) use hsaco::listing::Attribute;
use hsaco::listing::{SourceLine, SourceOptions};

use crate::source_files::SourceFiles;

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

/// `true16` unless it is LLVM's has the last word; of attributes the last has.
pub(in crate::verb) fn decode_options(
    attributes: &[Attribute],
    true16: True16,
    mode: DecodeMode,
) -> DecodeOptions {
    let mode = match mode {
        DecodeMode::Strict => Mode::Strict,
        DecodeMode::Lenient => Mode::Lenient,
    };
    let mut options = DecodeOptions { mode, ..DecodeOptions::default() };
    attributes.iter().for_each(|it| it.apply(&mut options));
    match true16 {
        True16::On => options.real_true16 = Some(true),
        True16::Off => options.real_true16 = Some(false),
        True16::Llvm | True16::Auto => {}
    }
    options
}

/// What to show of the source.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct SourceArgs {
    /// Before code of another line, show its function and place
    #[arg(short = 'l', long)]
    line_numbers: bool,
    /// Before code of another line, show the line, if its file is there
    #[arg(short = 'S', long)]
    source: bool,
    /// Look for sources under this folder: it comes before absolute paths
    #[arg(long, value_name = "FOLDER")]
    prefix: Option<String>,
    /// With --prefix, leave out so many folders from the start of absolute paths
    #[arg(long, value_name = "N", default_value_t = 0)]
    prefix_strip: usize,
}

impl SourceArgs {
    pub(super) fn is_wanted(&self) -> bool {
        self.line_numbers || self.source
    }

    /// What is to be shown, if anything is.
    pub(super) fn options(&self) -> Option<SourceOptions> {
        let files = SourceFiles::default();
        let line: SourceLine = Arc::new(move |path, line| files.line(path, line));
        let options = SourceOptions {
            line_numbers: self.line_numbers,
            line: self.source.then_some(line),
            prefix: self.prefix.clone(),
            prefix_strip: self.prefix_strip,
        };
        self.is_wanted().then_some(options)
    }
}

/// Reads `0x1900` and `6400`.
pub(super) fn parse_address(text: &str) -> Result<u64, String> {
    number::parse(text).ok_or_else(|| "expected an address such as 0x1900".to_owned())
}
