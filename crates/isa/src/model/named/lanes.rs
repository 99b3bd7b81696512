//! How values move between the lanes of a wave, and which part of a register is read or written.
//! Derived from LLVM's AMDGPU target definitions (Apache-2.0 WITH LLVM-exception).

use super::condition::{ALWAYS, BEFORE_GFX10, GFX10_PLUS, GFX90A, When};

/// A control of DPP: first and last value, text, where it is. A range's lowest four bits follow.
pub(crate) type Control = (u32, u32, &'static str, When);

pub(crate) static CONTROLS: [Control; 14] = [
    (0x101, 0x10f, "row_shl:", ALWAYS),
    (0x111, 0x11f, "row_shr:", ALWAYS),
    (0x121, 0x12f, "row_ror:", ALWAYS),
    (0x130, 0x130, "wave_shl:1", BEFORE_GFX10),
    (0x134, 0x134, "wave_rol:1", BEFORE_GFX10),
    (0x138, 0x138, "wave_shr:1", BEFORE_GFX10),
    (0x13c, 0x13c, "wave_ror:1", BEFORE_GFX10),
    (0x140, 0x140, "row_mirror", ALWAYS),
    (0x141, 0x141, "row_half_mirror", ALWAYS),
    (0x142, 0x142, "row_bcast:15", BEFORE_GFX10),
    (0x143, 0x143, "row_bcast:31", BEFORE_GFX10),
    (ROW_SHARE, ROW_SHARE + 15, "row_newbcast:", GFX90A),
    (ROW_SHARE, ROW_SHARE + 15, "row_share:", GFX10_PLUS),
    (0x160, 0x16f, "row_xmask:", GFX10_PLUS),
];
pub(crate) const ROW_SHARE: u32 = 0x150;

pub(crate) static SELECTIONS: [&str; 7] =
    ["BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"];
pub(crate) static UNUSED: [&str; 3] = ["UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"];

pub(crate) static INDEXED: [(u32, &str); 4] = [(1, "SRC0"), (2, "SRC1"), (4, "SRC2"), (8, "DST")];

/// The kinds of `ds_swizzle_b32` by the upper bits of its offset.
pub(crate) const FFT: u32 = 0xe000;
pub(crate) const ROTATE: u32 = 0xc000;
