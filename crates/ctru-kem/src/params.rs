//! The parameter sets, as zero-sized types.
//!
//! The operations of each set are methods of a hidden trait, so that their machine code is
//! generated in this crate and not in each program that uses it.

use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;
#[cfg(feature = "std")]
use std::vec::Vec;

use ctru_math::array::Array;
use ctru_math::{R653, R761, R1277, Ring};

#[cfg(feature = "std")]
use crate::batch::{self, Keys, Seeds};
use crate::encoding::{Encode, MixedRadix, Packed13, PublicKeyEncoding};
#[cfg(feature = "std")]
use crate::error::InvalidRow;
use crate::error::{InvalidDecapsulationKey, InvalidEncapsulationKey};
#[cfg(feature = "std")]
use crate::hash::KEY_PAIR_SEED_BYTES;
use crate::hash::{SEED_BYTES, SHARED_SECRET_BYTES};
use crate::kem::{self, DecodedDecapsulationKey, DecodedEncapsulationKey};
#[cfg(feature = "std")]
use crate::threads::ThreadPool;

/// A parameter set of CTRU-Prime with an encoding of encapsulation keys.
///
/// The trait is sealed. This crate implements it for the three sets with each of two encodings.
///
/// Sizes in bytes, with [`MixedRadix`] / with [`Packed13`]:
///
/// | set | encapsulation key | decapsulation key | ciphertext | shared secret |
/// |---|---:|---:|---:|---:|
/// | [`CtruPrime653`] | 994 / 1062 | 1353 / 1421 | 898 | 32 |
/// | [`CtruPrime761`] | 1158 / 1237 | 1571 / 1650 | 952 | 32 |
/// | [`CtruPrime1277`] | 2067 / 2076 | 2738 / 2747 | 1597 | 32 |
pub trait ParameterSet: Compiled {
    /// The encoding of encapsulation keys.
    type Encoding: PublicKeyEncoding;

    /// The name of the set without its encoding, such as `CTRU-Prime-761`.
    const NAME: &'static str;
    /// The number of bytes of an encapsulation key.
    const ENCAPSULATION_KEY_BYTES: usize = <EncapsulationKeyBytes<Self> as Array<u8>>::LEN;
    /// The number of bytes of a decapsulation key.
    const DECAPSULATION_KEY_BYTES: usize = <DecapsulationKeyBytes<Self> as Array<u8>>::LEN;
    /// The number of bytes of a ciphertext.
    const CIPHERTEXT_BYTES: usize = <CiphertextBytes<Self> as Array<u8>>::LEN;
}

/// The array of the bytes of an encapsulation key of `P`.
pub type EncapsulationKeyBytes<P> = <P as Compiled>::EncapsulationKeyBytes;
/// The array of the bytes of a decapsulation key of `P`.
pub type DecapsulationKeyBytes<P> = <P as Compiled>::DecapsulationKeyBytes;
/// The array of the bytes of a ciphertext of `P`.
pub type CiphertextBytes<P> = <<P as Compiled>::Ring as Ring>::CiphertextBytes;

/// The 32 bytes of a seed or of `z`, the secret of implicit rejection.
type Seed = [u8; SEED_BYTES];
/// The bytes of a shared secret.
type SecretBytes = [u8; SHARED_SECRET_BYTES];
/// An encapsulation key that the CPU engine has loaded.
#[cfg(feature = "std")]
type LoadedEncapsulationKey<P> = DecodedEncapsulationKey<<P as Compiled>::Ring>;
/// A decapsulation key that the CPU engine has loaded.
#[cfg(feature = "std")]
type LoadedDecapsulationKey<P> = DecodedDecapsulationKey<<P as Compiled>::Ring>;

