//! What the house looks like: lines, names, long functions and cycles between modules, crate by crate.

mod page;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::spanned::Spanned as _;
use syn::visit::Visit;
use syn::{Attribute, ImplItemFn, Item, ItemFn, ItemMod, UseTree, Visibility};

use crate::args::Args;

/// Functions longer than this are listed.
const LONG: usize = 60;

/// Names of types and functions that several crates export, and why each may.
const TWINS: [(&str, &str); 4] = [
    ("Device", "check has what a device is, emu one that runs"),
    (
        "Error",
        "of bytes for all kinds; load's is that with kinds of its own, emu's says where a program stopped",
    ),
    ("ErrorKind", "the kinds of a crate's errors"),
    ("Result", "with a crate's errors"),
];

/// The layers of `isa` that stand side by side on its model: none uses another.
const SIDE_BY_SIDE: [&str; 4] = ["asm", "decode", "effects", "print"];

/// One crate as its sources show it.
#[derive(Default)]
struct Crate {
    name: String,
    /// Lines of code and comments, tests and generated code left out.
    lines: usize,
    /// What `lib.rs` exports under its own name.
    exports: BTreeSet<String>,
    /// Those of them that are modules.
    modules: BTreeSet<String>,
    /// The top-level modules, each with those that it uses.
    uses: BTreeMap<String, BTreeSet<String>>,
    /// `path:line name` of long functions.
    long: Vec<String>,
    dependencies: usize,
}

pub(crate) fn run(mut args: Args) -> Result<()> {
    let check = args.flag("--check");
    args.finish()?;
    let crates = crates()?;
    print_table(&crates);
    for it in &crates {
        cycles(&it.uses).iter().for_each(|knot| println!("{}", cycle_text(it, knot)));
    }
    print_shared(&crates);
    for it in crates.iter().flat_map(|it| &it.long).chain(&long_functions_of_tools()?) {
        println!("long function: {it}");
    }
    let mut broken: Vec<String> =
        crates.iter().flat_map(broken_layers).chain(twins(&crates)).collect();
    broken.extend(page::broken(&hsaco_tests::workspace_root())?);
    ensure!(!check || broken.is_empty(), "{}", broken.join("; "));
    Ok(())
}

/// All crates, the largest first.
fn crates() -> Result<Vec<Crate>> {
    let mut crates = Vec::new();
    for entry in fs::read_dir(hsaco_tests::workspace_root().join("crates"))? {
        let path = entry?.path();
        if path.join("src").is_dir() {
            crates.push(Crate::read(&path)?);
        }
    }
    crates.sort_by_key(|it| std::cmp::Reverse(it.lines));
    Ok(crates)
}

/// Long functions of what is built beside the crates: tests, fuzz targets and xtask.
fn long_functions_of_tools() -> Result<Vec<String>> {
    let root = hsaco_tests::workspace_root();
    let mut files = Vec::new();
    for folder in ["tests", "xtask", "fuzz/fuzz_targets"] {
        list(&root.join(folder), &mut files)?;
    }
    let mut found = Vec::new();
    for file in files {
        let name = file.strip_prefix(&root)?.display().to_string();
        let mut long = LongFunctions { file: name, found: Vec::new() };
        long.visit_file(&syn::parse_file(&fs::read_to_string(&file)?)?);
        found.append(&mut long.found);
    }
    found.sort();
    Ok(found)
}

fn cycle_text(it: &Crate, knot: &[String]) -> String {
    format!("cycle in {}: {}", it.name, knot.join(", "))
}

/// What is wrong with the layers of a crate, if there is a rule for it.
fn broken_layers(it: &Crate) -> Vec<String> {
    let mut broken: Vec<String> =
        cycles(&it.uses).iter().map(|knot| cycle_text(it, knot)).collect();
    if it.name == "isa" {
        for (module, uses) in &it.uses {
            let is_layer = |name: &str| SIDE_BY_SIDE.contains(&name);
            let others = uses.iter().filter(|other| is_layer(module) && is_layer(other));
            broken.extend(others.map(|other| format!("{module} of isa uses {other}")));
        }
    }
    broken
}

fn print_table(crates: &[Crate]) {
    println!("{:>7} {:>7} {:>7} {:>5}  CRATE", "LINES", "EXPORTS", "MODULES", "DEPS");
    for it in crates {
        let (exports, modules) = (it.exports.len(), it.uses.len());
        println!("{:>7} {exports:>7} {modules:>7} {:>5}  {}", it.lines, it.dependencies, it.name);
    }
    let lines: usize = crates.iter().map(|it| it.lines).sum();
    let exports: usize = crates.iter().map(|it| it.exports.len()).sum();
    println!("{lines:>7} {exports:>7} {:>7} {:>5}  in all", "", "");
}

