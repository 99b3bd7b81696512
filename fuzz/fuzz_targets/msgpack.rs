//! Any bytes as MessagePack metadata.
#![no_main]

use std::hint::black_box;

use hsaco_object::msgpack::Value;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = black_box(Value::parse(data));
});
