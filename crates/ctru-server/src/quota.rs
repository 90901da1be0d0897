//! The operations per second that clients may ask for.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

use crate::bucket::Bucket;
use crate::fault::Fault;
use crate::identity::{Owner, Peer, Source};
use crate::lock;

/// The largest number of clients of each kind for which a bucket is kept.
const CAPACITY: usize = 1 << 16;

/// The operations per second of clients: a bucket of tokens for each, which holds the operations of
/// one second or of one message of the largest size, whichever is more. A client begins with the
/// operations of one second.
#[derive(Debug)]
pub(crate) struct Quotas {
    /// The operations per second of clients without an entry of their own. `None` stands for no
    /// limit.
    default: Option<u64>,
    /// The operations per second of clients with an entry, by identity.
    named: HashMap<String, u64>,
    /// The operations that a bucket holds at least.
    largest: usize,
    identified: Buckets,
    /// The buckets of clients without an identity. They have a table of their own, so they cannot
    /// displace clients with one.
    others: Buckets,
}

type Buckets = Mutex<HashMap<Account, Bucket>>;

/// A client: its identity, and where it calls from if it has none.
type Account = (Owner, Source);

impl Quotas {
    pub(crate) fn new(default: Option<u64>, named: HashMap<String, u64>, largest: usize) -> Self {
        let (identified, others) = Default::default();
        Self { default, named, largest, identified, others }
    }

    /// Returns the table that has the bucket of a client, and its key there.
    fn account(&self, peer: &Peer) -> (&Buckets, Account) {
        match &peer.identity {
            Some(_) => (&self.identified, (peer.owner, Source::Unknown)),
            None => (&self.others, (peer.owner, peer.source)),
        }
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
        let (buckets, account) = self.account(peer);
        let mut buckets = lock(buckets);
        if buckets.len() >= CAPACITY && !buckets.contains_key(&account) {
            buckets.retain(|_, bucket| !bucket.is_as_new(now));
            if buckets.len() >= CAPACITY {
                return Err(Fault::QuotaSpent);
            }
        }
        let rate = rate as f64;
        let new = Bucket::new(rate, rate.max(self.largest as f64), now);
        buckets.entry(account).or_insert(new).spend(count, now)
    }

    /// Gives back what a call has taken that was refused afterwards.
    pub(crate) fn give_back(&self, peer: &Peer, count: usize) {
        let (buckets, account) = self.account(peer);
        if let Some(bucket) = lock(buckets).get_mut(&account) {
            bucket.give_back(count);
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
        // A client without an identity has one bucket, however many connections it makes.
        let peer = |connection, address: &str| {
            let source = Source::at(address.parse().unwrap());
            Peer::new(None, connection).with_source(source)
        };
        let spend =
            |connection, address, count| quotas.spend(&peer(connection, address), count, start);
        assert_eq!(spend(1, "192.0.2.1", 10), Ok(()));
        assert_eq!(spend(1, "192.0.2.1", 1), Err(Fault::QuotaSpent));
        assert_eq!(spend(2, "192.0.2.1", 1), Err(Fault::QuotaSpent));
        assert_eq!(spend(3, "::ffff:192.0.2.1", 1), Err(Fault::QuotaSpent));
        quotas.give_back(&peer(2, "192.0.2.1"), 1);
        assert_eq!(spend(3, "192.0.2.1", 1), Ok(()));
        assert_eq!(spend(4, "192.0.2.2", 10), Ok(()));
        assert_eq!(spend(5, "2001:db8::1", 10), Ok(()));
        assert_eq!(spend(6, "2001:db8::ffff:1", 1), Err(Fault::QuotaSpent));
        assert_eq!(spend(7, "2001:db8:0:1::1", 10), Ok(()));
        let user = |number| Peer::new(None, 8).with_source(Source::User(number));
        assert_eq!(quotas.spend(&user(1), 10, start), Ok(()));
        assert_eq!(quotas.spend(&user(1), 1, start), Err(Fault::QuotaSpent));
        assert_eq!(quotas.spend(&user(2), 10, start), Ok(()));
        assert_eq!((lock(&quotas.identified).len(), lock(&quotas.others).len()), (3, 6));
        let unlimited = Quotas::new(None, HashMap::new(), 5);
        assert_eq!(unlimited.spend(&Peer::new(None, 1), usize::MAX, start), Ok(()));
    }
}
