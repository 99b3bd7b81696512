//! Arguments that every verb takes.

use std::ffi::OsString;

use anyhow::{Context, Result};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
pub(crate) use hsaco::bytes::parse_size;
use hsaco::isa::TargetId;

/// What to read.
#[derive(Args, Clone, Debug)]
pub(crate) struct Inputs {
    /// Anything that holds AMD GPU code; `-` is standard input, a directory is searched
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<OsString>,
    /// Largest size that one compressed payload may unfold to (K, M and G are powers of 1024)
    #[arg(long, value_name = "BYTES", default_value = "4G", value_parser = parse_size)]
    pub(crate) max_size: u64,
}

/// Which objects to look at.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ObjectFilter {
    /// Only objects of this target; features that are not named may be anything (gfx90a,
    /// gfx90a:xnack-, gfx11*)
    #[arg(short, long, value_name = "TARGET")]
    pub(crate) target: Vec<String>,
    /// Only objects that this device can run (gfx90a:sramecc+:xnack-, mi300x, strix-halo)
    #[arg(long, value_name = "TARGET")]
    pub(crate) device: Option<String>,
    /// Only the object with this number, counted from 0 in each file
    #[arg(long, value_name = "N")]
    pub(crate) object: Option<usize>,
}

impl ObjectFilter {
    /// The device, named as a target id or as people name it.
    pub(crate) fn device(&self) -> Result<Option<TargetId>> {
        let parse =
            |text: &String| TargetId::of_device(text).with_context(|| format!("--device {text}"));
        self.device.as_ref().map(parse).transpose()
    }

    /// True when not every object is wanted.
    pub(crate) fn selects(&self) -> bool {
        !self.target.is_empty() || self.device.is_some() || self.object.is_some()
    }
}

/// Which kernels to look at.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct KernelFilter {
    /// Only kernels of this name: as written, as mangled, or a regular expression found in either
    #[arg(short, long, value_name = "NAME")]
    pub(crate) kernel: Vec<String>,
}

/// How to answer.
#[derive(Args, Clone, Debug)]
pub(crate) struct Answer {
    /// Text for people, JSON for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Write the answer to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<OsString>,
    /// When to colour the answer
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
}

/// What verbs take that read kernels.
#[derive(Args, Clone, Debug)]
pub(crate) struct Reading {
    #[command(flatten)]
    pub(crate) inputs: Inputs,
    #[command(flatten)]
    pub(crate) objects: ObjectFilter,
    #[command(flatten)]
    pub(crate) kernels: KernelFilter,
    #[command(flatten)]
    pub(crate) answer: Answer,
}

/// A form of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

impl Color {
    /// Makes it so for both streams.
    pub(crate) fn apply(self) {
        match self {
            Self::Auto => {}
            Self::Always => anstream::ColorChoice::Always.write_global(),
            Self::Never => anstream::ColorChoice::Never.write_global(),
        }
    }
}

/// Reads a name of a table, whose other texts are help.
pub(crate) fn named<T: Copy + Send + Sync>(
    table: &'static [(&'static str, &'static str, T)],
) -> impl TypedValueParser<Value = T> {
    let values = table.iter().map(|(name, help, _)| match *help {
        "" => PossibleValue::new(name),
        help => PossibleValue::new(name).help(help),
    });
    PossibleValuesParser::new(values.collect::<Vec<_>>()).try_map(|name| {
        let found = table.iter().find(|(other, ..)| *other == name);
        found.map(|(.., value)| *value).ok_or("no such name")
    })
}
