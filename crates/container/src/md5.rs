//! MD5 (RFC 1321): the hash that compressed offload bundles carry. It checks for damage, not for malice.
//!
//! ```
//! let digest = hsaco_container::md5::digest(b"abc");
//! assert_eq!(digest[..4], [0x90, 0x01, 0x50, 0x98]);
//! ```

use hsaco_bytes::read_u64;

const INITIAL: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

/// `floor(2^32 * abs(sin(i + 1)))`.
#[rustfmt::skip]
const SINES: [u32; 64] = [
    0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee, 0xf57c_0faf, 0x4787_c62a,
    0xa830_4613, 0xfd46_9501, 0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be,
    0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821, 0xf61e_2562, 0xc040_b340,
    0x265e_5a51, 0xe9b6_c7aa, 0xd62f_105d, 0x0244_1453, 0xd8a1_e681, 0xe7d3_fbc8,
    0x21e1_cde6, 0xc337_07d6, 0xf4d5_0d87, 0x455a_14ed, 0xa9e3_e905, 0xfcef_a3f8,
    0x676f_02d9, 0x8d2a_4c8a, 0xfffa_3942, 0x8771_f681, 0x6d9d_6122, 0xfde5_380c,
    0xa4be_ea44, 0x4bde_cfa9, 0xf6bb_4b60, 0xbebf_bc70, 0x289b_7ec6, 0xeaa1_27fa,
    0xd4ef_3085, 0x0488_1d05, 0xd9d4_d039, 0xe6db_99e5, 0x1fa2_7cf8, 0xc4ac_5665,
    0xf429_2244, 0x432a_ff97, 0xab94_23a7, 0xfc93_a039, 0x655b_59c3, 0x8f0c_cc92,
    0xffef_f47d, 0x8584_5dd1, 0x6fa8_7e4f, 0xfe2c_e6e0, 0xa301_4314, 0x4e08_11a1,
    0xf753_7e82, 0xbd3a_f235, 0x2ad7_d2bb, 0xeb86_d391,
];

/// The 16-byte MD5 digest of `data`.
///
/// ```
/// let hex: String = hsaco_container::md5::digest(b"").iter().map(|b| format!("{b:02x}")).collect();
/// assert_eq!(hex, "d41d8cd98f00b204e9800998ecf8427e");
/// ```
pub fn digest(data: &[u8]) -> [u8; 16] {
    finished(INITIAL, data, data.len() as u64)
}

/// The digests of two contents, side by side: one alone waits for itself at every step.
///
/// ```
/// use hsaco_container::md5::{digest, digest_both};
/// assert_eq!(digest_both(b"abc", b""), [digest(b"abc"), digest(b"")]);
/// ```
pub fn digest_both(a: &[u8], b: &[u8]) -> [[u8; 16]; 2] {
    let both = a.as_chunks::<64>().0.iter().zip(b.as_chunks::<64>().0);
    let size = both.len() * 64;
    let state = both.fold(INITIAL.map(Word::splat), |state, (a, b)| {
        let mut both = [[0; 2]; 16];
        for ((both, a), b) in both.iter_mut().zip(words(a)).zip(words(b)) {
            *both = [a, b];
        }
        add_block(state, &both)
    });
    [
        finished(state.map(|[it, _]| it), a.get(size..).unwrap_or_default(), a.len() as u64),
        finished(state.map(|[_, it]| it), b.get(size..).unwrap_or_default(), b.len() as u64),
    ]
}

/// The first eight bytes of a digest as a little-endian number, which is what a compressed bundle stores.
///
/// ```
/// use hsaco_container::md5::{digest, truncated};
/// assert_eq!(truncated(&digest(b"abc")), 0xb04f_d23c_9850_0190);
/// ```
pub fn truncated(digest: &[u8; 16]) -> u64 {
    read_u64(digest, 0).unwrap_or_default()
}

/// The digest from a state on, with what is left of a content of so many bytes.
fn finished(state: [u32; 4], rest: &[u8], length: u64) -> [u8; 16] {
    let add = |state, block: &[u8; 64]| add_block(state, &words(block));
    let (blocks, rest) = rest.as_chunks::<64>();
    let state = blocks.iter().fold(state, add);
    let state = padding(rest, length).iter().fold(state, add);
    let mut digest = [0; 16];
    for (bytes, word) in digest.as_chunks_mut().0.iter_mut().zip(state) {
        *bytes = word.to_le_bytes();
    }
    digest
}

/// The last one or two blocks: what is left, a one bit, zeros, and the length in bits.
fn padding(rest: &[u8], length: u64) -> Vec<[u8; 64]> {
    let mut tail = rest.to_vec();
    tail.push(0x80);
    tail.resize((tail.len() + 8).next_multiple_of(64) - 8, 0);
    tail.extend_from_slice(&length.wrapping_mul(8).to_le_bytes());
    tail.as_chunks().0.to_vec()
}

/// A number of a hash, or the same number of two hashes that are computed side by side.
trait Word: Copy {
    fn splat(number: u32) -> Self;
    fn map(self, map: impl Fn(u32) -> u32) -> Self;
    fn zip(self, other: Self, map: impl Fn(u32, u32) -> u32) -> Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, u32::wrapping_add)
    }
}

impl Word for u32 {
    #[inline(always)]
    fn splat(number: u32) -> Self {
        number
    }

