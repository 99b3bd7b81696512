//! One model, many formats: a file each. Each is shown by its [`Display`](std::fmt::Display).
//!
//! ```
//! use hsaco_check::render::Markdown;
//! use hsaco_check::result::{DeviceResult, FileResult};
//! let file = std::fs::read("../../tests/fixtures/s1.gfx942.co")?;
//! let device = "gfx950".parse()?;
//! let report = hsaco_check::check(&file, &device);
//! let result = DeviceResult::new(Some(&device), report, |_| true, |_| None);
//! let files = [FileResult { name: "s1.co".to_owned(), objects: Vec::new(), devices: vec![result] }];
//! let table = Markdown { files: &files }.to_string();
//! assert!(table.contains("| error | `target-mismatch` | `s1.co` | `gfx950` |"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod github;
mod json;
mod junit;
mod markdown;
mod sarif;
mod text;

pub use github::Github;
pub use json::{Json, JsonLines};
pub use junit::Junit;
pub use markdown::Markdown;
pub use sarif::Sarif;
pub use text::Text;
