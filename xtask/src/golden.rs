//! `cargo xtask golden decode DIR` and `cargo xtask golden assemble DIR`: the golden files of the decoder
//! and of the assembler, from tables of what LLVM 22 answered.
//!
//! DIR has a table for each target, `gfx942.tsv` or `gfx942.tsv.xz`. For the decoder: bytes printed, text,
//! bytes given. For the assembler: features, bytes, text, and what the row comes from.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use hsaco_tests::assembly::{Assembly, assembly_dir, test_target};
use hsaco_tests::golden::{FAMILIES, Golden, family, golden_dir, manifest_line};
use hsaco_tests::oracle::Target;

use crate::args::Args;
use crate::process;

pub(crate) fn run(mut args: Args) -> Result<()> {
    let what = args.positional().context("golden files of what, decode or assemble?")?;
    let folder = args.positional().context("which folder holds the tables?")?;
    args.finish()?;
    match what.as_str() {
        "decode" => decode(Path::new(&folder)),
        "assemble" => assemble(Path::new(&folder)),
        _ => bail!("golden files of decode or assemble, not of {what}"),
    }
}

fn decode(folder: &Path) -> Result<()> {
    let tables = read_tables(folder)?;
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

fn assemble(folder: &Path) -> Result<()> {
    let tables = read_tables(folder)?;
    let mut manifest = String::new();
    fs::create_dir_all(assembly_dir())?;
    for name in FAMILIES {
        let tables = tables.get(name).with_context(|| format!("no table for {name}"))?;
        let mut lines = Vec::new();
        for (target, table) in tables {
            for line in table.lines() {
                let [features, bytes, text, _] = line.split('\t').collect::<Vec<_>>()[..] else {
                    bail!("{target}: `{line}` has not four columns");
                };
                let target = test_target(target.processor.name(), features)?;
                lines.extend(target.map(|target| (target, bytes, text)));
            }
        }
        let packed =
            Assembly::pack(lines.iter().map(|(target, bytes, text)| (&**target, *bytes, *text)))?;
        manifest += &Assembly::unpack(&packed)?.manifest_line(name);
        println!("{name}: {} lines, {} bytes", lines.len(), packed.len());
        fs::write(assembly_dir().join(format!("{name}.zst")), packed)?;
    }
    fs::write(assembly_dir().join("manifest.txt"), manifest)?;
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
