//! Targets, versions and notes against LLVM 22: every processor, feature setting, code object
//! version and kind of argument that its compilers can make.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use hsaco::isa::Processor;
use hsaco::isa::target::{Feature, Setting};
use hsaco::object::CodeObject;
use hsaco::object::metadata::ValueKind;
use hsaco_tests::listing::{self, array, number, text};
use hsaco_tests::program::{hsaco_fine, sh, sh_all, succeed};
use hsaco_tests::readelf::{self, Header};
use hsaco_tests::{fixture, scratch_dir, workspace_root};

const KERNEL_C: &str = "\
#define KERNEL __attribute__((amdgpu_kernel, visibility(\"protected\")))
__attribute__((noinline)) int helper(int x) { return x * 3 + 1; }
KERNEL void one(__attribute__((address_space(1))) int *out, int n, long o) { out[o] = helper(n); }
KERNEL void two(void) {}
";

/// One file that a tool is to make.
struct Sample {
    name: String,
    command: String,
}

fn make(folder: &Path, samples: &[Sample]) -> Vec<String> {
    let commands: Vec<_> = samples.iter().map(|it| it.command.clone()).collect();
    sh_all(folder, &commands);
    samples.iter().map(|it| it.name.clone()).collect()
}

/// What the assembler can be told of a processor's features.
fn attributes(processor: Processor) -> Vec<String> {
    let supported: Vec<_> = Feature::ALL
        .into_iter()
        .filter(|&feature| processor.default_setting(feature) != Setting::Unsupported)
        .collect();
    let settings =
        |feature: &Feature| [String::new(), format!("+{feature}"), format!("-{feature}")];
    supported.iter().map(settings).fold(vec![String::new()], |all, settings| {
        let with = |before: &String, setting: &String| match (before.is_empty(), setting.is_empty())
        {
            (true, _) => setting.clone(),
            (_, true) => before.clone(),
            _ => format!("{before},{setting}"),
        };
        all.iter().flat_map(|before| settings.iter().map(move |it| with(before, it))).collect()
    })
}

fn assembled() -> Vec<Sample> {
    let mut samples = Vec::new();
    for processor in Processor::all() {
        for (at, attributes) in attributes(processor).iter().enumerate() {
            let version = 4 + samples.len() % 3;
            let name = format!("{processor}-{at}.o");
            let command = format!(
                "llvm-mc-22 -triple=amdgcn-amd-amdhsa -mcpu={processor} -mattr={attributes} \
                 --amdhsa-code-object-version={version} -filetype=obj empty.s -o {name}"
            );
            samples.push(Sample { name, command });
        }
    }
    samples
}

/// Two targets of each kind: no features, one, both; wave32 and wave64; generic.
const COMPILED: [&str; 15] = [
    "gfx803",
    "gfx900",
    "gfx906:sramecc-:xnack+",
    "gfx908:xnack-",
    "gfx90a:sramecc+",
    "gfx90a:xnack+",
    "gfx942",
    "gfx950:sramecc-",
    "gfx1010:xnack-",
    "gfx1030",
    "gfx1100",
    "gfx1151",
    "gfx1201",
    "gfx1250",
    "gfx11-generic",
];

fn compiled() -> Vec<Sample> {
    let mut samples = Vec::new();
    for target in COMPILED {
        for version in 4..=6 {
            // Generic targets began with version 6.
            if target.ends_with("generic") && version < 6 {
                continue;
            }
            let name = format!("{}-v{version}.o", target.replace(':', "_"));
            let command = format!(
                "clang-22 -x c --target=amdgcn-amd-amdhsa -mcpu={target} -nogpulib -O2 \
                 -mcode-object-version={version} -c kernel.c -o {name}"
            );
            samples.push(Sample { name, command });
        }
    }
    samples
}

/// The target id that readelf's words stand for: `gfx90a, xnack-, sramecc` is `gfx90a:xnack-`.
fn target_of(flags: &str) -> String {
    let words: Vec<_> = flags.split(", ").skip(1).collect();
    let [processor, features @ ..] = words.as_slice() else { panic!("no processor in '{flags}'") };
    let mut features: Vec<_> =
        features.iter().filter(|it| it.ends_with(['+', '-'])).map(|it| format!(":{it}")).collect();
    features.sort();
    format!("{processor}{}", features.concat())
}

