//! All records of the submission, and vectors of a plain implementation in Python.

use ctru_kem::ntruprime::{Named, PrivateKey, Use, from_seed};
use ctru_tests::every_ring_on_every_backend;
use ctru_tests::vectors::{NtruPrime, NtruPrimeOfficial};
use sha2::{Digest, Sha256};

use crate::Run;
use crate::drbg::Drbg;

every_ring_on_every_backend!(for_each_ntru_prime_ring: official_records, vectors);

fn sha256<R: Named>(run: &Run<R>) -> [u8; 32] {
    Sha256::new()
        .chain_update(run.public)
        .chain_update(&run.private)
        .chain_update(&run.ciphertext)
        .chain_update(run.secret)
        .finalize()
        .into()
}

/// Reproduces the 100 records of a set.
fn official_records<R: Named>() {
    let records = NtruPrimeOfficial::load(R::NAME);
    assert_eq!(records.len(), 100);
    for record in records {
        let mut drbg = Drbg::new(&record.seed);
        // The submission asks for four bytes for each word of a polynomial, and the generator takes
        // a new key after each request.
        let mut fill = |bytes: &mut [u8]| {
            let request = if bytes.len() == 4 * R::N { 4 } else { bytes.len() };
            bytes.chunks_mut(request).try_for_each(|bytes| drbg.fill(bytes))
        };
        let mut run = Run::<R>::with_key(&mut fill);
        run.encapsulate(&mut fill);
        assert_eq!(sha256(&run), record.sha256, "record {}", record.count);
        assert_eq!(run.decapsulated(&run.ciphertext), run.secret);
    }
}

/// PQClean and liboqs ask once for all words of a polynomial. The beginnings of the hashes of their
/// first record are those that their own programs print.
#[test]
fn first_record_with_one_request_for_each_polynomial() {
    fn check<R: Named>() -> [u8; 32] {
        let mut drbg = Drbg::new(&NtruPrimeOfficial::load(R::NAME)[0].seed);
        let mut run = Run::<R>::with_key(&mut |bytes| drbg.fill(bytes));
        run.encapsulate(&mut |bytes| drbg.fill(bytes));
        let hex = |bytes: &[u8]| const_hex::encode_upper(bytes);
        let text = format!(
            "count = 0\nseed = {}\npk = {}\nsk = {}\nct = {}\nss = {}\n",
            hex(&NtruPrimeOfficial::load(R::NAME)[0].seed),
            hex(run.public.as_ref()),
            hex(&run.private),
            hex(&run.ciphertext),
            hex(&run.secret)
        );
        Sha256::digest(text).into()
    }
    assert_eq!(check::<ctru_math::R653>()[..4], [0x0d, 0x86, 0x43, 0xf1]);
    assert_eq!(check::<ctru_math::R761>()[..4], [0xaf, 0xc4, 0x2c, 0x3a]);
    assert_eq!(check::<ctru_math::R1277>()[..4], [0xd8, 0x73, 0x46, 0x47]);
}

fn vectors<R: Named>() {
    for record in NtruPrime::load(R::NAME) {
        let run = Run::<R>::new(
            &mut from_seed::<R>(Use::KeyPair, &record.keygen_seed),
            &mut from_seed::<R>(Use::Encapsulation, &record.encaps_seed),
        );
        assert_eq!(run.public.as_ref(), record.pk);
        assert_eq!(run.private, record.sk);
        assert_eq!(run.ciphertext, record.ct);
        assert_eq!(run.secret, record.ss);
        assert_eq!(run.decapsulated(&record.ct), record.ss);
        assert_eq!(run.decapsulated(&record.bad_ct), record.bad_ss);
        assert!(PrivateKey::<R>::read(&record.sk).unwrap().is_consistent());
    }
}
