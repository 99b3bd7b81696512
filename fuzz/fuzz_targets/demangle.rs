//! Any bytes as a mangled name.
#![no_main]

use hsaco_demangle::{demangle, demangle_into};
use libfuzzer_sys::fuzz_target;

const BEFORE: &str = "kernel ";

fuzz_target!(|data: &[u8]| {
    let mut out = String::from(BEFORE);
    let done = demangle_into(data, &mut out);
    let appended = out.strip_prefix(BEFORE).expect("what was there stays");
    assert!(done || appended.is_empty());
    assert_eq!(demangle(data).as_deref(), done.then_some(appended));
});
