//! What reviews of runtimes found wrong with argument packing, K1 to K34, each as a test of its number.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use hsaco_bytes::{ErrorKind, Str};
use hsaco_elf::note::Note;
use hsaco_elf::symbol::{STT_FUNC, SymbolTable};
use hsaco_kernarg::{
    AbiMarker, Blob, CompactLayout, Declaration, Declared, DirectLayout, Inference, Launch,
    LayoutRemark, NativeLayout, Value, blocks, command_words, elf_only, group_segment,
};
use hsaco_object::metadata::{Hidden, Metadata, ValueKind};
use hsaco_object::note::{NT_AMDGPU_METADATA, OWNER_AMDGPU};
use hsaco_object::{CodeObject, Kernel};
use rmpv::Value as Tree;

fn pointer(offset: u64) -> Declared {
    Declared::new(offset, 8, ValueKind::GlobalBuffer)
}

fn value(offset: u64, size: u64) -> Declared {
    Declared::new(offset, size, ValueKind::ByValue)
}

fn hidden(offset: u64, kind: Hidden) -> Declared {
    sized(offset, u64::from(kind.size().unwrap_or(8)), kind)
}

fn sized(offset: u64, size: u64, kind: Hidden) -> Declared {
    Declared::new(offset, size, ValueKind::Hidden(kind))
}

fn counts(offsets: [u64; 3]) -> Vec<Declared> {
    let kinds = [Hidden::BlockCountX, Hidden::BlockCountY, Hidden::BlockCountZ];
    offsets.into_iter().zip(kinds).map(|(offset, kind)| hidden(offset, kind)).collect()
}

fn native(size: u64, arguments: Vec<Declared>) -> hsaco_bytes::Result<NativeLayout> {
    NativeLayout::new(&Declaration::new(size, arguments))
}

fn compact(size: u64, arguments: Vec<Declared>) -> hsaco_bytes::Result<CompactLayout> {
    CompactLayout::new(&Declaration::new(size, arguments), Some(AbiMarker::seen()))
}

fn offsets(layout: &NativeLayout) -> Vec<u32> {
    layout.parameters().iter().map(|it| it.offset).collect()
}

fn spans(layout: &CompactLayout) -> Vec<(u32, u32, u32)> {
    layout.spans().iter().map(|it| (it.target, it.source, it.length)).collect()
}

fn words(layout: &CompactLayout) -> Vec<u32> {
    layout.bindings().iter().map(|it| it.word).collect()
}

fn refused<T>(result: hsaco_bytes::Result<T>) -> (ErrorKind, String) {
    match result {
        Ok(_) => panic!("accepted"),
        Err(error) => (error.kind(), error.detail().to_owned()),
    }
}

fn fixture(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/");
    std::fs::read(format!("{folder}{name}")).unwrap()
}

fn find(haystack: &[u8], needle: &[u8]) -> Vec<usize> {
    haystack
        .windows(needle.len())
        .enumerate()
        .filter(|(_, it)| *it == needle)
        .map(|it| it.0)
        .collect()
}

/// Changes the symbols of a name in every table: `st_info` and `st_shndx` are at 4 and 6 of their 24 bytes.
fn edit_symbol(file: &mut [u8], name: &str, edit: impl Fn(&mut [u8])) {
    let places: Vec<usize> = {
        let object = CodeObject::parse(file).unwrap();
        let tables = object.elf().sections().iter().filter(|it| matches!(it.kind, 2 | 11));
        let entry = |section: &hsaco_elf::Section<'_>| {
            let table = SymbolTable::of_section(
                object.elf(),
                section,
                hsaco_elf::symbol::SymbolSource::Symtab,
            );
            let symbol = table.unwrap().iter().flatten().find(|it| it.name == name)?;
            Some((section.offset + 24 * u64::from(symbol.index)) as usize)
        };
        tables.filter_map(entry).collect()
    };
    assert!(!places.is_empty());
    places.into_iter().for_each(|at| edit(&mut file[at..at + 24]));
}

