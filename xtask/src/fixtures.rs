//! `cargo xtask fixtures`: builds `tests/fixtures` from its sources, as its `manifest.txt` says.
//!
//! All commands run in a scratch folder that holds a copy of the sources, so that no path of the
//! machine gets into a fixture.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use hsaco_tests::{fixtures_dir, scratch_dir};

use crate::args::Args;
use crate::{llvm, process};

pub(crate) fn run(mut args: Args) -> Result<()> {
    let check_only = args.flag("--check");
    args.finish()?;
    let missing = llvm::missing();
    ensure!(missing.is_empty(), "missing tools: {}", missing.join(", "));
    if check_only { check() } else { write() }
}

fn write() -> Result<()> {
    let manifest = Manifest::load()?;
    let built = manifest.build()?;
    let dir = fixtures_dir();
    for name in committed(&dir)?.keys().filter(|name| !built.contains_key(*name)) {
        fs::remove_file(dir.join(name))?;
        println!("{name}: removed, it has no recipe");
    }
    for (name, bytes) in &built {
        fs::write(dir.join(name), bytes)?;
        println!("{:>8}  {name}", bytes.len());
    }
    println!("{:>8}  in all", built.values().map(Vec::len).sum::<usize>());
    Ok(())
}

/// Compares what the recipes make with what is committed.
fn check() -> Result<()> {
    let manifest = Manifest::load()?;
    let installed = clang_version()?;
    if installed != manifest.clang {
        println!("not compared: the fixtures are made by {}, here is {installed}", manifest.clang);
        return Ok(());
    }
    let built = manifest.build()?;
    let committed = committed(&fixtures_dir())?;
    let mut names: Vec<_> = built.keys().chain(committed.keys()).collect();
    names.sort();
    names.dedup();
    names.retain(|name| built.get(*name) != committed.get(*name));
    if !names.is_empty() {
        bail!("stale: {names:?}; `cargo xtask fixtures` makes them anew");
    }
    println!("{} fixtures are current", built.len());
    Ok(())
}

fn clang_version() -> Result<String> {
    let text = process::output(Command::new("clang-22").arg("--version"))?;
    let text = String::from_utf8_lossy(&text);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

fn committed(dir: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().display().to_string();
        let is_text = name.ends_with(".txt") || name.ends_with(".md") || name.starts_with('.');
        if entry.file_type()?.is_file() && !is_text {
            files.insert(name, fs::read(entry.path())?);
        }
    }
    Ok(files)
}

/// The recipes: which commands make which fixture.
#[derive(Debug, Default)]
struct Manifest {
    /// The first line of `clang-22 --version`: another build may well make other bytes.
    clang: String,
    variables: Vec<(String, String)>,
    recipes: Vec<Recipe>,
}

#[derive(Debug)]
struct Recipe {
    fixture: String,
    commands: Vec<String>,
}

impl Manifest {
    fn load() -> Result<Self> {
        let path = fixtures_dir().join("manifest.txt");
        Self::parse(&fs::read_to_string(&path)?).with_context(|| path.display().to_string())
    }

    fn parse(text: &str) -> Result<Self> {
        let mut manifest = Self::default();
        for (index, line) in text.lines().enumerate() {
            manifest.line(line).with_context(|| format!("line {}", index + 1))?;
        }
        Ok(manifest)
    }

    fn line(&mut self, line: &str) -> Result<()> {
        if line.trim().is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if line.starts_with(' ') {
            let command = self.expand(line.trim());
            let recipe = self.recipes.last_mut().context("a command before the first fixture")?;
            recipe.commands.push(command);
        } else if let Some(version) = line.strip_prefix("clang: ") {
            version.clone_into(&mut self.clang);
        } else if let Some(fixture) = line.strip_suffix(':') {
            self.recipes.push(Recipe { fixture: fixture.to_owned(), commands: Vec::new() });
        } else {
            let (name, value) = line.split_once(" = ").context("neither fixture nor variable")?;
            let value = self.expand(value.trim());
            self.variables.push((format!("${{{name}}}"), value));
        }
        Ok(())
    }

