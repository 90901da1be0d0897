//! The list of the sets, for the functions and for their tests: macros cannot make names.

/// Passes each set to another macro: its scheme, a name for tests, its number in batches, its type,
/// its name, the most KiB of the stack that a function uses, and the bytes of a public key, a
/// secret key, a ciphertext, the coins of a key pair and those of an encapsulation. The names of
/// constants and functions follow, the last one only for CTRU-Prime alone.
///
/// This macro is for this crate and its tests.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_set {
    ($then:ident) => {
        $then! {
            ctru n653 653 CtruPrime653 "CTRU-Prime-653" 64 [994, 1353, 898, 64, 32]
            CTRU_PRIME_653_PUBLIC_KEY_BYTES CTRU_PRIME_653_SECRET_KEY_BYTES
            CTRU_PRIME_653_CIPHERTEXT_BYTES ctru_prime_653_keypair
            ctru_prime_653_keypair_derand ctru_prime_653_encaps
            ctru_prime_653_encaps_derand ctru_prime_653_decaps
            ctru_prime_653_keypair_from_seed
        }
        $then! {
            ctru n761 761 CtruPrime761 "CTRU-Prime-761" 72 [1158, 1571, 952, 64, 32]
            CTRU_PRIME_761_PUBLIC_KEY_BYTES CTRU_PRIME_761_SECRET_KEY_BYTES
            CTRU_PRIME_761_CIPHERTEXT_BYTES ctru_prime_761_keypair
            ctru_prime_761_keypair_derand ctru_prime_761_encaps
            ctru_prime_761_encaps_derand ctru_prime_761_decaps
            ctru_prime_761_keypair_from_seed
        }
        $then! {
            ctru n1277 1277 CtruPrime1277 "CTRU-Prime-1277" 112 [2067, 2738, 1597, 64, 32]
            CTRU_PRIME_1277_PUBLIC_KEY_BYTES CTRU_PRIME_1277_SECRET_KEY_BYTES
            CTRU_PRIME_1277_CIPHERTEXT_BYTES ctru_prime_1277_keypair
            ctru_prime_1277_keypair_derand ctru_prime_1277_encaps
            ctru_prime_1277_encaps_derand ctru_prime_1277_decaps
            ctru_prime_1277_keypair_from_seed
        }
        $then! {
            hybrid n653_x25519 653 CtruPrime653 "CTRU-Prime-653 with X25519"
            72 [1026, 32, 930, 32, 64]
            CTRU_PRIME_653_X25519_PUBLIC_KEY_BYTES CTRU_PRIME_653_X25519_SECRET_KEY_BYTES
            CTRU_PRIME_653_X25519_CIPHERTEXT_BYTES ctru_prime_653_x25519_keypair
            ctru_prime_653_x25519_keypair_derand ctru_prime_653_x25519_encaps
            ctru_prime_653_x25519_encaps_derand ctru_prime_653_x25519_decaps
        }
        $then! {
            hybrid n761_x25519 761 CtruPrime761 "CTRU-Prime-761 with X25519"
            80 [1190, 32, 984, 32, 64]
            CTRU_PRIME_761_X25519_PUBLIC_KEY_BYTES CTRU_PRIME_761_X25519_SECRET_KEY_BYTES
            CTRU_PRIME_761_X25519_CIPHERTEXT_BYTES ctru_prime_761_x25519_keypair
            ctru_prime_761_x25519_keypair_derand ctru_prime_761_x25519_encaps
            ctru_prime_761_x25519_encaps_derand ctru_prime_761_x25519_decaps
        }
        $then! {
            hybrid n1277_x25519 1277 CtruPrime1277 "CTRU-Prime-1277 with X25519"
            128 [2099, 32, 1629, 32, 64]
            CTRU_PRIME_1277_X25519_PUBLIC_KEY_BYTES CTRU_PRIME_1277_X25519_SECRET_KEY_BYTES
            CTRU_PRIME_1277_X25519_CIPHERTEXT_BYTES ctru_prime_1277_x25519_keypair
            ctru_prime_1277_x25519_keypair_derand ctru_prime_1277_x25519_encaps
            ctru_prime_1277_x25519_encaps_derand ctru_prime_1277_x25519_decaps
        }
        $then! {
            sntrup sntrup653 CTRU_SNTRUP653 Sntrup653 "sntrup653" 72 [994, 1518, 897, 32, 32]
            CTRU_SNTRUP653_PUBLIC_KEY_BYTES CTRU_SNTRUP653_SECRET_KEY_BYTES
            CTRU_SNTRUP653_CIPHERTEXT_BYTES ctru_sntrup653_keypair
            ctru_sntrup653_keypair_derand ctru_sntrup653_encaps
            ctru_sntrup653_encaps_derand ctru_sntrup653_decaps
        }
        $then! {
            sntrup sntrup761 CTRU_SNTRUP761 Sntrup761 "sntrup761" 80 [1158, 1763, 1039, 32, 32]
            CTRU_SNTRUP761_PUBLIC_KEY_BYTES CTRU_SNTRUP761_SECRET_KEY_BYTES
            CTRU_SNTRUP761_CIPHERTEXT_BYTES ctru_sntrup761_keypair
            ctru_sntrup761_keypair_derand ctru_sntrup761_encaps
            ctru_sntrup761_encaps_derand ctru_sntrup761_decaps
        }
        $then! {
            sntrup sntrup857 CTRU_SNTRUP857 Sntrup857 "sntrup857" 88 [1322, 1999, 1184, 32, 32]
            CTRU_SNTRUP857_PUBLIC_KEY_BYTES CTRU_SNTRUP857_SECRET_KEY_BYTES
            CTRU_SNTRUP857_CIPHERTEXT_BYTES ctru_sntrup857_keypair
            ctru_sntrup857_keypair_derand ctru_sntrup857_encaps
            ctru_sntrup857_encaps_derand ctru_sntrup857_decaps
        }
        $then! {
            sntrup sntrup953 CTRU_SNTRUP953 Sntrup953 "sntrup953" 96 [1505, 2254, 1349, 32, 32]
            CTRU_SNTRUP953_PUBLIC_KEY_BYTES CTRU_SNTRUP953_SECRET_KEY_BYTES
            CTRU_SNTRUP953_CIPHERTEXT_BYTES ctru_sntrup953_keypair
            ctru_sntrup953_keypair_derand ctru_sntrup953_encaps
            ctru_sntrup953_encaps_derand ctru_sntrup953_decaps
        }
        $then! {
            sntrup sntrup1013 CTRU_SNTRUP1013 Sntrup1013 "sntrup1013" 104 [1623, 2417, 1455, 32, 32]
            CTRU_SNTRUP1013_PUBLIC_KEY_BYTES CTRU_SNTRUP1013_SECRET_KEY_BYTES
            CTRU_SNTRUP1013_CIPHERTEXT_BYTES ctru_sntrup1013_keypair
            ctru_sntrup1013_keypair_derand ctru_sntrup1013_encaps
            ctru_sntrup1013_encaps_derand ctru_sntrup1013_decaps
        }
        $then! {
            sntrup sntrup1277 CTRU_SNTRUP1277 Sntrup1277 "sntrup1277" 120 [2067, 3059, 1847, 32, 32]
            CTRU_SNTRUP1277_PUBLIC_KEY_BYTES CTRU_SNTRUP1277_SECRET_KEY_BYTES
            CTRU_SNTRUP1277_CIPHERTEXT_BYTES ctru_sntrup1277_keypair
            ctru_sntrup1277_keypair_derand ctru_sntrup1277_encaps
            ctru_sntrup1277_encaps_derand ctru_sntrup1277_decaps
        }
    };
}
