//! The real libraries of the corpus: every object, kernel and descriptor of them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use hsaco::container::ccob::Ccob;
use hsaco::container::{Container, Entry, EntryKind, HashCheck, WalkOptions, entries};
use hsaco::isa::target::EntryId;
use hsaco::object::descriptor::KernelDescriptor;
use hsaco::object::{CodeObject, Index, Kernel};
use hsaco_tests::listing::{self, array, number, text};
use hsaco_tests::program::{hsaco_fine, succeed};
use hsaco_tests::{corpus_file, readelf, scratch_dir};
use serde_json::Value;

/// A library, and the kernels, objects and bundles that other tools count in it.
struct Library {
    name: &'static str,
    bundles: usize,
    objects: usize,
    kernels: usize,
    /// Every so many objects are held against readelf, every so many bundles against the bundler.
    stride: usize,
}

const LIBRARIES: [Library; 8] = [
    bitsandbytes("bitsandbytes/libbitsandbytes_rocm64.so", 28, 2450),
    bitsandbytes("bitsandbytes/libbitsandbytes_rocm70.so", 30, 2625),
    bitsandbytes("bitsandbytes/libbitsandbytes_rocm71.so", 30, 2625),
    bitsandbytes("bitsandbytes/libbitsandbytes_rocm72.so", 30, 2625),
    bitsandbytes("bitsandbytes/libbitsandbytes_rocm714.so", 50, 4375),
    bitsandbytes("bitsandbytes/libbitsandbytes_rocm715.so", 50, 4375),
    Library { name: "debian/librocrand.so.1.1", bundles: 1, objects: 7, kernels: 560, stride: 1 },
    Library {
        name: "debian/librocsparse.so.0.1",
        bundles: 111,
        objects: 777,
        kernels: 88_137,
        stride: 10,
    },
];

const fn bitsandbytes(name: &'static str, objects: usize, kernels: usize) -> Library {
    Library { name, bundles: 2, objects, kernels, stride: 1 }
}

/// The entries of a library and its bytes. Only the CLI's run checks the hashes.
fn walk(bytes: &[u8]) -> Vec<Entry<'_>> {
    let options = WalkOptions { hash: HashCheck::UpTo(0), ..WalkOptions::default() };
    entries(bytes, &options).map(Result::unwrap).collect()
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn objects_and_kernels_equal_what_other_tools_see() {
    let folder = scratch_dir();
    for library in &LIBRARIES {
        let path = corpus_file(library.name);
        let bytes = fs::read(path).unwrap();
        let entries = walk(&bytes);
        assert_eq!(check_bundles(folder.path(), library, &bytes, &entries), library.bundles);
        check_objects(folder.path(), library, &entries);
    }
}

