#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! - [`syntax`] reads the text of PTX.
//! - [`flow`] follows secrets, and [`sass`] does so in machine code.
//! - [`run`] executes kernels, and finds races and accesses outside of memory.
//! - [`plant`] plants leaks, to test the analysis.
//! - [`tools`] runs NVIDIA's assembler and disassembler.

pub mod flow;
pub mod plant;
pub mod run;
pub mod sass;
pub mod syntax;
pub mod tools;
