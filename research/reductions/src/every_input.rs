//! Kernels that try the reducers of [`research_arithmetic::reduce`] on every input, as a GPU runs
//! them.
//!
//! The tests `exhaust` of `research-arithmetic` try these methods and moduli on the CPU.

use ctru_math::kernel::modular::Modulo;
use ctru_math::{R653, R761, R1277};
use ctru_simt::descriptor::Rows::{Of, One};
use ctru_simt::descriptor::{Batch, Extent, Kernel, Shape};
use ctru_simt::simt::{Simt, Update, Word};
use research_arithmetic::reduce::{
    Barrett, ConstantDivision, Float, Mersenne, Montgomery, Packed, Plantard, Proth,
    PseudoMersenne, Reducer, Residue, RoundingShoup, RuntimeDivision, Shoup, UnsignedDivision,
    UnsignedMontgomery, UnsignedShoup,
};

use crate::{FactorWord, MODULE};

/// Number of threads per block.
pub const THREADS: u32 = 128;

/// The inputs and the factors of a check.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// Every input, with the largest factor alone.
    EveryInput,
    /// Every number that a product can be, with every factor.
    EveryFactor,
}

/// Checks the results of a method for the inputs from `first` to `last`: each product by `count`
/// factors, the first of which stands for `least_factor`; [`Reducer::normalise`]; and, of inputs
/// within the bound of results, [`Reducer::canonical`] and [`Reducer::centred`]. Adds the number of
/// results to `counts[0]`, that of the wrong ones to `counts[1]`, and the square of each input,
/// modulo `2^64`, to `counts[2]`.
///
/// The inputs are within [`Reducer::INPUT_BOUND`], and at least 0 if the method takes no negative
/// numbers. The factors are within half of the modulus. Each thread takes the inputs at a distance
/// of the number of operations.
///
/// Two faults can be planted: the results are compared with those of `input + planted`, and all
/// bounds of results are less by `cut`.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "a kernel takes its arrays and scalars one by one")]
pub fn check<S: Simt, M: Reducer>(
    s: S,
    factors: S::Global<FactorWord<M>>,
    counts: S::Global<u64>,
    batch: Batch,
    first: i32,
    last: i32,
    least_factor: i32,
    count: u32,
    planted: i32,
    cut: i64,
) where
    FactorWord<M>: Word,
{
    let (mut results, mut wrong, mut squares) = (0u64, 0u64, 0u64);
    let (modulus, half) = (i64::from(M::MODULUS), i64::from(M::MODULUS / 2));
    let mut compare = |result: i64, least: i64, most: i64, expected: i64| {
        let is_within = least + cut <= result && result <= most - cut;
        results += 1;
        wrong += u64::from(!is_within || (result - expected) % modulus != 0);
    };
    let least = |bound: i32| if M::IS_SIGNED { -i64::from(bound) } else { 0 };
    let thread = s.block() * s.threads() + s.thread();
    let mut input = i64::from(first) + i64::from(thread);
    while thread < batch.operations() && input <= last.into() {
        let (a, expected) = (M::Residue::new(input as i32), input + i64::from(planted));
        let bound = M::OUTPUT_BOUND;
        for i in 0..count {
            let product = M::mul(a, M::Factor::from_word(s.load(factors, i))).value();
            let factor = i64::from(least_factor) + i64::from(i);
            compare(product.into(), least(bound), bound.into(), expected * factor);
        }
        let most = M::NORMALISED_BOUND;
        compare(M::normalise(a).value().into(), least(most), most.into(), expected);
        if least(bound) <= input && input <= bound.into() {
            compare(M::canonical(a).into(), 0, modulus - 1, expected);
            compare(M::centred(a).into(), -half, half, expected);
        }
        squares = squares.wrapping_add((input * input) as u64);
        input += i64::from(batch.operations());
    }
    if results != 0 {
        s.atomic(counts, 0, Update::Add(results));
        s.atomic(counts, 1, Update::Add(wrong));
        s.atomic(counts, 2, Update::Add(squares));
    }
}

/// The place of `count` among the scalars.
const COUNT: usize = 3;

/// The number of factors of a launch.
fn factors(extent: Extent<'_>) -> u64 {
    extent.scalars.get(COUNT).and_then(|count| count.get::<u32>()).map_or(0, u64::from)
}

