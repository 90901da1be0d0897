//! Properties of keys and ciphertexts.

use ctru_kem::ntruprime::{InvalidPrivateKey, Named, PrivateKey, Use, from_seed};
use ctru_math::array::Array;
use ctru_tests::every_ring_on_every_backend;

use crate::Run;

every_ring_on_every_backend!(for_each_ntru_prime_ring: altered_keys, altered_ciphertexts);

fn sample<R: Named>() -> Run<R> {
    Run::new(
        &mut from_seed::<R>(Use::KeyPair, &[1; 32]),
        &mut from_seed::<R>(Use::Encapsulation, &[2; 32]),
    )
}

/// Each altered byte of a private key is refused, or makes the key inconsistent, or changes only
/// the secret of implicit rejection.
fn altered_keys<R: Named>() {
    let run = sample::<R>();
    let public = 2 * R::TERNARY_BYTES;
    let rho = public + R::MixedRadixBytes::LEN;
    let read = |bytes: &[u8]| PrivateKey::<R>::read(bytes).map(|key| key.is_consistent());
    assert_eq!(read(&run.private), Ok(true));
    let at = |step| (0..run.private.len()).step_by(step).chain([public - 1, rho - 1]);
    for i in at(23) {
        let mut private = run.private.clone();
        private[i] ^= 1 << (i % 8);
        match read(&private) {
            Ok(consistent) => {
                // A coefficient of `f` that is not 0 may have become the other one.
                assert!(i < public || (rho..rho + R::TERNARY_BYTES).contains(&i));
                assert_eq!(consistent, i >= rho);
            }
            Err(InvalidPrivateKey::Polynomial) => assert!(i < public),
            Err(_) => assert!((public..rho).contains(&i) || i >= rho + R::TERNARY_BYTES),
        }
    }
}

/// Each altered byte of a ciphertext gives another secret, always the same one, which `rho`
/// determines.
fn altered_ciphertexts<R: Named>() {
    let run = sample::<R>();
    let mut other = sample::<R>();
    let rho = 2 * R::TERNARY_BYTES + R::MixedRadixBytes::LEN;
    other.private[rho] ^= 1;
    assert_eq!(other.decapsulated(&run.ciphertext), run.secret);
    for i in (0..run.ciphertext.len()).step_by(53).chain([run.ciphertext.len() - 1]) {
        let mut ciphertext = run.ciphertext.clone();
        ciphertext[i] ^= 1 << (i % 8);
        let secret = run.decapsulated(&ciphertext);
        assert_ne!(secret, run.secret);
        assert_eq!(run.decapsulated(&ciphertext), secret);
        assert_ne!(other.decapsulated(&ciphertext), secret);
    }
    for extreme in [0, 255] {
        assert_ne!(run.decapsulated(&vec![extreme; run.ciphertext.len()]), run.secret);
    }
}
