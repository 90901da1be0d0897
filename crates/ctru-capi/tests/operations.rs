//! Compares the functions for C with `ctru-kem`, called from Rust.
#![allow(unsafe_code)]
// Tests may unwrap: a test must fail if its input cannot be built.
#![allow(clippy::unwrap_used)]

#[macro_use]
mod functions;

use std::ffi::{CStr, c_int};
use std::ptr;

use ctru::*;
use ctru_kem::{
    Ciphertext, CtruPrime653, CtruPrime761, CtruPrime1277, DecapsulationKey, KeyPairSeed,
    ParameterSet, Scheme, Sntrup653, Sntrup761, Sntrup857, Sntrup953, Sntrup1013, Sntrup1277,
};
use ctru_tests::vectors::Hybrid;

use functions::{Derand, Functions};

/// Checks that a seed gives the key pair that it gives in Rust.
fn check_seed<P: ParameterSet>(from_seed: Derand) {
    let mut pk = vec![0; P::ENCAPSULATION_KEY_BYTES];
    let mut sk = vec![0; P::DECAPSULATION_KEY_BYTES];
    let (pk_at, sk_at) = (pk.as_mut_ptr(), sk.as_mut_ptr());
    // SAFETY: all buffers have the lengths of their values.
    unsafe {
        assert_eq!(from_seed(pk_at, sk_at, ptr::null()), CTRU_ERROR_NULL);
        assert_eq!(from_seed(pk_at, sk_at, [9; 32].as_ptr()), CTRU_OK);
    }
    let key = KeyPairSeed::<P>::from_bytes(&[9; 32]).unwrap().decapsulation_key();
    assert_eq!((&pk[..], &sk[..]), (key.encapsulation_key().as_ref(), key.as_ref()));
}

fn check<P: ParameterSet>(functions: &Functions) {
    let coins: Vec<u8> = (1..=64).collect();
    let [seed, z] = coins.as_chunks().0 else { panic!("coins have two parts") };
    let key = DecapsulationKey::<P>::generate_deterministic(seed, z);
    let public = key.encapsulation_key();
    let (sent, secret) = public.encapsulate_deterministic(seed);
    let mut tampered = sent.as_ref().to_vec();
    tampered[0] ^= 1;
    let rejected = key.decapsulate(&Ciphertext::from_bytes(&tampered).unwrap());

    let mut pk = vec![0; P::ENCAPSULATION_KEY_BYTES];
    let mut sk = vec![0; P::DECAPSULATION_KEY_BYTES];
    let mut ct = vec![0; P::CIPHERTEXT_BYTES];
    let mut ss = [[0u8; 32]; 2];
    let [first, second] = &mut ss;
    // SAFETY: all buffers have the lengths of their values.
    unsafe {
        let Functions { keypair_derand, encaps_derand, decaps, .. } = functions;
        assert_eq!(keypair_derand(pk.as_mut_ptr(), sk.as_mut_ptr(), coins.as_ptr()), CTRU_OK);
        assert_eq!((&pk[..], &sk[..]), (public.as_ref(), key.as_ref()));
        let (to, pk) = (first.as_mut_ptr(), pk.as_ptr());
        assert_eq!(encaps_derand(ct.as_mut_ptr(), to, pk, coins.as_ptr()), CTRU_OK);
        assert_eq!((&ct[..], &first[..]), (sent.as_ref(), secret.as_ref()));
        assert_eq!(decaps(second.as_mut_ptr(), ct.as_ptr(), sk.as_ptr()), CTRU_OK);
        assert_eq!(second[..], *secret.as_ref());
        assert_eq!(decaps(second.as_mut_ptr(), tampered.as_ptr(), sk.as_ptr()), CTRU_OK);
        assert_eq!(second[..], *rejected.as_ref());
    }

    // SAFETY: all buffers have the lengths of their values.
    unsafe {
        let Functions { keypair, keypair_derand, encaps, decaps, .. } = functions;
        let before = pk.clone();
        assert_eq!(keypair(pk.as_mut_ptr(), sk.as_mut_ptr()), CTRU_OK);
        assert_ne!(pk, before);
        assert_eq!(encaps(ct.as_mut_ptr(), first.as_mut_ptr(), pk.as_ptr()), CTRU_OK);
        assert_eq!(decaps(second.as_mut_ptr(), ct.as_ptr(), sk.as_ptr()), CTRU_OK);
        assert_eq!(first, second);
        let null = ptr::null();
        assert_eq!(keypair_derand(pk.as_mut_ptr(), sk.as_mut_ptr(), null), CTRU_ERROR_NULL);
        // All bytes are a key of NTRU Prime.
        let refused = match P::PARAMETERS.set().scheme() {
            Scheme::CtruPrime => CTRU_ERROR_PUBLIC_KEY,
            _ => CTRU_OK,
        };
        pk.fill(0);
        assert_eq!(encaps(ct.as_mut_ptr(), first.as_mut_ptr(), pk.as_ptr()), refused);
        sk.fill(0xff);
        assert_eq!(decaps(second.as_mut_ptr(), ct.as_ptr(), sk.as_ptr()), CTRU_ERROR_SECRET_KEY);
    }
    batches::<P>(functions);
    for from_seed in functions.keypair_from_seed {
        check_seed::<P>(*from_seed);
    }
}

