//! The keys of a batch, and keys that stay on a device.

use core::fmt;
use core::marker::PhantomData;
use std::vec::Vec;

use ctru_gpu_runtime::{Device, RuntimeError};

use super::DeviceEngine;
use super::arrays::{PrivateArrays, PublicArrays, Slot};
use super::schedule::{Chunk, Plan};
use crate::engine::{EngineError, Keys, check_length};
use crate::params::ParameterSet;

/// Keys of `P` on a device, in the chunks in which batches travel.
pub struct Loaded<P, A> {
    chunks: Vec<A>,
    keys: usize,
    chunk: usize,
    parameter_set: PhantomData<P>,
}

/// Encapsulation keys of the parameter set `P` on the device `D`.
///
/// An engine takes keys of its own parameter set and encoding:
///
/// ```
/// # use ctru_gpu_runtime::Device;
/// # use ctru_kem::engine::{DeviceEngine, Engine, EngineError, Keys, Seeds};
/// # use ctru_kem::{Ciphertext, CtruPrime1277, EncapsulationKey, SharedSecret};
/// # fn example<D: Device>(
/// #     one: DeviceEngine<CtruPrime1277, D>,
/// #     another: DeviceEngine<CtruPrime1277, D>,
/// #     key: EncapsulationKey<CtruPrime1277>,
/// # ) -> Result<(), EngineError> {
/// let loaded = one.load_encapsulation_keys(&[key])?;
/// let (mut ciphertexts, mut secrets) = ([Ciphertext::default()], [SharedSecret::default()]);
/// let (keys, seeds) = (Keys::Loaded(&loaded), Seeds::Each(&[[1; 32]]));
/// another.encapsulate(keys, seeds, &mut ciphertexts, &mut secrets)
/// # }
/// ```
///
/// ```compile_fail,E0308
/// # use ctru_gpu_runtime::Device;
/// # use ctru_kem::engine::{DeviceEngine, Engine, EngineError, Keys, Seeds};
/// # use ctru_kem::{Ciphertext, CtruPrime653, CtruPrime1277, EncapsulationKey, SharedSecret};
/// # fn example<D: Device>(
/// #     one: DeviceEngine<CtruPrime653, D>,
/// #     another: DeviceEngine<CtruPrime1277, D>,
/// #     key: EncapsulationKey<CtruPrime653>,
/// # ) -> Result<(), EngineError> {
/// let loaded = one.load_encapsulation_keys(&[key])?;
/// let (mut ciphertexts, mut secrets) = ([Ciphertext::default()], [SharedSecret::default()]);
/// let (keys, seeds) = (Keys::Loaded(&loaded), Seeds::Each(&[[1; 32]]));
/// another.encapsulate(keys, seeds, &mut ciphertexts, &mut secrets)
/// # }
/// ```
pub type LoadedPublic<P, D> = Loaded<P, PublicArrays<<D as Device>::Queue>>;
/// Decapsulation keys of the parameter set `P` on the device `D`; wiped when dropped.
///
/// An engine takes keys of its own parameter set and encoding:
///
/// ```
/// # use ctru_gpu_runtime::Device;
/// # use ctru_kem::engine::{DeviceEngine, Engine, EngineError, Keys};
/// # use ctru_kem::{Ciphertext, CtruPrime761, DecapsulationKey, Packed13, SharedSecret};
/// # fn example<D: Device>(
/// #     one: DeviceEngine<CtruPrime761<Packed13>, D>,
/// #     another: DeviceEngine<CtruPrime761<Packed13>, D>,
/// #     key: DecapsulationKey<CtruPrime761<Packed13>>,
/// # ) -> Result<(), EngineError> {
/// let loaded = one.load_decapsulation_keys(&[key])?;
/// let (ciphertexts, mut secrets) = ([Ciphertext::default()], [SharedSecret::default()]);
/// another.decapsulate(Keys::Loaded(&loaded), &ciphertexts, &mut secrets)
/// # }
/// ```
///
/// ```compile_fail,E0308
/// # use ctru_gpu_runtime::Device;
/// # use ctru_kem::engine::{DeviceEngine, Engine, EngineError, Keys};
/// # use ctru_kem::{Ciphertext, CtruPrime761, DecapsulationKey, SharedSecret};
/// # use ctru_kem::{MixedRadix, Packed13};
/// # fn example<D: Device>(
/// #     one: DeviceEngine<CtruPrime761<MixedRadix>, D>,
/// #     another: DeviceEngine<CtruPrime761<Packed13>, D>,
/// #     key: DecapsulationKey<CtruPrime761<MixedRadix>>,
/// # ) -> Result<(), EngineError> {
/// let loaded = one.load_decapsulation_keys(&[key])?;
/// let (ciphertexts, mut secrets) = ([Ciphertext::default()], [SharedSecret::default()]);
/// another.decapsulate(Keys::Loaded(&loaded), &ciphertexts, &mut secrets)
/// # }
/// ```
pub type LoadedPrivate<P, D> = Loaded<P, PrivateArrays<<D as Device>::Queue>>;

