//! Keys that clients keep ready on the engine: a table of bounded size, whose entries expire.

use ctru_kem::Parameters;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::checked;
use crate::decapsulations::KeyHash;
use crate::fault::Fault;
use crate::identity::{Owner, Peer, Share};
use crate::lock;
use crate::room::Room;
use crate::sealing::Birth;

/// Keys on the engine.
#[derive(Clone)]
pub(crate) struct Loaded {
    /// The scheme of the keys.
    pub(crate) scheme: Parameters,
    /// The number of keys.
    pub(crate) count: usize,
    /// The hashes of the public keys, for private keys whose decapsulations are counted.
    pub(crate) hashes: Option<Arc<[KeyHash]>>,
    /// When the oldest key was generated or first sealed, for private keys that came sealed.
    pub(crate) birth: Option<Birth>,
    /// The keys, public or private.
    pub(crate) keys: Side,
}

/// Loaded keys of the engine.
#[derive(Clone)]
pub(crate) enum Side {
    Public(Arc<checked::Loaded>),
    Private(Arc<checked::Loaded>),
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Loaded({} keys of {})", self.count, self.scheme)
    }
}

/// The limits of a [`LoadedKeys`].
#[derive(Copy, Clone, Debug)]
pub(crate) struct Limits {
    /// The largest number of keys of all clients.
    pub(crate) keys: usize,
    /// The largest number of keys of one client.
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

struct Table {
    entries: HashMap<Name, Entry>,
    /// The keys that clients hold.
    room: Room,
    /// Keys that left the table in a call that could not wait until they were dropped.
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
    /// The client that holds the keys.
    share: Share,
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
            let loaded = table.remove(&self.name);
            table.rest.extend(loaded);
        }
    }
}

impl Table {
    fn new(keys: usize) -> Self {
        // With one more than there are, the last one is given to a client that holds none.
        let room = Room::new(keys.saturating_add(1));
        Self { entries: HashMap::new(), room, rest: Vec::new() }
    }

    /// Removes an entry, and returns its keys if the engine has them.
    fn remove(&mut self, name: &Name) -> Option<Loaded> {
        let Entry { share, count, loaded, .. } = self.entries.remove(name)?;
        self.room.release(share, count);
        loaded
    }
}

