//! CTRU-Prime: `pke` is the encryption, `layout` the form of decapsulation keys, `kem` the scheme,
//! and `together` its batches of key pairs.

mod kem;
mod layout;
mod pke;
#[cfg(feature = "std")]
mod together;

pub(crate) use kem::CtruPrime;
#[cfg(all(feature = "std", debug_assertions))]
pub use kem::decoded_keys;
