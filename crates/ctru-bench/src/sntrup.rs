//! sntrup761 by the crate `pqcrypto-ntruprime`: PQClean's AVX2 code for the same `n` and `q`.

use std::hint::black_box;

use ctru_cli::record::Operation;
use pqcrypto_ntruprime::sntrup761::{decapsulate, encapsulate, keypair};

use crate::Subject;

/// Its three operations. They draw their randomness from the operating system, as the crate offers no other way.
pub(crate) fn subjects() -> Vec<Subject> {
    let (public, private) = keypair();
    let (_, ciphertext) = encapsulate(&public);
    let subject = |operation, run: Box<dyn FnMut()>| Subject {
        operation,
        engine: "pqcrypto-ntruprime",
        backend: "avx2",
        set: "sntrup761",
        pk_encoding: "mixed-radix",
        batch: 1,
        run,
    };
    vec![
        subject(
            Operation::Keygen,
            Box::new(|| {
                black_box(keypair());
            }),
        ),
        subject(
            Operation::Encaps,
            Box::new(move || {
                black_box(encapsulate(black_box(&public)));
            }),
        ),
        subject(
            Operation::Decaps,
            Box::new(move || {
                black_box(decapsulate(black_box(&ciphertext), black_box(&private)));
            }),
        ),
    ]
}
