//! CTRU-Prime with X25519, and sntrup761 with X25519 in SSH: vectors, an implementation in Python,
//! operations and properties.

// Tests may unwrap: a test must fail if its input cannot be built.
#![allow(clippy::unwrap_used)]

/// Makes a module of three tests, one per set, from each generic function
/// `fn check<P: ParameterSet>()` in the list.
macro_rules! every_set {
    ($($(#[$other:meta])? $check:ident),* $(,)?) => {
        $(
            mod $check {
                use ctru_hybrid::{CtruPrime653, CtruPrime761, CtruPrime1277, X25519CtruPrime};

                #[test]
                $(#[$other])?
                fn n653() {
                    super::$check::<X25519CtruPrime<CtruPrime653>>();
                }
                #[test]
                fn n761() {
                    super::$check::<X25519CtruPrime<CtruPrime761>>();
                }
                #[test]
                $(#[$other])?
                fn n1277() {
                    super::$check::<X25519CtruPrime<CtruPrime1277>>();
                }
            }
        )*
    };
}

mod key_file;
mod operations;
mod python;
mod ssh;
mod values;
mod vectors;

use ctru_hybrid::{COIN_BYTES, DECAPSULATION_KEY_BYTES, DecapsulationKey, ParameterSet};

/// Returns a key whose bytes count up from `first`.
fn key<P: ParameterSet>(first: u8) -> DecapsulationKey<P> {
    let bytes: [u8; DECAPSULATION_KEY_BYTES] = std::array::from_fn(|i| first.wrapping_add(i as u8));
    DecapsulationKey::generate_deterministic(&bytes)
}

/// Returns coins that count down from `last`.
fn coins(last: u8) -> [u8; COIN_BYTES] {
    std::array::from_fn(|i| last.wrapping_sub(i as u8))
}

/// Returns the degree of the ring.
fn degree<P: ParameterSet>() -> usize {
    let digits: String =
        P::NAME.trim_end_matches(" X25519").chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}
