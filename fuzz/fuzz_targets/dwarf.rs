//! Any bytes as a code object with debug information.
#![no_main]

use hsaco_analysis::KernelArguments;
use hsaco_dwarf::{DebugSections, SourceMap, Spelling};
use hsaco_object::CodeObject;
use libfuzzer_sys::fuzz_target;

/// What a compressed section may unfold to.
const CAP: u64 = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let Ok(object) = CodeObject::parse(data) else { return };
    let Ok(sections) = DebugSections::new(&object, CAP) else { return };
    let Ok(map) = SourceMap::new(&sections) else { return };
    let _ = map.stretches(&sections);
    for kernel in object.index().kernels() {
        let entry = kernel.entry().unwrap_or_default();
        for address in (entry..entry.saturating_add(64)).step_by(4) {
            let address = sections.address_of(kernel.entry_section(), address);
            let _ = map.location(&sections, address);
            let _ = map.frames(&sections, address);
        }
        let arguments = KernelArguments::new(kernel, Some((&map, &sections)));
        for argument in &arguments.arguments {
            let _ = arguments
                .types
                .spell(argument.ty, Spelling { resolve_typedefs: true, keywords: true });
        }
    }
});
