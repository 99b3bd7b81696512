//! `reserved-bits`: bits of a descriptor that must be 0.

use std::sync::OnceLock;

use hsaco_isa::target::Generation;
use hsaco_object::descriptor::{Field, KernelDescriptor};

use crate::facts::KernelFacts;
use crate::finding::{Findings, Severity};

pub(super) fn check(facts: &KernelFacts<'_, '_>, findings: &mut Findings) {
    let Some((descriptor, generation)) = facts.described() else { return };
    if !has_reserved(descriptor, generation) {
        return;
    }
    for (field, value) in descriptor.reserved_bits_set(generation) {
        let bits = match field.width {
            1 => format!("bit {}", field.low),
            width => format!("bits {} to {}", field.low, field.low + width - 1),
        };
        let message =
            format!("{} is {value:#x}, and {bits} must be zero on this processor", field.name);
        // Compilers wrote it for years, and the hardware does not look.
        let severity = match field.name {
            "granulated_wavefront_sgpr_count" => Severity::Note,
            _ => Severity::Warning,
        };
        let help = "let .amdhsa_kernel write the descriptor".to_owned();
        findings.add(severity, facts.descriptor_field(field.name), message, help);
    }
}

/// Whether any such bit is set, by one mask of the whole descriptor.
fn has_reserved(descriptor: KernelDescriptor, generation: Generation) -> bool {
    static MASKS: [OnceLock<[u8; KernelDescriptor::SIZE]>; 16] = [const { OnceLock::new() }; 16];
    let make = || {
        let reserved = Field::all(generation).filter(|field| field.must_be_zero);
        let all = KernelDescriptor::from_fields(reserved.map(|field| (field, field.max())));
        all.unwrap_or_default().to_bytes()
    };
    let mask = match MASKS.get(generation as usize) {
        Some(cell) => *cell.get_or_init(make),
        None => make(),
    };
    // Without an early end it is a few instructions on wide registers.
    descriptor.to_bytes().iter().zip(mask).fold(0, |set, (byte, mask)| set | byte & mask) != 0
}
