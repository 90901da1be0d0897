#![doc = include_str!("../README.md")]

mod arguments;
mod harden;
mod messages;
mod streams;

pub use arguments::{parse, variable};
pub use harden::harden;
pub use messages::{tell, visible};
pub use streams::{Output, check_open, stdout};
