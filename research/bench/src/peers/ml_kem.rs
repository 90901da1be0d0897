//! ML-KEM-768 of three libraries: `libcrux-ml-kem` (AVX2), `aws-lc-rs` (C and assembly) and
//! `ml-kem` (portable Rust).

use std::hint::black_box;

use super::{Run, Subject, calls};

/// Returns the operations of the three libraries, each on keys in its own form. The randomness is
/// constant if the library lets the caller choose it.
pub(super) fn subjects() -> Vec<Subject> {
    let [libcrux, aws_lc, rust_crypto] = [libcrux(), aws_lc(), rust_crypto()];
    libcrux.into_iter().chain(aws_lc).chain(rust_crypto).collect()
}

fn of(library: (&'static str, &'static str), operations: [Run; 3]) -> Vec<Subject> {
    Subject::of_library(library, ("ML-KEM-768", "12-bit"), 1, operations)
}

fn libcrux() -> Vec<Subject> {
    use libcrux_ml_kem::mlkem768::{decapsulate, encapsulate, generate_key_pair};

    let keys = generate_key_pair([1; 64]);
    let public = keys.public_key().clone();
    let (ciphertext, _) = encapsulate(&public, [2; 32]);
    of(
        ("libcrux-ml-kem", "avx2"),
        [
            calls(|| generate_key_pair(black_box([1; 64]))),
            calls(move || encapsulate(black_box(&public), black_box([2; 32]))),
            calls(move || decapsulate(black_box(keys.private_key()), black_box(&ciphertext))),
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
        ("aws-lc-rs", "assembly"),
        [
            calls(|| DecapsulationKey::generate(&ML_KEM_768).expect("a key")),
            calls(move || black_box(&public).encapsulate().expect("a ciphertext")),
            calls(move || key.decapsulate(black_box(&ciphertext[..]).into()).expect("a secret")),
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
        ("ml-kem", "portable"),
        [
            calls(key),
            calls(move || {
                black_box(&public).encapsulate_deterministic(black_box(&B32::from([2; 32])))
            }),
            calls(move || black_box(&private).decapsulate(black_box(&ciphertext))),
        ],
    )
}