/// Case K1.
#[test]
fn two_projections_of_one_kernel() {
    let arguments = vec![pointer(0), pointer(8), value(16, 4), value(20, 4)];
    let compact = compact(24, arguments.clone()).unwrap();
    assert_eq!((words(&compact), compact.constant_size()), (vec![0, 1], 8));
    assert_eq!(spans(&compact), [(16, 0, 4), (20, 4, 4)]);
    assert!(!compact.needs_zero_fill());
    assert!(compact.has_packed_bindings() && compact.has_contiguous_constants());
    // Never the six words of the segment.
    let mut out = [0; 24];
    assert!(compact.pack(&[1, 2], &[0; 24], None, &mut out).is_err());
    assert_eq!(offsets(&native(24, arguments).unwrap()), [0, 8, 16, 20]);
}

/// Case K2.
#[test]
fn a_sparse_layout() {
    let arguments = vec![value(0, 2), pointer(8), value(20, 6), pointer(32)];
    let compact = compact(40, arguments.clone()).unwrap();
    assert_eq!((words(&compact), compact.constant_size()), (vec![1, 4], 8));
    assert_eq!(spans(&compact), [(0, 0, 2), (20, 2, 6)]);
    assert!(compact.needs_zero_fill());
    assert!(!compact.has_packed_bindings() && !compact.has_contiguous_constants());
    assert_eq!(offsets(&native(40, arguments).unwrap()), [0, 8, 20, 32]);
    let mut segment = [0xfd; 48];
    let constants = [1, 2, 3, 4, 5, 6, 7, 8];
    compact.pack(&[0x0a, 0x0b], &constants, None, &mut segment).unwrap();
    let mut expected = [0; 40];
    expected[..2].copy_from_slice(&[1, 2]);
    expected[8] = 0x0a;
    expected[20..26].copy_from_slice(&[3, 4, 5, 6, 7, 8]);
    expected[32] = 0x0b;
    assert_eq!((&segment[..40], &segment[40..]), (&expected[..], &[0xfd; 8][..]));
    assert_eq!(compact.unpack(&segment).unwrap(), (vec![0x0a, 0x0b], constants.to_vec()));
}

/// Case K3.
#[test]
fn without_a_marker_the_runtime_does_not_pack() {
    let declaration = Declaration::new(8, vec![pointer(0)]);
    let (kind, detail) = refused(CompactLayout::new(&declaration, None));
    assert_eq!(kind, ErrorKind::Unsupported);
    assert!(detail.starts_with("custom-direct only"));
    assert!(CompactLayout::new(&declaration, Some(AbiMarker::seen())).is_ok());
}

/// Case K4.
#[test]
fn every_argument_byte_must_be_there() {
    let layout = native(16, vec![pointer(0), pointer(8)]).unwrap();
    let kept = |length| layout.prepacked([7; 32][..length].into()).map(|it| it.explicit().len());
    assert_eq!((kept(16).unwrap(), kept(24).unwrap()), (16, 16));
    for short in [8, 0, 9, 12, 15] {
        assert_eq!(refused(kept(short)).0, ErrorKind::Truncated);
    }
    let early = native(16, vec![pointer(0), value(8, 4)]).unwrap();
    let buffer = early.prepacked([7; 12][..].into()).unwrap();
    assert_eq!((buffer.padding(), buffer.surplus()), (4, 0));
    assert!(early.prepacked([7; 11][..].into()).is_err());
    let mut segment = [0xfd; 16];
    early.write_prepacked(&buffer, None, &mut segment).unwrap();
    assert_eq!(segment, [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 0, 0, 0, 0]);
}

