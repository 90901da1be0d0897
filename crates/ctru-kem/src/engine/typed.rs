//! The engine on typed keys, ciphertexts and shared secrets.

use core::slice;

use super::{BatchEngine, EngineError, KEY_PAIR_SEED_BYTES, KeyRows, Keys, Loaded, Seeds};
use crate::batch::check_length;
use crate::bytes::{Transparent, bytes, bytes_mut};
use crate::hash::SEED_BYTES;
use crate::keys::{Ciphertext, DecapsulationKey, EncapsulationKey, SharedSecret};
use crate::params::ParameterSet;

/// Runs batches of one parameter set on typed values. Every [`BatchEngine`] does.
///
/// ```
/// use ctru_kem::engine::{CpuEngine, Engine, Keys, Seeds};
/// use ctru_kem::{Ciphertext, CtruPrime761, DecapsulationKey, SharedSecret};
///
/// let engine = CpuEngine::new()?;
/// let key = DecapsulationKey::<CtruPrime761>::try_generate()?;
/// let loaded = engine.load_encapsulation_keys(&[key.encapsulation_key()])?;
/// let (mut ciphertexts, mut secrets) = ([Ciphertext::default()], [SharedSecret::default()]);
/// let seeds = Seeds::Each(&[[1; 32]]); // A real seed is random and secret.
/// engine.encapsulate(Keys::Loaded(&loaded), seeds, &mut ciphertexts, &mut secrets)?;
/// assert_eq!(key.decapsulate(&ciphertexts[0]), secrets[0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Keys of another parameter set do not compile:
///
/// ```compile_fail,E0308
/// use ctru_kem::engine::{CpuEngine, Engine, EngineError, Keys, Seeds};
/// use ctru_kem::{Ciphertext, CtruPrime653, CtruPrime761, EncapsulationKey, SharedSecret};
///
/// fn example(engine: CpuEngine, key: EncapsulationKey<CtruPrime653>) -> Result<(), EngineError> {
///     let loaded = engine.load_encapsulation_keys(&[key])?;
///     let mut ciphertexts = [Ciphertext::<CtruPrime761>::default()];
///     let (keys, mut secrets) = (Keys::Loaded(&loaded), [SharedSecret::default()]);
///     engine.encapsulate(keys, Seeds::Each(&[[1; 32]]), &mut ciphertexts, &mut secrets)
/// }
/// ```
pub trait Engine<P: ParameterSet>: BatchEngine {
    /// Decodes keys into the memory of the engine, so that batches need not decode them again. A
    /// single key serves all operations of a batch. Several keys serve batches with as many
    /// operations as keys.
    ///
    /// # Errors
    /// [`EngineError`] if the engine has no memory for the keys, if a key is a placeholder that
    /// `from_bytes` refuses, or if the engine fails.
    fn load_encapsulation_keys(
        &self,
        keys: &[EncapsulationKey<P>],
    ) -> Result<Loaded<EncapsulationKey<P>>, EngineError> {
        self.load_encapsulation_rows(P::PARAMETERS, bytes(keys)).map(Loaded::new)
    }

    /// Decodes keys into the memory of the engine, like
    /// [`load_encapsulation_keys`](Self::load_encapsulation_keys). The loaded keys are wiped when
    /// dropped.
    ///
    /// # Errors
    /// [`EngineError`] if the engine has no memory for the keys, if a key is a placeholder that
    /// `from_bytes` refuses, or if the engine fails.
    fn load_decapsulation_keys(
        &self,
        keys: &[DecapsulationKey<P>],
    ) -> Result<Loaded<DecapsulationKey<P>>, EngineError> {
        self.load_decapsulation_rows(P::PARAMETERS, bytes(keys)).map(Loaded::new)
    }

    /// Generates one key pair for each element of the output slices, which have the same length.
    ///
    /// # Errors
    /// [`EngineError`] if the lengths differ, a row does not fit 64 bits, or the engine fails. The
    /// variants of the error say which outputs are written.
    fn generate(
        &self,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        encapsulation_keys: &mut [EncapsulationKey<P>],
        decapsulation_keys: &mut [DecapsulationKey<P>],
    ) -> Result<(), EngineError> {
        let (public, private) = (bytes_mut(encapsulation_keys), bytes_mut(decapsulation_keys));
        self.generate_rows(P::PARAMETERS, seeds, Some(public), private)
    }

    /// Generates one decapsulation key for each element of the output slice. Each key
    /// [contains](DecapsulationKey::encapsulation_key) its encapsulation key.
    ///
    /// The keys equal the decapsulation keys that [`generate`](Self::generate) makes from the same
    /// seeds. This function writes and transfers fewer bytes.
    ///
    /// # Errors
    /// Those of [`generate`](Self::generate).
    fn generate_decapsulation_keys(
        &self,
        seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
        decapsulation_keys: &mut [DecapsulationKey<P>],
    ) -> Result<(), EngineError> {
        self.generate_rows(P::PARAMETERS, seeds, None, bytes_mut(decapsulation_keys))
    }

    /// Encapsulates once for each element of the output slices, which have the same length.
    ///
    /// # Errors
    /// [`EngineError`] if the lengths differ, a row does not fit 64 bits, or the engine fails. The
    /// variants of the error say which outputs are written.
    fn encapsulate(
        &self,
        keys: Keys<'_, EncapsulationKey<P>>,
        seeds: Seeds<'_, SEED_BYTES>,
        ciphertexts: &mut [Ciphertext<P>],
        shared_secrets: &mut [SharedSecret],
    ) -> Result<(), EngineError> {
        let keys = rows(keys, shared_secrets.len())?;
        let (ciphertexts, secrets) = (bytes_mut(ciphertexts), bytes_mut(shared_secrets));
        self.encapsulate_rows(P::PARAMETERS, keys, seeds, ciphertexts, secrets)
    }

    /// Decapsulates each ciphertext. The output slice has as many elements as `ciphertexts`.
    ///
    /// # Errors
    /// [`EngineError`] if the lengths differ or the engine fails. The variants of the error say
    /// which outputs are written.
    fn decapsulate(
        &self,
        keys: Keys<'_, DecapsulationKey<P>>,
        ciphertexts: &[Ciphertext<P>],
        shared_secrets: &mut [SharedSecret],
    ) -> Result<(), EngineError> {
        let keys = rows(keys, shared_secrets.len())?;
        let (ciphertexts, secrets) = (bytes(ciphertexts), bytes_mut(shared_secrets));
        self.decapsulate_rows(P::PARAMETERS, keys, ciphertexts, secrets)
    }
}

impl<P: ParameterSet, E: BatchEngine + ?Sized> Engine<P> for E {}

/// Returns keys as rows for a batch of `count` operations.
///
/// # Errors
/// [`EngineError::Length`] if there is not one key for each operation.
fn rows<K: Transparent>(keys: Keys<'_, K>, count: usize) -> Result<KeyRows<'_>, EngineError> {
    Ok(match keys {
        Keys::One(key) => KeyRows::Trusted(bytes(slice::from_ref(key))),
        Keys::Each(keys) => {
            check_length("keys", count, keys.len())?;
            KeyRows::Trusted(bytes(keys))
        }
        Keys::Loaded(keys) => KeyRows::Loaded(keys.keys()),
    })
}
