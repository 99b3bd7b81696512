//! What was proven, for people.

use std::fmt;

use hsaco_bytes::escape::shown;
use hsaco_prove::{Difference, SiteRuns};

use super::Proven;

/// Lines: the kernel with its verdict, what was rewritten and how often it ran, what was not the same.
impl fmt::Display for Proven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, proof } = self;
        let ran = proof.sites.iter().filter(|it| it.ran()).count();
        let verdict = match proof.verdict().name() {
            "nothing-ran" => "nothing ran",
            other => other,
        };
        writeln!(
            f,
            "{place}: {}: {verdict}: {} launches, {} of {} blocks, {ran} of {} sites ran",
            shown(&proof.name),
            proof.launches,
            proof.blocks.0,
            proof.blocks.1,
            proof.sites.len(),
        )?;
        for site in &proof.sites {
            write_site(f, site)?;
        }
        if let Some((input, reason)) = proof.discarded.first() {
            let count = proof.discarded.len();
            writeln!(f, "  {count} launches stopped the original itself: {input}: {reason}")?;
        }
        if !proof.approximate.is_empty() {
            let names: Vec<_> = proof.approximate.iter().copied().collect();
            writeln!(
                f,
                "  equal as far as the emulator goes: {} is approximate",
                names.join(", ")
            )?;
        }
        for difference in &proof.differences {
            write_difference(f, difference)?;
        }
        Ok(())
    }
}

fn write_site(f: &mut fmt::Formatter<'_>, runs: &SiteRuns) -> fmt::Result {
    let rules = match runs.site.rules.is_empty() {
        true => "replaced".to_owned(),
        false => runs.site.rules.join(", "),
    };
    let how = match runs.ran() {
        true => format!("ran {} times", runs.original),
        false => "never ran".to_owned(),
    };
    let errata: Vec<_> = runs.errata.iter().copied().collect();
    let needed = match errata.is_empty() {
        true => String::new(),
        false => format!("; the original meets {} there", errata.join(", ")),
    };
    let (address, placement) = (runs.site.address, runs.site.placement);
    writeln!(f, "  {address:#x} {rules} ({placement}): {how}{needed}")?;
    Ok(())
}

fn write_difference(f: &mut fmt::Formatter<'_>, it: &Difference) -> fmt::Result {
    writeln!(
        f,
        "  {}: {} {}: {} in the original, {} in the result",
        it.input,
        it.kind.name(),
        it.place,
        it.original,
        it.result
    )?;
    if let Some(address) = it.address {
        write!(f, "    at {address:#x} `{}`", it.instruction)?;
        if let Some(([x, y, z], wave)) = it.wave {
            write!(f, ", workgroup {x},{y},{z}, wave {wave}")?;
        }
        if it.lanes != 0 {
            write!(f, ", lanes {:#x}", it.lanes)?;
        }
        writeln!(f)?;
    }
    for frame in &it.source {
        let (function, file) = (frame.function.as_deref(), frame.file.as_deref());
        let line = frame.line.unwrap_or(0);
        writeln!(
            f,
            "    in {} at {}:{line}",
            shown(function.unwrap_or("?")),
            shown(file.unwrap_or("?"))
        )?;
    }
    Ok(())
}
