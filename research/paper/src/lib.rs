//! The ways to multiply of the CTRU-Prime paper as GPU kernels, and the other steps of the scheme as
//! kernels of their own: [`product`], [`steps`], and their list [`table`].
#![no_std]

#[cfg(feature = "entry-points")]
mod entry_points;
pub mod product;
pub mod steps;
pub mod table;
