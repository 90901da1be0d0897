//! Single operations, five functions for each parameter set: of CTRU-Prime, of CTRU-Prime with
//! X25519, and of Streamlined NTRU Prime. CTRU-Prime alone has a sixth.
#![allow(unsafe_code)]

use std::ffi::c_int;

use ctru_hybrid::{COIN_BYTES, DECAPSULATION_KEY_BYTES, X25519CtruPrime};
use ctru_kem::{
    CtruPrime653, CtruPrime761, CtruPrime1277, KEY_PAIR_SEED_BYTES, KeyPairSeed, SEED_BYTES,
    SHARED_SECRET_BYTES, SharedSecret, Sntrup653, Sntrup761, Sntrup857, Sntrup953, Sntrup1013,
    Sntrup1277,
};

use crate::code::{
    CTRU_ERROR_INTERNAL, CTRU_ERROR_PUBLIC_KEY, CTRU_ERROR_RANDOMNESS, CTRU_ERROR_SECRET_KEY,
    wiping,
};
use crate::memory::{input, output, write};

/// Writes the two values that `make` returns: both keys, or a ciphertext and its shared secret.
///
/// # Safety
/// Pointers that are not null point to as many writable bytes as the values have. `make` returns
/// values that are not in their memory.
unsafe fn pair<const STACK: usize, A: AsRef<[u8]>, B: AsRef<[u8]>>(
    first: *mut u8,
    second: *mut u8,
    make: impl FnOnce() -> Result<(A, B), c_int>,
) -> c_int {
    wiping::<STACK>(|| {
        let (first, second) = (output(first)?, output(second)?);
        let (one, other) = make()?;
        // SAFETY: the caller promises this.
        unsafe {
            write(first, one.as_ref());
            write(second, other.as_ref());
        }
        Ok(())
    })
}

/// Writes the shared secret that `decapsulate` returns.
///
/// # Safety
/// As for [`pair`].
unsafe fn decaps<const STACK: usize>(
    ss: *mut u8,
    decapsulate: impl FnOnce() -> Result<SharedSecret, c_int>,
) -> c_int {
    wiping::<STACK>(|| {
        let ss = output(ss)?;
        let secret = decapsulate()?;
        // SAFETY: the caller promises this.
        unsafe { write(ss, secret.as_ref()) };
        Ok(())
    })
}

/// Returns the key of CTRU-Prime that coins determine: the seed of the polynomials, then `z`.
fn ctru_key<P: ctru_kem::ParameterSet>(
    coins: &[u8],
) -> Result<ctru_kem::DecapsulationKey<P>, c_int> {
    let [seed, z] = coins.as_chunks().0 else { return Err(CTRU_ERROR_INTERNAL) };
    Ok(ctru_kem::DecapsulationKey::generate_deterministic(seed, z))
}

/// Returns the key of CTRU-Prime or NTRU Prime that a seed determines.
fn seed_key<P: ctru_kem::ParameterSet>(
    coins: &[u8],
) -> Result<ctru_kem::DecapsulationKey<P>, c_int> {
    let seed = KeyPairSeed::from_bytes(coins).map_err(|_| CTRU_ERROR_INTERNAL)?;
    Ok(seed.decapsulation_key())
}

/// Returns the key of CTRU-Prime with X25519 that coins determine. They are the secret key.
fn hybrid_key<P: ctru_hybrid::ParameterSet>(
    coins: &[u8],
) -> Result<ctru_hybrid::DecapsulationKey<P>, c_int> {
    ctru_hybrid::DecapsulationKey::from_bytes(coins).map_err(|_| CTRU_ERROR_INTERNAL)
}

/// Defines the constants and functions of a set of [`for_each_set`].
macro_rules! set {
    (ctru $test:ident $number:tt $set:ident $($rest:tt)*) => {
        functions! {
            ctru_kem, ctru_key, $set, "With another set they give a related key pair.", $($rest)*
        }
    };
    (hybrid $test:ident $number:tt $set:ident $($rest:tt)*) => {
        functions! {
            ctru_hybrid, hybrid_key, X25519CtruPrime<$set>, "They are the secret key.", $($rest)*
        }
    };
    (sntrup $test:ident $number:tt $set:ident $($rest:tt)*) => {
        functions! { ctru_kem, seed_key, $set, "They are the seed of a key file.", $($rest)* }
    };
}

