//! Key generation, encapsulation and decapsulation, from bytes to bytes.
//!
//! A public key is the encoding of `h = g / (3 f)`. A private key is `f || 1/g || public key || rho
//! || hash of the public key`, where `1/g` is modulo 3, and `rho` is the secret of implicit
//! rejection. A ciphertext is the rounded polynomial `h r`, and a hash that confirms `r`.

use core::array;
use core::fmt;

use ctru_math::array::Array;
use ctru_math::codec::mixed_radix;
use ctru_math::codec::ternary::{self as packed, InvalidTernary};
use ctru_math::invert::invert;
use ctru_math::mul::Multiplier;
use ctru_math::{NtruPrimeArithmetic, NtruPrimeRing, Poly, SmallPoly, ternary};
use subtle::{ConditionallySelectable, ConstantTimeEq};

use super::draw::{draw_short, draw_small};
use super::hash::{Hash, Input, hash_each, shared_secrets};
use crate::error::InvalidDecapsulationKey;
use crate::scheme::{SecretBytes, equal, one};
use crate::source::{NoRandomness, Source};
use crate::wipe::{SPILLED, Secret, wipe_stack, wiping_the_stack};

/// Bytes of a hash.
const HASH_BYTES: usize = size_of::<Hash>();

/// Returns the number of bytes of a private key.
#[must_use]
pub const fn private_key_bytes<R: NtruPrimeRing>() -> usize {
    3 * R::TERNARY_BYTES + R::MIXED_RADIX.bytes() + HASH_BYTES
}

/// Returns the number of bytes of a ciphertext.
#[must_use]
pub const fn ciphertext_bytes<R: NtruPrimeRing>() -> usize {
    R::MIXED_RADIX_THIRDS.bytes() + HASH_BYTES
}

/// A decoded public key. Each string of the right length is one.
pub struct PublicKey<R: NtruPrimeArithmetic> {
    h: Poly<R>,
    /// The hash of the encoded key.
    pub(super) hash: Hash,
}

/// A decoded private key, wiped when dropped.
pub struct PrivateKey<R: NtruPrimeArithmetic> {
    f: SmallPoly<R>,
    /// `1 / g` modulo 3.
    g_inverse: SmallPoly<R>,
    /// The hash of `rho`, which takes the place of that of `r` if a ciphertext is rejected.
    rho_hash: Secret<Hash>,
    pub(super) public_key: PublicKey<R>,
}

impl<R: NtruPrimeArithmetic> fmt::Debug for PublicKey<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PublicKey(..)")
    }
}

impl<R: NtruPrimeArithmetic> fmt::Debug for PrivateKey<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivateKey(..)")
    }
}

/// Generates a key pair. The caller wipes the private key.
///
/// `source` gives the words of `g`, again until `g` has an inverse modulo 3; the words of `f`; and
/// `rho`. How often `g` is drawn is no secret: it tells nothing about the `g` of the key.
///
/// # Errors
/// That of the source. Then the outputs are not a key pair.
///
/// # Panics
/// If `private` does not have [`private_key_bytes`].
// The check under valgrind looks for the names of this function and of the next one.
#[inline(never)]
pub fn generate<R: NtruPrimeArithmetic>(
    source: Source<'_>,
    public: &mut R::MixedRadixBytes,
    private: &mut [u8],
) -> Result<(), NoRandomness> {
    assert_eq!(private.len(), private_key_bytes::<R>());
    let [mut f, mut g, mut g_inverse] = array::from_fn(|_| SmallPoly::zero());
    let drawn = generate_polynomials::<R>(source, &mut f, &mut g, &mut g_inverse);
    wipe_stack::<STACK>();
    drawn?;
    let inverse = invert(&Poly::from(&f)).expect("f is not zero, and R_q is a field");
    let polynomials = KeyPolynomials { f: &f, g: &g, g_inverse: &g_inverse };
    polynomials.assemble(&mut Multiplier::new(), &inverse, public, private);
    let parts = parts::<R>();
    source(&mut private[parts.rho..parts.hash])?;
    let [hash] = hash_public_keys([public.as_ref()]);
    private[parts.hash..].copy_from_slice(&hash);
    Ok(())
}

