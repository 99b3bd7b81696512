//! Any bytes as code: the first chooses the processor and how it is read, the others are decoded from
//! every word on. Of the processors only those whose names begin with `HSACO_FUZZ_PROCESSORS`.
#![no_main]

use std::hint::black_box;
use std::sync::LazyLock;

use hsaco_isa::decoder::{DecodeOptions, Mode};
use hsaco_isa::model::VgprMsb;
use hsaco_isa::print::Page;
use hsaco_isa::{Decoder, Processor};
use libfuzzer_sys::fuzz_target;

static DECODERS: LazyLock<Vec<Decoder>> = LazyLock::new(|| {
    let modes = |processor| [Mode::Strict, Mode::Lenient].map(|mode| (processor, mode));
    let decoder = |(processor, mode)| {
        Decoder::with_options(processor, DecodeOptions { mode, ..DecodeOptions::default() }).ok()
    };
    let prefix = std::env::var("HSACO_FUZZ_PROCESSORS").unwrap_or_default();
    let processors = Processor::all().filter(|it| it.name().starts_with(&prefix));
    processors.flat_map(modes).filter_map(decoder).collect()
});

fuzz_target!(|data: &[u8]| {
    let Some((first, code)) = data.split_first() else { return };
    let decoder = &DECODERS[usize::from(*first) % DECODERS.len()];
    let (mut text, mut with_tokens, mut tokens) = (Vec::new(), Vec::new(), Vec::new());
    let mut state = VgprMsb::default();
    for at in (0..code.len()).step_by(4) {
        let Some(instruction) = decoder.decode(&code[at..]) else { continue };
        let size = instruction.len();
        assert!([4, 8, 12, 16, 20].contains(&size) && size <= code.len() - at);
        text.clear();
        decoder.print_after(&instruction, state, &mut text);
        assert!(!text.is_empty() && text.is_ascii());
        with_tokens.clear();
        tokens.clear();
        decoder.print_tokens(&instruction, state, &mut with_tokens, &mut tokens);
        assert_eq!(with_tokens, text);
        assert!(
            tokens.iter().all(|(_, start)| *start < text.len())
                && tokens.is_sorted_by_key(|it| it.1)
        );
        with_tokens.clear();
        decoder.print_on(&instruction, state, &mut Page::new(&mut with_tokens));
        assert_eq!(with_tokens, text);
        state.update(&instruction);
        let effects = decoder.effects(&instruction, state);
        black_box((effects.reads().count(), effects.writes().count(), effects.memory()));
        decoder.print_remarks(&instruction, &mut text);
        decoder.operands(&instruction).for_each(|operand| {
            black_box(operand);
        });
        black_box((instruction.mnemonic(), instruction.branch_target(at as u64)));
        black_box((instruction.format(), instruction.extension()));
    }
});
