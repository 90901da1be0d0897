// The examples of the README take default features.
#![cfg_attr(all(feature = "std", feature = "getrandom"), doc = include_str!("../README.md"))]
#![cfg_attr(
    not(all(feature = "std", feature = "getrandom")),
    doc = "The post-quantum KEM CTRU-Prime."
)]
#![no_std]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

#[cfg(feature = "std")]
pub mod engine;
mod error;
mod expanded;
mod hash;
mod keys;
mod params;
mod pke;
mod wipe;

pub use error::{InvalidDecapsulationKey, InvalidEncapsulationKey, InvalidLength};
pub use keys::{Ciphertext, DecapsulationKey, EncapsulationKey, SharedSecret};
pub use params::{
    CiphertextBytes, CtruPrime653, CtruPrime761, CtruPrime1277, EncapsulationKeyBytes,
    KEY_ID_BYTES, Marker, MixedRadix, Packed13, ParameterSet, PublicKeyEncoding, SEED_BYTES,
    SHARED_SECRET_BYTES,
};