    fn expand(&self, text: &str) -> String {
        let replace = |text: String, (name, value): &(String, String)| text.replace(name, value);
        self.variables.iter().fold(text.to_owned(), replace)
    }

    fn build(&self) -> Result<BTreeMap<String, Vec<u8>>> {
        let scratch = scratch_dir();
        copy_files(&fixtures_dir().join("src"), scratch.path())?;
        let mut built = BTreeMap::new();
        for recipe in &self.recipes {
            for command in &recipe.commands {
                run_command(command, scratch.path())
                    .with_context(|| format!("fixture {}", recipe.fixture))?;
            }
            let bytes = fs::read(scratch.path().join(&recipe.fixture))
                .with_context(|| format!("no command makes {}", recipe.fixture))?;
            ensure!(
                built.insert(recipe.fixture.clone(), bytes).is_none(),
                "two recipes for {}",
                recipe.fixture
            );
        }
        Ok(built)
    }
}

fn copy_files(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

fn run_command(text: &str, dir: &Path) -> Result<()> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        ["concat", out, inputs @ ..] => concat(dir, out, inputs),
        ["zlib-bundle", out, plain, zstd] => zlib_bundle(dir, out, plain, zstd),
        words => {
            let is_setting = |word: &&str| word.contains('=') && !word.starts_with('-');
            let settings = words.iter().take_while(|word| is_setting(word)).count();
            let (settings, words) = words.split_at_checked(settings).unwrap_or_default();
            let (program, arguments) = words.split_first().context("empty command")?;
            let mut command = Command::new(program);
            command.args(arguments).current_dir(dir);
            command.envs(settings.iter().filter_map(|setting| setting.split_once('=')));
            // Builds must not depend on who runs them, or when.
            command.env("SOURCE_DATE_EPOCH", "0").env("LC_ALL", "C");
            process::output(&mut command).map(drop)
        }
    }
}

fn concat(dir: &Path, out: &str, inputs: &[&str]) -> Result<()> {
    let mut bytes = Vec::new();
    for input in inputs {
        bytes.extend(fs::read(dir.join(input))?);
    }
    Ok(fs::write(dir.join(out), bytes)?)
}

/// Makes a zlib bundle from a plain one, with the header of its zstd (version 2) form: the bundler
/// takes zstd whenever it can, but older ones wrote zlib.
fn zlib_bundle(dir: &Path, out: &str, plain: &str, zstd: &str) -> Result<()> {
    const HEADER_SIZE: usize = 24;
    const METHOD_ZLIB: u16 = 0;
    const COMPRESSION_LEVEL: u8 = 6;
    let data =
        miniz_oxide::deflate::compress_to_vec_zlib(&fs::read(dir.join(plain))?, COMPRESSION_LEVEL);
    let model = fs::read(dir.join(zstd))?;
    let magic_and_version = model.get(..6).context("no header")?;
    let size_and_hash = model.get(12..HEADER_SIZE).context("no header")?;
    let total = u32::try_from(HEADER_SIZE + data.len())?;
    let parts: [&[u8]; 5] =
        [magic_and_version, &METHOD_ZLIB.to_le_bytes(), &total.to_le_bytes(), size_and_hash, &data];
    Ok(fs::write(dir.join(out), parts.concat())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_hold_variables_and_recipes() {
        let text =
            "# c\nclang: clang 22\ncc = clang-22 -c\ncc9 = ${cc} -9\n\na.o:\n    ${cc9} a.c\n";
        let manifest = Manifest::parse(text).unwrap();
        assert_eq!(manifest.clang, "clang 22");
        let recipe = manifest.recipes.first().unwrap();
        assert_eq!((recipe.fixture.as_str(), recipe.commands.len()), ("a.o", 1));
        assert_eq!(recipe.commands[0], "clang-22 -c -9 a.c");
        assert!(Manifest::parse("  cc\n").is_err());
        assert!(Manifest::parse("what\n").is_err());
    }

    #[test]
    #[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
    fn the_committed_fixtures_are_current() {
        check().unwrap();
    }
}
