//! Relocations in every encoding that ld.lld and clang write, held against the same object with plain RELA.

use std::fs;
use std::path::Path;
use std::process::Command;

use hsaco::bytes::{ErrorKind, number};
use hsaco::elf::relocation::Encoding;
use hsaco::load::{Executable, Freeze};
use hsaco::object::CodeObject;
use hsaco_tests::program::{hsaco, hsaco_fine, run, sh};
use hsaco_tests::scratch_dir;

use super::sample::built;

/// Pointers to functions and data of the object itself, near each other and far apart.
const OWN: &str = "
typedef int (*Function)(int);
NOINLINE int triple(int x) { return x * 3; }
NOINLINE int more(int x) { return x + 7; }
static NOINLINE int hidden(int x) { return x ^ 5; }
int number = 5;
int *numbers[3] = { &number, &number + 2, 0 };
Function table[200] = { triple, more, hidden, triple, [9] = more, [80] = hidden, [199] = triple };
static const Function constant[4] = { more, hidden, 0, triple };
KERNEL user(GLOBAL int *out, int i) { out[0] = table[i](i) + constant[i](i) + *numbers[i]; }
";

/// Pointers to symbols that the loader has to find, with addends.
const NAMED: &str = "
typedef int (*Function)(int);
DEFAULT NOINLINE int seen(int x) { return x + 1; }
DEFAULT NOINLINE int also(int x) { return x + 2; }
DEFAULT int numbers[8] = { 1, 2, 3 };
DEFAULT int *third = numbers + 2;
DEFAULT Function table[9] = { seen, also, seen, 0, seen, also, also };
static Function own[2] = { seen, also };
KERNEL user(GLOBAL int *out, int i) { out[0] = table[i](i) + own[i](i) + *third; own[i] = also; }
";

/// Options of ld.lld, and what the tables are: bitmaps leave what has a symbol to another table.
const PACKED: [(&str, &[Encoding]); 8] = [
    ("-z rel", &[Encoding::Rel]),
    ("--pack-dyn-relocs=relr", &[Encoding::Rela, Encoding::Relr]),
    ("--pack-dyn-relocs=relr -z rel", &[Encoding::Rel, Encoding::Relr]),
    ("--pack-dyn-relocs=relr --use-android-relr-tags", &[Encoding::Rela, Encoding::AndroidRelr]),
    ("--pack-dyn-relocs=android", &[Encoding::AndroidRela]),
    ("--pack-dyn-relocs=android -z rel", &[Encoding::AndroidRel]),
    ("--pack-dyn-relocs=android+relr", &[Encoding::AndroidRela, Encoding::Relr]),
    ("--pack-dyn-relocs=android+relr -z rel", &[Encoding::AndroidRel, Encoding::Relr]),
];

const TARGETS: [&str; 2] = ["gfx942", "gfx1201"];

/// Every section that holds code or data, at an address that no table moves.
const FIXED: &str = "-z norelro --section-start=.rodata=0x8000 --section-start=.text=0x10000 --section-start=.data.rel.ro=0x20000 \
                     --section-start=.got=0x30000 --section-start=.data=0x40000";
const CONTENT: [&str; 5] = [".rodata", ".text", ".data.rel.ro", ".got", ".data"];

fn linked(target: &str, source: &str, options: &str) -> Vec<u8> {
    built(target, source, &format!("-shared {FIXED} {options}")).to_vec()
}

/// What memory holds of the sections with content, loaded at an address.
fn memory(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    const BASE: u64 = 0x7f00_0000_0000;
    let mut executable = Executable::new(None);
    executable.load_at("o", bytes.to_vec(), BASE).unwrap();
    executable.freeze(Freeze::default()).unwrap();
    let id = executable.objects().next().unwrap();
    let image = executable.image(id).unwrap();
    let object = CodeObject::parse(bytes).unwrap();
    let one = |name: &&str| {
        let section = object.elf().section_named(name)?;
        let size = usize::try_from(section.size).unwrap();
        let content = image.bytes_at(image.delta + section.address, size).unwrap();
        Some(((*name).to_owned(), content.to_vec()))
    };
    CONTENT.iter().filter_map(one).collect()
}

/// Place, type, symbol and addend of every dynamic relocation, in the order of places.
fn dynamic(bytes: &[u8]) -> Vec<(u64, u32, String, i64)> {
    let (rows, problems) = CodeObject::parse(bytes).unwrap().relocations();
    assert_eq!(problems, []);
    let rows = rows.iter().filter(|it| it.section.is_none());
    let mut rows: Vec<_> =
        rows.map(|it| (it.offset, it.kind.0, it.symbol_name.to_string(), it.addend)).collect();
    rows.sort();
    rows
}

