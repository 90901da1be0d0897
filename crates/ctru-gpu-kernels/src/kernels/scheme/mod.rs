//! The steps of the scheme other than hashing, in kernels that fuse them with products.
//!
//! [`fused`] computes a whole encryption, verification or decryption in one kernel with the
//! polyphase product, and the operations of a batch may have different keys. [`same_public_key`]
//! and [`same_secret_key`] are the fused kernels for batches with one key. They use a product of
//! matrices. [`sample`] samples secret polynomials; the other modules are parts of kernels.

pub mod decode_message;
pub mod encrypt;
pub mod fused;
pub(crate) mod received;
pub mod same_public_key;
pub mod same_secret_key;
pub mod sample;
pub mod select;
