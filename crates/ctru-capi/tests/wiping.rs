//! Checks that functions leave no secrets on the stack of the thread that calls them.
#![allow(unsafe_code)]
// Tests may unwrap: a test must fail if its input cannot be built.
#![allow(clippy::unwrap_used)]

#[macro_use]
mod functions;

use std::collections::HashSet;
use std::ffi::c_int;
use std::ptr;

use corosensei::stack::{DefaultStack, Stack};
use ctru::*;
use ctru_tests::backends::on_every_backend;

use functions::Functions;

/// Returns the bytes that `work` leaves on a stack of its own.
fn left_by(work: impl FnOnce()) -> Vec<u8> {
    const BYTES: usize = 256 << 10;
    let mut stack = DefaultStack::new(BYTES).unwrap();
    corosensei::on_stack(&mut stack, work);
    let lowest = stack.base().get() - BYTES;
    // SAFETY: the stack has `BYTES` bytes above its guard page, which the system has set to zero.
    // No code runs on it any more, and a volatile read assumes nothing about the writer.
    (0..BYTES)
        .map(|i| unsafe { ptr::with_exposed_provenance::<u8>(lowest + i).read_volatile() })
        .collect()
}

/// Checks that memory does not hold eight consecutive bytes of a secret, which do not occur by
/// chance.
fn assert_absent(memory: &[u8], secrets: &[(&str, &[u8])]) {
    const WORD: usize = 8;
    assert!(memory.iter().any(|&byte| byte != 0), "nothing ran on the stack");
    let there: HashSet<&[u8]> = memory.windows(WORD).collect();
    for (name, secret) in secrets {
        assert!(secret.iter().any(|&byte| byte != 0), "{name} was not written");
        let found = secret.windows(WORD).filter(|word| there.contains(word)).count();
        assert_eq!(found, 0, "words of a secret that are left: {name}");
    }
}

/// Coins without words that repeat.
fn coins(bytes: usize) -> Vec<u8> {
    (0..bytes as u32).flat_map(|i| i.wrapping_mul(0x9e37_79b9).to_be_bytes()).take(bytes).collect()
}

fn check(functions: &Functions) {
    let [mut pk, mut sk, mut ct, ..] = functions.bytes.map(|bytes| vec![0; bytes]);
    let (mut ss, coins) = ([0; 32], coins(64));
    let (pk_at, sk_at, ct_at) = (pk.as_mut_ptr(), sk.as_mut_ptr(), ct.as_mut_ptr());
    let (ss_at, from) = (ss.as_mut_ptr(), coins.as_ptr());
    let Functions { keypair, keypair_derand, encaps, encaps_derand, decaps, .. } = *functions;
    let wipes = |name: &str, call: &dyn Fn() -> c_int| {
        let left = left_by(|| assert_eq!(call(), CTRU_OK, "{name}"));
        // SAFETY: the buffers have the bytes of their values, and no call is using them.
        let (sk, ss) = unsafe {
            let secret_key = std::slice::from_raw_parts(sk_at, functions.bytes[1]);
            (secret_key.to_vec(), std::slice::from_raw_parts(ss_at, 32).to_vec())
        };
        let mut secrets = vec![("secret key", &sk[..]), ("coins", &coins)];
        if !name.starts_with("keypair") {
            secrets.push(("shared secret", &ss));
        }
        assert_absent(&left, &secrets);
    };
    on_every_backend(|| {
        // SAFETY: the buffers have the bytes of their values, and nothing else uses them during a
        // call.
        unsafe {
            wipes("keypair", &|| keypair(pk_at, sk_at));
            for from_bytes in [keypair_derand].iter().chain(functions.keypair_from_seed) {
                wipes("keypair from bytes", &|| from_bytes(pk_at, sk_at, from));
            }
            wipes("encaps", &|| encaps(ct_at, ss_at, pk_at));
            wipes("encaps_derand", &|| encaps_derand(ct_at, ss_at, pk_at, from));
            wipes("decaps", &|| decaps(ss_at, ct_at, sk_at));
        }
    });
}

