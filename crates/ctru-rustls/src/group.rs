//! The key exchange: CTRU-Prime of one set with the X25519 of a provider.

use std::fmt;
use std::marker::PhantomData;

use ctru_kem::{Ciphertext, DecapsulationKey, EncapsulationKey, MixedRadix, ParameterSet};
use rustls::crypto::{ActiveKeyExchange, CompletedKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup, PeerMisbehaved, ProtocolVersion};

/// Bytes of a share of X25519.
const X25519_BYTES: usize = 32;

/// A group: CTRU-Prime of the set `P` with the X25519 of a provider.
pub(crate) struct X25519CtruPrime<P> {
    name: NamedGroup,
    x25519: &'static dyn SupportedKxGroup,
    set: PhantomData<P>,
}

/// The side of a client that has sent its share and waits for the share of the server.
struct Started<P: ParameterSet> {
    name: NamedGroup,
    key: DecapsulationKey<P>,
    x25519: Box<dyn ActiveKeyExchange>,
    /// The encapsulation key, then the share of X25519.
    share: Vec<u8>,
}

/// Returns the two parts of a share, of which the first has `ctru` bytes.
///
/// # Errors
/// [`PeerMisbehaved::InvalidKeyShare`] if the share has another length.
fn parts(share: &[u8], ctru: usize) -> Result<(&[u8], &[u8]), Error> {
    if share.len() == ctru + X25519_BYTES {
        Ok(share.split_at(ctru))
    } else {
        Err(PeerMisbehaved::InvalidKeyShare.into())
    }
}

/// Returns the secret of both parts. rustls wipes it.
fn joined(ctru: &ctru_kem::SharedSecret, x25519: &SharedSecret) -> SharedSecret {
    [ctru.as_ref(), x25519.secret_bytes()].concat().into()
}

impl<P: ParameterSet<Encoding = MixedRadix>> X25519CtruPrime<P> {
    /// Returns the group with this number. `x25519` is that of the provider.
    pub(crate) const fn new(name: NamedGroup, x25519: &'static dyn SupportedKxGroup) -> Self {
        Self { name, x25519, set: PhantomData }
    }
}

impl<P: ParameterSet<Encoding = MixedRadix>> SupportedKxGroup for X25519CtruPrime<P> {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let key =
            DecapsulationKey::<P>::try_generate().map_err(|_| Error::FailedToGetRandomBytes)?;
        let x25519 = self.x25519.start()?;
        let share = [key.encapsulation_key().as_ref(), x25519.pub_key()].concat();
        Ok(Box::new(Started { name: self.name, key, x25519, share }))
    }

    fn start_and_complete(&self, client_share: &[u8]) -> Result<CompletedKeyExchange, Error> {
        let (ctru, x25519) = parts(client_share, P::ENCAPSULATION_KEY_BYTES)?;
        let key = EncapsulationKey::<P>::from_bytes(ctru)
            .map_err(|_| Error::from(PeerMisbehaved::InvalidKeyShare))?;
        // Fails if the result is zero.
        let x25519 = self.x25519.start_and_complete(x25519)?;
        let (ciphertext, secret) =
            key.try_encapsulate().map_err(|_| Error::FailedToGetRandomBytes)?;
        Ok(CompletedKeyExchange {
            group: self.name,
            pub_key: [ciphertext.as_ref(), &x25519.pub_key].concat(),
            secret: joined(&secret, &x25519.secret),
        })
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

impl<P: ParameterSet> fmt::Debug for X25519CtruPrime<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "X25519 with {}", P::NAME)
    }
}

impl<P: ParameterSet> ActiveKeyExchange for Started<P> {
    fn complete(self: Box<Self>, server_share: &[u8]) -> Result<SharedSecret, Error> {
        let (ctru, x25519) = parts(server_share, P::CIPHERTEXT_BYTES)?;
        let ciphertext = Ciphertext::from_bytes(ctru)
            .map_err(|_| Error::from(PeerMisbehaved::InvalidKeyShare))?;
        // Fails if the result is zero.
        let x25519 = self.x25519.complete(x25519)?;
        Ok(joined(&self.key.decapsulate(&ciphertext), &x25519))
    }

    /// Lets a client send the share of X25519 by itself as well, and use the same private key.
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