/// Defines a function that generates the key pair which `$from`, so many bytes, determine by
/// `$key`. `$stack` is as in [`functions`].
macro_rules! determined {
    (
        $function:ident, $from:ident, $bytes:expr, $stack:literal, $key:expr, $($doc:expr,)*
    ) => {
        $(#[doc = $doc])*
        ///
        /// # Safety
        /// Pointers that are not null point to as many writable bytes as each key has, and to the
        #[doc = concat!(" readable bytes of the ", stringify!($from), ".")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $function(pk: *mut u8, sk: *mut u8, $from: *const u8) -> c_int {
            let generate = || {
                // SAFETY: the caller promises this of the pointer. The slice ends with this
                // closure, before anything is written.
                let key = $key(unsafe { input($from, $bytes) }?)?;
                Ok((key.encapsulation_key(), key))
            };
            // SAFETY: the caller promises the same.
            unsafe { pair::<{ $stack << 10 }, _, _>(pk, sk, generate) }
        }
    };
}

/// Defines the constants and functions of a parameter set.
///
/// `$keys` is the crate of the keys. `$coins` says what the coins of a key pair are. `$stack` is at
/// least the number of KiB of the stack that a function uses before it wipes them.
macro_rules! functions {
    (
        $keys:ident, $key:ident, $set:ty, $coins:literal, $name:literal $stack:literal
        [$pk:literal, $sk:literal, $ct:literal, $keypair_coins:literal, $encaps_coins:literal]
        $pk_bytes:ident $sk_bytes:ident $ct_bytes:ident
        $keypair:ident $keypair_derand:ident $encaps:ident $encaps_derand:ident $decaps:ident
        $($keypair_from_seed:ident)?
    ) => {
        #[doc = concat!(" Bytes of a public key of ", $name, ".")]
        pub const $pk_bytes: usize = $pk;
        #[doc = concat!(" Bytes of a secret key of ", $name, ".")]
        pub const $sk_bytes: usize = $sk;
        #[doc = concat!(" Bytes of a ciphertext of ", $name, ".")]
        pub const $ct_bytes: usize = $ct;

        const _: () = {
            use $keys::ParameterSet;
            assert!($pk == <$set>::ENCAPSULATION_KEY_BYTES && $ct == <$set>::CIPHERTEXT_BYTES);
        };

        #[doc = concat!(" Generates a key pair of ", $name, ": `pk`, then `sk`.")]
        ///
        /// # Safety
        /// Pointers that are not null point to as many writable bytes as each key has.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $keypair(pk: *mut u8, sk: *mut u8) -> c_int {
            let generate = || {
                let key = $keys::DecapsulationKey::<$set>::try_generate();
                let key = key.map_err(|_| CTRU_ERROR_RANDOMNESS)?;
                Ok((key.encapsulation_key(), key))
            };
            // SAFETY: the caller promises the same.
            unsafe { pair::<{ $stack << 10 }, _, _>(pk, sk, generate) }
        }

        determined! {
            $keypair_derand, coins, $keypair_coins, $stack, $key::<$set>,
            concat!(" Generates the key pair of ", $name, " that"),
            concat!(" `coins` determine: ", $keypair_coins, " secret, uniform bytes, which"),
            concat!(" must be used once. ", $coins),
        }
        $(determined! {
            $keypair_from_seed, seed, CTRU_SEED_BYTES, $stack, seed_key::<$set>,
            concat!(" Generates the key pair of ", $name, " that `seed`"),
            " determines: 32 secret, uniform bytes, the short form of a secret key, and the form",
            " of PKCS#8 files. The same bytes give an unrelated key pair for another set.",
        })?

        #[doc = concat!(" Encapsulates to the public key `pk` of ", $name, ":")]
        /// writes the ciphertext to `ct` and the shared secret, 32 bytes, to `ss`.
        ///
        /// # Safety
        /// Pointers that are not null point to as many bytes as the values have.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $encaps(ct: *mut u8, ss: *mut u8, pk: *const u8) -> c_int {
            let encapsulate = || {
                // SAFETY: the caller promises this of the pointer. The slice ends with this
                // closure, before anything is written.
                let key = $keys::EncapsulationKey::<$set>::from_bytes(unsafe { input(pk, $pk) }?);
                let key = key.map_err(|_| CTRU_ERROR_PUBLIC_KEY)?;
                key.try_encapsulate().map_err(|_| CTRU_ERROR_RANDOMNESS)
            };
            // SAFETY: the caller promises the same.
            unsafe { pair::<{ $stack << 10 }, _, _>(ct, ss, encapsulate) }
        }

        #[doc = concat!(" Encapsulates to the public key `pk` of ", $name)]
        #[doc = concat!(" the shared secret that `coins` determine: ", $encaps_coins, " secret,")]
        /// uniform bytes, which must be used once.
        ///
        /// # Safety
        /// Pointers that are not null point to as many bytes as the values have, and to the
        /// readable bytes of the coins.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $encaps_derand(
            ct: *mut u8,
            ss: *mut u8,
            pk: *const u8,
            coins: *const u8,
        ) -> c_int {
            let encapsulate = || {
                // SAFETY: the caller promises this of the pointers. The slices end with this
                // closure, before anything is written.
                let (pk, coins) = unsafe { (input(pk, $pk)?, input(coins, $encaps_coins)?) };
                let key = $keys::EncapsulationKey::<$set>::from_bytes(pk);
                let key = key.map_err(|_| CTRU_ERROR_PUBLIC_KEY)?;
                let coins: &[u8; $encaps_coins] = coins.first_chunk().ok_or(CTRU_ERROR_INTERNAL)?;
                Ok(key.encapsulate_deterministic(coins))
            };
            // SAFETY: the caller promises the same.
            unsafe { pair::<{ $stack << 10 }, _, _>(ct, ss, encapsulate) }
        }

        #[doc = concat!(" Decapsulates `ct` with the secret key `sk` of ", $name, ":")]
        /// writes the shared secret, 32 bytes, to `ss`. A ciphertext that encapsulation did not
        /// make is no error: it gives a secret that nobody else knows.
        ///
        /// # Safety
        /// Pointers that are not null point to as many bytes as the values have.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $decaps(ss: *mut u8, ct: *const u8, sk: *const u8) -> c_int {
            let decapsulate = || {
                // SAFETY: the caller promises this of the pointers. The slices end with this
                // closure, before anything is written.
                let (ct, sk) = unsafe { (input(ct, $ct)?, input(sk, $sk)?) };
                let key = $keys::DecapsulationKey::<$set>::from_bytes(sk);
                let key = key.map_err(|_| CTRU_ERROR_SECRET_KEY)?;
                let ciphertext = $keys::Ciphertext::from_bytes(ct);
                Ok(key.decapsulate(&ciphertext.map_err(|_| CTRU_ERROR_INTERNAL)?))
            };
            // SAFETY: the caller promises the same.
            unsafe { decaps::<{ $stack << 10 }>(ss, decapsulate) }
        }
    };
}

