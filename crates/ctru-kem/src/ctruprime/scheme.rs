//! CTRU-Prime (paper, Algorithms 4 to 6), from bytes to bytes. The bytes of a decapsulation key are
//! `f || encapsulation key || z`: the packed secret polynomial, the encoded polynomial `h = g / f`,
//! and the secret of implicit rejection.

use core::array;
use core::marker::PhantomData;

use ctru_math::array::Array;
use ctru_math::codec::secret_poly;
use ctru_math::invert::invert;
use ctru_math::mul::Multiplier;
use ctru_math::{Arithmetic, Poly, SmallPoly};

use super::kem::{self, DecodedDecapsulationKey, DecodedEncapsulationKey, sample_key};
use super::pke::KeyPolynomials;
#[cfg(feature = "std")]
use super::together::sample_together;
#[cfg(feature = "std")]
use crate::batch::Seeds;
use crate::encoding::Encode;
use crate::error::{InvalidDecapsulationKey, InvalidEncapsulationKey};
use crate::hash::{self, Id, KEY_PAIR_SEED_BYTES, SEED_BYTES};
use crate::scheme::{Scheme, SecretBytes, Seed, one};
use crate::source::{NoRandomness, Source};
use crate::wipe::{SPILLED, Secret, wipe, wipe_stack, wiping_the_stack};

/// CTRU-Prime on the ring `R` with the encoding `E` of encapsulation keys.
#[derive(Debug)]
pub struct CtruPrime<R, E>(PhantomData<(R, E)>);

/// Returns how many decapsulation keys this thread has decoded. For tests, in builds with debug
/// assertions only.
#[doc(hidden)]
#[cfg(all(feature = "std", debug_assertions))]
pub fn decoded_keys() -> usize {
    DECODED.get()
}

#[cfg(all(feature = "std", debug_assertions))]
std::thread_local! {
    static DECODED: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
}

/// Returns the parts of a decapsulation key: the packed secret polynomial, the encapsulation key,
/// and the secret of implicit rejection.
fn parts<R: Arithmetic, E: Encode>(key: &[u8]) -> (&R::SecretPolyBytes, &E::Bytes<R>, &Seed) {
    let (f, rest) = key.split_at(R::SECRET_POLY_BYTES);
    let (encapsulation_key, z) = rest.split_at(E::Bytes::<R>::LEN);
    (one(f), one(encapsulation_key), one(z))
}

/// Writes the decapsulation key that consists of these parts to `key`.
fn write_parts<R: Arithmetic>(
    key: &mut [u8],
    f: &SmallPoly<R>,
    encapsulation_key: &[u8],
    z: &Seed,
) {
    let (f_bytes, rest) = key.split_at_mut(R::SECRET_POLY_BYTES);
    let (h_bytes, z_bytes) = rest.split_at_mut(encapsulation_key.len());
    let mut packed = secret_poly::pack(f);
    f_bytes.copy_from_slice(packed.as_ref());
    wipe(packed.as_mut(), 0);
    wipe_stack::<SPILLED>();
    h_bytes.copy_from_slice(encapsulation_key);
    z_bytes.copy_from_slice(z);
}

/// Computes `h = g / f` from `inverse`, which is `1 / f`. Writes the decapsulation key of `f`, `h`
/// and `z` to `key`, and returns the encapsulation key, the encoding of `h`.
fn assemble<R: Arithmetic, E: Encode>(
    multiplier: &mut Multiplier<R>,
    KeyPolynomials { f, g }: &KeyPolynomials<R>,
    inverse: &Poly<R>,
    z: &Seed,
    key: &mut [u8],
) -> E::Bytes<R> {
    let encapsulation_key = E::encode(multiplier.mul_small(inverse, g));
    write_parts(key, f, encapsulation_key.as_ref(), z);
    encapsulation_key
}