/// Draws the polynomials of a key pair.
///
/// This is a function of its own, so that [`wipe_stack`] reaches what moves of polynomials leave on
/// the stack.
#[inline(never)]
fn generate_polynomials<R: NtruPrimeArithmetic>(
    source: Source<'_>,
    f: &mut SmallPoly<R>,
    g: &mut SmallPoly<R>,
    g_inverse: &mut SmallPoly<R>,
) -> Result<(), NoRandomness> {
    loop {
        *g = draw_small(source)?;
        if let Some(inverse) = ternary::invert(g).into_option() {
            *g_inverse = inverse;
            break;
        }
    }
    *f = draw_short(source)?;
    Ok(())
}

/// The polynomials of a key pair.
pub(super) struct KeyPolynomials<'a, R: NtruPrimeArithmetic> {
    pub(super) f: &'a SmallPoly<R>,
    pub(super) g: &'a SmallPoly<R>,
    pub(super) g_inverse: &'a SmallPoly<R>,
}

impl<R: NtruPrimeArithmetic> KeyPolynomials<'_, R> {
    /// Writes the public key, and the private key but for its ends: `rho` and the hash. `inverse`
    /// is `1/f`.
    pub(super) fn assemble(
        &self,
        multiplier: &mut Multiplier<R>,
        inverse: &Poly<R>,
        public: &mut R::MixedRadixBytes,
        private: &mut [u8],
    ) {
        let h = ternary::third(multiplier.mul_small(inverse, self.g));
        *public = mixed_radix::encode_shifted(&h);
        let parts = parts::<R>();
        let mut bytes = Secret::zeroed();
        packed::pack(self.f, &mut *bytes);
        private[..parts.g_inverse].copy_from_slice(bytes.as_ref());
        packed::pack(self.g_inverse, &mut *bytes);
        private[parts.g_inverse..parts.public].copy_from_slice(bytes.as_ref());
        wipe_stack::<SPILLED>();
        private[parts.public..parts.rho].copy_from_slice(public.as_ref());
    }
}

/// Writes a private key that everybody knows: `f` with the first coefficients 1, and zeros for all
/// other parts. Operations accept it. Its hash is not that of its public key, and zero is not an
/// inverse, so [`PrivateKey::read_each`] and [`PrivateKey::is_consistent`] refuse it.
pub(super) fn write_placeholder<R: NtruPrimeArithmetic>(key: &mut [u8]) {
    let parts = parts::<R>();
    key.fill(0);
    let mut bytes = R::TernaryBytes::zeroed();
    let zero = SmallPoly::<R>::zero();
    packed::pack(&ternary::short_or_ones(&zero), &mut bytes);
    key[..parts.g_inverse].copy_from_slice(bytes.as_ref());
    packed::pack(&zero, &mut bytes);
    key[parts.g_inverse..parts.public].copy_from_slice(bytes.as_ref());
}

/// Bytes of the stack that hold secrets of a key generation: words, bits and lanes.
pub(super) const STACK: usize = 24 << 10;

/// Where the parts of a private key begin. `f` is the first.
pub(super) struct Parts {
    g_inverse: usize,
    pub(super) public: usize,
    pub(super) rho: usize,
    pub(super) hash: usize,
}

pub(super) const fn parts<R: NtruPrimeRing>() -> Parts {
    let (g_inverse, public) = (R::TERNARY_BYTES, 2 * R::TERNARY_BYTES);
    let rho = public + R::MIXED_RADIX.bytes();
    Parts { g_inverse, public, rho, hash: rho + R::TERNARY_BYTES }
}

/// Returns `f` and `1/g` as a private key has them.
fn packed_polynomials<R: NtruPrimeRing>(key: &[u8]) -> [&R::TernaryBytes; 2] {
    let parts = parts::<R>();
    [one(&key[..parts.g_inverse]), one(&key[parts.g_inverse..parts.public])]
}

