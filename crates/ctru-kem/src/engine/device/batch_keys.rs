//! The keys of a batch: encoded keys of the caller, or decoded ones on the devices.

use core::ops::Range;
use std::vec::Vec;

use super::check::{ChunkCheck, Faults};
use super::deal::Chunk;
use super::kem::ChunkKeys;
use crate::engine::EngineError;

/// Decoded keys on the devices, cut into the chunks of the batches that use them.
pub(super) struct LoadedChunks<K> {
    /// If there is a single key, one copy per device; otherwise, the keys of each chunk.
    pub(super) chunks: Vec<K>,
    /// The number of keys.
    pub(super) keys: usize,
    /// The number of keys of each chunk except the last one.
    pub(super) chunk: usize,
}

impl<K> LoadedChunks<K> {
    /// Returns the number of keys.
    pub(super) fn len(&self) -> usize {
        self.keys
    }

    /// Returns the keys of chunk `number` of a batch, which device `device` takes.
    pub(super) fn of(&self, number: usize, device: usize) -> &K {
        let single = device % self.chunks.len();
        &self.chunks[if self.keys == 1 { single } else { number }]
    }

    /// Checks that several keys were loaded in chunks of `batch` operations.
    ///
    /// # Errors
    /// [`EngineError::Chunks`] if they were not.
    pub(super) fn check_chunks(&self, batch: usize) -> Result<(), EngineError> {
        match self.keys > 1 && self.chunk != batch {
            true => Err(EngineError::Chunks { loaded: self.chunk, batch }),
            false => Ok(()),
        }
    }
}

/// The keys of a batch: one key for all operations, or one key per operation.
pub(super) enum BatchKeys<'a, K> {
    /// One encoded key.
    One(&'a [u8]),
    /// Encoded keys, one after the other.
    Each(&'a [u8]),
    /// Rows that may not be keys, one after the other, which the devices check.
    Unchecked(&'a [u8], &'a Faults),
    /// Decoded keys on the devices.
    Loaded(&'a LoadedChunks<K>),
}

impl<K> BatchKeys<'_, K> {
    /// Returns the keys of a chunk. An encoded key has `row` bytes.
    pub(super) fn of_chunk(&self, chunk: &Chunk, row: usize) -> ChunkKeys<'_, K> {
        let Range { start, end } = chunk.operations;
        match self {
            // Every chunk decodes the key again. It would take longer to wait until another chunk
            // has decoded the key.
            Self::One(key) => ChunkKeys::Host(key, None),
            Self::Each(keys) => ChunkKeys::Host(&keys[start * row..end * row], None),
            Self::Unchecked(rows, faults) => {
                let check = ChunkCheck { faults, start };
                ChunkKeys::Host(&rows[start * row..end * row], Some(check))
            }
            Self::Loaded(loaded) => {
                let keys = if loaded.keys == 1 { 1 } else { chunk.operations.len() as u32 };
                ChunkKeys::Loaded(loaded.of(chunk.number, chunk.device), keys)
            }
        }
    }
}
