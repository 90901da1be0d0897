//! The identity of a client, which a certificate proves, and its hash.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use clap::ValueEnum;
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
    /// The party for which the queue is fair: the owner if clients are identified, the connection
    /// otherwise.
    pub(crate) share: Share,
    /// The address or user from which it calls. It stands for the client where clients have no
    /// identity.
    pub(crate) source: Source,
}

/// The origin of a client, which is the same for all its connections.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    /// An address. All IPv6 addresses with the same first 64 bits count as one, because one user
    /// can have them all.
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

/// The kind of subject alternative names that identify clients. A certificate has one name of this
/// kind; names of other kinds are ignored.
#[derive(Copy, Clone, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum NameKind {
    /// The URI, such as a SPIFFE identifier
    Uri,
    /// The DNS name
    Dns,
}

/// Returns whether a name is one that a client may have: without a wildcard, and with nothing that
/// would be hidden in a log.
fn is_clear(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'*')
}

impl Identity {
    /// Returns the identity that a URI gives. Its scheme and its host are in lower case, because
    /// the case does not distinguish them (RFC 3986, section 6.2.2.1).
    fn of_uri(name: &str) -> Option<Self> {
        let (scheme, rest) = name.split_once(':').filter(|_| is_clear(name))?;
        let scheme = scheme.to_ascii_lowercase();
        let Some(rest) = rest.strip_prefix("//") else {
            return Some(Self(format!("uri:{scheme}:{rest}")));
        };
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let (user, host) = authority.split_at(authority.rfind('@').map_or(0, |at| at + 1));
        let host = host.to_ascii_lowercase();
        Some(Self(format!("uri:{scheme}://{user}{host}{path}")))
    }

    /// Returns the identity that a DNS name gives. It is in lower case, because the case does not
    /// distinguish such names (RFC 5280, section 7.2).
    fn of_dns(name: &str) -> Option<Self> {
        is_clear(name).then(|| Self(format!("dns:{}", name.to_ascii_lowercase())))
    }

    /// Returns the identity of a test.
    #[cfg(test)]
    pub(crate) fn dns(name: &str) -> Self {
        Self(format!("dns:{name}"))
    }

    /// Returns the identity that a name gives.
    pub(crate) fn of(kind: NameKind, name: &str) -> Option<Self> {
        match kind {
            NameKind::Uri => Self::of_uri(name),
            NameKind::Dns => Self::of_dns(name),
        }
    }

    /// Reads `uri:NAME` or `dns:NAME`.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (kind, name) = text.split_once(':')?;
        Self::of(NameKind::from_str(kind, false).ok()?, name)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<String> {
        Identity::read(text).map(|identity| identity.as_str().into())
    }

    #[test]
    fn case_distinguishes_no_hosts() {
        for (text, identity) in [
            ("dns:Tenant.EXAMPLE", "dns:tenant.example"),
            ("uri:SPIFFE://Trust.Example/Ns/A", "uri:spiffe://trust.example/Ns/A"),
            ("uri:https://User@Host.EXAMPLE:80?Q#F", "uri:https://User@host.example:80?Q#F"),
            ("uri:HTTPS://HOST", "uri:https://host"),
            ("uri:URN:uuid:ABC", "uri:urn:uuid:ABC"),
        ] {
            assert_eq!(read(text).as_deref(), Some(identity));
            assert_eq!(read(identity).as_deref(), Some(identity));
        }
    }

    #[test]
    fn unclear_names_are_refused() {
        for text in [
            "dns:*.example",
            "dns:",
            "dns:a b",
            "dns:a\n",
            "dns:\u{e4}.example",
            "uri:spiffe://*/a",
            "uri:no-scheme",
            "uri:a://b/\u{7}",
            "ip:127.0.0.1",
            "a.example",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
