//! The index that `ls --index` keeps.

use std::path::Path;

use anyhow::Result;
pub(crate) use hsaco_files::{IndexFile, stamp_of};

use crate::report;

/// Reads an index, and says so where it is damaged.
pub(crate) fn open(path: &Path) -> Result<IndexFile> {
    let index = IndexFile::open(path)?;
    if let Some(damage) = &index.damage {
        report::error(&format!("{}: {damage}; it is made anew", path.display()));
    }
    Ok(index)
}
