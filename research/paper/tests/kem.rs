//! Compares the whole KEM by the paper's products with test vectors and with the KEM on the CPU, on
//! the emulator, or with the feature `cuda` on GPU 0.

// A failure in a helper is a failed test.
#![allow(clippy::unwrap_used)]

use ctru_gpu_runtime::Device;
use ctru_kem::{
    Ciphertext, CtruPrime653, CtruPrime761, CtruPrime1277, CtruPrimeSet, DecapsulationKey,
    MixedRadix,
};
use ctru_math::NtruPrimeRing;
use ctru_tests::vectors::{Intermediate, array};
use research_paper::kem::Products::{Ntt, SameKey};
use research_paper::kem::{Error, decapsulate, encapsulate, generate};

#[cfg(not(feature = "cuda"))]
type Q = ctru_gpu_runtime::emulated::EmulatedQueue;
#[cfg(feature = "cuda")]
type Q = ctru_gpu_runtime::cuda::CudaQueue;

/// Returns a queue of the device.
///
/// # Panics
/// If there is no GPU, with the feature `cuda`.
fn queue() -> Q {
    #[cfg(not(feature = "cuda"))]
    let device = ctru_gpu_runtime::emulated::EmulatedDevice::new();
    #[cfg(feature = "cuda")]
    let device =
        ctru_gpu_runtime::cuda::CudaDevice::open(0, &research_paper::table::MODULE).unwrap();
    device.queue().unwrap()
}

/// Returns `count` different arrays of bytes.
fn seeds<const LEN: usize>(count: u8) -> Vec<[u8; LEN]> {
    (0..count).map(|row| std::array::from_fn(|i| row.wrapping_mul(29) ^ i as u8)).collect()
}

/// Changes a bit of a ciphertext: in the first byte, in the middle, or the highest one, which is
/// padding in some sets.
fn alter<P: CtruPrimeSet>(ciphertext: &mut Ciphertext<P>, place: usize) {
    let last = P::CIPHERTEXT_BYTES - 1;
    let (byte, bit) = [(0, 1), (last / 2, 0x10), (last, 0x80)][place % 3];
    let mut bytes = ciphertext.as_ref().to_vec();
    bytes[byte] ^= bit;
    *ciphertext = Ciphertext::from_bytes(&bytes).unwrap();
}

/// The vector's key, ciphertext and secret are computed from its seeds, by both products.
fn vectors<P: CtruPrimeSet<Encoding = MixedRadix>>() {
    let queue = queue();
    let vector = Intermediate::load(P::Ring::N);
    let seed = array([&vector.keygen_seed[..], &vector.z].concat().as_slice());
    let keys: Vec<DecapsulationKey<P>> = generate(&queue, &[seed]).unwrap();
    let public = [keys[0].encapsulation_key()];
    assert_eq!(public[0].as_ref(), vector.mixed_radix.pk);
    assert!(keys[0].as_ref().ends_with(&vector.z));
    let seed = array(&vector.encaps_seed);
    for products in [Ntt, SameKey] {
        let (ciphertexts, secrets) = encapsulate(&queue, products, &public, &[seed]).unwrap();
        assert_eq!(ciphertexts[0].as_ref(), vector.mixed_radix.ct);
        assert_eq!(secrets[0].as_ref(), vector.mixed_radix.ss);
        assert!(decapsulate(&queue, products, &keys, &ciphertexts).unwrap() == secrets);
    }
}

