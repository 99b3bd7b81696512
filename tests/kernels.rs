//! Kernels, functions and variables against the symbols that `llvm-readelf-22 -sW` prints.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use hsaco::container::{EntryKind, WalkOptions, entries};
use hsaco::object::CodeObject;
use hsaco_tests::listing::{self, array, number, text};
use hsaco_tests::program::{hsaco_fine, sh};
use hsaco_tests::readelf::{self, Symbol};
use hsaco_tests::{fixture, scratch_dir};
use serde_json::Value;

/// Name, descriptor, entry, code size.
type KernelRow = (String, Option<u64>, Option<u64>, Option<u64>);
/// Name, address, size.
type SymbolRow = (String, u64, u64);

#[derive(Debug, Default, PartialEq, Eq)]
struct Content {
    kernels: Vec<KernelRow>,
    functions: Vec<SymbolRow>,
    variables: Vec<SymbolRow>,
}

/// What readelf's symbols come to.
fn expected(symbols: &[Symbol]) -> Content {
    let functions: BTreeMap<&str, &Symbol> = symbols
        .iter()
        .filter(|it| it.kind == "FUNC" && it.section != "UND")
        .map(|it| (it.name.as_str(), it))
        .collect();
    let descriptors: Vec<_> = symbols.iter().filter(|it| it.is_descriptor()).collect();
    let kernels: BTreeSet<_> = descriptors.iter().map(|it| it.kernel()).collect();
    let kernel = |it: &&Symbol| {
        let entry = functions.get(it.kernel());
        (it.kernel().to_owned(), Some(it.value), entry.map(|it| it.value), entry.map(|it| it.size))
    };
    let row = |it: &Symbol| (it.name.clone(), it.value, it.size);
    let is_placed = |it: &&Symbol| it.section.parse::<u32>().is_ok();
    let mut content = Content {
        kernels: descriptors.iter().map(kernel).collect(),
        functions: functions
            .values()
            .filter(|it| !kernels.contains(it.name.as_str()))
            .map(|it| row(it))
            .collect(),
        variables: symbols
            .iter()
            .filter(|it| it.kind == "OBJECT" && !it.is_descriptor())
            .filter(is_placed)
            .map(row)
            .collect(),
    };
    content.sort();
    content
}

/// What `hsaco ls` says.
fn listed(object: &Value) -> Content {
    let kernel = |it: &Value| {
        let name = text(it, "name").to_owned();
        (name, number(it, "descriptor"), number(it, "entry"), number(it, "code_size"))
    };
    let row = |it: &Value| {
        let (address, size) = (number(it, "address").unwrap(), number(it, "size").unwrap());
        (text(it, "name").to_owned(), address, size)
    };
    let mut content = Content {
        kernels: array(object, "kernels").iter().map(kernel).collect(),
        functions: array(object, "functions").iter().map(row).collect(),
        variables: array(object, "variables").iter().map(row).collect(),
    };
    content.sort();
    content
}

impl Content {
    fn sort(&mut self) {
        self.kernels.sort();
        self.functions.sort();
        self.variables.sort();
    }
}

/// Compares one object with its symbols; the answer is how many kernels there are.
fn check(file: &Path) -> usize {
    let content = listed(&listing::object(file));
    assert_eq!(content, expected(&readelf::symbols(file)), "{}", file.display());
    content.kernels.len()
}

fn assemble(folder: &Path, name: &str, source: &str) -> PathBuf {
    fs::write(folder.join(format!("{name}.s")), source).unwrap();
    let line = format!(
        "llvm-mc-22 -triple=amdgcn-amd-amdhsa -mcpu=gfx942 -filetype=obj {name}.s -o {name}.o"
    );
    sh(folder, &line);
    sh(folder, &format!("ld.lld-22 -shared {name}.o -o {name}.co"));
    folder.join(format!("{name}.co"))
}

