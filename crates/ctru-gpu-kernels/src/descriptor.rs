//! Descriptors of kernels: those of [`ctru_simt`](mod@ctru_simt::descriptor), and the kernels that
//! exist once per ring.

use ctru_math::Ring;

pub use ctru_simt::descriptor::*;

/// One kernel per ring.
#[derive(Debug)]
pub struct RingKernels {
    of_653: Kernel,
    of_761: Kernel,
    of_1277: Kernel,
}

impl RingKernels {
    /// Returns the kernels for the rings 653, 761 and 1277.
    #[doc(hidden)]
    #[must_use]
    pub const fn new(of_653: Kernel, of_761: Kernel, of_1277: Kernel) -> Self {
        Self { of_653, of_761, of_1277 }
    }

    /// Returns the kernel for the ring `R`.
    #[must_use]
    pub fn of<R: Ring>(&self) -> &Kernel {
        match R::N {
            653 => &self.of_653,
            761 => &self.of_761,
            _ => &self.of_1277,
        }
    }

    /// Returns the kernels for all rings.
    pub fn each(&self) -> [&Kernel; 3] {
        [&self.of_653, &self.of_761, &self.of_1277]
    }
}
