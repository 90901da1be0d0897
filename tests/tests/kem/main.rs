//! The KEM and its engines: vectors, properties, batches.

// An input that cannot be built is a failed test.
#![allow(clippy::unwrap_used)]

mod accumulated;
mod consistency;
mod cpu_engine;
mod device_engine;
mod failing_device;
mod intermediate;
mod kat;
mod operations;
mod serialisation;
mod traces;
mod wiping;