/// Returns the reason why a key with a malformed polynomial is refused.
fn malformed(_: InvalidTernary) -> InvalidDecapsulationKey {
    InvalidDecapsulationKey::SecretPolynomial
}

impl<R: NtruPrimeArithmetic> PublicKey<R> {
    /// Decodes a key.
    #[must_use]
    pub fn new(bytes: &R::MixedRadixBytes) -> Self {
        let [key] = Self::each([bytes]);
        key
    }

    /// Decodes each key.
    pub(super) fn each<const N: usize>(keys: [&R::MixedRadixBytes; N]) -> [Self; N] {
        let hashes = hash_public_keys(keys.map(AsRef::as_ref));
        array::from_fn(|i| Self { h: mixed_radix::decode_shifted(keys[i]), hash: hashes[i] })
    }

    /// Encapsulates with random bytes of `source`. The caller wipes the shared secret.
    ///
    /// # Errors
    /// That of the source. Then nothing is written.
    ///
    /// # Panics
    /// If `ciphertext` does not have [`ciphertext_bytes`].
    pub fn encapsulate(
        &self,
        source: Source<'_>,
        ciphertext: &mut [u8],
        secret: &mut SecretBytes,
    ) -> Result<(), NoRandomness> {
        let r = draw_short::<R>(source)?;
        encapsulate([self], [&r], [ciphertext], array::from_mut(secret));
        Ok(())
    }
}

/// Returns the hash of each public key.
pub(super) fn hash_public_keys<const N: usize>(keys: [&[u8]; N]) -> [Hash; N] {
    let mut hashes = [[0; HASH_BYTES]; N];
    hash_each(Input::PublicKey, keys.map(|key| [key, &[]]), hashes.each_mut());
    hashes
}

/// Encapsulates a short polynomial to each key. The caller wipes the shared secrets.
///
/// # Panics
/// If a ciphertext does not have [`ciphertext_bytes`].
pub fn encapsulate<R: NtruPrimeArithmetic, const N: usize>(
    keys: [&PublicKey<R>; N],
    r: [&SmallPoly<R>; N],
    mut ciphertexts: [&mut [u8]; N],
    secrets: &mut [SecretBytes; N],
) {
    let mut hidden = array::from_fn(|_| Hidden::zeroed());
    hide(keys, r, &mut Multiplier::new(), &mut hidden);
    for (ciphertext, hidden) in ciphertexts.iter_mut().zip(&hidden) {
        let (rounded, confirmation) = ciphertext.split_at_mut(R::MIXED_RADIX_THIRDS.bytes());
        rounded.copy_from_slice(hidden.rounded.as_ref());
        confirmation.copy_from_slice(&*hidden.confirmation);
    }
    let ciphertexts = ciphertexts.each_ref().map(|ciphertext| &**ciphertext);
    let r_hashes = hidden.each_ref().map(|hidden| &*hidden.r_hash);
    shared_secrets([1; N], r_hashes, ciphertexts, secrets.each_mut());
}

/// A ciphertext in its two parts, and the hash of the polynomial in it; wiped when dropped.
struct Hidden<R: NtruPrimeArithmetic> {
    r_hash: Secret<Hash>,
    rounded: Secret<R::MixedRadixThirdsBytes>,
    confirmation: Secret<Hash>,
}

impl<R: NtruPrimeArithmetic> Hidden<R> {
    fn zeroed() -> Self {
        Self { r_hash: Secret::zeroed(), rounded: Secret::zeroed(), confirmation: Secret::zeroed() }
    }
}

