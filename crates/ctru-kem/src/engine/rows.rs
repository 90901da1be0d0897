//! Batches whose keys, ciphertexts and shared secrets are rows of bytes, as files, networks and
//! other languages hold them.
//!
//! The CPU engine decodes each row once, to check the key and to compute with it. A pass that only
//! checks would decode each key twice.

use core::fmt;

use thiserror::Error;
use zeroize::Zeroize;

use super::{CpuEngine, EngineError, KEY_PAIR_SEED_BYTES, Seeds, check_length};
use crate::batch::KeyRows;
use crate::description::Sizes;
use crate::error::{InvalidDecapsulationKey, InvalidEncapsulationKey, InvalidRow};
use crate::hash::{SEED_BYTES, SHARED_SECRET_BYTES};
use crate::parameters::Parameters;

/// The reason why a batch of rows was not computed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RowError {
    /// The bytes of a slice are not a whole number of rows.
    #[error("{slice} have {actual} bytes, which are not rows of {row_bytes}")]
    Bytes {
        /// The name of the slice.
        slice: &'static str,
        /// The number of bytes of a row.
        row_bytes: usize,
        /// The number of bytes of the slice.
        actual: usize,
    },
    /// A row is not an encapsulation key. Operations of other rows may have been done. Their
    /// ciphertexts may be written; all shared secrets become
    /// [placeholders](crate::SharedSecret::is_placeholder).
    #[error("row {row} is not an encapsulation key: {error}")]
    EncapsulationKey {
        /// The first such row, from 0.
        row: usize,
        /// What is wrong with the row.
        error: InvalidEncapsulationKey,
    },
    /// A row is not a decapsulation key. Operations of other rows may have been done. All shared
    /// secrets become [placeholders](crate::SharedSecret::is_placeholder).
    #[error("row {row} is not a decapsulation key: {error}")]
    DecapsulationKey {
        /// The first such row, from 0.
        row: usize,
        /// What is wrong with the row.
        error: InvalidDecapsulationKey,
    },
    /// The engine did not compute the batch.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl From<InvalidRow<InvalidEncapsulationKey>> for RowError {
    fn from(InvalidRow { row, error }: InvalidRow<InvalidEncapsulationKey>) -> Self {
        Self::EncapsulationKey { row, error }
    }
}

impl From<InvalidRow<InvalidDecapsulationKey>> for RowError {
    fn from(InvalidRow { row, error }: InvalidRow<InvalidDecapsulationKey>) -> Self {
        Self::DecapsulationKey { row, error }
    }
}

/// Runs batches of one parameter set on rows of bytes. The parameter set is chosen at run time.
///
/// A slice has the bytes of its rows, one row after the other. A slice of keys has one row, which
/// serves all operations, or one row for each. The engine checks that each row is a key, like
/// [`EncapsulationKey::from_bytes`](crate::EncapsulationKey::from_bytes) and
/// [`DecapsulationKey::from_bytes`](crate::DecapsulationKey::from_bytes), and names the first row
/// that is not. Several threads may call an engine at the same time.
///
/// ```
/// use ctru_kem::{Encoding, Parameters};
/// use ctru_kem::engine::{Context, CpuEngine, CpuRows, Expand, RowEngine, Seeds};
///
/// let parameters = Parameters { set: "761".parse()?, encoding: Encoding::MixedRadix };
/// let engine: Box<dyn RowEngine> = Box::new(CpuRows::new(CpuEngine::new()?, parameters));
/// let sizes = parameters.sizes();
/// let mut public = vec![0; 3 * sizes.encapsulation_key];
/// let mut private = vec![0; 3 * sizes.decapsulation_key];
/// let seeds = Expand { seed: &[1; 32], context: Context::literal(b"example"), first: 0 };
/// engine.generate(Seeds::Expand(seeds), &mut public, &mut private)?;
/// let (mut ciphertexts, mut sent) = (vec![0; 3 * sizes.ciphertext], [0; 3 * 32]);
/// engine.encapsulate(&public, Seeds::Expand(seeds), &mut ciphertexts, &mut sent)?;
/// let mut received = [0; 3 * 32];
/// engine.decapsulate(&private, &ciphertexts, &mut received)?;
/// assert_eq!(received, sent);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait RowEngine: fmt::Debug + Send + Sync {
    /// Returns the parameters, which say how long rows are.
    fn parameters(&self) -> Parameters;

    /// Generates one key pair for each row of the outputs.
    ///
    /// # Errors
    /// [`RowError`] if the lengths do not fit together, a row does not fit 64 bits, or the engine
    /// fails.
    fn generate(
        &self,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        encapsulation_keys: &mut [u8],
        decapsulation_keys: &mut [u8],
    ) -> Result<(), RowError>;

    /// Encapsulates once for each row of the outputs.
    ///
    /// # Errors
    /// [`RowError`] if the lengths do not fit together, a key is refused, a row does not fit 64
    /// bits, or the engine fails.
    fn encapsulate(
        &self,
        keys: &[u8],
        seeds: Seeds<'_, SEED_BYTES>,
        ciphertexts: &mut [u8],
        shared_secrets: &mut [u8],
    ) -> Result<(), RowError>;

    /// Decapsulates each row of `ciphertexts`.
    ///
    /// # Errors
    /// [`RowError`] if the lengths do not fit together, a key is refused, or the engine fails.
    fn decapsulate(
        &self,
        keys: &[u8],
        ciphertexts: &[u8],
        shared_secrets: &mut [u8],
    ) -> Result<(), RowError>;
}

