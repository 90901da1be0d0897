#![doc = include_str!("../README.md")]

// First, because others use its macro.
#[macro_use]
mod sets;

mod batch;
mod code;
mod memory;
mod single;

pub use batch::*;
pub use code::*;
pub use single::*;
