//! Sampling in AVX-512: one vector holds the coins of 64 coefficients, `16 eta` bytes.

use core::arch::x86_64::*;

use crate::backend::Avx512;
use crate::codec::avx512::{Bytes, mask, vector, words_from_bytes};

/// Number of coefficients that one vector samples.
const BLOCK: usize = 64;

/// Returns, for each coefficient, the index of its first coin in its word. A word holds the coins
/// of eight coefficients.
const fn coins_from_words(eta: usize) -> Bytes {
    let mut positions = [0; 64];
    let mut i = 0;
    while i < 64 {
        positions[i] = (2 * eta * (i % 8)) as u8;
        i += 1;
    }
    positions
}

/// Returns the coefficient for each number of six bits, whose low `2 eta` bits are coins: the
/// number of ones in the first half of the coins minus the number of ones in the second half.
const fn coefficients(eta: usize) -> Bytes {
    let (mut coefficients, half) = ([0; 64], (1 << eta) - 1);
    let mut i = 0u8;
    while i < 64 {
        let (first, second) = ((i & half).count_ones(), (i >> eta & half).count_ones());
        coefficients[i as usize] = (first as u8).wrapping_sub(second as u8);
        i += 1;
    }
    coefficients
}

/// Writes a coefficient for each `2 ETA` bits of coins; `ETA <= 3`.
#[inline(always)]
pub(super) fn sample<const ETA: usize>(_token: Avx512, coins: &[u8], sampled: &mut [i8]) {
    // SAFETY: the token exists only if the CPU has the parts of AVX-512 that the function needs.
    #[allow(unsafe_code)]
    unsafe {
        write_coefficients::<ETA>(coins, sampled);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn write_coefficients<const ETA: usize>(coins: &[u8], sampled: &mut [i8]) {
    // Eight coefficients take as many bytes as four values of 4 ETA bits.
    let words_from_bytes = vector(const { words_from_bytes(4 * ETA) });
    let coins_from_words = vector(const { coins_from_words(ETA) });
    let coefficients = vector(const { coefficients(ETA) });
    for (block, sampled) in sampled.chunks_mut(BLOCK).enumerate() {
        let rest = &coins[2 * ETA * BLOCK / 8 * block..];
        // SAFETY: the masks limit the load to the bytes of one slice and the store to the
        // coefficients of the other slice.
        #[allow(unsafe_code)]
        unsafe {
            let block = _mm512_maskz_loadu_epi8(mask(rest.len()), rest.as_ptr().cast());
            let words = _mm512_permutexvar_epi8(words_from_bytes, block);
            // The table is in a register. The low six bits of each byte choose an entry.
            let chosen = _mm512_multishift_epi64_epi8(coins_from_words, words);
            let looked_up = _mm512_permutexvar_epi8(chosen, coefficients);
            _mm512_mask_storeu_epi8(sampled.as_mut_ptr().cast(), mask(sampled.len()), looked_up);
        }
    }
}
