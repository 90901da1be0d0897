//! What the stream of a seed determines of a key pair, two threads per operation: `g`, the random
//! words of `f`, and `rho`, if the first `g` has an inverse modulo 3. If not,
//! [`again`](super::again) draws them again.

use ctru_math::{NtruPrimeRing, Ring};

use super::sample::small;
use super::stream::{Before, begin, words};
use crate::descriptor::{Batch, Shape};
use crate::kernels::hash::derive::{squeeze, words_of_row};
use crate::kernels::hash::keccak::{PerPair, State, Words};
use crate::kernels::hash::middle_batch;
use crate::kernels::{SEED_WORDS, row};
use crate::simt::Simt;

/// Returns the block shape: 128 threads, two per operation.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    middle_batch::shape::<R>()
}

/// Returns the number of 64-bit words in a row of `rho`. The bytes after `rho` have no meaning.
#[must_use]
pub const fn rho_words<R: NtruPrimeRing>() -> u32 {
    R::TERNARY_BYTES.div_ceil(8) as u32
}

/// Returns the state that gives the stream of an operation, before the first permutation. In the
/// row of a key pair, the seed is the first half, and the other one is not used.
#[inline(always)]
pub(super) fn begin_key_pair<R: NtruPrimeRing, T: State>(
    s: T::Machine,
    seeds: Words<T>,
    operation: u32,
) -> T {
    let word = words_of_row(s, (seeds, 2 * SEED_WORDS), operation);
    let seed = |i| if i < SEED_WORDS { word(i) } else { 0 };
    begin(s, const { Before::of::<R>(b" key pair") }, seed)
}

/// Draws the parts of key pairs.
///
/// Threads: two per operation.
/// Arrays: `seeds`, rows of 8 words, of which the first four are the seed; `g`, signed bytes; `f`,
/// rows of [`words`] for one draw; `rho`, rows of [`rho_words`].
#[inline(always)]
pub fn draw<S: Simt, R: Ring>(
    s: S,
    seeds: S::Global<u64>,
    g: S::Global<u8>,
    f: S::Global<u64>,
    rho: S::Global<u64>,
    batch: Batch,
) {
    let own = middle_batch::own_operation(s, batch);
    let state: PerPair<S> = begin_key_pair::<R, _>(s, seeds, own.operation);
    // The words of `f` begin inside a word of the stream, because `n` is odd.
    let (n, skipped) = (R::N as u32, words::<R>(1));
    let [f_row, rho_row] = [words::<R>(1), rho_words::<R>()];
    let (mut previous, mut group) = (0, 0);
    squeeze(s, own.writes, state, n + rho_row, |i, word| {
        if i < skipped {
            let pair = [word, word >> 32].map(|word| u64::from(small(word as u32)));
            group = group >> 16 | pair[0] << 48 | pair[1] << 56;
            if i % 4 == 3 || i == skipped - 1 {
                let row = row::<R>() / 8 * own.operation;
                s.store(s.cast::<u8, u64>(g), row + i / 4, group >> (16 * (3 - i % 4)));
            }
        } else if i <= n {
            s.store(f, f_row * own.operation + i - skipped, previous >> 32 | word << 32);
        }
        if i >= n {
            s.store(rho, rho_row * own.operation + i - n, word);
        }
        previous = word;
    });
}