impl LoadedKeys {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, table: Arc::new(Mutex::new(Table::new(limits.keys))) }
    }

    /// Returns how long keys stay without use.
    pub(crate) fn idle(&self) -> Duration {
        self.limits.idle
    }

    /// Returns the number of keys, also of those that are being loaded.
    pub(crate) fn count(&self) -> usize {
        lock(&self.table).room.used()
    }

    /// Takes a place for `count` more keys of a client, before the engine loads them. A client may
    /// hold at most as many keys as are left for others.
    ///
    /// # Errors
    /// [`Fault::KeysFull`] if there is no room, [`Fault::Internal`] if the system provides no
    /// randomness.
    pub(crate) fn place(&self, peer: &Peer, count: usize, now: Instant) -> Result<Place, Fault> {
        let mut name = Name::default();
        getrandom::fill(&mut name).map_err(|_| Fault::Internal)?;
        let mut table = lock(&self.table);
        let (owner, share) = (peer.owner, peer.share);
        let most = self.limits.keys_per_client;
        if count > most.saturating_sub(table.room.own(share)) || !table.room.take(share, count) {
            return Err(Fault::KeysFull);
        }
        table.entries.insert(name, Entry { owner, share, count, loaded: None, used: now });
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

    /// Removes and returns the keys with this name, if they belong to `owner`. Dropping them can
    /// take long.
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
        table.remove(&name).ok_or(Fault::NotLoaded)
    }

    /// Removes and returns the keys that nobody has used for a long time, and those whose client
    /// has gone before it knew their name. Dropping them can take long.
    pub(crate) fn expired(&self, now: Instant) -> Vec<Loaded> {
        let idle = self.limits.idle;
        let is_old = |entry: &Entry| now.saturating_duration_since(entry.used) > idle;
        let mut table = lock(&self.table);
        let mut all = std::mem::take(&mut table.rest);
        let Table { entries, room, .. } = &mut *table;
        for (_, entry) in entries.extract_if(|_, entry| entry.loaded.is_some() && is_old(entry)) {
            room.release(entry.share, entry.count);
            all.extend(entry.loaded);
        }
        all
    }

    /// Forgets all keys.
    pub(crate) fn clear(&self) {
        let all = std::mem::replace(&mut *lock(&self.table), Table::new(self.limits.keys));
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
    use ctru_kem::engine::CpuEngine;

    use super::*;
    use crate::checked::Checked;
    use crate::identity::Identity;

    fn loaded(count: usize) -> Loaded {
        let scheme = Parameters::ALL[0];
        let none = Checked::new(CpuEngine::with_threads(1).unwrap());
        let none = Arc::new(none.load_public(scheme, &[]).unwrap());
        Loaded { scheme, count, hashes: None, birth: None, keys: Side::Public(none) }
    }

    fn peer(name: &str) -> Peer {
        Peer::new(Some(Identity::dns(name)), 0)
    }

    /// Loads keys whose name reaches the client.
    fn insert(
        table: &LoadedKeys,
        peer: &Peer,
        loaded: Loaded,
        now: Instant,
    ) -> Result<String, Fault> {
        let place = table.place(peer, loaded.count, now)?;
        place.keep();
        Ok(place.fill(loaded, now))
    }

    const LIMITS: Limits = Limits { keys: 7, keys_per_client: 3, idle: Duration::from_secs(10) };

    #[test]
    fn keys_take_their_place_before_they_are_loaded() {
        let table = LoadedKeys::new(LIMITS);
        let (peer, start) = (peer("a"), Instant::now());
        let owner = peer.owner;
        let long = start + Duration::from_secs(60);
        let place = table.place(&peer, 2, start).unwrap();
        assert_eq!(table.place(&peer, 2, start).unwrap_err(), Fault::KeysFull);
        assert_eq!(table.place(&peer, 1, start).map(drop), Ok(()));
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
        let name = insert(&table, &peer, loaded(3), start).unwrap();
        assert_eq!(table.get(owner, &name, start).unwrap().count, 3);
    }

    /// With and without identities, a client holds at most as many keys as it leaves to others.
    #[test]
    fn four_clients_do_not_take_all_places() {
        let limits = Limits { keys: 16_384, keys_per_client: 4096, idle: Duration::from_secs(10) };
        for name in [Some("a"), None] {
            let table = LoadedKeys::new(limits);
            let start = Instant::now();
            let flood = |number: u64| {
                let identity = name.map(|name| Identity::dns(&format!("{name}{number}")));
                let peer = Peer::new(identity, number);
                while insert(&table, &peer, loaded(512), start).is_ok() {}
                while insert(&table, &peer, loaded(1), start).is_ok() {}
            };
            (0..4).for_each(flood);
            assert_eq!(table.count(), 3 * 4096 + 2048);
            let other = peer("other");
            assert!(insert(&table, &other, loaded(1000), start).is_ok());
            let later = start + Duration::from_secs(60);
            table.expired(later);
            assert_eq!(table.count(), 0);
            assert!(insert(&table, &other, loaded(4096), later).is_ok());
        }
        let one = LoadedKeys::new(Limits { keys: 1, ..limits });
        let place = one.place(&peer("a"), 1, Instant::now()).unwrap();
        assert!(one.place(&peer("b"), 1, Instant::now()).is_err());
        drop(place);
    }

    #[test]
    fn keys_belong_to_their_owner_and_expire() {
        let table = LoadedKeys::new(LIMITS);
        let insert = |peer: &Peer, loaded, now| insert(&table, peer, loaded, now);
        let peers = ["a", "b", "c"].map(peer);
        let [first, second, third] = &peers;
        let [one, two, _] = peers.each_ref().map(|peer| peer.owner);
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let name = insert(first, loaded(3), start).unwrap();
        assert_eq!(name.len(), 32);
        assert_eq!(insert(first, loaded(1), start).unwrap_err(), Fault::KeysFull);
        assert_eq!(insert(second, loaded(3), start).unwrap_err(), Fault::KeysFull);
        let other = insert(second, loaded(2), start).unwrap();
        assert_eq!(table.get(two, &name, start).unwrap_err(), Fault::NotLoaded);
        assert_eq!(table.remove(two, &name).unwrap_err(), Fault::NotLoaded);
        assert_eq!(table.get(one, "none", start).unwrap_err(), Fault::NotLoaded);
        assert_eq!(table.get(one, &name, at(9)).unwrap().count, 3);
        assert_eq!(table.get(one, &name, at(19)).unwrap().count, 3);
        assert_eq!(table.get(two, &other, at(19)).unwrap_err(), Fault::NotLoaded);
        assert!(insert(third, loaded(2), at(19)).is_err());
        assert_eq!(table.expired(at(19)).len(), 1);
        assert!(insert(third, loaded(2), at(19)).is_ok());
        assert_eq!(table.count(), 5);
        assert_eq!(table.remove(one, &name).unwrap().count, 3);
        assert_eq!(table.get(one, &name, at(19)).unwrap_err(), Fault::NotLoaded);
        table.clear();
        assert_eq!(table.count(), 0);
    }
}
