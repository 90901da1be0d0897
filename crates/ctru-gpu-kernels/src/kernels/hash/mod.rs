//! Hashing: derives seeds, messages, shared secrets, coins and rejection secrets.
//!
//! In [`derive`](mod@derive) and [`reject`], one thread per operation holds a whole Keccak state.
//! In [`middle_batch`], two threads hold it, because small batches occupy the GPU only with more
//! threads per operation.

pub mod derive;
pub(crate) mod keccak;
pub mod middle_batch;
pub mod reject;
