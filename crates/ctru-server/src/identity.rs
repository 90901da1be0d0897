//! Who a client is: the identity that a certificate proves, and its hash.

use std::fmt;
use std::sync::{Arc, Mutex};

use sha2::{Digest, Sha256};

use crate::bucket::Bucket;

/// The SHA-256 of a client's identity, or zeros where clients are not identified. Sealed and loaded
/// keys belong to an owner.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Owner(pub(crate) [u8; 32]);

/// A name of a client's certificate: `uri:NAME` or `dns:NAME`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Identity(String);

/// The client at the other end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// The identity that its certificate proves, if the server asks for certificates.
    pub(crate) identity: Option<Identity>,
    /// The hash of the identity.
    pub(crate) owner: Owner,
    /// Whom the queue is fair to: the owner if clients are identified, the connection otherwise.
    pub(crate) share: Share,
    /// What the client may still do, if it has no identity.
    pub(crate) bucket: Arc<Mutex<Option<Bucket>>>,
}

/// A party among which the server divides its queue.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Share {
    /// A client with an identity.
    Owner(Owner),
    /// A connection of a client without one.
    Connection(u64),
}

/// The kind of subject alternative names that identify clients.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum NameKind {
    /// The first URI, such as a SPIFFE identifier; without one, the first DNS name
    #[default]
    Any,
    /// The first URI
    Uri,
    /// The first DNS name
    Dns,
}

impl Identity {
    /// Returns the identity that a name of this kind gives.
    pub(crate) fn uri(name: &str) -> Self {
        Self(format!("uri:{name}"))
    }

    /// Returns the identity that a name of this kind gives.
    pub(crate) fn dns(name: &str) -> Self {
        Self(format!("dns:{name}"))
    }

    /// Returns the text, such as `dns:frontend.example`.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the hash.
    pub(crate) fn owner(&self) -> Owner {
        Owner(Sha256::digest(self.0.as_bytes()).into())
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Peer {
    /// Returns the client of connection number `connection`.
    pub(crate) fn new(identity: Option<Identity>, connection: u64) -> Self {
        let (owner, share) = match &identity {
            Some(identity) => (identity.owner(), Share::Owner(identity.owner())),
            None => (Owner::default(), Share::Connection(connection)),
        };
        Self { identity, owner, share, bucket: Arc::default() }
    }
}
