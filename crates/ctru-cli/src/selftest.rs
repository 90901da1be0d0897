//! `ctru selftest`: checks that this build computes correct results on this machine.
//!
//! For each parameter set and encoding, the self-test runs a list of operations from fixed seeds,
//! and compares the hash of all outputs with a constant. An implementation that passes all
//! known-answer vectors computed the constants. Then the self-test generates a fresh key,
//! encapsulates and decapsulates.

use std::io::Write;

use ctru_kem::engine::BatchEngine;
use ctru_kem::{
    Ciphertext, DecapsulationKey, Encoding, ParameterSet, Parameters, SEED_BYTES, Set,
    with_parameters,
};
use sha3::{Digest, Sha3_256};
use shake::{ExtendableOutput, Shake256, Update, XofReader};

use crate::engine::EngineArgs;
use crate::error::Error;
use crate::transcript::{ApiPath, Inputs, Transcript, transcripts};

/// Check that this build computes correct results
///
/// Compares operations with built-in known answers, by the methods of the key types and by the
/// engine. Then it generates keys from the system's randomness, encapsulates and decapsulates with
/// them, and checks that a changed ciphertext gives another secret.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    engine: EngineArgs,
}

/// The number of operations with fixed seeds, which an engine runs as one batch.
const CHAIN: u8 = 8;

/// Returns the expected SHA3-256 hash of all outputs of the operations with fixed seeds, if it is
/// known.
fn known_answer(parameters: Parameters) -> Option<&'static str> {
    Some(match (parameters.set, parameters.encoding) {
        (Set::CtruPrime653, Encoding::MixedRadix) => {
            "61f585c3e7899373f11f47a8f39ad27d1f65f18c60d859a1b72ba367fe0c1f8e"
        }
        (Set::CtruPrime653, Encoding::Packed13) => {
            "3034c1d1cbd1d56e10ecd3b5ebb27d8f6f99f1d35f622394e078624cf46388d2"
        }
        (Set::CtruPrime761, Encoding::MixedRadix) => {
            "e2f1f641230bdf80567bee2f6c9aee74855e7f55cde8e2510e7e90b746b91e55"
        }
        (Set::CtruPrime761, Encoding::Packed13) => {
            "ccf29fd556430e90dbddcdbad5df9487dbec3ef0f5903e3c2ebf667af998eacf"
        }
        (Set::CtruPrime1277, Encoding::MixedRadix) => {
            "ac4f067c238df9b48b569459337755d1dadd09a198123828641468ab9dbbdff6"
        }
        (Set::CtruPrime1277, Encoding::Packed13) => {
            "a81cf5ae01036280a287eaf1656b1524caa7eba35f738f0affc7582c26bbb781"
        }
        _ => return None,
    })
}

/// Runs the command. Returns whether all checks passed.
///
/// # Errors
/// [`Error`] if the system gives no randomness, or the engine or standard output fails.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<bool, Error> {
    let chosen = args.engine.start()?;
    writeln!(
        out,
        "{} engine on {} ({}), {} threads",
        chosen.name(),
        chosen.device(),
        chosen.backend(),
        chosen.threads()
    )?;
    let mut all = true;
    for parameters in Parameters::ALL.iter().copied() {
        let checks = with_parameters!(parameters, P => checks::<P>(chosen.open()?.engine()))?;
        for (check, passed) in checks {
            writeln!(out, "{} {parameters}: {check}", if passed { "ok    " } else { "FAILED" })?;
            all &= passed;
        }
    }
    writeln!(out, "{}", if all { "self-test passed" } else { "self-test FAILED" })?;
    Ok(all)
}

/// Returns the name of each check, and whether it passed.
fn checks<P: ParameterSet>(engine: &dyn BatchEngine) -> Result<Vec<(String, bool)>, Error> {
    let mut checks = Vec::new();
    if let Some(expected) = known_answer(P::PARAMETERS) {
        for path in ApiPath::ALL {
            let answer = chain::<P>(path, engine)?;
            checks.push((format!("known answer, {path}"), answer == expected));
        }
    }
    let Fresh { agreed, rejected } = fresh::<P>()?;
    checks.push(("fresh keys agree on a secret".to_owned(), agreed));
    checks.push(("a changed ciphertext gives another secret".to_owned(), rejected));
    Ok(checks)
}

/// Runs the operations with fixed seeds, and returns the SHA3-256 hash of all outputs.
fn chain<P: ParameterSet>(path: ApiPath, engine: &dyn BatchEngine) -> Result<String, Error> {
    let inputs: Vec<Inputs<P>> = (0..CHAIN).map(inputs).collect();
    let mut hash = Sha3_256::new();
    for transcript in transcripts(path, engine, &inputs)? {
        let Transcript {
            encapsulation_key,
            decapsulation_key,
            ciphertext,
            shared_secret,
            decapsulated,
        } = transcript;
        for bytes in [encapsulation_key.as_ref(), decapsulation_key.as_ref(), ciphertext.as_ref()] {
            Digest::update(&mut hash, bytes);
        }
        let [accepted, rejected] = decapsulated;
        for secret in [shared_secret, accepted, rejected] {
            Digest::update(&mut hash, secret.as_bytes());
        }
    }
    Ok(const_hex::encode(hash.finalize()))
}

/// Returns the inputs of operation `index`: a key pair, the seed of an encapsulation to it, the
/// ciphertext and a changed ciphertext.
fn inputs<P: ParameterSet>(index: u8) -> Inputs<P> {
    let mut shake = Shake256::default();
    Update::update(&mut shake, b"ctru selftest");
    Update::update(&mut shake, &[index]);
    let mut seeds = [[0; SEED_BYTES]; 3];
    shake.finalize_xof().read(seeds.as_flattened_mut());
    let [keygen_seed, z, encaps_seed] = seeds;

    let decapsulation_key = DecapsulationKey::generate_deterministic(&keygen_seed, &z);
    let encapsulation_key = decapsulation_key.encapsulation_key();
    let (ciphertext, _) = encapsulation_key.encapsulate_deterministic(&encaps_seed);
    let changed = flip_bit(&ciphertext, usize::from(index));
    Inputs {
        keygen_seed,
        z,
        encapsulation_key,
        encaps_seed,
        decapsulation_key,
        ciphertexts: [ciphertext, changed],
    }
}

struct Fresh {
    agreed: bool,
    rejected: bool,
}

/// Generates a key from the system's randomness, encapsulates and decapsulates.
fn fresh<P: ParameterSet>() -> Result<Fresh, Error> {
    let key = DecapsulationKey::<P>::try_generate()?;
    let (ciphertext, secret) = key.encapsulation_key().try_encapsulate()?;
    // The last bit is padding in every set. A ciphertext with a changed padding bit must be
    // rejected, too.
    let changed = flip_bit(&ciphertext, 8 * P::CIPHERTEXT_BYTES - 1);
    let instead = key.decapsulate(&changed);
    Ok(Fresh {
        agreed: key.decapsulate(&ciphertext) == secret,
        rejected: instead != secret && instead == key.decapsulate(&changed),
    })
}

fn flip_bit<P: ParameterSet>(ciphertext: &Ciphertext<P>, bit: usize) -> Ciphertext<P> {
    let mut bytes = ciphertext.as_ref().to_vec();
    bytes[bit / 8] ^= 1 << (bit % 8);
    Ciphertext::from_bytes(&bytes).expect("as long as before")
}