/// Computes the ciphertexts of short polynomials.
fn hide<R: NtruPrimeArithmetic, const N: usize>(
    keys: [&PublicKey<R>; N],
    r: [&SmallPoly<R>; N],
    multiplier: &mut Multiplier<R>,
    hidden: &mut [Hidden<R>; N],
) {
    let mut bytes: [Secret<R::TernaryBytes>; N] = array::from_fn(|_| Secret::zeroed());
    for (bytes, r) in bytes.iter_mut().zip(r) {
        packed::pack(r, bytes);
    }
    wipe_stack::<SPILLED>();
    let polynomials = bytes.each_ref().map(|bytes| [bytes.as_ref(), &[]]);
    let r_hashes = hidden.each_mut().map(|hidden| &mut *hidden.r_hash);
    hash_each(Input::Polynomial, polynomials, r_hashes);
    let mut confirmed = hidden.each_mut().map(|hidden| (&hidden.r_hash, &mut hidden.confirmation));
    let parts = array::from_fn(|i| [&confirmed[i].0[..], &keys[i].hash]);
    hash_each(Input::Confirmation, parts, confirmed.each_mut().map(|(_, digest)| &mut ***digest));
    for ((hidden, key), r) in hidden.iter_mut().zip(keys).zip(r) {
        *hidden.rounded = mixed_radix::encode_rounded(multiplier.mul_small(&key.h, r));
    }
}

impl<R: NtruPrimeArithmetic> PrivateKey<R> {
    /// Decodes each key.
    ///
    /// # Errors
    /// [`InvalidDecapsulationKey`] if the polynomials are malformed, or the hash is not that of the
    /// public key. The time depends only on whether and why the bytes are refused.
    ///
    /// # Panics
    /// If a key does not have [`private_key_bytes`].
    pub fn read_each<const N: usize>(
        keys: [&[u8]; N],
    ) -> [Result<Self, InvalidDecapsulationKey>; N] {
        let parts = parts::<R>();
        let public = hash_public_keys(keys.map(|key| &key[parts.public..parts.rho]));
        let rho = Self::hash_rho(keys);
        array::from_fn(|i| {
            let [f, g_inverse] = packed_polynomials::<R>(keys[i]);
            let (f, g_inverse) = (packed::unpack_short::<R>(f), packed::unpack::<R>(g_inverse));
            wipe_stack::<SPILLED>();
            let (f, g_inverse) = (f.map_err(malformed)?, g_inverse.map_err(malformed)?);
            let key = Self::of(keys[i], f, g_inverse, &rho[i]);
            let is_right = key.public_key.hash == public[i];
            if is_right { Ok(key) } else { Err(InvalidDecapsulationKey::Hash) }
        })
    }

    /// Checks bytes as [`read_each`](Self::read_each) does, and wipes the stack that held the
    /// polynomials.
    pub(super) fn check(bytes: &[u8]) -> Result<(), InvalidDecapsulationKey> {
        let [f, g_inverse] = packed_polynomials::<R>(bytes);
        wiping_the_stack::<{ 8 << 10 }, _>(|| {
            let f = packed::unpack_short::<R>(f).map(drop);
            packed::unpack::<R>(g_inverse).map(drop).and(f)
        })
        .map_err(malformed)?;
        let parts = parts::<R>();
        let [hash] = hash_public_keys([&bytes[parts.public..parts.rho]]);
        let is_right = bytes[parts.hash..] == hash;
        if is_right { Ok(()) } else { Err(InvalidDecapsulationKey::Hash) }
    }

