//! The operations per second that clients may ask for.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::bucket::Bucket;
use crate::fault::Fault;
use crate::identity::{Owner, Peer, Share};

/// The most clients with an identity whose use is remembered.
const CAPACITY: usize = 1 << 16;

/// The operations per second of clients: a bucket of tokens for each, which holds the operations of
/// one second or of one message of the largest size, whichever is more. A client without an
/// identity has its bucket in its [`Peer`], so that the bucket goes with the connection and takes
/// no room from other clients.
#[derive(Debug)]
pub(crate) struct Quotas {
    /// For clients without an entry of their own. `None` stands for no limit.
    default: Option<u64>,
    /// By identity.
    named: HashMap<String, u64>,
    /// The operations that a bucket holds at least.
    largest: usize,
    buckets: Mutex<HashMap<Owner, Bucket>>,
}

impl Quotas {
    pub(crate) fn new(default: Option<u64>, named: HashMap<String, u64>, largest: usize) -> Self {
        Self { default, named, largest, buckets: Mutex::default() }
    }

    /// Takes `count` operations at the time `now`, or one for a call that asks for none.
    ///
    /// # Errors
    /// [`Fault::NoQuota`] if the quota of the client is zero, [`Fault::QuotaSpent`] if the client
    /// has used it up; then nothing is taken.
    pub(crate) fn spend(&self, peer: &Peer, count: usize, now: Instant) -> Result<(), Fault> {
        let named = peer.identity.as_ref().and_then(|identity| self.named.get(identity.as_str()));
        let Some(rate) = named.copied().or(self.default) else { return Ok(()) };
        if rate == 0 {
            return Err(Fault::NoQuota);
        }
        let rate = rate as f64;
        let full = rate.max(self.largest as f64);
        let new = Bucket::full(rate, full, now);
        match peer.share {
            Share::Connection(_) => lock(&peer.bucket).get_or_insert(new).spend(count, now),
            Share::Owner(owner) => {
                let mut buckets = lock(&self.buckets);
                if buckets.len() >= CAPACITY && !buckets.contains_key(&owner) {
                    // A full bucket is the same as none.
                    buckets.retain(|_, bucket| !bucket.is_full(now));
                    if buckets.len() >= CAPACITY {
                        return Err(Fault::QuotaSpent);
                    }
                }
                buckets.entry(owner).or_insert(new).spend(count, now)
            }
        }
    }

    /// Gives back what a call has taken that was refused afterwards.
    pub(crate) fn give_back(&self, peer: &Peer, count: usize) {
        let give = |bucket: &mut Bucket| bucket.give_back(count);
        match peer.share {
            Share::Connection(_) => lock(&peer.bucket).as_mut().map(give),
            Share::Owner(owner) => lock(&self.buckets).get_mut(&owner).map(give),
        };
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::identity::Identity;

    #[test]
    fn clients_spend_their_own_quota() {
        let named = HashMap::from([("dns:none".into(), 0), ("dns:much".into(), 1000)]);
        let quotas = Quotas::new(Some(10), named, 5);
        let peer = |name| Peer::new(Some(Identity::dns(name)), 0);
        let start = Instant::now();
        let spend = |name, count, after| {
            quotas.spend(&peer(name), count, start + Duration::from_secs(after))
        };
        assert_eq!(spend("none", 1, 0), Err(Fault::NoQuota));
        assert_eq!(spend("much", 1000, 0), Ok(()));
        assert_eq!(spend("a", 10, 0), Ok(()));
        assert_eq!(spend("a", 1, 0), Err(Fault::QuotaSpent));
        assert_eq!(spend("b", 10, 0), Ok(()));
        assert_eq!(spend("a", 11, 9), Err(Fault::QuotaSpent));
        assert_eq!(spend("a", 10, 9), Ok(()));
        // A client without an identity has one bucket, of which nothing stays when it is gone.
        let one = Peer::new(None, 1);
        assert_eq!(quotas.spend(&one, 10, start), Ok(()));
        assert_eq!(quotas.spend(&one.clone(), 1, start), Err(Fault::QuotaSpent));
        quotas.give_back(&one, 1);
        assert_eq!(quotas.spend(&one, 1, start), Ok(()));
        assert_eq!(quotas.spend(&Peer::new(None, 2), 10, start), Ok(()));
        assert_eq!(lock(&quotas.buckets).len(), 3);
        let unlimited = Quotas::new(None, HashMap::new(), 5);
        assert_eq!(unlimited.spend(&Peer::new(None, 1), usize::MAX, start), Ok(()));
    }
}
