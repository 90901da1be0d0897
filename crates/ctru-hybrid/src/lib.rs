// The example of the README needs the default features.
#![cfg_attr(feature = "getrandom", doc = include_str!("../README.md"))]
#![cfg_attr(not(feature = "getrandom"), doc = "The KEM CTRU-Prime with X25519.")]
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

// First, because others use its macro.
#[macro_use]
mod random;

mod combine;
#[cfg(feature = "pkcs8")]
mod key_file;
mod keys;
mod known_answer;
mod params;
mod set;
pub mod ssh;

#[cfg(feature = "pkcs8")]
pub use ctru_kem::pkcs8;
pub use ctru_kem::sets::{self, *};
pub use ctru_kem::{
    InvalidEncapsulationKey, InvalidLength, InvalidSeed, SHARED_SECRET_BYTES, SharedSecret,
    WrongAnswer, with_ctru_prime_set,
};
pub use keys::{Ciphertext, DecapsulationKey, EncapsulationKey};
pub use known_answer::known_answer_test;
pub use params::{
    COIN_BYTES, CiphertextBytes, DECAPSULATION_KEY_BYTES, EncapsulationKeyBytes, ParameterSet,
    X25519_BYTES, X25519CtruPrime,
};
pub use set::{NoHybrid, Set};
