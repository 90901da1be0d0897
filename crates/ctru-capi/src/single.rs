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

/// Writes the public and the secret key that `generate` returns.
///
/// # Safety
/// Pointers that are not null point to as many writable bytes as the keys have. `generate` returns
/// values that are not in their memory.
unsafe fn keypair<const STACK: usize, A: AsRef<[u8]>, B: AsRef<[u8]>>(
    pk: *mut u8,
    sk: *mut u8,
    generate: impl FnOnce() -> Result<(A, B), c_int>,
) -> c_int {
    wiping::<STACK>(|| {
        let (pk, sk) = (output(pk)?, output(sk)?);
        let (public, secret) = generate()?;
        // SAFETY: the caller promises this.
        unsafe {
            write(pk, public.as_ref());
            write(sk, secret.as_ref());
        }
        Ok(())
    })
}

/// Writes the ciphertext and the shared secret that `encapsulate` returns.
///
/// # Safety
/// As for [`keypair`].
unsafe fn encaps<const STACK: usize, C: AsRef<[u8]>>(
    ct: *mut u8,
    ss: *mut u8,
    encapsulate: impl FnOnce() -> Result<(C, SharedSecret), c_int>,
) -> c_int {
    // SAFETY: the caller promises the same.
    unsafe { keypair::<STACK, _, _>(ct, ss, encapsulate) }
}

/// Writes the shared secret that `decapsulate` returns.
///
/// # Safety
/// As for [`keypair`].
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

