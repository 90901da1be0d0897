//! The messages, the client and the server that the build script generates from `kem.proto`.
#![allow(missing_docs, unreachable_pub, unused_qualifications, clippy::all)]

use std::fmt;

tonic::include_proto!("ctru.v1");

/// The compiled `kem.proto`, for reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kem.bin"));

/// Implements `Debug` for messages that can hold secrets, without their content.
macro_rules! redact {
    ($($message:ty),*) => {$(
        impl fmt::Debug for $message {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($message), "(..)"))
            }
        }
    )*};
}

redact!(
    GenerateKeysResponse,
    SealKeysRequest,
    SealKeysResponse,
    LoadKeysRequest,
    LoadKeysResponse,
    EncapsulateResponse,
    DecapsulateRequest,
    DecapsulateResponse,
    load_keys_request::Keys,
    decapsulate_request::Key
);