/// Unpacks the secret polynomial of a decapsulation key.
fn unpack<R: Arithmetic>(f: &R::SecretPolyBytes) -> Result<SmallPoly<R>, InvalidDecapsulationKey> {
    #[cfg(all(feature = "std", debug_assertions))]
    DECODED.set(DECODED.get() + 1);
    let f = secret_poly::unpack(f);
    wipe_stack::<SPILLED>();
    f.map_err(|_| InvalidDecapsulationKey::SecretPolynomial)
}

impl<R: Arithmetic, E: Encode> Scheme for CtruPrime<R, E> {
    type EncapsulationKeyBytes = E::Bytes<R>;
    type Public = DecodedEncapsulationKey<R>;
    type Private = DecodedDecapsulationKey<R>;

    const DEGREE: usize = R::N;
    const MODULUS: u32 = R::Q;
    const KEY_PAIR_SEED_BYTES: usize = KEY_PAIR_SEED_BYTES;
    const SECRET_BYTES: usize = R::SECRET_POLY_BYTES;
    #[cfg(feature = "std")]
    const EXPAND_CODE: u8 = E::ENCODING as u8;

    /// The 64 bytes are `SHAKE256(name || " key v1" || seed)`.
    fn expand_key_pair_seed(name: &str, seed: &Seed, pair: &mut [u8; KEY_PAIR_SEED_BYTES]) {
        let input = [name.as_bytes(), b" key v1", seed];
        wiping_the_stack::<{ 8 << 10 }, _>(|| hash::shake256([input], [pair]));
    }

    fn generate(seed: &Seed, z: &Seed, key: &mut [u8]) {
        let polynomials = sample_key::<R>(seed);
        wipe_stack::<{ 8 << 10 }>();
        let inverse = invert(&Poly::from(&polynomials.f))
            .expect("f(0) is odd and small, so f is not zero, and R_q is a field");
        assemble::<R, E>(&mut Multiplier::new(), &polynomials, &inverse, z, key);
    }

    fn generate_from(source: Source<'_>, key: &mut [u8]) -> Result<(), NoRandomness> {
        let (mut seed, mut z) = (Secret::<Seed>::zeroed(), Secret::<Seed>::zeroed());
        source(&mut *seed)?;
        source(&mut *z)?;
        Self::generate(&seed, &z, key);
        Ok(())
    }

    #[cfg(feature = "std")]
    fn generate_together<K: Array<u8>>(
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        first: usize,
        encapsulation_keys: &mut [E::Bytes<R>],
        decapsulation_keys: &mut [K],
    ) {
        let seeds = (seeds, Self::KEY_GENERATION);
        let pairs = sample_together::<R>(seeds, first, decapsulation_keys.len());
        let mut multiplier = Multiplier::new();
        let mut encapsulation_keys = encapsulation_keys.iter_mut();
        for (i, key) in decapsulation_keys.iter_mut().enumerate() {
            let (polynomials, inverse) = (&pairs.polynomials[i], &pairs.inverses[i]);
            let z = &pairs.z[i];
            let made = assemble::<R, E>(&mut multiplier, polynomials, inverse, z, key.as_mut());
            if let Some(encapsulation_key) = encapsulation_keys.next() {
                *encapsulation_key = made;
            }
        }
    }

    fn public(key: &E::Bytes<R>) -> Self::Public {
        DecodedEncapsulationKey { h: E::decode_validated(key), id: *id_of(key) }
    }

    fn check_public(key: &E::Bytes<R>) -> Result<(), InvalidEncapsulationKey> {
        read_public::<R, E>(key).map(drop)
    }

    #[cfg(feature = "std")]
    fn read_public_each<const N: usize>(
        keys: [&E::Bytes<R>; N],
    ) -> [Result<Self::Public, InvalidEncapsulationKey>; N] {
        keys.map(read_public::<R, E>)
    }

    // A key that left a `Result` would be copied, and nothing would wipe the copy.
    fn private(key: &[u8]) -> Self::Private {
        let (f, encapsulation_key, z) = parts::<R, E>(key);
        let f = unpack(f).expect("a validated decapsulation key");
        let encapsulation_key = Self::public(encapsulation_key);
        let mut decoded = DecodedDecapsulationKey { f, z: Secret::zeroed(), encapsulation_key };
        decoded.z.copy_from(z);
        decoded
    }

