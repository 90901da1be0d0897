//! Polynomials from random bytes.
//!
//! Each polynomial takes `n` words of 32 bits, little-endian, with one call of the
//! [source](Source).

use ctru_math::array::Array;
use ctru_math::short::{short, small};
use ctru_math::{NtruPrimeArithmetic, NtruPrimeRing, SmallPoly, for_each_ntru_prime_ring};
use shake::Shake256;
use shake::digest::{ExtendableOutput, Update, XofReader};

use crate::hash::SEED_BYTES;
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
pub(super) fn draw_short<R: NtruPrimeArithmetic>(
    source: Source<'_>,
) -> Result<SmallPoly<R>, NoRandomness> {
    Ok(short::<R>(&Words::<R>::draw(source)?.0))
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

/// Returns the source of random bytes that a seed determines: SHAKE256 of the name of the set, the
/// use and the seed.
pub fn from_seed<R: Named>(
    usage: Use,
    seed: &[u8; SEED_BYTES],
) -> impl FnMut(&mut [u8]) -> Result<(), NoRandomness> + use<R> {
    let mut hash = Shake256::default();
    hash.update(R::NAME.as_bytes());
    hash.update(match usage {
        Use::KeyPair => b" key pair",
        Use::Encapsulation => b" encapsulation",
    });
    hash.update(seed);
    let mut reader = hash.finalize_xof();
    move |bytes| {
        reader.read(bytes);
        Ok(())
    }
}
