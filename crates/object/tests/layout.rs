//! Every byte of every fixture, whole, cut short and damaged, has one owner.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../../../tests/src/random.rs"]
mod random;

use std::fs;
use std::path::{Path, PathBuf};

use hsaco_container::{EntryKind, HashCheck, WalkOptions, entries};
use hsaco_object::layout::{Kind, Layout, Piece, duplicates, layout};
use random::Random;

const OPTIONS: WalkOptions =
    WalkOptions { max_size: 1 << 20, max_depth: 8, hash: HashCheck::UpTo(0) };

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures")
}

fn read(name: &str) -> Vec<u8> {
    fs::read(folder().join(name)).unwrap()
}

fn fixtures() -> Vec<(String, Vec<u8>)> {
    let mut paths: Vec<_> = fs::read_dir(folder()).unwrap().map(|it| it.unwrap().path()).collect();
    paths.retain(|path| path.is_file());
    paths.sort();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), fs::read(path).unwrap())).collect()
}

fn covers(pieces: &[Piece], size: u64) -> bool {
    let mut position = 0;
    for piece in pieces {
        if piece.range.start != position || piece.range.is_empty() {
            return false;
        }
        position = piece.range.end;
    }
    position == size
}

/// The layout, after a look at whether it adds up.
fn checked(what: &str, data: &[u8]) -> Layout {
    let found = layout(data, &OPTIONS);
    assert_eq!(found.size, data.len() as u64, "{what}");
    assert!(covers(&found.pieces, found.size), "{what}: {:?}", found.pieces);
    for payload in &found.inflated {
        assert!(covers(&payload.pieces, payload.size), "{what}: {:?}", payload.pieces);
    }
    let owners = found.pieces.iter().chain(found.inflated.iter().flat_map(|it| &it.pieces));
    let objects = owners.filter_map(|it| it.owner.object).max();
    assert!(objects.is_none_or(|most| most < found.objects.len()), "{what}");
    found
}

#[test]
fn whole_fixtures_add_up_and_count_objects_as_the_walk_does() {
    for (name, data) in fixtures() {
        let found = checked(&name, &data);
        let objects = entries(&data, &OPTIONS)
            .filter(|it| it.as_ref().is_ok_and(|entry| entry.kind != EntryKind::Host))
            .count();
        assert_eq!(found.objects.len(), objects, "{name}");
    }
}

#[test]
fn nothing_of_a_whole_container_is_unknown() {
    for name in [
        "s1.gfx942.co",
        "plain.bundle",
        "host.so",
        "host.a",
        "host.dll",
        "host.obj",
        "wheel.whl",
        "methods.zip",
        "plain.tar",
        "nested.tar.xz",
        "demo.deb",
        "demo.rpm",
    ] {
        let found = checked(name, &read(name));
        let kinds: Vec<_> = found.pieces.iter().map(|it| it.owner.kind).collect();
        assert!(!kinds.contains(&Kind::Unknown), "{name}: {:?}", found.pieces);
    }
}

#[test]
fn prefixes_add_up() {
    for (name, data) in fixtures() {
        for length in 0..data.len() {
            checked(&format!("{name} cut to {length}"), &data[..length]);
        }
    }
}

#[test]
fn mutations_add_up() {
    let mut generator = Random::new(1);
    let mut random = |below: usize| generator.below(below);
    let values = [0_u8, 1, 0x7f, 0x80, 0xff];
    for (name, data) in fixtures().into_iter().filter(|(_, data)| !data.is_empty()) {
        for round in 0..150 {
            let mut broken = data.clone();
            // Half of the damage where headers are, some of it wide.
            let reach = if round % 2 == 0 { broken.len().min(256) } else { broken.len() };
            for _ in 0..=random(3) {
                let at = random(reach);
                let end = (at + [1, 1, 2, 8][random(4)]).min(broken.len());
                let value = values[random(values.len())];
                broken[at..end].fill(value);
            }
            checked(&format!("{name}, mutation {round}"), &broken);
            duplicates(&broken, &OPTIONS);
        }
    }
}

/// One line for each piece.
fn lines(pieces: &[Piece]) -> String {
    let line = |piece: &Piece| {
        let owner = &piece.owner;
        let object = owner.object.map_or(String::new(), |it| format!(" #{it}"));
        let words = [&owner.section, &owner.name]
            .map(|it| it.as_ref().map_or(String::new(), |it| format!(" {it}")));
        let (start, end) = (piece.range.start, piece.range.end);
        format!("{start:#x}..{end:#x} {}{object}{}\n", owner.kind.name(), words.concat())
    };
    pieces.iter().map(line).collect()
}

