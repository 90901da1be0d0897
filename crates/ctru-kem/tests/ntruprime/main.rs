//! Streamlined NTRU Prime: the official records, properties, and keys that are refused.

// Tests may unwrap: a test must fail if its input cannot be built.
#![allow(clippy::unwrap_used)]

/// Makes a module of tests from each function `fn check<P: ParameterSet>()` in the list, one for
/// each set. Each test runs on every backend, and has the given attributes.
macro_rules! every_set_on_every_backend {
    ($($(#[$attribute:meta])* $check:ident),* $(,)?) => {
        $(
            #[allow(non_snake_case)]
            mod $check {
                macro_rules! of_set {
                    ($size:ident $set:ident $name:literal MixedRadix) => {
                        #[test]
                        $(#[$attribute])*
                        fn $set() {
                            let check = super::$check::<ctru_kem::$set>;
                            ctru_tests::backends::on_every_backend(check);
                        }
                    };
                    ($size:ident $ctru_prime:ident $name:literal MixedRadix Packed13) => {};
                }
                ctru_kem::for_each_set!(of_set);
            }
        )*
    };
}

// The generator of the official records is that of the program.
#[path = "../../../ctru-cli/src/kat/drbg.rs"]
mod drbg;
mod official;
mod properties;