macro_rules! check {
    ($scheme:ident $set:ident) => {
        check
    };
}
for_each_set!(test);

/// Checks batches that the calling thread computes: one key pair, or 8 other operations with a key
/// each.
fn check_batches(set: c_int, [pk_bytes, sk_bytes, ct_bytes, coins_bytes, _]: [usize; 5]) {
    const COUNT: usize = 8;
    let coins = coins(64);
    let mut engine = ptr::null_mut();
    // SAFETY: the pointer is writable.
    assert_eq!(unsafe { ctru_engine_new(&raw mut engine, 1) }, CTRU_OK);
    let (mut pk, mut sk) = (vec![0; COUNT * pk_bytes], vec![0; COUNT * sk_bytes]);
    let (mut ct, mut ss) = (vec![0; COUNT * ct_bytes], vec![0; COUNT * 32]);
    let mut received = ss.clone();
    on_every_backend(|| {
        let (pk_at, sk_at, from) = (pk.as_mut_ptr(), sk.as_mut_ptr(), coins.as_ptr());
        let left = left_by(|| {
            // SAFETY: the numbers are at most those of the buffers' bytes.
            let made = unsafe {
                let (pk_end, sk_end) = (pk_bytes, sk_bytes);
                ctru_engine_keypair_derand(
                    engine,
                    set,
                    pk_at,
                    pk_end,
                    sk_at,
                    sk_end,
                    from,
                    coins_bytes,
                )
            };
            assert_eq!(made, CTRU_OK);
        });
        assert_absent(&left, &[("secret key", &sk[..sk_bytes]), ("coins", &coins)]);

        let (pk_at, sk_at) = (pk.as_mut_ptr(), sk.as_mut_ptr());
        // SAFETY: the numbers are those of the buffers' bytes.
        let made = unsafe { ctru_engine_keypair(engine, set, pk_at, pk.len(), sk_at, sk.len()) };
        assert_eq!(made, CTRU_OK);
        let (ct_at, ss_at, received_at) = (ct.as_mut_ptr(), ss.as_mut_ptr(), received.as_mut_ptr());
        let (ct_end, ss_end, none) = (ct.len(), ss.len(), ptr::null_mut());
        let left = left_by(|| {
            let (pk_at, pk_end) = (pk.as_ptr(), pk.len());
            // SAFETY: the numbers are those of the buffers' bytes.
            let sent = unsafe {
                ctru_engine_encaps(engine, set, ct_at, ct_end, ss_at, ss_end, pk_at, pk_end, none)
            };
            assert_eq!(sent, CTRU_OK);
        });
        assert_absent(&left, &[("shared secrets", &ss)]);
        let left = left_by(|| {
            let (sk_at, sk_end) = (sk.as_ptr(), sk.len());
            // SAFETY: the numbers are those of the buffers' bytes.
            let opened = unsafe {
                ctru_engine_decaps(
                    engine,
                    set,
                    received_at,
                    ss_end,
                    ct_at,
                    ct_end,
                    sk_at,
                    sk_end,
                    none,
                )
            };
            assert_eq!(opened, CTRU_OK);
        });
        assert_eq!(received, ss);
        assert_absent(&left, &[("secret keys", &sk), ("shared secrets", &ss)]);
    });
    // SAFETY: the engine is there, and nothing uses it any more.
    unsafe { ctru_engine_free(engine) };
}

macro_rules! batch {
    (hybrid $($rest:tt)*) => {};
    (
        $scheme:ident $test:ident $number:tt $set:ident $name:literal $stack:literal $bytes:tt
        $($names:ident)*
    ) => {
        check_batches($number, $bytes);
    };
}

#[test]
fn batches() {
    for_each_set!(batch);
}