/// The crates that export each name. Modules do not count, nor the facade, which has the other crates as modules.
fn owners(crates: &[Crate]) -> BTreeMap<&str, Vec<&str>> {
    let mut owners: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for it in crates.iter().filter(|it| it.name != "hsaco") {
        let names = it.exports.difference(&it.modules);
        names.for_each(|name| owners.entry(name).or_default().push(&it.name));
    }
    owners
}

/// Names that several crates export, with the reason for it if there is one.
fn print_shared(crates: &[Crate]) {
    for (name, owners) in owners(crates).iter().filter(|(_, owners)| owners.len() > 1) {
        let why = TWINS.iter().find(|(it, _)| it == name).map_or("no reason", |it| it.1);
        println!("exported more than once: {name} ({}): {why}", owners.join(", "));
    }
}

/// Names that several crates export for no known reason, and reasons for names that none or one does.
fn twins(crates: &[Crate]) -> Vec<String> {
    let owners = owners(crates);
    let is_twin = |name: &&str| owners.get(name).is_some_and(|it| it.len() > 1);
    let has_reason = |name: &str| TWINS.iter().any(|(it, _)| *it == name);
    let unknown = owners.keys().copied().filter(is_twin).filter(|name| !has_reason(name));
    let unknown = unknown.map(|name| format!("{name} is exported more than once"));
    let unused = TWINS.iter().map(|it| it.0).filter(|name| !is_twin(name));
    unknown.chain(unused.map(|name| format!("{name} of TWINS is no twin"))).collect()
}

impl Crate {
    fn read(folder: &Path) -> Result<Self> {
        let name = folder.file_name().context("a crate's folder")?.to_string_lossy().into_owned();
        let mut it = Self { name, ..Self::default() };
        let source = folder.join("src");
        let mut files = Vec::new();
        list(&source, &mut files)?;
        let library = fs::read_to_string(source.join("lib.rs")).unwrap_or_default();
        let roots = it.exported(&syn::parse_file(&library)?);
        let tests = test_modules(&files)?;
        for file in files {
            let is_test = tests.iter().any(|test| file.with_extension("").starts_with(test));
            it.add(&source, &file, is_test, &roots)
                .with_context(|| format!("cannot read {}", file.display()))?;
        }
        let manifest = fs::read_to_string(folder.join("Cargo.toml"))?;
        it.dependencies = dependencies(&manifest).count();
        Ok(it)
    }

    /// Takes the names that `lib.rs` exports, and returns the module that each comes from.
    fn exported(&mut self, library: &syn::File) -> BTreeMap<String, String> {
        let mut roots = BTreeMap::new();
        for item in &library.items {
            match item {
                Item::Use(it) => {
                    let mut names = Vec::new();
                    leaves(&it.tree, None, &mut names);
                    for (module, name) in names {
                        if matches!(it.vis, Visibility::Public(_)) {
                            self.exports.insert(name.clone());
                        }
                        roots.insert(name, module);
                    }
                }
                Item::Mod(it) => {
                    let name = it.ident.to_string();
                    if matches!(it.vis, Visibility::Public(_)) {
                        self.exports.insert(name.clone());
                        self.modules.insert(name.clone());
                    }
                    self.uses.insert(name.clone(), BTreeSet::new());
                    roots.insert(name.clone(), name);
                }
                other => self.exports.extend(public_name(other)),
            }
        }
        roots
    }

    /// Takes a file into account; of a test's file the long functions alone.
    fn add(
        &mut self,
        source: &Path,
        file: &Path,
        is_test_file: bool,
        roots: &BTreeMap<String, String>,
    ) -> Result<()> {
        let text = fs::read_to_string(file)?;
        let mut parsed = syn::parse_file(&text)?;
        let mut tests = 0;
        parsed.items.retain(|item| match item {
            Item::Mod(it) if is_test(&it.attrs) => {
                tests += it.span().end().line + 1 - it.span().start().line;
                false
            }
            _ => true,
        });
        let relative = file.strip_prefix(source)?;
        let mut long = LongFunctions {
            file: format!("{}/{}", self.name, relative.display()),
            found: Vec::new(),
        };
        long.visit_file(&parsed);
        self.long.append(&mut long.found);
        if is_test_file {
            return Ok(());
        }
        self.lines += text.lines().count() - tests;
        let Some(module) = top_module(relative).filter(|it| self.uses.contains_key(it)) else {
            return Ok(());
        };
        let is_root_file = relative.components().count() == 1
            || relative.ends_with("mod.rs") && relative.components().count() == 2;
        let mut used = BTreeSet::new();
        paths(parsed.to_token_stream(), is_root_file, roots, &mut used);
        used.remove(&module);
        self.uses.entry(module).or_default().extend(used);
        Ok(())
    }
}

