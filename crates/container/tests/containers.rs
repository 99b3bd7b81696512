//! Containers made by the LLVM 22 tools, read by us, and the other way round.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use hsaco_compress::Method;
use hsaco_container::ccob::{self, Ccob};
use hsaco_container::{Entry, EntryKind, WalkOptions, bundle, entries};

const SOURCE: &str = r#"
typedef __SIZE_TYPE__ size_t;
struct dim3 { unsigned x, y, z; };
typedef struct stream *hipStream_t;
extern "C" int hipLaunchKernel(const void *, dim3, dim3, void **, size_t, hipStream_t);
extern "C" int __hipPopCallConfiguration(dim3 *, dim3 *, size_t *, hipStream_t *);
extern "C" __attribute__((global)) void KERNEL(int *p) { *p = 1; }
"#;

const HOST: &str = "host-x86_64-unknown-linux-gnu-";
const IDS: [&str; 2] =
    ["hipv4-amdgcn-amd-amdhsa--gfx1100", "hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"];

/// A scratch directory in which the tools run.
struct Lab(PathBuf);

impl Lab {
    /// `None`, after saying so, when the tools are missing and `CI` is not set.
    fn open(name: &str) -> Option<Self> {
        let version = Command::new("clang-22").arg("--version").output();
        if version.is_err() {
            assert!(std::env::var_os("CI").is_none(), "the LLVM 22 tools are not installed");
            eprintln!("skipped: the LLVM 22 tools are not installed");
            return None;
        }
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("containers-{name}"));
        fs::create_dir_all(&path).unwrap();
        Some(Self(path))
    }

    fn run(&self, tool: &str, arguments: &[&str]) -> String {
        self.run_with(tool, arguments, &[])
    }

    fn run_with(&self, tool: &str, arguments: &[&str], environment: &[(&str, &str)]) -> String {
        let mut command = Command::new(tool);
        command.current_dir(&self.0).args(arguments).envs(environment.iter().copied());
        let output = command.output().unwrap_or_else(|error| panic!("{tool}: {error}"));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{tool} {arguments:?}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn write(&self, name: &str, data: &[u8]) {
        fs::write(self.0.join(name), data).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.join(name)).unwrap()
    }

    /// Compiles a kernel of the given name for two processors.
    fn hip(&self, kernel: &str, output: &str, options: &[&str]) -> Vec<u8> {
        let source = format!("{output}.hip");
        self.write(&source, SOURCE.replace("KERNEL", kernel).as_bytes());
        let mut arguments = vec!["-x", "hip", "-nogpuinc", "-nogpulib", "-c"];
        arguments.extend(["--offload-arch=gfx942", "--offload-arch=gfx1100"]);
        arguments.extend(options);
        arguments.extend([source.as_str(), "-o", output]);
        self.run("clang-22", &arguments);
        self.read(output)
    }

    /// Code objects for gfx1100 and gfx942, as `one.co` and `two.co`.
    fn code_objects(&self) -> [Vec<u8>; 2] {
        self.write("k.hip", SOURCE.replace("KERNEL", "k").as_bytes());
        [("one.co", "gfx1100"), ("two.co", "gfx942:sramecc+:xnack-")].map(|(output, processor)| {
            let processor = format!("--offload-arch={processor}");
            let device = ["--cuda-device-only", "--no-gpu-bundle-output", &processor];
            let common = ["-x", "hip", "-nogpuinc", "-nogpulib", "-c", "k.hip", "-o", output];
            self.run("clang-22", &[common.as_slice(), device.as_slice()].concat());
            self.read(output)
        })
    }

    /// Runs the bundler over `one.co` and `two.co`, with nothing for the host.
    fn bundle(&self, output: &str, options: &[&str], environment: &[(&str, &str)]) -> Vec<u8> {
        self.write("none", b"");
        let targets = format!("-targets={HOST},{}", IDS.join(","));
        let output_option = format!("-output={output}");
        let mut arguments = vec!["-type=o", &targets, &output_option];
        arguments.extend(["-input=none", "-input=one.co", "-input=two.co"]);
        arguments.extend(options);
        self.run_with("clang-offload-bundler-22", &arguments, environment);
        self.read(output)
    }

    /// What the bundler finds for one id.
    fn unbundle(&self, file: &str, id: &str) -> Vec<u8> {
        let target = format!("-targets={id}");
        let input = format!("-input={file}");
        let output = ["-type=o", "-unbundle", "-output=unbundled", &target, &input];
        self.run("clang-offload-bundler-22", &output);
        self.read("unbundled")
    }
}

/// Every entry, with no errors; and every strict prefix of the file, with no panic.
fn walk(file: &[u8]) -> Vec<Entry<'_>> {
    let options = WalkOptions::default();
    // Every byte of the headers, then a stride that still ends in every structure.
    for length in (0..file.len()).filter(|length| *length < 512 || length % 61 == 0) {
        for found in entries(&file[..length], &options) {
            let _ = found;
        }
    }
    entries(file, &options).map(|entry| entry.unwrap()).collect()
}

