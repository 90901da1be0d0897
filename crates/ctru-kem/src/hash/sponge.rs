//! SHAKE256 and SHA3-512 of one input with the crates `shake` and `sha3` or, in WebAssembly, with
//! our own permutation; and of several inputs on interleaved states.
//!
//! Source: FIPS 202, sections 4 to 6.

use core::marker::PhantomData;
use core::slice;

use sha3::digest::{FixedOutputReset, Update};
use shake::XofReader;
use shake::digest::ExtendableOutputReset;

use super::keccak::{LANES, States, permute};
use super::lanes::{Hashing, Lanes, MOST_STATES, Row, Vectors, Word};
use crate::wipe::{Secret, wipe};

/// A hash function on Keccak-f\[1600\].
pub(super) trait Function {
    /// Lanes per block.
    const RATE: usize;
    /// The byte after the input: the domain separation bits, then the first bit of the padding.
    const SUFFIX: u8;
    /// Bytes per block.
    const BLOCK: usize = 8 * Self::RATE;

    /// Fills `output` with the first bytes of the hash of `input`, by a crate. For SHA3-512,
    /// `output` has at most 64 bytes.
    fn hash(input: &[u8], output: &mut [u8]);
}

pub(super) struct Shake256;
pub(super) struct Sha3_512;

impl Function for Shake256 {
    const RATE: usize = 17;
    const SUFFIX: u8 = 0x1f;

    fn hash(input: &[u8], output: &mut [u8]) {
        let mut shake = shake::Shake256::default();
        shake.update(input);
        // This call takes `shake` by reference. A move would leave a copy of its state in memory,
        // which still holds the input.
        shake.finalize_xof_reset().read(output);
    }
}

impl Function for Sha3_512 {
    const RATE: usize = 9;
    const SUFFIX: u8 = 0x06;

    fn hash(input: &[u8], output: &mut [u8]) {
        let mut sha3 = sha3::Sha3_512::default();
        sha3.update(input);
        let mut digest = Secret::<[u8; 64]>::zeroed();
        // This call takes `sha3` by reference. A move would leave a copy of its state in memory.
        sha3.finalize_into_reset((&mut *digest).into());
        output.copy_from_slice(&digest[..output.len()]);
    }
}

/// An input of at most `BYTES - 1` bytes with its padding; wiped when dropped.
pub(super) struct Padded<F, const BYTES: usize> {
    bytes: [u8; BYTES],
    /// Bytes of the input without the padding.
    length: usize,
    function: PhantomData<F>,
}

impl<F: Function, const BYTES: usize> Padded<F, BYTES> {
    const WHOLE_BLOCKS: () = assert!(BYTES.is_multiple_of(F::BLOCK));

    /// Returns an empty buffer, which [`fill`](Self::fill) fills with an input.
    pub(super) const fn room() -> Self {
        let () = Self::WHOLE_BLOCKS;
        Self { bytes: [0; BYTES], length: 0, function: PhantomData }
    }

    /// Writes the concatenation of `parts` with its padding. It is written once.
    ///
    /// # Panics
    /// If the parts have more than `BYTES - 1` bytes together.
    pub(super) fn fill(&mut self, parts: &[&[u8]]) {
        self.length = parts.iter().map(|part| part.len()).sum::<usize>();
        let mut rest = &mut self.bytes[..];
        for part in parts {
            rest.split_off_mut(..part.len()).expect("room for the input").copy_from_slice(part);
        }
        self.bytes[self.length] = F::SUFFIX;
        let end = self.blocks() * F::BLOCK;
        self.bytes[end - 1] |= 0x80;
    }

    /// Returns the number of blocks.
    #[inline(always)]
    pub(super) fn blocks(&self) -> usize {
        self.length / F::BLOCK + 1
    }

    /// Fills `output` with the first bytes of the hash.
    pub(super) fn hash(&self, output: &mut [u8]) {
        if cfg!(target_family = "wasm") {
            hash_group(Word::ZERO, slice::from_ref(self), &mut [output]);
        } else {
            F::hash(&self.bytes[..self.length], output);
        }
    }

    /// Returns the lanes of block `index`.
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

/// `V::STATES` interleaved sponges that start from zero; wiped when dropped.
pub(super) struct Sponges<V: Lanes> {
    states: States<V>,
    /// One block of each state, on the way from vectors to bytes.
    rows: [Row; MOST_RATE],
}

/// The largest [`Function::RATE`].
const MOST_RATE: usize = Shake256::RATE;

/// One block for each state.
pub(super) type Blocks<'a> = [&'a [[u8; 8]]; MOST_STATES];

/// Blocks of zeros. Absorbing them leaves the states unchanged.
pub(super) const NO_BLOCKS: Blocks<'static> = [&[[0; 8]; MOST_RATE]; MOST_STATES];

impl<V: Lanes> Sponges<V> {
    #[inline(always)]
    pub(super) fn new(zero: V) -> Self {
        Self { states: [zero; LANES], rows: [[0; MOST_STATES]; MOST_RATE] }
    }

    #[inline(always)]
    pub(super) fn permute(&mut self) {
        permute(&mut self.states);
    }