#[test]
fn a_code_object_byte_by_byte() {
    let found = checked("s1", &read("s1.gfx942.co"));
    expect_test::expect![[r#"
        0x0..0x40 file_header #0
        0x40..0x238 program_headers #0
        0x238..0x25d section #0 .note
        0x25d..0x401 metadata #0 .note foo
        0x401..0x51a metadata #0 .note none
        0x51a..0xa27 metadata #0 .note ind
        0xa27..0xa64 section #0 .note
        0xa64..0xa68 padding #0
        0xa68..0xb28 section #0 .dynsym
        0xb28..0xb68 section #0 .gnu.hash
        0xb68..0xbb0 section #0 .hash
        0xbb0..0xbdc section #0 .dynstr
        0xbdc..0xbe0 padding #0
        0xbe0..0xbf8 section #0 .rela.dyn
        0xbf8..0xc00 padding #0
        0xc00..0xc40 descriptor #0 .rodata foo
        0xc40..0xc80 descriptor #0 .rodata none
        0xc80..0xcc0 descriptor #0 .rodata ind
        0xcc0..0xd00 padding #0
        0xd00..0xd10 function #0 .text helper
        0xd10..0xe00 padding #0 .text
        0xe00..0xe58 code #0 .text foo
        0xe58..0xf00 padding #0 .text
        0xf00..0xf04 code #0 .text none
        0xf04..0x1000 padding #0 .text
        0x1000..0x1068 code #0 .text ind
        0x1068..0x1480 padding #0 .text
        0x1480..0x1530 section #0 .dynamic
        0x1530..0x1538 section #0 .data
        0x1538..0x1552 section #0 .comment
        0x1552..0x1558 padding #0
        0x1558..0x1888 section #0 .symtab
        0x1888..0x191d section #0 .shstrtab
        0x191d..0x1b0b section #0 .strtab
        0x1b0b..0x1b10 padding #0
        0x1b10..0x1f50 section_headers #0
    "#]]
    .assert_eq(&lines(&found.pieces));
}

#[test]
fn an_object_without_sections_byte_by_byte() {
    let found = checked("s1", &read("s1.no-sections.co"));
    expect_test::expect![[r#"
        0x0..0x40 file_header #0
        0x40..0x238 program_headers #0
        0x238..0x25d segment #0 LOAD 1
        0x25d..0x401 metadata #0 LOAD 1 foo
        0x401..0x51a metadata #0 LOAD 1 none
        0x51a..0xa27 metadata #0 LOAD 1 ind
        0xa27..0xc00 segment #0 LOAD 1
        0xc00..0xc40 descriptor #0 LOAD 1 foo
        0xc40..0xc80 descriptor #0 LOAD 1 none
        0xc80..0xcc0 descriptor #0 LOAD 1 ind
        0xcc0..0xd00 padding #0
        0xd00..0xe00 segment #0 LOAD 2
        0xe00..0xe58 code #0 LOAD 2 foo
        0xe58..0xf00 segment #0 LOAD 2
        0xf00..0xf04 code #0 LOAD 2 none
        0xf04..0x1000 segment #0 LOAD 2
        0x1000..0x1068 code #0 LOAD 2 ind
        0x1068..0x1480 segment #0 LOAD 2
        0x1480..0x1530 segment #0 LOAD 3
        0x1530..0x1538 segment #0 LOAD 4
    "#]]
    .assert_eq(&lines(&found.pieces));
}

#[test]
fn a_compressed_bundle_byte_by_byte() {
    let found = checked("zstd", &read("zstd-v3.bundle"));
    let file = lines(&found.pieces);
    let payload = &found.inflated[0];
    assert_eq!((payload.offset, payload.within), (0, None));
    let containers = payload.pieces.iter().filter(|it| it.owner.object.is_none()).cloned();
    let containers: Vec<_> = containers.collect();
    expect_test::expect![[r#"
        0x0..0x5a6 compressed
        0x0..0x20 bundle_header
        0x20..0xc3 bundle_entry_header
    "#]]
    .assert_eq(&format!("{file}{}", lines(&containers)));
    expect_test::expect!["gfx1100 gfx942"].assert_eq(&payload.targets.join(" "));
}

/// A bundle of entries that all are the same range, or all but the first byte of it, and so on.
fn overlapping(count: usize, shift: u64) -> Vec<u8> {
    let code = read("s1.gfx942.co");
    let id = "hipv4-amdgcn-amd-amdhsa--gfx942";
    let mut file = hsaco_container::bundle::write(&vec![(id, b"".as_slice()); count], 1);
    let (start, size) = (file.len() as u64, code.len() as u64);
    file.extend(code);
    for row in 0..count {
        let at = 32 + row * (24 + id.len());
        let skipped = shift * row as u64;
        file[at..at + 8].copy_from_slice(&(start + skipped).to_le_bytes());
        file[at + 8..at + 16].copy_from_slice(&(size - skipped).to_le_bytes());
    }
    file
}

#[test]
fn entries_that_share_bytes_count_them_once() {
    let file = overlapping(100, 0);
    let found = checked("the same entry", &file);
    assert_eq!((found.objects.len(), found.problems.len()), (100, 0));
    assert!(found.objects.iter().all(|it| it.target.as_deref() == Some("gfx942")));
    assert!(found.pieces.iter().all(|it| it.owner.object.is_none_or(|number| number == 0)));
    assert_eq!(duplicates(&file, &OPTIONS), []);
    let found = checked("overlapping entries", &overlapping(100, 16));
    let refused =
        "limit exceeded: entry: it overlaps with so many others that it was not looked into";
    let last = found.problems.last().unwrap();
    assert_eq!(last.object, Some(99));
    assert!(last.error.to_string().starts_with(refused), "{}", last.error);
}

#[test]
fn the_same_code_twice() {
    let code = read("s1.gfx942.co");
    let id = "hipv4-amdgcn-amd-amdhsa--gfx942";
    let file = hsaco_container::bundle::write(&[(id, &code), (id, &code)], 4096);
    let found = duplicates(&file, &OPTIONS);
    assert_eq!(duplicates(&code, &OPTIONS), []);
    let kernels: Vec<_> = found[0].kernels.iter().map(|it| (it.object, &*it.name)).collect();
    assert_eq!(kernels[0].1, kernels[1].1);
    assert_eq!([kernels[0].0, kernels[1].0], [0, 1]);
    let packed = hsaco_container::ccob::write(&file, 3, hsaco_compress::Method::Zstd, 3);
    assert_eq!(duplicates(&packed.unwrap(), &OPTIONS), found);
}
