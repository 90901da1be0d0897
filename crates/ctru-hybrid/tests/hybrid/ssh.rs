//! The key exchange of SSH: a known answer, refused and altered shares, randomness.

use std::collections::HashSet;

use ctru_hybrid::ssh::{
    CLIENT_SHARE_BYTES, Client, InvalidShare, SERVER_SHARE_BYTES, Server, SharedSecret,
};
use ctru_hybrid::{InvalidLength, X25519_BYTES};
use ctru_tests::random::{Exhausted, finite, infallible};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::python::POINTS_OF_LOW_ORDER;

/// Returns the client whose coins are 1 to 64.
fn client() -> Client {
    Client::generate_deterministic(&std::array::from_fn(|i| i as u8 + 1))
}

/// Returns the server whose coins are 101 to 164.
fn server() -> Server {
    Server::generate_deterministic(&std::array::from_fn(|i| i as u8 + 101))
}

/// Returns the server's answer to the client, and its secret.
fn answer() -> ([u8; SERVER_SHARE_BYTES], SharedSecret) {
    server().answer(&client().share()).unwrap()
}

/// Compares shares and secrets with those of an implementation of sntrup761 in Python, with
/// X25519 of OpenSSL.
#[test]
fn known_answer() {
    let sha256 = |share: &[u8]| const_hex::encode(Sha256::digest(share));
    assert_eq!(
        sha256(&client().share()),
        "007ab6d01fffbd364dafc99eb1d067785b22bf6b79f11913555816009c1cacd2"
    );
    let (mut share, secret) = answer();
    assert_eq!(sha256(&share), "44f3f091e3e52f56ee225f6a9e94c9adf31707f84e10e78ddfcaec434432d702");
    assert_eq!(
        const_hex::encode(secret.as_bytes()),
        "bfddc1df05f0d0ffab58f361f53ba08db084fc25209d04ce0aeac176a89c14b2\
         db870e0bf38b43be382618dea0fbb31bbc1c9ef13d1b272ca323da1cc8c2074b"
    );
    share[0] ^= 1;
    assert_eq!(
        const_hex::encode(client().finish(&share).unwrap().as_bytes()),
        "6b0d76e858b7d210bb6040bbbc5e52375fc0dca61e72ec3c1e22b180ff3c6630\
         f0ab78aa6e07f5777820c5bd4623e127ca9b677d4a43bb28d83ae9784701420e"
    );
}

#[test]
fn both_sides_have_one_secret() {
    let mut secrets = HashSet::new();
    for _ in 0..20 {
        let client = Client::try_generate().unwrap();
        let (share, sent) = Server::try_generate().unwrap().answer(&client.share()).unwrap();
        let secret = client.finish(&share).unwrap();
        assert!(secret == sent && bool::from(secret.ct_eq(&sent.clone())));
        assert!(secrets.insert(*secret.as_bytes()), "the system's randomness repeats");
    }
}

/// Both sides refuse every other length up to twice the right one.
#[test]
fn wrong_lengths() {
    let bytes = [7; 2 * CLIENT_SHARE_BYTES];
    for actual in (0..=bytes.len()).filter(|&actual| actual != CLIENT_SHARE_BYTES) {
        let error = InvalidLength { expected: CLIENT_SHARE_BYTES, actual }.into();
        assert_eq!(server().answer(&bytes[..actual]), Err(error));
    }
    // It takes longer to make a client than a server.
    let near = SERVER_SHARE_BYTES - 40..SERVER_SHARE_BYTES + 40;
    let others = [0, 1, X25519_BYTES, CLIENT_SHARE_BYTES, 2 * SERVER_SHARE_BYTES];
    for actual in near.chain(others).filter(|&actual| actual != SERVER_SHARE_BYTES) {
        let error = InvalidLength { expected: SERVER_SHARE_BYTES, actual }.into();
        assert_eq!(client().finish(&bytes[..actual]), Err(error));
    }
}

#[test]
fn points_of_low_order() {
    for point in POINTS_OF_LOW_ORDER {
        let point = const_hex::decode(point).unwrap();
        let mut share = client().share();
        share[CLIENT_SHARE_BYTES - X25519_BYTES..].copy_from_slice(&point);
        assert_eq!(server().answer(&share), Err(InvalidShare::ZeroX25519));
        let (mut share, _) = answer();
        share[SERVER_SHARE_BYTES - X25519_BYTES..].copy_from_slice(&point);
        assert_eq!(client().finish(&share), Err(InvalidShare::ZeroX25519));
    }
}

/// Flips one bit of each byte of a share, but not the bit that X25519 ignores.
#[test]
fn every_byte_of_a_share_counts() {
    let (share, secret) = answer();
    let mut secrets = HashSet::from([*secret.as_bytes()]);
    for byte in 0..SERVER_SHARE_BYTES {
        let mut share = share;
        share[byte] ^= 1 << (byte % 7);
        let secret = client().finish(&share).unwrap();
        assert!(secrets.insert(*secret.as_bytes()), "byte {byte} of the server's share");
    }
    let share = client().share();
    for byte in 0..CLIENT_SHARE_BYTES {
        let mut share = share;
        share[byte] ^= 1 << (byte % 7);
        let (_, secret) = server().answer(&share).unwrap();
        assert!(secrets.insert(*secret.as_bytes()), "byte {byte} of the client's share");
    }
}

#[test]
fn randomness_of_a_generator() {
    let coins = |first: u8| -> Vec<u8> { (first..first + 64).collect() };
    let generated = Client::generate_from_rng(&mut infallible(&coins(1)));
    assert_eq!(generated.share(), client().share());
    let generated = Client::try_generate_from_rng(&mut finite(&coins(1))).unwrap();
    assert_eq!(generated.share(), client().share());
    let generated = Server::generate_from_rng(&mut infallible(&coins(101)));
    assert_eq!(generated.answer(&client().share()), Ok(answer()));
    let generated = Server::try_generate_from_rng(&mut finite(&coins(101))).unwrap();
    assert_eq!(generated.answer(&client().share()), Ok(answer()));

    let short = || finite(&[1; 63]);
    let error = Exhausted { asked: 64 };
    assert_eq!(Client::try_generate_from_rng(&mut short()).unwrap_err(), error);
    assert_eq!(Server::try_generate_from_rng(&mut short()).unwrap_err(), error);
}

#[test]
fn debug_shows_no_secret() {
    let (_, secret) = answer();
    let text = format!("{:?} {:?} {secret:?}", client(), server());
    assert_eq!(text, "Client(..) Server(..) SharedSecret(..)");
}
