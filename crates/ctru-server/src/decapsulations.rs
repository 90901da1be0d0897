//! Counts the decapsulations of each private key, in a table of bounded size.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};

use crate::fault::Fault;

/// The most keys in the table.
const CAPACITY: usize = 1 << 16;

/// The beginning of the SHA-256 of a public key, by which decapsulations are counted.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct KeyHash([u8; 16]);

impl KeyHash {
    /// Returns the hash of a public key.
    pub(crate) fn of(public_key: &[u8]) -> Self {
        let hash: [u8; 32] = Sha256::digest(public_key).into();
        Self(hash.first_chunk().copied().unwrap_or_default())
    }
}

/// The decapsulations that private keys have done, and their limit.
///
/// The table never counts too few. When it is full, it forgets the half of the keys with the
/// smallest counts, and from then on takes the largest forgotten count for the count of every key
/// that is not in the table.
#[derive(Debug)]
pub(crate) struct Decapsulations {
    limit: u64,
    capacity: usize,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    by_key: HashMap<KeyHash, u64>,
    /// The count of keys that are not in the table.
    absent: u64,
}

impl Decapsulations {
    /// Returns a table with this limit for each key.
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, capacity: CAPACITY, counts: Mutex::default() }
    }

    /// Counts `count` decapsulations of a key.
    ///
    /// # Errors
    /// [`Fault::KeySpent`] if the key would exceed the limit; then nothing is counted.
    pub(crate) fn spend(&self, key: KeyHash, count: usize) -> Result<(), Fault> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let done = counts.by_key.get(&key).copied().unwrap_or(counts.absent);
        let after = done.saturating_add(count as u64);
        if after > self.limit {
            return Err(Fault::KeySpent);
        }
        if counts.by_key.len() == self.capacity && !counts.by_key.contains_key(&key) {
            counts.forget_half();
        }
        counts.by_key.insert(key, after);
        Ok(())
    }
}

impl Counts {
    fn forget_half(&mut self) {
        let mut all: Vec<u64> = self.by_key.values().copied().collect();
        let middle = all.len() / 2;
        let (_, &mut middle, _) = all.select_nth_unstable(middle);
        self.by_key.retain(|_, count| *count > middle);
        self.absent = self.absent.max(middle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_does_as_many_decapsulations_as_its_limit() {
        let counted = Decapsulations::new(10);
        let (one, two) = (KeyHash::of(b"one"), KeyHash::of(b"two"));
        assert_eq!(counted.spend(one, 7), Ok(()));
        assert_eq!(counted.spend(one, 4), Err(Fault::KeySpent));
        assert_eq!(counted.spend(one, 3), Ok(()));
        assert_eq!(counted.spend(one, 1), Err(Fault::KeySpent));
        assert_eq!(counted.spend(two, 10), Ok(()));
        assert_eq!(counted.spend(two, usize::MAX), Err(Fault::KeySpent));
    }

    /// Compares a small table with exact counts, on many keys in turn.
    #[test]
    fn a_full_table_never_counts_too_few() {
        let counted = Decapsulations { capacity: 8, ..Decapsulations::new(20) };
        let mut exact = HashMap::new();
        for step in 0..10_000_u32 {
            let key = KeyHash::of(&(step.wrapping_mul(2_654_435_761) >> 26).to_le_bytes());
            if counted.spend(key, 1).is_ok() {
                *exact.entry(key).or_insert(0) += 1;
            }
            let counts = counted.counts.lock().unwrap();
            assert!(counts.by_key.len() <= 8);
            for (key, count) in &exact {
                assert!(counts.by_key.get(key).unwrap_or(&counts.absent) >= count);
            }
        }
        assert!(exact.values().all(|&count| count <= 20));
    }
}
