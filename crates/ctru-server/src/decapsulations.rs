//! Counts the decapsulations of each private key, in a table of bounded size.

use ctru_kem::Parameters;
use std::collections::HashMap;
use std::sync::Mutex;

use sha2::{Digest, Sha256};

use crate::fault::Fault;
use crate::identity::Owner;
use crate::lock;
use crate::scheme;

/// The largest number of entries in the table: one for each key, and one for each client.
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

/// The decapsulations that the private keys of each client have done, and their limit.
///
/// A count in the table is never too small. When the table is full, it drops entries of the client
/// with the most keys: the half with the smallest counts. From then on, each key of this client
/// that is not in the table counts as if it had the largest dropped count. So a client with many
/// keys affects only itself.
#[derive(Debug)]
pub(crate) struct Decapsulations {
    /// The limit of every key. Without it, keys have the limit of their scheme, if it has one.
    limit: Option<u64>,
    capacity: usize,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    clients: HashMap<Owner, Counts>,
    /// The number of clients and keys.
    entries: usize,
    /// The count of the keys of clients that are not in the table.
    absent: u64,
    /// The largest count that a key has reached.
    most: u64,
}

/// The counts of one client.
#[derive(Debug)]
struct Counts {
    by_key: HashMap<KeyHash, u64>,
    /// The count of keys that are not in the table.
    absent: u64,
}

impl Decapsulations {
    /// Returns a table with this limit for each key, or with those of the schemes.
    pub(crate) fn new(limit: Option<u64>) -> Self {
        Self { limit, capacity: CAPACITY, table: Mutex::default() }
    }

    /// Returns the limit of keys of a scheme. Without one, nothing is counted.
    pub(crate) fn limit(&self, scheme: Parameters) -> Option<u64> {
        self.limit.or_else(|| scheme::max_decapsulations(scheme))
    }

    /// Returns the largest number of decapsulations of a key.
    pub(crate) fn most(&self) -> u64 {
        lock(&self.table).most
    }

    /// Counts `count` decapsulations of each key of a client. A key that occurs several times
    /// counts once for each time. Warns of each key that reaches the half of its limit.
    ///
    /// # Errors
    /// [`Fault::KeySpent`] if a key would exceed the limit; then nothing is counted.
    pub(crate) fn spend(
        &self,
        scheme: Parameters,
        owner: Owner,
        keys: &[KeyHash],
        count: usize,
    ) -> Result<(), Fault> {
        let Some(limit) = self.limit(scheme) else { return Ok(()) };
        let (count, half) = (count as u64, limit.div_ceil(2));
        let (mut most, mut at_half) = (0, Vec::new());
        let mut table = lock(&self.table);
        for (index, &key) in keys.iter().enumerate() {
            let before = table.count(owner, key);
            let after = before.saturating_add(count);
            if after > limit {
                keys[..index].iter().for_each(|&key| table.take_back(owner, key, count));
                return Err(Fault::KeySpent);
            }
            table.set(owner, key, after, self.capacity);
            most = most.max(after);
            if before < half && half <= after {
                at_half.push(key);
            }
        }
        table.most = table.most.max(most);
        drop(table);
        for KeyHash(hash) in at_half {
            let key = const_hex::encode(hash);
            tracing::warn!(%scheme, limit, key, "a key has done half of its decapsulations");
        }
        Ok(())
    }
}

impl Table {
    fn count(&self, owner: Owner, key: KeyHash) -> u64 {
        self.clients
            .get(&owner)
            .map_or(self.absent, |counts| counts.by_key.get(&key).copied().unwrap_or(counts.absent))
    }

    fn set(&mut self, owner: Owner, key: KeyHash, count: u64, capacity: usize) {
        let has = |counts: &Counts| counts.by_key.contains_key(&key);
        if !self.clients.get(&owner).is_some_and(has) {
            // One for the key, and one for the client, which may be new.
            while self.entries + 2 > capacity {
                self.forget();
            }
        }
        let absent = self.absent;
        let counts = self.clients.entry(owner).or_insert_with(|| {
            self.entries += 1;
            Counts { by_key: HashMap::new(), absent }
        });
        if counts.by_key.insert(key, count).is_none() {
            self.entries += 1;
        }
    }

    /// Subtracts a count again, unless the table has dropped the key since.
    fn take_back(&mut self, owner: Owner, key: KeyHash, count: u64) {
        let counts = self.clients.get_mut(&owner);
        if let Some(before) = counts.and_then(|counts| counts.by_key.get_mut(&key)) {
            *before = before.saturating_sub(count);
        }
    }

    /// Drops the keys with the smallest counts of the client with the most keys, or a client
    /// without keys.
    fn forget(&mut self) {
        let clients = self.clients.iter_mut();
        let Some((&owner, counts)) = clients.max_by_key(|(_, counts)| counts.by_key.len()) else {
            return;
        };
        if counts.by_key.is_empty() {
            self.absent = self.absent.max(counts.absent);
            self.clients.remove(&owner);
            self.entries -= 1;
        } else {
            self.entries -= counts.forget_half();
        }
    }
}

