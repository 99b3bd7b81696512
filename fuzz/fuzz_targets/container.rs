//! Any bytes as a container; every code object found in them is walked as well.
#![no_main]

#[path = "../walk.rs"]
mod walk;

use hsaco_container::{self, WalkOptions};
use hsaco_object::{CodeObject, layout};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let options = WalkOptions { max_size: 64 << 20, ..WalkOptions::default() };
    let layout = layout::layout(data, &options);
    let covered: u64 = layout.pieces.iter().map(|it| it.range.end - it.range.start).sum();
    assert_eq!(covered, data.len() as u64);
    for entry in hsaco_container::entries(data, &options) {
        let Ok(entry) = entry else { continue };
        if let Ok(object) = CodeObject::parse(&entry.data) {
            walk::walk(&object);
        }
    }
});
