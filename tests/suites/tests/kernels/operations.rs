//! Generates inputs of the hashing kernels and launches the kernels on them.

use ctru_gpu_kernels::descriptor::{Batch, Kernel, RingKernels};
use ctru_gpu_kernels::emulator::Buffer;
use ctru_gpu_kernels::kernels::{EXPANSION_WORDS, ID_BYTES, SEED_WORDS, coin_words, message_words};
use ctru_math::Arithmetic;
use ctru_tests::hashes;
use ctru_tests::hashes::shake256;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::device;
use crate::strategies::bytes;

pub(crate) const SEED_BYTES: usize = 8 * SEED_WORDS as usize;

/// Byte strings of equal length.
pub(crate) type Rows = Vec<Vec<u8>>;

/// Messages with their unused bytes, shared secrets and coins of encapsulations.
pub(crate) type Derived = (Rows, Rows, Rows);

/// Returns the two halves of `SHA3-512(parts)`.
pub(crate) fn sha3_512(parts: &[&[u8]]) -> (Vec<u8>, Vec<u8>) {
    let digest = hashes::sha3_512(&parts.concat());
    (digest[..SEED_BYTES].to_vec(), digest[SEED_BYTES..].to_vec())
}

/// Returns an array of the rows as 64-bit words. The last word of each row is filled up with zeros.
pub(crate) fn words(rows: &[Vec<u8>]) -> Buffer {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    Buffer::new(&rows.iter().flat_map(|row| row.chunks(8).map(word)).collect::<Vec<u64>>())
}

/// Returns an array with the rows one after another, filled up with nonsense to a multiple of 4
/// bytes.
pub(crate) fn strings(rows: &[Vec<u8>]) -> Buffer {
    let mut all = rows.concat();
    all.resize(all.len().next_multiple_of(4), 0xa7);
    Buffer::new(&all)
}

/// Returns an output array of 64-bit words before a launch, filled with a pattern.
pub(crate) fn unfilled(rows: usize, words: u32) -> Buffer {
    Buffer::new(&vec![0xdead_beef_dead_beef_u64; rows * words as usize])
}

/// Returns the rows of a buffer as bytes.
pub(crate) fn rows(buffer: &Buffer, words: u32) -> Rows {
    let row = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
    buffer.content::<u64>().chunks(words as usize).map(row).collect()
}

/// Returns the first `bytes` bytes of every row.
pub(crate) fn cut(mut rows: Rows, bytes: usize) -> Rows {
    rows.iter_mut().for_each(|row| row.truncate(bytes));
    rows
}

pub(crate) fn launch(kernel: &Kernel, buffers: &[&Buffer], batch: Batch) {
    device::launch(kernel, buffers, batch);
}

/// Returns a batch of `count` operations that share one key or have one key each.
pub(crate) fn batch(count: usize, keys: usize) -> Batch {
    assert!(keys == 1 || keys == count);
    if keys == 1 { Batch::shared(count as u32) } else { Batch::each(count as u32) }
}

/// Secrets and public data of operations that share one key or have one key each.
#[derive(Clone, Debug)]
pub(crate) struct Operations {
    pub(crate) batch: Batch,
    /// The input from which seeds are expanded, up to the row.
    pub(crate) expansion: Vec<u8>,
    /// The row of the first operation.
    pub(crate) first: u64,
    pub(crate) key_pair_seeds: Rows,
    pub(crate) seeds: Rows,
    pub(crate) messages: Rows,
    pub(crate) ids: Rows,
    pub(crate) z: Rows,
    pub(crate) ciphertexts: Rows,
}

impl Operations {
    pub(crate) fn any<R: Arithmetic>(count: usize, keys: usize) -> impl Strategy<Value = Self> {
        let rows = |count, length| vec(bytes(length), count);
        (
            (bytes(8 * EXPANSION_WORDS as usize - 8), 0..=u64::MAX - (count - 1) as u64),
            rows(count, 2 * SEED_BYTES),
            rows(count, SEED_BYTES),
            rows(count, R::MESSAGE_BYTES),
            rows(keys, ID_BYTES as usize),
            rows(keys, SEED_BYTES),
            rows(count, R::CIPHERTEXT_BYTES),
        )
            .prop_map(
                move |(expansion, key_pair_seeds, seeds, messages, ids, z, ciphertexts)| Self {
                    batch: batch(count, keys),
                    expansion: expansion.0,
                    first: expansion.1,
                    key_pair_seeds,
                    seeds,
                    messages,
                    ids,
                    z,
                    ciphertexts,
                },
            )
    }

    /// Returns one random value of [`any`](Self::any).
    pub(crate) fn draw<R: Arithmetic>(count: usize, keys: usize) -> Self {
        Self::any::<R>(count, keys).new_tree(&mut TestRunner::default()).unwrap().current()
    }

    pub(crate) fn count(&self) -> usize {
        self.batch.operations() as usize
    }

    pub(crate) fn id(&self, operation: usize) -> &[u8] {
        &self.ids[self.batch.row(operation as u32) as usize]
    }

    pub(crate) fn id_buffer(&self) -> Buffer {
        Buffer::new(&self.ids.concat())
    }

    /// Returns the array from which the kernels expand the seeds of the batch.
    pub(crate) fn expansion_buffer(&self) -> Buffer {
        words(&[[&self.expansion[..], &self.first.to_le_bytes()].concat()])
    }

    /// Runs a kernel that derives shared secrets and coins from messages.
    pub(crate) fn decapsulate<R: Arithmetic>(&self, kernels: &RingKernels) -> (Rows, Rows) {
        let secrets = unfilled(self.count(), SEED_WORDS);
        let coins = unfilled(self.count(), coin_words::<R>());
        let buffers = [&words(&self.messages), &self.id_buffer(), &secrets, &coins];
        launch(kernels.of::<R>(), &buffers, self.batch);
        (rows(&secrets, SEED_WORDS), cut(rows(&coins, coin_words::<R>()), R::COIN_BYTES))
    }

    /// Returns the first bytes of the seed that operation `i` expands.
    pub(crate) fn expanded(&self, i: usize, id: &[u8], length: usize) -> Vec<u8> {
        let row = (self.first + i as u64).to_le_bytes();
        shake256(&[&self.expansion, &row[..], id].concat(), length)
    }

    /// Runs a kernel that derives messages, shared secrets and coins from seeds.
    pub(crate) fn encapsulate<R: Arithmetic>(&self, kernels: &RingKernels) -> Derived {
        let messages = unfilled(self.count(), message_words::<R>());
        let secrets = unfilled(self.count(), SEED_WORDS);
        let coins = unfilled(self.count(), coin_words::<R>());
        let buffers = [&words(&self.seeds), &self.id_buffer(), &messages, &secrets, &coins];
        launch(kernels.of::<R>(), &buffers, self.batch);
        (
            rows(&messages, message_words::<R>()),
            rows(&secrets, SEED_WORDS),
            cut(rows(&coins, coin_words::<R>()), R::COIN_BYTES),
        )
    }

    /// Runs a kernel that computes rejection secrets from ciphertexts.
    pub(crate) fn reject<R: Arithmetic>(&self, kernels: &RingKernels) -> Rows {
        let secrets = unfilled(self.count(), SEED_WORDS);
        let ciphertexts = strings(&self.ciphertexts);
        let buffers = [&self.id_buffer(), &words(&self.z), &ciphertexts, &secrets];
        launch(kernels.of::<R>(), &buffers, self.batch);
        rows(&secrets, SEED_WORDS)
    }
}
