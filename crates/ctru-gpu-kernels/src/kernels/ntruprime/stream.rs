//! The random words that a seed determines, one thread per operation: SHAKE256 of the name of the
//! set, the use and the seed.
//!
//! A polynomial takes `n` words of 32 bits. Draw `k` is the words `k n..(k + 1) n`.

use ctru_math::{NtruPrimeRing, Ring};

use crate::descriptor::{Batch, Shape};
use crate::kernels::SEED_WORDS;
use crate::kernels::hash::derive::{own_operation, squeeze, words_of_row};
use crate::kernels::hash::keccak::{PerThread, SHAKE256, State};
use crate::simt::Simt;

/// Returns the block shape: 128 threads, one per operation.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    Shape::new(128, 128, 0)
}

/// Returns the number of 64-bit words in a row that holds this number of draws.
#[must_use]
pub const fn words<R: NtruPrimeRing>(draws: u32) -> u32 {
    (draws * R::N as u32).div_ceil(2)
}

/// Writes the random words of encapsulations.
///
/// Threads: one per operation.
/// Arrays: `seeds`, rows of [`SEED_WORDS`] words; `stream`, rows of `row` words, which hold one
/// draw.
/// Scalars: the bytes before the seed as three words, their number, and the length of a row.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "arrays and scalars of a kernel are its arguments")]
pub fn encapsulation<S: Simt, R: Ring>(
    s: S,
    seeds: S::Global<u64>,
    stream: S::Global<u64>,
    batch: Batch,
    first: u64,
    second: u64,
    third: u64,
    length: u32,
    row: u32,
) {
    let operation = own_operation(s);
    if operation < batch.operations() {
        let seed = words_of_row(s, (seeds, SEED_WORDS), operation);
        let before = Before { words: [first, second, third], length };
        let state: PerThread<S> = begin(s, before, seed);
        squeeze(s, true, state, row, |i, word| s.store(stream, row * operation + i, word));
    }
}

/// The bytes before the seed: the name of the set and the use.
#[derive(Copy, Clone)]
pub(crate) struct Before {
    pub(crate) words: [u64; 3],
    /// The number of bytes, at most 24.
    pub(crate) length: u32,
}

impl Before {
    /// Returns the bytes of encapsulations.
    pub(crate) const fn encapsulation<R: NtruPrimeRing>() -> Self {
        Self::of::<R>(b" encapsulation")
    }

    /// Returns the bytes for the set of a ring and a use, such as ` encapsulation`.
    ///
    /// # Panics
    /// If there are more than 24 bytes.
    pub(crate) const fn of<R: NtruPrimeRing>(usage: &[u8]) -> Self {
        let mut words = [0; 3];
        let name = b"sntrup";
        let digits = R::N.ilog10() as usize + 1;
        let length = name.len() + digits + usage.len();
        let mut i = 0;
        while i < length {
            let byte = if i < name.len() {
                name[i]
            } else if i < name.len() + digits {
                let above = 10_usize.pow((name.len() + digits - 1 - i) as u32);
                b'0' + (R::N / above % 10) as u8
            } else {
                usage[i - name.len() - digits]
            };
            words[i / 8] |= (byte as u64) << (8 * (i % 8));
            i += 1;
        }
        Self { words, length: length as u32 }
    }
}

/// Returns the state that has absorbed the input, before the first permutation. `seed` returns the
/// words of the seed, and 0 for every other index. Negative indices occur as numbers modulo `2^32`.
#[inline(always)]
pub(crate) fn begin<T: State>(
    s: T::Machine,
    Before { words, length }: Before,
    seed: impl Fn(u32) -> u64,
) -> T {
    let (whole, shift) = (length / 8, 8 * (length % 8));
    SHAKE256.absorb_block(s, length + 8 * SEED_WORDS, |i| {
        let part = |(k, word): (usize, u64)| if i == k as u32 { word } else { 0 };
        let before = words.into_iter().enumerate().map(part).fold(0, |word, part| word | part);
        let [low, high] = [i.wrapping_sub(whole + 1), i.wrapping_sub(whole)].map(&seed);
        before | if shift == 0 { high } else { high << shift | low >> (64 - shift) }
    })
}
