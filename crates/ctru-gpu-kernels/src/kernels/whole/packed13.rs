//! The kernels for keys whose polynomial `h` has 13 bits per coefficient.

use super::whole_kernels;
use crate::kernels::keys::packed13::Packed13;

whole_kernels!(Packed13);
