//! The ways to multiply of the CTRU-Prime paper as GPU kernels, and the other steps of the scheme
//! as kernels of their own: [`product`], [`steps`], and their list [`table`]. On the host, [`kem`]
//! is the whole KEM by these kernels.
#![no_std]

// The device has no `std`, and the KEM is for the host alone.
#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

#[cfg(all(feature = "entry-points", target_arch = "nvptx64"))]
mod entry_points;
#[cfg(not(target_arch = "nvptx64"))]
pub mod kem;
pub mod product;
pub mod steps;
pub mod table;
