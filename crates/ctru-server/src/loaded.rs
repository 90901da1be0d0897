//! Keys that clients keep ready on the engine: a table of bounded size, whose entries expire.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
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
    table: Arc<Mutex<Table>>,
}

type Name = [u8; 16];

#[derive(Default)]
struct Table {
    entries: HashMap<Name, Entry>,
    /// Keys that were taken out where dropping them would take too long.
    rest: Vec<Loaded>,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Who knows a name may use the keys.
        write!(f, "Table({} names)", self.entries.len())
    }
}

struct Entry {
    owner: Owner,
    /// The number of keys.
    count: usize,
    /// The keys, once the engine has them.
    loaded: Option<Loaded>,
    used: Instant,
}

/// A place for keys that are being loaded. The keys leave the table when this value is dropped,
/// unless [`keep`](Self::keep) was called before.
pub(crate) struct Place {
    table: Arc<Mutex<Table>>,
    name: Name,
    is_kept: AtomicBool,
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Place(..)")
    }
}

fn lock(table: &Mutex<Table>) -> MutexGuard<'_, Table> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Place {
    /// Puts the keys in their place, and returns their name: 32 hexadecimal digits.
    pub(crate) fn fill(&self, loaded: Loaded, now: Instant) -> String {
        if let Some(entry) = lock(&self.table).entries.get_mut(&self.name) {
            entry.used = now;
            entry.loaded = Some(loaded);
        }
        const_hex::encode(self.name)
    }

    /// Leaves the keys in the table, because the client knows their name.
    pub(crate) fn keep(&self) {
        self.is_kept.store(true, Ordering::Relaxed);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !*self.is_kept.get_mut() {
            let mut table = lock(&self.table);
            let loaded = table.entries.remove(&self.name).and_then(|entry| entry.loaded);
            table.rest.extend(loaded);
        }
    }
}

impl LoadedKeys {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, table: Arc::default() }
    }

    /// Returns how long keys stay without use.
    pub(crate) fn idle(&self) -> Duration {
        self.limits.idle
    }

    /// Returns the number of keys, also of those that are being loaded.
    pub(crate) fn count(&self) -> usize {
        lock(&self.table).entries.values().map(|entry| entry.count).sum()
    }

    /// Takes a place for `count` more keys of a client, before the engine loads them.
    ///
    /// # Errors
    /// [`Fault::KeysFull`] if there is no room, [`Fault::Internal`] if the system provides no
    /// randomness.
    pub(crate) fn place(&self, owner: Owner, count: usize, now: Instant) -> Result<Place, Fault> {
        let mut name = Name::default();
        getrandom::fill(&mut name).map_err(|_| Fault::Internal)?;
        let mut table = lock(&self.table);
        let keys = |all: bool| -> usize {
            let counted = table.entries.values().filter(|entry| all || entry.owner == owner);
            counted.map(|entry| entry.count).sum()
        };
        let Limits { keys: most, keys_per_client, .. } = self.limits;
        if count > most.saturating_sub(keys(true))
            || count > keys_per_client.saturating_sub(keys(false))
        {
            return Err(Fault::KeysFull);
        }
        table.entries.insert(name, Entry { owner, count, loaded: None, used: now });
        Ok(Place { table: Arc::clone(&self.table), name, is_kept: AtomicBool::new(false) })
    }

    /// Returns the keys with this name, if they belong to `owner`.
    ///
    /// # Errors
    /// [`Fault::NotLoaded`] if there are none.
    pub(crate) fn get(&self, owner: Owner, name: &str, now: Instant) -> Result<Loaded, Fault> {
        let name = read(name)?;
        let mut table = lock(&self.table);
        let entry = table.entries.get_mut(&name).filter(|entry| entry.owner == owner);
        let entry = entry.ok_or(Fault::NotLoaded)?;
        if now.saturating_duration_since(entry.used) > self.limits.idle {
            return Err(Fault::NotLoaded);
        }
        let loaded = entry.loaded.clone().ok_or(Fault::NotLoaded)?;
        entry.used = now;
        Ok(loaded)
    }

    /// Takes the keys with this name out, if they belong to `owner`. Dropping them can take long.
    ///
    /// # Errors
    /// [`Fault::NotLoaded`] if there are none.
    pub(crate) fn remove(&self, owner: Owner, name: &str) -> Result<Loaded, Fault> {
        let name = read(name)?;
        let mut table = lock(&self.table);
        let entry = table.entries.get(&name).filter(|entry| entry.owner == owner);
        if entry.is_none_or(|entry| entry.loaded.is_none()) {
            return Err(Fault::NotLoaded);
        }
        table.entries.remove(&name).and_then(|entry| entry.loaded).ok_or(Fault::NotLoaded)
    }

    /// Takes out the keys that nobody has used for a long time, and those whose client has gone
    /// before it knew their name. Dropping them can take long.
    pub(crate) fn expired(&self, now: Instant) -> Vec<Loaded> {
        let idle = self.limits.idle;
        let is_old = |entry: &Entry| now.saturating_duration_since(entry.used) > idle;
        let mut table = lock(&self.table);
        let mut all = std::mem::take(&mut table.rest);
        let old = table.entries.extract_if(|_, entry| entry.loaded.is_some() && is_old(entry));
        all.extend(old.filter_map(|(_, entry)| entry.loaded));
        all
    }

    /// Forgets all keys.
    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *lock(&self.table));
        drop(all);
    }
}

