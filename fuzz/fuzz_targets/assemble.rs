//! Any text as assembly: the first byte chooses the processor, the rest is one line for it.
#![no_main]

use std::sync::LazyLock;

use hsaco_isa::decoder::DecodeOptions;
use hsaco_isa::{Assembler, Processor};
use libfuzzer_sys::fuzz_target;

static ASSEMBLERS: LazyLock<Vec<Assembler>> = LazyLock::new(|| {
    let assembler = |processor| Assembler::new(processor, DecodeOptions::default()).ok();
    Processor::all().filter_map(assembler).collect()
});

fuzz_target!(|data: &[u8]| {
    let Some((first, line)) = data.split_first() else { return };
    let Ok(line) = str::from_utf8(line) else { return };
    let assembler = &ASSEMBLERS[usize::from(*first) % ASSEMBLERS.len()];
    match assembler.assemble(line) {
        Ok(inst) => {
            let decoded = assembler.decoder().decode(&inst.bytes()).map(|it| it.len());
            assert_eq!(decoded, Some(inst.len()));
        }
        Err(error) => assert!(error.column() <= line.len() && !error.to_string().is_empty()),
    }
});