fn each_packed(mut check: impl FnMut(&str, &[u8], &[u8], &[Encoding])) {
    for target in TARGETS {
        for source in [OWN, NAMED] {
            let plain = linked(target, source, "");
            for (options, encodings) in PACKED {
                let what = format!("{target} {options} {source}");
                check(&what, &plain, &linked(target, source, options), encodings);
            }
        }
    }
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn packed_relocations_load_as_plain_ones_do() {
    each_packed(|what, plain, packed, encodings| {
        assert_eq!(dynamic(packed), dynamic(plain), "{what}");
        let expected = memory(plain);
        assert!(expected.iter().any(|(_, content)| content.contains(&0x7f)), "{what}");
        assert!(memory(packed) == expected, "{what}: memory differs");
        let (rows, _) = CodeObject::parse(packed).unwrap().relocations();
        assert!(rows.iter().all(|it| encodings.contains(&it.encoding)), "{what}: {rows:?}");
        assert!(!what.contains("hidden") || rows.iter().any(|it| it.encoding != Encoding::Rela));
    });
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn places_of_packed_relocations_are_those_that_readelf_shows() {
    let dir = scratch_dir();
    let path = dir.path().join("o.co");
    each_packed(|what, _, packed, _| {
        fs::write(&path, packed).unwrap();
        let text = run(Command::new("llvm-readelf-22").arg("-rW").arg(&path));
        let text = text.text().to_owned();
        let hex = |word: &str| number::hex(word).filter(|_| word.len() == 16);
        let mut places: Vec<u64> = Vec::new();
        for line in text.lines() {
            let words: Vec<_> = line.split_whitespace().collect();
            // A bitmap's first line begins with its number and word, the others with a place.
            let place = match words.first() {
                Some(first) if first.ends_with(':') => words.get(2),
                first => first,
            };
            places.extend(place.and_then(|word| hex(word)));
        }
        places.sort_unstable();
        let ours: Vec<_> = dynamic(packed).iter().map(|it| it.0).collect();
        assert_eq!(ours, places, "{what}\n{text}");
    });
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn packed_relocations_are_found_without_section_headers() {
    let dir = scratch_dir();
    each_packed(|what, plain, packed, _| {
        fs::write(dir.path().join("o.co"), packed).unwrap();
        sh(dir.path(), "llvm-objcopy-22 --strip-sections o.co stripped.co");
        let stripped = fs::read(dir.path().join("stripped.co")).unwrap();
        assert!(CodeObject::parse(&stripped).unwrap().elf().sections().is_empty());
        assert_eq!(dynamic(&stripped), dynamic(plain), "{what}");
    });
}

/// The answer of a verb about a file of one name, so that answers can be compared.
fn answer(dir: &Path, bytes: &[u8], verb: &[&str]) -> String {
    let path = dir.join("object.co");
    fs::write(&path, bytes).unwrap();
    let arguments = verb.iter().map(|it| (*it).into()).chain([path.into_os_string()]);
    hsaco_fine(arguments.collect::<Vec<std::ffi::OsString>>()).text().to_owned()
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn linked_and_patched_objects_keep_the_pointers_of_packed_tables() {
    let dir = scratch_dir();
    each_packed(|what, plain, packed, _| {
        let calls = ["calls", "--format", "json"];
        assert_eq!(answer(dir.path(), packed, &calls), answer(dir.path(), plain, &calls), "{what}");
        let linked = |bytes| {
            let out = dir.path().join("linked.co");
            answer(dir.path(), bytes, &["link", "-o", out.to_str().unwrap()]);
            fs::read(out).unwrap()
        };
        assert_eq!(dynamic(&linked(packed)).len(), dynamic(&linked(plain)).len(), "{what}");
        assert!(memory(&linked(packed)) == memory(&linked(plain)), "{what}: linked differs");
        let changed = dir.path().join("changed.co");
        let set = [
            "patch",
            "--set",
            "user.group_segment_fixed_size=1024",
            "-o",
            changed.to_str().unwrap(),
        ];
        answer(dir.path(), packed, &set);
        let changed = fs::read(changed).unwrap();
        assert_eq!(dynamic(&changed), dynamic(plain), "{what}");
    });
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn check_says_that_the_loader_reads_no_packed_tables() {
    let dir = scratch_dir();
    let path = dir.path().join("o.co");
    each_packed(|what, plain, packed, encodings| {
        fs::write(&path, plain).unwrap();
        assert_eq!(hsaco(["check".as_ref(), path.as_os_str()]).code, Some(0), "{what}");
        fs::write(&path, packed).unwrap();
        let ran = hsaco(["check".as_ref(), path.as_os_str()]);
        let (rows, _) = CodeObject::parse(packed).unwrap().relocations();
        for encoding in encodings {
            let is_there = rows.iter().any(|it| it.encoding == *encoding);
            let is_told = ran.text().contains(&format!("are in a {encoding} table"));
            assert_eq!(is_told, is_there && *encoding != Encoding::Rela, "{what}: {}", ran.text());
        }
        let is_fine = rows.iter().all(|it| it.encoding == Encoding::Rela);
        assert_eq!(ran.code, Some(i32::from(!is_fine)), "{what}");
    });
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn compact_relocations_of_clang_are_those_of_plain_tables() {
    let dir = scratch_dir();
    fs::write(dir.path().join("o.c"), format!("{}{OWN}", super::sample::HEAD)).unwrap();
    let compile = "clang-22 -target amdgcn-amd-amdhsa -mcpu=gfx942 -O1 -g -nogpulib -ffreestanding -fPIC -c o.c";
    sh(dir.path(), &format!("{compile} -o plain.o"));
    sh(dir.path(), &format!("{compile} -Wa,--crel,--allow-experimental-crel -o crel.o"));
    let rows = |name: &str| {
        let bytes = fs::read(dir.path().join(name)).unwrap();
        let object = CodeObject::parse(&bytes).unwrap();
        let (rows, problems) = object.relocations();
        assert_eq!(problems, []);
        let about = |section| object.elf().section(section).unwrap().name.to_string();
        rows.iter()
            .map(|it| {
                let section = about(it.section.unwrap());
                (section, it.offset, it.kind, it.symbol_name.to_string(), it.addend)
            })
            .collect::<Vec<_>>()
    };
    assert!(rows("crel.o").len() > 30);
    assert_eq!(rows("crel.o"), rows("plain.o"));
    let lines = |name: &str| hsaco_fine(["lines".into(), dir.path().join(name).into_os_string()]);
    let rest = |name: &str| lines(name).text().lines().skip(2).collect::<Vec<_>>().join("\n");
    assert!(rest("plain.o").contains("o.c:"));
    assert_eq!(rest("crel.o"), rest("plain.o"));
}

#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn relocations_of_an_unknown_kind_are_an_error() {
    let bytes = linked("gfx942", OWN, "--pack-dyn-relocs=relr");
    let object = CodeObject::parse(&bytes).unwrap();
    let elf = object.elf();
    let table = elf.section_named(".relr.dyn").unwrap();
    let header = usize::try_from(elf.header().section_headers).unwrap();
    let header = header + 64 * usize::try_from(table.index).unwrap();
    // A section type that does not exist, with and without the tags of the dynamic segment.
    let mut unknown = bytes.clone();
    unknown[header + 4..header + 8].copy_from_slice(&0x6abc_def0_u32.to_le_bytes());
    let (_, problems) = CodeObject::parse(&unknown).unwrap().relocations();
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].kind(), ErrorKind::Unsupported);
    let dir = scratch_dir();
    let path = dir.path().join("o.co");
    fs::write(&path, &unknown).unwrap();
    for verb in ["load", "link", "calls", "info"] {
        let out = dir.path().join("out");
        let mut arguments = vec![verb.into(), path.clone().into_os_string()];
        arguments.extend(["-o".into(), out.clone().into_os_string()]);
        let ran = hsaco(arguments);
        assert!(matches!(ran.code, Some(1..=3)), "{verb}: {:?}", ran.code);
        assert!(ran.stderr.contains("0x6abcdef0"), "{verb}: {}", ran.stderr);
    }
    // Called data, the table is still named by the dynamic segment.
    let mut named = bytes.clone();
    named[header + 4..header + 8].copy_from_slice(&1_u32.to_le_bytes());
    assert_eq!(dynamic(&named), dynamic(&bytes));
    // A bitmap before any address.
    let mut bitmap = bytes.clone();
    let at = usize::try_from(table.offset).unwrap();
    bitmap[at] |= 1;
    let (_, problems) = CodeObject::parse(&bitmap).unwrap().relocations();
    assert_eq!(problems[0].kind(), ErrorKind::Malformed);
}

/// A group of a packed table may say that it has a billion relocations in ten bytes.
#[test]
#[cfg_attr(not(tools), ignore = "needs the tools of .ci/run")]
fn packed_tables_name_no_more_places_than_the_file_has() {
    let mut bytes = linked("gfx942", OWN, "--pack-dyn-relocs=android");
    let object = CodeObject::parse(&bytes).unwrap();
    let table = object.elf().section_named(".rela.dyn").unwrap();
    let at = usize::try_from(table.offset).unwrap();
    let end = at + usize::try_from(table.size).unwrap();
    // A count of 2^34, from 0; one group of them, grouped by offset and info, without addends.
    let count = [0x80, 0x80, 0x80, 0x80, 0xc0, 0x00];
    let packed = [b"APS2", &count[..], &[0], &count, &[3, 8, 13]].concat();
    bytes[at..end].fill(0);
    bytes[at..at + packed.len()].copy_from_slice(&packed);
    let (rows, problems) = CodeObject::parse(&bytes).unwrap().relocations();
    assert_eq!(rows.len(), bytes.len() / 4);
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].kind(), ErrorKind::LimitExceeded);
}
