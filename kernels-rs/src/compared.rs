//! The entry points of the kernels that measurements compare with those of the engine.

use ctru_gpu_kernels::kernels::*;
use ctru_gpu_kernels::lab::compared;

use crate::entry_points::ring_entry_points;

ctru_gpu_kernels::for_each_compared_kernel!(ring_entry_points);
