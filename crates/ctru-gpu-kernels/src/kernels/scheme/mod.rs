//! The scheme.

pub mod decode_message;
pub mod encrypt;
pub mod fused;
pub mod same_public_key;
pub mod same_secret_key;
pub mod sample;
pub mod select;
mod tiles;
pub mod unpack_ciphertext;
