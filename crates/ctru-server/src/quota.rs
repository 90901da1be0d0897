//! The operations per second that clients may ask for.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::fault::Fault;
use crate::identity::{Peer, Share};

/// The most clients whose use is remembered.
const CAPACITY: usize = 1 << 16;

/// The operations per second of clients: a bucket of tokens for each, which holds the operations of
/// one second or of one message of the largest size, whichever is more.
#[derive(Debug)]
pub(crate) struct Quotas {
    /// For clients without an entry of their own. `None` stands for no limit.
    default: Option<u64>,
    /// By identity.
    named: HashMap<String, u64>,
    /// The operations that a bucket holds at least.
    largest: usize,
    buckets: Mutex<HashMap<Share, Bucket>>,
}

#[derive(Copy, Clone, Debug)]
struct Bucket {
    tokens: f64,
    since: Instant,
    /// Tokens per second.
    rate: f64,
    /// The most tokens.
    full: f64,
}

impl Bucket {
    /// Returns the bucket at a later time.
    fn at(self, now: Instant) -> Self {
        let waited = now.saturating_duration_since(self.since).as_secs_f64();
        Self { tokens: (self.tokens + waited * self.rate).min(self.full), since: now, ..self }
    }
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
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= CAPACITY && !buckets.contains_key(&peer.share) {
            // A full bucket is the same as none.
            buckets.retain(|_, bucket| bucket.at(now).tokens < bucket.full);
            if buckets.len() >= CAPACITY {
                return Err(Fault::QuotaSpent);
            }
        }
        let new = Bucket { tokens: full, since: now, rate, full };
        let bucket = buckets.entry(peer.share).or_insert(new);
        *bucket = bucket.at(now);
        let count = count.max(1) as f64;
        if bucket.tokens < count {
            return Err(Fault::QuotaSpent);
        }
        bucket.tokens -= count;
        Ok(())
    }

    /// Gives back what a call has taken that was refused afterwards.
    pub(crate) fn give_back(&self, peer: &Peer, count: usize) {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = buckets.get_mut(&peer.share) {
            // The next call takes away what is too much.
            bucket.tokens += count.max(1) as f64;
        }
    }
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
        let unlimited = Quotas::new(None, HashMap::new(), 5);
        assert_eq!(unlimited.spend(&Peer::new(None, 1), usize::MAX, start), Ok(()));
    }
}
