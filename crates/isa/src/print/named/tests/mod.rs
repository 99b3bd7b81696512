//! Every value of every operand against LLVM 22's disassembler.
//! Where an operand is all 16 bits of a word and only a number, some values stand for all.

mod disassembler;

use disassembler::Field::{At, Bits, Like};
use disassembler::{
    Field, Printer, Template, assert_compared, before_gfx12, between, compare, compare_values, last,
};

use super::*;
use crate::model::Arch;
use crate::model::named::cache::TemporalKind;

const ALL: u32 = 1 << 16;

/// Every 97th of all values.
fn some() -> Vec<u32> {
    (0..ALL).step_by(97).collect()
}
const SOME: u32 = 676;

#[test]
fn hardware_registers() {
    let template = last("s_getreg_b32 s0, 0", At(0, 16), "s_getreg_b32 s0, ");
    assert_compared(compare(&template, ALL, &hwreg), 12 * ALL);
    let template = between("s_setreg_b32 0, s0", At(0, 16), "s_setreg_b32 ", ", s0");
    assert_compared(compare_values(&template, &some(), &hwreg), 12 * SOME);
}

#[test]
fn messages() {
    let template = last("s_sendmsg 0", At(0, 16), "s_sendmsg ");
    assert_compared(compare(&template, ALL, &send_msg), 12 * ALL);
    let template = last("s_sendmsg_rtn_b32 s0, 0", At(0, 8), "s_sendmsg_rtn_b32 s0, ");
    assert_compared(compare(&template, 256, &send_msg), 5 * 256);
}

#[test]
fn counters() {
    let template = last("s_waitcnt 0", At(0, 16), "s_waitcnt ");
    assert_compared(compare(&template, ALL, &wait_cnt), 10 * ALL);
}

#[test]
fn dependencies() {
    let template = last("s_waitcnt_depctr 0", At(0, 16), " ");
    assert_compared(compare(&template, ALL, &dep_ctr), 7 * ALL);
}

#[test]
fn delays() {
    let template = last("s_delay_alu 0", At(0, 16), "s_delay_alu ");
    assert_compared(compare(&template, ALL, &|out, _, value| delay_alu(out, value)), 5 * ALL);
}

#[test]
fn versions() {
    let template = last("s_version 0", At(0, 16), "s_version ");
    assert_compared(compare(&template, ALL, &|out, _, value| version(out, value)), 7 * ALL);
}

#[test]
fn ends() {
    let template = last("s_endpgm", At(0, 16), "s_endpgm");
    let found = compare_values(&template, &some(), &|out, _, value| endpgm(out, value));
    assert_compared(found, 12 * SOME);
}

#[test]
fn index_modes() {
    let print: Printer<'_> = &|out, _, value| gpr_idx_mode(out, value);
    let template = last("s_set_gpr_idx_mode 0", At(0, 16), "s_set_gpr_idx_mode ");
    assert_compared(compare(&template, ALL, print), 5 * ALL);
    let template = last("s_set_gpr_idx_on s0, 0", At(8, 8), "s_set_gpr_idx_on s0, ");
    assert_compared(compare(&template, 256, print), 5 * 256);
}

#[test]
fn swizzles() {
    let template = last("ds_swizzle_b32 v1, v0", At(0, 16), "ds_swizzle_b32 v1, v0");
    assert_compared(compare(&template, ALL, &swizzle), 12 * ALL);
}

#[test]
fn buffer_formats() {
    let source = "tbuffer_load_format_x v0, off, s[0:3], 0";
    let template = last(source, At(19, 7), "s[0:3], 0");
    assert_compared(compare(&template, 128, &buffer_format), 9 * 128);
    let source = "tbuffer_load_format_x v0, off, s[0:3], null";
    let template =
        Template { when: Arch::is_gfx12_plus, ..last(source, At(55, 7), "s[0:3], null") };
    assert_compared(compare(&template, 128, &buffer_format), 128);
}

#[test]
fn image_dimensions() {
    let at = |shift| last("image_load v0, v0, s[0:7] dim:SQ_RSRC_IMG_1D", At(shift, 3), "s[0:7]");
    let templates = [
        (Template { when: |arch| arch.has(Arch::GFX10), ..at(3) }, 2),
        (Template { when: |arch| arch.has(Arch::GFX11), ..at(2) }, 2),
        (Template { when: Arch::is_gfx12_plus, ..at(0) }, 1),
    ];
    for (template, processors) in templates {
        let found = compare(&template, 8, &|out, _, value| image_dim(out, value));
        assert_compared(found, 8 * processors);
    }
}

