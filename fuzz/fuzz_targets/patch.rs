//! Code, or a whole object, to rewrite: what comes out holds, and a second run leaves it as it is.
//!
//! Bytes that are no ELF file are the code of a small object; the first of them chooses what is done to it.
#![no_main]

use std::borrow::Cow;
use std::sync::LazyLock;

use hsaco_object::CodeObject;
use hsaco_patch::{CodeEdit, Options, Patcher, Points, RuleSet, Verdict};
use libfuzzer_sys::fuzz_target;

/// An object whose code is replaced.
const OBJECT: &[u8] = include_bytes!("../../tests/fixtures/steppings.co");

/// Rule sets that are tried, each with a few switches together.
const READINGS: [(&str, &[&str]); 5] = [
    (TO_A0, &["entry-stub"]),
    (TO_A0, &[]),
    (TO_A0, &["precise-waits", "cluster-mask"]),
    (TO_A0, &["native-scale16", "every-isfirst"]),
    ("gfx1250-b0-strict", &[]),
];
const TO_A0: &str = "gfx1250-b0-to-a0";

static RULES: LazyLock<Vec<Patcher>> =
    LazyLock::new(|| READINGS.iter().map(|(set, switches)| patcher(set, switches)).collect());
static EDITS: LazyLock<Patcher> =
    LazyLock::new(|| patcher("none", &[]).with_edits(vec![CodeEdit::Count(Points::Blocks)]));

fn patcher(set: &str, switches: &[&str]) -> Patcher {
    let mut options = Options::default();
    switches.iter().for_each(|switch| options.set(switch).unwrap());
    Patcher::new(RuleSet::by_name(set).unwrap(), options).unwrap()
}

/// The object with this code in place of its own, `s_nop` behind it.
fn with_code(code: &[u8]) -> Vec<u8> {
    let object = CodeObject::parse(OBJECT).unwrap();
    let text = object.elf().section_named(".text").unwrap();
    let mut file = OBJECT.to_vec();
    let place = &mut file[text.offset as usize..(text.offset + text.size) as usize];
    let end = place.len() - 4;
    place[..end].chunks_exact_mut(4).for_each(|word| word.copy_from_slice(&[0, 0, 0x80, 0xbf]));
    let count = code.len().min(end);
    place[..count].copy_from_slice(&code[..count]);
    file
}

fuzz_target!(|data: &[u8]| {
    let (file, chosen) = match data.split_first() {
        Some((chosen, code)) if !data.starts_with(b"\x7fELF") => {
            (Cow::Owned(with_code(code)), usize::from(*chosen) % (READINGS.len() + 1))
        }
        _ => (Cow::Borrowed(data), data.len() % (READINGS.len() + 1)),
    };
    let rules = RULES.get(chosen);
    let patcher = rules.unwrap_or(&EDITS);
    let Ok(patched) = patcher.patch(&file) else { return };
    let Some(bytes) = &patched.bytes else { return };
    assert_eq!(patched.manifest.verdict, Verdict::Changed);
    assert_eq!(patcher.verify(&file, bytes, &patched.manifest), []);
    if rules.is_some() {
        let again = patcher.patch(bytes).expect("what was written can be read");
        assert!(again.bytes.is_none(), "the second run changes {:?}", again.manifest.records);
    }
});
