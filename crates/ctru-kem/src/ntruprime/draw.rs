//! Polynomials from random bytes.
//!
//! Each polynomial takes `n` words of 32 bits, little-endian, with one call of the
//! [source](Source).

use core::array;

use ctru_math::array::Array;
use ctru_math::short::{short, small};
use ctru_math::{NtruPrimeArithmetic, NtruPrimeRing, SmallPoly, for_each_ntru_prime_ring};
use shake::Shake256;
use shake::digest::{ExtendableOutput, Update, XofReader};

#[cfg(feature = "std")]
use crate::hash::shake256_group;
use crate::hash::{SEED_BYTES, shake256};
use crate::source::{NoRandomness, Source};
use crate::wipe::wipe;

/// The random words of one polynomial, wiped when dropped.
struct Words<R: NtruPrimeRing>(R::Coeffs<[u8; 4]>);

impl<R: NtruPrimeRing> Words<R> {
    /// Takes the words from a source.
    fn draw(source: Source<'_>) -> Result<Self, NoRandomness> {
        let mut words = Self(R::Coeffs::zeroed());
        source(words.0.as_mut().as_flattened_mut())?;
        Ok(words)
    }
}

impl<R: NtruPrimeRing> Drop for Words<R> {
    fn drop(&mut self) {
        wipe(self.0.as_mut(), [0; 4]);
    }
}

/// Draws a small polynomial.
pub(super) fn draw_small<R: NtruPrimeArithmetic>(
    source: Source<'_>,
) -> Result<SmallPoly<R>, NoRandomness> {
    Ok(small::<R>(&Words::<R>::draw(source)?.0))
}

/// Draws a short polynomial.
///
/// # Errors
/// That of the source.
pub fn draw_short<R: NtruPrimeArithmetic>(
    source: Source<'_>,
) -> Result<SmallPoly<R>, NoRandomness> {
    Ok(short::<R>(&Words::<R>::draw(source)?.0))
}

/// Returns the polynomials of encapsulations with these seeds: what [`draw_short`] draws from each
/// [`from_seed`].
#[must_use]
pub fn short_from_seeds<R: Named, const N: usize>(
    seeds: [&[u8; SEED_BYTES]; N],
) -> [SmallPoly<R>; N] {
    let mut words: [Words<R>; N] = array::from_fn(|_| Words(R::Coeffs::zeroed()));
    let outputs = words.each_mut().map(|words| words.0.as_mut().as_flattened_mut());
    shake256(seeds.map(|seed| input::<R>(Use::Encapsulation, seed)), outputs);
    words.each_ref().map(|words| short::<R>(&words.0))
}

/// A ring whose parameter set of Streamlined NTRU Prime has a name.
pub trait Named: NtruPrimeArithmetic {
    /// The name of the set, such as `sntrup761`.
    const NAME: &'static str;
}

macro_rules! named {
    ($ring:ident $n:literal $numbers:tt) => {
        impl Named for ctru_math::$ring {
            const NAME: &'static str = concat!("sntrup", $n);
        }
    };
}
for_each_ntru_prime_ring!(named);

/// The operation for which a seed is expanded.
#[derive(Copy, Clone, Debug)]
pub enum Use {
    /// Key generation.
    KeyPair,
    /// Encapsulation.
    Encapsulation,
}

/// Returns the parts of what is hashed: the name of the set, the use and the seed.
fn input<R: Named>(usage: Use, seed: &[u8; SEED_BYTES]) -> [&[u8]; 3] {
    let usage: &[u8] = match usage {
        Use::KeyPair => b" key pair",
        Use::Encapsulation => b" encapsulation",
    };
    [R::NAME.as_bytes(), usage, seed]
}

/// Fills each output with the first bytes of [`from_seed`] for the seed of its key pair. There are
/// at most [`GROUP`](crate::hash::GROUP) outputs, all of one length.
#[cfg(feature = "std")]
pub(super) fn key_pair_bytes<'a, R: Named>(
    seeds: impl Iterator<Item = &'a [u8; SEED_BYTES]>,
    outputs: &mut [&mut [u8]],
) {
    shake256_group(seeds.map(|seed| input::<R>(Use::KeyPair, seed)), outputs);
}

/// Returns the source of random bytes that a seed determines: SHAKE256 of the name of the set, the
/// use and the seed.
pub fn from_seed<R: Named>(
    usage: Use,
    seed: &[u8; SEED_BYTES],
) -> impl FnMut(&mut [u8]) -> Result<(), NoRandomness> + use<R> {
    let mut hash = Shake256::default();
    for part in input::<R>(usage, seed) {
        hash.update(part);
    }
    let mut reader = hash.finalize_xof();
    move |bytes| {
        reader.read(bytes);
        Ok(())
    }
}