#[test]
fn exports() {
    let after = " v0, v0, v0, v0";
    let template = between("exp mrt0 v0, v0, v0, v0", At(4, 6), "exp", after);
    let template = Template { when: before_gfx12, ..template };
    assert_compared(compare(&template, 64, &export_target), 6 * 64);
    let template = between("export mrt0 v0, v0, v0, v0", At(4, 6), "export", after);
    let template = Template { when: Arch::is_gfx12_plus, ..template };
    assert_compared(compare(&template, 64, &export_target), 64);
}

#[test]
fn dpp_controls() {
    let after = " row_mask:0xf bank_mask:0xf";
    let source = "v_mov_b32_dpp v0, v1 quad_perm:[0,0,0,0]";
    let template = between(source, At(40, 9), "v_mov_b32_dpp v0, v1 ", after);
    let print: Printer<'_> = &|out, arch, value| dpp_ctrl(out, arch, value, false);
    assert_compared(compare(&template, 512, print), 12 * 512);

    let print: Printer<'_> = &|out, arch, value| dpp_ctrl(out, arch, value, true);
    let source = "v_ceil_f64_dpp v[0:1], v[2:3] row_newbcast:0";
    let template = between(source, At(40, 9), "v_ceil_f64_dpp v[0:1], v[2:3] ", after);
    assert_compared(compare(&template, 512, print), 3 * 512);
    let source = "v_mul_lo_u32_e64_dpp v0, v1, v2 row_share:0";
    let template = between(source, At(72, 9), "v0, v1, v2 ", after);
    assert_compared(compare(&template, 512, print), 512);
}

#[test]
fn dpp_lanes() {
    let source = "v_mov_b32_dpp v0, v1 dpp8:[0,0,0,0,0,0,0,0]";
    let template = last(source, At(40, 24), "v_mov_b32_dpp v0, v1 ");
    let values: Vec<u32> = (0..1 << 12).map(|value| (value * 0x1357) & 0xff_ffff).collect();
    let found = compare_values(&template, &values, &|out, _, value| dpp8(out, value));
    assert_compared(found, 7 << 12);
}

#[test]
fn sdwa() {
    let source = "v_mov_b32_sdwa v0, v1 dst_sel:BYTE_0 dst_unused:UNUSED_PAD src0_sel:BYTE_0";
    let after = " dst_unused:UNUSED_PAD src0_sel:BYTE_0";
    let template = between(source, At(40, 3), "v0, v1 ", after);
    let found = compare(&template, 7, &|out, _, value| sdwa_sel(out, "dst_sel:", value));
    assert_compared(found, 7 * 7);

    let template = between(source, At(43, 2), "dst_sel:BYTE_0 ", " src0_sel:BYTE_0");
    let found = compare(&template, 3, &|out, _, value| sdwa_dst_unused(out, value));
    assert_compared(found, 7 * 3);

    let template = last(source, At(48, 3), "UNUSED_PAD ");
    let found = compare(&template, 7, &|out, _, value| sdwa_sel(out, "src0_sel:", value));
    assert_compared(found, 7 * 7);
}

#[test]
fn interpolation() {
    let source = "v_interp_mov_f32 v0, p10, attr0.x";
    let template = between(source, At(0, 8), "f32_e32 v0, ", ", attr0.x");
    let found = compare(&template, 256, &|out, _, value| interp_slot(out, value));
    assert_compared(found, 4 * 256);

    let template = between(source, At(10, 6), "p10, ", ".x");
    let found = compare(&template, 64, &|out, _, value| interp_attr(out, value));
    assert_compared(found, 4 * 64);

    let template = last(source, At(8, 2), "attr0");
    let found = compare(&template, 4, &|out, _, value| interp_attr_chan(out, value));
    assert_compared(found, 4 * 4);
}

#[test]
fn truth_tables() {
    let template = last("v_bitop3_b32 v0, v1, v2, v3", TRUTH_TABLE, "v3");
    let found = compare(&template, 256, &|out, _, value| bit_op3(out, value));
    assert_compared(found, 3 * 256);
}

const TRUTH_TABLE: Field = Like(&[
    (1, " bitop3:1"),
    (2, " bitop3:2"),
    (4, " bitop3:4"),
    (8, " bitop3:8"),
    (16, " bitop3:16"),
    (32, " bitop3:32"),
    (64, " bitop3:64"),
    (128, " bitop3:128"),
]);

