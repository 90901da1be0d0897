//! SHAKE256 and SHA3-512 of several inputs side by side.
//!
//! Source: FIPS 202.

use core::marker::PhantomData;

use super::keccak::{States, WORDS, permute};
use super::words::{Hashing, MOST_STATES, Row, Words, dispatch};
use crate::wipe::wipe;

/// A hash function on Keccak-f\[1600\].
pub(super) trait Function {
    /// 64-bit words that a permutation takes or gives.
    const RATE: usize;
    /// The bits that separate the functions, and the first bit of the padding, as a byte behind the input.
    const SUFFIX: u8;
    /// Bytes of a block.
    const BLOCK: usize = 8 * Self::RATE;
}

pub(super) struct Shake256;
pub(super) struct Sha3_512;

impl Function for Shake256 {
    const RATE: usize = 17;
    const SUFFIX: u8 = 0x1f;
}

impl Function for Sha3_512 {
    const RATE: usize = 9;
    const SUFFIX: u8 = 0x06;
}

/// An input of at most `BYTES - 1` bytes with its padding; wiped when dropped.
pub(super) struct Padded<F, const BYTES: usize> {
    bytes: [u8; BYTES],
    blocks: usize,
    function: PhantomData<F>,
}

impl<F: Function, const BYTES: usize> Padded<F, BYTES> {
    const WHOLE_BLOCKS: () = assert!(BYTES.is_multiple_of(F::BLOCK));

    /// The input that consists of `parts`.
    ///
    /// # Panics
    /// If it is too long.
    pub(super) fn new(parts: &[&[u8]]) -> Self {
        let () = Self::WHOLE_BLOCKS;
        let length = parts.iter().map(|part| part.len()).sum::<usize>();
        let mut padded =
            Self { bytes: [0; BYTES], blocks: length / F::BLOCK + 1, function: PhantomData };
        let mut rest = &mut padded.bytes[..];
        for part in parts {
            rest.split_off_mut(..part.len()).expect("room for the input").copy_from_slice(part);
        }
        padded.bytes[length] = F::SUFFIX;
        padded.bytes[padded.blocks * F::BLOCK - 1] |= 0x80;
        padded
    }

    /// Number of blocks.
    #[inline(always)]
    pub(super) fn blocks(&self) -> usize {
        self.blocks
    }

    /// The words of a block.
    #[inline(always)]
    pub(super) fn block(&self, index: usize) -> &[[u8; 8]] {
        self.bytes[index * F::BLOCK..][..F::BLOCK].as_chunks().0
    }
}

impl<F, const BYTES: usize> Drop for Padded<F, BYTES> {
    fn drop(&mut self) {
        wipe(&mut self.bytes, 0);
    }
}

/// `V::STATES` states that start from zero; wiped when dropped.
pub(super) struct Sponges<V: Words> {
    states: States<V>,
    /// The words of a block of each state, on their way from bytes to vectors or back.
    rows: [Row; MOST_RATE],
}

/// The largest [`Function::RATE`].
const MOST_RATE: usize = Shake256::RATE;

/// A block for each state.
pub(super) type Blocks<'a> = [&'a [[u8; 8]]; MOST_STATES];

/// Nothing to add to any state.
pub(super) const NO_BLOCKS: Blocks<'static> = [&[[0; 8]; MOST_RATE]; MOST_STATES];

impl<V: Words> Sponges<V> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self { states: [V::splat(0); WORDS], rows: [[0; MOST_STATES]; MOST_RATE] }
    }

    #[inline(always)]
    pub(super) fn permute(&mut self) {
        permute(&mut self.states);
    }

    /// Adds block `i` to state `i`.
    #[inline(always)]
    pub(super) fn absorb<F: Function>(&mut self, blocks: &Blocks<'_>) {
        let blocks = blocks.map(|block| &block[..F::RATE]);
        for (word, states) in self.states[..F::RATE].iter_mut().enumerate() {
            let mut row = [0; MOST_STATES];
            for state in 0..V::STATES {
                row[state] = u64::from_le_bytes(blocks[state][word]);
            }
            *states = states.xor(V::load(&row));
        }
    }

    /// Sets state 0 to zero.
    #[inline(always)]
    pub(super) fn restart_first(&mut self) {
        for word in &mut self.states {
            let mut row = [0; MOST_STATES];
            word.store(&mut row);
            row[0] = 0;
            *word = V::load(&row);
        }
    }

    /// Writes block `block` of output `i`, as far as it is wanted, from state `i`.
    #[inline(always)]
    pub(super) fn squeeze<F: Function>(&mut self, outputs: &mut [&mut [u8]], block: usize) {
        for (word, row) in self.states[..F::RATE].iter().zip(&mut self.rows) {
            word.store(row);
        }
        for (state, output) in outputs.iter_mut().enumerate() {
            let output = &mut output[block * F::BLOCK..];
            let wanted = output.len().min(F::BLOCK);
            let (words, last) = output[..wanted].as_chunks_mut::<8>();
            let mut rows = self.rows.iter();
            for (bytes, row) in words.iter_mut().zip(&mut rows) {
                *bytes = row[state].to_le_bytes();
            }
            if let Some(row) = rows.next() {
                last.copy_from_slice(&row[state].to_le_bytes()[..last.len()]);
            }
        }
    }
}

impl<V: Words> Drop for Sponges<V> {
    #[inline(always)]
    fn drop(&mut self) {
        wipe(&mut self.states, V::splat(0));
        wipe(&mut self.rows, [0; MOST_STATES]);
    }
}

/// The first bytes of the hashes of inputs of one length, as many as the outputs have, which are of one length as well.
pub(super) fn hash<F: Function, const BYTES: usize, const N: usize>(
    inputs: &[Padded<F, BYTES>; N],
    outputs: &mut [&mut [u8]; N],
) {
    dispatch(N, Hash { inputs, outputs });
}

/// The work of [`hash`].
pub(super) struct Hash<'a, 'b, F, const BYTES: usize> {
    pub(super) inputs: &'a [Padded<F, BYTES>],
    pub(super) outputs: &'a mut [&'b mut [u8]],
}

impl<F: Function, const BYTES: usize> Hashing for Hash<'_, '_, F, BYTES> {
    type Output = ();

    #[inline(always)]
    fn run<V: Words>(self) {
        let Self { inputs, outputs } = self;
        for (inputs, outputs) in inputs.chunks(V::STATES).zip(outputs.chunks_mut(V::STATES)) {
            hash_together::<V, F, BYTES>(inputs, outputs);
        }
    }
}

/// [`hash`] for up to `V::STATES` inputs.
#[inline(always)]
pub(super) fn hash_together<V: Words, F: Function, const BYTES: usize>(
    inputs: &[Padded<F, BYTES>],
    outputs: &mut [&mut [u8]],
) {
    let (absorbed, squeezed) = (inputs[0].blocks(), outputs[0].len().div_ceil(F::BLOCK));
    let mut sponges = Sponges::<V>::new();
    // The permutation after the last block of input is the one before the first block of output.
    for step in 0..absorbed + squeezed - 1 {
        if step < absorbed {
            let mut blocks = NO_BLOCKS;
            for (block, input) in blocks.iter_mut().zip(inputs) {
                *block = input.block(step);
            }
            sponges.absorb::<F>(&blocks);
        }
        sponges.permute();
        if step + 1 >= absorbed {
            sponges.squeeze::<F>(outputs, step + 1 - absorbed);
        }
    }
}