    /// XORs block `i` into state `i`.
    #[inline(always)]
    pub(super) fn absorb<F: Function>(&mut self, blocks: &Blocks<'_>) {
        let blocks = blocks.map(|block| &block[..F::RATE]);
        for (lane, states) in self.states[..F::RATE].iter_mut().enumerate() {
            let mut row = [0; MOST_STATES];
            for state in 0..V::STATES {
                row[state] = u64::from_le_bytes(blocks[state][lane]);
            }
            *states = states.xor(states.load(&row));
        }
    }

    /// Sets state 0 to zero.
    #[inline(always)]
    pub(super) fn restart_first(&mut self) {
        for lanes in &mut self.states {
            let mut row = [0; MOST_STATES];
            lanes.store(&mut row);
            row[0] = 0;
            *lanes = lanes.load(&row);
        }
    }

    /// Writes block number `block` of output `i` from state `i`, for every output. The last block
    /// of an output may be shorter than `F::BLOCK`.
    #[inline(always)]
    pub(super) fn squeeze<F: Function>(&mut self, outputs: &mut [&mut [u8]], block: usize) {
        for (lanes, row) in self.states[..F::RATE].iter().zip(&mut self.rows) {
            lanes.store(row);
        }
        for (state, output) in outputs.iter_mut().enumerate() {
            let output = &mut output[block * F::BLOCK..];
            let wanted = output.len().min(F::BLOCK);
            let (lanes, last) = output[..wanted].as_chunks_mut::<8>();
            let mut rows = self.rows.iter();
            for (bytes, row) in lanes.iter_mut().zip(&mut rows) {
                *bytes = row[state].to_le_bytes();
            }
            if let Some(row) = rows.next() {
                last.copy_from_slice(&row[state].to_le_bytes()[..last.len()]);
            }
        }
    }
}

impl<V: Lanes> Drop for Sponges<V> {
    #[inline(always)]
    fn drop(&mut self) {
        let zero = self.states[0].splat(0);
        wipe(&mut self.states, zero);
        wipe(&mut self.rows, [0; MOST_STATES]);
    }
}

/// Fills each output with the first bytes of the hash of its input.
///
/// All inputs have the same number of bytes, and so have all outputs.
pub(super) fn hash<F: Function, const BYTES: usize>(
    inputs: &[Padded<F, BYTES>],
    outputs: &mut [&mut [u8]],
) {
    Vectors::in_use().run(inputs.len(), Hash { inputs, outputs });
}

/// The inputs and outputs of [`hash`].
pub(super) struct Hash<'a, 'b, F, const BYTES: usize> {
    pub(super) inputs: &'a [Padded<F, BYTES>],
    pub(super) outputs: &'a mut [&'b mut [u8]],
}

impl<F: Function, const BYTES: usize> Hashing for Hash<'_, '_, F, BYTES> {
    fn one_by_one(self) {
        for (input, output) in self.inputs.iter().zip(self.outputs) {
            input.hash(output);
        }
    }

    #[inline(always)]
    fn interleaved<V: Lanes>(self, zero: V) {
        let Self { inputs, outputs } = self;
        for (inputs, outputs) in inputs.chunks(V::STATES).zip(outputs.chunks_mut(V::STATES)) {
            hash_group(zero, inputs, outputs);
        }
    }
}

/// Hashes at most `V::STATES` inputs, which have the same number of blocks.
#[inline(always)]
fn hash_group<V: Lanes, F: Function, const BYTES: usize>(
    zero: V,
    inputs: &[Padded<F, BYTES>],
    outputs: &mut [&mut [u8]],
) {
    let (absorbed, squeezed) = (inputs[0].blocks(), outputs[0].len().div_ceil(F::BLOCK));
    let mut sponges = Sponges::new(zero);
    // The permutation after the last block of input is also the one before the first block of
    // output.
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

#[cfg(test)]
mod tests {
    use core::mem::ManuallyDrop;

    use super::*;

    /// Drops a value in its place.
    ///
    /// # Safety
    /// The caller only reads fields afterwards that are numbers.
    #[allow(unsafe_code)]
    unsafe fn dropped<T>(value: T) -> ManuallyDrop<T> {
        let mut value = ManuallyDrop::new(value);
        // SAFETY: nothing drops the value again.
        unsafe { ManuallyDrop::drop(&mut value) };
        value
    }

    #[test]
    #[allow(unsafe_code)]
    fn inputs_and_states_are_wiped() {
        let mut input = Padded::<Shake256, { Shake256::BLOCK }>::room();
        input.fill(&[b"a secret"]);
        let mut sponges = Sponges::new(Word::ZERO);
        let mut blocks = NO_BLOCKS;
        blocks[0] = input.block(0);
        sponges.absorb::<Shake256>(&blocks);
        sponges.permute();
        sponges.squeeze::<Shake256>(&mut [&mut [0; Shake256::BLOCK]], 0);
        let lanes = |sponges: &Sponges<Word>| {
            sponges.states.map(|lanes| {
                let mut row = [0; MOST_STATES];
                lanes.store(&mut row);
                row[0]
            })
        };
        assert!(lanes(&sponges).iter().all(|&lane| lane != 0));
        assert!(sponges.rows.iter().all(|row| row[0] != 0));

        // SAFETY: the test reads bytes and lanes.
        let (input, sponges) = unsafe { (dropped(input), dropped(sponges)) };
        assert!(input.bytes.iter().all(|&byte| byte == 0));
        assert_eq!(lanes(&sponges), [0; LANES]);
        assert!(sponges.rows.as_flattened().iter().all(|&lane| lane == 0));
    }
}