#[test]
fn output_modifiers() {
    let template = last("v_add_f32_e64 v0, v1, v2", At(59, 2), "v2");
    let found = compare(&template, 4, &|out, _, value| output_modifier(out, value));
    assert_compared(found, 12 * 4);
}

#[test]
fn matrices() {
    let source = "v_wmma_f32_16x16x128_f8f6f4 v[0:7], v[8:23], v[24:39], v[40:47]";
    for (matrix, field) in [(b'a', At(11, 3)), (b'b', Bits(&[59, 60, 14]))] {
        let template = last(source, field, "v[40:47]");
        let found = compare(&template, 8, &|out, _, value| matrix_format(out, matrix, value));
        assert_compared(found, 2 * 8);
    }
    let source = "v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[8:23], v[24:39], v[40:47], v1, v2";
    for (matrix, field) in [(b'a', At(11, 1)), (b'b', At(59, 1))] {
        let template = last(source, field, "v1, v2");
        let found = compare(&template, 2, &|out, _, value| matrix_scale(out, matrix, value));
        assert_compared(found, 2 * 2);
    }
    for (matrix, field) in [(b'a', At(61, 2)), (b'b', At(8, 2))] {
        let template = last(source, field, "v1, v2");
        let found = compare(&template, 4, &|out, _, value| matrix_scale_format(out, matrix, value));
        assert_compared(found, 2 * 4);
    }
}

/// The bits of a policy before gfx12 by all their names. A processor knows some of them, and
/// prints nothing for a bit it has no name for.
const BITS: Field = Like(&[
    (1, " glc"),
    (2, " slc"),
    (4, " dlc"),
    (16, " scc"),
    (1, " sc0"),
    (2, " nt"),
    (16, " sc1"),
]);

#[test]
fn cache_bits() {
    let values: Vec<u32> = (0..32).filter(|value| value & 8 == 0).collect();
    let templates = [
        (last("global_load_dword v0, v[2:3], off", BITS, "off"), 8),
        (last("flat_load_dword v0, v[2:3]", BITS, "v[2:3]"), 9),
        (last("buffer_load_dword v0, off, s[4:7], s1", BITS, "s1"), 9),
    ];
    for (template, processors) in templates {
        let template = Template { when: before_gfx12, ..template };
        let found = compare_values(&template, &values, &|out, arch, value| {
            cache_policy(out, arch, value, TemporalKind::Load, false);
        });
        assert_compared(found, 16 * processors);
    }
    let template = last("s_load_dword s0, s[2:3], 0x10", BITS, "0x10");
    let template = Template { when: before_gfx12, ..template };
    let found = compare_values(&template, &[0, 1, 4, 5], &|out, arch, value| {
        cache_policy(out, arch, value, TemporalKind::Load, true);
    });
    assert_compared(found, 9 * 4);
}

#[test]
fn cache_hints() {
    let templates = [
        ("global_load_b32 v0, v1, s[2:3]", TemporalKind::Load),
        ("global_store_b32 v1, v0, s[2:3]", TemporalKind::Store),
        ("global_atomic_add_u32 v1, v0, s[2:3]", TemporalKind::Atomic),
    ];
    let values: Vec<u32> = (0..128).map(|value| value & 63 | (value & 64) << 5).collect();
    for (source, kind) in templates {
        let field = Bits(&[52, 53, 54, 50, 51, 7, 0, 0, 0, 0, 0, 48]);
        let template = Template { when: Arch::is_gfx12_plus, ..last(source, field, "s[2:3]") };
        let found = compare_values(&template, &values, &|out, arch, value| {
            cache_policy(out, arch, value, kind, false);
        });
        assert_compared(found, 3 * 128);
    }
}

#[test]
fn a_space_before_a_modifier_is_punctuation() {
    let mut bytes = Vec::new();
    let mut marks = Vec::new();
    Out::append(&mut bytes, &mut marks, |out| {
        cache_policy(out, Arch::GFX10, 3, TemporalKind::Load, false);
        dpp_ctrl(out, Arch::GFX9, 0x150, false);
    });
    let starts = [
        (Token::Punctuation, 0),
        (Token::Modifier, 1),
        (Token::Punctuation, 4),
        (Token::Modifier, 5),
        (Token::Punctuation, 8),
        (Token::Comment, 9),
    ];
    assert_eq!(marks, starts);
}
