#![doc = include_str!("../README.md")]

mod record;
mod statistics;
pub mod table;
mod workload;

pub use record::{KeyUse, Operation, Record, cpu_name};
pub use statistics::{Statistics, parse_seconds, sample, times};
pub use workload::{HostMemory, Workload};
