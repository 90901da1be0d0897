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
    UnloadKeysRequest,
    EncapsulateRequest,
    EncapsulateResponse,
    DecapsulateRequest,
    DecapsulateResponse,
    load_keys_request::Keys,
    encapsulate_request::Key,
    decapsulate_request::Key
);

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn messages_show_no_keys_and_no_names() {
        let key = encapsulate_request::Key::Loaded("5ec8e7".into());
        let keys = Bytes::from_static(b"5ec8e7");
        // If one of the others had a derived `Debug`, it would have two.
        let shown: [&dyn fmt::Debug; 3] = [
            &key.clone(),
            &EncapsulateRequest { scheme: None, key: Some(key), count: 1 },
            &DecapsulateResponse { shared_secrets: keys },
        ];
        for message in shown {
            let text = format!("{message:?}");
            assert!(text.ends_with("(..)") && !text.contains("5ec8e7"), "{text}");
        }
    }
}