/// Batches with a key for each operation, with altered ciphertexts among them, agree with the CPU.
fn keys_of_their_own<P: CtruPrimeSet<Encoding = MixedRadix>>() {
    let queue = queue();
    let key_seeds = seeds::<64>(4);
    let keys: Vec<DecapsulationKey<P>> = generate(&queue, &key_seeds).unwrap();
    for (key, seed) in keys.iter().zip(&key_seeds) {
        let (seed, z) = (array(&seed[..32]), array(&seed[32..]));
        assert!(*key == DecapsulationKey::generate_deterministic(&seed, &z));
    }
    let public: Vec<_> = keys.iter().map(DecapsulationKey::encapsulation_key).collect();
    let seeds = seeds::<32>(4);
    let (mut ciphertexts, secrets) = encapsulate(&queue, Ntt, &public, &seeds).unwrap();
    for (i, key) in public.iter().enumerate() {
        let expected = key.encapsulate_deterministic(&seeds[i]);
        assert!(ciphertexts[i].as_ref() == expected.0.as_ref() && secrets[i] == expected.1);
    }
    for (i, ciphertext) in ciphertexts.iter_mut().enumerate().skip(1) {
        alter(ciphertext, i);
    }
    let found = decapsulate(&queue, Ntt, &keys, &ciphertexts).unwrap();
    for (i, key) in keys.iter().enumerate() {
        assert!(found[i] == key.decapsulate(&ciphertexts[i]));
        assert_eq!(found[i] == secrets[i], i == 0);
    }
}

/// Batches with one key, with altered ciphertexts among them, agree with the CPU by both products.
fn one_key<P: CtruPrimeSet<Encoding = MixedRadix>>() {
    let queue = queue();
    let key = DecapsulationKey::<P>::generate_deterministic(&[1; 32], &[2; 32]);
    let (keys, public) = ([key.clone()], [key.encapsulation_key()]);
    // The kernels by matrices compute 16 operations per block.
    let seeds = seeds::<32>(17);
    for products in [Ntt, SameKey] {
        let (mut ciphertexts, secrets) = encapsulate(&queue, products, &public, &seeds).unwrap();
        for (i, seed) in seeds.iter().enumerate() {
            let expected = public[0].encapsulate_deterministic(seed);
            assert!(ciphertexts[i].as_ref() == expected.0.as_ref() && secrets[i] == expected.1);
        }
        for (i, ciphertext) in ciphertexts.iter_mut().enumerate().take(3) {
            alter(ciphertext, i);
        }
        let found = decapsulate(&queue, products, &keys, &ciphertexts).unwrap();
        for (i, found) in found.iter().enumerate() {
            assert!(*found == key.decapsulate(&ciphertexts[i]));
            assert_eq!(*found == secrets[i], i >= 3);
        }
    }
}

#[test]
fn wrong_numbers_of_keys_are_refused() {
    let queue = queue();
    let key = DecapsulationKey::<CtruPrime653>::generate_deterministic(&[1; 32], &[2; 32]);
    let ciphertext = Ciphertext::<CtruPrime653>::default();
    let refused = |products, keys, operations| {
        let public = vec![key.encapsulation_key(); keys];
        let encapsulated = encapsulate(&queue, products, &public, &seeds(operations as u8));
        let ciphertexts = vec![ciphertext.clone(); operations];
        let decapsulated = decapsulate(&queue, products, &vec![key.clone(); keys], &ciphertexts);
        for error in [encapsulated.unwrap_err(), decapsulated.unwrap_err()] {
            let Error::KeyCount { keys: found, operations: of } = error else { panic!("{error}") };
            assert_eq!((found, of), (keys, operations));
        }
    };
    refused(Ntt, 2, 3);
    refused(Ntt, 0, 1);
    refused(SameKey, 2, 2);
}

#[test]
fn empty_batches_have_no_results() {
    let queue = queue();
    assert!(generate::<CtruPrime653, _>(&queue, &[]).unwrap().is_empty());
    let (ciphertexts, secrets) = encapsulate::<CtruPrime653, _>(&queue, Ntt, &[], &[]).unwrap();
    assert!(ciphertexts.is_empty() && secrets.is_empty());
    assert!(decapsulate::<CtruPrime653, _>(&queue, Ntt, &[], &[]).unwrap().is_empty());
}

macro_rules! every_set {
    ($($check:ident),*) => {$(
        mod $check {
            use super::*;

            #[test]
            fn of_653() {
                super::$check::<CtruPrime653>();
            }
            #[test]
            fn of_761() {
                super::$check::<CtruPrime761>();
            }
            #[test]
            fn of_1277() {
                super::$check::<CtruPrime1277>();
            }
        }
    )*};
}
every_set!(vectors, keys_of_their_own, one_key);
