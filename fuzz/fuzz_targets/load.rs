//! Any bytes as an object of an executable: loaded twice over, frozen, linked, asked.
#![no_main]

use hsaco_load::{Executable, Freeze};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut executable = Executable::new(None);
    if executable.load("fuzzed", data).is_err() {
        return;
    }
    for symbol in executable.symbols() {
        std::hint::black_box((symbol.readable_name(), symbol.kernel(), symbol.code()));
    }
    // What it wants is given, so that more of them get further.
    let wanted: Vec<String> = executable
        .symbols()
        .filter(|it| !it.is_definition())
        .map(|it| it.symbol_name().to_string())
        .collect();
    for (name, address) in wanted.iter().zip((0x1000..).step_by(64)) {
        std::hint::black_box(executable.define_function(name, address).is_ok());
    }
    if executable.freeze(Freeze::default()).is_err() {
        return;
    }
    for symbol in executable.symbols() {
        if let Some(address) = symbol.address() {
            std::hint::black_box(executable.locate(address).is_some());
        }
    }
    std::hint::black_box((executable.relocations().count(), executable.calls().is_ok()));
    if let Ok(linked) = executable.link() {
        let mut again = Executable::new(None);
        std::hint::black_box(again.load("linked", linked).is_ok());
    }
});
