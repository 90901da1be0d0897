//! Keys, ciphertexts and shared secrets as types over byte arrays.
//!
//! A value of a key type is always well formed: the constructors refuse everything else. The names are those of the crate `kem`.

use core::fmt;
use core::hash::{Hash, Hasher};

use ctru_math::array::Array;
use ctru_math::codec::secret_poly;
use ctru_math::{Poly, Ring, SmallPoly};
use rand_core::{CryptoRng, TryCryptoRng};
use subtle::{Choice, ConstantTimeEq};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::error::{InvalidDecapsulationKey, InvalidEncapsulationKey, InvalidLength};
use crate::expanded::{self, ExpandedDecapsulationKey, ExpandedEncapsulationKey};
use crate::params::{
    CiphertextBytes, EncapsulationKeyBytes, ParameterSet, PublicKeyEncoding, SEED_BYTES,
    SHARED_SECRET_BYTES,
};
use crate::wipe::{Secret, wipe};

/// A public key: `h = g / f`, encoded.
#[repr(transparent)]
pub struct EncapsulationKey<P: ParameterSet> {
    pub(crate) bytes: EncapsulationKeyBytes<P>,
}

/// A secret key: the packed secret polynomial `f`, the encapsulation key, and the secret `z` of implicit rejection.
/// Wiped when dropped.
#[repr(transparent)]
pub struct DecapsulationKey<P: ParameterSet> {
    bytes: P::DecapsulationKeyBytes,
}

/// A ciphertext. Any bytes of the right length are one: decapsulation answers a wrong one with a secret nobody knows.
#[repr(transparent)]
pub struct Ciphertext<P: ParameterSet> {
    pub(crate) bytes: CiphertextBytes<P>,
}

/// What both sides share, 32 bytes. Wiped when dropped.
#[derive(Clone)]
#[repr(transparent)]
pub struct SharedSecret {
    pub(crate) bytes: [u8; SHARED_SECRET_BYTES],
}

fn copied<A: Array<u8>>(bytes: &[u8]) -> Result<A, InvalidLength> {
    if bytes.len() == A::LEN {
        Ok(array_of(bytes))
    } else {
        Err(InvalidLength { expected: A::LEN, actual: bytes.len() })
    }
}

/// The array of as many bytes as it has.
fn array_of<A: Array<u8>>(bytes: &[u8]) -> A {
    let mut array = A::zeroed();
    array.as_mut().copy_from_slice(bytes);
    array
}

fn random_seed<G: TryCryptoRng + ?Sized>(
    rng: &mut G,
) -> Result<Zeroizing<[u8; SEED_BYTES]>, G::Error> {
    let mut seed = Zeroizing::new([0; SEED_BYTES]);
    rng.try_fill_bytes(&mut *seed)?;
    Ok(seed)
}

fn infallible<T>(result: Result<T, core::convert::Infallible>) -> T {
    match result {
        Ok(value) => value,
        Err(never) => match never {},
    }
}

impl<P: ParameterSet> EncapsulationKey<P> {
    /// Reads a key.
    ///
    /// # Errors
    /// [`InvalidEncapsulationKey`] if the length is wrong, the bytes are not the encoding of a
    /// polynomial, or the polynomial is 0.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidEncapsulationKey> {
        let key = Self { bytes: copied(bytes)? };
        key.validate()?;
        Ok(key)
    }

    fn validate(&self) -> Result<(), InvalidEncapsulationKey> {
        let h = P::Encoding::decode::<P::Ring>(&self.bytes)?;
        if h.coefficients().iter().all(|&c| c == 0) {
            Err(InvalidEncapsulationKey::Zero)
        } else {
            Ok(())
        }
    }

    /// The encoded key, [`ParameterSet::ENCAPSULATION_KEY_BYTES`] long.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// The key `h = 0`, for output slices before an engine fills them. It can be used like any key,
    /// but everybody can read what is encapsulated to it. [`from_bytes`](Self::from_bytes) refuses
    /// its bytes, all zero, so that nobody takes it for a key.
    #[must_use]
    pub fn placeholder() -> Self {
        Self { bytes: P::Encoding::encode(&Poly::<P::Ring>::zero()) }
    }

    /// Encapsulates a fresh shared secret.
    #[must_use]
    pub fn encapsulate_with_rng<G: CryptoRng + ?Sized>(
        &self,
        rng: &mut G,
    ) -> (Ciphertext<P>, SharedSecret) {
        infallible(self.try_encapsulate_with_rng(rng))
    }

    /// Encapsulates a fresh shared secret with a generator that can fail.
    ///
    /// # Errors
    /// That of the generator.
    pub fn try_encapsulate_with_rng<G: TryCryptoRng + ?Sized>(
        &self,
        rng: &mut G,
    ) -> Result<(Ciphertext<P>, SharedSecret), G::Error> {
        Ok(self.encapsulate_deterministic(&*random_seed(rng)?))
    }

    /// Encapsulates with the operating system's randomness.
    ///
    /// # Errors
    /// [`getrandom::Error`] if the system has none.
    #[cfg(feature = "getrandom")]
    pub fn try_encapsulate(&self) -> Result<(Ciphertext<P>, SharedSecret), getrandom::Error> {
        self.try_encapsulate_with_rng(&mut getrandom::SysRng)
    }

    /// Encapsulates with the randomness of `seed`, which must be uniform, secret and used once.
    #[must_use]
    pub fn encapsulate_deterministic(
        &self,
        seed: &[u8; SEED_BYTES],
    ) -> (Ciphertext<P>, SharedSecret) {
        ExpandedEncapsulationKey::new(self).encapsulate(seed)
    }
}