fn from_yaml(folder: &Path, name: &str, sections: &str) -> PathBuf {
    let yaml = format!(
        "--- !ELF\nFileHeader: {{ Class: ELFCLASS64, Data: ELFDATA2LSB, \
         OSABI: ELFOSABI_AMDGPU_HSA, ABIVersion: 4, Type: ET_DYN, Machine: EM_AMDGPU, \
         Flags: [ EF_AMDGPU_MACH_AMDGCN_GFX942 ] }}\n{sections}...\n"
    );
    fs::write(folder.join(format!("{name}.yaml")), yaml).unwrap();
    sh(folder, &format!("yaml2obj-22 {name}.yaml -o {name}.co"));
    folder.join(format!("{name}.co"))
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn fixtures_list_what_readelf_sees() {
    for (name, kernels) in [
        ("s1.gfx942.o", 3),
        ("s1.gfx942.co", 3),
        ("s1.gfx1100.co", 3),
        ("s1.gfx90a-xnack-off.co", 3),
        ("s1.gfx1250.co", 3),
        ("s1.gfx11-generic.co", 3),
        ("s1.v4.co", 3),
        ("s1.v5.co", 3),
        ("s1.stripped.co", 3),
        ("s1.no-sections.co", 3),
        ("s1.no-note.co", 3),
        ("two-notes.co", 2),
        ("odd-names.co", 5),
        ("mangled.co", 6),
        ("lds.o", 1),
        ("external.co", 1),
    ] {
        assert_eq!(check(&fixture(name)), kernels, "{name}");
    }
}

#[test]
fn device_functions_are_no_kernels() {
    let object = listing::object(&fixture("s1.gfx942.co"));
    assert_eq!(listing::names(&object, "kernels"), ["foo", "ind", "none"]);
    assert_eq!(listing::names(&object, "functions"), ["helper"]);
    assert_eq!(listing::names(&object, "variables"), ["pointer"]);
}

#[test]
fn names_of_every_sort() {
    let object = listing::object(&fixture("odd-names.co"));
    let expected =
        ["Straße", "commas, and (brackets) [too]", "dots.in.a.name", "say \"hi\"", "twice.kd"];
    assert_eq!(listing::names(&object, "kernels"), expected);
    for name in expected {
        let file = fixture("odd-names.co").into_os_string();
        let arguments = ["ls".into(), "--format=json".into(), "-k".into(), name.into(), file];
        let files = listing::parse(&hsaco_fine(arguments));
        let found = listing::names(&array(&files[0], "objects")[0], "kernels");
        assert!(found.iter().any(|it| it == name), "{name}: {found:?}");
    }
}

/// The objects of a host file, each with its answer, as files of their own.
fn unpacked(file: &Path, folder: &Path) -> Vec<(PathBuf, Value)> {
    let bytes = fs::read(file).unwrap();
    let found = entries(&bytes, &WalkOptions::default()).map(Result::unwrap);
    let objects: Vec<_> = found.filter(|it| it.kind == EntryKind::CodeObject).collect();
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    let files = listing::files(file.parent().unwrap(), &[name]);
    let answers = array(&files[0], "objects");
    assert_eq!(answers.len(), objects.len());
    let write = |(at, entry): (usize, &hsaco::container::Entry<'_>)| {
        let path = folder.join(format!("{at}.co"));
        fs::write(&path, &*entry.data).unwrap();
        assert_eq!(answers[at]["entry_id"].as_str(), entry.id.as_deref());
        assert_eq!(number(&answers[at], "offset"), entry.offset);
        assert_eq!(number(&answers[at], "size"), Some(entry.data.len() as u64));
        (path, answers[at].clone())
    };
    objects.iter().enumerate().map(write).collect()
}

/// Row A2 of docs/kerneldb.md.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn every_translation_unit_of_a_host_file() {
    for name in ["host.so", "host-compressed.so"] {
        let folder = scratch_dir();
        let objects = unpacked(&fixture(name), folder.path());
        let mut found = Vec::new();
        for (path, answer) in &objects {
            assert_eq!(listed(answer), expected(&readelf::symbols(path)), "{name}");
            let target = text(answer, "target").to_owned();
            found.extend(
                listing::names(answer, "kernels").into_iter().map(|it| (target.clone(), it)),
            );
        }
        found.sort();
        let units = |target: &'static str| {
            (1..=5).map(move |unit| (target.to_owned(), format!("_Z6unit_{unit}Pii")))
        };
        let all: Vec<_> = units("gfx1100").chain(units("gfx942")).collect();
        assert_eq!(found, all, "{name}");
    }
}

