//! `cargo xtask golden DIR`: the golden files of the decoder, from tables of what LLVM 22 answered.
//!
//! DIR has a table for each target, `gfx942.tsv` or `gfx942.tsv.xz`: bytes printed, text, bytes given.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use hsaco_tests::golden::{FAMILIES, Golden, family, golden_dir, manifest_line};
use hsaco_tests::oracle::Target;

use crate::args::Args;
use crate::process;

pub(crate) fn run(mut args: Args) -> Result<()> {
    let folder = args.positional().context("which folder holds the tables?")?;
    args.finish()?;
    let tables = read_tables(Path::new(&folder))?;
    let mut manifest = String::new();
    fs::create_dir_all(golden_dir())?;
    for name in FAMILIES {
        let tables = tables.get(name).with_context(|| format!("no table for {name}"))?;
        let packed = Golden::pack(tables)?;
        check(&packed, tables)?;
        manifest.extend(tables.iter().map(|(target, table)| manifest_line(target, table)));
        println!("{name}: {} targets, {} bytes", tables.len(), packed.len());
        fs::write(golden_dir().join(format!("{name}.zst")), packed)?;
    }
    fs::write(golden_dir().join("manifest.txt"), manifest)?;
    Ok(())
}

/// The tables of each family, ordered by target.
fn read_tables(folder: &Path) -> Result<BTreeMap<&'static str, Vec<(Target, String)>>> {
    let mut families = BTreeMap::<_, Vec<_>>::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let Some((target, _)) = name.split_once(".tsv") else { continue };
        let target: Target = target.parse()?;
        families.entry(family(target.processor)).or_default().push((target, read_table(&path)?));
    }
    families.values_mut().for_each(|it| it.sort_by_cached_key(|(target, _)| target.to_string()));
    Ok(families)
}

fn read_table(path: &Path) -> Result<String> {
    let text = if path.extension() == Some(OsStr::new("xz")) {
        process::output(Command::new("xz").args(["-dc"]).arg(path))?
    } else {
        fs::read(path)?
    };
    String::from_utf8(text).with_context(|| path.display().to_string())
}

/// Unpacking must give every table back to the letter.
fn check(packed: &[u8], tables: &[(Target, String)]) -> Result<()> {
    let golden = Golden::unpack(packed)?;
    for (index, (target, table)) in tables.iter().enumerate() {
        ensure!(golden.targets.get(index) == Some(target), "{target} is lost");
        ensure!(golden.table(index) == *table, "the table of {target} does not come back");
    }
    Ok(())
}
