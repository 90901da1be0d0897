//! ML-KEM-768 of three libraries: `libcrux-ml-kem` (AVX2), `aws-lc-rs` (C and assembly) and
//! `ml-kem` (portable Rust).

use std::hint::black_box;

use ctru_measure::Operation;

use super::Subject;

/// Returns the operations of the three libraries, each on keys in its own form. The randomness is
/// constant if the library lets the caller choose it.
pub(super) fn subjects() -> Vec<Subject> {
    let [libcrux, aws_lc, rust_crypto] = [libcrux(), aws_lc(), rust_crypto()];
    libcrux.into_iter().chain(aws_lc).chain(rust_crypto).collect()
}

fn of(
    engine: &'static str,
    backend: &'static str,
    operations: [Box<dyn FnMut()>; 3],
) -> Vec<Subject> {
    let subject = |(operation, run)| Subject {
        operation,
        engine,
        backend,
        set: "ML-KEM-768".to_owned(),
        pk_encoding: "12-bit",
        batch: 1,
        run,
    };
    Operation::ALL.into_iter().zip(operations).map(subject).collect()
}

fn libcrux() -> Vec<Subject> {
    use libcrux_ml_kem::mlkem768::{decapsulate, encapsulate, generate_key_pair};

    let keys = generate_key_pair([1; 64]);
    let public = keys.public_key().clone();
    let (ciphertext, _) = encapsulate(&public, [2; 32]);
    of(
        "libcrux-ml-kem",
        "avx2",
        [
            Box::new(|| {
                black_box(generate_key_pair(black_box([1; 64])));
            }),
            Box::new(move || {
                black_box(encapsulate(black_box(&public), black_box([2; 32])));
            }),
            Box::new(move || {
                black_box(decapsulate(black_box(keys.private_key()), black_box(&ciphertext)));
            }),
        ],
    )
}

fn aws_lc() -> Vec<Subject> {
    use aws_lc_rs::kem::{DecapsulationKey, ML_KEM_768};

    let key = DecapsulationKey::generate(&ML_KEM_768).expect("a key");
    let public = key.encapsulation_key().expect("a key");
    let (ciphertext, _) = public.encapsulate().expect("a ciphertext");
    let ciphertext = ciphertext.as_ref().to_vec();
    of(
        "aws-lc-rs",
        "assembly",
        [
            Box::new(|| {
                black_box(DecapsulationKey::generate(&ML_KEM_768).expect("a key"));
            }),
            Box::new(move || {
                black_box(black_box(&public).encapsulate().expect("a ciphertext"));
            }),
            Box::new(move || {
                black_box(key.decapsulate(black_box(&ciphertext[..]).into()).expect("a secret"));
            }),
        ],
    )
}

fn rust_crypto() -> Vec<Subject> {
    use ml_kem::kem::Decapsulate;
    use ml_kem::{B32, DecapsulationKey, MlKem768, Seed};

    let key = || DecapsulationKey::<MlKem768>::from_seed(black_box(Seed::from([1; 64])));
    let (private, public) = (key(), key().encapsulation_key().clone());
    let (ciphertext, _) = public.encapsulate_deterministic(&B32::from([2; 32]));
    of(
        "ml-kem",
        "portable",
        [
            Box::new(move || {
                black_box(key());
            }),
            Box::new(move || {
                black_box(
                    black_box(&public).encapsulate_deterministic(black_box(&B32::from([2; 32]))),
                );
            }),
            Box::new(move || {
                black_box(black_box(&private).decapsulate(black_box(&ciphertext)));
            }),
        ],
    )
}
