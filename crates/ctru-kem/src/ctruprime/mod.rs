//! CTRU-Prime: `pke` is the encryption, `kem` its transformation, `layout` the form of private
//! keys, `together` batches of key pairs, and `scheme` what the parameter sets use.

mod kem;
mod layout;
mod pke;
mod scheme;
#[cfg(feature = "std")]
mod together;

pub(crate) use scheme::CtruPrime;
#[cfg(all(feature = "std", debug_assertions))]
pub use scheme::decoded_keys;
