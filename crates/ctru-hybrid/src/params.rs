//! The parameter sets, as zero-sized types, and the lengths of keys, coins and ciphertexts.

use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;

use ctru_kem::{CtruPrimeSet, MixedRadix, SEED_BYTES, for_each_ctru_prime_set, sets};
use ctru_math::array::Array;

/// Bytes of a private or public key of X25519, and of its result.
pub const X25519_BYTES: usize = 32;
/// Bytes of a decapsulation key: a seed.
pub const DECAPSULATION_KEY_BYTES: usize = SEED_BYTES;
/// Bytes that determine an encapsulation: the seed of CTRU-Prime and the ephemeral private key of
/// X25519.
pub const COIN_BYTES: usize = SEED_BYTES + X25519_BYTES;

/// A parameter set of CTRU-Prime together with X25519.
///
/// The trait is sealed. [`X25519CtruPrime`] implements it for the types in [`sets`]. The page of
/// this crate lists their sizes.
pub trait ParameterSet: Sealed {
    /// The name, such as `CTRU-Prime-761 X25519`.
    const NAME: &'static str;
    /// The number of bytes of an encapsulation key.
    const ENCAPSULATION_KEY_BYTES: usize = <EncapsulationKeyBytes<Self> as Array<u8>>::LEN;
    /// The number of bytes of a ciphertext.
    const CIPHERTEXT_BYTES: usize = <CiphertextBytes<Self> as Array<u8>>::LEN;
}

/// The array of the bytes of an encapsulation key of `P`.
pub type EncapsulationKeyBytes<P> = <P as Sealed>::EncapsulationKeyBytes;
/// The array of the bytes of a ciphertext of `P`.
pub type CiphertextBytes<P> = <P as Sealed>::CiphertextBytes;

/// The properties of a set that the code of this crate needs. Users cannot name this trait, which
/// seals [`ParameterSet`].
pub trait Sealed: Copy + Debug + Default + Eq + Ord + Hash + Send + Sync + 'static {
    /// The set of CTRU-Prime.
    type Ctru: CtruPrimeSet<Encoding = MixedRadix>;
    /// The bytes of an encapsulation key.
    type EncapsulationKeyBytes: Array<u8> + Eq + Hash;
    /// The bytes of a ciphertext.
    type CiphertextBytes: Array<u8> + Eq + Hash;
    /// The last part of the input of the hash that makes shared secrets.
    const LABEL: &'static str;
    /// The result of the known-answer test, if it is known.
    const KNOWN_ANSWER: Option<u128>;
}

/// The set `P` of CTRU-Prime, with keys in mixed-radix encoding, together with X25519.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct X25519CtruPrime<P>(PhantomData<P>);

/// Returns the result of the known-answer test of a set, as an implementation in Python has
/// computed it, if it is known.
const fn known_answer(set: ctru_kem::Set) -> Option<u128> {
    use ctru_kem::Set;
    Some(match set {
        Set::CtruPrime653 => 0xdbc20d44e60850d1664bb9df07ccc639,
        Set::CtruPrime761 => 0x9603ee839a5e05764f1774a3e04ad55c,
        Set::CtruPrime1277 => 0x1cb5085660f47efbd3e4f3557f1c91d6,
        _ => return None,
    })
}

/// Defines the hybrid of a set.
macro_rules! hybrid {
    ($size:ident $set:ident $name:literal $($encoding:ident)*) => {
        impl ParameterSet for X25519CtruPrime<sets::$set> {
            const NAME: &'static str = concat!($name, " X25519");
        }

        impl Sealed for X25519CtruPrime<sets::$set> {
            type Ctru = sets::$set;
            type EncapsulationKeyBytes = [u8;
                <sets::$set as ctru_kem::ParameterSet>::ENCAPSULATION_KEY_BYTES + X25519_BYTES];
            type CiphertextBytes =
                [u8; <sets::$set as ctru_kem::ParameterSet>::CIPHERTEXT_BYTES + X25519_BYTES];
            const LABEL: &'static str = concat!($name, " X25519 SHA3-256 v1");
            const KNOWN_ANSWER: Option<u128> = known_answer(ctru_kem::Set::$set);
        }
    };
}
for_each_ctru_prime_set!(hybrid);

/// Evaluates an expression in which a name is the type of the hybrid of a [`Set`](crate::Set). The
/// compiler compiles the expression once for each of them, so it should only call a function.
#[macro_export]
macro_rules! with_hybrid {
    ($set:expr, $P:ident => $body:expr) => {
        $crate::with_ctru_prime_set!(
            $crate::Set::of_ctru_prime($set),
            Ctru => {
                type $P = $crate::X25519CtruPrime<Ctru>;
                $body
            },
            _ => unreachable!("a set of hybrids is one of CTRU-Prime")
        )
    };
}
