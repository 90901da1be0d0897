// The examples of the README need the default features.
#![cfg_attr(all(feature = "std", feature = "getrandom"), doc = include_str!("../README.md"))]
#![cfg_attr(
    not(all(feature = "std", feature = "getrandom")),
    doc = "The post-quantum KEMs CTRU-Prime and Streamlined NTRU Prime."
)]
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "std")]
extern crate std;

#[cfg(feature = "pem")]
extern crate alloc;

// First, because other modules use its macros.
#[macro_use]
mod parameters;

mod answer;
#[cfg(feature = "std")]
mod batch;
mod bytes;
#[cfg(feature = "std")]
mod cores;
mod ctruprime;
mod decoded;
mod description;
mod encoding;
#[cfg(feature = "std")]
pub mod engine;
mod error;
#[cfg(feature = "std")]
mod expand;
#[cfg(feature = "std")]
mod first_refused;
mod hash;
#[cfg(feature = "pkcs8")]
pub mod key_file;
mod key_pair_seed;
mod keys;
mod known_answer;
#[doc(hidden)]
pub mod ntruprime;
mod params;
#[cfg(feature = "pem")]
pub mod pem;
#[cfg(feature = "std")]
mod rows;
mod scheme;
mod source;
#[cfg(feature = "std")]
mod threads;
#[cfg(feature = "kem")]
mod traits;
mod wipe;

#[doc(hidden)]
#[cfg(all(feature = "std", debug_assertions))]
pub use ctruprime::decoded_keys;
pub use decoded::{DecodedDecapsulationKey, DecodedEncapsulationKey};
pub use description::Sizes;
pub use encoding::{MixedRadix, Packed13};
#[cfg(feature = "std")]
pub use error::InvalidRow;
pub use error::{InvalidDecapsulationKey, InvalidEncapsulationKey, InvalidLength, InvalidSeed};
pub use hash::{KEY_PAIR_SEED_BYTES, SEED_BYTES, SHARED_SECRET_BYTES};
#[cfg(feature = "kem")]
pub use kem;
pub use key_pair_seed::KeyPairSeed;
pub use keys::{Ciphertext, DecapsulationKey, EncapsulationKey, SharedSecret};
pub use known_answer::{WrongAnswer, known_answer_test};
pub use parameters::{
    Encoding, NoSuchParameters, Parameters, Scheme, Set, UnknownEncoding, UnknownSet,
};
pub use params::sets::{self, *};
pub use params::{
    CiphertextBytes, CtruPrimeSet, DecapsulationKeyBytes, EncapsulationKeyBytes, ParameterSet,
};
#[cfg(feature = "pkcs8")]
pub use pkcs8;
#[doc(hidden)]
pub use wipe::wiping_the_stack;
