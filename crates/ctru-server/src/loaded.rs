//! Keys that clients keep ready on the engine: a table of bounded size, whose entries expire.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::decapsulations::KeyHash;
use crate::fault::Fault;
use crate::identity::Owner;
use crate::scheme::Scheme;

/// Keys on the engine.
#[derive(Clone)]
pub(crate) struct Loaded {
    /// The scheme of the keys.
    pub(crate) scheme: Scheme,
    /// The number of keys.
    pub(crate) count: usize,
    /// The hashes of the public keys, for private keys whose decapsulations are counted.
    pub(crate) hashes: Option<Arc<[KeyHash]>>,
    /// The keys, public or private.
    pub(crate) keys: Side,
}

/// Loaded keys of the engine, as a type that only the engine knows.
#[derive(Clone)]
pub(crate) enum Side {
    Public(Arc<dyn Any + Send + Sync>),
    Private(Arc<dyn Any + Send + Sync>),
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Loaded({} keys of {})", self.count, self.scheme)
    }
}

/// The limits of a [`LoadedKeys`].
#[derive(Copy, Clone, Debug)]
pub(crate) struct Limits {
    /// The most keys of all clients.
    pub(crate) keys: usize,
    /// The most keys of one client.
    pub(crate) keys_per_client: usize,
    /// How long keys stay without use.
    pub(crate) idle: Duration,
}

/// The loaded keys of all clients, by name.
#[derive(Debug)]
pub(crate) struct LoadedKeys {
    limits: Limits,
    entries: Mutex<HashMap<[u8; 16], Entry>>,
}

#[derive(Debug)]
struct Entry {
    owner: Owner,
    loaded: Loaded,
    used: Instant,
}

impl LoadedKeys {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, entries: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 16], Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how long keys stay without use.
    pub(crate) fn idle(&self) -> Duration {
        self.limits.idle
    }

    /// Returns the number of keys.
    pub(crate) fn count(&self) -> usize {
        self.lock().values().map(|entry| entry.loaded.count).sum()
    }

    /// Checks that there is room for `count` more keys of a client.
    ///
    /// # Errors
    /// [`Fault::KeysFull`] if there is not.
    pub(crate) fn check_room(&self, owner: Owner, count: usize) -> Result<(), Fault> {
        let entries = self.lock();
        let keys = |all: bool| -> usize {
            let counted = entries.values().filter(|entry| all || entry.owner == owner);
            counted.map(|entry| entry.loaded.count).sum()
        };
        let Limits { keys: most, keys_per_client, .. } = self.limits;
        if count > most.saturating_sub(keys(true))
            || count > keys_per_client.saturating_sub(keys(false))
        {
            return Err(Fault::KeysFull);
        }
        Ok(())
    }

    /// Keeps keys, and returns their name: 32 hexadecimal digits.
    ///
    /// # Errors
    /// [`Fault::KeysFull`] if there is no room, [`Fault::Internal`] if the system provides no
    /// randomness.
    pub(crate) fn insert(
        &self,
        owner: Owner,
        loaded: Loaded,
        now: Instant,
    ) -> Result<String, Fault> {
        let mut name = [0; 16];
        getrandom::fill(&mut name).map_err(|_| Fault::Internal)?;
        self.check_room(owner, loaded.count)?;
        self.lock().insert(name, Entry { owner, loaded, used: now });
        Ok(const_hex::encode(name))
    }

    /// Returns the keys with this name, if they belong to `owner`.
    ///
    /// # Errors
    /// [`Fault::NotLoaded`] if there are none.
    pub(crate) fn get(&self, owner: Owner, name: &str, now: Instant) -> Result<Loaded, Fault> {
        let key = read(name)?;
        let mut entries = self.lock();
        let entry = entries.get_mut(&key).filter(|entry| entry.owner == owner);
        let entry = entry.ok_or(Fault::NotLoaded)?;
        if now.saturating_duration_since(entry.used) > self.limits.idle {
            return Err(Fault::NotLoaded);
        }
        entry.used = now;
        Ok(entry.loaded.clone())
    }

    /// Takes the keys with this name out, if they belong to `owner`. Dropping them can take long.
    ///
    /// # Errors
    /// [`Fault::NotLoaded`] if there are none.
    pub(crate) fn remove(&self, owner: Owner, name: &str) -> Result<Loaded, Fault> {
        let key = read(name)?;
        let mut entries = self.lock();
        if entries.get(&key).is_none_or(|entry| entry.owner != owner) {
            return Err(Fault::NotLoaded);
        }
        entries.remove(&key).map(|entry| entry.loaded).ok_or(Fault::NotLoaded)
    }

    /// Takes out the keys that nobody has used for a long time. Dropping them can take long.
    pub(crate) fn expired(&self, now: Instant) -> Vec<Loaded> {
        let idle = self.limits.idle;
        let is_old = |entry: &Entry| now.saturating_duration_since(entry.used) > idle;
        let mut entries = self.lock();
        entries.extract_if(|_, entry| is_old(entry)).map(|(_, entry)| entry.loaded).collect()
    }

    /// Forgets all keys.
    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *self.lock());
        drop(all);
    }
}

fn read(name: &str) -> Result<[u8; 16], Fault> {
    let mut key = [0; 16];
    const_hex::decode_to_slice(name, &mut key).map_err(|_| Fault::NotLoaded)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(count: usize) -> Loaded {
        let scheme = Scheme::all().next().unwrap();
        Loaded { scheme, count, hashes: None, keys: Side::Public(Arc::new(())) }
    }

    #[test]
    fn keys_belong_to_their_owner_and_expire() {
        let limits = Limits { keys: 5, keys_per_client: 3, idle: Duration::from_secs(10) };
        let table = LoadedKeys::new(limits);
        let (one, two, three) = (Owner([1; 32]), Owner([2; 32]), Owner([3; 32]));
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let name = table.insert(one, loaded(3), start).unwrap();
        assert_eq!(name.len(), 32);
        assert_eq!(table.insert(one, loaded(1), start).unwrap_err(), Fault::KeysFull);
        assert_eq!(table.insert(two, loaded(3), start).unwrap_err(), Fault::KeysFull);
        let other = table.insert(two, loaded(2), start).unwrap();
        assert_eq!(table.get(two, &name, start).unwrap_err(), Fault::NotLoaded);
        assert_eq!(table.remove(two, &name).unwrap_err(), Fault::NotLoaded);
        assert_eq!(table.get(one, "none", start).unwrap_err(), Fault::NotLoaded);
        assert_eq!(table.get(one, &name, at(9)).unwrap().count, 3);
        assert_eq!(table.get(one, &name, at(19)).unwrap().count, 3);
        assert_eq!(table.get(two, &other, at(19)).unwrap_err(), Fault::NotLoaded);
        assert!(table.insert(three, loaded(2), at(19)).is_err());
        assert_eq!(table.expired(at(19)).len(), 1);
        assert!(table.insert(three, loaded(2), at(19)).is_ok());
        assert_eq!(table.count(), 5);
        assert_eq!(table.remove(one, &name).unwrap().count, 3);
        assert_eq!(table.get(one, &name, at(19)).unwrap_err(), Fault::NotLoaded);
        table.clear();
        assert_eq!(table.count(), 0);
    }
}
