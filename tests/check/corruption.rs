//! Single bytes of descriptors and metadata notes, corrupted: no panic, and findings that name the field.

use std::collections::BTreeSet;
use std::ops::Range;

use hsaco::check::{Checker, Finding};
use hsaco::object::descriptor::Field;
use hsaco::object::metadata::path_at;
use hsaco::object::{CodeObject, Kernel};
use hsaco_tests::random::Random;

use super::{fixture, own};

const CASES: usize = 10_000;
const FIXTURES: [&str; 6] =
    ["s1.gfx942.co", "s1.gfx1100.co", "s1.gfx1250.co", "s1.v4.co", "two-notes.co", "mangled.co"];

/// An object, and what may be said of its fields.
struct Good {
    bytes: Vec<u8>,
    descriptors: Vec<Range<usize>>,
    notes: Vec<Range<usize>>,
    /// The fields that its descriptors have.
    fields: BTreeSet<&'static str>,
}

impl Good {
    fn new(name: &str) -> Self {
        let bytes = fixture(name);
        let object = CodeObject::parse(&bytes).unwrap();
        let place = |offset: u64, size: usize| {
            let start = usize::try_from(offset).unwrap();
            start..start + size
        };
        let index = object.index();
        let addresses = index.kernels().iter().filter_map(Kernel::descriptor_address);
        let offsets = addresses.filter_map(|it| object.elf().file_offset(it));
        let descriptors = offsets.map(|it| place(it, 64)).collect();
        let notes = object.notes().flatten().map(|it| place(it.desc_offset, it.desc.len()));
        let notes = notes.collect();
        let generation = object.target().generation().unwrap();
        let fields = Field::all(generation).map(|field| field.name).collect();
        Self { descriptors, notes, fields, bytes }
    }

    /// The keys that lead to a byte of a note.
    fn path(&self, at: usize) -> Option<String> {
        let note = self.notes.iter().find(|it| it.contains(&at))?;
        let path = path_at(&self.bytes[note.clone()], note.start as u64, at as u64);
        Some(path.unwrap_or_default())
    }

    /// Whether a finding names a field of a descriptor or the path of a key; of a document that breaks its own rules
    /// the path of the byte, or of what comes to grief later because of it.
    fn names_the_field(&self, at: usize, finding: &Finding) -> bool {
        let field = finding.subject.field.as_deref().unwrap_or_default();
        let is_path = field.starts_with("amdhsa.");
        if finding.rule != "metadata-invalid" {
            return is_path || self.fields.contains(field);
        }
        let Some(path) = self.path(at) else { return false };
        let is_near = path.starts_with(field) || field.starts_with(&path);
        let is_later = finding.subject.offset.is_some_and(|offset| offset >= at as u64);
        // Nothing leads to the root, nor are those keys where all that follows is read wrongly.
        let is_root = field == ".note" && !path.contains('[');
        is_later || is_root || is_path && (is_near || is_of_one_map(field, &path))
    }
}

/// Whether both are of one kernel's map, whose keys are missing when others take their names.
fn is_of_one_map(one: &str, other: &str) -> bool {
    let map = |path: &str| path.split_once(']').map(|(map, _)| map.to_owned());
    map(one).is_some() && map(one) == map(other)
}

#[test]
fn findings_of_corrupted_bytes_name_the_field() {
    let mut random = Random::new(6);
    let (mut of_metadata, mut of_descriptors) = (0, 0);
    let mut nameless = Vec::new();
    for name in FIXTURES {
        let good = Good::new(name);
        let known = own(Checker::new()).file(&good.bytes).findings;
        let ranges = good.descriptors.iter().chain(&good.notes);
        let places: Vec<usize> = ranges.cloned().flatten().collect();
        for case in 0..CASES.div_ceil(FIXTURES.len()) {
            let at = places[random.below(places.len())];
            let byte = good.bytes[at] ^ u8::try_from(random.below(255) + 1).unwrap();
            let mut bad = good.bytes.clone();
            bad[at] = byte;
            // Decoding takes far longer than all the rest.
            let mut checkers = vec![Checker::new()];
            if case % 16 == 0 {
                checkers.push(Checker::new().with_code());
            }
            let findings = checkers.into_iter().flat_map(|it| own(it).file(&bad).findings);
            for finding in findings.filter(|it| !known.contains(it)) {
                let place = format!("{name}: {byte:#04x} at {at:#x}: {finding}");
                let is_code = ["undecodable-code", "resource-closure"].contains(&finding.rule);
                if !is_code && !good.names_the_field(at, &finding) {
                    nameless.push(place);
                }
                match finding.subject.field.is_some_and(|it| it.starts_with("amdhsa.")) {
                    true => of_metadata += 1,
                    false => of_descriptors += 1,
                }
            }
        }
    }
    nameless.truncate(20);
    assert!(nameless.is_empty(), "{}", nameless.join("\n"));
    assert!(of_metadata > CASES / 4, "{of_metadata} findings of metadata are too few");
    assert!(of_descriptors > CASES / 20, "{of_descriptors} findings of descriptors are too few");
}
