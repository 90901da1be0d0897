//! The GPU kernels of CTRU-Prime as plain Rust.
#![cfg_attr(not(feature = "emulator"), no_std)]

#[cfg(feature = "emulator")]
pub mod emulator;
pub mod kernel;
pub mod kernels;
pub mod ptx;
pub mod simt;
pub mod table;
