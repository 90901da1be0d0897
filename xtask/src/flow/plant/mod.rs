//! Planting leaks into kernels, to see that the analysis finds them.

pub mod sass;