fn check_headers(folder: &Path, names: &[String]) {
    let headers = readelf::headers(folder, names);
    let files = listing::files(folder, names);
    for ((name, header), file) in names.iter().zip(&headers).zip(&files) {
        let [object] = array(file, "objects") else { panic!("{name}: not one object") };
        assert_eq!(text(object, "target"), target_of(&header.flags), "{name}");
        assert_eq!(number(object, "abi_version"), Some(header.abi_version), "{name}");
        assert_eq!(number(object, "code_object_version"), Some(header.abi_version + 2), "{name}");
        let bytes = fs::read(folder.join(name)).unwrap();
        check_library(&CodeObject::parse(&bytes).unwrap(), header, name);
    }
}

fn check_library(object: &CodeObject<'_>, header: &Header, name: &str) {
    let flags = object.e_flags();
    assert_eq!(format!("{:#x}, {}", flags.raw(), flags.readelf_text()), header.flags, "{name}");
    assert_eq!(u64::from(object.elf().header().abi_version), header.abi_version, "{name}");
    assert_eq!(object.target().to_string(), target_of(&header.flags), "{name}");
}

/// `hsaco notes` of all these files in one run equals readelf's.
fn check_notes(folder: &Path, names: &[String]) {
    let paths: Vec<_> = names.iter().map(|name| folder.join(name).into_os_string()).collect();
    let option = |text: &str| std::iter::once(text.into()).chain(paths.iter().cloned());
    let theirs = succeed(folder, "llvm-readelf-22", &option("--notes").collect::<Vec<_>>());
    let ours = hsaco_fine(option("notes"));
    if ours.text() != theirs {
        panic!("{}", hsaco_tests::diff::diff(&theirs, ours.text()));
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn assembled_for_every_processor_and_feature() {
    let folder = scratch_dir();
    fs::write(folder.path().join("empty.s"), "").unwrap();
    let samples = assembled();
    assert!(samples.len() > 2 * Processor::all().len(), "{}", samples.len());
    let names = make(folder.path(), &samples);
    check_headers(folder.path(), &names);
}

/// Row C1 of docs/kerneldb.md.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn compiled_for_many_targets_and_versions() {
    let folder = scratch_dir();
    fs::write(folder.path().join("kernel.c"), KERNEL_C).unwrap();
    let names = make(folder.path(), &compiled());
    assert_eq!(names.len(), 3 * COMPILED.len() - 2);
    check_headers(folder.path(), &names);
    check_notes(folder.path(), &names);
}

/// OpenCL and HIP sources for old, new and newest hardware, in every version.
fn kinds() -> Vec<Sample> {
    let sources = workspace_root().join("tests/targets");
    let (cl, hip) = (sources.join("kinds.cl"), sources.join("kinds.hip"));
    let mut samples = Vec::new();
    for (processor, version) in
        [("gfx803", 4), ("gfx803", 5), ("gfx942", 4), ("gfx942", 5), ("gfx942", 6), ("gfx1100", 6)]
    {
        for define in ["-DPRINTF", "-UPRINTF"] {
            let name = format!("cl{define}-{processor}-v{version}.o");
            let command = format!(
                "clang-22 -x cl -cl-std=CL2.0 --target=amdgcn-amd-amdhsa -mcpu={processor} \
                 -nogpulib -Xclang -finclude-default-header -mcode-object-version={version} -O1 \
                 {define} -c {} -o {name}",
                cl.display()
            );
            samples.push(Sample { name, command });
        }
    }
    for (processor, version, define) in [
        ("gfx90a", 4, "-UCLUSTERS"),
        ("gfx90a", 5, "-UCLUSTERS"),
        ("gfx1201", 6, "-UCLUSTERS"),
        ("gfx1250", 6, "-DCLUSTERS"),
    ] {
        let name = format!("hip-{processor}-v{version}.co");
        let command = format!(
            "clang-22 -x hip -nogpuinc -nogpulib -nostdinc -O2 --cuda-device-only \
             --no-gpu-bundle-output --offload-arch={processor} -mcode-object-version={version} \
             {define} -c {} -o {name}",
            hip.display()
        );
        samples.push(Sample { name, command });
    }
    samples
}

/// The argument kinds that an object's kernels have; every key of theirs must be known by name.
fn argument_kinds(bytes: &[u8], kinds: &mut BTreeSet<String>) {
    let object = CodeObject::parse(bytes).unwrap();
    let index = object.index();
    assert_eq!(index.problems(), []);
    for kernel in index.kernels() {
        let metadata = kernel.metadata().unwrap().decode().unwrap();
        let unknown: Vec<_> = metadata.unknown.iter().map(|it| it.key.to_string()).collect();
        assert_eq!(unknown, [""; 0], "{}", kernel.name());
        for argument in metadata.arguments().unwrap() {
            kinds.insert(argument.unwrap().value_kind.name().to_string());
        }
    }
}

/// Row C1 of docs/kerneldb.md.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn notes_with_every_kind_of_argument() {
    let folder = scratch_dir();
    let names = make(folder.path(), &kinds());
    check_headers(folder.path(), &names);
    check_notes(folder.path(), &names);
    let mut found = BTreeSet::new();
    for name in &names {
        argument_kinds(&fs::read(folder.path().join(name)).unwrap(), &mut found);
    }
    let all: BTreeSet<_> = ValueKind::all().map(|it| it.name().to_string()).collect();
    assert_eq!(found, all);
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn notes_of_linked_stripped_and_old_objects() {
    for name in [
        "s1.gfx942.co",
        "s1.gfx942.o",
        "s1.v4.co",
        "s1.v5.co",
        "s1.stripped.co",
        "s1.no-sections.co",
        "two-notes.co",
        "odd-names.co",
        "mangled.co",
        "lds.o",
        "v2.co",
    ] {
        let file = fixture(name);
        let theirs =
            succeed(Path::new("."), "llvm-readelf-22", &["--notes".as_ref(), file.as_os_str()]);
        let ours = hsaco_fine(["notes".into(), file.into_os_string()]);
        assert_eq!(ours.text(), theirs, "{name}");
    }
}

#[test]
fn version_2_takes_its_target_from_the_note() {
    let object = listing::object(&fixture("v2.co"));
    assert_eq!(text(&object, "target"), "gfx906:sramecc-:xnack+");
    assert_eq!(number(&object, "abi_version"), Some(0));
    assert_eq!(number(&object, "code_object_version"), Some(2));
}

/// Notes of other owners and types, which linkers and old compilers write.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn foreign_notes_print_as_readelf_does() {
    let folder = scratch_dir();
    fs::write(folder.path().join("notes.yaml"), FOREIGN_NOTES).unwrap();
    sh(folder.path(), "yaml2obj-22 notes.yaml -o notes.co");
    let theirs = sh(folder.path(), "llvm-readelf-22 --notes notes.co");
    let ours = hsaco_fine(["notes".into(), folder.path().join("notes.co").into_os_string()]);
    assert_eq!(ours.text(), theirs);
}

