//! The kernels for keys whose polynomial `h` has NTRU Prime's mixed-radix encoding.

use super::whole_kernels;
use crate::kernels::keys::mixed_radix::MixedRadix;

whole_kernels!(MixedRadix);