/// Case K5.
#[test]
fn a_length_without_bytes() {
    let missing = Blob { length: 4, data: None };
    let layout = native(4, vec![value(0, 4)]).unwrap();
    assert_eq!(refused(layout.prepacked(missing)).0, ErrorKind::NotFound);
    assert!(DirectLayout::new(None).prepacked(missing).is_err());
    assert!(native(0, vec![]).unwrap().prepacked(Blob { length: 0, data: None }).is_ok());
}

/// Case K6.
#[test]
fn blocks_of_a_ring() {
    let all: Vec<_> = [0, 1, 64, 65, 128].iter().map(|&it| blocks(it, 16).unwrap()).collect();
    assert_eq!(all, [1, 1, 1, 2, 2]);
}

/// Case K7.
#[test]
fn lengths_do_not_wrap() {
    assert_eq!(refused(blocks(64 << 32, 16)).0, ErrorKind::LimitExceeded);
    assert_eq!(refused(blocks(u64::MAX, 16)).0, ErrorKind::LimitExceeded);
    assert_eq!(blocks(64 * ((1 << 32) - 1), 16).unwrap(), u32::MAX);
    // A length is compared before anything is read or allocated.
    let layout = native(8, vec![pointer(0)]).unwrap();
    let huge = Blob { length: u64::MAX, data: Some(&[0; 8]) };
    assert_eq!(refused(layout.prepacked(huge)).0, ErrorKind::Truncated);
}

/// Case K8.
#[test]
fn a_symbol_table_at_the_end_of_the_file() {
    let mut file = fixture("s1.gfx942.co");
    let length = file.len() as u64;
    let (header, entry_size, count) = {
        let object = CodeObject::parse(&file).unwrap();
        let header = object.elf().header();
        (
            header.section_headers as usize,
            usize::from(header.section_header_size),
            usize::from(header.section_header_count),
        )
    };
    for section in 0..count {
        let at = header + section * entry_size;
        if file[at + 4..at + 8] == 2_u32.to_le_bytes() {
            file[at + 24..at + 32].copy_from_slice(&(length - 8).to_le_bytes());
            file[at + 32..at + 40].copy_from_slice(&64_u64.to_le_bytes());
        }
    }
    let object = CodeObject::parse(&file).unwrap();
    let index = object.index();
    let names: Vec<_> = index.kernels().iter().map(|it| it.name().to_string()).collect();
    assert_eq!(names, ["foo", "none", "ind"]);
    assert!(elf_only(&object, &index).unwrap().is_empty());
    assert!(object.problems().iter().any(|it| it.kind() == ErrorKind::Truncated));
}

/// Case K10.
#[test]
fn hidden_and_visible_arguments_interleaved() {
    let arguments = vec![pointer(0), hidden(8, Hidden::GlobalOffsetX), value(16, 4)];
    for result in
        [native(24, arguments.clone()).map(drop), compact(24, arguments.clone()).map(drop)]
    {
        let (kind, detail) = refused(result);
        assert_eq!(kind, ErrorKind::Malformed);
        assert!(detail.contains("interleaved"), "{detail}");
    }
    assert_eq!(Declaration::new(24, arguments).arguments.unwrap().len(), 3);
}

/// Case K11.
#[test]
fn a_segment_that_ends_with_the_counts() {
    let arguments = [vec![pointer(0)], counts([8, 12, 16])].concat();
    let layout = native(20, arguments).unwrap();
    let mut out = [0xfd; 32];
    let launch = Launch::of_workgroups(&[2, 3, 4], &[64, 1, 1]).unwrap();
    let report = layout.pack(&[Value::Pointer(5)], Some(&launch), &mut out).unwrap();
    assert!(report.left_zero().is_empty());
    assert_eq!(out[8..20], [2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0]);
    assert_eq!(out[20..], [0xfd; 12]);
}

