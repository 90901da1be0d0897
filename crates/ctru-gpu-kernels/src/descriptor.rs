//! Descriptors of kernels: those of [`ctru_simt`](mod@ctru_simt::descriptor), and the kernels that
//! exist once per ring.

use ctru_math::{Ring, for_each_ring};

pub use ctru_simt::descriptor::*;

macro_rules! degree {
    ($ring:ident $n:literal $numbers:tt) => {
        $n
    };
}

/// The degrees of the rings.
const DEGREES: &[usize] = &for_each_ring!([degree]);

/// The arrays of a launch, by name. The list of kernels has such a type for each kernel, with the
/// kernel's name.
pub trait NamedArrays<'a, M: 'a> {
    /// The kernels that take the arrays.
    const KERNELS: &'static RingKernels;

    /// Returns the arrays in the order in which the kernels take them.
    fn in_order(self) -> impl AsRef<[&'a M]>;
}

/// One kernel per ring.
#[derive(Debug)]
pub struct RingKernels([Kernel; DEGREES.len()]);

impl RingKernels {
    /// Returns the kernels for the rings, in the order of the list of rings.
    #[doc(hidden)]
    #[must_use]
    pub const fn new(kernels: [Kernel; DEGREES.len()]) -> Self {
        Self(kernels)
    }

    /// Returns the kernel for the ring `R`.
    #[must_use]
    pub fn of<R: Ring>(&self) -> &Kernel {
        let ring = const {
            let mut ring = 0;
            while DEGREES[ring] != R::N {
                ring += 1;
            }
            ring
        };
        &self.0[ring]
    }

    /// Returns the kernels for all rings.
    #[must_use]
    pub fn each(&self) -> &[Kernel; DEGREES.len()] {
        &self.0
    }
}
