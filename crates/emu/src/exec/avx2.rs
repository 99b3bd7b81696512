//! Chunks of eight lanes as vectors of the host, for handlers that name its instructions: what compilers make of loops
//! differs from one level of optimisation to the next.

use std::arch::x86_64::{
    __m256, __m256i, _mm256_castsi256_ps, _mm256_extract_epi32, _mm256_setr_epi32,
};

#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn vector(lanes: &[u32; 8]) -> __m256i {
    let [a, b, c, d, e, f, g, h] = lanes.map(u32::cast_signed);
    _mm256_setr_epi32(a, b, c, d, e, f, g, h)
}

#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn floats(lanes: &[u32; 8]) -> __m256 {
    _mm256_castsi256_ps(vector(lanes))
}

#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn lanes(vector: __m256i) -> [u32; 8] {
    let lanes = [
        _mm256_extract_epi32::<0>(vector),
        _mm256_extract_epi32::<1>(vector),
        _mm256_extract_epi32::<2>(vector),
        _mm256_extract_epi32::<3>(vector),
        _mm256_extract_epi32::<4>(vector),
        _mm256_extract_epi32::<5>(vector),
        _mm256_extract_epi32::<6>(vector),
        _mm256_extract_epi32::<7>(vector),
    ];
    lanes.map(i32::cast_unsigned)
}
