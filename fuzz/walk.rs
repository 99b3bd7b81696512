//! Touches everything a code object offers.

use std::hint::black_box;

use hsaco_object::CodeObject;

pub fn walk(object: &CodeObject<'_>) {
    for kernel in object.kernels() {
        black_box(kernel);
    }
    for function in object.functions() {
        black_box(function);
    }
    for symbol in object.symbols() {
        black_box(symbol);
    }
}
