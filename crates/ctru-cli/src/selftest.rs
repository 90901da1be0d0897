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
use zeroize::Zeroizing;

use crate::engine::{Chosen, EngineArgs};
use crate::error::Error;
use crate::transcript::{ApiPath, Inputs, transcripts};

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
    let Chosen { name, device, backend, threads, .. } = &chosen;
    writeln!(out, "{name} engine on {device} ({backend}), {threads} threads")?;
    let mut all = true;
    let opened = chosen.open()?;
    let supported = |parameters: &Parameters| opened.engine().supports(*parameters);
    for parameters in Parameters::ALL.iter().copied().filter(supported) {
        let checks = checks(parameters, chosen.open()?.engine())?;
        for (check, passed) in checks {
            writeln!(out, "{} {parameters}: {check}", if passed { "ok    " } else { "FAILED" })?;
            all &= passed;
        }
    }
    writeln!(out, "{}", if all { "self-test passed" } else { "self-test FAILED" })?;
    Ok(all)
}

/// Returns the name of each check, and whether it passed.
fn checks(parameters: Parameters, engine: &dyn BatchEngine) -> Result<Vec<(String, bool)>, Error> {
    let mut checks = Vec::new();
    checks.push(("known answer".to_owned(), parameters.known_answer_test().is_ok()));
    let inputs: Vec<Inputs> =
        with_parameters!(parameters, P => (0..CHAIN).map(inputs::<P>).collect());
    let [first, others @ ..] = ApiPath::ALL;
    let expected = transcripts(first, engine, parameters, &inputs)?;
    for path in others {
        let results = transcripts(path, engine, parameters, &inputs)?;
        checks.push((format!("{path} gives the results of {first}"), results == expected));
    }
    let [agreed, rejected] = with_parameters!(parameters, P => fresh::<P>())?;
    checks.push(("fresh keys agree on a secret".to_owned(), agreed));
    checks.push(("a changed ciphertext gives another secret".to_owned(), rejected));
    Ok(checks)
}

/// Returns the inputs of operation `index`: a key pair, the seed of an encapsulation to it, the
/// ciphertext and a changed ciphertext.
fn inputs<P: ParameterSet>(index: u8) -> Inputs {
    let mut shake = Shake256::default();
    Update::update(&mut shake, b"ctru selftest");
    Update::update(&mut shake, &[index]);
    let mut seeds = [[0; SEED_BYTES]; 3];
    shake.finalize_xof().read(seeds.as_flattened_mut());
    let [keygen_seed, z, encaps_seed] = seeds;

    let key = DecapsulationKey::<P>::generate_deterministic(&keygen_seed, &z);
    let public = key.encapsulation_key();
    let (ciphertext, _) = public.encapsulate_deterministic(&encaps_seed);
    let changed = flip_bit(&ciphertext, usize::from(index));
    let bytes = |value: &[u8]| Zeroizing::new(value.to_vec());
    Inputs {
        keygen_seed,
        z,
        encapsulation_key: bytes(public.as_bytes()),
        encaps_seed,
        decapsulation_key: bytes(key.as_bytes()),
        ciphertexts: [bytes(ciphertext.as_bytes()), bytes(changed.as_bytes())],
    }
}

/// Generates a key from the system's randomness, encapsulates and decapsulates. Returns whether the
/// secrets are equal, and whether a changed ciphertext gives another secret.
fn fresh<P: ParameterSet>() -> Result<[bool; 2], Error> {
    let key = DecapsulationKey::<P>::try_generate()?;
    let (ciphertext, secret) = key.encapsulation_key().try_encapsulate()?;
    // The last bit is padding in CTRU-Prime, and belongs to a hash in NTRU Prime. A ciphertext in
    // which it is changed must be rejected, too.
    let changed = flip_bit(&ciphertext, 8 * P::CIPHERTEXT_BYTES - 1);
    let instead = key.decapsulate(&changed);
    let agreed = key.decapsulate(&ciphertext) == secret;
    Ok([agreed, instead != secret && instead == key.decapsulate(&changed)])
}

fn flip_bit<P: ParameterSet>(ciphertext: &Ciphertext<P>, bit: usize) -> Ciphertext<P> {
    let mut bytes = ciphertext.as_ref().to_vec();
    bytes[bit / 8] ^= 1 << (bit % 8);
    Ciphertext::from_bytes(&bytes).expect("as long as before")
}
