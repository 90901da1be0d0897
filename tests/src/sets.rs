//! Macros that repeat a test for each parameter set and public-key encoding.

/// Makes a module of six tests from each generic function `fn check<P: ParameterSet>()` in the
/// list: one test for each parameter set with each encoding.
#[macro_export]
macro_rules! every_set {
    ($($check:ident),* $(,)?) => {
        $($crate::test_of_each_set!($check []);)*
    };
}

/// Makes the same tests, of which `cargo test` runs those of the smallest set alone. The others
/// take long, and CI runs them (`--ignored`).
#[macro_export]
macro_rules! every_set_at_length {
    ($($check:ident),* $(,)?) => {
        $($crate::test_of_each_set!($check [#[ignore = "takes long; CI runs it"]]);)*
    };
}

/// Makes the tests of one function. Those of the larger sets have the given attributes.
#[doc(hidden)]
#[macro_export]
macro_rules! test_of_each_set {
    ($check:ident $larger:tt) => {
        mod $check {
            use ctru_kem::{CtruPrime653, CtruPrime761, CtruPrime1277, MixedRadix, Packed13};

            $crate::test_of_each_set!(@ $check [] ctru_prime_653_mixed_radix
                CtruPrime653<MixedRadix>);
            $crate::test_of_each_set!(@ $check [] ctru_prime_653_packed13 CtruPrime653<Packed13>);
            $crate::test_of_each_set!(@ $check $larger ctru_prime_761_mixed_radix
                CtruPrime761<MixedRadix>);
            $crate::test_of_each_set!(@ $check $larger ctru_prime_761_packed13
                CtruPrime761<Packed13>);
            $crate::test_of_each_set!(@ $check $larger ctru_prime_1277_mixed_radix
                CtruPrime1277<MixedRadix>);
            $crate::test_of_each_set!(@ $check $larger ctru_prime_1277_packed13
                CtruPrime1277<Packed13>);
        }
    };
    (@ $check:ident [$($attributes:tt)*] $name:ident $set:ty) => {
        #[test]
        $($attributes)*
        fn $name() {
            super::$check::<$set>();
        }
    };
}
