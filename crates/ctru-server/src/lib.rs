#![doc = include_str!("../README.md")]

mod admin;
mod bucket;
mod call;
pub mod client;
mod compute;
mod decapsulations;
mod engines;
mod fault;
mod identity;
mod job;
mod lane;
mod listen;
mod loaded;
mod metrics;
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

pub use engines::{EngineFactory, Engines};
pub use identity::NameKind;
pub use listen::Address;
pub use scheme::Scheme;
pub use sealing_keys::{SealingKeyError, SealingKeys};
pub use server::{Server, ServerOptions, StartError};
pub use service::{DeviceBytes, LaneEngines, ServiceOptions};
pub use tls::{TlsError, TlsOptions};
