//! Input that needs more memory than there is: an error, and the process lives.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::Command;

use hsaco::container::bundle;
use hsaco_tests::program::{Ran, hsaco_command, run, sh};
use hsaco_tests::scratch_dir;

const MIB: u64 = 1 << 20;

/// `hsaco` with so many bytes of memory, with all output of a shell command as its input.
fn limited(most: u64, input: &str, arguments: &[&OsStr]) -> Ran {
    let binary = hsaco_command().get_program().to_owned();
    let script = format!("{input} | {{ ulimit -v {}; exec \"$0\" \"$@\"; }}", most / 1024);
    run(Command::new("sh").arg("-c").arg(script).arg(binary).args(arguments))
}

/// Ran out of memory, said so and ended by itself.
fn check_refused(ran: &Ran, what: &str) {
    assert_eq!(ran.code, Some(2), "{what}: {}", ran.stderr);
    assert!(ran.stderr.starts_with("hsaco: "), "{what}: {}", ran.stderr);
    assert!(ran.stderr.contains("memory"), "{what}: {}", ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{what}: {}", ran.stderr);
}

/// A zstd frame that honestly holds so many zeros, in blocks of one byte each.
fn zstd_zeros(size: u64, in_one_segment: bool) -> Vec<u8> {
    const BLOCK: u64 = 128 << 10;
    let mut frame = 0xfd2f_b528_u32.to_le_bytes().to_vec();
    match in_one_segment {
        true => frame.push(0xe0),
        // A window of 8 MiB.
        false => frame.extend([0xc0, 13 << 3]),
    }
    frame.extend(size.to_le_bytes());
    let mut left = size;
    while left > 0 {
        let block = left.min(BLOCK);
        left -= block;
        let header = block << 3 | 1 << 1 | u64::from(left == 0);
        frame.extend(&header.to_le_bytes()[..3]);
        frame.push(0);
    }
    frame
}

/// A zlib stream that holds so many zeros: a zero, then copies of 258 of them.
fn zlib_zeros(size: u64) -> Vec<u8> {
    let mut stream = vec![0x78, 0x9c];
    let (mut bits, mut count) = (0_u64, 0);
    let mut push = |code: u64, length: u32, stream: &mut Vec<u8>| {
        // Codes are written from their highest bit on.
        for bit in (0..length).rev() {
            bits |= (code >> bit & 1) << count;
            count += 1;
            if count == 8 {
                stream.push(u8::try_from(bits).unwrap());
                (bits, count) = (0, 0);
            }
        }
    };
    push(0b110, 3, &mut stream);
    push(0b0011_0000, 8, &mut stream);
    for _ in 0..(size - 1) / 258 {
        push(0b1100_0101, 8, &mut stream);
        push(0, 5, &mut stream);
    }
    push(0, 7, &mut stream);
    push(0, 7, &mut stream);
    stream.extend([0; 4]);
    stream
}

/// A compressed bundle, version 3.
fn ccob(method: u16, size: u64, stream: &[u8]) -> Vec<u8> {
    let total = 32 + stream.len() as u64;
    let words = [total.to_le_bytes(), size.to_le_bytes(), 0_u64.to_le_bytes()];
    [b"CCOB", &3_u16.to_le_bytes()[..], &method.to_le_bytes(), words.as_flattened(), stream]
        .concat()
}

#[test]
fn a_bomb_that_declares_its_size_is_an_error_under_a_memory_limit() {
    let dir = scratch_dir();
    let bombs = [
        ("segment", ccob(1, 4095 * MIB, &zstd_zeros(4095 * MIB, true))),
        ("window", ccob(1, 4095 * MIB, &zstd_zeros(4095 * MIB, false))),
        ("zlib", ccob(0, 1032 * MIB, &zlib_zeros(1032 * MIB))),
    ];
    for (name, bomb) in bombs {
        let path = dir.path().join(name);
        fs::write(&path, bomb).unwrap();
        let out = dir.path().join("out");
        for verb in ["ls", "info", "disasm", "size", "check", "extract", "notes", "patch"] {
            let mut arguments = vec![OsStr::new(verb), path.as_os_str()];
            if matches!(verb, "extract" | "patch") {
                arguments.extend([OsStr::new("-o"), out.as_os_str()]);
            }
            check_refused(&limited(700 * MIB, "true", &arguments), &format!("{verb} {name}"));
        }
        assert!(!out.exists());
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn debug_sections_that_unfold_to_gigabytes_are_an_error_under_a_memory_limit() {
    let dir = scratch_dir();
    let header =
        |size: u64| [2_u64.to_le_bytes(), size.to_le_bytes(), 1_u64.to_le_bytes()].concat();
    for kind in ["ET_DYN", "ET_REL"] {
        let size = 3 << 30;
        let content = [header(size), zstd_zeros(size, true)].concat();
        let hex: String = content.iter().map(|byte| format!("{byte:02x}")).collect();
        let yaml = format!(
            "--- !ELF
FileHeader: {{ Class: ELFCLASS64, Data: ELFDATA2LSB, OSABI: ELFOSABI_AMDGPU_HSA, ABIVersion: 4, Type: {kind}, \
             Machine: EM_AMDGPU, Flags: [ EF_AMDGPU_MACH_AMDGCN_GFX942 ] }}
Sections:
  - {{ Name: .text, Type: SHT_PROGBITS, Flags: [ SHF_ALLOC, SHF_EXECINSTR ], Content: '000081bf' }}
  - {{ Name: .debug_line, Type: SHT_PROGBITS, Flags: [ SHF_COMPRESSED ], Content: '{hex}' }}
Symbols:
  - {{ Name: f, Type: STT_FUNC, Section: .text, Binding: STB_GLOBAL, Value: 0, Size: 4 }}
...\n"
        );
        fs::write(dir.path().join("o.yaml"), yaml).unwrap();
        sh(dir.path(), "yaml2obj-22 o.yaml -o o.co");
        let path = dir.path().join("o.co");
        for verb in ["lines", "source"] {
            let ran = limited(700 * MIB, "true", &[verb.as_ref(), path.as_os_str()]);
            check_refused(&ran, &format!("{verb} {kind}"));
        }
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn images_larger_than_memory_are_an_error() {
    let dir = scratch_dir();
    let source =
        "char big[900 << 20]; __attribute__((amdgpu_kernel)) void k(int i) { big[i] = 1; }";
    fs::write(dir.path().join("o.c"), source).unwrap();
    let cc = "clang-22 --target=amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -O1 -fvisibility=hidden o.c -o o.co";
    sh(dir.path(), cc);
    let (path, image) = (dir.path().join("o.co"), dir.path().join("image"));
    let arguments = ["load".as_ref(), path.as_os_str(), "--image".as_ref(), image.as_os_str()];
    check_refused(&limited(700 * MIB, "true", &arguments), "load --image");
    assert!(!image.exists());
}

#[test]
fn standard_input_larger_than_memory_is_an_error() {
    let input = "head -c 1200000000 /dev/zero";
    for verb in ["ls", "info", "disasm"] {
        let ran = limited(700 * MIB, input, &[verb.as_ref(), "-".as_ref()]);
        check_refused(&ran, verb);
    }
}

/// A bundle with one entry and a gigabyte of nothing behind its header, which takes no room on disk.
fn sparse_bundle(path: &Path, size: u64) {
    let code = fs::read(hsaco_tests::fixture("s1.gfx942.co")).unwrap();
    let id = "hipv4-amdgcn-amd-amdhsa--gfx942";
    let mut bytes =
        bundle::write(&[("host-x86_64-unknown-linux-gnu-", b"".as_slice()), (id, &code)], 4096);
    let start = bytes.len() - code.len();
    let file = File::create(path).unwrap();
    file.set_len(size).unwrap();
    // The entry reaches to the end of the file: an object may have anything behind it.
    let at = bytes.windows(8).position(|it| it == (code.len() as u64).to_le_bytes()).unwrap();
    bytes[at..at + 8].copy_from_slice(&(size - start as u64).to_le_bytes());
    file.write_all_at(&bytes, 0).unwrap();
}

#[test]
fn copies_of_large_files_are_an_error_under_a_memory_limit() {
    let dir = scratch_dir();
    let path = dir.path().join("large.bundle");
    sparse_bundle(&path, 1 << 30);
    let out = dir.path().join("out");
    let verbs: [&[&str]; 2] = [&["link"], &["patch", "--set", "foo.vgpr_count=64"]];
    let code = dir.path().join("large.co");
    let file = File::create(&code).unwrap();
    file.set_len(1 << 30).unwrap();
    file.write_all_at(&fs::read(hsaco_tests::fixture("s1.gfx942.co")).unwrap(), 0).unwrap();
    for verb in verbs {
        let input = if verb.first() == Some(&"patch") { &code } else { &path };
        let mut arguments: Vec<OsString> = verb.iter().map(Into::into).collect();
        arguments.extend([input.clone().into(), "-o".into(), out.clone().into()]);
        let arguments: Vec<&OsStr> = arguments.iter().map(AsRef::as_ref).collect();
        check_refused(&limited(1500 * MIB, "true", &arguments), &format!("{verb:?}"));
        assert!(!out.exists(), "{verb:?}");
    }
}

#[test]
fn large_files_are_pruned_in_little_memory() {
    let dir = scratch_dir();
    let [path, out] = ["large.bundle", "out"].map(|name| dir.path().join(name));
    sparse_bundle(&path, 1 << 30);
    let arguments = ["extract", "--keep-target", "gfx942", "-o"].map(OsStr::new);
    let arguments = [&arguments[..], &[out.as_os_str(), path.as_os_str()]].concat();
    // The mapped file counts as well.
    let ran = limited((1 << 30) + 200 * MIB, "true", &arguments);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    sh(dir.path(), "cmp large.bundle out");
}