impl<P, A> fmt::Debug for Loaded<P, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Loaded({} keys)", self.keys)
    }
}

impl<P: ParameterSet, D: Device> DeviceEngine<P, D> {
    /// Loads one key on every device, or every chunk of keys where it is needed.
    pub(super) fn load<K, A>(
        &self,
        keys: &[K],
        load: impl Fn(&mut Slot<P, D::Queue>, &[K]) -> Result<A, RuntimeError>,
    ) -> Result<Loaded<P, A>, EngineError> {
        let devices = self.devices.len();
        let chunk = self.plan(keys.len(), true).chunk;
        let load = |(number, keys): (usize, &[K])| {
            self.slots[number % devices].take().settled(|slot| load(slot, keys))
        };
        let chunks: Result<Vec<A>, RuntimeError> = match keys {
            [_] => (0..devices).map(|device| load((device, keys))).collect(),
            _ => keys.chunks(chunk).enumerate().map(load).collect(),
        };
        let chunks = chunks.map_err(EngineError::device)?;
        Ok(Loaded { chunks, keys: keys.len(), chunk, parameter_set: PhantomData })
    }
}

/// Where the keys of a chunk are: one for all operations, or one for each.
pub(super) enum ChunkKeys<'a, K, A> {
    /// So many on the device.
    Device(&'a A, u32),
    Host(&'a [K]),
}

/// The keys of a batch.
pub(super) enum BatchKeys<'a, P, K, A> {
    One(&'a K),
    Each(&'a [K]),
    Loaded(&'a Loaded<P, A>),
}

impl<'a, P: ParameterSet, K, A> BatchKeys<'a, P, K, A> {
    /// Checks that there is a key for each operation if there is not one for all.
    pub(super) fn new(keys: Keys<'a, K, Loaded<P, A>>, count: usize) -> Result<Self, EngineError> {
        match keys {
            Keys::One(key) => Ok(Self::One(key)),
            Keys::Each(keys) => check_length("keys", count, keys.len()).map(|()| Self::Each(keys)),
            Keys::Loaded(loaded) => {
                if loaded.keys != 1 {
                    check_length("loaded keys", count, loaded.keys)?;
                }
                Ok(Self::Loaded(loaded))
            }
        }
    }

    /// The plan of the batch on `engine`, which is that by which the keys were loaded, if they were loaded in chunks.
    pub(super) fn plan<D: Device>(
        &self,
        engine: &DeviceEngine<P, D>,
        count: usize,
    ) -> Result<Plan, EngineError> {
        let Self::Loaded(Loaded { keys: 2.., chunk, .. }) = self else {
            return Ok(engine.plan(count, false));
        };
        let plan = engine.plan(count, true);
        check_length("chunks of the engine that loaded the keys", plan.chunk, *chunk)?;
        Ok(plan)
    }

    pub(super) fn chunk(&self, chunk: &Chunk) -> ChunkKeys<'_, K, A> {
        match self {
            // Every chunk decodes the key: that takes less time than to wait until somebody has.
            Self::One(key) => ChunkKeys::Host(core::slice::from_ref(key)),
            Self::Each(keys) => ChunkKeys::Host(&keys[chunk.operations.clone()]),
            Self::Loaded(loaded) if loaded.keys == 1 => {
                ChunkKeys::Device(&loaded.chunks[chunk.device % loaded.chunks.len()], 1)
            }
            Self::Loaded(loaded) => {
                ChunkKeys::Device(&loaded.chunks[chunk.number], chunk.operations.len() as u32)
            }
        }
    }
}
