//! The entry points of the kernels that the engine launches.

use ctru_gpu_kernels::kernels::*;

use crate::entry_points::ring_entry_points;

ctru_gpu_kernels::for_each_kernel!(ring_entry_points);