/// The operations of a parameter set on bytes. Users cannot name this trait, which seals
/// [`ParameterSet`].
///
/// The macro [`parameter_set`] implements it for each set, so that the machine code is generated in
/// this crate. A program that uses the crate compiles only calls.
pub trait Compiled: Copy + Debug + Default + Eq + Ord + Hash + Send + Sync + 'static {
    /// The ring, with the distribution of small polynomials.
    type Ring: Ring;
    /// The bytes of an encapsulation key.
    type EncapsulationKeyBytes: Array<u8>;
    /// The bytes of a decapsulation key.
    type DecapsulationKeyBytes: Array<u8>;
    /// The result of the known-answer test, as an implementation in Python has computed it.
    const KNOWN_ANSWER: u128;

    /// Generates the decapsulation key that `seed` and `z` determine, and writes it to `key`.
    fn generate(seed: &Seed, z: &Seed, key: &mut Self::DecapsulationKeyBytes);

    /// Encapsulates to a well-formed key.
    fn encapsulate(
        key: &Self::EncapsulationKeyBytes,
        seed: &Seed,
        ciphertext: &mut CiphertextBytes<Self>,
        secret: &mut SecretBytes,
    );

    /// Decapsulates with a well-formed key.
    fn decapsulate(
        key: &Self::DecapsulationKeyBytes,
        ciphertext: &CiphertextBytes<Self>,
        secret: &mut SecretBytes,
    );

    /// Checks that bytes are a well-formed encapsulation key.
    fn check_encapsulation_key(
        key: &Self::EncapsulationKeyBytes,
    ) -> Result<(), InvalidEncapsulationKey>;

    /// Checks that the polynomials of a decapsulation key are well formed.
    fn check_decapsulation_key(
        key: &Self::DecapsulationKeyBytes,
    ) -> Result<(), InvalidDecapsulationKey>;

    /// Checks that the secret polynomial and `h` of a well-formed key belong together.
    fn check_consistency(key: &Self::DecapsulationKeyBytes) -> Result<(), InvalidDecapsulationKey>;

    /// Checks that the parts of a well-formed key belong together, encapsulates with the randomness
    /// of `seed`, decapsulates, and compares the shared secrets.
    fn pairwise_test(
        key: &Self::DecapsulationKeyBytes,
        seed: &Seed,
    ) -> Result<(), InvalidDecapsulationKey>;

    /// Returns the encapsulation key of `h = 0`.
    fn encapsulation_placeholder() -> Self::EncapsulationKeyBytes;

    /// Writes the decapsulation key of `f = 1`, `h = 0` and `z = 0`.
    fn write_decapsulation_placeholder(key: &mut Self::DecapsulationKeyBytes);

    /// Generates key pairs. `encapsulation_keys` has the length of `decapsulation_keys`, or it is
    /// empty.
    #[cfg(feature = "std")]
    fn generate_batch(
        pool: &ThreadPool,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        encapsulation_keys: &mut [Self::EncapsulationKeyBytes],
        decapsulation_keys: &mut [Self::DecapsulationKeyBytes],
    );

    /// Encapsulates a batch. The slices have one element per operation.
    #[cfg(feature = "std")]
    fn encapsulate_batch(
        pool: &ThreadPool,
        keys: Keys<'_, Self::EncapsulationKeyBytes, [LoadedEncapsulationKey<Self>]>,
        seeds: Seeds<'_, SEED_BYTES>,
        ciphertexts: &mut [CiphertextBytes<Self>],
        secrets: &mut [SecretBytes],
    );

    /// Decapsulates a batch. The slices have one element per operation.
    #[cfg(feature = "std")]
    fn decapsulate_batch(
        pool: &ThreadPool,
        keys: Keys<'_, Self::DecapsulationKeyBytes, [LoadedDecapsulationKey<Self>]>,
        ciphertexts: &[CiphertextBytes<Self>],
        secrets: &mut [SecretBytes],
    );

    /// Encapsulates a batch to `keys`, which may not be well formed: one key for all operations, or
    /// one for each. The other slices have one element per operation.
    ///
    /// # Errors
    /// The first key that is not well formed. The outputs of the others may be written.
    #[cfg(feature = "std")]
    fn encapsulate_rows(
        pool: &ThreadPool,
        keys: &[Self::EncapsulationKeyBytes],
        seeds: Seeds<'_, SEED_BYTES>,
        ciphertexts: &mut [CiphertextBytes<Self>],
        secrets: &mut [SecretBytes],
    ) -> Result<(), InvalidRow<InvalidEncapsulationKey>>;

    /// Decapsulates a batch with `keys`, which may not be well formed: one key for all operations,
    /// or one for each. The other slices have one element per operation.
    ///
    /// # Errors
    /// The first key that is not well formed. The outputs of the others may be written.
    #[cfg(feature = "std")]
    fn decapsulate_rows(
        pool: &ThreadPool,
        keys: &[Self::DecapsulationKeyBytes],
        ciphertexts: &[CiphertextBytes<Self>],
        secrets: &mut [SecretBytes],
    ) -> Result<(), InvalidRow<InvalidDecapsulationKey>>;

    /// Decodes well-formed encapsulation keys.
    #[cfg(feature = "std")]
    fn decode_encapsulation_keys(
        pool: &ThreadPool,
        keys: &[Self::EncapsulationKeyBytes],
    ) -> Vec<LoadedEncapsulationKey<Self>>;

    /// Decodes well-formed decapsulation keys.
    #[cfg(feature = "std")]
    fn decode_decapsulation_keys(
        pool: &ThreadPool,
        keys: &[Self::DecapsulationKeyBytes],
    ) -> Vec<LoadedDecapsulationKey<Self>>;
}