fn read(text: &str) -> Result<Name, Fault> {
    let mut name = Name::default();
    const_hex::decode_to_slice(text, &mut name).map_err(|_| Fault::NotLoaded)?;
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(count: usize) -> Loaded {
        let scheme = Scheme::all().next().unwrap();
        Loaded { scheme, count, hashes: None, keys: Side::Public(Arc::new(())) }
    }

    /// Loads keys whose name reaches the client.
    fn insert(
        table: &LoadedKeys,
        owner: Owner,
        loaded: Loaded,
        now: Instant,
    ) -> Result<String, Fault> {
        let place = table.place(owner, loaded.count, now)?;
        place.keep();
        Ok(place.fill(loaded, now))
    }

    const LIMITS: Limits = Limits { keys: 5, keys_per_client: 3, idle: Duration::from_secs(10) };

    #[test]
    fn keys_take_their_place_before_they_are_loaded() {
        let table = LoadedKeys::new(LIMITS);
        let (owner, start) = (Owner([1; 32]), Instant::now());
        let long = start + Duration::from_secs(60);
        let place = table.place(owner, 2, start).unwrap();
        assert_eq!(table.place(owner, 2, start).unwrap_err(), Fault::KeysFull);
        assert_eq!(table.place(owner, 1, start).map(drop), Ok(()));
        // Loading may take long. Until it ends, the keys have no name.
        assert_eq!(table.expired(long).len(), 0);
        let name = const_hex::encode(place.name);
        assert_eq!(table.get(owner, &name, start).unwrap_err(), Fault::NotLoaded);
        assert_eq!(table.remove(owner, &name).unwrap_err(), Fault::NotLoaded);
        assert_eq!(place.fill(loaded(2), start), name);
        let shown = format!("{place:?} {table:?}");
        assert!(shown.contains("Place(..)") && shown.contains("Table(1 names)"), "{shown}");
        assert_eq!(table.get(owner, &name, start).unwrap().count, 2);
        assert_eq!(table.count(), 2);
        // The client has gone.
        drop(place);
        assert_eq!(table.count(), 0);
        assert_eq!(table.get(owner, &name, start).unwrap_err(), Fault::NotLoaded);
        assert_eq!(table.expired(start).len(), 1);
        let name = insert(&table, owner, loaded(3), start).unwrap();
        assert_eq!(table.get(owner, &name, start).unwrap().count, 3);
    }

    #[test]
    fn keys_belong_to_their_owner_and_expire() {
        let table = LoadedKeys::new(LIMITS);
        let insert = |owner, loaded, now| insert(&table, owner, loaded, now);
        let (one, two, three) = (Owner([1; 32]), Owner([2; 32]), Owner([3; 32]));
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let name = insert(one, loaded(3), start).unwrap();
        assert_eq!(name.len(), 32);
        assert_eq!(insert(one, loaded(1), start).unwrap_err(), Fault::KeysFull);
        assert_eq!(insert(two, loaded(3), start).unwrap_err(), Fault::KeysFull);
        let other = insert(two, loaded(2), start).unwrap();
        assert_eq!(table.get(two, &name, start).unwrap_err(), Fault::NotLoaded);
        assert_eq!(table.remove(two, &name).unwrap_err(), Fault::NotLoaded);
        assert_eq!(table.get(one, "none", start).unwrap_err(), Fault::NotLoaded);
        assert_eq!(table.get(one, &name, at(9)).unwrap().count, 3);
        assert_eq!(table.get(one, &name, at(19)).unwrap().count, 3);
        assert_eq!(table.get(two, &other, at(19)).unwrap_err(), Fault::NotLoaded);
        assert!(insert(three, loaded(2), at(19)).is_err());
        assert_eq!(table.expired(at(19)).len(), 1);
        assert!(insert(three, loaded(2), at(19)).is_ok());
        assert_eq!(table.count(), 5);
        assert_eq!(table.remove(one, &name).unwrap().count, 3);
        assert_eq!(table.get(one, &name, at(19)).unwrap_err(), Fault::NotLoaded);
        table.clear();
        assert_eq!(table.count(), 0);
    }
}
