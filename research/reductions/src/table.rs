//! The list of the laboratory's kernels. Macros generate entry points, descriptors and benchmarks
//! from this list.

#![allow(unsafe_code)]

use ctru_math::{R653, R761, R1277};
use research_arithmetic::reduce::*;

use super::cyclic::rows::{factors, forward_factor, threads_of_row};
use super::{FactorWord, MODULE};
use ctru_gpu_kernels::kernels::row;
use ctru_simt::descriptor::Rows::{EachOperation, EachOrShared, InWholeBlocks, One};
use ctru_simt::descriptor::{Kernel, Shape};
use ctru_simt::simt::{U32x4, Word};

/// The default number of threads per block.
pub const THREADS: u32 = 256;
/// The smallest and the largest number of threads per block. Every power of two between them can be
/// chosen too.
pub const THREADS_RANGE: (u32, u32) = (64, 1024);

/// The kernel for chained products by one method.
#[derive(Debug)]
#[non_exhaustive]
pub struct Chain {
    /// Name of the method.
    pub method: &'static str,
    /// The modulus.
    pub modulus: u32,
    /// [`chain`](super::chain::chain).
    pub kernel: Kernel,
}

/// The kernels for cyclic products of one length by one method.
#[derive(Debug)]
#[non_exhaustive]
pub struct Cyclic {
    /// Name of the method that multiplies by twiddle factors.
    pub method: &'static str,
    /// The modulus.
    pub modulus: u32,
    /// The binary logarithm of the length.
    pub log_len: u32,
    /// The kernels for columns, unless one pass computes the product.
    pub columns: Option<Columns>,
    /// [`rows::multiply`](super::cyclic::rows::multiply).
    pub rows: Kernel,
}

/// The kernels for the columns of cyclic products.
#[derive(Debug)]
#[non_exhaustive]
pub struct Columns {
    /// [`columns::forward`](super::cyclic::columns::forward).
    pub forward: Kernel,
    /// [`columns::inverse`](super::cyclic::columns::inverse).
    pub inverse: Kernel,
}

/// The kernels for two passes at once of cyclic products of one length by one method.
#[derive(Debug)]
#[non_exhaustive]
pub struct Mixed {
    /// Name of the method that multiplies by twiddle factors.
    pub method: &'static str,
    /// The modulus.
    pub modulus: u32,
    /// The binary logarithm of the length.
    pub log_len: u32,
    /// [`mixed::forward_and_multiply`](super::cyclic::mixed::forward_and_multiply).
    pub forward_and_multiply: Kernel,
    /// [`mixed::multiply_and_inverse`](super::cyclic::mixed::multiply_and_inverse).
    pub multiply_and_inverse: Kernel,
}

/// The kernels for cyclic products of any length by one method, one layer per launch.
#[derive(Debug)]
#[non_exhaustive]
pub struct Single {
    /// Name of the method that multiplies by twiddle factors.
    pub method: &'static str,
    /// The modulus.
    pub modulus: u32,
    /// [`single::forward`](super::cyclic::single::forward).
    pub forward: Kernel,
    /// [`single::multiply`](super::cyclic::single::multiply).
    pub values: Kernel,
    /// [`single::inverse`](super::cyclic::single::inverse).
    pub inverse: Kernel,
}

/// The kernel for the scheme's product in one ring by one arithmetic:
/// [`multiply_sampled_by`](research_paper::product::ntt::multiply_sampled_by).
#[derive(Debug)]
#[non_exhaustive]
pub struct RingProduct {
    /// Name of the arithmetic.
    pub arithmetic: &'static str,
    /// Degree of the ring.
    pub n: usize,
    /// The kernel, in blocks of its own shape.
    pub kernel: Kernel,
}