    /// Decodes a key that [`read_each`](Self::read_each) accepts.
    ///
    /// # Panics
    /// If a polynomial is malformed, or `bytes` do not have [`private_key_bytes`].
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        let [key] = Self::each([bytes]);
        key
    }

    /// Does the same for each key.
    pub(super) fn each<const N: usize>(keys: [&[u8]; N]) -> [Self; N] {
        let rho = Self::hash_rho(keys);
        // A key that left a `Result` would be copied, and nothing would wipe the copy.
        array::from_fn(|i| {
            let [f, g_inverse] = packed_polynomials::<R>(keys[i]);
            let f = packed::unpack_short::<R>(f).expect("a validated private key");
            let g_inverse = packed::unpack::<R>(g_inverse).expect("a validated private key");
            wipe_stack::<SPILLED>();
            Self::of(keys[i], f, g_inverse, &rho[i])
        })
    }

    /// Returns the hash of the secret of implicit rejection in each key.
    fn hash_rho<const N: usize>(keys: [&[u8]; N]) -> [Secret<Hash>; N] {
        let parts = parts::<R>();
        let mut hashes: [Secret<Hash>; N] = array::from_fn(|_| Secret::zeroed());
        let rho = keys.map(|key| [&key[parts.rho..parts.hash], &[][..]]);
        hash_each(Input::Polynomial, rho, hashes.each_mut().map(|hash| &mut **hash));
        hashes
    }

    /// Returns the key of these bytes, with its polynomials and the hash of its `rho`.
    fn of(bytes: &[u8], f: SmallPoly<R>, g_inverse: SmallPoly<R>, hash: &Hash) -> Self {
        assert_eq!(bytes.len(), private_key_bytes::<R>());
        let parts = parts::<R>();
        let mut rho_hash = Secret::<Hash>::zeroed();
        rho_hash.copy_from(hash);
        let h = mixed_radix::decode_shifted(one(&bytes[parts.public..parts.rho]));
        let public_key = PublicKey { h, hash: *one(&bytes[parts.hash..]) };
        Self { f, g_inverse, rho_hash, public_key }
    }

    /// Returns whether the private and the public key belong together: whether `3 f h` is small,
    /// and modulo 3 the inverse of `1/g`.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        let third = ((2 * R::Q + 1) / 3) as u16;
        let mut multiplier = Multiplier::new();
        let product = multiplier.mul_small(&self.public_key.h, &self.f);
        let g = ternary::tripled(product);
        let is_small = product.ct_eq(&ternary::scaled(&g, third));
        (is_small & ternary::mul(&g, &self.g_inverse).ct_eq(&SmallPoly::one())).into()
    }

    /// Decapsulates. The caller wipes the shared secret.
    ///
    /// No branch, address or time depends on whether the ciphertext is rejected.
    ///
    /// # Panics
    /// If `ciphertext` does not have [`ciphertext_bytes`].
    pub fn decapsulate(&self, ciphertext: &[u8], secret: &mut SecretBytes) {
        decapsulate([self], [ciphertext], array::from_mut(secret));
    }
}

/// Decapsulates with each key. The caller wipes the shared secrets.
///
/// No branch, address or time depends on which ciphertexts are rejected.
///
/// # Panics
/// If a ciphertext does not have [`ciphertext_bytes`].
pub fn decapsulate<R: NtruPrimeArithmetic, const N: usize>(
    keys: [&PrivateKey<R>; N],
    ciphertexts: [&[u8]; N],
    secrets: &mut [SecretBytes; N],
) {
    let mut multiplier = Multiplier::new();
    let r: [SmallPoly<R>; N] = array::from_fn(|i| {
        let (key, ciphertext) = (keys[i], ciphertexts[i]);
        assert_eq!(ciphertext.len(), ciphertext_bytes::<R>());
        let c = mixed_radix::decode_rounded::<R>(one(&ciphertext[..R::MIXED_RADIX_THIRDS.bytes()]));
        let e = ternary::tripled(multiplier.mul_small(&c, &key.f));
        ternary::short_or_ones(&ternary::mul(&e, &key.g_inverse))
    });
    let mut hidden = array::from_fn(|_| Hidden::zeroed());
    hide(keys.map(|key| &key.public_key), r.each_ref(), &mut multiplier, &mut hidden);
    let mut all_accepted = [0; N];
    for i in 0..N {
        let Hidden { r_hash, rounded, confirmation } = &mut hidden[i];
        let accepted = equal(ciphertexts[i], &[(**rounded).as_ref(), &**confirmation]);
        for (chosen, rejected) in r_hash.iter_mut().zip(keys[i].rho_hash.iter()) {
            *chosen = u8::conditional_select(rejected, chosen, accepted);
        }
        all_accepted[i] = accepted.unwrap_u8();
    }
    let chosen = hidden.each_ref().map(|hidden| &*hidden.r_hash);
    shared_secrets(all_accepted, chosen, ciphertexts, secrets.each_mut());
}
