//! How a memory access uses the caches.
//! Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).

use super::{Marks, Out, Token, modifier, space};
use crate::model::Arch;
use crate::model::named::cache::{
    ATOMICS, DLC, GLC, HINT, LOADS, NV, SCALE_OFFSET, SCC, SCOPE, SCOPE_DEV, SLC, STORES,
    TemporalKind,
};

/// The bits of a cache policy that are set; `scalar` is for loads of the scalar unit.
pub(in crate::print) fn cache_policy<M: Marks>(
    out: &mut Out<'_, M>,
    arch: Arch,
    value: u32,
    kind: TemporalKind,
    scalar: bool,
) {
    if arch.is_gfx12_plus() {
        hint_and_scope(out, value, kind);
    } else if value != 0 {
        bits(out, arch, value, scalar);
    }
}

fn bits<M: Marks>(out: &mut Out<'_, M>, arch: Arch, value: u32, scalar: bool) {
    let gfx940 = arch.has(Arch::GFX940);
    if value & GLC != 0 {
        modifier(out, if gfx940 && !scalar { "sc0" } else { "glc" });
    }
    if value & SLC != 0 {
        modifier(out, if gfx940 { "nt" } else { "slc" });
    }
    if value & DLC != 0 && arch.is_gfx10_plus() {
        modifier(out, "dlc");
    }
    if value & SCC != 0 && arch.has(Arch::GFX90A) {
        modifier(out, if gfx940 { "sc1" } else { "scc" });
    }
    if value & !(GLC | SLC | DLC | SCC) != 0 {
        space(out, Token::Comment);
        out.text("/* unexpected cache policy bit */");
    }
}

fn hint_and_scope<M: Marks>(out: &mut Out<'_, M>, value: u32, kind: TemporalKind) {
    if value & SCALE_OFFSET != 0 {
        modifier(out, "scale_offset");
    }
    hint(out, value & HINT, value & SCOPE, kind);
    match value & SCOPE {
        0 => {}
        8 => modifier(out, "scope:SCOPE_SE"),
        16 => modifier(out, "scope:SCOPE_DEV"),
        _ => modifier(out, "scope:SCOPE_SYS"),
    }
    if value & NV != 0 {
        modifier(out, "nv");
    }
}

fn hint<M: Marks>(out: &mut Out<'_, M>, hint: u32, scope: u32, kind: TemporalKind) {
    if hint == 0 {
        return;
    }
    let names = match kind {
        TemporalKind::Load => &LOADS,
        TemporalKind::Store => &STORES,
        TemporalKind::Atomic => &ATOMICS,
    };
    let plain = names.get(hint as usize).copied().unwrap_or_default();
    modifier(out, "th:");
    out.text(match (kind, hint) {
        (TemporalKind::Load, 3) if scope == SCOPE => "TH_LOAD_BYPASS",
        (TemporalKind::Store, 3) if scope == SCOPE => "TH_STORE_BYPASS",
        (TemporalKind::Atomic, 4 | 5) if scope >= SCOPE_DEV => "TH_ATOMIC_CASCADE_RT",
        (TemporalKind::Atomic, 6 | 7) if scope >= SCOPE_DEV => "TH_ATOMIC_CASCADE_NT",
        _ => plain,
    });
}
