//! What a scheme does on a ring. The operations of each parameter set are compiled from it.

use core::array;
use core::fmt::Debug;
use core::hash::Hash;
use core::hint::black_box;

use ctru_math::array::Array;
use subtle::{Choice, ConstantTimeEq};

#[cfg(feature = "std")]
use crate::batch::Seeds;
use crate::error::{InvalidDecapsulationKey, InvalidEncapsulationKey};
#[cfg(feature = "std")]
use crate::expand::Purpose;
#[cfg(feature = "std")]
use crate::hash::Id;
use crate::hash::{KEY_PAIR_SEED_BYTES, SEED_BYTES, SHARED_SECRET_BYTES};
use crate::source::{NoRandomness, Source};
use crate::wipe::Secret;

/// The 32 bytes of a seed or of `z`, the secret of implicit rejection.
pub(crate) type Seed = [u8; SEED_BYTES];
/// The bytes of a shared secret.
pub(crate) type SecretBytes = [u8; SHARED_SECRET_BYTES];

/// A key encapsulation mechanism on one ring, with one encoding of encapsulation keys.
///
/// A well-formed key is one that a check accepts or that this crate has made. Shared secrets and
/// decapsulation keys are the caller's to wipe.
pub trait Scheme: 'static {
    /// The bytes of an encapsulation key.
    type EncapsulationKeyBytes: Array<u8>;
    /// A decoded encapsulation key.
    type Public: Send + Sync + 'static;
    /// A decoded decapsulation key, wiped when dropped.
    type Private: Send + Sync + 'static;

    /// The degree `n` of the ring.
    const DEGREE: usize;
    /// The modulus `q` of the ring.
    const MODULUS: u32;
    /// The bytes from which a key pair is generated: the seed and `z`, or the seed alone.
    const KEY_PAIR_SEED_BYTES: usize;
    /// The bytes of a decapsulation key before its encapsulation key.
    const SECRET_BYTES: usize;
    /// The number of the scheme and its encoding in the input from which seeds are derived.
    #[cfg(feature = "std")]
    const EXPAND_CODE: u8;
    /// The purpose of seeds of key pairs.
    #[cfg(feature = "std")]
    const KEY_GENERATION: Purpose = Purpose::new(1, Self::DEGREE, Self::EXPAND_CODE);
    /// The purpose of seeds of encapsulations.
    #[cfg(feature = "std")]
    const ENCAPSULATION: Purpose = Purpose::new(2, Self::DEGREE, Self::EXPAND_CODE);

    /// Writes the seed and `z` of the key pair that 32 bytes determine, for the set with this name.
    fn expand_key_pair_seed(name: &str, seed: &Seed, pair: &mut [u8; KEY_PAIR_SEED_BYTES]);
    /// Generates the decapsulation key that a seed and `z` determine.
    fn generate(seed: &Seed, z: &Seed, key: &mut [u8]);
    /// Generates a decapsulation key with random bytes of `source`.
    ///
    /// # Errors
    /// That of the source. Then `key` is not a key.
    fn generate_from(source: Source<'_>, key: &mut [u8]) -> Result<(), NoRandomness>;
    /// Generates the key pairs of a batch from number `first`. `encapsulation_keys` has the length
    /// of `decapsulation_keys`, or it is empty.
    #[cfg(feature = "std")]
    fn generate_together<K: Array<u8>>(
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        first: usize,
        encapsulation_keys: &mut [Self::EncapsulationKeyBytes],
        decapsulation_keys: &mut [K],
    );

    /// Decodes a well-formed encapsulation key.
    fn public(key: &Self::EncapsulationKeyBytes) -> Self::Public;
    /// Checks that bytes are an encapsulation key.
    ///
    /// # Errors
    /// [`InvalidEncapsulationKey`] if they are not.
    fn check_public(key: &Self::EncapsulationKeyBytes) -> Result<(), InvalidEncapsulationKey>;
    /// Decodes keys as [`public`](Self::public) does each.
    #[cfg(feature = "std")]
    fn public_each<const N: usize>(keys: [&Self::EncapsulationKeyBytes; N]) -> [Self::Public; N] {
        keys.map(Self::public)
    }
    /// Decodes bytes after checking that they are encapsulation keys, each by itself. The errors
    /// are those of [`check_public`](Self::check_public).
    #[cfg(feature = "std")]
    fn read_public_each<const N: usize>(
        keys: [&Self::EncapsulationKeyBytes; N],
    ) -> [Result<Self::Public, InvalidEncapsulationKey>; N];
    /// Decodes a well-formed decapsulation key.
    fn private(key: &[u8]) -> Self::Private;
    /// Checks that bytes are a decapsulation key, and wipes the stack on which it has decoded them.
    ///
    /// # Errors
    /// [`InvalidDecapsulationKey`] if they are not.
    fn check_private(key: &[u8]) -> Result<(), InvalidDecapsulationKey>;
    /// Decodes keys as [`private`](Self::private) does each.
    #[cfg(feature = "std")]
    fn private_each<const N: usize>(keys: [&[u8]; N]) -> [Self::Private; N] {
        keys.map(Self::private)
    }
    /// Decodes bytes after checking that they are decapsulation keys, each by itself. The errors
    /// are those of [`check_private`](Self::check_private).
    #[cfg(feature = "std")]
    fn read_private_each<const N: usize>(
        keys: [&[u8]; N],
    ) -> [Result<Self::Private, InvalidDecapsulationKey>; N];
    /// Returns the decoded encapsulation key that a decapsulation key contains.
    fn public_of(key: &Self::Private) -> &Self::Public;
    /// Returns the name of an encapsulation key in the input from which seeds are derived.
    #[cfg(feature = "std")]
    fn id(key: &Self::Public) -> Id;
    /// Checks that the secret polynomials and `h` belong together.
    ///
    /// # Errors
    /// [`InvalidDecapsulationKey::Inconsistent`] if they do not.
    fn check(key: &Self::Private) -> Result<(), InvalidDecapsulationKey>;
    /// Writes a well-formed encapsulation key that gives no secrecy.
    fn write_encapsulation_placeholder(key: &mut [u8]);
    /// Writes a decapsulation key that operations accept and [`check_private`](Self::check_private)
    /// refuses.
    fn write_decapsulation_placeholder(key: &mut [u8]);

    /// Encapsulates `N` times, with the randomness of seeds. The ciphertexts have their length.
    fn encapsulate<const N: usize>(
        keys: [&Self::Public; N],
        seeds: [&Seed; N],
        ciphertexts: [&mut [u8]; N],
        secrets: &mut [SecretBytes; N],
    );
    /// Encapsulates with random bytes of `source`.
    ///
    /// # Errors
    /// That of the source. Then nothing is written.
    fn encapsulate_from(
        key: &Self::Public,
        source: Source<'_>,
        ciphertext: &mut [u8],
        secret: &mut SecretBytes,
    ) -> Result<(), NoRandomness>;
    /// Decapsulates `N` ciphertexts of the right length.
    ///
    /// No branch, address or time depends on whether a ciphertext is rejected.
    fn decapsulate<const N: usize>(
        keys: [&Self::Private; N],
        ciphertexts: [&[u8]; N],
        secrets: &mut [SecretBytes; N],
    );

    /// Checks the key, then encapsulates to its encapsulation key and decapsulates. `C` has the
    /// length of a ciphertext.
    ///
    /// # Errors
    /// [`InvalidDecapsulationKey::Inconsistent`] if the check fails, or
    /// [`InvalidDecapsulationKey::PairwiseTest`] if the shared secrets differ.
    fn pairwise_test<C: Array<u8>>(
        key: &Self::Private,
        seed: &Seed,
    ) -> Result<(), InvalidDecapsulationKey> {
        Self::check(key)?;
        let mut ciphertext = C::zeroed();
        let (mut sent, mut received) = (Secret::<SecretBytes>::zeroed(), Secret::zeroed());
        let (public, secret) = (Self::public_of(key), array::from_mut(&mut *sent));
        Self::encapsulate([public], [seed], [ciphertext.as_mut()], secret);
        Self::decapsulate([key], [ciphertext.as_ref()], array::from_mut(&mut *received));
        if sent.ct_eq(&*received).into() {
            Ok(())
        } else {
            Err(InvalidDecapsulationKey::PairwiseTest)
        }
    }
}