/// The hidden arguments of V5, up to the size of dynamic LDS, behind one pointer.
fn v5_prefix() -> Vec<Declared> {
    let mut arguments = vec![pointer(0)];
    arguments.extend(counts([8, 12, 16]));
    arguments.extend([
        hidden(20, Hidden::GroupSizeX),
        hidden(22, Hidden::GroupSizeY),
        hidden(24, Hidden::GroupSizeZ),
        hidden(26, Hidden::RemainderX),
        hidden(28, Hidden::RemainderY),
        hidden(30, Hidden::RemainderZ),
        hidden(48, Hidden::GlobalOffsetX),
        hidden(56, Hidden::GlobalOffsetY),
        hidden(64, Hidden::GlobalOffsetZ),
        hidden(72, Hidden::GridDims),
        hidden(128, Hidden::DynamicLdsSize),
    ]);
    arguments
}

/// Case K12.
#[test]
fn nothing_is_written_behind_the_suffix() {
    let layout = native(132, v5_prefix()).unwrap();
    let launch = Launch::new(&[100, 3], &[32, 1]).unwrap().with_dynamic_lds(512);
    let mut out = [0xfd; 132 + 84];
    layout.pack(&[Value::Pointer(1)], Some(&launch), &mut out).unwrap();
    assert_eq!(out[128..132], 512_u32.to_le_bytes());
    assert_eq!(out[132..], [0xfd; 84]);
}

/// Case K13.
#[test]
fn a_base_that_is_not_aligned() {
    let arguments = [vec![sized(201, 3, Hidden::None)], counts([204, 208, 212])].concat();
    let layout = native(216, arguments).unwrap();
    assert_eq!(layout.explicit_size(), 201);
    let mut out = [0xfd; 216];
    let launch = Launch::of_workgroups(&[7, 8, 9], &[1, 1, 1]).unwrap();
    layout.pack(&[], Some(&launch), &mut out).unwrap();
    assert_eq!(out[..204], [0; 204]);
    assert_eq!(out[204..], [7, 0, 0, 0, 8, 0, 0, 0, 9, 0, 0, 0]);
}

/// Case K14.
#[test]
fn counts_that_are_no_array() {
    let swapped = refused(native(216, counts([204, 212, 208]))).1;
    assert!(
        swapped.contains("hidden_block_count_x, _y and _z are at 204, 212 and 208"),
        "{swapped}"
    );
    let odd = refused(native(216, counts([202, 206, 210]))).1;
    assert!(odd.contains("hidden_block_count_x is at 202, no multiple of 4"), "{odd}");
    let two = refused(native(216, counts([204, 208, 212])[..2].to_vec())).1;
    assert!(two.contains("not all declared"), "{two}");
}

/// Case K15.
#[test]
fn hidden_arguments_of_the_wrong_size() {
    let wrong = |kind, size| refused(native(64, vec![sized(0, size, kind)])).1;
    assert_eq!(wrong(Hidden::BlockCountX, 8), "hidden_block_count_x has 8 bytes, and must have 4");
    assert_eq!(wrong(Hidden::GroupSizeX, 4), "hidden_group_size_x has 4 bytes, and must have 2");
}

/// Case K16.
#[test]
fn a_hidden_argument_behind_the_segment() {
    let (kind, detail) = refused(native(15, vec![hidden(8, Hidden::HeapV1)]));
    assert_eq!(kind, ErrorKind::LimitExceeded);
    assert!(detail.contains("hidden_heap_v1 has 8 bytes at 8, out of range"), "{detail}");
    assert!(native(16, vec![hidden(8, Hidden::HeapV1)]).is_ok());
    assert!(native(u64::from(u32::MAX), vec![value(u64::MAX, 8)]).is_err());
}

/// Case K17.
#[test]
fn nothing_stale_in_a_reused_buffer() {
    let layout = native(96, vec![pointer(0), hidden(88, Hidden::HostcallBuffer)]).unwrap();
    let mut out = [0xfd; 96];
    let launch = Launch::new(&[1], &[1]).unwrap();
    let report = layout.pack(&[Value::Pointer(0)], Some(&launch), &mut out).unwrap();
    assert_eq!(out, [0; 96]);
    assert_eq!(report.names().collect::<Vec<_>>(), ["hidden_hostcall_buffer"]);
}

