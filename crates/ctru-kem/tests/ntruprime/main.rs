//! Streamlined NTRU Prime: vectors, properties, and keys that are refused.

// Tests may unwrap: a test must fail if its input cannot be built.
#![allow(clippy::unwrap_used)]

mod batch;
mod drbg;
mod properties;
mod vectors;

use ctru_kem::ntruprime::{
    Named, PrivateKey, PublicKey, Source, ciphertext_bytes, generate, private_key_bytes,
};
use ctru_math::array::Array;

/// A key pair and an encapsulation.
struct Run<R: Named> {
    public: R::MixedRadixBytes,
    private: Vec<u8>,
    ciphertext: Vec<u8>,
    secret: [u8; 32],
}

impl<R: Named> Run<R> {
    /// Generates a key pair from one source of random bytes, and encapsulates with another.
    fn new(keys: Source<'_>, encapsulation: Source<'_>) -> Self {
        let mut run = Self::with_key(keys);
        run.encapsulate(encapsulation);
        run
    }

    /// Generates a key pair.
    fn with_key(source: Source<'_>) -> Self {
        let mut run = Self {
            public: R::MixedRadixBytes::zeroed(),
            private: vec![0; private_key_bytes::<R>()],
            ciphertext: vec![0; ciphertext_bytes::<R>()],
            secret: [0; 32],
        };
        generate::<R>(source, &mut run.public, &mut run.private).unwrap();
        run
    }

    /// Encapsulates to the key.
    fn encapsulate(&mut self, source: Source<'_>) {
        let key = PublicKey::<R>::new(&self.public);
        key.encapsulate(source, &mut self.ciphertext, &mut self.secret).unwrap();
    }

    fn decapsulated(&self, ciphertext: &[u8]) -> [u8; 32] {
        let mut secret = [0; 32];
        PrivateKey::<R>::read(&self.private).unwrap().decapsulate(ciphertext, &mut secret);
        secret
    }
}
