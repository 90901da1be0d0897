#![doc = include_str!("../README.md")]
#![cfg_attr(not(feature = "emulator"), no_std)]

#[cfg(feature = "emulator")]
pub mod emulator;
pub mod kernel;
pub mod kernels;
pub mod ptx;
pub mod simt;
pub mod table;
