//! Batches whose keys, ciphertexts and shared secrets are rows of bytes, as files, networks and
//! other languages hold them.
//!
//! The CPU engine decodes each row once, to check the key and to compute with it. A pass that only
//! checks would decode each key twice.

use core::fmt;
use core::marker::PhantomData;

use ctru_math::array::Array;
use rayon::prelude::*;
use thiserror::Error;

use super::{CpuEngine, EngineError, KEY_PAIR_SEED_BYTES, Seeds, check_length};
use crate::bytes::{rows, rows_mut};
use crate::error::{InvalidDecapsulationKey, InvalidEncapsulationKey};
use crate::hash::{SEED_BYTES, SHARED_SECRET_BYTES};
use crate::params::{CiphertextBytes, DecapsulationKeyBytes, EncapsulationKeyBytes, ParameterSet};

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
    /// A row is not an encapsulation key. Operations of other rows may have been done; their
    /// outputs are written.
    #[error("row {row} is not an encapsulation key: {error}")]
    EncapsulationKey {
        /// The first such row, from 0.
        row: usize,
        /// What is wrong with the row.
        error: InvalidEncapsulationKey,
    },
    /// A row is not a decapsulation key. Operations of other rows may have been done; their outputs
    /// are written.
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

impl RowError {
    /// Returns the error for an encapsulation key that is refused.
    pub(super) fn encapsulation_key((row, error): (usize, InvalidEncapsulationKey)) -> Self {
        Self::EncapsulationKey { row, error }
    }

    /// Returns the error for a decapsulation key that is refused.
    pub(super) fn decapsulation_key((row, error): (usize, InvalidDecapsulationKey)) -> Self {
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
/// use ctru_kem::CtruPrime761;
/// use ctru_kem::engine::{Context, CpuEngine, CpuRows, Expand, RowEngine, Seeds};
///
/// let engine: Box<dyn RowEngine> = Box::new(CpuRows::<CtruPrime761>::new(CpuEngine::new()?));
/// let (mut public, mut private) = ([0; 3 * 1158], [0; 3 * 1571]);
/// let seeds = Expand { seed: &[1; 32], context: Context::literal(b"example"), first: 0 };
/// engine.generate(Seeds::Expand(seeds), &mut public, &mut private)?;
/// let (mut ciphertexts, mut sent, mut received) = ([0; 3 * 952], [0; 3 * 32], [0; 3 * 32]);
/// engine.encapsulate(&public, Seeds::Expand(seeds), &mut ciphertexts, &mut sent)?;
/// engine.decapsulate(&private, &ciphertexts, &mut received)?;
/// assert_eq!(received, sent);
/// # Ok::<(), ctru_kem::engine::RowError>(())
/// ```
pub trait RowEngine: fmt::Debug + Send + Sync {
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

/// Returns bytes as rows.
///
/// # Errors
/// [`RowError::Bytes`] with the name `slice` if the last row is not complete.
pub(super) fn input<'a, A: Array<u8>>(
    slice: &'static str,
    bytes: &'a [u8],
) -> Result<&'a [A], RowError> {
    let (row_bytes, actual) = (A::LEN, bytes.len());
    rows(bytes).ok_or(RowError::Bytes { slice, row_bytes, actual })
}

/// Returns bytes as rows for writing.
///
/// # Errors
/// [`RowError::Bytes`] with the name `slice` if the last row is not complete.
pub(super) fn output<'a, A: Array<u8>>(
    slice: &'static str,
    bytes: &'a mut [u8],
) -> Result<&'a mut [A], RowError> {
    let (row_bytes, actual) = (A::LEN, bytes.len());
    rows_mut(bytes).ok_or(RowError::Bytes { slice, row_bytes, actual })
}

/// The arrays of an encapsulation: keys, ciphertexts and shared secrets.
pub(super) type Encapsulation<'k, 'c, 's, P> = (
    &'k [EncapsulationKeyBytes<P>],
    &'c mut [CiphertextBytes<P>],
    &'s mut [[u8; SHARED_SECRET_BYTES]],
);
/// The arrays of a decapsulation: keys, ciphertexts and shared secrets.
pub(super) type Decapsulation<'k, 'c, 's, P> =
    (&'k [DecapsulationKeyBytes<P>], &'c [CiphertextBytes<P>], &'s mut [[u8; SHARED_SECRET_BYTES]]);

/// Checks that a batch of `expected` operations has one key or `actual` keys.
fn check_keys(expected: usize, actual: usize) -> Result<(), EngineError> {
    if actual == 1 { Ok(()) } else { check_length("keys", expected, actual) }
}

/// Returns the arrays of an encapsulation.
///
/// # Errors
/// [`RowError`] if the lengths do not fit together or a row does not fit 64 bits.
pub(super) fn encapsulation<'k, 'c, 's, P: ParameterSet>(
    keys: &'k [u8],
    seeds: &Seeds<'_, SEED_BYTES>,
    ciphertexts: &'c mut [u8],
    shared_secrets: &'s mut [u8],
) -> Result<Encapsulation<'k, 'c, 's, P>, RowError> {
    let keys: &[_] = input("keys", keys)?;
    let ciphertexts: &mut [_] = output("ciphertexts", ciphertexts)?;
    let secrets: &mut [_] = output("shared secrets", shared_secrets)?;
    check_length("ciphertexts", secrets.len(), ciphertexts.len())?;
    check_keys(secrets.len(), keys.len())?;
    seeds.check(secrets.len())?;
    Ok((keys, ciphertexts, secrets))
}

