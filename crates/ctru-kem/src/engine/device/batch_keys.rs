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

#[cfg(test)]
mod tests {
    use std::vec;

    use super::*;

    #[test]
    fn a_single_key_is_on_every_device_and_others_are_in_chunks() {
        let single = LoadedChunks { chunks: vec!["on 0", "on 1"], keys: 1, chunk: 8 };
        let of_single = [(0, 0), (1, 1), (2, 0), (3, 1)].map(|(number, of)| *single.of(number, of));
        assert_eq!(of_single, ["on 0", "on 1", "on 0", "on 1"]);
        let several = LoadedChunks { chunks: vec!["a", "b", "c"], keys: 20, chunk: 8 };
        let of_several = [(0, 0), (1, 1), (2, 0)].map(|(number, of)| *several.of(number, of));
        assert_eq!(of_several, ["a", "b", "c"]);
        assert_eq!((single.len(), several.len()), (1, 20));
    }

    #[test]
    fn several_keys_are_for_batches_with_the_same_chunks() {
        let of =
            |keys, batch| LoadedChunks { chunks: vec![()], keys, chunk: 8 }.check_chunks(batch);
        assert!(of(1, 9).is_ok() && of(2, 8).is_ok());
        assert!(matches!(of(2, 9), Err(EngineError::Chunks { loaded: 8, batch: 9 })));
        assert!(matches!(of(2, 7), Err(EngineError::Chunks { loaded: 8, batch: 7 })));
    }

    #[test]
    fn chunks_get_their_rows() {
        const ROW: usize = 3;
        let rows: Vec<u8> = (0..30).collect();
        let faults = Faults::default();
        let chunk = Chunk { number: 1, device: 0, operations: 4..6, batch: 10 };
        let of = |keys: BatchKeys<'_, &str>| match keys.of_chunk(&chunk, ROW) {
            ChunkKeys::Host(rows, check) => (rows.to_vec(), check.map(|check| check.start)),
            ChunkKeys::Loaded(keys, count) => (keys.as_bytes().to_vec(), Some(count as usize)),
        };
        assert_eq!(of(BatchKeys::One(&rows[..ROW])), (rows[..ROW].to_vec(), None));
        assert_eq!(of(BatchKeys::Each(&rows)), (rows[12..18].to_vec(), None));
        assert_eq!(of(BatchKeys::Unchecked(&rows, &faults)), (rows[12..18].to_vec(), Some(4)));
        let loaded = LoadedChunks { chunks: vec!["a", "b"], keys: 10, chunk: 4 };
        assert_eq!(of(BatchKeys::Loaded(&loaded)), (b"b".to_vec(), Some(2)));
        let single = LoadedChunks { chunks: vec!["a"], keys: 1, chunk: 4 };
        assert_eq!(of(BatchKeys::Loaded(&single)), (b"a".to_vec(), Some(1)));
    }
}
