//! Any bytes as a code object to rewrite: what comes out holds, and a second run leaves it as it is.
#![no_main]

use std::sync::LazyLock;

use hsaco_patch::{CodeEdit, Options, Patcher, Points, RuleSet, Verdict};
use libfuzzer_sys::fuzz_target;

fn patcher(set: &str) -> Patcher {
    let mut options = Options::default();
    options.entry_stub = true;
    Patcher::new(RuleSet::by_name(set).unwrap(), options).unwrap()
}

static RULES: LazyLock<Patcher> = LazyLock::new(|| patcher("gfx1250-b0-to-a0"));
static EDITS: LazyLock<Patcher> =
    LazyLock::new(|| patcher("none").with_edits(vec![CodeEdit::Count(Points::Blocks)]));

fuzz_target!(|data: &[u8]| {
    if let Ok(patched) = EDITS.patch(data)
        && let Some(bytes) = &patched.bytes
    {
        assert_eq!(EDITS.verify(data, bytes, &patched.manifest), []);
    }
    let Ok(patched) = RULES.patch(data) else { return };
    let Some(bytes) = &patched.bytes else { return };
    assert_eq!(patched.manifest.verdict, Verdict::Changed);
    assert_eq!(RULES.verify(data, bytes, &patched.manifest), []);
    let again = RULES.patch(bytes).expect("what was written can be read");
    assert!(again.bytes.is_none(), "the second run changes {:?}", again.manifest.records);
});
