//! ARCHITECTURE.md, held against the tree: its table against the manifests, its code map against the files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

/// What most crates use, so that the table leaves it out.
const EVERYWHERE: [&str; 4] = ["bytes", "demangle", "elf", "isa"];

/// A row of the table: a crate, and what it says that the crate stands on.
struct Row<'p> {
    name: &'p str,
    stands_on: Vec<&'p str>,
}

/// All that is not on the page as it is in the tree.
pub(super) fn broken(root: &Path) -> Result<Vec<String>> {
    let page = fs::read_to_string(root.join("ARCHITECTURE.md"))?;
    let rows = rows(&page).context("ARCHITECTURE.md has no table of crates")?;
    let manifests = manifests(root)?;
    let mut broken = broken_rows(&rows, &manifests);
    for (name, section) in sections(&page) {
        let folder = root.join("crates").join(name);
        let missing = files(section).into_iter().filter(|it| !is_there(root, &folder, it));
        broken.extend(missing.map(|it| format!("the code map has {it} in {name}: no such file")));
    }
    broken.extend(differing("the code map", sections(&page).map(|it| it.0), manifests.keys()));
    let said = page.split_once("`unsafe` is forbidden in").and_then(|it| it.1.split_once("**"));
    let said = quoted(said.context("ARCHITECTURE.md says nothing of unsafe code")?.0);
    let safe: Vec<_> = manifests.keys().filter(|it| forbids_unsafe(root, it)).collect();
    broken.extend(differing("the invariant about unsafe code", said.into_iter(), safe.into_iter()));
    Ok(broken)
}

/// Names that only one of two lists has.
fn differing<'p>(
    place: &str,
    said: impl Iterator<Item = &'p str>,
    real: impl Iterator<Item = &'p String>,
) -> Vec<String> {
    let said: BTreeSet<&str> = said.collect();
    let real: BTreeSet<&str> = real.map(String::as_str).collect();
    said.symmetric_difference(&real).map(|it| format!("{place} is wrong about {it}")).collect()
}

/// The rows of the table, in their order.
fn rows(page: &str) -> Option<Vec<Row<'_>>> {
    let table = page.split_once("| crate | its one job | stands on |\n")?.1;
    let mut rows: Vec<Row<'_>> = Vec::new();
    for line in table.lines().skip(1).take_while(|it| it.starts_with('|')) {
        let mut cells = line.split('|').skip(1);
        let name = *quoted(cells.next()?).first()?;
        let below = cells.nth(1)?;
        let stands_on = match below.trim() {
            "all of the above" => rows.iter().map(|it| it.name).collect(),
            _ => quoted(below),
        };
        rows.push(Row { name, stands_on });
    }
    Some(rows)
}

/// What stands between backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Which crates of the workspace each crate depends on.
fn manifests(root: &Path) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(root.join("crates"))? {
        let entry = entry?;
        let Ok(manifest) = fs::read_to_string(entry.path().join("Cargo.toml")) else { continue };
        let lines = super::dependencies(&manifest);
        let names = lines.filter_map(|it| it.split(['.', ' ', '=']).next());
        let ours = names.filter_map(|it| match it {
            "hsaco" => Some(it.to_owned()),
            other => other.strip_prefix("hsaco-").map(str::to_owned),
        });
        found.insert(entry.file_name().to_string_lossy().into_owned(), ours.collect());
    }
    Ok(found)
}