/// A visitor of the entries of [`CHAINS`] that receives their types.
pub trait ChainVisitor {
    /// Visits an entry of the method `M`.
    fn visit<M: Reducer>(&mut self, chain: &'static Chain)
    where
        FactorWord<M>: Word;
}

/// A visitor of the entries of [`CYCLICS`] that receives their types.
pub trait CyclicVisitor {
    /// Visits an entry: `M` multiplies by twiddle factors, `P` multiplies values.
    fn visit<M: Reducer, P: ReduceSum>(&mut self, cyclic: &'static Cyclic)
    where
        FactorWord<M>: Word;
}

impl Chain {
    /// Returns the kernel in blocks of `threads` threads, or `None` if [`THREADS_RANGE`] excludes
    /// this number.
    #[must_use]
    pub fn with_threads(&self, threads: u32) -> Option<Kernel> {
        can_be_chosen(threads).then(|| with_threads(&self.kernel, threads))
    }
}

impl Cyclic {
    /// Returns the kernels for columns and for rows in blocks of `threads` threads. Returns `None`
    /// if [`THREADS_RANGE`] excludes this number or if a block would not have whole rows.
    #[must_use]
    pub fn with_threads(&self, threads: u32) -> Option<(Option<Columns>, Kernel)> {
        let resized = |kernel: &Kernel| with_threads(kernel, threads);
        let has_rows = self.columns.is_some() || threads_of_row(self.log_len) <= threads;
        let columns = |columns: &Columns| Columns {
            forward: resized(&columns.forward),
            inverse: resized(&columns.inverse),
        };
        (can_be_chosen(threads) && has_rows)
            .then(|| (self.columns.as_ref().map(columns), resized(&self.rows)))
    }
}

impl Cyclic {
    /// Returns which of the forward factors of
    /// [`Transform`](research_arithmetic::ntt::cyclic::Transform) the first table of the rows'
    /// kernel has, in order.
    pub fn forward_factors(&self) -> impl Iterator<Item = usize> + use<> {
        let log_len = self.log_len;
        (0..factors(log_len)).map(move |entry| forward_factor(log_len, entry) as usize)
    }
}

impl Mixed {
    /// Returns both kernels.
    #[must_use]
    pub fn each(&self) -> [&Kernel; 2] {
        [&self.forward_and_multiply, &self.multiply_and_inverse]
    }