/// The same library, built now and linked by the host's own linker into an executable.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_host_executable_made_here() {
    let folder = scratch_dir();
    let sources = fixture("src");
    let linux = "--target=x86_64-unknown-linux-gnu";
    let mut objects = String::new();
    for unit in 1..=5 {
        let line = format!(
            "clang-22 -x hip -nogpuinc -nogpulib -nostdinc -O2 {linux} --offload-arch=gfx942 \
             -DUNIT={unit} -c {}/unit.hip -o {unit}.o",
            sources.display()
        );
        sh(folder.path(), &line);
        let _ = write!(objects, " {unit}.o");
    }
    let host = sources.join("host.c");
    sh(folder.path(), &format!("clang-22 {linux} -O2 -c {} -o host.o", host.display()));
    sh(folder.path(), &format!("ld.lld-22 -e atexit{objects} host.o -o program"));
    let objects = unpacked(&folder.path().join("program"), folder.path());
    assert_eq!(objects.len(), 5);
    for (path, answer) in &objects {
        assert_eq!(listed(answer), expected(&readelf::symbols(path)));
        assert_eq!(array(answer, "kernels").len(), 1);
    }
}

/// Row B20 of docs/kerneldb.md.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn five_thousand_kernels() {
    let folder = scratch_dir();
    let mut source = String::new();
    for at in 0..5000 {
        let _ = write!(
            source,
            ".text\n.globl k{at}\n.protected k{at}\n.p2align 8\n.type k{at},@function\nk{at}:\n\
             s_endpgm\n.size k{at}, 4\n.rodata\n.p2align 6\n.amdhsa_kernel k{at}\n\
             .amdhsa_next_free_vgpr {}\n.amdhsa_next_free_sgpr 0\n.amdhsa_accum_offset 4\n\
             .end_amdhsa_kernel\n",
            1 + at % 8
        );
    }
    let linked = assemble(folder.path(), "many", &source);
    assert_eq!(check(&linked), 5000);
    sh(folder.path(), "llvm-strip-22 many.co -o stripped.co");
    assert_eq!(check(&folder.path().join("stripped.co")), 5000);
    sh(folder.path(), "llvm-strip-22 --strip-sections many.co -o bare.co");
    assert_eq!(check(&folder.path().join("bare.co")), 5000);
}

/// Both objects describe the instantiation that they share; the linker keeps one of it.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_template_instantiated_twice_is_one_kernel() {
    let folder = scratch_dir();
    let source = "#define KERNEL __attribute__((global))\n\
                  template <int N> KERNEL void same(int *out) { out[0] = N; }\n\
                  template KERNEL void same<3>(int *);\n\
                  extern \"C\" KERNEL void OWN(int *out) { out[0] = 1; }\n";
    fs::write(folder.path().join("same.hip"), source).unwrap();
    for own in ["one", "two"] {
        // Through bitcode, because the driver would link what it compiles.
        let compile = format!(
            "clang-22 -x hip -nogpuinc -nogpulib -nostdinc --cuda-device-only -fgpu-rdc -emit-llvm \
             --no-gpu-bundle-output --offload-arch=gfx942 -O2 -DOWN={own} -c same.hip -o {own}.bc"
        );
        sh(folder.path(), &compile);
        let generate = format!(
            "clang-22 --target=amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -O2 -c {own}.bc -o {own}.o"
        );
        sh(folder.path(), &generate);
    }
    sh(folder.path(), "ld.lld-22 -shared one.o two.o -o both.co");
    let file = folder.path().join("both.co");
    let bytes = fs::read(&file).unwrap();
    let metadata = CodeObject::parse(&bytes).unwrap().metadata();
    assert_eq!((metadata.documents(), metadata.kernels().len()), (2, 4));
    assert_eq!(check(&file), 3);
    let names = listing::names(&listing::object(&file), "kernels");
    assert_eq!(names, ["_Z4sameILi3EEvPi", "one", "two"]);
}

