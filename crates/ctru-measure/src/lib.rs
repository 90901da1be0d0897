#![doc = include_str!("../README.md")]

#[cfg(feature = "chart")]
pub mod chart;
mod record;
#[cfg(feature = "gpu")]
mod resident;
mod statistics;
pub mod table;
mod workload;

pub use record::{CASES, KeyUse, Operation, Record, SeedUse, cpu_name};
#[cfg(feature = "gpu")]
pub use resident::ResidentWorkload;
pub use statistics::{Statistics, parse_seconds, sample, times};
pub use workload::{HostMemory, Workload};
