//! The KEM and its engines: operations, properties, batches and vectors.

// Tests may unwrap: a test must fail if its input cannot be built.
#![allow(clippy::unwrap_used)]

mod accumulated;
mod common;
mod consistency;
mod cpu_engine;
mod device_engine;
mod device_faults;
mod engine_seeds;
mod failing_device;
mod intermediate;
mod kat;
mod key_file;
mod known_answer;
mod merged;
mod ntru_prime_device;
mod operations;
mod parameters;
mod powers;
mod resident;
mod row_engine;
mod rows;
mod seed_vectors;
mod seeds;
mod serialisation;
mod tables;
mod traces;
mod traits;
