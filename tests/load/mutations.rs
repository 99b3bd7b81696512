//! Objects with bytes changed at random: an error or an executable, never more.

use hsaco::load::{Executable, Freeze};
use hsaco::object::CodeObject;
use hsaco_tests::fixture;
use hsaco_tests::random::Random;

/// The places that a loader trusts most: headers, symbols, relocations, notes.
fn tables(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let object = CodeObject::parse(bytes).unwrap();
    let headers = usize::try_from(object.elf().header().section_headers).unwrap();
    let mut ranges = vec![0..64 + 56 * object.elf().segments().len(), headers..bytes.len()];
    for name in
        [".dynsym", ".symtab", ".rela.dyn", ".dynamic", ".note", ".hash", ".gnu.hash", ".rodata"]
    {
        if let Some(section) = object.elf().section_named(name) {
            let start = usize::try_from(section.offset).unwrap();
            ranges.push(start..start + usize::try_from(section.size).unwrap());
        }
    }
    ranges.retain(|it| !it.is_empty());
    ranges
}

fn everything(bytes: &[u8], other: &[u8]) -> bool {
    let mut executable = Executable::new(None);
    if executable.load("broken", bytes).is_err() {
        return false;
    }
    executable.load("whole", other).ok();
    executable.define_function("external_function", 0x1000).ok();
    executable.define_variable("external_variable", 0x2000, 4).ok();
    for symbol in executable.symbols() {
        std::hint::black_box((
            symbol.readable_name(),
            symbol.kernel(),
            symbol.code(),
            symbol.align(),
        ));
    }
    if executable.freeze(Freeze { base: 0x7f00_0000_0000, ..Freeze::default() }).is_err() {
        return false;
    }
    let link = executable.link();
    std::hint::black_box((link.is_ok(), executable.calls().is_ok()));
    for symbol in executable.symbols() {
        std::hint::black_box((symbol.address(), symbol.provider().is_some()));
        symbol.address().map(|it| std::hint::black_box(executable.locate(it).is_some()));
    }
    true
}

#[test]
fn changed_tables_are_an_error_or_an_executable() {
    let mut random = Random::new(11);
    let (mut fine, mut broken) = (0, 0);
    for name in ["s1.gfx942.co", "external.co", "s1.stripped.co", "s1.no-sections.co", "v2.co"] {
        let original = std::fs::read(fixture(name)).unwrap();
        let other = std::fs::read(fixture("two-notes.co")).unwrap();
        let tables = tables(&original);
        for _ in 0..600 {
            let mut bytes = original.clone();
            for _ in 0..1 + random.below(3) {
                let range = &tables[random.below(tables.len())];
                let at = (range.start + random.below(range.len())).min(bytes.len() - 1);
                bytes[at] = match random.below(4) {
                    0 => 0xff,
                    1 => 0,
                    2 => bytes[at].wrapping_add(1),
                    _ => random.bits().to_le_bytes()[0],
                };
            }
            if everything(&bytes, &other) { fine += 1 } else { broken += 1 }
        }
    }
    assert!(fine > 300 && broken > 300, "{fine} fine, {broken} broken");
}

#[test]
fn every_prefix_of_an_object_is_an_error() {
    let bytes = std::fs::read(fixture("external.co")).unwrap();
    let needed = {
        let object = CodeObject::parse(&bytes).unwrap();
        object.elf().loads().map(|it| it.offset + it.file_size).max().unwrap()
    };
    for len in 0..usize::try_from(needed).unwrap() {
        let loaded = Executable::new(None).load("prefix", &bytes[..len]);
        assert!(loaded.is_err(), "{len} bytes of {}", bytes.len());
    }
}

#[test]
fn memory_that_the_file_does_not_have_is_not_allocated() {
    let mut bytes = std::fs::read(fixture("s1.gfx942.co")).unwrap();
    let last = CodeObject::parse(&bytes).unwrap().elf().loads().last().unwrap().index as usize;
    let size = (1_u64 << 46).to_le_bytes();
    bytes[64 + 56 * last + 40..][..8].copy_from_slice(&size);
    let mut executable = Executable::new(None);
    executable.load("huge", bytes).unwrap();
    executable.freeze(Freeze::default()).unwrap();
    let image = executable.image(executable.objects().next().unwrap()).unwrap();
    assert_eq!(image.segments.last().unwrap().size, 1 << 46);
    assert!(image.segments.iter().all(|it| it.bytes.len() < 1 << 20));
}
