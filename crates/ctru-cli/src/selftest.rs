//! `ctru selftest`: checks that this build computes correct results on this machine.
//!
//! For each parameter set and encoding, the self-test does the known-answer test of `ctru-kem`, by
//! the methods of the key types. Then it runs a list of operations from fixed seeds by these
//! methods and by the engine, and compares their results. At last it generates a fresh key,
//! encapsulates and decapsulates.

use std::io::Write;

use ctru_kem::engine::BatchEngine;
use ctru_kem::{
    Ciphertext, DecapsulationKey, ParameterSet, Parameters, SEED_BYTES, with_parameters,
};
use shake::{ExtendableOutput, Shake256, Update, XofReader};

use crate::engine::EngineArgs;
use crate::error::Error;
use crate::transcript::{ApiPath, Inputs, Transcript, transcripts};

/// Check that this build computes correct results
///
/// Compares operations with built-in known answers, and the engine with single operations. Then it
/// generates keys from the system's randomness, encapsulates and decapsulates with them, and checks
/// that a changed ciphertext gives another secret.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    engine: EngineArgs,
}

/// The number of operations with fixed seeds, which an engine runs as one batch.
const CHAIN: u8 = 8;

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
    let opened = chosen.open()?;
    let supported = |parameters: &Parameters| opened.engine().supports(*parameters);
    for parameters in Parameters::ALL.iter().copied().filter(supported) {
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
    checks.push(("known answer".to_owned(), P::PARAMETERS.known_answer_test().is_ok()));
    let [first, others @ ..] = ApiPath::ALL;
    let expected = chain::<P>(first, engine)?;
    for path in others {
        checks.push((
            format!("{path} gives the results of {first}"),
            chain::<P>(path, engine)? == expected,
        ));
    }
    let Fresh { agreed, rejected } = fresh::<P>()?;
    checks.push(("fresh keys agree on a secret".to_owned(), agreed));
    checks.push(("a changed ciphertext gives another secret".to_owned(), rejected));
    Ok(checks)
}

/// Runs the operations with fixed seeds, and returns all outputs.
fn chain<P: ParameterSet>(path: ApiPath, engine: &dyn BatchEngine) -> Result<Vec<u8>, Error> {
    let inputs: Vec<Inputs<P>> = (0..CHAIN).map(inputs).collect();
    let mut outputs = Vec::new();
    for transcript in transcripts(path, engine, &inputs)? {
        let Transcript {
            encapsulation_key,
            decapsulation_key,
            ciphertext,
            shared_secret,
            decapsulated: [accepted, rejected],
        } = transcript;
        let keys = [encapsulation_key.as_bytes(), decapsulation_key.as_bytes()];
        let secrets = [&shared_secret, &accepted, &rejected].map(|secret| &secret.as_bytes()[..]);
        outputs.extend([&keys[..], &[ciphertext.as_bytes()], &secrets].concat().concat());
    }
    Ok(outputs)
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
