//! Single bytes of descriptors and metadata notes, corrupted: no panic, and findings that name a field.

use hsaco::check::Checker;
use hsaco::object::{CodeObject, Kernel};
use hsaco_tests::random::Random;

use crate::fixture;

const CASES: usize = 10_000;
const FIXTURES: [&str; 6] =
    ["s1.gfx942.co", "s1.gfx1100.co", "s1.gfx1250.co", "s1.v4.co", "two-notes.co", "mangled.co"];

/// The bytes of an object that descriptors and metadata notes take.
fn ranges(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let object = CodeObject::parse(bytes).unwrap();
    let place = |offset: u64, size: usize| {
        let start = usize::try_from(offset).unwrap();
        start..start + size
    };
    let index = object.index();
    let addresses = index.kernels().iter().filter_map(Kernel::descriptor_address);
    let descriptors =
        addresses.filter_map(|it| object.elf().file_offset(it)).map(|it| place(it, 64));
    let notes = object.notes().flatten().map(|it| place(it.desc_offset, it.desc.len()));
    descriptors.chain(notes).collect()
}

#[test]
fn findings_of_corrupted_bytes_name_a_field() {
    let mut random = Random::new(6);
    let mut found = 0;
    for name in FIXTURES {
        let good = fixture(name);
        let places: Vec<usize> = ranges(&good).into_iter().flatten().collect();
        for case in 0..CASES.div_ceil(FIXTURES.len()) {
            let at = places[random.below(places.len())];
            let byte = good[at] ^ u8::try_from(random.below(255) + 1).unwrap();
            let mut bad = good.clone();
            bad[at] = byte;
            // Decoding takes far longer than all the rest.
            let mut checkers = vec![Checker::new()];
            if case % 16 == 0 {
                checkers.push(Checker::new().with_code());
            }
            for checker in checkers {
                for finding in checker.file(&bad).findings {
                    found += 1;
                    let place = format!("{name}: {byte:#04x} at {at:#x}: {finding}");
                    assert!(finding.subject.field.is_some_and(|it| !it.is_empty()), "{place}");
                }
            }
        }
    }
    assert!(found > CASES / 4, "{found} findings are too few for the bytes to have mattered");
}
