//! Two chunks of eight lanes as one vector of the host.

use std::arch::x86_64::{__m512, _mm512_loadu_ps, _mm512_mask_storeu_ps, _mm512_storeu_ps};

/// Sixteen lanes.
pub(crate) type Pair = [[u32; 8]; 2];

#[allow(unsafe_code, reason = "the host's instruction takes a pointer")]
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn floats(lanes: &Pair) -> __m512 {
    // SAFETY: 64 bytes are read, as many as there are.
    unsafe { _mm512_loadu_ps(lanes.as_ptr().cast()) }
}

#[allow(unsafe_code, reason = "the host's instruction takes a pointer")]
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn store(lanes: &mut Pair, floats: __m512) {
    // SAFETY: 64 bytes are written, as many as there are.
    unsafe { _mm512_storeu_ps(lanes.as_mut_ptr().cast(), floats) }
}

/// Writes the lanes of a mask.
#[allow(unsafe_code, reason = "the host's instruction takes a pointer")]
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn store_some(lanes: &mut Pair, mask: u16, floats: __m512) {
    // SAFETY: of 64 bytes, as many as there are, those of the mask are written.
    unsafe { _mm512_mask_storeu_ps(lanes.as_mut_ptr().cast(), mask, floats) }
}