/// Case K18.
#[test]
fn pointers_can_be_found_to_be_translated() {
    let arguments = vec![value(0, 4), pointer(8), value(16, 8), pointer(24)];
    assert_eq!(native(32, arguments).unwrap().pointer_slots(), [8, 24]);
}

/// Case K19.
#[test]
fn a_length_of_zero() {
    let layout = native(8, vec![pointer(0)]).unwrap();
    let (kind, detail) = refused(layout.prepacked(Blob { length: 0, data: None }));
    assert_eq!(kind, ErrorKind::Truncated);
    assert_eq!(detail, "argument 0 ends at 8, and the buffer has 0 bytes of 8");
}

/// Case K20.
#[test]
fn a_failed_replacement_leaves_the_old_bytes() {
    let layout = native(16, vec![pointer(0), value(8, 4)]).unwrap();
    let mut segment = [0; 16];
    layout.pack(&[Value::Pointer(9), 7_u32.into()], None, &mut segment).unwrap();
    let before = segment;
    assert!(layout.replace(1, &7_u64.into(), &mut segment).is_err());
    assert!(layout.replace(0, &7_u64.into(), &mut segment).is_err());
    assert!(layout.replace(2, &7_u32.into(), &mut segment).is_err());
    assert!(layout.pack(&[Value::Pointer(1), 8_u64.into()], None, &mut segment).is_err());
    assert_eq!(segment, before);
    layout.replace(1, &8_u32.into(), &mut segment).unwrap();
    assert_eq!(segment[8], 8);
}

/// Case K21.
#[test]
fn replay_onto_another_layout() {
    let recorded = native(16, vec![pointer(0), value(8, 4)]).unwrap();
    let same = native(16, vec![pointer(0), value(8, 4).named("n")]).unwrap();
    let moved = native(16, vec![pointer(0), value(12, 4)]).unwrap();
    assert!(same.check_hash(recorded.hash()).is_ok());
    assert_eq!(refused(moved.check_hash(recorded.hash())).0, ErrorKind::Mismatch);
    let compact = compact(16, vec![pointer(0), value(8, 4)]).unwrap();
    assert_ne!(compact.hash(), recorded.hash());
}

/// Case K22.
#[test]
fn an_empty_array_of_arguments() {
    let none = native(0, vec![]).unwrap();
    assert!(none.pack(&[], None, &mut []).is_ok());
    let unknown = DirectLayout::new(None);
    assert!(unknown.pack(&[]).is_ok());
    assert_eq!(refused(unknown.pack(&[7_u32.into()])).0, ErrorKind::Unsupported);
}

/// Case K23.
#[test]
fn ranges_that_overlap_or_are_not_sorted() {
    for arguments in [
        vec![pointer(0), value(4, 4)],
        vec![pointer(8), pointer(0)],
        vec![value(0, 4), value(3, 1)],
    ] {
        assert_eq!(refused(native(16, arguments.clone())).0, ErrorKind::Malformed);
        assert_eq!(refused(compact(16, arguments)).0, ErrorKind::Malformed);
    }
}

/// `two-notes.co` with the second of its notes made into another kind of note, and a size in that kernel's descriptor.
fn one_of_two_notes(size: u32) -> Vec<u8> {
    let mut file = fixture("two-notes.co");
    let note = find(&file, b"AMDGPU\0\0")[1];
    file[note - 4..note].copy_from_slice(&99_u32.to_le_bytes());
    let descriptor = {
        let object = CodeObject::parse(&file).unwrap();
        let index = object.index();
        let own = index.kernels().iter().find(|it| it.metadata().is_none()).unwrap();
        own.descriptor().unwrap().to_bytes()
    };
    let at = find(&file, &descriptor)[0];
    file[at + 8..at + 12].copy_from_slice(&size.to_le_bytes());
    file
}