    /// Does not check that the two polynomials belong together; `check` does.
    fn check_private(key: &[u8]) -> Result<(), InvalidDecapsulationKey> {
        let (f, encapsulation_key, _) = parts::<R, E>(key);
        wiping_the_stack::<{ 8 << 10 }, _>(|| unpack::<R>(f).map(drop))?;
        Self::check_public(encapsulation_key).map_err(InvalidDecapsulationKey::EncapsulationKey)
    }

    #[cfg(feature = "std")]
    fn read_private_each<const N: usize>(
        keys: [&[u8]; N],
    ) -> [Result<Self::Private, InvalidDecapsulationKey>; N] {
        keys.map(|key| {
            let (f, encapsulation_key, z) = parts::<R, E>(key);
            let f = unpack(f)?;
            let encapsulation_key = read_public::<R, E>(encapsulation_key)
                .map_err(InvalidDecapsulationKey::EncapsulationKey)?;
            let mut decoded = DecodedDecapsulationKey { f, z: Secret::zeroed(), encapsulation_key };
            decoded.z.copy_from(z);
            Ok(decoded)
        })
    }

    fn public_of(key: &Self::Private) -> &Self::Public {
        &key.encapsulation_key
    }

    #[cfg(feature = "std")]
    fn id(key: &Self::Public) -> Id {
        key.id
    }

    fn check(key: &Self::Private) -> Result<(), InvalidDecapsulationKey> {
        kem::check(key)
    }

    /// Writes the encoding of `h = 0`.
    fn write_encapsulation_placeholder(key: &mut [u8]) {
        key.copy_from_slice(E::encode(&Poly::<R>::zero()).as_ref());
    }

    /// Writes the decapsulation key of `f = 1`, `h = 0` and `z = 0`.
    fn write_decapsulation_placeholder(key: &mut [u8]) {
        let h = E::encode(&Poly::<R>::zero());
        write_parts(key, &SmallPoly::<R>::one(), h.as_ref(), &[0; SEED_BYTES]);
    }

    fn encapsulate<const N: usize>(
        keys: [&Self::Public; N],
        seeds: [&Seed; N],
        ciphertexts: [&mut [u8]; N],
        secrets: &mut [SecretBytes; N],
    ) {
        kem::encapsulate(keys, seeds, ciphertexts, secrets);
    }

    fn encapsulate_from(
        key: &Self::Public,
        source: Source<'_>,
        ciphertext: &mut [u8],
        secret: &mut SecretBytes,
    ) -> Result<(), NoRandomness> {
        let mut seed = Secret::<Seed>::zeroed();
        source(&mut *seed)?;
        Self::encapsulate([key], [&seed], [ciphertext], array::from_mut(secret));
        Ok(())
    }

    fn decapsulate<const N: usize>(
        keys: [&Self::Private; N],
        ciphertexts: [&[u8]; N],
        secrets: &mut [SecretBytes; N],
    ) {
        kem::decapsulate(keys, ciphertexts, secrets);
    }
}

/// Decodes bytes after checking that they are an encapsulation key.
fn read_public<R: Arithmetic, E: Encode>(
    key: &E::Bytes<R>,
) -> Result<DecodedEncapsulationKey<R>, InvalidEncapsulationKey> {
    let h = E::decode::<R>(key)?;
    if h.coefficients().iter().all(|&c| c == 0) {
        return Err(InvalidEncapsulationKey::Zero);
    }
    Ok(DecodedEncapsulationKey { h, id: *id_of(key) })
}

/// Returns the bytes of an encoded encapsulation key that are `ID(pk)`.
fn id_of(key: &impl AsRef<[u8]>) -> &Id {
    key.as_ref().first_chunk().expect("a key is longer than its id")
}