/// The lines of a manifest that name dependencies.
fn dependencies(manifest: &str) -> impl Iterator<Item = &str> {
    let lines = manifest.lines().skip_while(|line| *line != "[dependencies]").skip(1);
    lines.take_while(|line| !line.starts_with('[')).filter(|line| line.contains('='))
}

/// All files of Rust in a folder but generated ones.
pub(crate) fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with("generated") {
            list(&path, files)?;
        } else if path.extension().is_some_and(|it| it == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// The modules in files of their own that are compiled for tests alone, as paths without `.rs`.
fn test_modules(files: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for file in files {
        let folder = match file.file_name().and_then(|it| it.to_str()) {
            Some("lib.rs" | "main.rs" | "mod.rs") => file.with_file_name(""),
            _ => file.with_extension(""),
        };
        for item in syn::parse_file(&fs::read_to_string(file)?)?.items {
            if let Item::Mod(it) = item
                && it.content.is_none()
                && is_test(&it.attrs)
            {
                found.push(folder.join(it.ident.to_string()));
            }
        }
    }
    Ok(found)
}

/// The names that a `use` ends in, each with the first part of its path.
fn leaves(tree: &UseTree, first: Option<&str>, names: &mut Vec<(String, String)>) {
    let module = |name: &syn::Ident| first.map_or_else(|| name.to_string(), str::to_owned);
    match tree {
        UseTree::Path(it) => leaves(&it.tree, Some(&module(&it.ident)), names),
        UseTree::Group(it) => it.items.iter().for_each(|tree| leaves(tree, first, names)),
        UseTree::Name(it) => names.push((module(&it.ident), it.ident.to_string())),
        UseTree::Rename(it) => names.push((module(&it.ident), it.rename.to_string())),
        UseTree::Glob(_) => {}
    }
}

/// The names that a `use` brings, each with its path.
pub(crate) fn leaves_with_paths(
    tree: &UseTree,
    path: &mut Vec<String>,
    names: &mut BTreeMap<String, Vec<String>>,
) {
    let mut leaf = |name: &syn::Ident, real: &syn::Ident| {
        let full = path.iter().cloned().chain([real.to_string()]).collect();
        names.insert(name.to_string(), full);
    };
    match tree {
        UseTree::Path(it) => {
            path.push(it.ident.to_string());
            leaves_with_paths(&it.tree, path, names);
            path.pop();
        }
        UseTree::Group(it) => it.items.iter().for_each(|it| leaves_with_paths(it, path, names)),
        UseTree::Name(it) => leaf(&it.ident, &it.ident),
        UseTree::Rename(it) => leaf(&it.rename, &it.ident),
        UseTree::Glob(_) => {}
    }
}

/// The name of an item that `lib.rs` defines for others.
fn public_name(item: &Item) -> Option<String> {
    let (visibility, name) = match item {
        Item::Const(it) => (&it.vis, &it.ident),
        Item::Enum(it) => (&it.vis, &it.ident),
        Item::Fn(it) => (&it.vis, &it.sig.ident),
        Item::Static(it) => (&it.vis, &it.ident),
        Item::Struct(it) => (&it.vis, &it.ident),
        Item::Trait(it) => (&it.vis, &it.ident),
        Item::Type(it) => (&it.vis, &it.ident),
        _ => return None,
    };
    matches!(visibility, Visibility::Public(_)).then(|| name.to_string())
}

fn top_module(relative: &Path) -> Option<String> {
    let first = relative.components().next()?.as_os_str().to_str()?;
    Some(first.trim_end_matches(".rs").to_owned())
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes
        .iter()
        .any(|it| it.to_token_stream().to_string().replace(' ', "").contains("cfg(test)"))
}

/// Modules that paths lead to: those that begin with `crate`, and in files of the root's modules with `super`.
fn paths(
    tokens: TokenStream,
    is_root_file: bool,
    roots: &BTreeMap<String, String>,
    used: &mut BTreeSet<String>,
) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => paths(group.stream(), is_root_file, roots, used),
            TokenTree::Ident(it) if it == "crate" || is_root_file && it == "super" => {
                let is_path =
                    matches!(tokens.get(at + 1), Some(TokenTree::Punct(it)) if it.as_char() == ':');
                match tokens.get(at + 3).filter(|_| is_path) {
                    Some(TokenTree::Ident(name)) => {
                        used.extend(roots.get(&name.to_string()).cloned());
                    }
                    Some(TokenTree::Group(group)) => {
                        let names = group.stream().into_iter().filter_map(|it| match it {
                            TokenTree::Ident(name) => roots.get(&name.to_string()).cloned(),
                            _ => None,
                        });
                        used.extend(names);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

struct LongFunctions {
    file: String,
    found: Vec<String>,
}

impl LongFunctions {
    fn look(&mut self, name: &syn::Ident, from: usize, to: usize) {
        let lines = to + 1 - from;
        if lines > LONG {
            self.found.push(format!("{}:{from} {name} ({lines} lines)", self.file));
        }
    }
}

impl<'ast> Visit<'ast> for LongFunctions {
    fn visit_item_fn(&mut self, it: &'ast ItemFn) {
        self.look(&it.sig.ident, it.sig.span().start().line, it.block.span().end().line);
        syn::visit::visit_item_fn(self, it);
    }

    fn visit_impl_item_fn(&mut self, it: &'ast ImplItemFn) {
        self.look(&it.sig.ident, it.sig.span().start().line, it.block.span().end().line);
        syn::visit::visit_impl_item_fn(self, it);
    }

    fn visit_item_mod(&mut self, it: &'ast ItemMod) {
        if !is_test(&it.attrs) {
            syn::visit::visit_item_mod(self, it);
        }
    }
}

/// Modules that reach one another: each set of them, in order.
fn cycles(uses: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        uses.keys().map(|it| (it.as_str(), reached(uses, it))).collect();
    let mut found: Vec<Vec<String>> = Vec::new();
    for (module, reached) in &reach {
        let is_mutual = |other: &&&str| reach.get(**other).is_some_and(|it| it.contains(module));
        let knot: Vec<String> =
            reached.iter().filter(is_mutual).map(|it| (*it).to_owned()).collect();
        if knot.len() > 1 && !found.contains(&knot) {
            found.push(knot);
        }
    }
    found
}

/// All that a module uses, by way of others too.
fn reached<'u>(uses: &'u BTreeMap<String, BTreeSet<String>>, module: &str) -> BTreeSet<&'u str> {
    let mut seen = BTreeSet::new();
    let mut left = vec![module];
    while let Some(module) = left.pop() {
        for next in uses.get(module).into_iter().flatten() {
            if seen.insert(next.as_str()) {
                left.push(next);
            }
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(edges: &[(&str, &[&str])]) -> BTreeMap<String, BTreeSet<String>> {
        let owned = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
        edges.iter().map(|(module, used)| ((*module).to_owned(), owned(used))).collect()
    }

    #[test]
    fn cycles_are_found() {
        let found = cycles(&uses(&[("a", &["b"]), ("b", &["c"]), ("c", &["a", "d"]), ("d", &[])]));
        assert_eq!(found, [["a", "b", "c"]]);
        assert!(cycles(&uses(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])])).is_empty());
    }

    #[test]
    fn layers_that_use_each_other_are_found() {
        let isa = Crate {
            name: "isa".to_owned(),
            uses: uses(&[("asm", &["model", "print"]), ("model", &[]), ("print", &["model"])]),
            ..Crate::default()
        };
        assert_eq!(broken_layers(&isa), ["asm of isa uses print"]);
    }

    #[test]
    fn the_layers_of_crates_hold() {
        let broken: Vec<String> = crates().unwrap().iter().flat_map(broken_layers).collect();
        assert_eq!(broken, Vec::<String>::new());
    }

    #[test]
    fn names_mean_one_thing() {
        assert_eq!(twins(&crates().unwrap()), Vec::<String>::new());
    }

    #[test]
    fn a_name_of_two_crates_is_found() {
        let names = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect();
        let all = ["Device", "Error", "ErrorKind", "Result", "Plan", "write"];
        let one = |name: &str| Crate {
            name: name.to_owned(),
            exports: names(&all),
            modules: names(&["write"]),
            ..Crate::default()
        };
        assert_eq!(twins(&[one("listing"), one("patch")]), ["Plan is exported more than once"]);
        assert_eq!(twins(&[one("listing"), one("hsaco")]).len(), TWINS.len());
    }
}
