//! What packing allocates, which is nothing, and what becomes of a list that there is no memory for.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail by panicking")]

#[path = "../../../tests/counting.rs"]
#[allow(dead_code, reason = "not every test looks at all of it")]
mod counting;

use std::cell::Cell;

use hsaco_bytes::ErrorKind;
use hsaco_kernarg::{
    AbiMarker, CompactLayout, Declaration, Declared, Launch, NativeLayout, Value, elf_only,
};
use hsaco_object::CodeObject;
use hsaco_object::metadata::{Hidden, ValueKind};

use counting::{COUNT, LIVE, REFUSED_SIZE};

fn allocations(work: impl FnOnce()) -> usize {
    let before = COUNT.with(Cell::get);
    work();
    COUNT.with(Cell::get) - before
}

/// Ten arguments, and the hidden ones of V5.
fn ten_arguments() -> Declaration {
    let mut arguments: Vec<_> =
        (0..5).map(|at| Declared::new(at * 8, 8, ValueKind::GlobalBuffer)).collect();
    arguments.extend((0..5).map(|at| Declared::new(40 + at * 4, 4, ValueKind::ByValue)));
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    let mut arguments: Vec<_> =
        arguments.into_iter().zip(names).map(|(it, name)| it.named(name)).collect();
    let kinds = [
        (64, Hidden::BlockCountX),
        (68, Hidden::BlockCountY),
        (72, Hidden::BlockCountZ),
        (76, Hidden::GroupSizeX),
        (104, Hidden::GlobalOffsetX),
        (160, Hidden::HeapV1),
    ];
    arguments.extend(kinds.map(|(at, kind)| {
        Declared::new(at, u64::from(kind.size().unwrap()), ValueKind::Hidden(kind))
    }));
    Declaration::new(320, arguments)
}

#[test]
fn packing_allocates_nothing() {
    let layout = NativeLayout::new(&ten_arguments()).unwrap();
    let launch = Launch::new(&[1000, 3], &[256, 1]).unwrap();
    let mut out = [0; 320];
    let mut values = [Value::Pointer(0x1000); 10];
    values[5..].fill(1.5_f32.into());
    let count = allocations(|| {
        let report = layout.pack(&values, Some(&launch), &mut out).unwrap();
        assert!(report.left_zero().contains(Hidden::HeapV1));
    });
    assert_eq!(count, 0);
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    let named: [(&str, Value<'_>); 10] = std::array::from_fn(|at| (names[at], values[at]));
    let mut again = [0; 320];
    assert_eq!(
        allocations(|| _ = layout.pack_named(&named, Some(&launch), &mut again).unwrap()),
        0
    );
    assert_eq!(out, again);
    let buffer = layout.prepacked(out[..60].into()).unwrap();
    assert_eq!(allocations(|| _ = layout.write_prepacked(&buffer, None, &mut again).unwrap()), 0);
}

#[test]
fn packing_by_bindings_allocates_nothing() {
    let layout = CompactLayout::new(&ten_arguments(), Some(AbiMarker::seen())).unwrap();
    let launch = Launch::new(&[1000, 3], &[256, 1]).unwrap();
    let mut out = [0; 320];
    let count =
        allocations(|| _ = layout.pack(&[1; 5], &[7; 20], Some(&launch), &mut out).unwrap());
    assert_eq!(count, 0);
}

/// Case K9.
#[test]
fn no_memory_for_kernels_without_metadata() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/s1.no-note.co");
    let file = std::fs::read(folder).unwrap();
    let object = CodeObject::parse(&file).unwrap();
    let index = object.index();
    let listed = elf_only(&object, &index).unwrap();
    assert_eq!(listed.len(), 3);
    let size = size_of_val(&listed[..]);
    drop(listed);
    let live = LIVE.with(Cell::get);
    REFUSED_SIZE.with(|it| it.set(size));
    let refused = elf_only(&object, &index);
    REFUSED_SIZE.with(|it| it.set(0));
    let error = refused.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert_eq!(error.detail(), "no memory for 3 kernels without metadata");
    drop(error);
    assert_eq!(LIVE.with(Cell::get), live, "something was leaked");
    assert_eq!(index.kernels().len(), 3);
    assert_eq!(elf_only(&object, &index).unwrap().len(), 3);
}
