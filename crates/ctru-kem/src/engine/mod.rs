//! Batches of operations: the engines, on [rows of bytes](BatchEngine) and on [types](Engine).
//!
//! An engine takes slices and fills slices. It checks their lengths before it computes anything. If
//! a call returns an error, no output slice has been changed, unless the error says otherwise. The
//! same seeds and keys give the same bytes on every engine.
//!
//! Before a call, output slices hold placeholders and defaults, which are not secret. Use an output
//! only after `Ok`. [`EncapsulationKey::from_bytes`](crate::EncapsulationKey::from_bytes) and
//! [`DecapsulationKey::from_bytes`](crate::DecapsulationKey::from_bytes) refuse the bytes of a
//! placeholder, except for encapsulation keys of NTRU Prime, where all bytes are a key, and
//! [`SharedSecret::is_placeholder`](crate::SharedSecret::is_placeholder) recognises a default.
//!
//! An engine has threads, which do not exist in a fork of its process. There, a batch would wait
//! for them forever, and so would the end of the engine: make an engine in each process, and let
//! the fork leave the parent's engine alone. A GPU cannot be used in a fork of a process that has
//! used it. Operations on single keys work in a fork.

mod cpu;
#[cfg(feature = "gpu")]
pub mod device;
mod lengths;
mod rows;
mod typed;

#[cfg(feature = "gpu")]
pub use ctru_gpu_runtime::RuntimeError;
#[cfg(feature = "cuda")]
pub use device::cuda;
#[cfg(feature = "gpu")]
pub use device::{DeviceEngine, DeviceOptions};

pub use crate::batch::{EngineError, KeyRows, KeySource, Keys, Loaded, LoadedKeys, Seeds};
pub use crate::error::ContextTooLong;
pub use crate::expand::{Context, Expand};
pub use crate::hash::KEY_PAIR_SEED_BYTES;
pub use cpu::CpuEngine;
pub use rows::{BatchEngine, PinnedBytes};
pub use typed::Engine;