    #[inline(always)]
    fn map(self, map: impl Fn(u32) -> u32) -> Self {
        map(self)
    }

    #[inline(always)]
    fn zip(self, other: Self, map: impl Fn(u32, u32) -> u32) -> Self {
        map(self, other)
    }
}

impl Word for [u32; 2] {
    #[inline(always)]
    fn splat(number: u32) -> Self {
        [number; 2]
    }

    #[inline(always)]
    fn map(self, map: impl Fn(u32) -> u32) -> Self {
        let [a, b] = self;
        [map(a), map(b)]
    }

    #[inline(always)]
    fn zip(self, [c, d]: Self, map: impl Fn(u32, u32) -> u32) -> Self {
        let [a, b] = self;
        [map(a, c), map(b, d)]
    }
}

#[inline(always)]
fn f<W: Word>(x: W, y: W, z: W) -> W {
    y.zip(z, |y, z| y ^ z).zip(x, |it, x| it & x).zip(z, |it, z| it ^ z)
}

#[inline(always)]
fn g<W: Word>(x: W, y: W, z: W) -> W {
    // A sum, not an or: the terms share no bit, and the two halves then need not wait for each other.
    x.zip(z, |x, z| x & z).add(y.zip(z, |y, z| y & !z))
}

#[inline(always)]
fn h<W: Word>(x: W, y: W, z: W) -> W {
    x.zip(y, |x, y| x ^ y).zip(z, |it, z| it ^ z)
}

#[inline(always)]
fn i<W: Word>(x: W, y: W, z: W) -> W {
    x.zip(z, |x, z| x | !z).zip(y, |it, y| it ^ y)
}

/// The words of a block.
fn words(block: &[u8; 64]) -> [u32; 16] {
    let mut words = [0; 16];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    words
}

#[inline(always)]
fn add_block<W: Word>([a0, b0, c0, d0]: [W; 4], m: &[W; 16]) -> [W; 4] {
    let (mut a, mut b, mut c, mut d) = (a0, b0, c0, d0);

    macro_rules! step {
        ($mix:ident, $a:ident, $b:ident, $c:ident, $d:ident, $word:expr, $sine:expr, $shift:expr) => {
            $a = $a.add(W::splat(SINES[$sine])).add(m[$word]);
            $a = $a.add($mix($b, $c, $d)).map(|it| it.rotate_left($shift)).add($b);
        };
    }
    // Four rounds of sixteen steps; step n takes message word (first + n * stride) mod 16.
    macro_rules! four_steps {
        ($mix:ident, $n:expr, $first:expr, $stride:expr, [$s0:expr, $s1:expr, $s2:expr, $s3:expr]) => {
            step!($mix, a, b, c, d, ($first + $stride * $n) % 16, $n, $s0);
            step!($mix, d, a, b, c, ($first + $stride * ($n + 1)) % 16, $n + 1, $s1);
            step!($mix, c, d, a, b, ($first + $stride * ($n + 2)) % 16, $n + 2, $s2);
            step!($mix, b, c, d, a, ($first + $stride * ($n + 3)) % 16, $n + 3, $s3);
        };
    }
    macro_rules! round {
        ($mix:ident, $n:expr, $first:expr, $stride:expr, $shifts:tt) => {
            four_steps!($mix, $n, $first, $stride, $shifts);
            four_steps!($mix, $n + 4, $first, $stride, $shifts);
            four_steps!($mix, $n + 8, $first, $stride, $shifts);
            four_steps!($mix, $n + 12, $first, $stride, $shifts);
        };
    }
    round!(f, 0, 0, 1, [7, 12, 17, 22]);
    round!(g, 16, 1, 5, [5, 9, 14, 20]);
    round!(h, 32, 5, 3, [4, 11, 16, 23]);
    round!(i, 48, 0, 7, [6, 10, 15, 21]);

    [a0.add(a), b0.add(b), c0.add(c), d0.add(d)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(data: &[u8]) -> String {
        digest(data).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn rfc_1321_vectors() {
        let vectors = [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("a", "0cc175b9c0f1b6a831c399e269772661"),
            ("abc", "900150983cd24fb0d6963f7d28e17f72"),
            ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
            ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
            (
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
                "d174ab98d277d9f5a5611c2c9f419d9f",
            ),
            (
                "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
                "57edf4a22be3c955ac49da2e2107b67a",
            ),
        ];
        for (text, expected) in vectors {
            assert_eq!(hex(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn every_padding_length_up_to_three_blocks() {
        // The digest of the digests, as md5sum gives it: one wrong length changes it.
        let mut all = Vec::new();
        for length in 0..192 {
            all.extend_from_slice(&digest(&vec![b'x'; length]));
        }
        assert_eq!(hex(&all), "ba5f2f4203590ba994ad6018731e5793");
    }

    #[test]
    fn two_at_once_are_each_as_alone() {
        let data: Vec<u8> = (0..=250_u8).cycle().take(500).map(|it| it.wrapping_mul(it)).collect();
        for a in [0, 1, 55, 56, 63, 64, 65, 119, 128, 200, 500] {
            for b in [0, 1, 55, 56, 63, 64, 65, 119, 128, 200, 500] {
                let (a, b) = (&data[..a], &data[500 - b..]);
                assert_eq!(digest_both(a, b), [digest(a), digest(b)], "{} {}", a.len(), b.len());
            }
        }
    }
}
