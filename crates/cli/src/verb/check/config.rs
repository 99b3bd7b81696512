//! Where `hsaco.toml` is.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use hsaco::check::Config;

/// The settings of a file, else of the current folder's, else none; and the folder that their paths start in.
pub(super) fn load(path: Option<&Path>) -> Result<(Config, PathBuf)> {
    let own = Path::new(Config::NAME);
    match path.or_else(|| own.is_file().then_some(own)) {
        Some(path) => Ok((read(path)?, path.parent().map(Path::to_path_buf).unwrap_or_default())),
        None => Ok((Config::default(), PathBuf::new())),
    }
}

pub(super) fn read(path: &Path) -> Result<Config> {
    let shown = || path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(shown)?;
    Config::parse(&text).with_context(shown)
}
