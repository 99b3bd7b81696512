//! How much of what was unpacked stays in memory.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail by panicking")]

#[path = "../../../tests/counting.rs"]
#[allow(dead_code, reason = "not every test looks at all of it")]
mod counting;

use std::cell::Cell;

use hsaco_compress::Method;
use hsaco_container::{bundle, ccob};
use hsaco_db::{Database, Wanted, Which};

use counting::LIVE;

#[test]
fn of_a_payload_only_wanted_objects_are_kept() {
    let object = std::fs::read("../../tests/fixtures/s1.gfx942.co").unwrap();
    let rest = vec![0; 4 << 20];
    let entries = [
        ("host-x86_64-unknown-linux-gnu-", rest.as_slice()),
        ("hipv4-amdgcn-amd-amdhsa--gfx942", object.as_slice()),
    ];
    let file = ccob::write(&bundle::write(&entries, 1), 3, Method::Zstd, 3).unwrap();
    let kept = |wanted: Wanted| {
        let (database, file) = (Database::new(), file.clone());
        let before = LIVE.with(Cell::get);
        let which = Which { objects: wanted, ..Which::default() };
        let added = database.add_some("file", file, &which).unwrap();
        assert_eq!(added.objects.len(), 1);
        assert!(added.objects[0].data().unwrap().starts_with(&object));
        LIVE.with(Cell::get) - before
    };
    let size = rest.len().cast_signed();
    assert!(kept(Wanted::Target("gfx942".parse().unwrap())) < size / 4);
    assert!(kept(Wanted::Device("gfx942".parse().unwrap())) < size / 4);
    // Objects are copied: a share would keep the whole payload.
    assert!(kept(Wanted::All) < size / 4);
}