/// Where the bundles of a library begin, each with its entries' ids.
fn bundles(entries: &[Entry<'_>]) -> BTreeMap<usize, Vec<String>> {
    let mut bundles: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for entry in entries {
        let steps = entry.trail.steps();
        let is_bundle =
            |it: Container| matches!(it, Container::Bundle | Container::CompressedBundle);
        let bundle = steps.iter().find(|it| is_bundle(it.container)).unwrap();
        let start = usize::try_from(bundle.offset.unwrap()).unwrap();
        bundles.entry(start).or_default().push(entry.id.clone().unwrap());
    }
    bundles
}

/// Compares the ids of bundles with the bundler's list; the answer is how many bundles there are.
fn check_bundles(folder: &Path, library: &Library, bytes: &[u8], entries: &[Entry<'_>]) -> usize {
    let bundles = bundles(entries);
    let starts: Vec<_> = bundles.keys().copied().chain([bytes.len()]).collect();
    for (at, (&start, ids)) in bundles.iter().enumerate().step_by(library.stride) {
        let file = folder.join("one.bundle");
        fs::write(&file, one_bundle(&bytes[start..starts[at + 1]])).unwrap();
        let input = format!("--input={}", file.display());
        let list = succeed(folder, "clang-offload-bundler-22", &["--list", "--type=o", &input]);
        let mut theirs: Vec<_> = list.lines().map(without_blank_field).collect();
        let mut ours: Vec<_> = ids.iter().map(|it| without_blank_field(it)).collect();
        theirs.sort();
        ours.sort();
        assert_eq!(ours, theirs, "{} at {start:#x}", library.name);
    }
    bundles.len()
}

/// A bundle without what follows it: padding, which the bundler takes for part of a stream.
fn one_bundle(bytes: &[u8]) -> &[u8] {
    match Ccob::parse(bytes) {
        Ok(header) => &bytes[..usize::try_from(header.total_size).unwrap()],
        Err(_) => bytes,
    }
}

/// The bundler prints triples with a trailing `-` for their absent fourth part.
fn without_blank_field(id: &str) -> String {
    id.trim_end_matches('-').to_owned()
}

fn check_objects(folder: &Path, library: &Library, entries: &[Entry<'_>]) {
    let objects: Vec<_> = entries.iter().filter(|it| it.kind == EntryKind::CodeObject).collect();
    let mut kernels = 0;
    for (at, entry) in objects.iter().enumerate() {
        let object = CodeObject::parse(&entry.data).unwrap();
        let index = object.index();
        assert_eq!((object.problems(), index.problems()), (Vec::new(), [].as_slice()));
        check_target(&object, entry);
        check_kernels(&object, &index);
        kernels += index.kernels().len();
        if at % library.stride == 0 {
            let file = folder.join("one.co");
            fs::write(&file, &*entry.data).unwrap();
            check_symbols(&index, &file);
        }
    }
    assert_eq!((objects.len(), kernels), (library.objects, library.kernels), "{}", library.name);
}

/// The target in the object's header is the one that its id promises.
fn check_target(object: &CodeObject<'_>, entry: &Entry<'_>) {
    let id = entry.id.as_deref().unwrap();
    assert_eq!(object.target().to_string(), EntryId::parse(id).unwrap().target, "{id}");
}

/// Every kernel is complete, and its descriptor survives a round trip through its fields.
fn check_kernels(object: &CodeObject<'_>, index: &Index<'_>) {
    let generation = object.target().generation().unwrap();
    for kernel in index.kernels() {
        let name = kernel.name();
        let metadata = kernel.metadata().unwrap_or_else(|| panic!("{name}: no metadata")).decode();
        let arguments = metadata.unwrap().arguments().unwrap();
        assert_eq!(arguments.filter(Result::is_err).count(), 0, "{name}");
        let descriptor = kernel.descriptor().unwrap_or_else(|| panic!("{name}: no descriptor"));
        let bytes = object.bytes_at(kernel.descriptor_symbol().unwrap(), 64).unwrap();
        assert_eq!(descriptor.to_bytes(), bytes, "{name}");
        let rebuilt = KernelDescriptor::from_fields(descriptor.fields(generation)).unwrap();
        assert_eq!(rebuilt.to_bytes(), bytes, "{name}");
        assert!(kernel.code_size().is_some(), "{name}: no function symbol at the entry");
    }
}

/// Descriptors, entries and sizes are those that readelf prints.
fn check_symbols(index: &Index<'_>, file: &Path) {
    let symbols = readelf::symbols(file);
    let functions: BTreeMap<_, _> =
        symbols.iter().filter(|it| it.kind == "FUNC").map(|it| (it.name.clone(), it)).collect();
    let descriptors = symbols.iter().filter(|it| it.is_descriptor());
    let mut theirs: Vec<_> = descriptors
        .map(|it| {
            let function = functions[it.kernel()];
            (it.kernel().to_owned(), Some(it.value), Some(function.value), Some(function.size))
        })
        .collect();
    let row = |it: &Kernel<'_>| {
        (it.name().to_string(), it.descriptor_address(), it.entry(), it.code_size())
    };
    let mut ours: Vec<_> = index.kernels().iter().map(row).collect();
    theirs.sort();
    ours.sort();
    assert_eq!(ours, theirs);
}

/// The CLI has nothing to complain about, checks every hash, and counts the same.
#[test]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn the_listing_has_no_complaints() {
    for library in LIBRARIES.iter().filter(|it| it.stride == 1) {
        let path = corpus_file(library.name);
        let options = ["ls", "--verify", "--format=json"].map(OsString::from);
        let files = listing::parse(&hsaco_fine(options.into_iter().chain([path.into_os_string()])));
        assert_eq!((files.len(), &files[0]["error"]), (1, &Value::Null), "{}", library.name);
        let objects = array(&files[0], "objects");
        let kernels: usize = objects.iter().map(|it| array(it, "kernels").len()).sum();
        assert_eq!(
            (objects.len(), kernels),
            (library.objects, library.kernels),
            "{}",
            library.name
        );
        for object in objects {
            let id = EntryId::parse(text(object, "entry_id")).unwrap();
            assert_eq!(id.target, text(object, "target"));
            assert!(matches!(number(object, "code_object_version"), Some(4..=6)));
        }
    }
}

/// The largest library, as a table: its JSON is long, and an unoptimised program is slow at it.
#[test]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn the_largest_library_in_one_screen() {
    let path = corpus_file("debian/librocsparse.so.0.1");
    let ran = hsaco_fine(["ls".into(), path.into_os_string()]);
    let (headline, table) = ran.text().split_once('\n').unwrap();
    let counts = ": host ELF file, 777 objects, 88,137 kernels, 1,120 variables";
    assert!(headline.ends_with(counts), "{headline}");
    let targets: Vec<_> = table.lines().skip(2).filter_map(|it| it.split(' ').next()).collect();
    let expected = [
        "gfx1030",
        "gfx803",
        "gfx900:xnack-",
        "gfx906:xnack-",
        "gfx908:xnack-",
        "gfx90a:xnack+",
        "gfx90a:xnack-",
    ];
    assert_eq!(targets, expected);
}

#[test]
#[cfg_attr(not(corpus), ignore = "needs `cargo xtask corpus`")]
fn text_answers_have_no_complaints() {
    for name in ["bitsandbytes/libbitsandbytes_rocm715.so", "debian/librocrand.so.1.1"] {
        let path = corpus_file(name);
        for verb in ["ls", "info", "notes"] {
            let ran = hsaco_fine([verb.into(), path.clone().into_os_string()]);
            assert!(!ran.stdout.is_empty(), "{verb} {name}");
        }
    }
}
