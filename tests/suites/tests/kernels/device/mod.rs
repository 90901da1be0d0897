//! Where kernels run: on the emulator, or with the feature `cuda` on GPU 0.

#[cfg(feature = "cuda")]
mod cuda;
#[cfg(not(feature = "cuda"))]
mod emulated;

#[cfg(feature = "cuda")]
pub(crate) use cuda::*;
#[cfg(not(feature = "cuda"))]
pub(crate) use emulated::*;
