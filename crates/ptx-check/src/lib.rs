//! Reads PTX and follows secrets through it.

pub mod flow;
pub mod places;
pub mod plant;
pub mod sass;
pub mod tools;
