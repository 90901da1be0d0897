//! What is known of parameters that are chosen at run time: sizes and the ring.

use crate::hash::KEY_PAIR_SEED_BYTES;
use crate::parameters::Parameters;
use crate::params::{ParameterSet, Types};
use crate::scheme::Scheme;

/// The bytes of a key or a ciphertext. A shared secret has
/// [`SHARED_SECRET_BYTES`](crate::SHARED_SECRET_BYTES) in every parameter set.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Bytes of an encapsulation key.
    pub encapsulation_key: usize,
    /// Bytes of a decapsulation key.
    pub decapsulation_key: usize,
    /// Bytes of a ciphertext.
    pub ciphertext: usize,
}

impl Parameters {
    /// Returns the sizes of keys and ciphertexts.
    #[must_use]
    pub const fn sizes(self) -> Sizes {
        with_parameters!(self, P => Sizes {
            encapsulation_key: P::ENCAPSULATION_KEY_BYTES,
            decapsulation_key: P::DECAPSULATION_KEY_BYTES,
            ciphertext: P::CIPHERTEXT_BYTES,
        })
    }

    /// Returns the number of bytes from which a key pair is generated: 64 for CTRU-Prime, the seed
    /// and `z`, and 32 for NTRU Prime, the seed.
    #[must_use]
    pub const fn key_pair_seed_bytes(self) -> usize {
        with_parameters!(self, P => <P as Types>::Scheme::KEY_PAIR_SEED_BYTES)
    }

    /// Returns the encapsulation key in the bytes of a decapsulation key.
    ///
    /// # Panics
    /// If these are fewer than those of a decapsulation key.
    #[must_use]
    pub fn encapsulation_key_of(self, decapsulation_key: &[u8]) -> &[u8] {
        let before = with_parameters!(self, P => <P as Types>::Scheme::SECRET_BYTES);
        &decapsulation_key[before..][..self.sizes().encapsulation_key]
    }

    /// Writes the seeds of a batch of key pairs from rows of
    /// [`key_pair_seed_bytes`](Self::key_pair_seed_bytes). Zeros take the place of `z`, if there is
    /// none.
    pub fn write_key_pair_seeds(self, rows: &[u8], seeds: &mut [[u8; KEY_PAIR_SEED_BYTES]]) {
        let bytes = self.key_pair_seed_bytes();
        for (seed, row) in seeds.iter_mut().zip(rows.chunks_exact(bytes)) {
            *seed = [0; KEY_PAIR_SEED_BYTES];
            seed[..bytes].copy_from_slice(row);
        }
    }

    /// Returns the degree `n` of the ring.
    #[must_use]
    pub const fn degree(self) -> usize {
        with_parameters!(self, P => <P as Types>::Scheme::DEGREE)
    }

    /// Returns the modulus `q` of the ring.
    #[must_use]
    pub const fn modulus(self) -> u32 {
        with_parameters!(self, P => <P as Types>::Scheme::MODULUS)
    }
}
