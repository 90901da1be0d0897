//! A macro that repeats a test for each parameter set and public-key encoding.

/// Makes a module of six tests from each generic function `fn check<P: ParameterSet>()` in the
/// list: one test for each parameter set with each encoding.
#[macro_export]
macro_rules! every_set {
    ($($check:ident),* $(,)?) => {
        $(
            mod $check {
                use ctru_kem::{CtruPrime653, CtruPrime761, CtruPrime1277, MixedRadix, Packed13};

                #[test]
                fn ctru_prime_653_mixed_radix() {
                    super::$check::<CtruPrime653<MixedRadix>>();
                }
                #[test]
                fn ctru_prime_653_packed13() {
                    super::$check::<CtruPrime653<Packed13>>();
                }
                #[test]
                fn ctru_prime_761_mixed_radix() {
                    super::$check::<CtruPrime761<MixedRadix>>();
                }
                #[test]
                fn ctru_prime_761_packed13() {
                    super::$check::<CtruPrime761<Packed13>>();
                }
                #[test]
                fn ctru_prime_1277_mixed_radix() {
                    super::$check::<CtruPrime1277<MixedRadix>>();
                }
                #[test]
                fn ctru_prime_1277_packed13() {
                    super::$check::<CtruPrime1277<Packed13>>();
                }
            }
        )*
    };
}
