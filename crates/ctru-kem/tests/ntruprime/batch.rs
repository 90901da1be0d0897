//! Operations of batches equal single ones.

use std::array;

use ctru_kem::ntruprime::{
    Named, PrivateKey, PublicKey, Source, Use, ciphertext_bytes, decapsulate, encapsulate,
    from_seed, generate_batch, private_key_bytes,
};
use ctru_math::array::Array;
use ctru_tests::every_ring_on_every_backend;

use crate::Run;

every_ring_on_every_backend!(for_each_ntru_prime_ring: groups, keys);

/// Returns the run of the operation whose number is `i`.
fn single<R: Named>(i: usize) -> Run<R> {
    Run::new(
        &mut from_seed::<R>(Use::KeyPair, &[i as u8; 32]),
        &mut from_seed::<R>(Use::Encapsulation, &[i as u8; 32]),
    )
}

/// Generates keys together. In the smallest and in the largest ring, some are drawn again: of 27
/// keys, about one.
fn keys<R: Named>() {
    for count in [0, 1, 2, 9, 40] {
        let mut sources: Vec<_> =
            (0..count).map(|i| from_seed::<R>(Use::KeyPair, &[i as u8; 32])).collect();
        let mut public = vec![R::MixedRadixBytes::zeroed(); count];
        let mut private = vec![vec![0; private_key_bytes::<R>()]; count];
        generate_batch::<R, _>(&mut |i, bytes| sources[i](bytes), &mut public, &mut private)
            .unwrap();
        for i in 0..count {
            let expected = single::<R>(i);
            assert_eq!(public[i].as_ref(), expected.public.as_ref());
            assert_eq!(private[i], expected.private);
        }
    }
}

/// Encapsulates and decapsulates nine ciphertexts together. Some are altered.
fn groups<R: Named>() {
    const N: usize = 9;
    let runs: [Run<R>; N] = array::from_fn(single);
    let public = runs.each_ref().map(|run| PublicKey::<R>::new(&run.public));
    let private = runs.each_ref().map(|run| PrivateKey::<R>::read(&run.private).unwrap());
    let mut sources: [_; N] =
        array::from_fn(|i| from_seed::<R>(Use::Encapsulation, &[i as u8; 32]));
    let mut ciphertexts: [_; N] = array::from_fn(|_| vec![0; ciphertext_bytes::<R>()]);
    let mut secrets = [[0; 32]; N];
    encapsulate(
        public.each_ref(),
        sources.each_mut().map(|source| source as Source<'_>),
        ciphertexts.each_mut().map(|ciphertext| &mut ciphertext[..]),
        &mut secrets,
    )
    .unwrap();
    for (i, run) in runs.iter().enumerate() {
        assert_eq!(ciphertexts[i], run.ciphertext);
        assert_eq!(secrets[i], run.secret);
    }
    for i in [0, 4, N - 1] {
        ciphertexts[i][17 * i] ^= 1;
    }
    let sent = ciphertexts.each_ref().map(|ciphertext| &ciphertext[..]);
    decapsulate(private.each_ref(), sent, &mut secrets);
    for (i, run) in runs.iter().enumerate() {
        assert_eq!(secrets[i], run.decapsulated(sent[i]));
        assert_eq!(secrets[i] == run.secret, ![0, 4, N - 1].contains(&i));
    }
}
