//! Any bytes as metadata, and any bytes as packed arguments: layouts hold their promises or are refused.
#![no_main]

use hsaco_bytes::Str;
use hsaco_elf::note::Note;
use hsaco_kernarg::{
    AbiMarker, Blob, CompactLayout, Declaration, Declared, Launch, NativeLayout, Packet, Value,
};
use hsaco_object::metadata::{Argument, Metadata};
use hsaco_object::note::{NT_AMDGPU_METADATA, OWNER_AMDGPU};
use libfuzzer_sys::fuzz_target;

/// Segments up to this size are packed; larger ones only cost time.
const MAX_SIZE: u32 = 1 << 16;

fuzz_target!(|data: &[u8]| {
    let (buffer, metadata) = data.split_at(data.len().min(96) / 2);
    if let Some(packet) = buffer.first_chunk() {
        let _ = Packet::decode(packet);
    }
    let owner = Str::from(OWNER_AMDGPU);
    let note = Note { owner, kind: NT_AMDGPU_METADATA, desc: metadata, offset: 0, desc_offset: 0 };
    for kernel in Metadata::from_notes([note]).kernels() {
        let Ok(kernel) = kernel.decode() else { continue };
        let Some(arguments) = kernel.arguments() else { continue };
        let declared =
            |it: Argument<'_>| Declared::new(it.offset, it.size, it.value_kind.to_owned());
        let arguments = arguments.flatten().map(declared).collect();
        let size = kernel.kernarg_segment_size.unwrap_or(0);
        let alignment = kernel.kernarg_segment_align;
        pack(&Declaration { alignment, ..Declaration::new(size, arguments) }, buffer);
    }
});

fn pack(declaration: &Declaration, buffer: &[u8]) {
    let launch = Launch::new(&[100, 3], &[32, 1]).unwrap();
    if let Ok(layout) = NativeLayout::new(declaration)
        && layout.size() <= MAX_SIZE
    {
        let size = layout.size() as usize;
        let mut segment = vec![0xfd; size + 8];
        let bytes = |it: &hsaco_kernarg::ArgumentSlot| vec![0x5a; it.size as usize];
        let values: Vec<_> = layout.parameters().iter().map(bytes).collect();
        let given: Vec<_> = values.iter().map(|it| Value::Bytes(it)).collect();
        layout.pack(&given, Some(&launch), &mut segment).unwrap();
        assert_eq!(segment[size..], [0xfd; 8]);
        assert!(
            layout.unpack(&segment).unwrap().map(|it| it.1).eq(values.iter().map(|it| &it[..]))
        );
        let _ = (layout.hash(), layout.pointer_slots(), layout.blocks());
        if let Ok(accepted) = layout.prepacked(Blob::from(buffer)) {
            layout.write_prepacked(&accepted, None, &mut segment).unwrap();
        }
        for (parameter, bytes) in layout.unpack(&segment).unwrap() {
            assert_eq!(parameter.ty.encode(&parameter.ty.decode(bytes)).unwrap(), bytes);
        }
    }
    if let Ok(layout) = CompactLayout::new(declaration, Some(AbiMarker::seen()))
        && layout.segment_size() <= MAX_SIZE
    {
        let bindings = vec![7; layout.bindings().len()];
        let constants = vec![9; layout.constant_size() as usize];
        let mut segment = vec![0xfd; layout.segment_size() as usize + 8];
        layout.pack(&bindings, &constants, Some(&launch), &mut segment).unwrap();
        assert_eq!(layout.unpack(&segment).unwrap(), (bindings, constants));
    }
}
