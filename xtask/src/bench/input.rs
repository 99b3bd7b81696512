//! Inputs under target/bench: an object with 5,000 kernels, made once, and objects of the corpus.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use hsaco::compress::Method;
use hsaco::container::bundle::{self, Bundle};
use hsaco::container::ccob::Ccob;
use hsaco::container::{
    Entry, EntryKind, HashCheck, OuterBundle, OuterBundles, WalkOptions, ccob, entries,
};
use hsaco::isa::target::EntryId;
use hsaco_tests::{corpus_dir, workspace_root};

use crate::{corpus, llvm, process};

/// How many kernels the large object has.
pub(crate) const KERNELS: usize = 5000;

/// What the kernels are written in, and so what their names look like.
#[derive(Clone, Copy)]
pub(crate) enum Language {
    C,
    Cpp,
}

impl Language {
    fn name(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::Cpp => "c++",
        }
    }

    /// What a listing must hold to be one, with names demangled or not.
    pub(crate) fn expected_text(self) -> &'static str {
        match self {
            Self::C => "kernel_4999",
            Self::Cpp => "scale_rows",
        }
    }

    fn source(self, kernels: usize) -> String {
        let mut text = String::from(
            "#define KERNEL __attribute__((amdgpu_kernel, visibility(\"protected\")))\n\
             #define GLOBAL __attribute__((address_space(1)))\n",
        );
        if matches!(self, Self::Cpp) {
            text.push_str("namespace bench { template <typename T, int N> struct Tag {};\n");
        }
        for index in 0..kernels {
            let (name, tag) = match self {
                Self::C => (format!("kernel_{index}"), String::new()),
                Self::Cpp => ("scale_rows".to_owned(), format!(", Tag<float, {index}>")),
            };
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "KERNEL void {name}(GLOBAL float *out, GLOBAL const float *in, int n, float factor{tag}) \
                 {{ for (int i = 0; i < n; i += {}) out[i] = in[i] * factor + {index}; }}",
                index % 7 + 1
            );
        }
        if matches!(self, Self::Cpp) {
            text.push_str("}\n");
        }
        text
    }
}

/// The linked object, or nothing where LLVM 22 is missing.
pub(crate) fn many_kernels(language: Language) -> Result<Option<PathBuf>> {
    kernels(language, KERNELS, &[])
}

/// An object of so many kernels in C, with line tables.
pub(crate) fn kernels_with_lines(count: usize) -> Result<Option<PathBuf>> {
    kernels(Language::C, count, &["-gline-tables-only"])
}

fn kernels(language: Language, count: usize, options: &[&str]) -> Result<Option<PathBuf>> {
    let dir = workspace_root().join("target/bench");
    let name = format!("{count}-kernels{}.{}", options.concat(), language.name());
    let (source, object) = (dir.join(&name), dir.join(format!("{name}.co")));
    let text = language.source(count);
    if object.exists() && fs::read_to_string(&source).is_ok_and(|old| old == text) {
        return Ok(Some(object));
    }
    if !llvm::missing().is_empty() {
        return Ok(None);
    }
    fs::create_dir_all(&dir)?;
    let relocatable = object.with_extension("o");
    fs::write(&source, text)?;
    let mut clang = Command::new("clang-22");
    clang.args(["-x", language.name(), "--target=amdgcn-amd-amdhsa", "-mcpu=gfx942"]).args(options);
    clang.args(["-nogpulib", "-O1", "-c"]).arg(&source).arg("-o").arg(&relocatable);
    let mut lld = Command::new("ld.lld-22");
    lld.arg("-shared").arg(&relocatable).arg("-o").arg(&object);
    process::output(&mut clang)?;
    process::output(&mut lld)?;
    fs::remove_file(&relocatable)?;
    Ok(Some(object))
}

