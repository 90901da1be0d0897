//! Inversion.

pub mod divsteps;
pub mod tree_down;
pub mod tree_up;
