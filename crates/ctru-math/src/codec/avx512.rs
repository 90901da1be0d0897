//! Packing and unpacking in AVX-512, in blocks of 32 values. One vector holds the values of a block
//! at 16 bits each, and one vector holds the `4 width` packed bytes of the block.
//!
//! Four values have 40 to 52 bits. Both directions go through 64-bit words of four values each.
//! Word `j` begins at bit `4 width j` of the packed block. If `width` and `j` are odd, this is the
//! middle of a byte; otherwise it is the start of a byte.

use core::arch::x86_64::*;
use core::mem::transmute;

use crate::backend::Avx512;

/// Number of values per block.
const BLOCK: usize = 32;

/// The 64 bytes of a vector.
pub(crate) type Bytes = [u8; 64];

/// Returns the byte in which word `j` of a packed block begins, and the bit in this byte.
const fn start(width: usize, j: usize) -> (usize, usize) {
    (4 * width * j / 8, 4 * width * j % 8)
}

/// Returns, for each byte of the eight words, the index of the byte of the packed block to copy
/// there.
pub(crate) const fn words_from_bytes(width: usize) -> Bytes {
    let mut indices = [0; 64];
    let mut i = 0;
    while i < 64 {
        indices[i] = (start(width, i / 8).0 + i % 8) as u8;
        i += 1;
    }
    indices
}

/// Returns, for each byte of the 16-bit values, the index of its first bit in its word.
const fn values_from_words(width: usize) -> Bytes {
    let mut positions = [0; 64];
    let mut i = 0;
    while i < 64 {
        let (word, value) = (i / 8, i % 8 / 2);
        positions[i] = (start(width, word).1 + width * value + 8 * (i % 2)) as u8;
        i += 1;
    }
    positions
}

/// Returns, for each byte of the packed block, the index of the byte of the words to copy there. If
/// the eight bytes of two words reach a byte, the first list has the index in the lower word, the
/// second list has the index in the upper word, and the mask has the bit of this byte set. The bits
/// of a word above its four values are 0, so the OR of both bytes is right. Entries beyond the
/// packed block have no meaning.
const fn bytes_from_words(width: usize) -> (Bytes, Bytes, u64) {
    // From width 8 on, at most two words reach a byte. No width in use is above 13.
    assert!(8 <= width && width <= 13);
    let (mut first, mut second, mut shared) = ([0; 64], [0; 64], 0);
    let mut i = 0;
    while i < 64 {
        // The loop goes from the last word to the first, so that the lower one of two words comes
        // last.
        let (word, byte) = (7 - i / 8, i % 8);
        let at = start(width, word).0 + byte;
        if at >= start(width, word + 1).0 {
            second[at] = first[at];
            shared |= 1 << at;
        }
        first[at] = (8 * word + byte) as u8;
        i += 1;
    }
    (first, second, shared)
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn vector(bytes: Bytes) -> __m512i {
    // SAFETY: both types are 64 bytes in which every bit pattern is valid.
    #[allow(unsafe_code)]
    unsafe {
        transmute::<Bytes, __m512i>(bytes)
    }
}

/// Returns a mask of the lowest `count <= 64` bits.
pub(crate) fn mask(count: usize) -> u64 {
    if count < 64 { (1 << count) - 1 } else { u64::MAX }
}

/// Does the work of [`unpack`](crate::kernel::bits::unpack); `WIDTH <= 13`.
#[inline(always)]
pub(super) fn unpack<const WIDTH: u32>(_token: Avx512, bytes: &[u8], values: &mut [u16]) {
    // SAFETY: the token exists only if the CPU has the parts of AVX-512 that the function needs.
    #[allow(unsafe_code)]
    unsafe {
        unpack_blocks::<WIDTH>(bytes, values);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn unpack_blocks<const WIDTH: u32>(bytes: &[u8], values: &mut [u16]) {
    let words_from_bytes = vector(const { words_from_bytes(WIDTH as usize) });
    let values_from_words = vector(const { values_from_words(WIDTH as usize) });
    for (bytes, values) in bytes.chunks(4 * WIDTH as usize).zip(values.chunks_mut(BLOCK)) {
        // SAFETY: the masks limit the load to the bytes of one slice and the store to the values of
        // the other slice.
        #[allow(unsafe_code)]
        unsafe {
            let block = _mm512_maskz_loadu_epi8(mask(bytes.len()), bytes.as_ptr().cast());
            let words = _mm512_permutexvar_epi8(words_from_bytes, block);
            let unpacked = _mm512_and_si512(
                _mm512_multishift_epi64_epi8(values_from_words, words),
                _mm512_set1_epi16((1 << WIDTH) - 1),
            );
            _mm512_mask_storeu_epi16(
                values.as_mut_ptr().cast(),
                mask(values.len()) as u32,
                unpacked,
            );
        }
    }
}

/// Does the work of [`pack`](crate::kernel::bits::pack); `8 <= WIDTH <= 13`.
#[inline(always)]
pub(super) fn pack<const WIDTH: u32>(_token: Avx512, values: &[u16], bytes: &mut [u8]) {
    // SAFETY: the token exists only if the CPU has the parts of AVX-512 that the function needs.
    #[allow(unsafe_code)]
    unsafe {
        pack_blocks::<WIDTH>(values, bytes);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn pack_blocks<const WIDTH: u32>(values: &[u16], bytes: &mut [u8]) {
    let (first, second, shared) = const { bytes_from_words(WIDTH as usize) };
    let (first, second) = (vector(first), vector(second));
    for (values, bytes) in values.chunks(BLOCK).zip(bytes.chunks_mut(4 * WIDTH as usize)) {
        // SAFETY: the masks limit the load to the values of one slice and the store to the bytes of
        // the other slice.
        #[allow(unsafe_code)]
        unsafe {
            let values =
                _mm512_maskz_loadu_epi16(mask(values.len()) as u32, values.as_ptr().cast());
            // Joins two values in each half of a word, then the two halves.
            let pairs = _mm512_madd_epi16(values, _mm512_set1_epi32(1 + (1 << (16 + WIDTH))));
            let upper = _mm512_srli_epi64::<32>(pairs);
            let lower = _mm512_and_si512(pairs, _mm512_set1_epi64(u32::MAX as i64));
            let words = _mm512_or_si512(
                lower,
                _mm512_sll_epi64(upper, _mm_cvtsi32_si128(2 * WIDTH as i32)),
            );
            let offset = 4 * i64::from(WIDTH % 2);
            let words = _mm512_sllv_epi64(
                words,
                _mm512_set_epi64(offset, 0, offset, 0, offset, 0, offset, 0),
            );
            let packed = _mm512_or_si512(
                _mm512_permutexvar_epi8(first, words),
                _mm512_maskz_permutexvar_epi8(shared, second, words),
            );
            _mm512_mask_storeu_epi8(bytes.as_mut_ptr().cast(), mask(bytes.len()), packed);
        }
    }
}
