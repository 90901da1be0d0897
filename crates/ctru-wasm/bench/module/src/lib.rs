//! What the benchmark in browsers measures in WebAssembly beside the package: products of our
//! rings, and the crate `ml-kem`. Each function repeats an operation `count` times.
#![allow(unsafe_code, reason = "`no_mangle` exports the functions")]

use std::hint::black_box;

use ctru_math::mul::Multiplier;
use ctru_math::{Arithmetic, Poly, SmallPoly};
use ml_kem::kem::Decapsulate;
use ml_kem::{B32, DecapsulationKey, MlKem768, Seed};

fn products<R: Arithmetic>(count: u32) {
    let mut multiplier = Multiplier::<R>::new();
    // The time of a product does not depend on its operands.
    let (large, small) = (Poly::<R>::one(), SmallPoly::<R>::one());
    for _ in 0..count {
        black_box(multiplier.mul_small(black_box(&large), black_box(&small)));
    }
}

/// Defines the function that multiplies an element of a ring by a small one.
macro_rules! product {
    ($ring:ident $n:literal $numbers:tt) => {
        const _: () = {
            #[unsafe(export_name = concat!("product_", $n))]
            pub extern "C" fn product(count: u32) {
                products::<ctru_math::$ring>(count);
            }
        };
    };
}
ctru_math::for_each_ring!(product);

fn key() -> DecapsulationKey<MlKem768> {
    DecapsulationKey::from_seed(black_box(Seed::from([1; 64])))
}

/// Generates a key of ML-KEM-768 from a seed.
#[unsafe(no_mangle)]
pub extern "C" fn ml_kem_keygen(count: u32) {
    for _ in 0..count {
        black_box(key());
    }
}

/// Encapsulates to a decoded key of ML-KEM-768.
#[unsafe(no_mangle)]
pub extern "C" fn ml_kem_encaps(count: u32) {
    let public = key().encapsulation_key().clone();
    for _ in 0..count {
        black_box(black_box(&public).encapsulate_deterministic(black_box(&B32::from([2; 32]))));
    }
}

/// Decapsulates with a decoded key of ML-KEM-768.
#[unsafe(no_mangle)]
pub extern "C" fn ml_kem_decaps(count: u32) {
    let private = key();
    let (ciphertext, _) = private.encapsulation_key().encapsulate_deterministic(&[2; 32].into());
    for _ in 0..count {
        black_box(black_box(&private).decapsulate(black_box(&ciphertext)));
    }
}