const FOREIGN_NOTES: &str = "\
--- !ELF
FileHeader:
  Class: ELFCLASS64
  Data: ELFDATA2LSB
  OSABI: ELFOSABI_AMDGPU_HSA
  ABIVersion: 0
  Type: ET_DYN
  Machine: EM_AMDGPU
Sections:
  - Name: .note.amd
    Type: SHT_NOTE
    Notes:
      - { Name: AMD, Desc: '0200000001000000', Type: 1 }
      - { Name: AMD, Desc: '010000000000000001010100', Type: 2 }
      - { Name: AMD, Desc: '04000700090000000000000007000000414d4400414d4447505500', Type: 3 }
      - { Name: AMD, Desc: '616d6467636e2d616d642d616d646873612d2d676678393036', Type: 11 }
      - { Name: AMD, Desc: '0100000002000000', Type: 12 }
      - { Name: AMD, Desc: '0200', Type: 1 }
      - { Name: AMD, Desc: '00', Type: 99 }
  - Name: .note.gnu
    Type: SHT_NOTE
    Notes:
      - { Name: GNU, Desc: '0123456789abcdef', Type: 3 }
      - { Name: Vendor, Desc: 'cafe', Type: 7 }
      - { Name: Vendor, Desc: '', Type: 1 }
  - Name: .note.metadata
    Type: SHT_NOTE
    Notes:
      - { Name: AMDGPU, Desc: '81ae616d646873612e76657273696f6e920102', Type: 32 }
      - { Name: AMDGPU, Desc: '81a161c3', Type: 32 }
      - { Name: AMDGPU, Desc: 'c1', Type: 32 }
...
";
