//! Hashing: derives seeds, messages, shared secrets, coins and rejection secrets.
//!
//! [`derive`](mod@derive) and [`reject`] use one thread per operation, and each thread holds a
//! whole Keccak state. [`small_batch`] uses one warp per operation. It serves batches that are too
//! small to occupy the GPU with one thread per operation. [`middle_batch`] uses two threads.

pub mod derive;
pub(crate) mod keccak;
pub mod middle_batch;
pub mod reject;
pub mod small_batch;