impl<P: ParameterSet> DecapsulationKey<P> {
    /// Reads a key.
    ///
    /// That the public part belongs to the secret polynomial is not checked: [`check`](Self::check)
    /// does that.
    ///
    /// # Errors
    /// [`InvalidDecapsulationKey`] if the length is wrong, the secret polynomial is none that key generation makes, or
    /// the public part is refused. The time depends on nothing but the result and the public part.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidDecapsulationKey> {
        let key = Self { bytes: copied(bytes)? };
        let Parts { f, public, .. } = key.parts();
        secret_poly::unpack::<P::Ring>(&f)
            .map_err(|_| InvalidDecapsulationKey::SecretPolynomial)?;
        public.validate().map_err(InvalidDecapsulationKey::PublicPart)?;
        Ok(key)
    }

    /// Checks that the public part belongs to the secret polynomial: that `h f` is a polynomial `g`
    /// that key generation samples. It takes one product, and its time depends on nothing but the
    /// result and the public part.
    ///
    /// Nothing can be checked about the rejection secret `z`: every `z` is one.
    ///
    /// # Errors
    /// [`InvalidDecapsulationKey::Inconsistent`] if it does not; so it is with a
    /// [placeholder](Self::placeholder).
    pub fn check(&self) -> Result<(), InvalidDecapsulationKey> {
        ExpandedDecapsulationKey::new(self).check()
    }

    /// [Checks](Self::check) the key, then encapsulates to its public part with the randomness of
    /// `seed` and decapsulates: the pairwise test that some standards want after key generation. It
    /// finds faults of the computation.
    ///
    /// What it computes is thrown away, so that any seed will do.
    ///
    /// ```
    /// # use ctru_kem::{CtruPrime761, DecapsulationKey};
    /// let key = DecapsulationKey::<CtruPrime761>::generate_deterministic(&[1; 32], &[2; 32]);
    /// key.pairwise_test(&[3; 32])?;
    /// # Ok::<(), ctru_kem::InvalidDecapsulationKey>(())
    /// ```
    ///
    /// # Errors
    /// [`InvalidDecapsulationKey::Inconsistent`] as [`check`](Self::check),
    /// [`InvalidDecapsulationKey::PairwiseTest`] if the two secrets differ.
    pub fn pairwise_test(&self, seed: &[u8; SEED_BYTES]) -> Result<(), InvalidDecapsulationKey> {
        let key = ExpandedDecapsulationKey::new(self);
        key.check()?;
        let (ciphertext, sent) = key.public.encapsulate(seed);
        if key.decapsulate(&ciphertext) == sent {
            Ok(())
        } else {
            Err(InvalidDecapsulationKey::PairwiseTest)
        }
    }

    /// The key's bytes, [`ParameterSet::DECAPSULATION_KEY_BYTES`] long: a secret.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// A key that everybody knows, for output slices before an engine fills them; also what is left
    /// of a key after [`zeroize`](Zeroize::zeroize). It can be used like any key, but
    /// [`from_bytes`](Self::from_bytes) refuses its bytes.
    #[must_use]
    pub fn placeholder() -> Self {
        let mut key = Self { bytes: Array::zeroed() };
        key.set_parts(&SmallPoly::one(), &EncapsulationKey::placeholder(), &[0; SEED_BYTES]);
        key
    }

    /// The public key inside.
    #[must_use]
    pub fn encapsulation_key(&self) -> EncapsulationKey<P> {
        EncapsulationKey { bytes: array_of(self.public_bytes()) }
    }

    /// The bytes of the public key inside.
    pub(crate) fn public_bytes(&self) -> &[u8] {
        &self.as_bytes()[P::Ring::SECRET_POLY_BYTES..][..P::ENCAPSULATION_KEY_BYTES]
    }

    /// Generates a key; [`encapsulation_key`](Self::encapsulation_key) gives the public one.
    #[must_use]
    pub fn generate_from_rng<G: CryptoRng + ?Sized>(rng: &mut G) -> Self {
        infallible(Self::try_generate_from_rng(rng))
    }

    /// Generates a key with a generator that can fail.
    ///
    /// # Errors
    /// That of the generator.
    pub fn try_generate_from_rng<G: TryCryptoRng + ?Sized>(rng: &mut G) -> Result<Self, G::Error> {
        let (seed, z) = (random_seed(rng)?, random_seed(rng)?);
        Ok(Self::generate_deterministic(&seed, &z))
    }

    /// Generates a key with the operating system's randomness.
    ///
    /// # Errors
    /// [`getrandom::Error`] if the system has none.
    #[cfg(feature = "getrandom")]
    pub fn try_generate() -> Result<Self, getrandom::Error> {
        Self::try_generate_from_rng(&mut getrandom::SysRng)
    }

    /// Generates the key of `seed` with the rejection secret `z`; both must be uniform, secret and used once.
    #[must_use]
    pub fn generate_deterministic(seed: &[u8; SEED_BYTES], z: &[u8; SEED_BYTES]) -> Self {
        let mut key = Self { bytes: Array::zeroed() };
        expanded::generate(seed, z, &mut key);
        key
    }

    /// The shared secret of a ciphertext. A ciphertext that this key's encapsulation did not make gives a pseudo-random
    /// secret that depends on the key and the ciphertext; that it was rejected does not show, here or in the time.
    #[must_use]
    pub fn decapsulate(&self, ciphertext: &Ciphertext<P>) -> SharedSecret {
        ExpandedDecapsulationKey::new(self).decapsulate(ciphertext)
    }

    /// Makes it the key of these parts.
    pub(crate) fn set_parts(
        &mut self,
        f: &SmallPoly<P::Ring>,
        public: &EncapsulationKey<P>,
        z: &[u8; SEED_BYTES],
    ) {
        let (f_bytes, rest) = self.bytes.as_mut().split_at_mut(P::Ring::SECRET_POLY_BYTES);
        let (public_bytes, z_bytes) = rest.split_at_mut(P::ENCAPSULATION_KEY_BYTES);
        let mut packed = secret_poly::pack(f);
        f_bytes.copy_from_slice(packed.as_ref());
        wipe(packed.as_mut(), 0);
        public_bytes.copy_from_slice(public.as_bytes());
        z_bytes.copy_from_slice(z);
    }

    pub(crate) fn parts(&self) -> Parts<P> {
        let (f, rest) = self.as_bytes().split_at(P::Ring::SECRET_POLY_BYTES);
        Parts {
            f: Secret::copied(f),
            public: self.encapsulation_key(),
            z: Secret::copied(&rest[P::ENCAPSULATION_KEY_BYTES..]),
        }
    }
}