/// Compares the functions of CTRU-Prime with X25519 with the vectors of a set.
fn check_hybrid<P: ParameterSet>(functions: &Functions) {
    let mut pk = [0; 2099];
    let mut sk = [0; 32];
    let mut ct = [0; 1629];
    let mut ss = [[0; 32]; 2];
    let [first, second] = ss.each_mut();
    for vector in Hybrid::load(P::PARAMETERS.degree()).iter().take(20) {
        let (private, coins) = (vector.private_key.as_ptr(), vector.coins.as_ptr());
        // SAFETY: the buffers have room for the values of the largest set, and the vectors have the
        // lengths of the values.
        unsafe {
            let Functions { keypair_derand, encaps_derand, decaps, .. } = functions;
            assert_eq!(keypair_derand(pk.as_mut_ptr(), sk.as_mut_ptr(), private), CTRU_OK);
            assert!(pk.starts_with(&vector.public_key) && sk[..] == vector.private_key);
            let to = first.as_mut_ptr();
            assert_eq!(encaps_derand(ct.as_mut_ptr(), to, pk.as_ptr(), coins), CTRU_OK);
            assert!(ct.starts_with(&vector.ciphertext) && *first == vector.shared_secret);
            assert_eq!(decaps(second.as_mut_ptr(), ct.as_ptr(), sk.as_ptr()), CTRU_OK);
            assert_eq!(*second, vector.shared_secret);
        }
    }
}

/// Checks that a batch gives the results of single operations.
fn batches<P: ParameterSet>(functions: &Functions) {
    const COUNT: usize = 20;
    let set = functions.set;
    let coins: Vec<u8> = (0..64 * COUNT).map(|i| (i % 251) as u8).collect();
    let mut pk = vec![0; COUNT * P::ENCAPSULATION_KEY_BYTES];
    let mut sk = vec![0; COUNT * P::DECAPSULATION_KEY_BYTES];
    let mut ct = vec![0; COUNT * P::CIPHERTEXT_BYTES];
    let mut ss = vec![0; COUNT * 32];
    let mut again = vec![0; COUNT * 32];
    let mut engine = ptr::null_mut();
    // SAFETY: the lengths are those of the buffers, and the engine is there until the end.
    unsafe {
        assert_eq!(ctru_engine_new(&raw mut engine, 2), CTRU_OK);
        let (pk_at, sk_at) = (pk.as_mut_ptr(), sk.as_mut_ptr());
        let (pk_len, sk_len) = (pk.len(), sk.len());
        let made = ctru_engine_keypair_derand(
            engine,
            set,
            pk_at,
            pk_len,
            sk_at,
            sk_len,
            coins.as_ptr(),
            COUNT * P::PARAMETERS.key_pair_seed_bytes(),
        );
        assert_eq!(made, CTRU_OK);
        // One key for all, then one key for each.
        for keys in [1, COUNT] {
            let (pk_len, sk_len) = (pk.len() / COUNT * keys, sk.len() / COUNT * keys);
            let (ct_at, ss_at) = (ct.as_mut_ptr(), ss.as_mut_ptr());
            let sent = ctru_engine_encaps_derand(
                engine,
                set,
                ct_at,
                ct.len(),
                ss_at,
                ss.len(),
                pk.as_ptr(),
                pk_len,
                coins.as_ptr(),
                32 * COUNT,
                ptr::null_mut(),
            );
            assert_eq!(sent, CTRU_OK);
            let received = ctru_engine_decaps(
                engine,
                set,
                again.as_mut_ptr(),
                again.len(),
                ct.as_ptr(),
                ct.len(),
                sk.as_ptr(),
                sk_len,
                ptr::null_mut(),
            );
            assert_eq!((received, &ss), (CTRU_OK, &again));
        }
        other_lengths::<P>(engine, set, &sk[..P::DECAPSULATION_KEY_BYTES]);
        let mut seeds = vec![[0; 64]; COUNT];
        P::PARAMETERS.write_key_pair_seeds(&coins, &mut seeds);
        for (i, seed) in seeds.iter().enumerate() {
            let [seed, z] = seed.as_chunks().0 else { panic!("two halves") };
            let key = DecapsulationKey::<P>::generate_deterministic(seed, z);
            assert!(sk.chunks_exact(P::DECAPSULATION_KEY_BYTES).nth(i) == Some(key.as_ref()));
            let (sent, secret) = key
                .encapsulation_key()
                .encapsulate_deterministic(coins[32 * i..].first_chunk().unwrap());
            assert!(ct.chunks_exact(P::CIPHERTEXT_BYTES).nth(i) == Some(sent.as_ref()));
            assert!(ss.chunks_exact(32).nth(i) == Some(secret.as_ref()));
        }
        ctru_engine_free(engine);
        ctru_engine_free(ptr::null_mut());
    }
}

