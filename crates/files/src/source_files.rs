//! The source files that debug information names.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

/// Files that were read, those that are not there included.
///
/// ```
/// let files = hsaco_files::source_files::SourceFiles::default();
/// assert!(files.line("Cargo.toml", 1).is_some());
/// assert_eq!(files.line("no such file", 1), None);
/// ```
#[derive(Debug, Default)]
pub struct SourceFiles(Mutex<HashMap<String, Option<Arc<str>>>>);

impl SourceFiles {
    /// What a file holds; none that is not there.
    pub fn text(&self, path: &str) -> Option<Arc<str>> {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = files.get(path) {
            return known.clone();
        }
        let text = fs::read(Path::new(path)).ok();
        let text: Option<Arc<str>> = text.map(|it| String::from_utf8_lossy(&it).into());
        files.insert(path.to_owned(), text.clone());
        text
    }

    /// A line of a file, counted from 1.
    pub fn line(&self, path: &str, line: u32) -> Option<String> {
        let before = usize::try_from(line).ok()?.checked_sub(1)?;
        self.text(path)?.lines().nth(before).map(str::to_owned)
    }
}

/// Where folders went, as `OLD=NEW`: paths that begin with `OLD` are looked for under `NEW`.
///
/// ```
/// use hsaco_files::source_files::Moved;
/// let moves: Vec<Moved> = vec!["/src/=/tmp/tree".parse()?];
/// assert_eq!(Moved::apply(&moves, "/src/a/b.hip"), "/tmp/tree/a/b.hip");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    old: String,
    new: String,
}

impl FromStr for Moved {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (old, new) = text.split_once('=').ok_or_else(|| format!("'{text}' is not OLD=NEW"))?;
        let folder = |path: &str| path.trim_end_matches('/').to_owned();
        Ok(Self { old: folder(old), new: folder(new) })
    }
}

impl Moved {
    /// A path after all moves: the first whose folder it is in counts.
    #[must_use]
    pub fn apply(moves: &[Self], path: &str) -> String {
        let moved = moves.iter().find_map(|it| {
            let rest = path.strip_prefix(&it.old)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| format!("{}{rest}", it.new))
        });
        moved.unwrap_or_else(|| path.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::Moved;

    #[test]
    fn folders_are_moved_whole() {
        let moves: Vec<Moved> =
            ["/src/=/tmp/tree", "/old=new/"].iter().map(|it| it.parse().unwrap()).collect();
        assert_eq!(Moved::apply(&moves, "/src/a/b.hip"), "/tmp/tree/a/b.hip");
        assert_eq!(Moved::apply(&moves, "/old/b.hip"), "new/b.hip");
        assert_eq!(Moved::apply(&moves, "/srcs/b.hip"), "/srcs/b.hip");
        assert!("/src".parse::<Moved>().is_err());
    }
}
