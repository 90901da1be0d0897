//! The engine on rows of bytes, as files, networks and other languages hold them.

use core::fmt;
use core::ops::{Deref, DerefMut};
use std::boxed::Box;
use std::vec::Vec;

use zeroize::Zeroize;

use super::{EngineError, KEY_PAIR_SEED_BYTES, KeyRows, LoadedKeys, Seeds};
use crate::hash::SEED_BYTES;
use crate::parameters::Parameters;

/// Bytes in memory that an engine has [pinned](BatchEngine::pin).
pub struct PinnedBytes(Box<dyn DerefMut<Target = [u8]> + Send + Sync>);

impl PinnedBytes {
    /// Returns bytes whose memory an engine has pinned, or that it uses as they are.
    #[must_use]
    pub fn new(bytes: impl DerefMut<Target = [u8]> + Send + Sync + 'static) -> Self {
        Self(Box::new(bytes))
    }
}

impl Deref for PinnedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for PinnedBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl fmt::Debug for PinnedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PinnedBytes({} bytes)", self.len())
    }
}

/// Runs batches of key generations, encapsulations and decapsulations, with all parameters.
///
/// A slice has the bytes of its rows, one row after the other. [`Parameters::sizes`] says how long
/// rows are. [`KeyRows`] says which keys there may be. Several threads may call an engine at the
/// same time.
///
/// ```
/// use ctru_kem::Parameters;
/// use ctru_kem::engine::{BatchEngine, Context, CpuEngine, Expand, KeyRows, Seeds};
///
/// let engine: Box<dyn BatchEngine> = Box::new(CpuEngine::new()?);
/// for &parameters in Parameters::ALL {
///     let sizes = parameters.sizes();
///     let mut public = vec![0; 3 * sizes.encapsulation_key];
///     let mut private = vec![0; 3 * sizes.decapsulation_key];
///     let seeds = Expand { seed: &[1; 32], context: Context::literal(b"example"), first: 0 };
///     let seeds = Seeds::Expand(seeds);
///     engine.generate_rows(parameters, seeds, Some(&mut public), &mut private)?;
///     let (mut ciphertexts, mut sent) = (vec![0; 3 * sizes.ciphertext], [0; 3 * 32]);
///     let keys = KeyRows::Unchecked(&public);
///     let seeds = Expand { seed: &[2; 32], context: Context::literal(b"example"), first: 0 };
///     let seeds = Seeds::Expand(seeds);
///     engine.encapsulate_rows(parameters, keys, seeds, &mut ciphertexts, &mut sent)?;
///     let mut received = [0; 3 * 32];
///     let keys = KeyRows::Unchecked(&private);
///     engine.decapsulate_rows(parameters, keys, &ciphertexts, &mut received)?;
///     assert_eq!(received, sent);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait BatchEngine: fmt::Debug + Send + Sync {
    /// Returns whether the engine computes with these parameters. A call with others returns an
    /// error.
    fn supports(&self, parameters: Parameters) -> bool {
        let _ = parameters;
        true
    }

    /// Generates a key pair for each row of the outputs, or only its decapsulation key, which
    /// contains the encapsulation key.
    ///
    /// # Errors
    /// [`EngineError`] if the lengths do not fit together, a row does not fit 64 bits, or the
    /// engine fails. The variants of the error say which outputs are written.
    fn generate_rows(
        &self,
        parameters: Parameters,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        encapsulation_keys: Option<&mut [u8]>,
        decapsulation_keys: &mut [u8],
    ) -> Result<(), EngineError>;

    /// Encapsulates once for each row of the outputs.
    ///
    /// # Errors
    /// [`EngineError`] if the lengths do not fit together, a key is refused, a row does not fit 64
    /// bits, or the engine fails. The variants of the error say which outputs are written.
    fn encapsulate_rows(
        &self,
        parameters: Parameters,
        keys: KeyRows<'_>,
        seeds: Seeds<'_, SEED_BYTES>,
        ciphertexts: &mut [u8],
        shared_secrets: &mut [u8],
    ) -> Result<(), EngineError>;

    /// Decapsulates each row of `ciphertexts`.
    ///
    /// # Errors
    /// [`EngineError`] if the lengths do not fit together, a key is refused, or the engine fails.
    /// The variants of the error say which outputs are written.
    fn decapsulate_rows(
        &self,
        parameters: Parameters,
        keys: KeyRows<'_>,
        ciphertexts: &[u8],
        shared_secrets: &mut [u8],
    ) -> Result<(), EngineError>;

    /// Checks encapsulation keys and decodes them into the memory of the engine, so that batches
    /// need not decode them again. A single key serves all operations of a batch. Several keys
    /// serve batches with as many operations as keys.
    ///
    /// # Errors
    /// [`EngineError`] if a row is refused, the engine has no memory for the keys, or it fails.
    fn load_encapsulation_rows(
        &self,
        parameters: Parameters,
        keys: &[u8],
    ) -> Result<LoadedKeys, EngineError>;

    /// Checks decapsulation keys and decodes them into the memory of the engine, like
    /// [`load_encapsulation_rows`](Self::load_encapsulation_rows).
    ///
    /// # Errors
    /// [`EngineError`] if a row is refused, the engine has no memory for the keys, or it fails.
    fn load_decapsulation_rows(
        &self,
        parameters: Parameters,
        keys: &[u8],
    ) -> Result<LoadedKeys, EngineError>;

    /// Pins the memory of a vector, so that the engine can transfer it without another copy.
    ///
    /// A GPU reads and writes keys and ciphertexts in pinned memory directly. Pinning takes some
    /// microseconds per page. Each page can be pinned only once: if two small vectors lie on the
    /// same page, pinning the second one can fail. The CPU engine returns the vector unchanged.
    ///
    /// # Errors
    /// [`EngineError`] if the engine cannot pin the vector. The vector is dropped.
    fn pin(&self, bytes: Vec<u8>) -> Result<PinnedBytes, EngineError>;

    /// Removes the keys, seeds and secrets of batches that are done from memory that the engine
    /// keeps for its next batch. Keys that the engine has loaded stay. An engine that keeps no such
    /// memory, such as the one of the CPU, does nothing.
    ///
    /// # Errors
    /// [`EngineError`] if a device fails.
    fn wipe(&self) -> Result<(), EngineError>;
}

/// Returns whether a batch has failed because a row is not a key.
pub(super) fn is_refusal(result: &Result<(), EngineError>) -> bool {
    use EngineError::{DecapsulationKey, EncapsulationKey};
    matches!(result, Err(EncapsulationKey { .. } | DecapsulationKey { .. }))
}

/// Returns the result of a batch. If a key was refused, overwrites the shared secrets with
/// placeholders, so that those of other rows are not left in memory.
pub(super) fn without_secrets_if_refused(
    result: Result<(), EngineError>,
    secrets: &mut [u8],
) -> Result<(), EngineError> {
    if is_refusal(&result) {
        secrets.zeroize();
    }
    result
}
