//! Objects with very many parts: time and memory grow as their number does, and no faster.
#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::path::Path;
use std::process::Command;

use hsaco_tests::program::{hsaco_binary, hsaco_fine, run};
use hsaco_tests::scratch_dir;

/// A section to be.
struct Section {
    name: String,
    kind: u32,
    flags: u64,
    address: u64,
    content: Vec<u8>,
    /// `sh_link`, `sh_info` and `sh_entsize`.
    rest: (u32, u32, u64),
}

impl Section {
    fn new(name: impl Into<String>, kind: u32, flags: u64, address: u64, content: Vec<u8>) -> Self {
        Self { name: name.into(), kind, flags, address, content, rest: (0, 0, 0) }
    }
}

/// Symbols: name, type and binding, section, value, size.
fn symbol_table(symbols: &[(String, u8, u16, u64, u64)]) -> (Vec<u8>, Vec<u8>) {
    let (mut table, mut names) = (vec![0; 24], vec![0]);
    for (name, info, section, value, size) in symbols {
        table.extend((names.len() as u32).to_le_bytes());
        table.extend([*info, 0]);
        table.extend(section.to_le_bytes());
        table.extend(value.to_le_bytes());
        table.extend(size.to_le_bytes());
        names.extend(name.as_bytes());
        names.push(0);
    }
    (table, names)
}

/// A shared object for gfx942 of these sections and symbols.
fn object(path: &Path, mut sections: Vec<Section>, symbols: &[(String, u8, u16, u64, u64)]) {
    let (table, names) = symbol_table(symbols);
    let strings = sections.len() as u32 + 2;
    sections.push(Section { rest: (strings, 1, 24), ..Section::new(".symtab", 2, 0, 0, table) });
    sections.push(Section::new(".strtab", 3, 0, 0, names));
    sections.push(Section::new(".shstrtab", 3, 0, 0, Vec::new()));
    let mut texts = vec![0];
    let mut offsets = Vec::new();
    for section in &sections {
        offsets.push(texts.len() as u32);
        texts.extend(section.name.as_bytes());
        texts.push(0);
    }
    sections.last_mut().unwrap().content = texts;
    let mut file = vec![0; 64];
    let mut headers = vec![0; 64];
    for (section, name) in sections.iter().zip(offsets) {
        file.resize(file.len().next_multiple_of(64), 0);
        let (link, info, entry_size) = section.rest;
        headers.extend(name.to_le_bytes());
        headers.extend(section.kind.to_le_bytes());
        let numbers =
            [section.flags, section.address, file.len() as u64, section.content.len() as u64];
        numbers.iter().for_each(|it| headers.extend(it.to_le_bytes()));
        headers.extend(link.to_le_bytes());
        headers.extend(info.to_le_bytes());
        headers.extend(4_u64.to_le_bytes());
        headers.extend(entry_size.to_le_bytes());
        file.extend(&section.content);
    }
    file.resize(file.len().next_multiple_of(64), 0);
    let mut header = b"\x7fELF\x02\x01\x01\x40\x04\0\0\0\0\0\0\0".to_vec();
    header.extend([3_u16, 224].iter().flat_map(|it| it.to_le_bytes()));
    header.extend(1_u32.to_le_bytes());
    header.extend([0, 0, file.len() as u64].iter().flat_map(|it| it.to_le_bytes()));
    header.extend(0x54c_u32.to_le_bytes());
    let count = sections.len() as u16 + 1;
    header.extend([64_u16, 56, 0, 64, count, count - 1].iter().flat_map(|it| it.to_le_bytes()));
    file.iter_mut().zip(header).for_each(|(to, from)| *to = from);
    file.extend(headers);
    fs::write(path, file).unwrap();
}

const CODE: [u8; 8] = [0, 0, 0x80, 0xbf, 0, 0, 0x81, 0xbf];
const FUNCTION: u8 = 0x12;
const OBJECT: u8 = 0x11;

/// An object with so many sections of code, each with a function.
fn with_sections(path: &Path, count: u16) {
    let address = |number: u16| 0x1000 + u64::from(number) * 64;
    let section =
        |number| Section::new(format!(".text.{number}"), 1, 6, address(number), CODE.to_vec());
    let symbol = |number| (format!("f{number}"), FUNCTION, number + 1, address(number), 8);
    object(path, (0..count).map(section).collect(), &(0..count).map(symbol).collect::<Vec<_>>());
}