/// The code objects for a target in bitsandbytes' libraries, the largest first; none where they were not fetched.
pub(crate) fn objects(target: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let options = WalkOptions { hash: HashCheck::UpTo(0), ..WalkOptions::default() };
    for library in corpus::libraries(&corpus_dir().join("bitsandbytes")).unwrap_or_default() {
        let file = fs::read(&library)?;
        for entry in entries(&file, &options) {
            let entry = entry?;
            if is_for(&entry, target) {
                found.push(entry.data.to_vec());
            }
        }
    }
    found.sort_by_key(|object| std::cmp::Reverse(object.len()));
    let dir = workspace_root().join("target/bench");
    fs::create_dir_all(&dir)?;
    let write = |(number, object)| {
        let path = dir.join(format!("{target}.{number}.co"));
        fs::write(&path, object)?;
        Ok(path)
    };
    (0..).zip(found).map(write).collect()
}

fn is_for(entry: &Entry<'_>, target: &str) -> bool {
    let id = entry.id.as_deref().and_then(EntryId::parse);
    entry.kind == EntryKind::CodeObject && id.is_some_and(|id| id.target == target)
}

/// librocsparse's bundles one after the other, each compressed, as compilers make them since ROCm 6; nothing where the
/// library was not fetched. Beside it stands what they unfold to.
pub(crate) fn compressed_library() -> Result<Option<PathBuf>> {
    let Some(library) = super::library("debian", "librocsparse") else { return Ok(None) };
    let path = workspace_root().join("target/bench/librocsparse.hipfb");
    let plain = plain_library(&path);
    if path.exists() && plain.exists() {
        return Ok(Some(path));
    }
    let file = fs::read(library)?;
    let mut bundles = OuterBundles::default();
    for entry in entries(&file, &WalkOptions::default()) {
        bundles.add(&entry?, None);
    }
    let (mut content, mut packed) = (Vec::new(), Vec::new());
    for OuterBundle { offset, .. } in bundles.0 {
        let rest = file.get(usize::try_from(offset)?..).unwrap_or_default();
        let size = usize::try_from(Bundle::parse(rest)?.extent())?;
        let bundle = rest.get(..size).unwrap_or_default();
        packed.extend(ccob::write(bundle, 3, Method::Zstd, 3)?);
        packed.resize(packed.len().next_multiple_of(8), 0);
        content.extend_from_slice(bundle);
    }
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    fs::write(&plain, content)?;
    fs::write(&path, packed)?;
    Ok(Some(path))
}

/// The compressed payloads of [`compressed_library`] one after the other, as a file for zstd.
pub(crate) fn frames_of(compressed: &Path) -> Result<PathBuf> {
    let path = compressed.with_extension("zst");
    if !path.exists() {
        let file = fs::read(compressed)?;
        let (mut frames, mut at) = (Vec::new(), 0);
        while let Some(rest) = file.get(at..).filter(|it| !it.is_empty()) {
            let header = Ccob::parse(rest)?;
            let end = usize::try_from(header.total_size)?;
            let frame = rest.get(usize::try_from(header.header_size)?..end);
            frames.extend_from_slice(frame.unwrap_or_default());
            at = (at + end).next_multiple_of(8);
        }
        fs::write(&path, frames)?;
    }
    Ok(path)
}

/// What [`compressed_library`] unfolds to.
pub(crate) fn plain_library(compressed: &Path) -> PathBuf {
    compressed.with_extension("plain")
}

/// An object so many times, in bundles one after the other.
pub(crate) fn copies_of(object: &Path, count: usize) -> Result<PathBuf> {
    let stem = object.file_stem().unwrap_or_default().display().to_string();
    let path = object.with_file_name(format!("{count}-times-{stem}.hipfb"));
    let object = fs::read(object)?;
    let bundle = bundle::write(&[("hipv4-amdgcn-amd-amdhsa--gfx942", object)], 4096);
    if fs::metadata(&path).is_ok_and(|it| it.len() == (bundle.len() * count) as u64) {
        return Ok(path);
    }
    let mut file = BufWriter::new(fs::File::create(&path)?);
    for _ in 0..count {
        file.write_all(&bundle)?;
    }
    file.flush()?;
    Ok(path)
}
