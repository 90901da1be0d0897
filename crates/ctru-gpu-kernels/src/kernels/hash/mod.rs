//! Hashing: derives seeds, messages, shared secrets, coins and rejection secrets.
//!
//! In [`derive`](mod@derive) and [`reject`], one thread per operation holds a whole Keccak state.
//! In [`middle_batch`], two threads hold it, and in [`small_batch`], a warp. The smaller a batch
//! is, the more threads per operation it takes to occupy the GPU.

pub mod derive;
pub(crate) mod keccak;
pub mod middle_batch;
pub mod reject;
pub mod small_batch;
