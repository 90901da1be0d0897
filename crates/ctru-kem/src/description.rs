//! What is known of parameters that are chosen at run time: sizes, the ring and the operations.

use crate::hash::KEY_PAIR_SEED_BYTES;
use crate::parameters::{Encoding, Parameters, Set};
use crate::params::{self, Operations, ParameterSet, Types};
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

/// What is known of parameters.
pub(crate) struct Description {
    pub(crate) name: &'static str,
    pub(crate) sizes: Sizes,
    key_pair_seed: usize,
    /// Bytes of a decapsulation key before its encapsulation key.
    secret: usize,
    degree: usize,
    modulus: u32,
    /// The right result of the known-answer test.
    pub(crate) known_answer: u128,
    pub(crate) operations: Operations,
}

impl Description {
    pub(crate) const fn of<P: ParameterSet>() -> &'static Self {
        const {
            &Self {
                name: P::NAME,
                sizes: Sizes {
                    encapsulation_key: P::ENCAPSULATION_KEY_BYTES,
                    decapsulation_key: P::DECAPSULATION_KEY_BYTES,
                    ciphertext: P::CIPHERTEXT_BYTES,
                },
                key_pair_seed: <P as Types>::Scheme::KEY_PAIR_SEED_BYTES,
                secret: <P as Types>::Scheme::SECRET_BYTES,
                degree: <P as Types>::Scheme::DEGREE,
                modulus: <P as Types>::Scheme::MODULUS,
                known_answer: P::KNOWN_ANSWER,
                operations: Operations::of::<P>(),
            }
        }
    }
}

impl Parameters {
    /// Returns the sizes of keys and ciphertexts.
    #[must_use]
    pub const fn sizes(self) -> Sizes {
        self.description().sizes
    }

    /// Returns the number of bytes from which a key pair is generated: 64 for CTRU-Prime, the seed
    /// and `z`, and 32 for NTRU Prime, the seed.
    #[must_use]
    pub const fn key_pair_seed_bytes(self) -> usize {
        self.description().key_pair_seed
    }

    /// Returns the encapsulation key in the bytes of a decapsulation key.
    ///
    /// # Panics
    /// If these are fewer than those of a decapsulation key.
    #[must_use]
    pub fn encapsulation_key_of(self, decapsulation_key: &[u8]) -> &[u8] {
        &decapsulation_key[self.description().secret..][..self.sizes().encapsulation_key]
    }

    /// Writes the seeds of a batch of key pairs from rows of
    /// [`key_pair_seed_bytes`](Self::key_pair_seed_bytes). Zeros take the place of `z`, if there is
    /// none.
    pub fn write_key_pair_seeds(self, rows: &[u8], seeds: &mut [[u8; KEY_PAIR_SEED_BYTES]]) {
        let bytes = self.key_pair_seed_bytes();
        let mut rest = rows;
        for seed in seeds {
            let Some((row, others)) = rest.split_at_checked(bytes) else { return };
            *seed = [0; KEY_PAIR_SEED_BYTES];
            seed[..bytes].copy_from_slice(row);
            rest = others;
        }
    }

    /// Returns the degree `n` of the ring.
    #[must_use]
    pub const fn degree(self) -> usize {
        self.description().degree
    }

    /// Returns the modulus `q` of the ring.
    #[must_use]
    pub const fn modulus(self) -> u32 {
        self.description().modulus
    }

    /// Returns the operations.
    #[cfg(feature = "std")]
    pub(crate) const fn operations(self) -> &'static Operations {
        &self.description().operations
    }
}

/// Defines [`Parameters::description`].
macro_rules! describe {
    ($($(#[$doc:meta])* $name:ident($ring:ident) = $code:literal: $number:literal, $text:literal {
        $($encoding:ident => $known_answer:literal;)*
    })+) => {
        impl Parameters {
            /// Returns what is known of the parameters.
            pub(crate) const fn description(self) -> &'static Description {
                match (self.set, self.encoding) {
                    $($(
                        (Set::$name, Encoding::$encoding) => {
                            Description::of::<params::$name<crate::encoding::$encoding>>()
                        }
                    )*)+
                    _ => panic!("Parameters::new refuses all others"),
                }
            }
        }
    };
}
sets!(describe!);
