//! CTRU-Prime: `pke` is the encryption, `kem` its transformation, `together` batches of key pairs,
//! and `scheme` what the parameter sets use, with the form of private keys.

mod kem;
mod pke;
mod scheme;
#[cfg(feature = "std")]
mod together;

pub(crate) use scheme::CtruPrime;
#[cfg(all(feature = "std", debug_assertions))]
pub use scheme::decoded_keys;
