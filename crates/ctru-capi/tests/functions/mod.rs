//! The functions of a set, for tests that call each of them.
// Each program of tests uses some of the fields.
#![allow(dead_code)]

use std::ffi::c_int;

/// A function that makes a key pair from bytes.
pub(crate) type Derand = unsafe extern "C" fn(*mut u8, *mut u8, *const u8) -> c_int;

/// The functions of a set, and what tells it from others.
pub(crate) struct Functions {
    /// The number of the set in batches.
    pub(crate) set: c_int,
    /// The bytes of a public key, a secret key, a ciphertext, and the coins of both operations.
    pub(crate) bytes: [usize; 5],
    pub(crate) keypair: unsafe extern "C" fn(*mut u8, *mut u8) -> c_int,
    pub(crate) keypair_derand: Derand,
    pub(crate) encaps: unsafe extern "C" fn(*mut u8, *mut u8, *const u8) -> c_int,
    pub(crate) encaps_derand: unsafe extern "C" fn(*mut u8, *mut u8, *const u8, *const u8) -> c_int,
    pub(crate) decaps: unsafe extern "C" fn(*mut u8, *const u8, *const u8) -> c_int,
    /// Only CTRU-Prime alone has one.
    pub(crate) keypair_from_seed: &'static [Derand],
}

/// Makes a test of a set of `for_each_set`, which calls `check!(SCHEME SET)` with its functions.
macro_rules! test {
    (
        $scheme:ident $test:ident $number:tt $set:ident $name:literal $stack:literal $bytes:tt
        $pk:ident $sk:ident $ct:ident
        $keypair:ident $keypair_derand:ident $encaps:ident $encaps_derand:ident $decaps:ident
        $($keypair_from_seed:ident)?
    ) => {
        #[test]
        fn $test() {
            check!($scheme $set)(&Functions {
                set: $number,
                bytes: $bytes,
                keypair: $keypair,
                keypair_derand: $keypair_derand,
                encaps: $encaps,
                encaps_derand: $encaps_derand,
                decaps: $decaps,
                keypair_from_seed: &[$($keypair_from_seed)?],
            });
        }
    };
}