/// Decapsulates a ciphertext of each length up to more than twice the right one. Of a wrong length,
/// nothing is written; of the right one, the code is that of success, though it is rejected.
///
/// # Safety
/// `engine` is an engine that is there.
unsafe fn other_lengths<P: ParameterSet>(engine: *const ctru_engine, set: c_int, sk: &[u8]) {
    let key = DecapsulationKey::<P>::from_bytes(sk).unwrap();
    for length in 0..=2 * P::CIPHERTEXT_BYTES + 8 {
        let ct = vec![0xff; length];
        let mut ss = [7; 32];
        // SAFETY: the lengths are those of the buffers, and the caller promises the rest.
        let code = unsafe {
            ctru_engine_decaps(
                engine,
                set,
                ss.as_mut_ptr(),
                ss.len(),
                ct.as_ptr(),
                ct.len(),
                sk.as_ptr(),
                sk.len(),
                ptr::null_mut(),
            )
        };
        match Ciphertext::from_bytes(&ct) {
            Ok(rejected) => {
                assert_eq!((code, &ss), (CTRU_OK, key.decapsulate(&rejected).as_bytes()));
            }
            Err(_) => assert_eq!((code, ss), (CTRU_ERROR_LENGTH, [7; 32]), "{length} bytes"),
        }
    }
}

macro_rules! check {
    (hybrid $set:ident) => {
        check_hybrid::<$set>
    };
    ($scheme:ident $set:ident) => {
        check::<$set>
    };
}
for_each_set!(test);

/// Checks that a batch that does not fit into memory gives a code, and does not end the process.
#[test]
fn immense_batches() {
    let key = DecapsulationKey::<CtruPrime653>::generate_deterministic(&[1; 32], &[2; 32]);
    let key = key.encapsulation_key();
    // More bytes than a machine has, and more than an allocation may have.
    for count in [usize::MAX / 4096, usize::MAX / 1353] {
        let at = ptr::dangling_mut();
        let mut engine = ptr::null_mut();
        // SAFETY: the functions do not touch outputs before they have reserved as much memory.
        unsafe {
            assert_eq!(ctru_engine_new(&raw mut engine, 1), CTRU_OK);
            let made = ctru_engine_keypair(engine, 653, at, 994 * count, at, 1353 * count);
            assert_eq!(made, CTRU_ERROR_MEMORY);
            let sent = ctru_engine_encaps(
                engine,
                653,
                at,
                898 * count,
                at,
                32 * count,
                key.as_ref().as_ptr(),
                994,
                ptr::null_mut(),
            );
            assert_eq!(sent, CTRU_ERROR_MEMORY);
            ctru_engine_free(engine);
        }
    }
}

/// Checks that too many threads give a code at once, and that nothing is written.
#[test]
fn too_many_threads() {
    let before = ptr::dangling_mut();
    for threads in [CTRU_MAX_THREADS + 1, u16::MAX.into(), 1 << 31, usize::MAX >> 1, usize::MAX] {
        let mut engine = before;
        // SAFETY: the pointer is that of a variable.
        let code = unsafe { ctru_engine_new(&raw mut engine, threads) };
        assert_eq!((code, engine), (CTRU_ERROR_THREADS, before), "{threads} threads");
    }
}

/// Checks that each code has a text of its own.
#[test]
fn codes_have_texts() {
    let text = |code| {
        // SAFETY: the function returns a text that lives as long as the program.
        unsafe { CStr::from_ptr(ctru_strerror(code)) }.to_str().unwrap()
    };
    let texts: std::collections::HashSet<_> = (CTRU_OK..=CTRU_ERROR_THREADS).map(text).collect();
    assert_eq!(texts.len(), 12);
    for code in [-1, CTRU_ERROR_THREADS + 1, c_int::MAX] {
        assert_eq!(text(code), "unknown code");
    }
}
