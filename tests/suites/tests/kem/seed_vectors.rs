//! Compares the seeds that an engine derives with the vectors in `seeds.jsonl`.

use ctru_kem::engine::{Context, Engine, Expand, Keys, Seeds};
use ctru_kem::{Ciphertext, CtruPrimeSet, DecapsulationKey, EncapsulationKey, SharedSecret};
use ctru_math::NtruPrimeRing;
use ctru_tests::vectors::{DerivedSeed, Intermediate, array};

/// Checks all vectors of a parameter set: batches of one operation with a master seed give the same
/// as single operations with the derived seed.
pub(crate) fn check<P: CtruPrimeSet, E: Engine<P>>(engine: &E) {
    let name = P::PARAMETERS.encoding().name();
    let of_encodings = Intermediate::load(P::Ring::N);
    let pk = match name {
        "mixed-radix" => &of_encodings.mixed_radix.pk,
        "packed13" => &of_encodings.packed13.pk,
        other => panic!("unknown encoding {other}"),
    };
    let key = EncapsulationKey::<P>::from_bytes(pk).unwrap();
    let mut records = DerivedSeed::load();
    records.retain(|record| record.n == P::Ring::N && record.pk_encoding == name);
    assert_eq!(records.len(), 8);
    for record in &records {
        let expand = Expand {
            seed: &record.master,
            context: Context::new(&record.context).unwrap(),
            first: u64::from_le_bytes(record.row),
        };
        match &record.op[..] {
            "keygen" => {
                let mut public = [EncapsulationKey::<P>::placeholder()];
                let mut private = [DecapsulationKey::<P>::placeholder()];
                engine.generate(Seeds::Expand(expand), &mut public, &mut private).unwrap();
                let (seed, z) = record.seed.split_at(32);
                let expected = DecapsulationKey::generate_deterministic(&array(seed), &array(z));
                assert_eq!(public[0], expected.encapsulation_key(), "{record:?}");
                assert!(private[0] == expected, "{record:?}");
            }
            "encaps" => {
                assert_eq!(record.id, pk[..33]);
                let mut ciphertext = [Ciphertext::<P>::default()];
                let mut secret = [SharedSecret::default()];
                let (keys, seeds) = (Keys::One(&key), Seeds::Expand(expand));
                engine.encapsulate(keys, seeds, &mut ciphertext, &mut secret).unwrap();
                let expected = key.encapsulate_deterministic(&array(&record.seed));
                let [ciphertext] = ciphertext;
                let [secret] = secret;
                assert!((ciphertext, secret) == expected, "{record:?}");
            }
            other => panic!("unknown operation {other}"),
        }
    }
}