/// Returns the arrays of a decapsulation.
///
/// # Errors
/// [`RowError`] if the lengths do not fit together.
pub(super) fn decapsulation<'k, 'c, 's, P: ParameterSet>(
    keys: &'k [u8],
    ciphertexts: &'c [u8],
    shared_secrets: &'s mut [u8],
) -> Result<Decapsulation<'k, 'c, 's, P>, RowError> {
    let keys: &[_] = input("keys", keys)?;
    let ciphertexts: &[_] = input("ciphertexts", ciphertexts)?;
    let secrets: &mut [_] = output("shared secrets", shared_secrets)?;
    check_length("ciphertexts", secrets.len(), ciphertexts.len())?;
    check_keys(secrets.len(), keys.len())?;
    Ok((keys, ciphertexts, secrets))
}

impl CpuEngine {
    /// Checks that each row is an encapsulation key, on all threads.
    ///
    /// # Errors
    /// [`RowError::Bytes`] if the last row is not complete, [`RowError::EncapsulationKey`] with the
    /// first row that is not a key.
    pub fn check_encapsulation_keys<P: ParameterSet>(&self, rows: &[u8]) -> Result<(), RowError> {
        let keys: &[EncapsulationKeyBytes<P>] = input("keys", rows)?;
        let refused = self.pool().install(|| {
            keys.par_iter().enumerate().find_map_first(|(row, key)| {
                P::check_encapsulation_key(key).err().map(|error| (row, error))
            })
        });
        refused.map_or(Ok(()), |refused| Err(RowError::encapsulation_key(refused)))
    }

    /// Checks that each row is a decapsulation key, on all threads.
    ///
    /// # Errors
    /// [`RowError::Bytes`] if the last row is not complete, [`RowError::DecapsulationKey`] with the
    /// first row that is not a key.
    pub fn check_decapsulation_keys<P: ParameterSet>(&self, rows: &[u8]) -> Result<(), RowError> {
        let keys: &[DecapsulationKeyBytes<P>] = input("keys", rows)?;
        let refused = self.pool().install(|| {
            keys.par_iter().enumerate().find_map_first(|(row, key)| {
                P::check_decapsulation_key(key).err().map(|error| (row, error))
            })
        });
        refused.map_or(Ok(()), |refused| Err(RowError::decapsulation_key(refused)))
    }
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
}

impl<P: ParameterSet> fmt::Debug for CpuRows<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CpuRows").field("set", &P::NAME).field("engine", &self.engine).finish()
    }
}

impl<P: ParameterSet> RowEngine for CpuRows<P> {
    fn generate(
        &self,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        encapsulation_keys: &mut [u8],
        decapsulation_keys: &mut [u8],
    ) -> Result<(), RowError> {
        let encapsulation_keys: &mut [_] = output("encapsulation keys", encapsulation_keys)?;
        let decapsulation_keys: &mut [_] = output("decapsulation keys", decapsulation_keys)?;
        let count = encapsulation_keys.len();
        check_length("decapsulation keys", count, decapsulation_keys.len())?;
        seeds.check(count)?;
        P::generate_batch(self.engine.pool(), seeds, encapsulation_keys, decapsulation_keys);
        Ok(())
    }

    fn encapsulate(
        &self,
        keys: &[u8],
        seeds: Seeds<'_, SEED_BYTES>,
        ciphertexts: &mut [u8],
        shared_secrets: &mut [u8],
    ) -> Result<(), RowError> {
        let (keys, ciphertexts, secrets) =
            encapsulation::<P>(keys, &seeds, ciphertexts, shared_secrets)?;
        P::encapsulate_rows(self.engine.pool(), keys, seeds, ciphertexts, secrets)
            .map_err(RowError::encapsulation_key)
    }

    fn decapsulate(
        &self,
        keys: &[u8],
        ciphertexts: &[u8],
        shared_secrets: &mut [u8],
    ) -> Result<(), RowError> {
        let (keys, ciphertexts, secrets) = decapsulation::<P>(keys, ciphertexts, shared_secrets)?;
        P::decapsulate_rows(self.engine.pool(), keys, ciphertexts, secrets)
            .map_err(RowError::decapsulation_key)
    }
}
