//! The steps of the scheme other than hashing and products, and kernels that fuse these steps with
//! products.
//!
//! [`sample`], [`encrypt`], [`unpack_ciphertext`], [`decode_message`] and [`select`] each compute
//! one step. [`fused`] computes a whole encryption, verification or decryption in one kernel with
//! the polyphase product, and the operations of a batch may have different keys.
//! [`same_public_key`] and [`same_secret_key`] are the fused kernels for batches with one key. They
//! use a product of matrices.

pub mod decode_message;
pub mod encrypt;
pub mod fused;
pub(crate) mod received;
pub mod same_public_key;
pub mod same_secret_key;
pub mod sample;
pub mod select;
pub mod unpack_ciphertext;