    /// Returns whether the kernel computes products of length `len` by this method.
    #[must_use]
    pub fn is_for(&self, method: &str, modulus: u32, len: usize) -> bool {
        (self.method, self.modulus, 1 << self.log_len) == (method, modulus, len)
    }
}

impl Columns {
    /// Returns both kernels.
    #[must_use]
    pub fn each(&self) -> [&Kernel; 2] {
        [&self.forward, &self.inverse]
    }
}

impl Single {
    /// Returns the kernels `forward`, `values` and `inverse` in blocks of `threads` threads, or
    /// `None` if [`THREADS_RANGE`] excludes this number.
    #[must_use]
    pub fn with_threads(&self, threads: u32) -> Option<[Kernel; 3]> {
        let kernels = [&self.forward, &self.values, &self.inverse];
        can_be_chosen(threads).then(|| kernels.map(|kernel| with_threads(kernel, threads)))
    }
}

/// Returns [`COPY`] in blocks of `threads` threads, or `None` if [`THREADS_RANGE`] excludes this
/// number.
#[must_use]
pub fn copy_with_threads(threads: u32) -> Option<Kernel> {
    can_be_chosen(threads).then(|| with_threads(&COPY, threads))
}

/// Returns whether a block may have `threads` threads.
fn can_be_chosen(threads: u32) -> bool {
    let (least, most) = THREADS_RANGE;
    threads.is_power_of_two() && (least..=most).contains(&threads)
}

/// Returns the kernel in blocks of `threads` threads. The kernel must have operations and shared
/// memory in proportion to the number of threads.
fn with_threads(kernel: &Kernel, threads: u32) -> Kernel {
    let shape = kernel.shape();
    let part = |whole: u32| whole / shape.threads() * threads;
    let shape = Shape::new(threads, part(shape.per_block()), part(shape.shared_bytes()));
    // SAFETY: these kernels are written for every number of threads that `can_be_chosen` permits,
    // and the declared lengths of their arrays hold for all of them.
    unsafe { kernel.in_blocks_of(shape) }
}

/// Calls the macro `$callback` with the list of the laboratory's kernels.
///
/// - An entry `method modulus Reducer;` of `chain` describes [`chain`](super::chain::chain), named
///   `chain_method_modulus`.
/// - An entry `method modulus log C R Twiddles, Values;` of `cyclic` describes the three kernels of
///   [`cyclic`](super::cyclic) for the length `2^log`, `log = C + R`:
///   `columns_forward_method_modulus_log`, `rows_multiply_...` and `columns_inverse_...`. An entry
///   of `rows` describes only `rows_multiply_...`, with `R = log`.
/// - An entry of `mixed`, like one of `cyclic`, describes the kernels of
///   [`mixed`](super::cyclic::mixed), `forward_and_multiply_method_modulus_log` and
///   `multiply_and_inverse_...`.
/// - An entry `method modulus Twiddles, Values;` of `single` describes the three kernels of
///   [`single`](super::cyclic::single): `layer_forward_method_modulus`, `values_multiply_...` and
///   `layer_inverse_...`.
/// - An entry `arithmetic n Ring Arithmetic;` of `ring` describes the scheme's product by that
///   arithmetic, `multiply_arithmetic_n`.
///
/// `lab_kernel` expands each of these.
macro_rules! for_each_lab_kernel {
    ($callback:ident) => {
        $callback! {
            chain {
                runtime_division 65521 RuntimeDivision<65521>;
                constant_division 65521 ConstantDivision<65521>;
                barrett 65521 Barrett<65521>;
                montgomery 65521 Montgomery<65521>;
                shoup 65521 Shoup<65521>;
                plantard 65521 Plantard<65521>;
                pseudo_mersenne 65521 PseudoMersenne<16, 4>;
                float 65521 Float<65521>;
                unsigned_division 65521 UnsignedDivision<65521>;
                unsigned_shoup 65521 UnsignedShoup<65521>;
                unsigned_montgomery 65521 UnsignedMontgomery<65521>;
                runtime_division 1048573 RuntimeDivision<1048573>;
                constant_division 1048573 ConstantDivision<1048573>;
                barrett 1048573 Barrett<1048573>;
                montgomery 1048573 Montgomery<1048573>;
                shoup 1048573 Shoup<1048573>;
                plantard 1048573 Plantard<1048573>;
                pseudo_mersenne 1048573 PseudoMersenne<20, 2>;
                float 1048573 Float<1048573>;
                unsigned_division 1048573 UnsignedDivision<1048573>;
                unsigned_shoup 1048573 UnsignedShoup<1048573>;
                unsigned_montgomery 1048573 UnsignedMontgomery<1048573>;
                runtime_division 16769023 RuntimeDivision<16769023>;
                constant_division 16769023 ConstantDivision<16769023>;
                barrett 16769023 Barrett<16769023>;
                montgomery 16769023 Montgomery<16769023>;
                shoup 16769023 Shoup<16769023>;
                plantard 16769023 Plantard<16769023>;
                pseudo_mersenne 16769023 PseudoMersenne<24, 13, -1, -1>;
                float 16769023 Float<16769023>;
                unsigned_division 16769023 UnsignedDivision<16769023>;
                unsigned_shoup 16769023 UnsignedShoup<16769023>;
                unsigned_montgomery 16769023 UnsignedMontgomery<16769023>;
                runtime_division 268369921 RuntimeDivision<268369921>;
                constant_division 268369921 ConstantDivision<268369921>;
                barrett 268369921 Barrett<268369921>;
                montgomery 268369921 Montgomery<268369921>;
                shoup 268369921 Shoup<268369921>;
                plantard 268369921 Plantard<268369921>;
                pseudo_mersenne 268369921 PseudoMersenne<28, 16>;
                unsigned_division 268369921 UnsignedDivision<268369921>;
                unsigned_shoup 268369921 UnsignedShoup<268369921>;
                unsigned_montgomery 268369921 UnsignedMontgomery<268369921>;
                runtime_division 2147483647 RuntimeDivision<2147483647>;
                constant_division 2147483647 ConstantDivision<2147483647>;
                montgomery 2147483647 Montgomery<2147483647>;
                mersenne 2147483647 Mersenne<31>;
                unsigned_division 2147483647 UnsignedDivision<2147483647>;
                unsigned_shoup 2147483647 UnsignedShoup<2147483647>;
                unsigned_montgomery 2147483647 UnsignedMontgomery<2147483647>;
            }
            cyclic {
                runtime_division 7340033 17 8 9 RuntimeDivision<7340033>, ConstantDivision<7340033>;
                constant_division 7340033 17 8 9 ConstantDivision<7340033>,
                    ConstantDivision<7340033>;
                barrett 7340033 17 8 9 Barrett<7340033>, Barrett<7340033>;
                montgomery 7340033 17 8 9 Montgomery<7340033>, Montgomery<7340033>;
                shoup 7340033 17 8 9 Shoup<7340033>, Montgomery<7340033>;
                plantard 7340033 17 8 9 Plantard<7340033>, Montgomery<7340033>;
                proth 7340033 17 8 9 Proth<7, 20>, Proth<7, 20>;
                float 7340033 17 8 9 Float<7340033>, Montgomery<7340033>;
                runtime_division 104857601 17 8 9 RuntimeDivision<104857601>,
                    ConstantDivision<104857601>;
                constant_division 104857601 17 8 9 ConstantDivision<104857601>,
                    ConstantDivision<104857601>;
                barrett 104857601 17 8 9 Barrett<104857601>, Barrett<104857601>;
                montgomery 104857601 17 8 9 Montgomery<104857601>, Montgomery<104857601>;
                shoup 104857601 17 8 9 Shoup<104857601>, Montgomery<104857601>;
                plantard 104857601 17 8 9 Plantard<104857601>, Montgomery<104857601>;
                proth 104857601 17 8 9 Proth<25, 22>, Proth<25, 22>;
                runtime_division 469762049 17 8 9 RuntimeDivision<469762049>,
                    ConstantDivision<469762049>;
                constant_division 469762049 17 8 9 ConstantDivision<469762049>,
                    ConstantDivision<469762049>;
                barrett 469762049 17 8 9 Barrett<469762049>, Barrett<469762049>;
                montgomery 469762049 17 8 9 Montgomery<469762049>, Montgomery<469762049>;
                shoup 469762049 17 8 9 Shoup<469762049>, Montgomery<469762049>;
                plantard 469762049 17 8 9 Plantard<469762049>, Montgomery<469762049>;
                proth 469762049 17 8 9 Proth<7, 26>, Proth<7, 26>;
                rounding_shoup 469762049 17 8 9 RoundingShoup<469762049>, Montgomery<469762049>;
                shoup 7340033 14 8 6 Shoup<7340033>, Montgomery<7340033>;
                shoup 104857601 14 8 6 Shoup<104857601>, Montgomery<104857601>;
                shoup 469762049 14 8 6 Shoup<469762049>, Montgomery<469762049>;
            }
            rows {
                shoup 7340033 12 Shoup<7340033>, Montgomery<7340033>;
                shoup 104857601 12 Shoup<104857601>, Montgomery<104857601>;
                shoup 469762049 12 Shoup<469762049>, Montgomery<469762049>;
            }
            mixed {
                shoup 7340033 17 8 9 Shoup<7340033>, Montgomery<7340033>;
                shoup 104857601 17 8 9 Shoup<104857601>, Montgomery<104857601>;
                shoup 469762049 17 8 9 Shoup<469762049>, Montgomery<469762049>;
                rounding_shoup 469762049 17 8 9 RoundingShoup<469762049>, Montgomery<469762049>;
            }
            single {
                runtime_division 7340033 RuntimeDivision<7340033>, ConstantDivision<7340033>;
                constant_division 7340033 ConstantDivision<7340033>, ConstantDivision<7340033>;
                barrett 7340033 Barrett<7340033>, Barrett<7340033>;
                montgomery 7340033 Montgomery<7340033>, Montgomery<7340033>;
                shoup 7340033 Shoup<7340033>, Montgomery<7340033>;
                runtime_division 104857601 RuntimeDivision<104857601>, ConstantDivision<104857601>;
                constant_division 104857601 ConstantDivision<104857601>,
                    ConstantDivision<104857601>;
                barrett 104857601 Barrett<104857601>, Barrett<104857601>;
                montgomery 104857601 Montgomery<104857601>, Montgomery<104857601>;
                shoup 104857601 Shoup<104857601>, Montgomery<104857601>;
                runtime_division 469762049 RuntimeDivision<469762049>, ConstantDivision<469762049>;
                constant_division 469762049 ConstantDivision<469762049>,
                    ConstantDivision<469762049>;
                barrett 469762049 Barrett<469762049>, Barrett<469762049>;
                montgomery 469762049 Montgomery<469762049>, Montgomery<469762049>;
                shoup 469762049 Shoup<469762049>, Montgomery<469762049>;
            }
            ring {
                folding 653 R653 research_arithmetic::ntt::Folding;
                folding 761 R761 research_arithmetic::ntt::Folding;
                folding 1277 R1277 research_arithmetic::ntt::Folding;
                multiplying 653 R653 research_arithmetic::ntt::Multiplying;
                multiplying 761 R761 research_arithmetic::ntt::Multiplying;
                multiplying 1277 R1277 research_arithmetic::ntt::Multiplying;
            }
        }
    };
}

/// Calls the macro `$callback` with one kernel of the laboratory: its name, the shape of its
/// blocks, its function and its arrays. The arguments after `$callback` are the kernel's kind and
/// the fields of its entry in [`for_each_lab_kernel`].
macro_rules! lab_kernel {
    ($callback:ident copy) => {
        $callback! {@kernel ["copy"], $crate::chain::copy_shape($crate::table::THREADS),
        $crate::chain::copy::<_>,
        (elements: U32x4[InWholeBlocks(1); 1], copies: U32x4[InWholeBlocks(1); 1])}
    };
    ($callback:ident chain $method:ident $modulus:literal $reducer:ty) => {
        $callback! {@kernel ["chain_", stringify!($method), "_", $modulus],
        $crate::chain::shape($crate::table::THREADS),
        $crate::chain::chain::<_, $reducer>,
        (factors: FactorWord<$reducer>[One; $crate::chain::LENGTH as u32],
            elements: U32x4[InWholeBlocks(1); 1],
            products: U32x4[InWholeBlocks(1); 1])}
    };
    ($callback:ident columns_forward $method:ident $modulus:literal
        $log:literal $c:literal $r:literal $m:ty, $p:ty) => {
        $callback! {@kernel ["columns_forward_", stringify!($method), "_", $modulus, "_", $log],
        $crate::cyclic::columns::shape::<$c>($crate::table::THREADS),
        $crate::cyclic::columns::forward::<_, $m, $p, $c, $r>,
        (factors: FactorWord<$m>[One; 1 << ($log - 1)],
            polynomials: u32[InWholeBlocks(1 << ($log - 4)); 1 << $log],
            transforms: u32[InWholeBlocks(1 << ($log - 4)); 1 << $log])}
    };
    ($callback:ident columns_inverse $method:ident $modulus:literal
        $log:literal $c:literal $r:literal $m:ty, $p:ty) => {
        $callback! {@kernel ["columns_inverse_", stringify!($method), "_", $modulus, "_", $log],
        $crate::cyclic::columns::shape::<$c>($crate::table::THREADS),
        $crate::cyclic::columns::inverse::<_, $m, $p, $c, $r>,
        (factors: FactorWord<$m>[One; 1 << $log],
            polynomials: u32[InWholeBlocks(1 << ($log - 4)); 1 << $log])}
    };
    ($callback:ident rows_multiply $method:ident $modulus:literal
        $log:literal $c:literal $r:literal $m:ty, $p:ty) => {
        $callback! {@kernel ["rows_multiply_", stringify!($method), "_", $modulus, "_", $log],
        $crate::cyclic::rows::shape::<$r>($crate::table::THREADS),
        $crate::cyclic::rows::multiply::<_, $m, $p, $c, $r>,
        (forward: FactorWord<$m>[One; $crate::cyclic::rows::factors($log)],
            inverse: FactorWord<$m>[One; 1 << $r],
            operands: u32[InWholeBlocks(1); 16], products: u32[InWholeBlocks(1); 8])}
    };
    ($callback:ident forward_and_multiply $method:ident $modulus:literal
        $log:literal $c:literal $r:literal $m:ty, $p:ty) => {
        $callback! {@kernel
        ["forward_and_multiply_", stringify!($method), "_", $modulus, "_", $log],
        $crate::cyclic::mixed::shape::<$c, $r>($crate::table::THREADS),
        $crate::cyclic::mixed::forward_and_multiply::<_, $m, $p, $c, $r>,
        (factors: FactorWord<$m>[One; 1 << ($log - 1)],
            polynomials: u32[InWholeBlocks(1 << ($log - 2)); 2 << $log],
            transforms: u32[InWholeBlocks(1 << ($log - 2)); 2 << $log],
            in_rows: FactorWord<$m>[One; $crate::cyclic::rows::factors($log)],
            inverse: FactorWord<$m>[One; 1 << $r],
            operands: u32[InWholeBlocks(1 << ($log - 2)); 2 << $log],
            products: u32[InWholeBlocks(1 << ($log - 2)); 1 << $log])}
    };
    ($callback:ident multiply_and_inverse $method:ident $modulus:literal
        $log:literal $c:literal $r:literal $m:ty, $p:ty) => {
        $callback! {@kernel
        ["multiply_and_inverse_", stringify!($method), "_", $modulus, "_", $log],
        $crate::cyclic::mixed::shape::<$c, $r>($crate::table::THREADS),
        $crate::cyclic::mixed::multiply_and_inverse::<_, $m, $p, $c, $r>,
        (in_rows: FactorWord<$m>[One; $crate::cyclic::rows::factors($log)],
            inverse: FactorWord<$m>[One; 1 << $r],
            operands: u32[InWholeBlocks(3 << ($log - 4)); 2 << $log],
            products: u32[InWholeBlocks(3 << ($log - 4)); 1 << $log],
            in_columns: FactorWord<$m>[One; 1 << $log],
            results: u32[InWholeBlocks(3 << ($log - 4)); 1 << $log])}
    };
    ($callback:ident ring $arithmetic:ident $n:literal $ring:ty, $type:ty) => {
        $callback! {@kernel ["multiply_", stringify!($arithmetic), "_", $n],
        research_paper::product::ntt::shape::<$ring>(),
        research_paper::product::ntt::multiply_sampled_by::<_, $ring, $type>,
        (large: u16[EachOrShared; row::<$ring>()], small: u8[EachOperation; row::<$ring>()],
            product: u16[EachOperation; row::<$ring>()])}
    };
    ($callback:ident layer_forward $method:ident $modulus:literal $m:ty, $p:ty) => {
        $callback! {@kernel ["layer_forward_", stringify!($method), "_", $modulus],
        $crate::cyclic::single::shape($crate::table::THREADS),
        $crate::cyclic::single::forward::<_, $m>,
        (factors: FactorWord<$m>[One; $crate::cyclic::single::FACTORS],
            layer: u32[One; $crate::cyclic::single::Layer::WORDS as u32],
            polynomials: u32[InWholeBlocks(1); 2])}
    };
    ($callback:ident layer_inverse $method:ident $modulus:literal $m:ty, $p:ty) => {
        $callback! {@kernel ["layer_inverse_", stringify!($method), "_", $modulus],
        $crate::cyclic::single::shape($crate::table::THREADS),
        $crate::cyclic::single::inverse::<_, $m>,
        (factors: FactorWord<$m>[One; $crate::cyclic::single::FACTORS],
            layer: u32[One; $crate::cyclic::single::Layer::WORDS as u32],
            polynomials: u32[InWholeBlocks(1); 2])}
    };
    ($callback:ident values_multiply $method:ident $modulus:literal $m:ty, $p:ty) => {
        $callback! {@kernel ["values_multiply_", stringify!($method), "_", $modulus],
        $crate::cyclic::single::shape($crate::table::THREADS),
        $crate::cyclic::single::multiply::<_, $m, $p>,
        (transforms: u32[InWholeBlocks(1); 2])}
    };
}
#[cfg(all(feature = "entry-points", target_arch = "nvptx64"))]
pub(crate) use {for_each_lab_kernel, lab_kernel};

macro_rules! tables {
    (
        chain { $($chain:ident $chain_modulus:literal $reducer:ty;)* }
        cyclic { $($cyclic:ident $cyclic_modulus:literal $log:literal $c:literal $r:literal
            $twiddle:ty, $value:ty;)* }
        rows { $($rows:ident $rows_modulus:literal $rows_log:literal
            $rows_twiddle:ty, $rows_value:ty;)* }
        mixed { $($mixed:ident $mixed_modulus:literal $mixed_log:literal
            $mixed_c:literal $mixed_r:literal $mixed_twiddle:ty, $mixed_value:ty;)* }
        single { $($single:ident $single_modulus:literal $single_twiddle:ty, $single_value:ty;)* }
        ring { $($arithmetic:ident $n:literal $ring:ident $type:ty;)* }
    ) => {
        /// The kernel [`copy`](super::chain::copy), which measures the bandwidth of memory.
        pub static COPY: Kernel = lab_kernel!(tables copy);

        /// The kernels for chained products, one entry per method and modulus.
        pub static CHAINS: &[Chain] = &[$(Chain {
            method: stringify!($chain),
            modulus: $chain_modulus,
            kernel: lab_kernel!(tables chain $chain $chain_modulus $reducer),
        }),*];

        /// The kernels for cyclic products, one entry per method, modulus and length.
        pub static CYCLICS: &[Cyclic] = &[
            $(Cyclic {
                method: stringify!($cyclic),
                modulus: $cyclic_modulus,
                log_len: $log,
                columns: Some(Columns {
                    forward: lab_kernel!(tables columns_forward $cyclic $cyclic_modulus
                        $log $c $r $twiddle, $value),
                    inverse: lab_kernel!(tables columns_inverse $cyclic $cyclic_modulus
                        $log $c $r $twiddle, $value),
                }),
                rows: lab_kernel!(tables rows_multiply $cyclic $cyclic_modulus $log $c $r
                    $twiddle, $value),
            },)*
            $(Cyclic {
                method: stringify!($rows),
                modulus: $rows_modulus,
                log_len: $rows_log,
                columns: None,
                rows: lab_kernel!(tables rows_multiply $rows $rows_modulus $rows_log 0 $rows_log
                    $rows_twiddle, $rows_value),
            },)*
        ];

        /// The kernels for cyclic products layer by layer, one entry per method and modulus.
        pub static SINGLES: &[Single] = &[$(Single {
            method: stringify!($single),
            modulus: $single_modulus,
            forward: lab_kernel!(tables layer_forward $single $single_modulus
                $single_twiddle, $single_value),
            values: lab_kernel!(tables values_multiply $single $single_modulus
                $single_twiddle, $single_value),
            inverse: lab_kernel!(tables layer_inverse $single $single_modulus
                $single_twiddle, $single_value),
        }),*];

        /// The kernels of two passes at once, for some of [`CYCLICS`].
        pub static MIXED: &[Mixed] = &[$(Mixed {
            method: stringify!($mixed),
            modulus: $mixed_modulus,
            log_len: $mixed_log,
            forward_and_multiply: lab_kernel!(tables forward_and_multiply $mixed $mixed_modulus
                $mixed_log $mixed_c $mixed_r $mixed_twiddle, $mixed_value),
            multiply_and_inverse: lab_kernel!(tables multiply_and_inverse $mixed $mixed_modulus
                $mixed_log $mixed_c $mixed_r $mixed_twiddle, $mixed_value),
        }),*];

        /// The kernels for the KEM's products, one entry per ring and arithmetic.
        pub static RINGS: &[RingProduct] = &[$(RingProduct {
            arithmetic: stringify!($arithmetic),
            n: $n,
            kernel: lab_kernel!(tables ring $arithmetic $n $ring, $type),
        }),*];

        /// Visits all entries of [`CHAINS`] in order.
        pub fn visit_chains(visitor: &mut impl ChainVisitor) {
            let mut chains = CHAINS.iter();
            $(chains.next().into_iter().for_each(|chain| visitor.visit::<$reducer>(chain));)*
        }

        /// Visits all entries of [`CYCLICS`] in order.
        pub fn visit_cyclics(visitor: &mut impl CyclicVisitor) {
            let mut cyclics = CYCLICS.iter();
            $(cyclics.next().into_iter().for_each(|cyclic|
                visitor.visit::<$twiddle, $value>(cyclic));)*
            $(cyclics.next().into_iter().for_each(|cyclic|
                visitor.visit::<$rows_twiddle, $rows_value>(cyclic));)*
        }
    };
    (@kernel [$($name:tt)*], $shape:expr, $function:path,
        ($($array:ident: $element:ty [$rows:expr; $row:expr] $(as $wider:ty)?),*)) => {
        // SAFETY: the entry point is generated from the same entry of the list, so it takes these
        // arrays, and it is written for this shape. It stays inside the rows: the tests run every
        // kernel on arrays of exactly these lengths on the emulator. The indices that it accesses
        // depend only on the batch, except for single layers. These read the layer's parameters
        // from an array, each parameter once, and `Layer::load` clamps them so that no address is
        // outside the arrays.
        unsafe {
            ctru_simt::descriptor!(MODULE, [$($name)*], $shape, $function,
                ($($array: $element [$rows; $row] $(as $wider)?),*))
        }
    };
}

/// Returns all kernels of this list.
pub fn all() -> impl Iterator<Item = &'static Kernel> {
    let cyclics = CYCLICS
        .iter()
        .flat_map(|cyclic| cyclic.columns.iter().flat_map(Columns::each).chain([&cyclic.rows]));
    let singles =
        SINGLES.iter().flat_map(|single| [&single.forward, &single.values, &single.inverse]);
    let mixed = MIXED.iter().flat_map(Mixed::each);
    let rings = RINGS.iter().map(|ring| &ring.kernel);
    CHAINS
        .iter()
        .map(|chain| &chain.kernel)
        .chain(cyclics)
        .chain(mixed)
        .chain(singles)
        .chain(rings)
        .chain([&COPY])
}

for_each_lab_kernel!(tables);