fn device<'e, 'a>(found: &'e [Entry<'a>]) -> Vec<&'e Entry<'a>> {
    found.iter().filter(|entry| entry.kind != EntryKind::Host).collect()
}

/// One line an entry: kind, id, trail.
fn lines(found: &[Entry<'_>]) -> Vec<String> {
    let line = |entry: &&Entry<'_>| {
        format!("{} {} {}", entry.kind.name(), entry.id.as_deref().unwrap_or("-"), entry.trail)
    };
    device(found).iter().map(line).collect()
}

/// One line per processor, in the bundler's order.
fn both(kind: &str, producer: &str, trail: &str) -> [String; 2] {
    ["gfx1100", "gfx942"]
        .map(|processor| format!("{kind} {producer}-amdgcn-amd-amdhsa--{processor} {trail}"))
}

#[test]
fn bundles_are_byte_identical() {
    let Some(lab) = Lab::open("bundles") else { return };
    let [one, two] = lab.code_objects();
    let parts = [(HOST, [].as_slice()), (IDS[0], &one), (IDS[1], &two)];
    for alignment in [1, 8, 256, 4096] {
        let option = format!("-bundle-align={alignment}");
        let theirs = lab.bundle("plain.hipfb", &[&option], &[]);
        assert_eq!(bundle::write(&parts, alignment), theirs, "alignment {alignment}");
        let found = walk(&theirs);
        let datas: Vec<_> = device(&found).iter().map(|entry| &*entry.data).collect();
        assert_eq!(datas, [one.as_slice(), &two]);
        let small = bundle::prune(&theirs, |id| id == IDS[1]).unwrap();
        assert_eq!(small, bundle::write(&[parts[0], parts[2]], alignment));
        lab.write("small.hipfb", &small);
        assert_eq!(lab.unbundle("small.hipfb", IDS[1]), two);
        let listed =
            lab.run("clang-offload-bundler-22", &["-type=o", "-list", "-input=small.hipfb"]);
        let mut listed: Vec<_> = listed.lines().collect();
        listed.sort_unstable();
        assert_eq!(listed, [IDS[1], HOST]);
    }
}

#[test]
fn compressed_bundles_both_ways() {
    let Some(lab) = Lab::open("compressed") else { return };
    let [one, two] = lab.code_objects();
    let plain = lab.bundle("plain.hipfb", &[], &[]);
    for version in [2u16, 3] {
        for level in ["1", "3", "9", "22"] {
            let level = format!("-compression-level={level}");
            let environment = [("COMPRESSED_BUNDLE_FORMAT_VERSION", version.to_string())];
            let environment = environment.each_ref().map(|(name, value)| (*name, value.as_str()));
            let theirs = lab.bundle("packed", &["-compress", &level], &environment);
            let header = Ccob::parse(&theirs).unwrap();
            assert_eq!((header.version, header.method), (version, Method::Zstd));
            assert_eq!(header.total_size, theirs.len() as u64);
            let payload = header.payload(&theirs, 1 << 30).unwrap();
            assert_eq!(payload, plain);
            header.verify(&payload).unwrap();
            let found = walk(&theirs);
            let datas: Vec<_> = device(&found).iter().map(|entry| &*entry.data).collect();
            assert_eq!(datas, [one.as_slice(), &two]);
        }
    }
    for version in [1u16, 2, 3] {
        for method in [Method::Zlib, Method::Zstd] {
            lab.write("ours", &ccob::write(&plain, version, method, 3).unwrap());
            assert_eq!(lab.unbundle("ours", IDS[0]), one, "{version} {method:?}");
            assert_eq!(lab.unbundle("ours", IDS[1]), two, "{version} {method:?}");
        }
    }
}

#[test]
fn offload_binaries() {
    let Some(lab) = Lab::open("offload-binaries") else { return };
    let [one, two] = lab.code_objects();
    let images = [
        "--image=file=one.co,triple=amdgcn-amd-amdhsa,arch=gfx1100,kind=hip,extra=value",
        "--image=file=two.co,triple=amdgcn-amd-amdhsa,arch=gfx942:xnack-,kind=openmp",
    ];
    for tool in ["llvm-offload-binary-22", "clang-offload-packager-22"] {
        lab.run(tool, &["-o", "images", images[0], images[1]]);
        let file = lab.read("images");
        let found = walk(&file);
        let datas: Vec<_> = found.iter().map(|entry| &*entry.data).collect();
        assert_eq!(datas, [one.as_slice(), &two]);
        assert_eq!(
            lines(&found),
            [
                "code_object hip-amdgcn-amd-amdhsa--gfx1100 offload_binary",
                "code_object openmp-amdgcn-amd-amdhsa--gfx942:xnack- offload_binary",
            ]
        );
    }
}