/// Case K24.
#[test]
fn arguments_of_another_kernel_are_a_guess() {
    let file = one_of_two_notes(8);
    let object = CodeObject::parse(&file).unwrap();
    let index = object.index();
    let kernels = elf_only(&object, &index).unwrap();
    let [kernel] = &kernels[..] else { panic!("{kernels:?}") };
    // By default: prepacked only, and the size of a workgroup must be given.
    assert_eq!(refused(kernel.infer(&index, Inference::default())).0, ErrorKind::Unsupported);
    assert!(kernel.launch(&[1], None).is_err());
    assert!(kernel.launch(&[1], Some(&[1])).is_ok());
    let inferred = kernel.infer(&index, Inference::FromOnlyTemplate).unwrap();
    assert_eq!(inferred.template(), "one");
    let template = Declaration::of(&index.kernels()[0]).unwrap();
    assert_eq!(inferred.layout(), &NativeLayout::new(&template).unwrap());
}

/// Case K24.
#[test]
fn a_template_must_have_the_same_size() {
    for size in [12, 0] {
        let file = one_of_two_notes(size);
        let object = CodeObject::parse(&file).unwrap();
        let index = object.index();
        let kernels = elf_only(&object, &index).unwrap();
        let inferred = kernels[0].infer(&index, Inference::FromOnlyTemplate);
        assert_eq!(refused(inferred).0, ErrorKind::Unsupported);
    }
}

/// Case K24.
#[test]
fn several_templates_are_none() {
    let mut file = fixture("s1.gfx942.co");
    for name in [&b"\xa4none"[..], b"\xa7none.kd"] {
        for at in find(&file, name) {
            file[at + 4] = b'f';
        }
    }
    let object = CodeObject::parse(&file).unwrap();
    let index = object.index();
    let kernels = elf_only(&object, &index).unwrap();
    assert_eq!(kernels.iter().map(|it| it.name().to_string()).collect::<Vec<_>>(), ["none"]);
    let (kind, detail) = refused(kernels[0].infer(&index, Inference::FromOnlyTemplate));
    assert_eq!(kind, ErrorKind::Unsupported);
    assert!(detail.contains("3 kernels have metadata"), "{detail}");
}

/// Case K25.
#[test]
fn what_is_no_kernel() {
    let kernels = |file: &[u8]| -> Vec<String> {
        let object = CodeObject::parse(file).unwrap();
        let index = object.index();
        elf_only(&object, &index).unwrap().iter().map(|it| it.name().to_string()).collect()
    };
    let file = fixture("s1.no-note.co");
    assert_eq!(kernels(&file), ["foo", "none", "ind"]);
    let mut function = file.clone();
    edit_symbol(&mut function, "foo.kd", |symbol| symbol[4] = symbol[4] & 0xf0 | STT_FUNC);
    assert_eq!(kernels(&function), ["none", "ind"]);
    let mut undefined = file.clone();
    edit_symbol(&mut undefined, "none", |symbol| symbol[6..8].copy_from_slice(&[0, 0]));
    assert_eq!(kernels(&undefined), ["foo", "ind"]);
    let mut local = file;
    edit_symbol(&mut local, "ind.kd", |symbol| symbol[4] &= 0x0f);
    assert_eq!(kernels(&local), ["foo", "none"]);
}

/// Case K26.
#[test]
fn a_segment_of_more_than_16_bits() {
    let layout = native(70_000, vec![value(69_996, 4)]).unwrap();
    assert_eq!((layout.size(), layout.parameters()[0].offset), (70_000, 69_996));
    let mut segment = vec![0; 70_000];
    layout.pack(&[7_u32.into()], None, &mut segment).unwrap();
    assert_eq!(segment[69_996], 7);
    assert_eq!(compact(70_000, vec![value(69_996, 4)]).unwrap().segment_size(), 70_000);
}

