//! The steps of the scheme between hashing and products, and the kernels that fuse them with
//! products.
//!
//! [`sample`], [`encrypt`], [`unpack_ciphertext`], [`decode_message`] and [`select`] do one step
//! each. [`fused`] does all of encryption, verification or decryption in one kernel around the
//! polyphase product, for any keys. [`same_public_key`] and [`same_secret_key`] do so for batches
//! with one key, around a product of matrices.

pub mod decode_message;
pub mod encrypt;
pub mod fused;
pub mod same_public_key;
pub mod same_secret_key;
pub mod sample;
pub mod select;
mod tiles;
pub mod unpack_ciphertext;
