//! Runs every operation of the KEM on given inputs, for comparison with known answers. Each API
//! path of `ctru-kem` must give the same outputs.

use std::fmt;

use ctru_kem::engine::{BatchEngine, EngineError, KEY_PAIR_SEED_BYTES, KeyRows, Seeds};
use ctru_kem::{
    Ciphertext, DecapsulationKey, EncapsulationKey, ParameterSet, Parameters, SEED_BYTES,
    SHARED_SECRET_BYTES, with_parameters,
};
use zeroize::Zeroizing;

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

/// A key, a ciphertext or a shared secret, wiped when dropped.
pub(crate) type Bytes = Zeroizing<Vec<u8>>;

/// The inputs of a key generation, an encapsulation and two decapsulations. The operations may use
/// different key pairs. Keys are well-formed, and all values have the lengths of the parameters.
pub(crate) struct Inputs {
    pub(crate) keygen_seed: [u8; SEED_BYTES],
    pub(crate) z: [u8; SEED_BYTES],
    pub(crate) encapsulation_key: Bytes,
    pub(crate) encaps_seed: [u8; SEED_BYTES],
    pub(crate) decapsulation_key: Bytes,
    pub(crate) ciphertexts: [Bytes; 2],
}

/// The outputs for [`Inputs`].
#[derive(PartialEq, Eq)]
pub(crate) struct Transcript {
    pub(crate) encapsulation_key: Bytes,
    pub(crate) decapsulation_key: Bytes,
    pub(crate) ciphertext: Bytes,
    pub(crate) shared_secret: Bytes,
    pub(crate) decapsulated: [Bytes; 2],
}

/// Runs all operations on each of the inputs.
///
/// # Errors
/// [`EngineError`] if the engine fails.
pub(crate) fn transcripts(
    path: ApiPath,
    engine: &dyn BatchEngine,
    parameters: Parameters,
    inputs: &[Inputs],
) -> Result<Vec<Transcript>, EngineError> {
    match path {
        ApiPath::KeyTypes => with_parameters!(parameters, P => {
            Ok(inputs.iter().map(by_key_types::<P>).collect())
        }),
        ApiPath::Engine => by_engine(engine, parameters, inputs, false),
        ApiPath::Resident => by_engine(engine, parameters, inputs, true),
    }
}

fn by_key_types<P: ParameterSet>(inputs: &Inputs) -> Transcript {
    let bytes = |value: &[u8]| Zeroizing::new(value.to_vec());
    let made = DecapsulationKey::<P>::generate_deterministic(&inputs.keygen_seed, &inputs.z);
    let public = EncapsulationKey::<P>::from_bytes(&inputs.encapsulation_key);
    let (ciphertext, shared_secret) =
        public.expect("a well-formed key").encapsulate_deterministic(&inputs.encaps_seed);
    let private = DecapsulationKey::<P>::from_bytes(&inputs.decapsulation_key);
    let private = private.expect("a well-formed key");
    Transcript {
        encapsulation_key: bytes(made.encapsulation_key().as_bytes()),
        decapsulation_key: bytes(made.as_bytes()),
        ciphertext: bytes(ciphertext.as_bytes()),
        shared_secret: bytes(shared_secret.as_bytes()),
        decapsulated: inputs.ciphertexts.each_ref().map(|ciphertext| {
            let ciphertext = Ciphertext::from_bytes(ciphertext).expect("the right length");
            bytes(private.decapsulate(&ciphertext).as_bytes())
        }),
    }
}

fn by_engine(
    engine: &dyn BatchEngine,
    parameters: Parameters,
    inputs: &[Inputs],
    resident: bool,
) -> Result<Vec<Transcript>, EngineError> {
    let sizes = parameters.sizes();
    let room = |row: usize| Zeroizing::new(vec![0; row * inputs.len()]);
    let column = |of: fn(&Inputs) -> &Bytes| -> Bytes {
        // Allocates once: memory that a vector outgrows is not wiped.
        Zeroizing::new(inputs.iter().map(|inputs| &of(inputs)[..]).collect::<Vec<_>>().concat())
    };
    let seeds: Vec<[u8; KEY_PAIR_SEED_BYTES]> = inputs
        .iter()
        .map(|inputs| std::array::from_fn(|i| [inputs.keygen_seed, inputs.z].as_flattened()[i]))
        .collect();
    let (mut public, mut private) = (room(sizes.encapsulation_key), room(sizes.decapsulation_key));
    engine.generate_rows(parameters, Seeds::Each(&seeds), Some(&mut public), &mut private)?;

    let keys = column(|inputs| &inputs.encapsulation_key);
    let loaded =
        if resident { Some(engine.load_encapsulation_rows(parameters, &keys)?) } else { None };
    let keys = loaded.as_ref().map_or(KeyRows::Trusted(&keys), KeyRows::Loaded);
    let seeds: Vec<_> = inputs.iter().map(|inputs| inputs.encaps_seed).collect();
    let (mut ciphertexts, mut secrets) = (room(sizes.ciphertext), room(SHARED_SECRET_BYTES));
    let seeds = Seeds::Each(&seeds);
    engine.encapsulate_rows(parameters, keys, seeds, &mut ciphertexts, &mut secrets)?;

    let keys = column(|inputs| &inputs.decapsulation_key);
    let loaded =
        if resident { Some(engine.load_decapsulation_rows(parameters, &keys)?) } else { None };
    let keys = loaded.as_ref().map_or(KeyRows::Trusted(&keys), KeyRows::Loaded);
    let mut decapsulated = [room(SHARED_SECRET_BYTES), room(SHARED_SECRET_BYTES)];
    let received =
        [column(|inputs| &inputs.ciphertexts[0]), column(|inputs| &inputs.ciphertexts[1])];
    for (secrets, ciphertexts) in decapsulated.iter_mut().zip(&received) {
        engine.decapsulate_rows(parameters, keys, ciphertexts, secrets)?;
    }

    let row = |rows: &Bytes, row: usize, bytes: usize| {
        Zeroizing::new(rows[row * bytes..][..bytes].to_vec())
    };
    let transcript = |i| Transcript {
        encapsulation_key: row(&public, i, sizes.encapsulation_key),
        decapsulation_key: row(&private, i, sizes.decapsulation_key),
        ciphertext: row(&ciphertexts, i, sizes.ciphertext),
        shared_secret: row(&secrets, i, SHARED_SECRET_BYTES),
        decapsulated: decapsulated.each_ref().map(|secrets| row(secrets, i, SHARED_SECRET_BYTES)),
    };
    Ok((0..inputs.len()).map(transcript).collect())
}