/// Case K27.
#[test]
fn alignments() {
    let aligned = |alignment| {
        let declaration =
            Declaration { alignment: Some(alignment), ..Declaration::new(8, vec![pointer(0)]) };
        NativeLayout::new(&declaration)
    };
    assert_eq!(refused(aligned(3)).0, ErrorKind::Malformed);
    assert_eq!(refused(aligned(0)).0, ErrorKind::Malformed);
    assert_eq!(refused(aligned(128).unwrap().blocks()).0, ErrorKind::LimitExceeded);
    assert_eq!(aligned(64).unwrap().blocks().unwrap(), 1);
}

/// Case K28.
#[test]
fn static_and_dynamic_lds() {
    let limit = 65536;
    assert_eq!(group_segment(1000, limit - 1000, limit).unwrap(), limit);
    assert_eq!(refused(group_segment(1000, limit - 999, limit)).0, ErrorKind::LimitExceeded);
    assert!(group_segment(u32::MAX, 1, u32::MAX).is_err());
}

fn first_layout(file: &[u8], number: usize) -> (String, hsaco_bytes::Result<NativeLayout>) {
    let object = CodeObject::parse(file).unwrap();
    let index = object.index();
    let kernel: &Kernel<'_> = &index.kernels()[number];
    (kernel.name().to_string(), Declaration::of(kernel).and_then(|it| NativeLayout::new(&it)))
}

/// Case K29.
#[test]
fn two_metadata_notes() {
    let file = fixture("two-notes.co");
    let (one, two) = (first_layout(&file, 0), first_layout(&file, 1));
    assert_ne!(one.0, two.0);
    assert_eq!(one.1.unwrap().parameters().len(), 1);
    assert_eq!(two.1.unwrap().parameters().len(), 2);
}

fn map(entries: &[(&str, Tree)]) -> Tree {
    Tree::Map(entries.iter().map(|(key, value)| ((*key).into(), value.clone())).collect())
}

/// The first kernel of a document, as its metadata alone declares it.
fn decoded(kernel: &[(&str, Tree)], tail: &[u8]) -> Result<bool, String> {
    let names = [(".name", Tree::from("k")), (".symbol", Tree::from("k.kd"))];
    let kernels = Tree::Array(vec![map(&[&names, kernel].concat())]);
    let mut bytes = Vec::new();
    rmpv::encode::write_value(&mut bytes, &map(&[("amdhsa.kernels", kernels)])).unwrap();
    bytes.extend(tail);
    let owner = Str::from(OWNER_AMDGPU);
    let note = Note { owner, kind: NT_AMDGPU_METADATA, desc: &bytes, offset: 0, desc_offset: 0 };
    let metadata = Metadata::from_notes([note]);
    if let Some(problem) = metadata.problems().first() {
        return Err(problem.detail().to_owned());
    }
    let kernel = metadata.kernels()[0].decode().map_err(|it| it.detail().to_owned())?;
    match kernel.arguments() {
        None => Ok(false),
        Some(mut arguments) => arguments
            .try_for_each(|it| it.map(drop))
            .map(|()| true)
            .map_err(|it| it.detail().to_owned()),
    }
}

/// Case K30.
#[test]
fn a_kernel_that_does_not_say_its_arguments() {
    assert_eq!(decoded(&[], &[]), Ok(false));
    assert_eq!(decoded(&[(".args", Tree::Array(vec![]))], &[]), Ok(true));
    let unknown = Declaration { size: Some(24), ..Declaration::default() };
    let (kind, detail) = refused(NativeLayout::new(&unknown));
    assert_eq!(kind, ErrorKind::Unsupported);
    assert!(detail.contains("prepacked buffers only"), "{detail}");
    assert!(CompactLayout::new(&unknown, Some(AbiMarker::seen())).is_err());
    let direct = DirectLayout::new(Some(24));
    assert_eq!(direct.prepacked([0; 24][..].into()).unwrap().explicit().len(), 24);
    assert!(direct.prepacked([0; 16][..].into()).is_err());
}

