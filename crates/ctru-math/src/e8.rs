//! The E8 lattice code: four message bits in eight coefficients.
//!
//! The codewords form the extended Hamming code of length 8 and minimum distance 4. A nibble
//! `a_0 + 2 a_1 + 4 a_2 + 8 a_3` has the codeword
//!
//! ```text
//! a_0 (1 0 1 0 1 0 1 0) + a_1 (1 1 1 1 0 0 0 0)
//!     + a_2 (0 0 1 1 1 1 0 0) + a_3 (0 0 0 0 1 1 1 1)   mod 2.
//! ```
//!
//! A decrypted coefficient `v` is near 0 where the codeword has a 0, and near `q2/2` where it has a
//! 1, cyclically modulo `q2`. The decoder finds a codeword with the least Euclidean distance to the
//! eight coefficients: a nearest point of the lattice E8, scaled by `q2/2`.
//!
//! Source: CTRU-Prime paper, the scalable E8 lattice code.

use core::array;

use crate::compiled::compiled;
use crate::kernel::e8::{BLOCK, distance, nearest};
use crate::poly::RoundedPoly;
use crate::ring::Ring;
use crate::simd::{Simd, WithSimd, dispatch};
use crate::wipe::wipe;

/// Number of blocks that are decoded together: each lane of a vector decodes one block.
const LANES: usize = 16;

compiled! {
    Ring:

    /// Decodes a decrypted polynomial to a message.
    ///
    /// The caller owns the message and wipes it. Coefficients from [`Ring::CODED_COEFFS`] on do not
    /// matter.
    pub fn decode(decrypted: &RoundedPoly<R>, message: &mut <R as Ring>::MessageBytes) {
        dispatch(Decode { decrypted, message });
    }
}

struct Decode<'a, R: Ring> {
    decrypted: &'a RoundedPoly<R>,
    message: &'a mut R::MessageBytes,
}

impl<R: Ring> WithSimd for Decode<'_, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Self { decrypted, message } = self;
        let (mut distances, mut nibbles) = ([[0; LANES]; BLOCK], [0; LANES]);
        let mut values = [0; LANES * BLOCK];
        let coded = decrypted.coefficients()[..R::CODED_COEFFS].chunks(values.len());
        for (bytes, coded) in message.as_mut().chunks_mut(LANES / 2).zip(coded) {
            // The last group may end with coefficients of the group before, whose nibbles are not
            // written.
            values[..coded.len()].copy_from_slice(coded);
            decode_group(R::Q2 as i16, &values, &mut distances, &mut nibbles, bytes);
        }
        wipe(&mut values);
        wipe(distances.as_flattened_mut());
        wipe(&mut nibbles);
    }
}

/// Decodes [`LANES`] blocks and writes as many bytes as there is room for. `distances` and
/// `nibbles` are scratch.
#[inline(always)]
fn decode_group(
    q2: i16,
    values: &[u16; LANES * BLOCK],
    distances: &mut [[i16; LANES]; BLOCK],
    nibbles: &mut [u8; LANES],
    bytes: &mut [u8],
) {
    // Row j holds coefficient j of all blocks, so one vector instruction does one step for all
    // blocks.
    for (lane, block) in values.as_chunks::<BLOCK>().0.iter().enumerate() {
        for (row, &v) in distances.iter_mut().zip(block) {
            row[lane] = distance(q2, v as i16);
        }
    }
    for (lane, nibble) in nibbles.iter_mut().enumerate() {
        *nibble = nearest(q2 / 2, array::from_fn(|j| distances[j][lane]));
    }
    for (byte, [low, high]) in bytes.iter_mut().zip(nibbles.as_chunks::<2>().0) {
        *byte = low | high << 4;
    }
}
