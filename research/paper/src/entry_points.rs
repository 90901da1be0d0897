//! The entry points of the kernels, for the compiler of PTX.

use ctru_gpu_kernels::kernels::*;
use ctru_gpu_kernels::ring_entry_points;

use crate::{product, steps};

crate::table::for_each_kernel!(ring_entry_points);
