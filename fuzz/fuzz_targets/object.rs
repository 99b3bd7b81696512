//! Any bytes as a code object.
#![no_main]

#[path = "../walk.rs"]
mod walk;

use hsaco_object::CodeObject;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(object) = CodeObject::parse(data) {
        walk::walk(&object);
    }
});