/// The array of the bytes of an encapsulation key of `P`.
pub type EncapsulationKeyBytes<P> = <<P as Types>::Scheme as Scheme>::EncapsulationKeyBytes;
/// The array of the bytes of a decapsulation key of `P`.
pub type DecapsulationKeyBytes<P> = <P as Types>::DecapsulationKeyBytes;
/// The array of the bytes of a ciphertext of `P`.
pub type CiphertextBytes<P> = <P as Types>::CiphertextBytes;

/// The types of a parameter set. Users cannot name this trait, which seals [`ParameterSet`].
pub trait Types: Copy + Debug + Default + Eq + Ord + Hash + Send + Sync + 'static {
    /// The scheme on the set's ring.
    type Scheme: Scheme;
    /// The bytes of a decapsulation key.
    type DecapsulationKeyBytes: Array<u8>;
    /// The bytes of a ciphertext.
    type CiphertextBytes: Array<u8>;
    /// The result of the known-answer test, as an implementation in Python has computed it.
    const KNOWN_ANSWER: u128;
}

/// A decoded encapsulation key of a set.
pub(crate) type DecodedPublic<P> = <<P as Types>::Scheme as Scheme>::Public;
/// A decoded decapsulation key of a set.
pub(crate) type DecodedPrivate<P> = <<P as Types>::Scheme as Scheme>::Private;

/// Returns whether `bytes` are the concatenated parts, in constant time. The compiler compares
/// whole vectors, while `subtle` compares single bytes.
pub(crate) fn equal(bytes: &[u8], parts: &[&[u8]]) -> Choice {
    let (mut rest, mut difference) = (bytes, 0);
    for part in parts {
        let (first, others) = rest.split_at(part.len());
        difference = first.iter().zip(*part).fold(difference, |sum, (a, b)| sum | (a ^ b));
        rest = others;
    }
    // Without the barrier, the compiler could leave the loop at the first difference.
    black_box(difference).ct_eq(&0)
}

/// Returns the single array that bytes are.
///
/// # Panics
/// If the number of bytes differs.
pub(crate) fn one<A: Array<u8>>(bytes: &[u8]) -> &A {
    let ([array], []) = A::of_slice(bytes) else { panic!("{} of {} bytes", bytes.len(), A::LEN) };
    array
}

/// Returns the single array that bytes are, for writing.
///
/// # Panics
/// If the number of bytes differs.
pub(crate) fn one_mut<A: Array<u8>>(bytes: &mut [u8]) -> &mut A {
    let len = bytes.len();
    let ([array], []) = A::of_slice_mut(bytes) else { panic!("{len} of {} bytes", A::LEN) };
    array
}
