//! Following secrets through compiled kernels.
//!
//! The content of every array that a kernel takes is a secret; public are the numbers that it
//! takes, the numbers of its threads and blocks, and the tables that are part of the program. The
//! analysis follows the secrets through registers and memory and reports every instruction whose
//! time or footprint would show one: an address, a branch, a guard of an access, a lane of a
//! shuffle, a barrier, a division. Since no branch depends on a secret, a secret flows through data
//! alone.
//!
//! - [`program`]: a kernel as the analysis sees it; what decoders make.
//! - [`state`]: what is known of registers at one place.
//! - [`analysis`]: the fixed point over a kernel, and what it finds.
//! - [`declared`]: what is declared of kernels, and the comparison with it.
//! - [`ptx`]: the decoder of PTX.
//! - [`sass`]: the decoder of machine code.

pub mod analysis;
pub mod declared;
pub mod program;
pub mod ptx;
pub mod sass;
pub mod state;
