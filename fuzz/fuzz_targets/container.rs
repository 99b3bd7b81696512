//! Any bytes as a container; every code object found in them is walked as well.
#![no_main]

#[path = "../walk.rs"]
mod walk;

use hsaco_object::CodeObject;
use hsaco_object::container::{self, Options};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for entry in container::entries(data, &Options::default()) {
        let Ok(entry) = entry else { continue };
        if let Ok(object) = CodeObject::parse(&entry.data) {
            walk::walk(&object);
        }
    }
});
