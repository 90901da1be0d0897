//! All that is derived by hashing: seeds, messages, shared secrets, coins, and rejection secrets.
//!
//! [`derive`](mod@derive) and [`reject`] give each operation to a thread, which holds a whole Keccak
//! state. [`small_batch`] gives each operation to a warp, for batches that are too small to fill the
//! machine with one thread each.

pub mod derive;
mod keccak;
pub mod reject;
pub mod small_batch;
