//! Edits of broken files: an error or a file, never a panic, never much memory.

use hsaco::elf::symbol::{Binding, STT_FUNC, Visibility};
use hsaco::object::CodeObject;
use hsaco::object::write::{Access, Edit, KernelChange, MetadataEdit, NewSymbol, Registers};
use hsaco_tests::random::Random;

use super::fixture;
use super::mutation::mutate;

/// Everything that can be done to a file, as far as it goes.
fn exercise(file: &[u8]) {
    let Ok(mut edit) = Edit::new(file) else { return };
    let placed = edit.append(".text.hsaco", Access::Code, &[1; 300]);
    let _ = edit.append(".data.hsaco", Access::Writable, &[2; 30]);
    for binding in [Binding::Local, Binding::Global] {
        edit.add_symbol(NewSymbol {
            name: b"patch".to_vec(),
            value: 0,
            size: 0,
            kind: STT_FUNC,
            binding,
            visibility: Visibility::Hidden,
            section: placed.as_ref().ok().and_then(|it| it.section).unwrap_or(1),
        });
    }
    let _ = edit.set_section(".debug_line", vec![3; 100]);
    let object = CodeObject::parse(file).unwrap();
    if let Ok(mut metadata) = MetadataEdit::of(&object) {
        for kernel in object.index().kernels() {
            if let Ok(mut change) = KernelChange::of(&object, kernel) {
                let _ = change.set_registers(Registers { vgprs: 250, agprs: 3, sgprs: 90 });
                let _ = change.set("private_segment_fixed_size", 1 << 20);
                let _ = change.apply(&mut edit, &mut metadata);
            }
        }
        let _ = metadata.apply(&mut edit);
    }
    if let Ok(new) = edit.finish() {
        assert!(new.len() < 2 * file.len() + (64 << 10));
        // A descriptor that is said to be in the file header has overwritten it.
        let Ok(object) = CodeObject::parse(&new) else { return };
        let _ = (object.index(), object.problems(), object.metadata());
    }
}

const FILES: [&str; 6] = [
    "s1.gfx942.co",
    "s1.stripped.co",
    "s1.no-sections.co",
    "two-notes.co",
    "lines.zlib.co",
    "s1.gfx942.o",
];

#[test]
fn prefixes_and_mutations_end_in_an_error_or_a_file() {
    for name in FILES {
        let file = fixture(name);
        for end in (0..file.len()).step_by(37) {
            exercise(&file[..end]);
        }
        let mut random = Random::new(9);
        for _ in 0..1500 {
            exercise(&mutate(&file, &mut random));
        }
    }
}
