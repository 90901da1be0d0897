//! Batches whose keys, ciphertexts and shared secrets are rows of bytes, as files, networks and
//! other languages hold them.
//!
//! The CPU engine decodes each row once, to check the key and to compute with it. A pass that only
//! checks would decode each key twice.

use core::fmt;
use core::marker::PhantomData;

use thiserror::Error;
use zeroize::Zeroize;

use super::{CpuEngine, Engine, EngineError, KEY_PAIR_SEED_BYTES, Seeds, check_length};
use crate::bytes::{Transparent, arrays, arrays_mut, values, values_mut};
use crate::error::{InvalidDecapsulationKey, InvalidEncapsulationKey, InvalidLength, InvalidRow};
use crate::hash::SEED_BYTES;
use crate::keys::{Ciphertext, DecapsulationKey, EncapsulationKey, SharedSecret};
use crate::params::ParameterSet;

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
    /// [placeholders](SharedSecret::is_placeholder).
    #[error("row {row} is not an encapsulation key: {error}")]
    EncapsulationKey {
        /// The first such row, from 0.
        row: usize,
        /// What is wrong with the row.
        error: InvalidEncapsulationKey,
    },
    /// A row is not a decapsulation key. Operations of other rows may have been done. All shared
    /// secrets become [placeholders](SharedSecret::is_placeholder).
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

/// The bytes of a row of each kind of array. A shared secret has
/// [`SHARED_SECRET_BYTES`](crate::SHARED_SECRET_BYTES) in every parameter set.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct RowSizes {
    /// Bytes of an encapsulation key.
    pub encapsulation_key: usize,
    /// Bytes of a decapsulation key.
    pub decapsulation_key: usize,
    /// Bytes of a ciphertext.
    pub ciphertext: usize,
}

impl RowSizes {
    /// Returns the sizes of a parameter set.
    #[must_use]
    pub const fn of<P: ParameterSet>() -> Self {
        Self {
            encapsulation_key: P::ENCAPSULATION_KEY_BYTES,
            decapsulation_key: P::DECAPSULATION_KEY_BYTES,
            ciphertext: P::CIPHERTEXT_BYTES,
        }
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
/// use ctru_kem::CtruPrime761;
/// use ctru_kem::engine::{Context, CpuEngine, CpuRows, Expand, RowEngine, Seeds};
///
/// let engine: Box<dyn RowEngine> = Box::new(CpuRows::<CtruPrime761>::new(CpuEngine::new()?));
/// let sizes = engine.sizes();
/// let mut public = vec![0; 3 * sizes.encapsulation_key];
/// let mut private = vec![0; 3 * sizes.decapsulation_key];
/// let seeds = Expand { seed: &[1; 32], context: Context::literal(b"example"), first: 0 };
/// engine.generate(Seeds::Expand(seeds), &mut public, &mut private)?;
/// let (mut ciphertexts, mut sent) = (vec![0; 3 * sizes.ciphertext], [0; 3 * 32]);
/// engine.encapsulate(&public, Seeds::Expand(seeds), &mut ciphertexts, &mut sent)?;
/// let mut received = [0; 3 * 32];
/// engine.decapsulate(&private, &ciphertexts, &mut received)?;
/// assert_eq!(received, sent);
/// # Ok::<(), ctru_kem::engine::RowError>(())
/// ```
pub trait RowEngine: fmt::Debug + Send + Sync {
    /// Returns the sizes of the rows.
    fn sizes(&self) -> RowSizes;

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

/// Returns the values that `bytes` are, with the name `slice` in errors.
///
/// # Errors
/// [`RowError::Bytes`] if the last row is not complete.
pub(super) fn input<'a, T: Transparent>(
    slice: &'static str,
    bytes: &'a [u8],
) -> Result<&'a [T], RowError> {
    values(bytes).map_err(|InvalidLength { expected, .. }| RowError::Bytes {
        slice,
        row_bytes: expected,
        actual: bytes.len(),
    })
}

/// Returns the values that `bytes` are, for writing, with the name `slice` in errors.
///
/// # Errors
/// [`RowError::Bytes`] if the last row is not complete.
pub(super) fn output<'a, T: Transparent>(
    slice: &'static str,
    bytes: &'a mut [u8],
) -> Result<&'a mut [T], RowError> {
    let actual = bytes.len();
    values_mut(bytes).map_err(|InvalidLength { expected, .. }| RowError::Bytes {
        slice,
        row_bytes: expected,
        actual,
    })
}