/// What a decapsulation key consists of.
pub(crate) struct Parts<P: ParameterSet> {
    /// The packed secret polynomial.
    pub(crate) f: Secret<<P::Ring as Ring>::SecretPolyBytes>,
    pub(crate) public: EncapsulationKey<P>,
    pub(crate) z: Secret<[u8; SEED_BYTES]>,
}

impl<P: ParameterSet> Ciphertext<P> {
    /// Reads a ciphertext.
    ///
    /// # Errors
    /// [`InvalidLength`]; nothing else is wrong with a ciphertext until decapsulation, and then it does not say so.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidLength> {
        Ok(Self { bytes: copied(bytes)? })
    }

    /// The ciphertext's bytes, [`ParameterSet::CIPHERTEXT_BYTES`] long.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

impl<P: ParameterSet> Default for Ciphertext<P> {
    /// All bytes zero, for output slices before an engine fills them.
    fn default() -> Self {
        Self { bytes: Array::zeroed() }
    }
}

impl Default for SharedSecret {
    /// Returns the placeholder that output slices hold before an engine fills them: *no secret*. A
    /// slice still holds it after a batch that failed; see [`is_placeholder`](Self::is_placeholder).
    fn default() -> Self {
        Self { bytes: [0; SHARED_SECRET_BYTES] }
    }
}

impl SharedSecret {
    /// Takes a secret that an engine computed, as little-endian words.
    #[cfg(feature = "gpu")]
    pub(crate) fn overwrite(&mut self, words: &[u64]) {
        for (bytes, word) in self.bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
    }

