//! Harm of the sorts that disks, networks, editors and attackers do.

use hsaco_tests::random::Random;

const WORDS: [u64; 12] = [
    0,
    1,
    7,
    0xff,
    0xffff,
    0x1_0001,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    i64::MAX.cast_unsigned(),
    1 << 63,
    u64::MAX,
];

/// One to four mutations of a file.
pub(crate) fn mutate(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(4) {
        match random.below(16) {
            0..4 => flip(&mut bytes, random),
            4..7 => set(&mut bytes, random),
            7..13 => word(&mut bytes, random),
            13..15 => splice(&mut bytes, random),
            _ => bytes.truncate(random.below(bytes.len())),
        }
    }
    bytes
}

/// Where headers and tables are likely is where half of the harm is done.
fn place(length: usize, random: &mut Random) -> usize {
    match random.below(4) {
        0 => random.below(length.min(256)),
        1 => length.saturating_sub(1 + random.below(length.min(2048))),
        _ => random.below(length),
    }
}

fn flip(bytes: &mut [u8], random: &mut Random) {
    let at = place(bytes.len(), random);
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << random.below(8);
    }
}

fn set(bytes: &mut [u8], random: &mut Random) {
    let at = place(bytes.len(), random);
    let value = random.bits().to_le_bytes()[0];
    if let Some(byte) = bytes.get_mut(at) {
        *byte = value;
    }
}

/// A boundary value, or one near the file's length, at an aligned place.
fn word(bytes: &mut [u8], random: &mut Random) {
    let size = random.pick(&[2, 4, 8]);
    let length = bytes.len() as u64;
    let near = [length, length.wrapping_sub(1), length.wrapping_sub(8), length + 1];
    let value = if random.below(3) == 0 { random.pick(&near) } else { random.pick(&WORDS) };
    let at = place(bytes.len(), random) / size * size;
    if let Some(target) = bytes.get_mut(at..at + size) {
        target.copy_from_slice(&value.to_le_bytes()[..size]);
    }
}

/// A piece of the file, in place of another or between others.
fn splice(bytes: &mut Vec<u8>, random: &mut Random) {
    let from = random.below(bytes.len());
    let size = random.below((bytes.len() - from).min(512));
    let piece = bytes[from..from + size].to_vec();
    let to = random.below(bytes.len());
    let replaced = if random.below(2) == 0 { size.min(bytes.len() - to) } else { 0 };
    bytes.splice(to..to + replaced, piece);
}
