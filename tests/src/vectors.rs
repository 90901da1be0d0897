//! The vectors in `tests/vectors/`.

use std::fs;
use std::path::{Path, PathBuf};

use ctru_math::array::Array;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A test vector: one key generation, and one encapsulation and decapsulation for each public-key
/// encoding, with all intermediate values. A list has the coefficients of a polynomial, lowest
/// power first.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Intermediate {
    #[serde(with = "const_hex")]
    pub keygen_seed: Vec<u8>,
    #[serde(with = "const_hex")]
    pub z: Vec<u8>,
    #[serde(with = "const_hex")]
    pub encaps_seed: Vec<u8>,
    #[serde(with = "const_hex")]
    pub coins_f: Vec<u8>,
    #[serde(with = "const_hex")]
    pub coins_g: Vec<u8>,
    pub f_prime: Vec<i8>,
    pub f: Vec<i8>,
    pub g: Vec<i8>,
    pub f_inv: Vec<u16>,
    pub h: Vec<u16>,
    #[serde(with = "const_hex")]
    pub f_packed: Vec<u8>,
    #[serde(rename = "mixed-radix")]
    pub mixed_radix: Encapsulation,
    pub packed13: Encapsulation,
}

/// The part of [`Intermediate`] that depends on the public-key encoding.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Encapsulation {
    #[serde(with = "const_hex")]
    pub pk: Vec<u8>,
    #[serde(with = "const_hex")]
    pub id_pk: Vec<u8>,
    #[serde(with = "const_hex")]
    pub m: Vec<u8>,
    #[serde(with = "const_hex")]
    pub hash_input: Vec<u8>,
    #[serde(with = "const_hex")]
    pub hash_output: Vec<u8>,
    #[serde(with = "const_hex")]
    pub coins_r: Vec<u8>,
    pub r: Vec<i8>,
    pub sigma: Vec<u16>,
    #[serde(with = "const_hex")]
    pub e8_codeword_bytes: Vec<u8>,
    /// The rounded `sigma`, before the message is added.
    pub sigma_compressed: Vec<u16>,
    pub c: Vec<u16>,
    #[serde(with = "const_hex")]
    pub ct: Vec<u8>,
    /// `c f` modulo `q2`, which the E8 decoder reads.
    pub decoded: Vec<u16>,
    pub decoded_nibbles: Vec<u8>,
    #[serde(with = "const_hex")]
    pub decoded_m: Vec<u8>,
    #[serde(with = "const_hex")]
    pub ss: Vec<u8>,
    /// The secret that implicit rejection would return for `ct`.
    #[serde(with = "const_hex")]
    pub reject_key_for_this_ct: Vec<u8>,
}

impl Intermediate {
    /// Loads the vector for the ring of degree `n`.
    #[must_use]
    pub fn load(n: usize) -> Self {
        serde_json::from_str(&read(&format!("intermediate-{n}.json"))).expect("a valid vector")
    }

    /// Returns the records of both public-key encodings.
    #[must_use]
    pub fn encapsulations(&self) -> [&Encapsulation; 2] {
        [&self.mixed_radix, &self.packed13]
    }
}

/// A key, an encapsulation, and what decapsulation makes of its ciphertext and of a wrong one.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Operations {
    #[serde(with = "const_hex")]
    pub keygen_seed: [u8; 32],
    #[serde(with = "const_hex")]
    pub z: [u8; 32],
    #[serde(with = "const_hex")]
    pub pk: Vec<u8>,
    #[serde(with = "const_hex")]
    pub sk: Vec<u8>,
    #[serde(with = "const_hex")]
    pub encaps_seed: [u8; 32],
    #[serde(with = "const_hex")]
    pub ct: Vec<u8>,
    #[serde(with = "const_hex")]
    pub ss: [u8; 32],
    #[serde(with = "const_hex")]
    pub bad_ct: Vec<u8>,
    #[serde(with = "const_hex")]
    pub bad_ss: [u8; 32],
}

impl Operations {
    /// Loads the vectors of a ring and of an encoding of public keys, such as `packed13`.
    #[must_use]
    pub fn load(n: usize, encoding: &str) -> Vec<Self> {
        json_lines(&format!("ctru-prime-{n}-{encoding}.jsonl"))
    }

    /// Returns the seed of the key pair.
    #[must_use]
    pub fn seed(&self) -> [u8; 64] {
        array(&[self.keygen_seed, self.z].concat())
    }
}

/// One block for the E8 decoder.
#[derive(Debug, Deserialize)]
pub struct E8Block {
    /// The modulus.
    pub q2: u16,
    /// Values in `0..q2`.
    pub v: [u16; 8],
    /// The nibble that the decoder returns.
    pub nibble: u8,
    /// Whether two codewords are equally near.
    pub tie: bool,
}

impl E8Block {
    /// Loads all blocks.
    #[must_use]
    pub fn load() -> Vec<Self> {
        json_lines("e8-decode.jsonl")
    }
}

