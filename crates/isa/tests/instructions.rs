//! Single instructions, one a line of `instructions.txt`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use hsaco_isa::{Decoder, Processor};

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

#[test]
fn every_line_reads_as_it_says() {
    let lines = include_str!("instructions.txt").lines();
    for line in lines.filter(|line| !line.starts_with('#')) {
        let mut columns = line.splitn(3, ' ');
        let mut column = || columns.next().unwrap();
        let decoder = Decoder::new(Processor::from_name(column()).unwrap()).unwrap();
        let bytes = bytes(column());
        let inst = decoder.decode(&bytes);
        assert_eq!(inst.map_or("-".into(), |inst| decoder.text(&inst)), column(), "{line}");
        assert!(inst.is_none_or(|inst| inst.len() == bytes.len()), "{line}");
    }
}
