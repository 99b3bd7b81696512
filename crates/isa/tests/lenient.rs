//! What a lenient decoder takes beyond a strict one.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use hsaco_isa::{DecodeOptions, Decoder, Mode, Processor};

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
