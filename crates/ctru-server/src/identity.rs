//! Who a client is: the identity that a certificate proves, and its hash.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use sha2::{Digest, Sha256};

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
    /// Whence it calls. It stands for the client where clients have no identity.
    pub(crate) source: Source,
}

/// Whence a client calls. One that makes more connections is no other source.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    /// An address. Of IPv6 addresses, whoever has one has all with the same first 64 bits.
    Address(IpAddr),
    /// A user of this machine, by number.
    User(u32),
    /// The system does not say.
    #[default]
    Unknown,
}

impl Source {
    /// Returns the source that has an address.
    pub(crate) fn at(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            IpAddr::V6(address) => {
                let network = u128::from(address) & !u128::from(u64::MAX);
                Ipv6Addr::from(network).into()
            }
            address => address,
        })
    }
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
    /// Returns the client of connection number `connection`, whose source is unknown.
    pub(crate) fn new(identity: Option<Identity>, connection: u64) -> Self {
        let (owner, share) = match &identity {
            Some(identity) => (identity.owner(), Share::Owner(identity.owner())),
            None => (Owner::default(), Share::Connection(connection)),
        };
        Self { identity, owner, share, source: Source::Unknown }
    }

    /// Returns the client with its source.
    pub(crate) fn with_source(self, source: Source) -> Self {
        Self { source, ..self }
    }
}
