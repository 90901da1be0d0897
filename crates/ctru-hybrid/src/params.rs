//! The parameter sets, as zero-sized types, and the lengths of keys, coins and ciphertexts.

use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;

use ctru_kem::{CtruPrime653, CtruPrime761, CtruPrime1277, MixedRadix, SEED_BYTES};
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
/// The trait is sealed. [`X25519CtruPrime`] implements it for the three sets.
///
/// Sizes in bytes:
///
/// | set | encapsulation key | decapsulation key | ciphertext | shared secret |
/// |---|---:|---:|---:|---:|
/// | [`CtruPrime653`] | 1026 | 32 | 930 | 32 |
/// | [`CtruPrime761`] | 1190 | 32 | 984 | 32 |
/// | [`CtruPrime1277`] | 2099 | 32 | 1629 | 32 |
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
    type Ctru: ctru_kem::ParameterSet<Encoding = MixedRadix>;
    /// The bytes of an encapsulation key.
    type EncapsulationKeyBytes: Array<u8>;
    /// The bytes of a ciphertext.
    type CiphertextBytes: Array<u8>;
    /// The last part of the input of the hash that makes shared secrets.
    const LABEL: &'static str;
    /// The result of the known-answer test, as an implementation in Python has computed it.
    const KNOWN_ANSWER: u128;
}

/// The set `P` of CTRU-Prime, with keys in mixed-radix encoding, together with X25519.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct X25519CtruPrime<P>(PhantomData<P>);

/// Defines the hybrid of a set. The numbers are the lengths of an encapsulation key and of a
/// ciphertext in bytes, and the known answer.
macro_rules! hybrid {
    (
        $set:ident,
        $name:literal,
        $encapsulation_key:literal,
        $ciphertext:literal,
        $known_answer:literal
    ) => {
        impl ParameterSet for X25519CtruPrime<$set> {
            const NAME: &'static str = concat!($name, " X25519");
        }

        impl Sealed for X25519CtruPrime<$set> {
            type Ctru = $set;
            type EncapsulationKeyBytes = [u8; $encapsulation_key];
            type CiphertextBytes = [u8; $ciphertext];
            const LABEL: &'static str = concat!($name, " X25519 SHA3-256 v1");
            const KNOWN_ANSWER: u128 = $known_answer;
        }

        const _: () = {
            use ctru_kem::ParameterSet;
            assert!($encapsulation_key == <$set>::ENCAPSULATION_KEY_BYTES + X25519_BYTES);
            assert!($ciphertext == <$set>::CIPHERTEXT_BYTES + X25519_BYTES);
        };
    };
}

hybrid!(CtruPrime653, "CTRU-Prime-653", 1026, 930, 0xdbc20d44e60850d1664bb9df07ccc639);
hybrid!(CtruPrime761, "CTRU-Prime-761", 1190, 984, 0x9603ee839a5e05764f1774a3e04ad55c);
hybrid!(CtruPrime1277, "CTRU-Prime-1277", 2099, 1629, 0x1cb5085660f47efbd3e4f3557f1c91d6);
