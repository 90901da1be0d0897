//! sntrup761 of two libraries: `pqcrypto-ntruprime` (PQClean's AVX2 code) and `sntrup-kem` (Rust
//! with AVX2). sntrup761 has the `n` and `q` of CTRU-Prime-761.

use std::hint::black_box;

use ctru_measure::Operation;

use super::Subject;

/// Returns the operations of both libraries. The ratios of the report are relative to the first
/// library.
pub(super) fn subjects() -> Vec<Subject> {
    pqclean().into_iter().chain(rust_crypto()).collect()
}

fn of(engine: &'static str, operations: [Box<dyn FnMut()>; 3]) -> Vec<Subject> {
    let subject = |(operation, run)| Subject {
        operation,
        engine,
        backend: "avx2",
        set: "sntrup761".to_owned(),
        pk_encoding: "mixed-radix",
        batch: 1,
        run,
    };
    Operation::ALL.into_iter().zip(operations).map(subject).collect()
}

/// Returns the operations of PQClean's code. It draws its randomness from the operating system,
/// since the crate offers no other source.
fn pqclean() -> Vec<Subject> {
    use pqcrypto_ntruprime::sntrup761::{decapsulate, encapsulate, keypair};

    let (public, private) = keypair();
    let (_, ciphertext) = encapsulate(&public);
    of(
        "pqcrypto-ntruprime",
        [
            Box::new(|| {
                black_box(keypair());
            }),
            Box::new(move || {
                black_box(encapsulate(black_box(&public)));
            }),
            Box::new(move || {
                black_box(decapsulate(black_box(&ciphertext), black_box(&private)));
            }),
        ],
    )
}

/// Returns the operations of `sntrup-kem`. Encapsulation draws its randomness from the operating
/// system.
fn rust_crypto() -> Vec<Subject> {
    use getrandom::SysRng;
    use rand_core::UnwrapErr;
    use sntrup_kem::Sntrup761;

    let (public, private) = Sntrup761::generate_key_deterministic(&[1; 32]);
    let (ciphertext, _) = public.encapsulate(&mut UnwrapErr(SysRng));
    of(
        "sntrup-kem",
        [
            Box::new(|| {
                black_box(Sntrup761::generate_key_deterministic(black_box(&[1; 32])));
            }),
            Box::new(move || {
                black_box(black_box(&public).encapsulate(&mut UnwrapErr(SysRng)));
            }),
            Box::new(move || {
                black_box(black_box(&private).decapsulate(black_box(&ciphertext)));
            }),
        ],
    )
}
