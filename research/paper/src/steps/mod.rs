//! The steps of the scheme other than hashing and products, each in a kernel of its own.

pub mod decode_message;
pub mod encrypt;
pub mod sample;
pub mod select;
pub mod unfused;
pub mod unpack_ciphertext;
