//! Any bytes as MessagePack metadata.
#![no_main]

use std::hint::black_box;

use hsaco_elf::note::Note;
use hsaco_object::metadata::{self, Metadata};
use hsaco_object::msgpack::Value;
use hsaco_object::note::{NT_AMDGPU_METADATA, OWNER_AMDGPU};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(document) = Value::parse(data) {
        let _ = black_box(metadata::verify(document));
    }
    let note = Note {
        owner: OWNER_AMDGPU.into(),
        kind: NT_AMDGPU_METADATA,
        desc: data,
        offset: 0,
        desc_offset: 0,
    };
    for kernel in Metadata::from_notes([note]).kernels() {
        if let Ok(said) = kernel.decode() {
            said.arguments().into_iter().flatten().for_each(|it| drop(black_box(it)));
        }
    }
});
