//! Runs every operation of the KEM on given inputs, for comparison with known answers. Each API
//! path of `ctru-kem` must give the same outputs.

use std::fmt;

use ctru_kem::engine::{BatchEngine, Engine, EngineError, KEY_PAIR_SEED_BYTES, Keys, Seeds};
use ctru_kem::{
    Ciphertext, DecapsulationKey, EncapsulationKey, ParameterSet, SEED_BYTES, SharedSecret,
};

/// One of the ways in which a program can call the operations of `ctru-kem`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum ApiPath {
    /// The methods of the key types, one operation at a time.
    KeyTypes,
    /// The methods of an engine, which receives the keys with each batch.
    Engine,
    /// The methods of an engine that has loaded the keys.
    Resident,
}

impl ApiPath {
    pub(crate) const ALL: [Self; 3] = [Self::KeyTypes, Self::Engine, Self::Resident];
}

impl fmt::Display for ApiPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::KeyTypes => "key types",
            Self::Engine => "engine",
            Self::Resident => "engine with resident keys",
        })
    }
}

/// The inputs of a key generation, an encapsulation and two decapsulations. The operations may use
/// different key pairs.
pub(crate) struct Inputs<P: ParameterSet> {
    pub(crate) keygen_seed: [u8; SEED_BYTES],
    pub(crate) z: [u8; SEED_BYTES],
    pub(crate) encapsulation_key: EncapsulationKey<P>,
    pub(crate) encaps_seed: [u8; SEED_BYTES],
    pub(crate) decapsulation_key: DecapsulationKey<P>,
    pub(crate) ciphertexts: [Ciphertext<P>; 2],
}

/// The outputs for [`Inputs`].
pub(crate) struct Transcript<P: ParameterSet> {
    pub(crate) encapsulation_key: EncapsulationKey<P>,
    pub(crate) decapsulation_key: DecapsulationKey<P>,
    pub(crate) ciphertext: Ciphertext<P>,
    pub(crate) shared_secret: SharedSecret,
    pub(crate) decapsulated: [SharedSecret; 2],
}

/// Runs all operations on each of the inputs.
///
/// # Errors
/// [`EngineError`] if the engine fails.
pub(crate) fn transcripts<P: ParameterSet>(
    path: ApiPath,
    engine: &dyn BatchEngine,
    inputs: &[Inputs<P>],
) -> Result<Vec<Transcript<P>>, EngineError> {
    match path {
        ApiPath::KeyTypes => Ok(inputs.iter().map(by_key_types).collect()),
        ApiPath::Engine => by_engine(engine, inputs, false),
        ApiPath::Resident => by_engine(engine, inputs, true),
    }
}

fn by_key_types<P: ParameterSet>(inputs: &Inputs<P>) -> Transcript<P> {
    let decapsulation_key =
        DecapsulationKey::generate_deterministic(&inputs.keygen_seed, &inputs.z);
    let (ciphertext, shared_secret) =
        inputs.encapsulation_key.encapsulate_deterministic(&inputs.encaps_seed);
    Transcript {
        encapsulation_key: decapsulation_key.encapsulation_key(),
        decapsulation_key,
        ciphertext,
        shared_secret,
        decapsulated: inputs
            .ciphertexts
            .each_ref()
            .map(|ciphertext| inputs.decapsulation_key.decapsulate(ciphertext)),
    }
}

fn by_engine<P: ParameterSet>(
    engine: &dyn BatchEngine,
    inputs: &[Inputs<P>],
    resident: bool,
) -> Result<Vec<Transcript<P>>, EngineError> {
    let count = inputs.len();
    let seeds: Vec<[u8; KEY_PAIR_SEED_BYTES]> = inputs
        .iter()
        .map(|inputs| std::array::from_fn(|i| [inputs.keygen_seed, inputs.z].as_flattened()[i]))
        .collect();
    let mut encapsulation_keys = vec![EncapsulationKey::<P>::placeholder(); count];
    let mut decapsulation_keys = vec![DecapsulationKey::<P>::placeholder(); count];
    engine.generate(Seeds::Each(&seeds), &mut encapsulation_keys, &mut decapsulation_keys)?;

    let keys: Vec<_> = inputs.iter().map(|inputs| inputs.encapsulation_key.clone()).collect();
    let loaded = if resident { Some(engine.load_encapsulation_keys(&keys)?) } else { None };
    let keys = loaded.as_ref().map_or(Keys::Each(&keys), Keys::Loaded);
    let seeds: Vec<_> = inputs.iter().map(|inputs| inputs.encaps_seed).collect();
    let mut ciphertexts = vec![Ciphertext::<P>::default(); count];
    let mut shared_secrets = vec![SharedSecret::default(); count];
    engine.encapsulate(keys, Seeds::Each(&seeds), &mut ciphertexts, &mut shared_secrets)?;

    let keys: Vec<_> = inputs.iter().map(|inputs| inputs.decapsulation_key.clone()).collect();
    let loaded = if resident { Some(engine.load_decapsulation_keys(&keys)?) } else { None };
    let keys = loaded.as_ref().map_or(Keys::Each(&keys), Keys::Loaded);
    let mut decapsulated =
        [vec![SharedSecret::default(); count], vec![SharedSecret::default(); count]];
    for (which, secrets) in decapsulated.iter_mut().enumerate() {
        let ciphertexts: Vec<_> =
            inputs.iter().map(|inputs| inputs.ciphertexts[which].clone()).collect();
        engine.decapsulate(keys, &ciphertexts, secrets)?;
    }

    let [first, second] = decapsulated;
    let generated = encapsulation_keys.into_iter().zip(decapsulation_keys);
    let encapsulated = ciphertexts.into_iter().zip(shared_secrets);
    let decapsulated = first.into_iter().zip(second);
    let transcripts = generated.zip(encapsulated).zip(decapsulated).map(
        |(
            ((encapsulation_key, decapsulation_key), (ciphertext, shared_secret)),
            (first, second),
        )| {
            Transcript {
                encapsulation_key,
                decapsulation_key,
                ciphertext,
                shared_secret,
                decapsulated: [first, second],
            }
        },
    );
    Ok(transcripts.collect())
}