    /// Returns whether this is no secret but the placeholder of 32 zero bytes, which no operation
    /// gives: an error was ignored, or nothing has been computed yet.
    #[must_use]
    pub fn is_placeholder(&self) -> bool {
        *self == Self::default()
    }

    /// The secret's bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; SHARED_SECRET_BYTES] {
        &self.bytes
    }
}

impl Zeroize for SharedSecret {
    fn zeroize(&mut self) {
        self.bytes.zeroize();
    }
}

impl Drop for SharedSecret {
    fn drop(&mut self) {
        self.zeroize();
    }
}

impl ZeroizeOnDrop for SharedSecret {}

impl AsRef<[u8]> for SharedSecret {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedSecret(..)")
    }
}

impl ConstantTimeEq for SharedSecret {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.bytes.ct_eq(&other.bytes)
    }
}

impl PartialEq for SharedSecret {
    fn eq(&self, other: &Self) -> bool {
        self.ct_eq(other).into()
    }
}
impl Eq for SharedSecret {}

impl<P: ParameterSet> Zeroize for DecapsulationKey<P> {
    /// Wipes the key and leaves the [placeholder](DecapsulationKey::placeholder), because zeros are
    /// no key.
    fn zeroize(&mut self) {
        *self = Self::placeholder();
    }
}

impl<P: ParameterSet> Drop for DecapsulationKey<P> {
    fn drop(&mut self) {
        wipe(self.bytes.as_mut(), 0);
    }
}

impl<P: ParameterSet> ZeroizeOnDrop for DecapsulationKey<P> {}

impl<P: ParameterSet> fmt::Debug for DecapsulationKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DecapsulationKey<{}>(..)", P::NAME)
    }
}

impl<P: ParameterSet> ConstantTimeEq for DecapsulationKey<P> {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.as_bytes().ct_eq(other.as_bytes())
    }
}

impl<P: ParameterSet> PartialEq for DecapsulationKey<P> {
    fn eq(&self, other: &Self) -> bool {
        self.ct_eq(other).into()
    }
}

/// What all types over byte arrays have.
macro_rules! bytes_type {
    ($name:ident, $error:ty) => {
        impl<P: ParameterSet> Clone for $name<P> {
            fn clone(&self) -> Self {
                Self { bytes: self.bytes }
            }
        }

        impl<P: ParameterSet> Eq for $name<P> {}

        impl<P: ParameterSet> AsRef<[u8]> for $name<P> {
            fn as_ref(&self) -> &[u8] {
                self.as_bytes()
            }
        }

        impl<P: ParameterSet> TryFrom<&[u8]> for $name<P> {
            type Error = $error;
            fn try_from(bytes: &[u8]) -> Result<Self, $error> {
                Self::from_bytes(bytes)
            }
        }

        #[cfg(feature = "serde")]
        impl<P: ParameterSet> serdect::serde::Serialize for $name<P> {
            fn serialize<S: serdect::serde::Serializer>(
                &self,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                serdect::slice::serialize_hex_lower_or_bin(&self.bytes, serializer)
            }
        }

        #[cfg(feature = "serde")]
        impl<'de, P: ParameterSet> serdect::serde::Deserialize<'de> for $name<P> {
            fn deserialize<D: serdect::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Self, D::Error> {
                let bytes =
                    Zeroizing::new(serdect::slice::deserialize_hex_or_bin_vec(deserializer)?);
                Self::from_bytes(&bytes).map_err(serdect::serde::de::Error::custom)
            }
        }
    };
}

bytes_type!(EncapsulationKey, InvalidEncapsulationKey);
bytes_type!(DecapsulationKey, InvalidDecapsulationKey);
bytes_type!(Ciphertext, InvalidLength);

/// What types without secrets have.
macro_rules! public_bytes_type {
    ($name:ident) => {
        impl<P: ParameterSet> PartialEq for $name<P> {
            fn eq(&self, other: &Self) -> bool {
                self.as_bytes() == other.as_bytes()
            }
        }

        impl<P: ParameterSet> Hash for $name<P> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.as_bytes().hash(state);
            }
        }

        impl<P: ParameterSet> fmt::Debug for $name<P> {
            /// The first eight bytes tell values apart.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "<{}, {}>("), P::NAME, P::Encoding::NAME)?;
                for byte in &self.as_bytes()[..8] {
                    write!(f, "{byte:02x}")?;
                }
                f.write_str("..)")
            }
        }
    };
}

public_bytes_type!(EncapsulationKey);
public_bytes_type!(Ciphertext);
