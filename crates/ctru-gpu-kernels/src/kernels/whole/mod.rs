//! Encapsulation and decapsulation, each in one kernel. They serve batches that are too small to
//! occupy the GPU: such a batch would spend most of its time on launches, and on hashes that wait
//! for one another. There are such kernels for the mixed-radix encoding of public keys only.
//!
//! A block is two warps and does one operation. While one warp hashes, the other one decodes a key
//! or multiplies. Keys and ciphertexts may lie in memory of the host, where each access takes long,
//! so the kernels copy them to memory of the device before they use them.
//!
//! The permutations of a hash follow one another, so the hash of a rejection takes most of the time
//! of a decapsulation. So there are also kernels (`recover`) that leave this hash to the host,
//! which computes it at the same time.

pub mod decapsulation;
pub mod encapsulation;

use ctru_math::Ring;

use crate::descriptor::Shape;
use crate::kernels::keys;
use crate::kernels::scheme::fused;
pub use crate::kernels::warp::copied_bytes;
use crate::simt::WARP;

/// Returns the block shape: two warps and one operation per block. The second warp uses the shared
/// memory first for keys and then for products. As in kernels for two keys per block, its key is
/// the second one.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    const { assert!(keys::KEYS == 2) };
    let (key, product) = (keys::shape::<R>().shared_bytes(), fused::shape::<R>().shared_bytes());
    Shape::new(2 * WARP, 1, if key > product { key } else { product })
}
