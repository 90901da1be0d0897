//! The key exchange: a KEM with the X25519 of a provider.

use std::fmt;
use std::marker::PhantomData;

use rustls::crypto::{ActiveKeyExchange, CompletedKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup, ProtocolVersion};

use crate::kem::{Kem, refused};

/// Bytes of a share of X25519.
const X25519_BYTES: usize = 32;

/// A group: the KEM `K` with the X25519 of a provider.
pub(crate) struct Hybrid<K> {
    name: NamedGroup,
    x25519: &'static dyn SupportedKxGroup,
    kem: PhantomData<K>,
}

/// The side of a client that has sent its share and waits for the share of the server.
struct Started<K: Kem> {
    name: NamedGroup,
    key: K::PrivateKey,
    x25519: Box<dyn ActiveKeyExchange>,
    /// The public key of the KEM, then the share of X25519.
    share: Vec<u8>,
}

/// Returns the two parts of a share, of which the first has `kem` bytes.
///
/// # Errors
/// An error that refuses the share, if it has another length.
fn parts(share: &[u8], kem: usize) -> Result<(&[u8], &[u8]), Error> {
    if share.len() == kem + X25519_BYTES { Ok(share.split_at(kem)) } else { Err(refused(())) }
}

/// Returns the secret of both parts. rustls wipes it.
fn joined(kem: &[u8; 32], x25519: &SharedSecret) -> SharedSecret {
    [kem, x25519.secret_bytes()].concat().into()
}

impl<K: Kem> Hybrid<K> {
    /// Returns the group with this number. `x25519` is that of the provider.
    pub(crate) const fn new(name: NamedGroup, x25519: &'static dyn SupportedKxGroup) -> Self {
        Self { name, x25519, kem: PhantomData }
    }
}

impl<K: Kem> SupportedKxGroup for Hybrid<K> {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let (key, mut share) = K::generate()?;
        let x25519 = self.x25519.start()?;
        share.extend_from_slice(x25519.pub_key());
        Ok(Box::new(Started::<K> { name: self.name, key, x25519, share }))
    }

    fn start_and_complete(&self, client_share: &[u8]) -> Result<CompletedKeyExchange, Error> {
        let (kem, x25519) = parts(client_share, K::PUBLIC_KEY)?;
        let (mut pub_key, secret) = K::encapsulate(kem)?;
        // Fails if the result is zero.
        let x25519 = self.x25519.start_and_complete(x25519)?;
        pub_key.extend_from_slice(&x25519.pub_key);
        let secret = joined(&secret, &x25519.secret);
        Ok(CompletedKeyExchange { group: self.name, pub_key, secret })
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn name(&self) -> NamedGroup {
        self.name
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        version == ProtocolVersion::TLSv1_3
    }
}

impl<K: Kem> fmt::Debug for Hybrid<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "X25519 with {}", K::NAME)
    }
}

impl<K: Kem> ActiveKeyExchange for Started<K> {
    fn complete(self: Box<Self>, server_share: &[u8]) -> Result<SharedSecret, Error> {
        let (ciphertext, x25519) = parts(server_share, K::CIPHERTEXT)?;
        let secret = K::decapsulate(&self.key, ciphertext)?;
        // Fails if the result is zero.
        let x25519 = self.x25519.complete(x25519)?;
        Ok(joined(&secret, &x25519))
    }

    /// Returns the X25519 part of the share. A client may also send this part alone, with the same
    /// private key.
    fn hybrid_component(&self) -> Option<(NamedGroup, &[u8])> {
        Some((self.x25519.group(), self.x25519.pub_key()))
    }

    fn complete_hybrid_component(
        self: Box<Self>,
        server_share: &[u8],
    ) -> Result<SharedSecret, Error> {
        self.x25519.complete(server_share)
    }

    fn pub_key(&self) -> &[u8] {
        &self.share
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn group(&self) -> NamedGroup {
        self.name
    }
}