/// A visitor of the kernels that receives their methods.
pub trait Visitor {
    /// Visits a kernel that runs [`check`] for the method `M`.
    fn visit<M: Reducer>(&mut self, kernel: &'static Kernel, pairs: Pairs)
    where
        FactorWord<M>: Word;
}

macro_rules! checks {
    ($($pairs:ident $name:ident $text:literal $method:ty;)*) => {
        ctru_simt::kernels! {
            in MODULE:
            $(
                /// [`check`] for this method.
                pub unsafe $name $text = check::<_, $method>(
                    factors: FactorWord<$method>[Of(factors); 1], counts: u64[One; 3];
                    first: i32, last: i32, least_factor: i32, count: u32, planted: i32, cut: i64)
                    in Shape::new(THREADS, THREADS, 0);
            )*
        }

        /// All kernels.
        pub static ALL: &[&Kernel] = &[$(&$name),*];

        /// Visits all kernels.
        pub fn visit(visitor: &mut impl Visitor) {
            $(visitor.visit::<$method>(&$name, Pairs::$pairs);)*
        }
    };
}
checks! {
    // Coefficients of the scheme's rings, in inversions and after products.
    EveryInput MODULO_653 "check_modulo_653" Modulo<R653>;
    EveryInput MODULO_761 "check_modulo_761" Modulo<R761>;
    EveryInput MODULO_1277 "check_modulo_1277" Modulo<R1277>;
    // The methods of the products by the paper's transform.
    EveryInput PSEUDO_MERSENNE_653 "check_pseudo_mersenne_653" PseudoMersenne<24, 6>;
    EveryInput PSEUDO_MERSENNE_761 "check_pseudo_mersenne_761_and_1277" PseudoMersenne<25, 12>;
    EveryInput SHOUP_653 "check_shoup_653" Shoup<16_777_153>;
    EveryInput SHOUP_761 "check_shoup_761_and_1277" Shoup<33_550_337>;
    EveryInput MONTGOMERY_653 "check_montgomery_653" Montgomery<16_777_153>;
    EveryInput MONTGOMERY_761 "check_montgomery_761_and_1277" Montgomery<33_550_337>;
    // The other methods of the laboratory, with a modulus of the laboratory.
    EveryInput BARRETT "check_barrett" Barrett<469_762_049>;
    EveryInput CONSTANT_DIVISION "check_constant_division" ConstantDivision<469_762_049>;
    EveryInput RUNTIME_DIVISION "check_runtime_division" RuntimeDivision<469_762_049>;
    EveryInput PLANTARD "check_plantard" Plantard<469_762_049>;
    EveryInput ROUNDING_SHOUP "check_rounding_shoup" RoundingShoup<469_762_049>;
    EveryInput PROTH "check_proth" Proth<7, 26>;
    EveryInput MERSENNE "check_mersenne" Mersenne<31>;
    EveryInput FLOAT "check_float" Float<16_777_207>;
    EveryInput UNSIGNED_DIVISION "check_unsigned_division" UnsignedDivision<469_762_049>;
    EveryInput UNSIGNED_SHOUP "check_unsigned_shoup" UnsignedShoup<469_762_049>;
    EveryInput UNSIGNED_MONTGOMERY "check_unsigned_montgomery" UnsignedMontgomery<469_762_049>;
    // All pairs modulo the moduli of the scheme.
    EveryFactor MODULO_4591 "check_modulo_pairs_4591" Modulo<R761>;
    EveryFactor MODULO_4621 "check_modulo_pairs_4621" Modulo<R653>;
    EveryFactor MODULO_7879 "check_modulo_pairs_7879" Modulo<R1277>;
    EveryFactor MONTGOMERY_4591 "check_montgomery_pairs_4591" Montgomery<4591>;
    EveryFactor MONTGOMERY_4621 "check_montgomery_pairs_4621" Montgomery<4621>;
    EveryFactor MONTGOMERY_7879 "check_montgomery_pairs_7879" Montgomery<7879>;
    EveryFactor SHOUP_4591 "check_shoup_pairs_4591" Shoup<4591>;
    EveryFactor SHOUP_4621 "check_shoup_pairs_4621" Shoup<4621>;
    EveryFactor SHOUP_7879 "check_shoup_pairs_7879" Shoup<7879>;
    EveryFactor PLANTARD_4591 "check_plantard_pairs_4591" Plantard<4591>;
    EveryFactor PLANTARD_4621 "check_plantard_pairs_4621" Plantard<4621>;
    EveryFactor PLANTARD_7879 "check_plantard_pairs_7879" Plantard<7879>;
    EveryFactor FLOAT_4591 "check_float_pairs_4591" Float<4591>;
    EveryFactor FLOAT_4621 "check_float_pairs_4621" Float<4621>;
    EveryFactor FLOAT_7879 "check_float_pairs_7879" Float<7879>;
}
