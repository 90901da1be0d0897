#![doc = include_str!("../README.md")]

mod batch;
mod code;
mod memory;
mod single;

pub use batch::*;
pub use code::*;
pub use single::*;
