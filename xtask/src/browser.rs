//! The browser in which the pages of `hsaco report` are tested.

use anyhow::{Result, bail};
use hsaco_tests::{in_ci, tool};

use crate::apt;

/// Letters come from the fonts of the expected pictures.
const PACKAGES: &[&str] = &["chromium", "chromium-driver", "fonts-dejavu-core"];
const TOOLS: [&str; 2] = ["chromium", "chromedriver"];

/// Installs it where that can be done; else says what will be skipped, or fails in CI.
pub(crate) fn ensure() -> Result<()> {
    let is_there = || TOOLS.iter().all(|name| tool(name).is_some());
    if is_there() {
        return Ok(());
    }
    if let Err(error) = apt::install(PACKAGES) {
        eprintln!("cannot install chromium: {error:#}");
    }
    match (is_there(), in_ci()) {
        (true, _) => Ok(()),
        (false, true) => bail!("missing: {}", TOOLS.join(", ")),
        (false, false) => {
            eprintln!("missing: {}; tests of pages will be skipped", TOOLS.join(", "));
            Ok(())
        }
    }
}
