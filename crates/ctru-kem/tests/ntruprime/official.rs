//! The records of the submission.
//!
//! The tests of `ctru-cli` check the vectors of a plain implementation.

use ctru_kem::{DecapsulationKey, ParameterSet, Sntrup653, Sntrup761, Sntrup1277};
use ctru_math::backend::{self, Backend};
use ctru_tests::vectors::NtruPrimeOfficial;
use sha2::{Digest, Sha256};

use crate::drbg::Drbg;

every_set_on_every_backend!(
    records,
    #[ignore = "takes long; CI runs it"]
    other_records,
);

/// The bytes of a key pair and of an encapsulation.
struct Run {
    public: Vec<u8>,
    private: Vec<u8>,
    ciphertext: Vec<u8>,
    secret: Vec<u8>,
}

/// Computes a record. The generator takes a new key after each request, and the words of a
/// polynomial are requests of at most this many bytes.
fn run<P: ParameterSet>(seed: &[u8; 48], request: usize) -> Run {
    let mut drbg = Drbg::new(seed, request);
    let key = DecapsulationKey::<P>::generate_from_rng(&mut drbg);
    let public = key.encapsulation_key();
    let (sent, secret) = public.encapsulate_with_rng(&mut drbg);
    let key = DecapsulationKey::<P>::from_bytes(key.as_bytes()).unwrap();
    assert_eq!(key.check(), Ok(()));
    assert_eq!(key.decapsulate(&sent), secret);
    Run {
        public: public.as_bytes().to_vec(),
        private: key.as_bytes().to_vec(),
        ciphertext: sent.as_bytes().to_vec(),
        secret: secret.as_bytes().to_vec(),
    }
}

/// Reproduces records of a set. The submission asks for four bytes for each word of a polynomial.
fn reproduce<P: ParameterSet>(records: &[NtruPrimeOfficial]) {
    for record in records {
        let run = run::<P>(&record.seed, 4);
        let all = [run.public, run.private, run.ciphertext, run.secret].concat();
        assert_eq!(*Sha256::digest(all), record.sha256, "record {}", record.count);
    }
}

/// Returns the records, in two parts: those that `cargo test` checks, and the others.
fn both<P: ParameterSet>() -> (Vec<NtruPrimeOfficial>, Vec<NtruPrimeOfficial>) {
    let mut records = NtruPrimeOfficial::load(P::NAME);
    assert_eq!(records.len(), 100);
    // The portable backend is slow.
    let others = records.split_off(if backend::in_use() == Backend::Portable { 5 } else { 25 });
    (records, others)
}

fn records<P: ParameterSet>() {
    reproduce::<P>(&both::<P>().0);
}

fn other_records<P: ParameterSet>() {
    reproduce::<P>(&both::<P>().1);
}

/// PQClean and liboqs ask once for all words of a polynomial. The beginnings of the hashes of their
/// first record are those that their own programs print.
#[test]
fn first_record_with_one_request_for_each_polynomial() {
    fn check<P: ParameterSet>() -> [u8; 32] {
        let seed = NtruPrimeOfficial::load(P::NAME)[0].seed;
        let run = run::<P>(&seed, usize::MAX);
        let hex = |bytes: &[u8]| const_hex::encode_upper(bytes);
        let text = format!(
            "count = 0\nseed = {}\npk = {}\nsk = {}\nct = {}\nss = {}\n",
            hex(&seed),
            hex(&run.public),
            hex(&run.private),
            hex(&run.ciphertext),
            hex(&run.secret)
        );
        Sha256::digest(text).into()
    }
    assert_eq!(check::<Sntrup653>()[..4], [0x0d, 0x86, 0x43, 0xf1]);
    assert_eq!(check::<Sntrup761>()[..4], [0xaf, 0xc4, 0x2c, 0x3a]);
    assert_eq!(check::<Sntrup1277>()[..4], [0xd8, 0x73, 0x46, 0x47]);
}