/// Compilers round the size of a segment up to 8; callers who pack what they declare leave that out.
#[test]
fn kernels_without_metadata_take_buffers_that_lack_only_padding() {
    let direct = DirectLayout::new(Some(24));
    for (length, padding) in [(24, 0), (23, 1), (20, 4), (17, 7)] {
        let buffer = vec![1; length];
        let taken = direct.prepacked(buffer[..].into()).unwrap();
        assert_eq!(
            (taken.explicit().len(), taken.padding(), taken.surplus()),
            (length, padding, 0)
        );
    }
    for length in [0, 8, 15, 16] {
        let detail = format!("the segment has 24 bytes, and the buffer {length}");
        assert_eq!(
            refused(direct.prepacked(vec![1; length][..].into())),
            (ErrorKind::Truncated, detail)
        );
    }
    // A size that is no multiple of 8 has no such padding.
    let odd = DirectLayout::new(Some(20));
    assert!(odd.prepacked([0; 20][..].into()).is_ok());
    assert!(odd.prepacked([0; 17][..].into()).is_err());
}

/// Case K31.
#[test]
fn what_breaks_the_schema() {
    let argument = map(&[
        (".offset", 0.into()),
        (".offset", 8.into()),
        (".size", 8.into()),
        (".value_kind", "by_value".into()),
    ]);
    assert_eq!(
        decoded(&[(".args", Tree::Array(vec![argument]))], &[]).unwrap_err(),
        "key '.offset' twice"
    );
    assert!(decoded(&[], &[0]).unwrap_err().contains("1 bytes after the end"));
    let uniform = decoded(&[(".uniform_work_group_size", 2.into())], &[]).unwrap_err();
    assert!(uniform.contains("not a boolean, 0 or 1"), "{uniform}");
    for dims in [&[1, 1][..], &[0, 1, 1], &[256, 1, 1]] {
        let dims = dims.iter().map(|&it| Tree::from(it)).collect();
        assert!(decoded(&[(".cluster_dims", dims)], &[]).is_err());
    }
}

/// Case K32.
#[test]
fn arguments_that_end_behind_the_segment() {
    let arguments = vec![pointer(0), value(440, 8)];
    let declaration = Declaration::new(436, arguments);
    assert_eq!(declaration.remarks, [LayoutRemark::BeyondSegment { end: 448, size: 436 }]);
    let layout = NativeLayout::new(&declaration).unwrap();
    assert_eq!((layout.size(), layout.required()), (448, 448));
    assert!(CompactLayout::new(&declaration, Some(AbiMarker::seen())).is_err());
}

/// Case K33.
#[test]
fn metadata_before_the_descriptor() {
    let declared = |descriptor_size: u32| {
        let mut file = fixture("s1.gfx942.co");
        let bytes = {
            let object = CodeObject::parse(&file).unwrap();
            let index = object.index();
            index.kernels()[0].descriptor().unwrap().to_bytes()
        };
        for at in find(&file, &bytes) {
            file[at + 8..at + 12].copy_from_slice(&descriptor_size.to_le_bytes());
        }
        let object = CodeObject::parse(&file).unwrap();
        let declaration = Declaration::of(&object.index().kernels()[0]).unwrap();
        (declaration.size, declaration.remarks)
    };
    assert_eq!(declared(0), (Some(24), vec![]));
    let mismatch = LayoutRemark::SizeMismatch { metadata: 24, descriptor: 32 };
    assert_eq!(declared(32), (Some(24), vec![mismatch]));
}

/// Case K34.
#[test]
fn a_command_buffer_counts_in_16_bits() {
    assert_eq!(command_words(524_280).unwrap(), 65535);
    assert_eq!(refused(command_words(524_281)).0, ErrorKind::LimitExceeded);
    assert!(command_words(u64::MAX).is_err());
}