#[test]
fn host_elf_of_every_driver() {
    let Some(lab) = Lab::open("elf") else { return };
    let fatbin = "elf(.hip_fatbin)";
    let old = "--no-offload-new-driver";
    let file = lab.hip("a", "plain.o", &[old, "-fPIC"]);
    assert_eq!(lines(&walk(&file)), both("code_object", "hipv4", &format!("{fatbin} > bundle")));
    let file = lab.hip("b", "packed.o", &[old, "-fPIC", "--offload-compress"]);
    let packed = format!("{fatbin} > compressed_bundle > bundle");
    assert_eq!(lines(&walk(&file)), both("code_object", "hipv4", &packed));
    let file = lab.hip("c", "rdc.o", &[old, "-fgpu-rdc"]);
    let found = lines(&walk(&file));
    assert!(found[0].starts_with("bitcode hip-amdgcn-amd-amdhsa--gfx1100 elf(__CLANG_OFFLOAD_"));
    assert_eq!(found.len(), 2);
    let file = lab.hip("d", "new.o", &["--offload-new-driver", "-fgpu-rdc", "-fPIC"]);
    let trail = "elf(.llvm.offloading) > offload_binary";
    assert_eq!(lines(&walk(&file)), both("bitcode", "hip", trail));

    lab.run("ld.lld-22", &["-shared", "plain.o", "packed.o", "new.o", "-o", "all.so"]);
    let file = lab.read("all.so");
    let expected = [
        both("code_object", "hipv4", &format!("{fatbin} > bundle")),
        both("code_object", "hipv4", &packed),
    ];
    assert_eq!(lines(&walk(&file)), expected.concat());
    lab.run("llvm-strip-22", &["--strip-sections", "all.so", "-o", "bare.so"]);
    let file = lab.read("bare.so");
    let bare = walk(&file);
    assert_eq!(device(&bare).len(), 4);
    assert_eq!(bare[1].trail.to_string(), "elf > bundle");
    lab.run("llvm-objcopy-22", &["--only-keep-debug", "all.so", "all.debug"]);
    assert!(walk(&lab.read("all.debug")).is_empty());
}

#[test]
fn entries_are_where_llvm_objdump_finds_them() {
    let Some(lab) = Lab::open("objdump") else { return };
    let file = lab.hip("a", "plain.o", &["--no-offload-new-driver"]);
    lab.run("llvm-objdump-22", &["--offloading", "plain.o"]);
    for entry in device(&walk(&file)) {
        let id = entry.id.as_deref().unwrap();
        assert_eq!(*entry.data, lab.read(&format!("plain.o.0.{id}")));
        let offset = usize::try_from(entry.offset.unwrap()).unwrap();
        assert_eq!(file[offset..][..entry.data.len()], *entry.data);
    }
}

#[test]
fn windows_objects_and_images() {
    let Some(lab) = Lab::open("windows") else { return };
    let windows = "--target=x86_64-pc-windows-msvc";
    let old = "--no-offload-new-driver";
    let file = lab.hip("a", "plain.obj", &[windows, old]);
    assert_eq!(lines(&walk(&file)), both("code_object", "hipv4", "coff(.hip_fatbin) > bundle"));
    let file = lab.hip("b", "rdc.obj", &[windows, old, "-fgpu-rdc"]);
    assert_eq!(device(&walk(&file)).len(), 2);
    let file = lab.hip("c", "new.obj", &[windows, "--offload-new-driver", "-fgpu-rdc"]);
    let trail = "coff(.llvm.offloading) > offload_binary";
    assert_eq!(lines(&walk(&file)), both("bitcode", "hip", trail));
    lab.run(
        "lld-link-22",
        &["/force", "/noentry", "/dll", "/nodefaultlib", "/out:a.dll", "plain.obj"],
    );
    let file = lab.read("a.dll");
    assert_eq!(lines(&walk(&file)), both("code_object", "hipv4", "pe(.hip_fat) > bundle"));
}

#[test]
fn archives_of_every_format() {
    let Some(lab) = Lab::open("archives") else { return };
    let old = "--no-offload-new-driver";
    lab.hip("a", "a.o", &[old]);
    lab.hip("b", "a member with a name that is long.o", &[old, "--offload-compress"]);
    lab.write("notes.txt", b"not code");
    let members = ["a.o", "notes.txt", "a member with a name that is long.o"];
    for format in ["gnu", "bsd", "coff"] {
        let option = format!("--format={format}");
        let _ = fs::remove_file(lab.0.join("all.a"));
        lab.run("llvm-ar-22", &[["rc", &option, "all.a"].as_slice(), &members].concat());
        let file = lab.read("all.a");
        let plain = "archive(a.o) > elf(.hip_fatbin) > bundle";
        let packed =
            format!("archive({}) > elf(.hip_fatbin) > compressed_bundle > bundle", members[2]);
        let expected = [both("code_object", "hipv4", plain), both("code_object", "hipv4", &packed)];
        let found = lines(&walk(&file));
        let mut found: Vec<_> = found.iter().map(String::as_str).collect();
        let mut expected: Vec<_> = expected.iter().flatten().map(String::as_str).collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{format}");
    }
    let _ = fs::remove_file(lab.0.join("thin.a"));
    lab.run("llvm-ar-22", &["rcT", "thin.a", "a.o"]);
    let file = lab.read("thin.a");
    let error = entries(&file, &WalkOptions::default()).next().unwrap().unwrap_err();
    assert_eq!(error.kind(), hsaco_bytes::ErrorKind::Unsupported);
    assert!(error.detail().contains("thin"));
}
