//! The entry points of the KEM's GPU kernels, which `cargo xtask build-ptx` compiles to PTX in
//! `crates/ctru-gpu-kernels/ptx`.
#![no_std]

use ctru_gpu_kernels::kernels::*;
use ctru_gpu_kernels::ring_entry_points;

ctru_gpu_kernels::for_each_kernel!(ring_entry_points);
