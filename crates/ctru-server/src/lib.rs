#![doc = include_str!("../README.md")]

mod admin;
mod arrival;
mod bucket;
mod call;
mod checked;
pub mod client;
mod compute;
mod connection;
mod decapsulations;
mod engine;
mod fault;
mod identity;
mod job;
mod lane;
mod listen;
mod loaded;
mod locked;
mod metrics;
mod options;
mod private_file;
#[cfg(feature = "profiles")]
mod profile;
pub mod proto;
mod queue;
mod quota;
mod room;
mod scheme;
mod sealing;
mod sealing_keys;
mod server;
mod service;
mod span;
mod stage;
mod tls;
mod wire;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use engine::{CallSizes, LaneEngine};
pub use identity::NameKind;
pub use listen::Address;
pub use locked::lock_all_memory;
pub use options::{ServerOptions, ServiceOptions};
pub use private_file::PrivateFileError;
pub use sealing_keys::{SealingKeyError, SealingKeys};
pub use server::{Server, StartError};
pub use service::{DeviceBytes, LaneEngines};
pub use tls::{ClientCertificates, ClientTls, Connector, TlsError, TlsFileError, TlsOptions};

/// Locks a value, even if a thread has panicked that had locked it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
