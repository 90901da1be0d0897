//! The transforms of the three rings: Table 2 of the paper.

use super::NttRing;
use super::roots::Roots;
use crate::reduce::{Montgomery, PseudoMersenne, ReduceSum, Reducer, Shoup};
use ctru_math::kernel::modular::Modulo;
use ctru_math::{R653, R761, R1277};

/// The paper's arithmetic: products are reduced by folding, because `q'` is pseudo-Mersenne.
#[derive(Copy, Clone, Debug, Default)]
pub struct Folding;

/// Arithmetic for machines with a multiplier as fast as their adder: Shoup's products by twiddle
/// factors and Montgomery's reduction in the leaves. It works for any prime `q'`.
#[derive(Copy, Clone, Debug, Default)]
pub struct Multiplying;

/// Twiddle factors of a transform. Block numbers count from the low coefficients of the array.
#[derive(Copy, Clone, Debug)]
pub struct Twiddles<F: 'static, L: 'static> {
    /// `z` of block `j`, the same in every radix-2 layer that has a block `j`; entry 0 is 1.
    pub radix2: &'static [F],
    /// The inverses of `radix2`.
    pub radix2_inverse: &'static [F],
    /// The factors of the radix-3 layer, if there is one.
    pub radix3: Option<Radix3<F>>,
    /// `zeta` of leaf `j`.
    pub leaves: &'static [L],
    /// `RADIX / LEAVES`: the factor of the last step of the inverse.
    pub scale: F,
}

/// Twiddle factors of a radix-3 layer.
#[derive(Copy, Clone, Debug)]
pub struct Radix3<F: 'static> {
    /// A primitive cube root of unity.
    pub omega: F,
    /// `z` and `z^2` of block `j`; entry 0 is 1 and 1.
    pub forward: &'static [[F; 2]],
    /// `z^-1` and `z^-2` of block `j`.
    pub inverse: &'static [[F; 2]],
}

/// Makes the array of `$len` entries whose entry `$j` is `$entry`, in constants.
macro_rules! table {
    ($len:expr, |$j:ident| $entry:expr) => {{
        let mut table = [{
            let $j = 0;
            $entry
        }; $len];
        let mut $j = 0;
        while $j < $len {
            table[$j] = $entry;
            $j += 1;
        }
        table
    }};
}

/// Implements [`NttRing`] for one ring and one arithmetic. The macro names the types of the
/// reducers, because constants cannot call functions of traits.
macro_rules! ntt_ring {
    (@radix3 1, $layers:literal, $butterfly:ty, $roots:ident) => {
        None
    };
    (@radix3 3, $layers:literal, $butterfly:ty, $roots:ident) => {
        Some(Radix3 {
            omega: <$butterfly>::factor($roots.omega()),
            forward: &table!(1 << $layers, |j| {
                let [z, square] = $roots.radix3(j);
                [<$butterfly>::factor(z), <$butterfly>::factor(square)]
            }),
            inverse: &table!(1 << $layers, |j| {
                let [z, square] = $roots.radix3_inverse(j);
                [<$butterfly>::factor(z), <$butterfly>::factor(square)]
            }),
        })
    };
    ($ring:ty, $arithmetic:ty { butterfly: $butterfly:ty, reducer: $reducer:ty,
        radix2_layers: $layers:literal, radix3: $radix3:tt, leaf_degree: $degree:literal $(,)?
    }) => {
        impl NttRing<$arithmetic> for $ring {
            type Butterfly = $butterfly;
            type Reducer = $reducer;
            type CoefficientReducer = Modulo<Self>;
            type NttCoeffs = [i32; ($radix3 << $layers) * $degree];
            type Leaf = [i32; $degree];
            const NTT_LEN: usize = ($radix3 << $layers) * $degree;
            const RADIX2_LAYERS: u32 = $layers;
            const LEAF_DEGREE: usize = $degree;
            const TWIDDLES: Twiddles<
                <$butterfly as Reducer>::Factor,
                <$reducer as Reducer>::Factor,
            > = {
                const ROOTS: Roots = Roots::new(<$reducer>::MODULUS, $radix3 << $layers, $layers);
                Twiddles {
                    radix2: &table!(1 << ($layers - 1), |j| <$butterfly>::factor(ROOTS.radix2(j))),
                    radix2_inverse: &table!(1 << ($layers - 1), |j| <$butterfly>::factor(
                        ROOTS.radix2_inverse(j)
                    )),
                    radix3: ntt_ring!(@radix3 $radix3, $layers, $butterfly, ROOTS),
                    leaves: &table!($radix3 << $layers, |j| <$reducer>::factor(ROOTS.leaf(j))),
                    scale: <$butterfly>::factor(ROOTS.scale(<$reducer>::RADIX)),
                }
            };

            #[inline(always)]
            fn leaf_product(
                a: [i32; $degree],
                b: [i32; $degree],
                zeta: <$reducer as Reducer>::Factor,
            ) -> [i32; $degree] {
                super::leaf::product::<$reducer, $degree>(a, b, zeta)
            }
        }

        const _: () = super::bounds::check::<$ring, $arithmetic>();
    };
}

/// Implements [`NttRing`] for both arithmetics of each ring.
macro_rules! ntt_rings {
    ($($ring:ty {
        a: $a:literal, b: $b:literal,
        radix2_layers: $layers:literal, radix3: $radix3:tt, leaf_degree: $degree:literal
    })*) => {$(
        ntt_ring! { $ring, Folding {
            butterfly: PseudoMersenne<$a, $b>, reducer: PseudoMersenne<$a, $b>,
            radix2_layers: $layers, radix3: $radix3, leaf_degree: $degree } }
        ntt_ring! { $ring, Multiplying { butterfly: Shoup<{ (1 << $a) - (1 << $b) + 1 }>,
            reducer: Montgomery<{ (1 << $a) - (1 << $b) + 1 }>,
            radix2_layers: $layers, radix3: $radix3, leaf_degree: $degree } }
    )*};
}

ntt_rings! {
    R653 { a: 24, b: 6, radix2_layers: 6, radix3: 3, leaf_degree: 7 }
    R761 { a: 25, b: 12, radix2_layers: 9, radix3: 1, leaf_degree: 3 }
    R1277 { a: 25, b: 12, radix2_layers: 9, radix3: 1, leaf_degree: 5 }
}
