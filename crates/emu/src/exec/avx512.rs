//! Sixteen lanes as one vector of the host.

use std::arch::x86_64::{
    __m512, __m512i, _mm512_castps_si512, _mm512_loadu_ps, _mm512_mask_storeu_ps, _mm512_storeu_ps,
};

#[allow(unsafe_code, reason = "the host's instruction takes a pointer")]
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn floats(lanes: &[u32; 16]) -> __m512 {
    // SAFETY: 64 bytes are read, as many as there are.
    unsafe { _mm512_loadu_ps(lanes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn integers(lanes: &[u32; 16]) -> __m512i {
    _mm512_castps_si512(floats(lanes))
}

#[allow(unsafe_code, reason = "the host's instruction takes a pointer")]
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn store(lanes: &mut [u32; 16], floats: __m512) {
    // SAFETY: 64 bytes are written, as many as there are.
    unsafe { _mm512_storeu_ps(lanes.as_mut_ptr().cast(), floats) }
}

/// Writes the lanes of a mask.
#[allow(unsafe_code, reason = "the host's instruction takes a pointer")]
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn store_some(lanes: &mut [u32; 16], mask: u16, floats: __m512) {
    // SAFETY: of 64 bytes, as many as there are, those of the mask are written.
    unsafe { _mm512_mask_storeu_ps(lanes.as_mut_ptr().cast(), mask, floats) }
}
