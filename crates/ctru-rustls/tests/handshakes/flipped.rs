//! A proxy that flips bits of the shares on their way.

use ctru_rustls::ring::{
    X25519_CTRU_PRIME_653, X25519_CTRU_PRIME_761, X25519_CTRU_PRIME_1277, X25519MLKEM768,
};
use rustls::crypto::SupportedKxGroup;

use crate::ends::{Ends, Sender, client, server};
use crate::negotiation::{ours, share_in};

/// Flips one bit of each byte of both shares in turn: in byte `i`, the bit with the number `i`
/// modulo 8. Checks that the handshake completes on neither end.
fn check(group: &'static dyn SupportedKxGroup) {
    let (client, server) = (client(&[group]), server(&[group]));
    let (_, number, lengths) = ours().into_iter().find(|of| of.0.name() == group.name()).unwrap();
    for (of, length) in [Sender::Client, Sender::Server].into_iter().zip(lengths) {
        for byte in 0..length {
            let mut flipped = false;
            let mut ends = Ends::new(&client, &server);
            ends.talk_through(|sender, flight| {
                if sender == of && !flipped {
                    let share = share_in(flight, number, length);
                    flight[share + byte] ^= 1 << (byte % 8);
                    flipped = true;
                }
            });
            assert!(ends.client.error.is_some(), "share of the {of:?}, byte {byte}");
            assert!(!ends.client.is_done() && !ends.server.is_done());
        }
    }
    // Without a flipped bit, the same configurations do connect.
    let mut ends = Ends::new(&client, &server);
    ends.talk();
    ends.check_connected();
}

#[test]
fn of_653() {
    check(X25519_CTRU_PRIME_653);
}

#[test]
fn of_761() {
    check(X25519_CTRU_PRIME_761);
}

#[test]
fn of_1277() {
    check(X25519_CTRU_PRIME_1277);
}

#[test]
fn of_ml_kem() {
    check(X25519MLKEM768);
}
