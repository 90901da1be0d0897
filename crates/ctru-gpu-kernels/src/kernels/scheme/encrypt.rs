//! The last steps of encryption: E8 encoding, rounding and packing, one group of a ciphertext at a
//! time.

use core::array;

use ctru_math::Ring;
use ctru_math::kernel::bits::{self, GROUP};
use ctru_math::kernel::e8::GENERATOR;

use crate::kernels::{low_bits, unrolled, warp};
use crate::simt::{Simt, WARP};

/// Calls `output(round, group, packed)` for each group of a ciphertext. The lanes of a warp share
/// the calls; a lane makes one in each round. `rounded(group)` is as for [`packed_group`], and the
/// message begins at the address `message` of shared memory.
#[inline(always)]
pub(crate) fn for_each_group<S: Simt, R: Ring>(
    s: S,
    message: u32,
    rounded: impl Fn(u32) -> [u32; GROUP],
    mut output: impl FnMut(u32, u32, [u32; 3]),
) {
    unrolled!(round < warp::rounds(R::N), {
        let group = WARP * round + s.lane();
        if group < warp::groups(R::N) {
            let rounded = rounded(group);
            let nibble = nibble::<R>(group, |i| s.load_shared(message + i));
            output(round, group, packed_group::<R>(group, nibble, rounded));
        }
    });
}

/// Returns the nibble of a message for group `group`, in the low bits of a byte whose other bits
/// have no meaning. Returns 0 for groups after the end of the message. `byte` returns the bytes of
/// the message.
#[must_use]
#[inline(always)]
pub fn nibble<R: Ring>(group: u32, byte: impl Fn(u32) -> u8) -> u8 {
    if group < (R::CODED_COEFFS / GROUP) as u32 { byte(group / 2) >> (4 * (group % 2)) } else { 0 }
}

/// Returns group `group` of a ciphertext, packed: [`Ring::Q2_BITS`] bytes. `nibble` is that of
/// [`nibble`], and the top bits of `rounded` are the coefficients of `h r`, rounded, as
/// [`compress_to_top`](ctru_math::kernel::compress::compress_to_top) returns them. The bits of the
/// coefficients from `n` on are 0, because they become the padding bits.
#[must_use]
#[inline(always)]
pub fn packed_group<R: Ring>(group: u32, nibble: u8, rounded: [u32; GROUP]) -> [u32; 3] {
    let codeword = |k: usize| {
        let rows = const { &packed_generator::<R>() };
        (0..rows.len())
            .fold(0, |word, bit| word ^ u32::from(nibble >> bit & 1).wrapping_neg() & rows[bit][k])
    };
    let (whole, rest) = ((R::N / GROUP) as u32, (R::N % GROUP) as u32);
    let mask = if group < whole { u32::MAX } else { 0 };
    let packed = bits::pack_tops(R::Q2_BITS, rounded);
    array::from_fn(|k| {
        let inside = (R::Q2_BITS * rest).saturating_sub(32 * k as u32).min(32);
        (packed[k] ^ codeword(k)) & (mask | low_bits(inside))
    })
}

/// Returns what each row of the E8 code's generator matrix adds to a packed group: the highest bit
/// of a coefficient, which is `q2/2`, where the row has a 1.
const fn packed_generator<R: Ring>() -> [[u32; 3]; GENERATOR.len()] {
    let mut rows = [[0; 3]; GENERATOR.len()];
    let mut i = 0;
    while i < GENERATOR.len() * GROUP {
        let (row, j) = (i / GROUP, i % GROUP);
        let place = R::Q2_BITS as usize * (j + 1) - 1;
        rows[row][place / 32] |= (GENERATOR[row] as u32 >> j & 1) << (place % 32);
        i += 1;
    }
    rows
}

/// Returns the number of bytes that a packed ciphertext needs in shared memory: whole groups, and
/// up to 3 bytes before the first group for alignment.
#[must_use]
pub const fn string_bytes<R: Ring>() -> u32 {
    (R::Q2_BITS * warp::groups(R::N) + 3).next_multiple_of(4)
}

/// Writes a packed group to the ciphertext that begins at byte `string` of shared memory. `string`
/// is congruent modulo 4 to the first byte of the ciphertext in an array.
#[inline(always)]
pub fn store_packed<S: Simt, R: Ring>(s: S, string: u32, group: u32, packed: [u32; 3]) {
    let start = string + R::Q2_BITS * group;
    let part = |bits: u32| packed[bits as usize / 32] >> (bits % 32);
    if (R::CIPHERTEXT_BYTES as u32 | R::Q2_BITS).is_multiple_of(2) {
        for pair in 0..R::Q2_BITS / 2 {
            s.store_shared(start + 2 * pair, part(16 * pair) as u16);
        }
    } else {
        for byte in 0..R::Q2_BITS {
            s.store_shared(start + byte, part(8 * byte) as u8);
        }
    }
}
