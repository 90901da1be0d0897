//! Properties of keys and ciphertexts.

use std::convert::Infallible;

use ctru_kem::engine::{CpuEngine, Engine, Keys, Seeds};
use ctru_kem::{
    Ciphertext, DecapsulationKey, EncapsulationKey, InvalidDecapsulationKey, KeyPairSeed,
    ParameterSet, SharedSecret, Sntrup653, Sntrup1277,
};
use ctru_tests::backends::on_every_backend;
use ctru_tests::random::Generator;
use ctru_tests::vectors::array;
use shake::Shake256;
use shake::digest::{ExtendableOutput, Update, XofReader};

every_set_on_every_backend!(key_pair_seeds, altered_keys, altered_ciphertexts, placeholders);

fn key<P: ParameterSet>() -> DecapsulationKey<P> {
    DecapsulationKey::generate_deterministic(&[1; 32], &[0; 32])
}

/// The seed of a key file is that of the key.
fn key_pair_seeds<P: ParameterSet>() {
    let seed = KeyPairSeed::<P>::from_bytes(&[1; 32]).unwrap();
    assert!(seed.decapsulation_key() == key::<P>());
}

/// Returns the number of bytes of a packed polynomial, and where the public key and `rho` are.
fn parts<P: ParameterSet>() -> [usize; 3] {
    let polynomial = P::PARAMETERS.degree().div_ceil(4);
    [polynomial, 2 * polynomial, 2 * polynomial + P::ENCAPSULATION_KEY_BYTES]
}

/// Each altered byte of a private key is refused, or makes the key inconsistent, or changes only
/// the secret of implicit rejection.
fn altered_keys<P: ParameterSet>() {
    let key = key::<P>();
    let [polynomial, public, rho] = parts::<P>();
    let read = |bytes: &[u8]| DecapsulationKey::<P>::from_bytes(bytes).map(|key| key.check());
    assert_eq!(read(key.as_bytes()), Ok(Ok(())));
    let at = |step| (0..key.as_bytes().len()).step_by(step).chain([public - 1, rho - 1]);
    for i in at(23) {
        let mut private = key.as_bytes().to_vec();
        private[i] ^= 1 << (i % 8);
        match read(&private) {
            Ok(consistent) => {
                // A coefficient of `f` that is not 0 may have become the other one.
                assert!(i < public || (rho..rho + polynomial).contains(&i));
                assert_eq!(consistent.is_ok(), i >= rho);
            }
            Err(InvalidDecapsulationKey::SecretPolynomial) => assert!(i < public),
            Err(error) => {
                assert_eq!(error, InvalidDecapsulationKey::Hash);
                assert!((public..rho).contains(&i) || i >= rho + polynomial);
            }
        }
    }
}

/// Operations accept placeholders, but nobody can take the private one for a key.
fn placeholders<P: ParameterSet>() {
    let private = DecapsulationKey::<P>::placeholder();
    let public = private.encapsulation_key();
    assert!(public == EncapsulationKey::placeholder());
    assert_eq!(EncapsulationKey::from_bytes(public.as_bytes()), Ok(public.clone()));
    let read = DecapsulationKey::<P>::from_bytes(private.as_bytes());
    assert_eq!(read, Err(InvalidDecapsulationKey::Hash));
    assert_eq!(private.check(), Err(InvalidDecapsulationKey::Inconsistent));
    let tested = private.pairwise_test(&[3; 32]);
    assert_eq!(tested, Err(InvalidDecapsulationKey::Inconsistent));
    let (ciphertext, _) = public.encapsulate_deterministic(&[4; 32]);
    let secret = private.decapsulate(&ciphertext);
    let mut secrets = [SharedSecret::default()];
    let engine = CpuEngine::with_threads(1).unwrap();
    engine.decapsulate(Keys::One(&private), &[ciphertext], &mut secrets).unwrap();
    assert!(secrets[0] == secret);
}

/// Each altered byte of a ciphertext gives another secret, always the same one, which `rho`
/// determines.
fn altered_ciphertexts<P: ParameterSet>() {
    let key = key::<P>();
    let (sent, secret) = key.encapsulation_key().encapsulate_deterministic(&[2; 32]);
    let mut other = key.as_bytes().to_vec();
    other[parts::<P>()[2]] ^= 1;
    let other = DecapsulationKey::<P>::from_bytes(&other).unwrap().decode();
    let key = key.decode();
    let decapsulated = |bytes: &[u8]| key.decapsulate(&Ciphertext::from_bytes(bytes).unwrap());
    assert_eq!(other.decapsulate(&sent), secret);
    for i in (0..P::CIPHERTEXT_BYTES).step_by(53).chain([P::CIPHERTEXT_BYTES - 1]) {
        let mut altered = sent.as_bytes().to_vec();
        altered[i] ^= 1 << (i % 8);
        let rejected = decapsulated(&altered);
        assert_ne!(rejected, secret);
        assert_eq!(decapsulated(&altered), rejected);
        assert_ne!(other.decapsulate(&Ciphertext::from_bytes(&altered).unwrap()), rejected);
    }
    for extreme in [0, 255] {
        assert_ne!(decapsulated(&vec![extreme; P::CIPHERTEXT_BYTES]), secret);
    }
}

/// Some polynomials `g` have no inverse modulo 3, and are drawn again: in the smallest and in the
/// largest ring, about one in 27. Such a key is the same alone and in a batch.
#[test]
fn keys_that_are_drawn_again() {
    let engine = CpuEngine::with_threads(1).unwrap();
    on_every_backend(|| {
        drawn_again::<Sntrup653>(&engine, 42);
        drawn_again::<Sntrup1277>(&engine, 31);
    });
}

/// Checks the key with the seed of this byte, between two others.
fn drawn_again<P: ParameterSet>(engine: &CpuEngine, byte: u8) {
    let seeds = [byte - 1, byte, byte + 1].map(|byte| [byte; 32]);
    let mut requests = 0;
    let words = Shake256::default().chain(P::NAME).chain(" key pair").chain(seeds[1]);
    let mut words = words.finalize_xof();
    let mut generator = Generator(|bytes: &mut [u8]| {
        requests += 1;
        words.read(bytes);
        Ok::<(), Infallible>(())
    });
    let key = DecapsulationKey::<P>::generate_from_rng(&mut generator);
    // `g` twice, `f` and `rho`.
    assert_eq!(requests, 4);
    let alone = seeds.map(|seed| DecapsulationKey::generate_deterministic(&seed, &[0; 32]));
    assert_eq!(alone[1], key);
    let mut together = seeds.map(|_| DecapsulationKey::placeholder());
    let seeds = seeds.map(|seed| array(&[seed, [0; 32]].concat()));
    engine.generate_decapsulation_keys(Seeds::Each(&seeds), &mut together).unwrap();
    assert_eq!(together, alone);
}
