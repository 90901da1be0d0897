//! The key exchange `sntrup761x25519-sha512` of SSH (RFC 9941): sntrup761 with X25519, on both
//! sides.
//!
//! The client sends its [share](Client::share), the server [answers](Server::answer) with its own,
//! and the client [finishes](Client::finish). Both have the same [`SharedSecret`] then, if nobody
//! has altered a share. Only the server's signature over the exchange hash shows this.
//!
//! A library for SSH calls the module like this. The functions of the example have the tasks of
//! `client_dh`, `server_dh` and `compute_shared_secret` in the crate `russh`.
//!
//! ```
//! use ctru_hybrid::ssh::{self, Client, InvalidShare, Server, SharedSecret};
//!
//! /// The state of one exchange.
//! #[derive(Default)]
//! struct Sntrup761X25519 {
//!     client: Option<Client>,
//!     secret: Option<SharedSecret>,
//! }
//!
//! #[derive(Debug)]
//! enum Error {
//!     NoRandomness,
//!     OutOfOrder,
//!     Share(InvalidShare),
//! }
//!
//! impl Sntrup761X25519 {
//!     /// The client sends the result as the string in SSH_MSG_KEX_ECDH_INIT.
//!     fn client_dh(&mut self) -> Result<[u8; ssh::CLIENT_SHARE_BYTES], Error> {
//!         let client = Client::try_generate().map_err(|_| Error::NoRandomness)?;
//!         Ok(self.client.insert(client).share())
//!     }
//!
//!     /// The server sends the result in SSH_MSG_KEX_ECDH_REPLY, after its host key.
//!     fn server_dh(&mut self, received: &[u8]) -> Result<[u8; ssh::SERVER_SHARE_BYTES], Error> {
//!         let server = Server::try_generate().map_err(|_| Error::NoRandomness)?;
//!         let (share, secret) = server.answer(received).map_err(Error::Share)?;
//!         self.secret = Some(secret);
//!         Ok(share)
//!     }
//!
//!     /// The client reads the server's share. An error ends the connection.
//!     fn compute_shared_secret(&mut self, received: &[u8]) -> Result<(), Error> {
//!         let client = self.client.take().ok_or(Error::OutOfOrder)?;
//!         self.secret = Some(client.finish(received).map_err(Error::Share)?);
//!         Ok(())
//!     }
//!
//!     /// Returns K. The exchange hash and the derivation of keys take it as a string, with its
//!     /// length before it, and not as an `mpint`.
//!     fn k(&self) -> Option<&[u8; ssh::SHARED_SECRET_BYTES]> {
//!         self.secret.as_ref().map(SharedSecret::as_bytes)
//!     }
//! }
//!
//! let (mut client, mut server) = (Sntrup761X25519::default(), Sntrup761X25519::default());
//! let answer = server.server_dh(&client.client_dh()?)?;
//! client.compute_shared_secret(&answer)?;
//! assert!(client.k().is_some() && client.k() == server.k());
//! # Ok::<(), Error>(())
//! ```

use core::fmt;

use ctru_kem::{Ciphertext, EncapsulationKey, InvalidLength, KeyPairSeed, ParameterSet, Sntrup761};
use rand_core::{CryptoRng, TryCryptoRng};
use sha2::Sha512;
use sha2::digest::{FixedOutputReset, Update};
use subtle::{Choice, ConstantTimeEq};
use thiserror::Error;
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::{ZeroizeOnDrop, Zeroizing};

use crate::keys::{check_length, joined, parts, private_x25519};
use crate::params::{COIN_BYTES, X25519_BYTES};

/// The name of the method.
pub const NAME: &str = "sntrup761x25519-sha512";
/// The name that OpenSSH gave to the same method before the RFC.
pub const OPENSSH_NAME: &str = "sntrup761x25519-sha512@openssh.com";
/// Bytes of a client's share: the public key of sntrup761, then that of X25519.
pub const CLIENT_SHARE_BYTES: usize = Sntrup761::ENCAPSULATION_KEY_BYTES + X25519_BYTES;
/// Bytes of a server's share: the ciphertext of sntrup761, then the public key of X25519.
pub const SERVER_SHARE_BYTES: usize = Sntrup761::CIPHERTEXT_BYTES + X25519_BYTES;
/// Bytes of the shared secret: a hash of SHA-512.
pub const SHARED_SECRET_BYTES: usize = 64;

/// The client's private keys, for one exchange. Wiped when dropped.
pub struct Client {
    sntrup: ctru_kem::DecapsulationKey<Sntrup761>,
    x25519: StaticSecret,
}

/// The server's randomness, for one exchange. Wiped when dropped.
pub struct Server {
    coins: Zeroizing<[u8; COIN_BYTES]>,
}

/// The secret that both sides share, K of SSH. Wiped when dropped.
#[derive(Clone)]
pub struct SharedSecret {
    bytes: Zeroizing<[u8; SHARED_SECRET_BYTES]>,
}

