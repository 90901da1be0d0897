//! Small rings, in which tests can try all elements. `x^n - x - 1` is irreducible modulo each `q`.

use super::sealed::Sealed;
use super::{Element, NtruPrimeRing};

macro_rules! small {
    ($($name:ident $n:literal $q:literal)+) => {$(
        #[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) struct $name;

        impl Sealed for $name {}

        impl NtruPrimeRing for $name {
            const N: usize = $n;
            const Q: u32 = $q;
            const WEIGHT: usize = 1;
            const SMALL: u32 = 1;
            type Coeffs<T: Element> = [T; $n];
            type MixedRadixBytes = [u8; 0];
            type MixedRadixThirdsBytes = [u8; 0];
            type TernaryBytes = [u8; Self::TERNARY_BYTES];
        }
    )+};
}

small! {
    R3Mod29 3 29
    R3Mod31 3 31
    R3Mod41 3 41
    R5Mod79 5 79
    R7Mod199 7 199
    R11Mod59 11 59
    R13Mod257 13 257
}
