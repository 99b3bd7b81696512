//! `docs/emulator-agreement.md` is what the table says; `BLESS=1` rewrites it.

use std::fmt::Write as _;

use hsaco_emu::{Fidelity, coverage, mnemonics};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/emulator-agreement.md");

/// The page.
fn page() -> String {
    let mut out = String::from(
        "# What the emulator runs\n\nMade of `isa-data/semantics.tsv` by `BLESS=1 cargo test -p hsaco-emu --test agreement`. \
         [The emulator](emulator.md) says what the words mean.\n\n## Forms by target\n\n\
         | target | exact | silicon | approximate | unwritten | refused |\n|---|---|---|---|---|---|\n",
    );
    for target in coverage() {
        let cells: Vec<String> = target.forms.iter().map(u32::to_string).collect();
        let _ = writeln!(out, "| {} | {} |", target.target, cells.join(" | "));
    }
    for (fidelity, title) in [
        (Fidelity::Silicon, "As hardware has it"),
        (Fidelity::Approximate, "Approximate"),
        (Fidelity::Refused, "Refused"),
        (Fidelity::Unwritten, "Not written yet"),
    ] {
        let _ = write!(out, "\n## {title}\n\n");
        let mut reasons: Vec<&str> = mnemonics(fidelity).map(|(_, reason, _)| reason).collect();
        reasons.sort_unstable();
        reasons.dedup();
        for reason in reasons {
            let of = mnemonics(fidelity).filter(|(_, other, _)| *other == reason);
            let names: Vec<String> = of.map(|(name, ..)| format!("`{name}`")).collect();
            let before = if reason.is_empty() { String::new() } else { format!("{reason}: ") };
            let _ = writeln!(out, "- {before}{}", names.join(", "));
        }
    }
    out
}

#[test]
fn the_page_says_what_the_table_says() {
    let wanted = page();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(PAGE, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(found == wanted, "{PAGE} is stale: run with BLESS=1");
}
