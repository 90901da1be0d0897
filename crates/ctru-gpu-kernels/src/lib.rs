#![doc = include_str!("../README.md")]
#![cfg_attr(not(feature = "emulator"), no_std)]

pub mod descriptor;
#[cfg(feature = "emulator")]
pub mod emulator;
pub mod kernels;
#[cfg(feature = "lab")]
pub mod lab;
pub mod ptx;
pub mod simt;
pub mod table;
