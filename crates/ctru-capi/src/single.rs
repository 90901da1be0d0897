//! Single operations, five functions for each parameter set.
#![allow(unsafe_code)]

use std::ffi::c_int;

use ctru_kem::{
    Ciphertext, CtruPrime653, CtruPrime761, CtruPrime1277, DecapsulationKey, EncapsulationKey,
    KEY_PAIR_SEED_BYTES, KeyPairSeed, ParameterSet, SEED_BYTES, SharedSecret,
};

use crate::code::{
    CTRU_ERROR_INTERNAL, CTRU_ERROR_PUBLIC_KEY, CTRU_ERROR_RANDOMNESS, CTRU_ERROR_SECRET_KEY,
    code_of,
};
use crate::memory::{input, output, write};

/// Generates a key pair. `generate` makes the private key.
///
/// # Safety
/// Pointers that are not null point to the bytes of a public key and of a secret key.
unsafe fn keypair<P: ParameterSet>(
    pk: *mut u8,
    sk: *mut u8,
    generate: impl FnOnce() -> Result<DecapsulationKey<P>, c_int>,
) -> c_int {
    code_of(|| {
        let (pk, sk) = (output(pk)?, output(sk)?);
        let key = generate()?;
        // SAFETY: the caller promises this of the pointers. The key is not in their memory.
        unsafe {
            write(pk, key.encapsulation_key().as_ref());
            write(sk, key.as_ref());
        }
        Ok(())
    })
}

/// Encapsulates. `encapsulate` takes the key.
///
/// # Safety
/// Pointers that are not null point to the bytes of a ciphertext, of a shared secret and of a
/// public key.
unsafe fn encaps<P: ParameterSet>(
    ct: *mut u8,
    ss: *mut u8,
    pk: *const u8,
    encapsulate: impl FnOnce(EncapsulationKey<P>) -> Result<(Ciphertext<P>, SharedSecret), c_int>,
) -> c_int {
    code_of(|| {
        let (ct, ss) = (output(ct)?, output(ss)?);
        // SAFETY: the caller promises this of the pointer. The slice ends with this statement.
        let key = EncapsulationKey::from_bytes(unsafe { input(pk, P::ENCAPSULATION_KEY_BYTES) }?)
            .map_err(|_| CTRU_ERROR_PUBLIC_KEY)?;
        let (ciphertext, secret) = encapsulate(key)?;
        // SAFETY: the caller promises this of the pointers. The values are not in their memory.
        unsafe {
            write(ct, ciphertext.as_ref());
            write(ss, secret.as_ref());
        }
        Ok(())
    })
}

/// Decapsulates.
///
/// # Safety
/// Pointers that are not null point to the bytes of a shared secret, of a ciphertext and of a
/// secret key.
unsafe fn decaps<P: ParameterSet>(ss: *mut u8, ct: *const u8, sk: *const u8) -> c_int {
    code_of(|| {
        let ss = output(ss)?;
        // SAFETY: the caller promises this of the pointer. The slice ends with this statement.
        let ciphertext = Ciphertext::<P>::from_bytes(unsafe { input(ct, P::CIPHERTEXT_BYTES) }?)
            .map_err(|_| CTRU_ERROR_INTERNAL)?;
        // SAFETY: the caller promises this of the pointer. The slice ends with this statement.
        let key = DecapsulationKey::from_bytes(unsafe { input(sk, P::DECAPSULATION_KEY_BYTES) }?)
            .map_err(|_| CTRU_ERROR_SECRET_KEY)?;
        let secret = key.decapsulate(&ciphertext);
        // SAFETY: the caller promises this of the pointer. The secret is not in its memory.
        unsafe { write(ss, secret.as_ref()) };
        Ok(())
    })
}

