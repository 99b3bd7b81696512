//! Touches everything a code object offers.

use std::hint::black_box;

use hsaco_demangle::demangle;
use hsaco_isa::target::Generation;
use hsaco_object::{CodeObject, KernelDescriptor, metadata, msgpack};

pub fn walk(object: &CodeObject<'_>) {
    black_box(object.problems());
    black_box((object.target().to_string(), object.e_flags().readelf_text()));
    for note in object.notes().flatten() {
        if let Ok(document) = msgpack::Value::parse(note.desc) {
            let _ = black_box(metadata::verify(document));
        }
    }
    let index = object.index();
    let generation = object.target().generation();
    for kernel in index.kernels() {
        black_box((kernel.entry(), kernel.code_size(), demangle(kernel.name().as_bytes())));
        let _ = black_box(kernel.resources(generation));
        if let (Some(descriptor), Some(generation)) = (kernel.descriptor(), generation) {
            assert_eq!(descriptor.to_bytes(), again(descriptor, generation));
            black_box(descriptor.directives(generation, 6));
        }
        if let Some(Ok(said)) = kernel.metadata().map(|it| it.decode()) {
            said.arguments().into_iter().flatten().for_each(|it| drop(black_box(it)));
        }
    }
    for symbol in index.functions().iter().chain(index.variables()) {
        black_box((demangle(symbol.name.as_bytes()), object.bytes_at(symbol, symbol.size)));
    }
    if let Ok(Some(table)) = object.symbol_table() {
        table.iter().for_each(|it| drop(black_box(it)));
    }
    black_box(object.relocations());
}

/// The descriptor taken apart into fields and put together again.
fn again(descriptor: KernelDescriptor, generation: Generation) -> [u8; 64] {
    let again = KernelDescriptor::from_fields(descriptor.fields(generation));
    again.expect("fields of a descriptor fit").to_bytes()
}
