//! The keys of a batch, and keys that stay on a device.

use core::fmt;
use std::vec::Vec;

use ctru_gpu_runtime::{Device, RuntimeError};

use super::DeviceEngine;
use super::arrays::{PrivateArrays, PublicArrays, Slot};
use super::schedule::{Chunk, Plan};
use crate::engine::{EngineError, Keys, check_length};
use crate::params::ParameterSet;

/// Keys on a device, in the chunks in which batches travel.
pub struct Loaded<A> {
    chunks: Vec<A>,
    keys: usize,
    chunk: usize,
}

/// Encapsulation keys on the device `D`.
pub type LoadedPublic<D> = Loaded<PublicArrays<<D as Device>::Queue>>;
/// Decapsulation keys on the device `D`; wiped when dropped.
pub type LoadedPrivate<D> = Loaded<PrivateArrays<<D as Device>::Queue>>;

impl<A> fmt::Debug for Loaded<A> {
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
    ) -> Result<Loaded<A>, EngineError> {
        let devices = self.devices.len();
        let chunk = self.plan(keys.len(), true).chunk;
        let load = |(number, keys): (usize, &[K])| load(&mut self.slots[number % devices].take(), keys);
        let chunks: Result<Vec<A>, RuntimeError> = match keys {
            [_] => (0..devices).map(|device| load((device, keys))).collect(),
            _ => keys.chunks(chunk).enumerate().map(load).collect(),
        };
        Ok(Loaded { chunks: chunks.map_err(EngineError::device)?, keys: keys.len(), chunk })
    }
}

/// Where the keys of a chunk are: one for all operations, or one for each.
pub(super) enum ChunkKeys<'a, K, A> {
    /// So many on the device.
    Device(&'a A, u32),
    Host(&'a [K]),
}

/// The keys of a batch.
pub(super) enum BatchKeys<'a, K, A> {
    One(&'a K),
    Each(&'a [K]),
    Loaded(&'a Loaded<A>),
}

impl<'a, K, A> BatchKeys<'a, K, A> {
    /// Checks that there is a key for each operation if there is not one for all.
    pub(super) fn new(keys: Keys<'a, K, Loaded<A>>, count: usize) -> Result<Self, EngineError> {
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
    pub(super) fn plan<P: ParameterSet, D: Device>(
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