/// An object with so many kernels.
fn with_kernels(path: &Path, count: u32) {
    let mut metadata = vec![0x82];
    let text = |out: &mut Vec<u8>, text: &str| {
        out.extend([0xd9, text.len() as u8]);
        out.extend(text.as_bytes());
    };
    text(&mut metadata, "amdhsa.version");
    metadata.extend([0x92, 1, 2]);
    text(&mut metadata, "amdhsa.kernels");
    metadata.push(0xdd);
    metadata.extend(count.to_be_bytes());
    let (mut symbols, code_start, data_start) = (Vec::new(), 0x1000_u64, 0x1000_0000_u64);
    let mut descriptors = Vec::new();
    for number in 0..u64::from(count) {
        let name = format!("a_kernel_of_many_{number}");
        metadata.push(0x89);
        for (key, value) in [(".name", name.clone()), (".symbol", format!("{name}.kd"))] {
            text(&mut metadata, key);
            text(&mut metadata, &value);
        }
        for (key, value) in [
            (".vgpr_count", 9),
            (".sgpr_count", 16),
            (".group_segment_fixed_size", 0),
            (".private_segment_fixed_size", 0),
            (".kernarg_segment_size", 8),
            (".wavefront_size", 64),
            (".max_flat_workgroup_size", 100),
        ] {
            text(&mut metadata, key);
            metadata.push(value);
        }
        let (code, descriptor) = (code_start + 8 * number, data_start + 64 * number);
        let mut bytes = [0; 64];
        bytes
            .iter_mut()
            .skip(16)
            .zip(code.wrapping_sub(descriptor).to_le_bytes())
            .for_each(|(to, from)| *to = from);
        descriptors.extend(bytes);
        symbols.push((name.clone(), FUNCTION, 3, code, 8));
        symbols.push((format!("{name}.kd"), OBJECT, 2, descriptor, 64));
    }
    let mut note = [7_u32, metadata.len() as u32, 32]
        .iter()
        .flat_map(|it| it.to_le_bytes())
        .collect::<Vec<u8>>();
    note.extend(b"AMDGPU\0\0");
    note.extend(metadata);
    note.resize(note.len().next_multiple_of(4), 0);
    let sections = vec![
        Section::new(".note", 7, 2, 0, note),
        Section::new(".rodata", 1, 2, data_start, descriptors),
        Section::new(".text", 1, 6, code_start, CODE.repeat(count as usize)),
    ];
    object(path, sections, &symbols);
}

/// The seconds of processor time that the command takes for a file, and the KiB of memory.
fn cost(words: &[&str], path: &Path) -> (f64, f64) {
    const MEASURE: &str = "
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
";
    let mut python = Command::new("python3");
    python.args(["-c", MEASURE]).arg(hsaco_binary().unwrap()).args(words).arg(path);
    let ran = run(&mut python);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{words:?}");
    let mut numbers = ran.text().split_whitespace().map(|it| it.parse().unwrap());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn listing_many_sections_takes_not_much_longer_than_one_with_as_many_functions() {
    let folder = scratch_dir();
    let (one, many) = (folder.path().join("one.co"), folder.path().join("many.co"));
    with_kernels(&one, 60_000);
    with_sections(&many, 60_000);
    let listed = hsaco_fine([std::ffi::OsStr::new("disasm"), many.as_os_str()]);
    assert_eq!(listed.text().matches("s_endpgm").count(), 60_000);
    let seconds = |path| (0..3).map(|_| cost(&["disasm"], path).0).fold(f64::MAX, f64::min);
    let (one, many) = (seconds(&one), seconds(&many));
    assert!(many < 6.0 * one, "{one} s, {many} s");
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn showing_all_of_many_kernels_takes_little_memory() {
    let folder = scratch_dir();
    let (few, many) = (folder.path().join("few.co"), folder.path().join("many.co"));
    let (few_kernels, many_kernels) = (10_000, 40_000);
    with_kernels(&few, few_kernels);
    with_kernels(&many, many_kernels);
    let answer = hsaco_fine([std::ffi::OsStr::new("info"), few.as_os_str()]);
    assert_eq!(answer.text().matches("\nkernel ").count(), few_kernels as usize);
    for words in [&["info"][..], &["info", "--format", "json"]] {
        let (few, many) = (cost(words, &few).1, cost(words, &many).1);
        let each = (many - few) / f64::from(many_kernels - few_kernels);
        assert!(each < 3.0, "{words:?}: {each} KiB for each kernel");
    }
}