/// Defines a parameter set and implements its operations for each encoding. The numbers after each
/// encoding are the length of a decapsulation key in bytes and the known answer.
macro_rules! parameter_set {
    ($(#[$doc:meta])* $name:ident, $ring:ty, $text:literal,
        $($encoding:ty => $bytes:literal, $known_answer:literal);*) => {
        $(#[$doc])*
        #[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name<E = MixedRadix>(PhantomData<E>);

        $(
            impl ParameterSet for $name<$encoding> {
                type Encoding = $encoding;
                const NAME: &'static str = $text;
            }

            impl Compiled for $name<$encoding> {
                type Ring = $ring;
                type EncapsulationKeyBytes = <$encoding as Encode>::Bytes<$ring>;
                type DecapsulationKeyBytes = [u8; $bytes];
                const KNOWN_ANSWER: u128 = $known_answer;

                fn generate(seed: &Seed, z: &Seed, key: &mut Self::DecapsulationKeyBytes) {
                    kem::generate::<$ring, $encoding>(seed, z, key);
                }

                fn encapsulate(
                    key: &Self::EncapsulationKeyBytes,
                    seed: &Seed,
                    ciphertext: &mut CiphertextBytes<Self>,
                    secret: &mut SecretBytes,
                ) {
                    DecodedEncapsulationKey::<$ring>::new::<$encoding>(key)
                        .encapsulate(seed, ciphertext, secret);
                }

                fn decapsulate(
                    key: &Self::DecapsulationKeyBytes,
                    ciphertext: &CiphertextBytes<Self>,
                    secret: &mut SecretBytes,
                ) {
                    DecodedDecapsulationKey::<$ring>::new::<$encoding>(key)
                        .decapsulate(ciphertext, secret);
                }

                fn check_encapsulation_key(
                    key: &Self::EncapsulationKeyBytes,
                ) -> Result<(), InvalidEncapsulationKey> {
                    DecodedEncapsulationKey::<$ring>::read::<$encoding>(key).map(drop)
                }

                fn check_decapsulation_key(
                    key: &Self::DecapsulationKeyBytes,
                ) -> Result<(), InvalidDecapsulationKey> {
                    DecodedDecapsulationKey::<$ring>::read::<$encoding>(key).map(drop)
                }

                fn check_consistency(
                    key: &Self::DecapsulationKeyBytes,
                ) -> Result<(), InvalidDecapsulationKey> {
                    DecodedDecapsulationKey::<$ring>::new::<$encoding>(key).check()
                }

                fn pairwise_test(
                    key: &Self::DecapsulationKeyBytes,
                    seed: &Seed,
                ) -> Result<(), InvalidDecapsulationKey> {
                    DecodedDecapsulationKey::<$ring>::new::<$encoding>(key).pairwise_test(seed)
                }

                fn encapsulation_placeholder() -> Self::EncapsulationKeyBytes {
                    kem::encapsulation_placeholder::<$ring, $encoding>()
                }

                fn write_decapsulation_placeholder(key: &mut Self::DecapsulationKeyBytes) {
                    kem::write_decapsulation_placeholder::<$ring, $encoding>(key);
                }

                #[cfg(feature = "std")]
                fn generate_batch(
                    pool: &ThreadPool,
                    seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
                    encapsulation_keys: &mut [Self::EncapsulationKeyBytes],
                    decapsulation_keys: &mut [Self::DecapsulationKeyBytes],
                ) {
                    batch::generate::<$ring, $encoding, _>(
                        pool,
                        seeds,
                        encapsulation_keys,
                        decapsulation_keys,
                    );
                }

                #[cfg(feature = "std")]
                fn encapsulate_batch(
                    pool: &ThreadPool,
                    keys: Keys<'_, Self::EncapsulationKeyBytes, [LoadedEncapsulationKey<Self>]>,
                    seeds: Seeds<'_, SEED_BYTES>,
                    ciphertexts: &mut [CiphertextBytes<Self>],
                    secrets: &mut [SecretBytes],
                ) {
                    batch::encapsulate::<$ring, $encoding>(
                        pool, keys, seeds, ciphertexts, secrets,
                    );
                }

                #[cfg(feature = "std")]
                fn decapsulate_batch(
                    pool: &ThreadPool,
                    keys: Keys<'_, Self::DecapsulationKeyBytes, [LoadedDecapsulationKey<Self>]>,
                    ciphertexts: &[CiphertextBytes<Self>],
                    secrets: &mut [SecretBytes],
                ) {
                    batch::decapsulate::<$ring, $encoding, _>(pool, keys, ciphertexts, secrets);
                }

                #[cfg(feature = "std")]
                fn encapsulate_rows(
                    pool: &ThreadPool,
                    keys: &[Self::EncapsulationKeyBytes],
                    seeds: Seeds<'_, SEED_BYTES>,
                    ciphertexts: &mut [CiphertextBytes<Self>],
                    secrets: &mut [SecretBytes],
                ) -> Result<(), InvalidRow<InvalidEncapsulationKey>> {
                    batch::encapsulate_rows::<$ring, $encoding>(
                        pool, keys, seeds, ciphertexts, secrets,
                    )
                }

                #[cfg(feature = "std")]
                fn decapsulate_rows(
                    pool: &ThreadPool,
                    keys: &[Self::DecapsulationKeyBytes],
                    ciphertexts: &[CiphertextBytes<Self>],
                    secrets: &mut [SecretBytes],
                ) -> Result<(), InvalidRow<InvalidDecapsulationKey>> {
                    batch::decapsulate_rows::<$ring, $encoding, _>(pool, keys, ciphertexts, secrets)
                }

                #[cfg(feature = "std")]
                fn decode_encapsulation_keys(
                    pool: &ThreadPool,
                    keys: &[Self::EncapsulationKeyBytes],
                ) -> Vec<LoadedEncapsulationKey<Self>> {
                    batch::decode_encapsulation_keys::<$ring, $encoding>(pool, keys)
                }

                #[cfg(feature = "std")]
                fn decode_decapsulation_keys(
                    pool: &ThreadPool,
                    keys: &[Self::DecapsulationKeyBytes],
                ) -> Vec<LoadedDecapsulationKey<Self>> {
                    batch::decode_decapsulation_keys::<$ring, $encoding, _>(pool, keys)
                }
            }

            const _: () = assert!(
                $bytes == <$ring>::SECRET_POLY_BYTES
                    + <$name<$encoding> as ParameterSet>::ENCAPSULATION_KEY_BYTES
                    + SEED_BYTES
            );
        )*
    };
}

parameter_set! {
    /// n = 653, q = 4621, q2 = 2048, eta = 3.
    CtruPrime653, R653, "CTRU-Prime-653",
    MixedRadix => 1353, 0x7681a6cc5f12db67695b8f3e1725f8fe;
    Packed13 => 1421, 0x5f91b6cb11d9a0513abc4e6678bd3d0a
}
parameter_set! {
    /// n = 761, q = 4591, q2 = 1024, eta = 2.
    CtruPrime761, R761, "CTRU-Prime-761",
    MixedRadix => 1571, 0xc3cc5d0856e9368a3e4aa0172c99a15a;
    Packed13 => 1650, 0x96af8df167bfb5cc3ae811212c0d3bea
}
parameter_set! {
    /// n = 1277, q = 7879, q2 = 1024, eta = 2.
    ///
    /// The published failure rate of this set does not hold; see `docs/security.md` in the
    /// repository.
    CtruPrime1277, R1277, "CTRU-Prime-1277",
    MixedRadix => 2738, 0x50c9a22368601f6699b2824e8b8203b6;
    Packed13 => 2747, 0x54049654fc4b991fc9f6db484355be7e
}