/// Returns the number of rows that the slice with the name `slice` has.
///
/// # Errors
/// [`RowError::Bytes`] if the last row is not complete.
fn count_rows(slice: &'static str, row_bytes: usize, bytes: &[u8]) -> Result<usize, RowError> {
    match bytes.len() {
        actual if !actual.is_multiple_of(row_bytes) => {
            Err(RowError::Bytes { slice, row_bytes, actual })
        }
        actual => Ok(actual / row_bytes),
    }
}

/// Checks the lengths of a key generation, and returns the number of key pairs.
///
/// # Errors
/// [`RowError`] if they do not fit together.
pub(super) fn check_generation(
    sizes: Sizes,
    seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
    encapsulation_keys: &[u8],
    decapsulation_keys: &[u8],
) -> Result<usize, RowError> {
    let count = count_rows("encapsulation keys", sizes.encapsulation_key, encapsulation_keys)?;
    let private = count_rows("decapsulation keys", sizes.decapsulation_key, decapsulation_keys)?;
    check_length("decapsulation keys", count, private)?;
    seeds.check(count)?;
    Ok(count)
}

/// Checks the lengths of a batch with keys of `key_bytes`: that it has one key or one for each
/// operation. Returns the number of keys.
///
/// # Errors
/// [`RowError`] if the lengths do not fit together.
pub(super) fn check_lengths(
    key_bytes: usize,
    keys: &[u8],
    sizes: Sizes,
    ciphertexts: &[u8],
    shared_secrets: &[u8],
) -> Result<usize, RowError> {
    let keys = count_rows("keys", key_bytes, keys)?;
    let ciphertexts = count_rows("ciphertexts", sizes.ciphertext, ciphertexts)?;
    let secrets = count_rows("shared secrets", SHARED_SECRET_BYTES, shared_secrets)?;
    check_length("ciphertexts", secrets, ciphertexts)?;
    if keys != 1 {
        check_length("keys", secrets, keys)?;
    }
    Ok(keys)
}

/// Returns the result of a batch. If a key was refused, overwrites the shared secrets with
/// placeholders, so that those of other rows are not left in memory.
pub(super) fn without_secrets_if_refused<E: Into<RowError>>(
    result: Result<(), E>,
    secrets: &mut [u8],
) -> Result<(), RowError> {
    let result = result.map_err(E::into);
    if let Err(RowError::EncapsulationKey { .. } | RowError::DecapsulationKey { .. }) = result {
        secrets.zeroize();
    }
    result
}

/// The CPU engine for rows of one parameter set.
#[derive(Clone)]
pub struct CpuRows {
    engine: CpuEngine,
    parameters: Parameters,
}

impl CpuRows {
    /// Returns an engine that shares the threads of `engine`.
    #[must_use]
    pub fn new(engine: CpuEngine, parameters: Parameters) -> Self {
        Self { engine, parameters }
    }

    /// Returns the engine that computes.
    #[must_use]
    pub fn engine(&self) -> &CpuEngine {
        &self.engine
    }
}

impl fmt::Debug for CpuRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parameters = format_args!("{}", self.parameters);
        f.debug_struct("CpuRows")
            .field("engine", &self.engine)
            .field("parameters", &parameters)
            .finish()
    }
}

impl RowEngine for CpuRows {
    fn parameters(&self) -> Parameters {
        self.parameters
    }

    fn generate(
        &self,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        encapsulation_keys: &mut [u8],
        decapsulation_keys: &mut [u8],
    ) -> Result<(), RowError> {
        let sizes = self.parameters.sizes();
        check_generation(sizes, seeds, encapsulation_keys, decapsulation_keys)?;
        let generate = self.parameters.operations().generate_batch;
        generate(self.engine.pool(), seeds, encapsulation_keys, decapsulation_keys);
        Ok(())
    }

    fn encapsulate(
        &self,
        keys: &[u8],
        seeds: Seeds<'_, SEED_BYTES>,
        ciphertexts: &mut [u8],
        shared_secrets: &mut [u8],
    ) -> Result<(), RowError> {
        let sizes = self.parameters.sizes();
        check_lengths(sizes.encapsulation_key, keys, sizes, ciphertexts, shared_secrets)?;
        seeds.check(shared_secrets.len() / SHARED_SECRET_BYTES)?;
        let encapsulate = self.parameters.operations().encapsulate_batch;
        let (pool, keys) = (self.engine.pool(), KeyRows::Unchecked(keys));
        let result = encapsulate(pool, keys, seeds, ciphertexts, shared_secrets);
        without_secrets_if_refused(result, shared_secrets)
    }

    fn decapsulate(
        &self,
        keys: &[u8],
        ciphertexts: &[u8],
        shared_secrets: &mut [u8],
    ) -> Result<(), RowError> {
        let sizes = self.parameters.sizes();
        check_lengths(sizes.decapsulation_key, keys, sizes, ciphertexts, shared_secrets)?;
        let decapsulate = self.parameters.operations().decapsulate_batch;
        let (pool, keys) = (self.engine.pool(), KeyRows::Unchecked(keys));
        without_secrets_if_refused(
            decapsulate(pool, keys, ciphertexts, shared_secrets),
            shared_secrets,
        )
    }
}