/// Bytes of a shared secret.
pub const CTRU_SHARED_SECRET_BYTES: usize = 32;
/// Bytes of a seed of a key pair of CTRU-Prime.
pub const CTRU_SEED_BYTES: usize = 32;
/// Bytes of the coins of a key pair of CTRU-Prime: the seed of the polynomials, then `z`.
pub const CTRU_KEYPAIR_COINS: usize = 64;
/// Bytes from which an encapsulation of CTRU-Prime is derived.
pub const CTRU_ENCAPS_COINS: usize = 32;
/// Bytes from which a key pair of CTRU-Prime with X25519 is derived.
pub const CTRU_X25519_KEYPAIR_COINS: usize = 32;
/// Bytes from which an encapsulation of CTRU-Prime with X25519 is derived.
pub const CTRU_X25519_ENCAPS_COINS: usize = 64;
/// Bytes from which a key pair of NTRU Prime is derived.
pub const CTRU_SNTRUP_KEYPAIR_COINS: usize = 32;
/// Bytes from which an encapsulation of NTRU Prime is derived.
pub const CTRU_SNTRUP_ENCAPS_COINS: usize = 32;

const _: () = assert!(
    CTRU_SHARED_SECRET_BYTES == SHARED_SECRET_BYTES
        && CTRU_SEED_BYTES == SEED_BYTES
        && CTRU_KEYPAIR_COINS == KEY_PAIR_SEED_BYTES
        && CTRU_ENCAPS_COINS == SEED_BYTES
        && CTRU_X25519_KEYPAIR_COINS == DECAPSULATION_KEY_BYTES
        && CTRU_X25519_ENCAPS_COINS == COIN_BYTES
        && CTRU_SNTRUP_KEYPAIR_COINS == SEED_BYTES
        && CTRU_SNTRUP_ENCAPS_COINS == SEED_BYTES
);

for_each_set!(set);
