//! Follows secrets through compiled kernels (taint analysis).
//!
//! [`Secrets`](analysis::Secrets) says what is secret when a kernel begins. The numbers of threads
//! and blocks and the tables that are part of the program are public. The analysis follows the
//! secrets through registers and memory. It reports every instruction whose time or memory access
//! would depend on a secret: an address, a branch, a guard of an access, a lane of a shuffle, a
//! barrier or a division. A branch on a secret is a finding, so in a kernel without findings,
//! secrets flow through data only.
//!
//! - [`program`]: the form in which decoders hand a kernel to the analysis.
//! - [`state`]: the knowledge about registers at one place of a kernel.
//! - [`analysis`]: the fixed point over a kernel, and its findings.
//! - [`ptx`]: the decoder of PTX.

pub mod analysis;
pub mod program;
pub mod ptx;
pub mod state;
