//! One model, many formats: a file each.

mod github;
mod json;
mod junit;
mod markdown;
mod sarif;
mod text;

use std::io::Write;

use anyhow::Result;

use super::model::FileResult;
use super::options::{Format, Settings};

/// Writes what was found in a format.
pub(super) fn write(
    format: Format,
    out: &mut dyn Write,
    files: &[FileResult],
    settings: &Settings,
    color: bool,
) -> Result<()> {
    match format {
        Format::Text => text::write(out, files, settings.devices.len() > 1, color),
        Format::Json => json::write(out, files, settings.fail_on),
        Format::Jsonl => json::write_lines(out, files),
        Format::Sarif => sarif::write(out, files),
        Format::Github => github::write(out, files),
        Format::Junit => junit::write(out, files, settings.fail_on),
        Format::Markdown => markdown::write(out, files),
    }
}
