//! Batches of equal operations: decide, then do.
//!
//! An operation has rows in and rows out, on the host or on a device. A batch has many of them. It
//! is cut into chunks, each of which runs in a slot: memory and a queue of a device.
//!
//! - [`tuning`] has the numbers by which plans choose, for each kind of GPU.
//! - [`plan`] decides: from a request and a machine it makes data, which can be printed and tested
//!   without a device.
//! - [`execute`] does what a plan says. `deal` says which chunk comes next, and [`slots`] which
//!   slot is free.
//! - [`travel`] brings rows to a slot and results back, in the way that the plan says, and [`copy`]
//!   copies between memories of the host.
//! - [`coalesce`] does the small batches of several callers together.

pub mod coalesce;
pub mod copy;
mod deal;
pub mod execute;
pub mod plan;
pub mod slots;
#[cfg(test)]
mod tests;
pub mod travel;
pub mod tuning;

// The modules `coalesce`, `deal` and `slots` take what threads share from here.
use std::sync;