/// Defines the constants and functions of a parameter set.
macro_rules! set {
    (
        $set:ty, $n:literal, $pk:literal, $sk:literal, $ct:literal,
        $pk_bytes:ident, $sk_bytes:ident, $ct_bytes:ident,
        $keypair:ident, $keypair_derand:ident, $encaps:ident, $encaps_derand:ident, $decaps:ident
    ) => {
        #[doc = concat!(" Bytes of a public key of CTRU-Prime-", $n, ".")]
        pub const $pk_bytes: usize = $pk;
        #[doc = concat!(" Bytes of a secret key of CTRU-Prime-", $n, ".")]
        pub const $sk_bytes: usize = $sk;
        #[doc = concat!(" Bytes of a ciphertext of CTRU-Prime-", $n, ".")]
        pub const $ct_bytes: usize = $ct;

        const _: () = assert!(
            $pk == <$set>::ENCAPSULATION_KEY_BYTES
                && $sk == <$set>::DECAPSULATION_KEY_BYTES
                && $ct == <$set>::CIPHERTEXT_BYTES
        );

        #[doc = concat!(" Generates a key pair of CTRU-Prime-", $n, ": `pk`, then `sk`.")]
        ///
        /// # Safety
        /// Pointers that are not null point to as many writable bytes as each key has.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $keypair(pk: *mut u8, sk: *mut u8) -> c_int {
            let generate =
                || DecapsulationKey::<$set>::try_generate().map_err(|_| CTRU_ERROR_RANDOMNESS);
            // SAFETY: the caller promises the same.
            unsafe { keypair(pk, sk, generate) }
        }

        #[doc = concat!(" Generates the key pair of CTRU-Prime-", $n, " that `coins` determine:")]
        /// 64 secret, uniform bytes, which must be used once.
        ///
        /// # Safety
        /// Pointers that are not null point to as many writable bytes as each key has, and to 64
        /// readable bytes.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $keypair_derand(
            pk: *mut u8,
            sk: *mut u8,
            coins: *const u8,
        ) -> c_int {
            let generate = || {
                // SAFETY: the caller promises this of the pointer. The slice ends with this
                // statement.
                let seed =
                    KeyPairSeed::<$set>::from_bytes(unsafe { input(coins, KEY_PAIR_SEED_BYTES) }?);
                Ok(seed.map_err(|_| CTRU_ERROR_INTERNAL)?.decapsulation_key())
            };
            // SAFETY: the caller promises the same.
            unsafe { keypair(pk, sk, generate) }
        }

        #[doc = concat!(" Encapsulates to the public key `pk` of CTRU-Prime-", $n, ": writes the")]
        /// ciphertext to `ct` and the shared secret, 32 bytes, to `ss`.
        ///
        /// # Safety
        /// Pointers that are not null point to as many bytes as the values have.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $encaps(ct: *mut u8, ss: *mut u8, pk: *const u8) -> c_int {
            let encapsulate = |key: EncapsulationKey<$set>| {
                key.try_encapsulate().map_err(|_| CTRU_ERROR_RANDOMNESS)
            };
            // SAFETY: the caller promises the same.
            unsafe { encaps(ct, ss, pk, encapsulate) }
        }

        #[doc = concat!(" Encapsulates to the public key `pk` of CTRU-Prime-", $n, " the shared")]
        /// secret that `coins` determine: 32 secret, uniform bytes, which must be used once.
        ///
        /// # Safety
        /// Pointers that are not null point to as many bytes as the values have, and to 32 readable
        /// bytes.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $encaps_derand(
            ct: *mut u8,
            ss: *mut u8,
            pk: *const u8,
            coins: *const u8,
        ) -> c_int {
            let encapsulate = |key: EncapsulationKey<$set>| {
                // SAFETY: the caller promises this of the pointer. The slice ends with this
                // closure, before anything is written.
                let seed = unsafe { input(coins, SEED_BYTES) }?;
                let seed = seed.first_chunk().ok_or(CTRU_ERROR_INTERNAL)?;
                Ok(key.encapsulate_deterministic(seed))
            };
            // SAFETY: the caller promises the same.
            unsafe { encaps(ct, ss, pk, encapsulate) }
        }

        #[doc = concat!(" Decapsulates `ct` with the secret key `sk` of CTRU-Prime-", $n, ":")]
        /// writes the shared secret, 32 bytes, to `ss`. A ciphertext that encapsulation did not
        /// make is no error: it gives a secret that nobody else knows.
        ///
        /// # Safety
        /// Pointers that are not null point to as many bytes as the values have.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $decaps(ss: *mut u8, ct: *const u8, sk: *const u8) -> c_int {
            // SAFETY: the caller promises the same.
            unsafe { decaps::<$set>(ss, ct, sk) }
        }
    };
}

/// Bytes of a shared secret.
pub const CTRU_SHARED_SECRET_BYTES: usize = 32;
/// Bytes from which a key pair is derived.
pub const CTRU_KEYPAIR_COINS: usize = 64;
/// Bytes from which an encapsulation is derived.
pub const CTRU_ENCAPS_COINS: usize = 32;

const _: () = assert!(
    CTRU_SHARED_SECRET_BYTES == ctru_kem::SHARED_SECRET_BYTES
        && CTRU_KEYPAIR_COINS == KEY_PAIR_SEED_BYTES
        && CTRU_ENCAPS_COINS == SEED_BYTES
);

set!(
    CtruPrime653,
    "653",
    994,
    1353,
    898,
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
    CtruPrime761,
    "761",
    1158,
    1571,
    952,
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
    CtruPrime1277,
    "1277",
    2067,
    2738,
    1597,
    CTRU_PRIME_1277_PUBLIC_KEY_BYTES,
    CTRU_PRIME_1277_SECRET_KEY_BYTES,
    CTRU_PRIME_1277_CIPHERTEXT_BYTES,
    ctru_prime_1277_keypair,
    ctru_prime_1277_keypair_derand,
    ctru_prime_1277_encaps,
    ctru_prime_1277_encaps_derand,
    ctru_prime_1277_decaps
);