/// The reason why the share of the other side is refused. It ends the connection.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidShare {
    /// The length is wrong.
    #[error(transparent)]
    Length(#[from] InvalidLength),
    /// The public key of X25519 is a point of low order, so that its result is zero.
    #[error("the result of X25519 is zero")]
    ZeroX25519,
}

from_random_bytes!([] Client, 64);
from_random_bytes!([] Server, 64);

/// Returns the first 32 bytes of coins.
fn seed(coins: &[u8; COIN_BYTES]) -> &[u8; ctru_kem::SEED_BYTES] {
    coins.first_chunk().expect("coins are longer than a seed")
}

impl Client {
    /// Generates the keys that `coins` determine: a [seed](KeyPairSeed) of sntrup761, then the
    /// private key of X25519.
    ///
    /// The coins must be uniform and secret, and they must be used once.
    #[must_use]
    pub fn generate_deterministic(coins: &[u8; COIN_BYTES]) -> Self {
        let seed = KeyPairSeed::from_bytes(seed(coins)).expect("a seed has 32 bytes");
        Self { sntrup: seed.decapsulation_key(), x25519: private_x25519(coins) }
    }

    /// Returns the share to send.
    #[must_use]
    pub fn share(&self) -> [u8; CLIENT_SHARE_BYTES] {
        joined(self.sntrup.encapsulation_key().as_ref(), &PublicKey::from(&self.x25519))
    }

    /// Returns the secret that follows from the server's share.
    ///
    /// If the share was altered, the secret differs from the server's. X25519 ignores the last bit,
    /// but the exchange hash covers it.
    ///
    /// # Errors
    /// [`InvalidShare`] if the length is wrong or X25519 gives zero.
    pub fn finish(self, server_share: &[u8]) -> Result<SharedSecret, InvalidShare> {
        check_length(SERVER_SHARE_BYTES, server_share)?;
        let (sntrup, x25519) = parts(server_share);
        let sntrup = Ciphertext::from_bytes(sntrup)?;
        combine(&self.sntrup.decapsulate(&sntrup), &self.x25519.diffie_hellman(&x25519))
    }
}

impl Server {
    /// Takes `coins` as the randomness: the seed of an encapsulation, then the private key of
    /// X25519.
    ///
    /// The coins must be uniform and secret, and they must be used once.
    #[must_use]
    pub fn generate_deterministic(coins: &[u8; COIN_BYTES]) -> Self {
        Self { coins: Zeroizing::new(*coins) }
    }

    /// Returns the share to send, and the secret. Every string of the right length is a public key
    /// of sntrup761.
    ///
    /// # Errors
    /// [`InvalidShare`] if the length of the client's share is wrong or X25519 gives zero.
    pub fn answer(
        self,
        client_share: &[u8],
    ) -> Result<([u8; SERVER_SHARE_BYTES], SharedSecret), InvalidShare> {
        check_length(CLIENT_SHARE_BYTES, client_share)?;
        let (sntrup, client) = parts(client_share);
        let sntrup = EncapsulationKey::<Sntrup761>::from_bytes(sntrup)
            .expect("all strings of this length are keys");
        let x25519 = private_x25519(&self.coins);
        let (ciphertext, secret) = sntrup.encapsulate_deterministic(seed(&self.coins));
        let secret = combine(&secret, &x25519.diffie_hellman(&client))?;
        Ok((joined(ciphertext.as_ref(), &PublicKey::from(&x25519)), secret))
    }
}

/// Returns SHA-512 of `sntrup || x25519`. Whether X25519 gives zero depends on the other side's
/// public key only, so this is no secret.
fn combine(
    sntrup: &ctru_kem::SharedSecret,
    x25519: &x25519_dalek::SharedSecret,
) -> Result<SharedSecret, InvalidShare> {
    if !x25519.was_contributory() {
        return Err(InvalidShare::ZeroX25519);
    }
    let mut hash = Sha512::default();
    hash.update(sntrup.as_ref());
    hash.update(x25519.as_bytes());
    let mut bytes = Zeroizing::new([0; SHARED_SECRET_BYTES]);
    // This call takes `hash` by reference. A move would leave a copy of its state in memory.
    hash.finalize_into_reset((&mut *bytes).into());
    Ok(SharedSecret { bytes })
}

impl SharedSecret {
    /// Returns the bytes. SSH hashes them as a string.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; SHARED_SECRET_BYTES] {
        &self.bytes
    }
}

/// Says that a type wipes itself, and implements `Debug` without its secrets.
macro_rules! secret {
    ($name:ident) => {
        impl ZeroizeOnDrop for $name {}

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(..)"))
            }
        }
    };
}

secret!(Client);
secret!(Server);
secret!(SharedSecret);

impl ConstantTimeEq for SharedSecret {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.bytes.ct_eq(&*other.bytes)
    }
}

impl PartialEq for SharedSecret {
    fn eq(&self, other: &Self) -> bool {
        self.ct_eq(other).into()
    }
}

impl Eq for SharedSecret {}
