//! Where kernels run: on the emulator, or with the feature `cuda` on GPU 0.

#[cfg(feature = "cuda")]
mod cuda;
#[cfg_attr(feature = "cuda", allow(dead_code, reason = "compiled for lints alone"))]
mod emulated;

#[cfg(feature = "cuda")]
pub(crate) use cuda::*;
#[cfg(not(feature = "cuda"))]
pub(crate) use emulated::*;
