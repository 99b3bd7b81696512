//! What a lenient decoder takes beyond a strict one.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use hsaco_isa::decoder::{DecodeOptions, Mode};
use hsaco_isa::{Decoder, Processor};

fn check(words: &[u32], strict: Option<&str>, lenient: &str) {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let processor = Processor::from_name("gfx1250").unwrap();
    let decoder = Decoder::new(processor).unwrap();
    assert_eq!(decoder.decode(&bytes).map(|inst| decoder.text(&inst)).as_deref(), strict);
    let options = DecodeOptions { mode: Mode::Lenient, ..DecodeOptions::default() };
    let decoder = Decoder::with_options(processor, options).unwrap();
    let inst = decoder.decode(&bytes).unwrap();
    assert_eq!(inst.len(), bytes.len());
    assert_eq!(decoder.text(&inst), lenient);
    assert_eq!(inst.is_lenient(), strict.is_none());
}

#[test]
fn an_unused_scale_source_may_be_anything() {
    let text = "v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[16:31], v[32:47], v[0:7], v48, v50";
    check(&[0xcc35_0000, 0x0402_6530, 0xcc33_0000, 0x0402_4110], Some(text), text);
    check(&[0xcc35_0000, 0x0002_6530, 0xcc33_0000, 0x0402_4110], None, text);
}

#[test]
fn a_tensor_needs_no_dimension() {
    let text = "tensor_load_to_lds s[0:3], s[4:11]";
    check(&[0xd071_0001, 0x7c00_0000, 0x7c7c_0400], Some(text), text);
    check(&[0xd031_0000, 0x7c00_0000, 0x7c7c_0400], None, text);
}

#[test]
fn a_four_bit_matrix_needs_no_third_selection() {
    let text = "v_wmma_f32_32x16x128_f4 v[0:15], v[16:31], v[32:39], v[40:55]";
    check(&[0xcc88_4000, 0x1ca2_4110], Some(text), text);
    check(&[0xcc88_0000, 0x1ca2_4110], None, text);
}

/// What the cache policy in bits 20 to 22 of the second word is called.
const HINTS: [(u32, &str, &str); 4] = [
    (0x0000_0000, "", ""),
    (0x0010_0000, " th:TH_LOAD_NT", " th:TH_STORE_NT"),
    (0x0020_0000, " th:TH_LOAD_HT", " th:TH_STORE_HT"),
    (0x0050_0000, " th:TH_LOAD_RT_NT", " th:TH_STORE_RT_NT"),
];

#[test]
fn a_tensor_needs_no_fifth_address() {
    for (policy, load, store) in HINTS {
        for (third, groups) in [
            (0x7c7c_2420, "s[32:35], s[36:43]"),
            (0x302c_2420, "s[32:35], s[36:43], s[44:47], s[48:51]"),
        ] {
            for (first, demanded, text) in [
                (0xd031_0000, 0xd071_0001, format!("tensor_load_to_lds {groups}{load}")),
                (0xd031_4000, 0xd071_4001, format!("tensor_store_from_lds {groups}{store}")),
            ] {
                check(&[first, policy, third], None, &text);
                check(&[demanded, policy, third], None, &text);
                check(&[first, policy | 0x7c00_0000, third], None, &text);
                check(&[demanded, policy | 0x7c00_0000, third], Some(&text), &text);
            }
        }
    }
}

#[test]
fn fields_of_operands_that_a_form_lacks_may_be_anything() {
    // The third source's op_sel and neg_lo; a second source of a move; both data registers of a load.
    check(&[0xcc0f_4001, 0x1a02_0702], Some("v_pk_add_f16 v1, v2, v3"), "v_pk_add_f16 v1, v2, v3");
    check(&[0xcc0f_6001, 0x9a02_0702], None, "v_pk_add_f16 v1, v2, v3");
    check(&[0xd8d8_0000, 0x0100_5502], None, "ds_load_b32 v1, v2");
    check(&[0xd8d8_0000, 0x0155_0002], None, "ds_load_b32 v1, v2");
    // Matrix products: LLVM demands op_sel_hi of 3, AMD's manual 0.
    let text = "v_wmma_f32_16x16x32_f16 v[0:7], v[8:15], v[16:23], v[24:31]";
    check(&[0xcc60_0000, 0x1c62_2108], Some(text), text);
    check(&[0xcc60_0000, 0x0462_2108], None, text);
    // No immediate is there to be read.
    check(&[0xbf95_0001], None, "s_barrier_leave");
}

#[test]
fn what_the_hardware_reads_must_be_as_it_is() {
    let gfx1250 = Processor::from_name("gfx1250").unwrap();
    let lenient = DecodeOptions { mode: Mode::Lenient, ..DecodeOptions::default() };
    let decoder = Decoder::with_options(gfx1250, lenient).unwrap();
    for (words, why) in [
        (&[0xd031_8000_u32, 0, 0x7c7c_2420][..], "there is no such opcode"),
        (&[0xd031_0000, 0x0000_0000], "its last word is missing"),
        (&[0xcc6a_0000, 0x3c62_2108], "a matrix is negated that cannot be"),
    ] {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let inst = decoder.decode(&bytes);
        assert!(inst.is_none(), "{why}: {}", decoder.text(&inst.unwrap()));
    }
}