/// Checks the lengths of a batch, and that it has one key or one for each operation.
///
/// # Errors
/// [`EngineError::Length`] if they do not fit together.
pub(super) fn check_lengths(
    keys: usize,
    ciphertexts: usize,
    secrets: usize,
) -> Result<(), EngineError> {
    check_length("ciphertexts", secrets, ciphertexts)?;
    if keys == 1 { Ok(()) } else { check_length("keys", secrets, keys) }
}

/// Returns the result of a batch. If a key was refused, overwrites the shared secrets with
/// placeholders, so that those of other rows are not left in memory.
pub(super) fn without_secrets_if_refused<E: Into<RowError>>(
    result: Result<(), E>,
    secrets: &mut [SharedSecret],
) -> Result<(), RowError> {
    let result = result.map_err(E::into);
    if let Err(RowError::EncapsulationKey { .. } | RowError::DecapsulationKey { .. }) = result {
        secrets.iter_mut().for_each(Zeroize::zeroize);
    }
    result
}

/// The CPU engine for rows of one parameter set.
pub struct CpuRows<P> {
    engine: CpuEngine,
    parameter_set: PhantomData<P>,
}

impl<P: ParameterSet> CpuRows<P> {
    /// Returns an engine that shares the threads of `engine`.
    #[must_use]
    pub fn new(engine: CpuEngine) -> Self {
        Self { engine, parameter_set: PhantomData }
    }

    /// Returns the engine that computes.
    #[must_use]
    pub fn engine(&self) -> &CpuEngine {
        &self.engine
    }
}

impl<P: ParameterSet> fmt::Debug for CpuRows<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CpuRows").field("set", &P::NAME).field("engine", &self.engine).finish()
    }
}

impl<P: ParameterSet> RowEngine for CpuRows<P> {
    fn sizes(&self) -> RowSizes {
        RowSizes::of::<P>()
    }

    fn generate(
        &self,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        encapsulation_keys: &mut [u8],
        decapsulation_keys: &mut [u8],
    ) -> Result<(), RowError> {
        // Nothing reads these slices before the engine has written keys to them.
        let encapsulation_keys: &mut [EncapsulationKey<P>] =
            output("encapsulation keys", encapsulation_keys)?;
        let decapsulation_keys: &mut [DecapsulationKey<P>] =
            output("decapsulation keys", decapsulation_keys)?;
        Ok(self.engine.generate(seeds, encapsulation_keys, decapsulation_keys)?)
    }

    fn encapsulate(
        &self,
        keys: &[u8],
        seeds: Seeds<'_, SEED_BYTES>,
        ciphertexts: &mut [u8],
        shared_secrets: &mut [u8],
    ) -> Result<(), RowError> {
        // The batch checks these rows before it takes them as keys.
        let keys: &[EncapsulationKey<P>] = input("keys", keys)?;
        let ciphertexts: &mut [Ciphertext<P>] = output("ciphertexts", ciphertexts)?;
        let secrets: &mut [SharedSecret] = output("shared secrets", shared_secrets)?;
        check_lengths(keys.len(), ciphertexts.len(), secrets.len())?;
        seeds.check(secrets.len())?;
        let (pool, keys, ciphertexts) = (self.engine.pool(), arrays(keys), arrays_mut(ciphertexts));
        let result = P::encapsulate_rows(pool, keys, seeds, ciphertexts, arrays_mut(secrets));
        without_secrets_if_refused(result, secrets)
    }

    fn decapsulate(
        &self,
        keys: &[u8],
        ciphertexts: &[u8],
        shared_secrets: &mut [u8],
    ) -> Result<(), RowError> {
        // The batch checks these rows before it takes them as keys.
        let keys: &[DecapsulationKey<P>] = input("keys", keys)?;
        let ciphertexts: &[Ciphertext<P>] = input("ciphertexts", ciphertexts)?;
        let secrets: &mut [SharedSecret] = output("shared secrets", shared_secrets)?;
        check_lengths(keys.len(), ciphertexts.len(), secrets.len())?;
        let (pool, keys, ciphertexts) = (self.engine.pool(), arrays(keys), arrays(ciphertexts));
        let result = P::decapsulate_rows(pool, keys, ciphertexts, arrays_mut(secrets));
        without_secrets_if_refused(result, secrets)
    }
}