/// Returns the key of NTRU Prime that a seed determines.
fn sntrup_key<P: ctru_kem::ParameterSet>(
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

/// Defines the constants and functions of a parameter set.
///
/// `$keys` is the crate of the keys. `$coins` says what the coins of a key pair are. The numbers
/// are the bytes of a public key, a secret key, a ciphertext, the coins of a key pair and those of
/// an encapsulation. `$stack` is at least the number of KiB of the stack that a function uses
/// before it wipes them.
macro_rules! set {
    (
        $keys:ident, $key:ident, $set:ty, $name:literal, $coins:literal, $stack:literal,
        [$pk:literal, $sk:literal, $ct:literal, $keypair_coins:literal, $encaps_coins:literal],
        $pk_bytes:ident, $sk_bytes:ident, $ct_bytes:ident,
        $keypair:ident, $keypair_derand:ident, $encaps:ident, $encaps_derand:ident, $decaps:ident
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
            unsafe { keypair::<{ $stack << 10 }, _, _>(pk, sk, generate) }
        }

        #[doc = concat!(" Generates the key pair of ", $name, " that")]
        #[doc = concat!(" `coins` determine: ", $keypair_coins, " secret, uniform bytes, which")]
        #[doc = concat!(" must be used once. ", $coins)]
        ///
        /// # Safety
        /// Pointers that are not null point to as many writable bytes as each key has, and to the
        /// readable bytes of the coins.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $keypair_derand(
            pk: *mut u8,
            sk: *mut u8,
            coins: *const u8,
        ) -> c_int {
            let generate = || {
                // SAFETY: the caller promises this of the pointer. The slice ends with this
                // closure, before anything is written.
                let coins = unsafe { input(coins, $keypair_coins) }?;
                let key = $key::<$set>(coins)?;
                Ok((key.encapsulation_key(), key))
            };
            // SAFETY: the caller promises the same.
            unsafe { keypair::<{ $stack << 10 }, _, _>(pk, sk, generate) }
        }

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
            unsafe { encaps::<{ $stack << 10 }, _>(ct, ss, encapsulate) }
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
            unsafe { encaps::<{ $stack << 10 }, _>(ct, ss, encapsulate) }
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

/// Defines the function that generates a key pair of CTRU-Prime from a seed. `$stack` is as in
/// [`set`].
macro_rules! from_seed {
    ($set:ty, $name:literal, $stack:literal, $keypair_from_seed:ident) => {
        #[doc = concat!(" Generates the key pair of ", $name, " that `seed`")]
        /// determines: 32 secret, uniform bytes, the short form of a secret key, and the form of
        /// PKCS#8 files. The same bytes give an unrelated key pair for another set.
        ///
        /// # Safety
        /// Pointers that are not null point to as many writable bytes as each key has, and to the
        /// readable bytes of the seed.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $keypair_from_seed(
            pk: *mut u8,
            sk: *mut u8,
            seed: *const u8,
        ) -> c_int {
            let generate = || {
                // SAFETY: the caller promises this of the pointer. The slice ends with this
                // closure, before anything is written.
                let seed = unsafe { input(seed, CTRU_SEED_BYTES) }?;
                let seed = KeyPairSeed::<$set>::from_bytes(seed);
                let key = seed.map_err(|_| CTRU_ERROR_INTERNAL)?.decapsulation_key();
                Ok((key.encapsulation_key(), key))
            };
            // SAFETY: the caller promises the same.
            unsafe { keypair::<{ $stack << 10 }, _, _>(pk, sk, generate) }
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

set!(
    ctru_kem,
    ctru_key,
    CtruPrime653,
    "CTRU-Prime-653",
    "With another set they give a related key pair.",
    64,
    [994, 1353, 898, 64, 32],
    CTRU_PRIME_653_PUBLIC_KEY_BYTES,
    CTRU_PRIME_653_SECRET_KEY_BYTES,
    CTRU_PRIME_653_CIPHERTEXT_BYTES,
    ctru_prime_653_keypair,
    ctru_prime_653_keypair_derand,
    ctru_prime_653_encaps,
    ctru_prime_653_encaps_derand,
    ctru_prime_653_decaps
);
set!(
    ctru_kem,
    ctru_key,
    CtruPrime761,
    "CTRU-Prime-761",
    "With another set they give a related key pair.",
    72,
    [1158, 1571, 952, 64, 32],
    CTRU_PRIME_761_PUBLIC_KEY_BYTES,
    CTRU_PRIME_761_SECRET_KEY_BYTES,
    CTRU_PRIME_761_CIPHERTEXT_BYTES,
    ctru_prime_761_keypair,
    ctru_prime_761_keypair_derand,
    ctru_prime_761_encaps,
    ctru_prime_761_encaps_derand,
    ctru_prime_761_decaps
);
set!(
    ctru_kem,
    ctru_key,
    CtruPrime1277,
    "CTRU-Prime-1277",
    "With another set they give a related key pair.",
    112,
    [2067, 2738, 1597, 64, 32],
    CTRU_PRIME_1277_PUBLIC_KEY_BYTES,
    CTRU_PRIME_1277_SECRET_KEY_BYTES,
    CTRU_PRIME_1277_CIPHERTEXT_BYTES,
    ctru_prime_1277_keypair,
    ctru_prime_1277_keypair_derand,
    ctru_prime_1277_encaps,
    ctru_prime_1277_encaps_derand,
    ctru_prime_1277_decaps
);
set!(
    ctru_hybrid,
    hybrid_key,
    X25519CtruPrime<CtruPrime653>,
    "CTRU-Prime-653 with X25519",
    "They are the secret key.",
    72,
    [1026, 32, 930, 32, 64],
    CTRU_PRIME_653_X25519_PUBLIC_KEY_BYTES,
    CTRU_PRIME_653_X25519_SECRET_KEY_BYTES,
    CTRU_PRIME_653_X25519_CIPHERTEXT_BYTES,
    ctru_prime_653_x25519_keypair,
    ctru_prime_653_x25519_keypair_derand,
    ctru_prime_653_x25519_encaps,
    ctru_prime_653_x25519_encaps_derand,
    ctru_prime_653_x25519_decaps
);
set!(
    ctru_hybrid,
    hybrid_key,
    X25519CtruPrime<CtruPrime761>,
    "CTRU-Prime-761 with X25519",
    "They are the secret key.",
    80,
    [1190, 32, 984, 32, 64],
    CTRU_PRIME_761_X25519_PUBLIC_KEY_BYTES,
    CTRU_PRIME_761_X25519_SECRET_KEY_BYTES,
    CTRU_PRIME_761_X25519_CIPHERTEXT_BYTES,
    ctru_prime_761_x25519_keypair,
    ctru_prime_761_x25519_keypair_derand,
    ctru_prime_761_x25519_encaps,
    ctru_prime_761_x25519_encaps_derand,
    ctru_prime_761_x25519_decaps
);
set!(
    ctru_hybrid,
    hybrid_key,
    X25519CtruPrime<CtruPrime1277>,
    "CTRU-Prime-1277 with X25519",
    "They are the secret key.",
    128,
    [2099, 32, 1629, 32, 64],
    CTRU_PRIME_1277_X25519_PUBLIC_KEY_BYTES,
    CTRU_PRIME_1277_X25519_SECRET_KEY_BYTES,
    CTRU_PRIME_1277_X25519_CIPHERTEXT_BYTES,
    ctru_prime_1277_x25519_keypair,
    ctru_prime_1277_x25519_keypair_derand,
    ctru_prime_1277_x25519_encaps,
    ctru_prime_1277_x25519_encaps_derand,
    ctru_prime_1277_x25519_decaps
);

set!(
    ctru_kem,
    sntrup_key,
    Sntrup653,
    "sntrup653",
    "They are the seed of a key file.",
    72,
    [994, 1518, 897, 32, 32],
    CTRU_SNTRUP653_PUBLIC_KEY_BYTES,
    CTRU_SNTRUP653_SECRET_KEY_BYTES,
    CTRU_SNTRUP653_CIPHERTEXT_BYTES,
    ctru_sntrup653_keypair,
    ctru_sntrup653_keypair_derand,
    ctru_sntrup653_encaps,
    ctru_sntrup653_encaps_derand,
    ctru_sntrup653_decaps
);
set!(
    ctru_kem,
    sntrup_key,
    Sntrup761,
    "sntrup761",
    "They are the seed of a key file.",
    80,
    [1158, 1763, 1039, 32, 32],
    CTRU_SNTRUP761_PUBLIC_KEY_BYTES,
    CTRU_SNTRUP761_SECRET_KEY_BYTES,
    CTRU_SNTRUP761_CIPHERTEXT_BYTES,
    ctru_sntrup761_keypair,
    ctru_sntrup761_keypair_derand,
    ctru_sntrup761_encaps,
    ctru_sntrup761_encaps_derand,
    ctru_sntrup761_decaps
);
set!(
    ctru_kem,
    sntrup_key,
    Sntrup857,
    "sntrup857",
    "They are the seed of a key file.",
    88,
    [1322, 1999, 1184, 32, 32],
    CTRU_SNTRUP857_PUBLIC_KEY_BYTES,
    CTRU_SNTRUP857_SECRET_KEY_BYTES,
    CTRU_SNTRUP857_CIPHERTEXT_BYTES,
    ctru_sntrup857_keypair,
    ctru_sntrup857_keypair_derand,
    ctru_sntrup857_encaps,
    ctru_sntrup857_encaps_derand,
    ctru_sntrup857_decaps
);
set!(
    ctru_kem,
    sntrup_key,
    Sntrup953,
    "sntrup953",
    "They are the seed of a key file.",
    96,
    [1505, 2254, 1349, 32, 32],
    CTRU_SNTRUP953_PUBLIC_KEY_BYTES,
    CTRU_SNTRUP953_SECRET_KEY_BYTES,
    CTRU_SNTRUP953_CIPHERTEXT_BYTES,
    ctru_sntrup953_keypair,
    ctru_sntrup953_keypair_derand,
    ctru_sntrup953_encaps,
    ctru_sntrup953_encaps_derand,
    ctru_sntrup953_decaps
);
set!(
    ctru_kem,
    sntrup_key,
    Sntrup1013,
    "sntrup1013",
    "They are the seed of a key file.",
    104,
    [1623, 2417, 1455, 32, 32],
    CTRU_SNTRUP1013_PUBLIC_KEY_BYTES,
    CTRU_SNTRUP1013_SECRET_KEY_BYTES,
    CTRU_SNTRUP1013_CIPHERTEXT_BYTES,
    ctru_sntrup1013_keypair,
    ctru_sntrup1013_keypair_derand,
    ctru_sntrup1013_encaps,
    ctru_sntrup1013_encaps_derand,
    ctru_sntrup1013_decaps
);
set!(
    ctru_kem,
    sntrup_key,
    Sntrup1277,
    "sntrup1277",
    "They are the seed of a key file.",
    120,
    [2067, 3059, 1847, 32, 32],
    CTRU_SNTRUP1277_PUBLIC_KEY_BYTES,
    CTRU_SNTRUP1277_SECRET_KEY_BYTES,
    CTRU_SNTRUP1277_CIPHERTEXT_BYTES,
    ctru_sntrup1277_keypair,
    ctru_sntrup1277_keypair_derand,
    ctru_sntrup1277_encaps,
    ctru_sntrup1277_encaps_derand,
    ctru_sntrup1277_decaps
);

from_seed!(CtruPrime653, "CTRU-Prime-653", 64, ctru_prime_653_keypair_from_seed);
from_seed!(CtruPrime761, "CTRU-Prime-761", 72, ctru_prime_761_keypair_from_seed);
from_seed!(CtruPrime1277, "CTRU-Prime-1277", 112, ctru_prime_1277_keypair_from_seed);