/// Without metadata the numbers are the descriptor's, and what it does not say is null.
/// Row cc748e9 of docs/kerneldb.md.
#[test]
fn a_kernel_known_by_its_descriptor_alone() {
    let object = listing::object(&fixture("s1.no-note.co"));
    let with_note = listing::object(&fixture("s1.gfx942.co"));
    for (bare, full) in array(&object, "kernels").iter().zip(array(&with_note, "kernels")) {
        for key in ["name", "symbol", "descriptor", "entry", "code_size", "lds", "scratch"] {
            assert_eq!(bare[key], full[key], "{key}");
        }
        assert_eq!(bare["wavefront_size"], 64);
        assert_eq!(bare["max_workgroup_size"], Value::Null);
        assert_eq!(bare["vgprs"].as_u64().unwrap() % 8, 0, "allocated in blocks of eight");
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn a_kernel_known_by_its_metadata_alone() {
    let folder = scratch_dir();
    fs::copy(fixture("s1.gfx942.o"), folder.path().join("s1.o")).unwrap();
    sh(folder.path(), "llvm-objcopy-22 --strip-all s1.o bare.o");
    let file = folder.path().join("bare.o");
    assert_eq!(readelf::symbols(&file), []);
    let object = listing::object(&file);
    assert_eq!(listing::names(&object, "kernels"), ["foo", "ind", "none"]);
    for kernel in array(&object, "kernels") {
        for key in ["symbol", "descriptor", "entry", "code_size"] {
            assert_eq!(kernel[key], Value::Null, "{key}");
        }
        assert_eq!(kernel["wavefront_size"], 64);
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn version_2_kernels_have_a_symbol_type_of_their_own() {
    let file = fixture("v2.co");
    let symbols = readelf::symbols(&file);
    let symbol = symbols.iter().find(|it| it.kind == "AMDGPU_HSA_KERNEL").unwrap();
    let object = listing::object(&file);
    let [kernel] = array(&object, "kernels") else { panic!("not one kernel") };
    assert_eq!(text(kernel, "name"), symbol.name);
    assert_eq!(number(kernel, "descriptor"), Some(symbol.value));
    assert_eq!(number(kernel, "entry"), Some(symbol.value + 256));
    assert_eq!(number(kernel, "code_size"), Some(symbol.size - 256));
    assert_eq!((array(&object, "functions").len(), array(&object, "variables").len()), (0, 0));
}

const ODD_SYMBOLS: &str = "\
Sections:
  - { Name: .rodata, Type: SHT_PROGBITS, Flags: [ SHF_ALLOC ], Address: 0x1000, Size: 0x200 }
  - { Name: .text, Type: SHT_PROGBITS, Flags: [ SHF_ALLOC, SHF_EXECINSTR ], Address: 0x2000, Size: 0x100 }
Symbols:
  - { Name: real.kd, Type: STT_OBJECT, Section: .rodata, Value: 0x1000, Size: 64, Binding: STB_GLOBAL }
  - { Name: code.kd, Type: STT_FUNC, Section: .text, Value: 0x2000, Size: 64, Binding: STB_GLOBAL }
  - { Name: missing.kd, Type: STT_OBJECT, Size: 64, Binding: STB_GLOBAL }
  - { Name: untyped.kd, Section: .rodata, Value: 0x1080, Size: 64, Binding: STB_GLOBAL }
  - { Name: number.kd, Type: STT_OBJECT, Index: SHN_ABS, Value: 64, Size: 64, Binding: STB_GLOBAL }
  - { Name: number, Type: STT_OBJECT, Index: SHN_ABS, Value: 7, Binding: STB_GLOBAL }
  - { Name: k.num_vgpr, Index: SHN_ABS, Value: 7 }
  - { Name: wanted, Type: STT_OBJECT, Binding: STB_GLOBAL }
  - { Name: label, Section: .text, Value: 0x2040 }
  - { Name: variable, Type: STT_OBJECT, Section: .rodata, Value: 0x1100, Size: 8, Binding: STB_GLOBAL }
";

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn symbols_that_look_like_kernels_and_variables() {
    let folder = scratch_dir();
    let file = from_yaml(folder.path(), "odd", ODD_SYMBOLS);
    let object = listing::object(&file);
    assert_eq!(listing::names(&object, "kernels"), ["real"]);
    assert_eq!(listing::names(&object, "functions"), ["code.kd"]);
    assert_eq!(listing::names(&object, "variables"), ["variable"]);
}

#[test]
fn lds_externals_and_numbers_are_no_variables() {
    for name in ["lds.o", "external.co"] {
        let object = listing::object(&fixture(name));
        assert_eq!(listing::names(&object, "variables"), [""; 0], "{name}");
    }
}