impl Counts {
    /// Drops the half of the keys with the smallest counts, at least one, and returns how many.
    /// There must be a key.
    fn forget_half(&mut self) -> usize {
        let mut all: Vec<u64> = self.by_key.values().copied().collect();
        let middle = all.len() / 2;
        let (_, &mut middle, _) = all.select_nth_unstable(middle);
        self.by_key.retain(|_, count| *count > middle);
        // Otherwise each client would keep the memory of the most keys that it ever had.
        self.by_key.shrink_to_fit();
        self.absent = self.absent.max(middle);
        all.len() - self.by_key.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: Owner = Owner([1; 32]);

    fn spend(
        counted: &Decapsulations,
        owner: Owner,
        keys: &[KeyHash],
        count: usize,
    ) -> Result<(), Fault> {
        counted.spend(scheme(0), owner, keys, count)
    }

    fn scheme(index: usize) -> Parameters {
        Parameters::ALL[index]
    }

    fn key(number: u32) -> KeyHash {
        KeyHash::of(&number.to_le_bytes())
    }

    #[test]
    fn a_key_does_as_many_decapsulations_as_its_limit() {
        let counted = Decapsulations::new(Some(10));
        let (one, two) = ([key(1)], [key(2)]);
        assert_eq!(spend(&counted, OWNER, &one, 7), Ok(()));
        assert_eq!(spend(&counted, OWNER, &one, 4), Err(Fault::KeySpent));
        assert_eq!(spend(&counted, OWNER, &one, 3), Ok(()));
        assert_eq!(spend(&counted, OWNER, &one, 1), Err(Fault::KeySpent));
        assert_eq!(spend(&counted, OWNER, &two, 10), Ok(()));
        assert_eq!(spend(&counted, OWNER, &two, usize::MAX), Err(Fault::KeySpent));
    }

    /// Without an option, keys of CTRU-Prime-1277 have the limit of docs/security.md, and others
    /// none.
    #[test]
    fn sets_have_limits_of_their_own() {
        let counted = Decapsulations::new(None);
        let half = 1_usize << 39;
        for (index, limit) in
            [None, None, None, None, Some(2 * half), Some(2 * half)].into_iter().enumerate()
        {
            assert_eq!(counted.limit(scheme(index)), limit.map(|limit| limit as u64));
            let spend = |count| counted.spend(scheme(index), OWNER, &[key(index as u32)], count);
            assert_eq!(spend(half), Ok(()));
            assert_eq!(spend(half), Ok(()));
            assert_eq!(spend(1).is_err(), limit.is_some());
            assert_eq!(spend(usize::MAX).is_err(), limit.is_some());
        }
        assert_eq!(counted.most(), 2 * half as u64);
        assert_eq!(Decapsulations::new(Some(5)).limit(scheme(0)), Some(5));
        assert_eq!(Decapsulations::new(Some(0)).spend(scheme(0), OWNER, &[key(0)], 0), Ok(()));
    }

    /// A call that is refused for one of its keys spends nothing of the others.
    #[test]
    fn all_keys_of_a_call_are_counted_or_none() {
        let counted = Decapsulations::new(Some(2));
        let (one, two) = (key(1), key(2));
        assert_eq!(spend(&counted, OWNER, &[two, two], 1), Ok(()));
        assert_eq!(spend(&counted, OWNER, &[one, one, two], 1), Err(Fault::KeySpent));
        assert_eq!(spend(&counted, OWNER, &[one, one, one], 1), Err(Fault::KeySpent));
        assert_eq!(spend(&counted, OWNER, &[one, one], 1), Ok(()));
        assert_eq!(spend(&counted, OWNER, &[one], 1), Err(Fault::KeySpent));
    }

    /// Compares a small table with exact counts, on many keys of three clients in turn.
    #[test]
    fn a_full_table_never_counts_too_few() {
        let counted = Decapsulations { capacity: 12, ..Decapsulations::new(Some(20)) };
        let mut exact = HashMap::new();
        for step in 0..10_000_u32 {
            let key = key(step.wrapping_mul(2_654_435_761) >> 26);
            let owner = Owner([(step % 7 % 3) as u8; 32]);
            if spend(&counted, owner, &[key], 1).is_ok() {
                *exact.entry((owner, key)).or_insert(0) += 1;
            }
            let table = lock(&counted.table);
            let keys: usize = table.clients.values().map(|counts| counts.by_key.len()).sum();
            assert_eq!(table.entries, table.clients.len() + keys);
            assert!(table.entries <= 12);
            for (&(owner, key), &count) in &exact {
                assert!(table.count(owner, key) >= count);
            }
        }
        assert!(exact.values().all(|&count| count <= 20));
    }

    /// A client that uses many keys up to their limit does not spend those of others.
    #[test]
    fn a_client_that_fills_the_table_disturbs_no_other() {
        let counted = Decapsulations { capacity: 64, ..Decapsulations::new(Some(10)) };
        let other = Owner([2; 32]);
        assert_eq!(spend(&counted, other, &[key(0)], 9), Ok(()));
        let flood = (1..500).filter(|&number| spend(&counted, OWNER, &[key(number)], 10).is_ok());
        // From then on, the client has forgotten keys that were spent.
        assert_eq!(flood.count(), 61);
        assert_eq!(spend(&counted, other, &[key(1000)], 10), Ok(()));
        assert_eq!(spend(&counted, other, &[key(0)], 1), Ok(()));
        assert_eq!(spend(&counted, other, &[key(0)], 1), Err(Fault::KeySpent));
    }

    /// Clients that come once each are forgotten, and their counts are not.
    #[test]
    fn many_clients_fit() {
        let counted = Decapsulations { capacity: 64, ..Decapsulations::new(Some(10)) };
        for number in 0..200 {
            let _ = spend(&counted, Owner([number; 32]), &[key(7)], 1);
            assert!(lock(&counted.table).entries <= 64);
        }
        let table = lock(&counted.table);
        assert!((0..200).all(|number| table.count(Owner([number; 32]), key(7)) >= 1));
    }
}
