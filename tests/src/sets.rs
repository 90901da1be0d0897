//! Macros that repeat a test for each parameter set and public-key encoding.

/// Makes a module of tests from each generic function `fn check<P: ParameterSet>()` in the list:
/// one test for each parameter set with each of its encodings.
#[macro_export]
macro_rules! every_set {
    ($($check:ident),* $(,)?) => {
        $($crate::test_of_each_set!(for_each_set $check []);)*
    };
}

/// Makes the same tests from functions `fn check<P: CtruPrimeSet>()`, for the sets of CTRU-Prime.
#[macro_export]
macro_rules! every_ctru_prime_set {
    ($($check:ident),* $(,)?) => {
        $($crate::test_of_each_set!(for_each_ctru_prime_set $check []);)*
    };
}

/// Makes the tests of [`every_ctru_prime_set`], of which `cargo test` runs those of the smallest
/// set alone. The others take long, and CI runs them (`--ignored`).
#[macro_export]
macro_rules! every_ctru_prime_set_at_length {
    ($($check:ident),* $(,)?) => {
        $($crate::test_of_each_set!(
            for_each_ctru_prime_set $check [#[ignore = "takes long; CI runs it"]]
        );)*
    };
}

/// Makes the tests of one function for a list of sets. Those of the larger sets have the given
/// attributes.
#[doc(hidden)]
#[macro_export]
macro_rules! test_of_each_set {
    ($for_each:ident $check:ident [$($larger:tt)*]) => {
        #[allow(non_snake_case)]
        mod $check {
            macro_rules! of_set {
                (smallest $set:ident $name:literal $first:ident $second:ident) => {
                    mod $set {
                        #[test]
                        fn $first() {
                            super::super::$check::<ctru_kem::$set<ctru_kem::$first>>();
                        }
                        #[test]
                        fn $second() {
                            super::super::$check::<ctru_kem::$set<ctru_kem::$second>>();
                        }
                    }
                };
                (larger $set:ident $name:literal $first:ident $second:ident) => {
                    mod $set {
                        #[test]
                        $($larger)*
                        fn $first() {
                            super::super::$check::<ctru_kem::$set<ctru_kem::$first>>();
                        }
                        #[test]
                        $($larger)*
                        fn $second() {
                            super::super::$check::<ctru_kem::$set<ctru_kem::$second>>();
                        }
                    }
                };
                (larger $set:ident $name:literal $only:ident) => {
                    #[test]
                    $($larger)*
                    fn $set() {
                        super::$check::<ctru_kem::$set>();
                    }
                };
            }
            ctru_kem::$for_each!(of_set);
        }
    };
}