/// A seed that is derived from a master seed.
#[derive(Debug, Deserialize)]
pub struct DerivedSeed {
    /// The degree of the ring.
    pub n: usize,
    /// The name of the public-key encoding.
    pub pk_encoding: String,
    /// The operation that takes the seed: `keygen` or `encaps`.
    pub op: String,
    /// The context of the derivation.
    #[serde(with = "const_hex")]
    pub context: Vec<u8>,
    /// The master seed.
    #[serde(with = "const_hex")]
    pub master: [u8; 32],
    /// The row of the operation, little-endian.
    #[serde(with = "const_hex")]
    pub row: [u8; 8],
    /// The first bytes of the key to which an encapsulation goes, or zeros.
    #[serde(with = "const_hex")]
    pub id: [u8; 33],
    /// The derived seed.
    #[serde(with = "const_hex")]
    pub seed: Vec<u8>,
}

impl DerivedSeed {
    /// Loads all seeds.
    #[must_use]
    pub fn load() -> Vec<Self> {
        json_lines("seeds.jsonl")
    }
}

/// A key and an encapsulation of CTRU-Prime with X25519, from an implementation in Python.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hybrid {
    /// The degree of the ring.
    pub n: usize,
    /// The decapsulation key.
    #[serde(with = "const_hex")]
    pub private_key: Vec<u8>,
    /// The encapsulation key.
    #[serde(with = "const_hex")]
    pub public_key: Vec<u8>,
    /// The randomness of the encapsulation.
    #[serde(with = "const_hex")]
    pub coins: Vec<u8>,
    /// The ciphertext.
    #[serde(with = "const_hex")]
    pub ciphertext: Vec<u8>,
    /// The shared secret of CTRU-Prime.
    #[serde(with = "const_hex")]
    pub ss_ctru: [u8; 32],
    /// The result of X25519.
    #[serde(with = "const_hex")]
    pub ss_x25519: [u8; 32],
    /// The shared secret of both.
    #[serde(with = "const_hex")]
    pub shared_secret: [u8; 32],
}

impl Hybrid {
    /// Loads the vectors of the set of degree `n`.
    #[must_use]
    pub fn load(n: usize) -> Vec<Self> {
        json_lines(&format!("x25519-ctru-prime-{n}.jsonl"))
    }
}

/// A record of the response files in the submission of NTRU Prime to NIST.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NtruPrimeOfficial {
    /// The parameter set, such as `sntrup761`.
    pub set: String,
    /// Number of the record in its file.
    pub count: usize,
    /// The seed of the generator.
    #[serde(with = "const_hex")]
    pub seed: [u8; 48],
    /// SHA-256 of the public key, the private key, the ciphertext and the shared secret.
    #[serde(with = "const_hex")]
    pub sha256: [u8; 32],
}

impl NtruPrimeOfficial {
    /// Loads the records of a set.
    #[must_use]
    pub fn load(set: &str) -> Vec<Self> {
        let mut records: Vec<Self> = json_lines("sntrup-official.jsonl");
        records.retain(|record| record.set == set);
        records
    }
}

/// A key, an encapsulation, and what decapsulation makes of a wrong ciphertext, of NTRU Prime.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct NtruPrimeOperations {
    #[serde(with = "const_hex")]
    pub keygen_seed: [u8; 32],
    #[serde(with = "const_hex")]
    pub pk: Vec<u8>,
    #[serde(with = "const_hex")]
    pub sk: Vec<u8>,
    #[serde(with = "const_hex")]
    pub encaps_seed: [u8; 32],
    #[serde(with = "const_hex")]
    pub ct: Vec<u8>,
    #[serde(with = "const_hex")]
    pub ss: Vec<u8>,
    #[serde(with = "const_hex")]
    pub bad_ct: Vec<u8>,
    #[serde(with = "const_hex")]
    pub bad_ss: Vec<u8>,
}

impl NtruPrimeOperations {
    /// Loads the records of a set.
    #[must_use]
    pub fn load(set: &str) -> Vec<Self> {
        json_lines(&format!("{set}.jsonl"))
    }
}

/// Returns the bytes as an array.
///
/// # Panics
/// Panics if the array has another length.
#[must_use]
pub fn array<A: Array<u8>>(bytes: &[u8]) -> A {
    assert_eq!(bytes.len(), A::LEN);
    A::from_fn(|i| bytes[i])
}

/// Returns the records of a file that holds one JSON object per line.
fn json_lines<T: DeserializeOwned>(name: &str) -> Vec<T> {
    read(name).lines().map(|line| serde_json::from_str(line).expect("a valid record")).collect()
}

fn read(name: &str) -> String {
    let path = folder().join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the folder of the vectors: the variable `CTRU_VECTORS`, for tests that run on another
/// machine than they were built on, or `tests/vectors` of the workspace.
fn folder() -> PathBuf {
    let in_workspace = || {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folders = package.ancestors().map(|folder| folder.join("tests/vectors"));
        folders.into_iter().find(|folder| folder.is_dir()).expect("a folder of test vectors")
    };
    std::env::var_os("CTRU_VECTORS").map_or_else(in_workspace, PathBuf::from)
}
