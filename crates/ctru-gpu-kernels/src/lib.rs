#![doc = include_str!("../README.md")]
#![no_std]

pub mod descriptor;
pub mod kernels;
pub mod ptx;
pub mod table;

#[cfg(feature = "emulator")]
pub use ctru_simt::emulator;
pub use ctru_simt::simt;