fn broken_rows(rows: &[Row<'_>], manifests: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let mut broken = differing("the table", rows.iter().map(|it| it.name), manifests.keys());
    let mut reached: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for Row { name, stands_on } in rows {
        let Some(dependencies) = manifests.get(*name) else { continue };
        let mut below: BTreeSet<&str> = stands_on.iter().copied().collect();
        for it in stands_on {
            match reached.get(it) {
                Some(further) => below.extend(further),
                None => broken.push(format!("{name} stands on {it}, which is not above it")),
            }
            if !dependencies.contains(*it) {
                broken.push(format!("{name} does not depend on {it}, as the table says"));
            }
        }
        for it in dependencies.iter().map(String::as_str) {
            let is_above = reached.contains_key(it);
            if !is_above || !(below.contains(it) || EVERYWHERE.contains(&it)) {
                broken.push(format!("{name} depends on {it}, which the table does not say"));
            }
        }
        reached.insert(name, below);
    }
    broken
}

/// The crates of the code map, each with what is said of it.
fn sections(page: &str) -> impl Iterator<Item = (&str, &str)> {
    let map = page.split_once("## Code map").map_or("", |it| it.1);
    let map = map.split_once("\n## ").map_or(map, |it| it.0);
    map.split("\n### ").skip(1).flat_map(|section| {
        let (heading, text) = section.split_once('\n').unwrap_or((section, ""));
        quoted(heading).into_iter().filter_map(move |it| Some((it.strip_prefix("crates/")?, text)))
    })
}

/// The files that a section of the code map names.
fn files(section: &str) -> Vec<&str> {
    let mut found = quoted(section);
    found.retain(|it| it.ends_with(".rs") || it.ends_with('/'));
    found
}

/// Whether a crate has a file or folder, or the workspace has it at this path.
fn is_there(root: &Path, folder: &Path, name: &str) -> bool {
    let own = ["", "src", "python", "python/hsaco"].map(|it| folder.join(it).join(name));
    let others = [root.join(name), root.join("crates").join(name)];
    own.iter().chain(&others).any(|it| it.exists())
        || is_below(&folder.join("src"), Path::new(name.trim_end_matches('/')))
}

/// Whether a path that ends so is somewhere in a folder.
fn is_below(folder: &Path, end: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path());
    entries.into_iter().any(|it| it.ends_with(end) || it.is_dir() && is_below(&it, end))
}

fn forbids_unsafe(root: &Path, name: &str) -> bool {
    let library = fs::read_to_string(root.join("crates").join(name).join("src/lib.rs"));
    library.is_ok_and(|it| it.contains("#![forbid(unsafe_code)]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
| crate | its one job | stands on |
|---|---|---|
| `isa` | `Inst` | nothing |
| `object` | objects | |
| `analysis` | code | `object` |
| `db` | files | `analysis`; `object` to read |
| `hsaco` | the facade | all of the above |

### other
## Code map

### `crates/db`, `crates/isa`
- `index.rs`, `codec/`, `Kernel`

## Invariants
";

    fn manifests(all: &[(&str, &[&str])]) -> BTreeMap<String, BTreeSet<String>> {
        let names = |it: &[&str]| it.iter().map(|it| (*it).to_owned()).collect();
        all.iter().map(|(name, on)| ((*name).to_owned(), names(on))).collect()
    }

    #[test]
    fn the_page_is_true() {
        assert_eq!(broken(&hsaco_tests::workspace_root()).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn arrows_that_are_not_in_manifests_are_found() {
        let rows = rows(PAGE).unwrap();
        let mut all = manifests(&[
            ("isa", &[]),
            ("object", &["isa"]),
            ("analysis", &["isa", "object"]),
            ("db", &["analysis", "object"]),
            ("hsaco", &["analysis", "db", "isa", "object"]),
        ]);
        assert_eq!(broken_rows(&rows, &all), Vec::<String>::new());
        all.insert("analysis".to_owned(), ["db".to_owned()].into());
        all.insert("draw".to_owned(), BTreeSet::new());
        assert_eq!(
            broken_rows(&rows, &all),
            [
                "the table is wrong about draw",
                "analysis does not depend on object, as the table says",
                "analysis depends on db, which the table does not say",
            ]
        );
    }

    #[test]
    fn the_code_map_is_read() {
        let found: Vec<_> = sections(PAGE).map(|(name, text)| (name, files(text))).collect();
        assert_eq!(
            found,
            [("db", vec!["index.rs", "codec/"]), ("isa", vec!["index.rs", "codec/"])]
        );
    }
}
