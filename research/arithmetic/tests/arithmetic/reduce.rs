//! Every reducer against exact arithmetic: at the ends of its ranges, around multiples of the
//! modulus, at random.

use std::fmt;

use proptest::prelude::*;
use research_arithmetic::reduce::{
    Barrett, ConstantDivision, Float, Mersenne, Montgomery, Packed, Plantard, Proth,
    PseudoMersenne, ReduceSum, Reducer, Residue, RoundingShoup, RuntimeDivision, Shoup,
    UnsignedDivision, UnsignedMontgomery, UnsignedShoup,
};

/// What a method promises, and the checks of it. They are not generic, so that the compiler
/// translates them once and not for each of the methods and moduli.
struct Promises {
    modulus: u32,
    is_signed: bool,
    output_bound: i32,
    normalised_bound: i32,
}

impl Promises {
    fn of<M: Reducer>() -> Self {
        Self {
            modulus: M::MODULUS,
            is_signed: M::IS_SIGNED,
            output_bound: M::OUTPUT_BOUND,
            normalised_bound: M::NORMALISED_BOUND,
        }
    }

    fn assert_congruent(&self, a: i128, b: i128, what: fmt::Arguments<'_>) {
        let modulus = self.modulus;
        assert_eq!((a - b).rem_euclid(modulus.into()), 0, "{what} modulo {modulus}");
    }

    /// Checks a product of `a` by `w`, which is `again` after its way through a word, and `a`
    /// normalised.
    fn check_mul(&self, a: i32, w: i32, [product, again, normalised]: [i32; 3]) {
        let modulus = self.modulus;
        assert_eq!(again, product, "a residue as a word");
        let least = if self.is_signed { -self.output_bound } else { 0 };
        assert!(
            (least..=self.output_bound).contains(&product),
            "{a} * {w} = {product} modulo {modulus}"
        );
        let exact = i128::from(a) * i128::from(w);
        self.assert_congruent(product.into(), exact, format_args!("{a} * {w}"));
        assert!(
            normalised.abs() <= self.normalised_bound,
            "normalise({a}) = {normalised} modulo {modulus}"
        );
        self.assert_congruent(normalised.into(), a.into(), format_args!("normalise({a})"));
    }

    /// Checks the canonical and the centred representative of `a`, and the representative `back` of
    /// the canonical number, which is `expected`.
    fn check_canonical(&self, a: i32, expected: u32, canonical: u32, [centred, back]: [i32; 2]) {
        let modulus = self.modulus;
        assert_eq!(canonical, expected, "canonical({a}) modulo {modulus}");
        let nearest =
            i64::from(expected) - if expected > modulus / 2 { i64::from(modulus) } else { 0 };
        assert_eq!(i64::from(centred), nearest, "centred({a}) modulo {modulus}");
        let first = if self.is_signed { nearest } else { expected.into() };
        assert_eq!(i64::from(back), first, "from {expected}");
    }

    /// Checks a sum after its reduction.
    fn check_sum(&self, sum: i64, reduced: i32, radix: u32) {
        let what = format_args!("reduce({sum}) = {reduced}");
        assert!(reduced.abs() <= self.output_bound, "{what} modulo {}", self.modulus);
        self.assert_congruent(i128::from(reduced) * i128::from(radix), sum.into(), what);
    }

    /// Checks an unreduced product of `a` by `w`.
    fn check_product(&self, a: i32, w: i32, product: i64, radix: u32) {
        assert!(i128::from(product).abs() <= i128::from(a).abs() * i128::from(self.modulus));
        let expected = i128::from(a) * i128::from(w) * i128::from(radix);
        self.assert_congruent(product.into(), expected, format_args!("product"));
    }
}

/// Checks the promises of `Reducer` for one input and one factor.
fn check_mul<M: Reducer>(a: i32, w: i32) {
    let factor = M::factor(w);
    assert_eq!(M::Factor::from_word(factor.to_word()), factor, "a factor as a word");
    let product = M::mul(M::Residue::new(a), factor).value();
    let again = M::Residue::from_word(M::Residue::new(product).to_word()).value();
    let normalised = M::normalise(M::Residue::new(a)).value();
    Promises::of::<M>().check_mul(a, w, [product, again, normalised]);
    check_canonical::<M>(product);
}

/// Checks the promises of `ReduceSum` for one sum.
fn check_sum<M: ReduceSum>(sum: i64) {
    Promises::of::<M>().check_sum(sum, M::reduce(sum), M::RADIX);
}

fn check_product<M: ReduceSum>(a: i32, w: i32) {
    let product = M::product(a, M::factor(w));
    Promises::of::<M>().check_product(a, w, product, M::RADIX);
    check_sum::<M>(product);
}

fn check_canonical<M: Reducer>(a: i32) {
    let expected = i64::from(a).rem_euclid(M::MODULUS.into()) as u32;
    let residue = M::Residue::new(a);
    let back = M::from_canonical(expected).value();
    Promises::of::<M>().check_canonical(
        a,
        expected,
        M::canonical(residue),
        [M::centred(residue), back],
    );
}

/// Returns 0, the ends of `-bound..=bound`, the small multiples of `step`, the largest multiple and
/// some powers of two, each with its neighbours.
fn edges(bound: i64, step: i64) -> Vec<i64> {
    let multiples = [0, 1, 2, 3, step, bound / step].map(|k| k.checked_mul(step));
    let halves = [Some(step / 2), Some(bound / 2), Some(bound)];
    let powers = (0..63).map(|bit| Some(1i64 << bit));
    multiples
        .into_iter()
        .chain(halves)
        .chain(powers)
        .flatten()
        .flat_map(|x| [x - 1, x, x.saturating_add(1)])
        .flat_map(|x| [x, -x])
        .filter(|x| x.unsigned_abs() <= bound as u64)
        .collect()
}

/// Returns the edges that the method takes: without negative numbers if it takes none.
fn input_edges<M: Reducer>(bound: i32) -> Vec<i32> {
    let mut inputs = edges(bound.into(), M::MODULUS.into());
    inputs.retain(|&a| M::IS_SIGNED || a >= 0);
    inputs.into_iter().map(|a| a as i32).collect()
}

/// Returns the edges of factors.
fn factor_edges(modulus: u32) -> Vec<i32> {
    let modulus = modulus.into();
    edges(modulus / 2, modulus).into_iter().map(|w| w as i32).collect()
}

fn check_edges<M: Reducer>() {
    const {
        assert!(M::OUTPUT_BOUND <= M::INPUT_BOUND);
        assert!((M::OUTPUT_BOUND as u32) < 2 * M::MODULUS);
        assert!(M::NORMALISED_BOUND <= M::OUTPUT_BOUND);
    }
    let factors = factor_edges(M::MODULUS);
    on_pairs(&input_edges::<M>(M::INPUT_BOUND), &factors, check_mul::<M>);
    for a in input_edges::<M>(M::OUTPUT_BOUND) {
        check_canonical::<M>(a);
    }
}

/// Runs a check on all pairs of an input and a factor.
fn on_pairs(inputs: &[i32], factors: &[i32], check: fn(i32, i32)) {
    for &a in inputs {
        for &w in factors {
            check(a, w);
        }
    }
}

fn check_sum_edges<M: ReduceSum>() {
    let largest_product = i128::from(M::INPUT_BOUND) * i128::from(M::MODULUS / 2);
    assert!(largest_product <= M::SUM_BOUND.into());
    edges(M::SUM_BOUND, M::MODULUS.into()).into_iter().for_each(check_sum::<M>);
    let factors = factor_edges(M::MODULUS);
    on_pairs(&input_edges::<M>(M::INPUT_BOUND), &factors, check_product::<M>);
}

/// Checks all numbers up to the output bound with all factors, for a small modulus, so that no
/// combination of signs and carries is missed.
fn check_small_exhaustively<M: Reducer>() {
    let half = (M::MODULUS / 2) as i32;
    let least = if M::IS_SIGNED { -M::OUTPUT_BOUND } else { 0 };
    for a in least..=M::OUTPUT_BOUND {
        check_canonical::<M>(a);
        for w in -half..=half {
            check_mul::<M>(a, w);
        }
    }
}

fn scaled(fraction: i64, bound: i64) -> i64 {
    (i128::from(fraction) * i128::from(bound) / i128::from(i64::MAX)) as i64
}

/// Runs a check on three random numbers, 256 times. The property is compiled once.
fn on_random_numbers(check: fn([i64; 3])) {
    let number = || -i64::MAX..=i64::MAX;
    proptest!(|(numbers in [number(), number(), number()])| {
        check(numbers);
    });
}

macro_rules! reducer_tests {
    ($($name:ident: $reducer:ty),* $(,)?) => {
        $(mod $name {
            use super::*;

            #[test]
            fn edges() {
                check_edges::<$reducer>();
            }

            #[test]
            fn random() {
                on_random_numbers(|[a, w, _]| {
                    let half = i64::from(<$reducer>::MODULUS / 2);
                    let a = if <$reducer>::IS_SIGNED { a } else { a.abs() };
                    let a = scaled(a, <$reducer>::INPUT_BOUND.into());
                    check_mul::<$reducer>(a as i32, scaled(w, half) as i32);
                });
            }
        })*
    };
}

macro_rules! sum_tests {
    ($($name:ident: $reducer:ty),* $(,)?) => {
        $(mod $name {
            use super::*;

            #[test]
            fn edges() {
                check_sum_edges::<$reducer>();
            }

            #[test]
            fn random() {
                on_random_numbers(|[sum, w, a]| {
                    check_sum::<$reducer>(scaled(sum, <$reducer>::SUM_BOUND));
                    let w = scaled(w, i64::from(<$reducer>::MODULUS / 2));
                    let bound = <$reducer>::INPUT_BOUND;
                    check_product::<$reducer>((a as i32).clamp(-bound, bound), w as i32);
                });
            }
        })*
    };
}

/// Tests moduli just above and below powers of two, which are the hardest for estimates of
/// quotients, and the moduli of the laboratory and of the scheme.
macro_rules! for_moduli {
    ($($method:ident: $type:ident, $tests:ident);* $(;)?) => {
        $(mod $method {
            use super::*;
            $tests! {
                q3: $type<3>, q3329: $type<3329>, q4591: $type<4591>, q4621: $type<4621>,
                q7681: $type<7681>,
                q7879: $type<7879>, q65521: $type<65521>, q65537: $type<65537>,
                q1048573: $type<1048573>,
                q7340033: $type<7340033>, q16769023: $type<16769023>, q16777153: $type<16777153>,
                q33550337: $type<33550337>, q104857601: $type<104857601>,
                q268369921: $type<268369921>,
                q469762049: $type<469762049>, q536870913: $type<536870913>,
                q1073741823: $type<1073741823>,
            }
        })*
    };
}

for_moduli! {
    runtime_division: RuntimeDivision, reducer_tests;
    constant_division: ConstantDivision, reducer_tests;
    constant_division_sums: ConstantDivision, sum_tests;
    barrett: Barrett, reducer_tests;
    barrett_sums: Barrett, sum_tests;
    montgomery: Montgomery, reducer_tests;
    montgomery_sums: Montgomery, sum_tests;
    shoup: Shoup, reducer_tests;
    plantard: Plantard, reducer_tests;
    unsigned_division: UnsignedDivision, reducer_tests;
    unsigned_shoup: UnsignedShoup, reducer_tests;
    unsigned_montgomery: UnsignedMontgomery, reducer_tests;
}

/// Tests the methods that take moduli between 2^30 and 2^31, with the ends of this range.
macro_rules! for_31_bits {
    ($($method:ident: $type:ident, $tests:ident);* $(;)?) => {
        $(mod $method {
            use super::*;
            $tests! {
                q1073741825: $type<1073741825>, q2147483629: $type<2147483629>,
                q2147483647: $type<2147483647>,
            }
        })*
    };
}

mod with_31_bits {
    use super::*;
    for_31_bits! {
        runtime_division: RuntimeDivision, reducer_tests;
        constant_division: ConstantDivision, reducer_tests;
        constant_division_sums: ConstantDivision, sum_tests;
        montgomery: Montgomery, reducer_tests;
        montgomery_sums: Montgomery, sum_tests;
        unsigned_division: UnsignedDivision, reducer_tests;
        unsigned_shoup: UnsignedShoup, reducer_tests;
        unsigned_montgomery: UnsignedMontgomery, reducer_tests;
    }
}

mod mersenne {
    use super::*;
    reducer_tests! {
        q3: Mersenne<2>, q127: Mersenne<7>, q65535: Mersenne<16>, q131071: Mersenne<17>,
        q524287: Mersenne<19>, q1073741823: Mersenne<30>, q2147483647: Mersenne<31>,
    }
}

/// Tests moduli at most as far below a power of two as the type permits.
mod rounding_shoup {
    use super::*;
    reducer_tests! {
        q1048573: RoundingShoup<1048573>, q33550337: RoundingShoup<33550337>,
        q268369921: RoundingShoup<268369921>, q469762049: RoundingShoup<469762049>,
        q1073741823: RoundingShoup<1073741823>,
    }
}

mod float {
    use super::*;
    reducer_tests! {
        q3: Float<3>, q3329: Float<3329>, q4591: Float<4591>, q7879: Float<7879>,
        q65521: Float<65521>,
        q1048573: Float<1048573>, q7340033: Float<7340033>, q13421747: Float<13421747>,
        q13421759: Float<13421759>,
        q16769023: Float<16769023>, q16777207: Float<16777207>,
    }
}

/// Tests moduli `2^A + S 2^B + T`. The list has both signs of `S` and of `T`, moduli that need one
/// fold in 64 bits, and moduli that need two.
macro_rules! for_pseudo_mersenne {
    ($($method:ident: $tests:ident);*) => {
        $(mod $method {
            use super::*;
            $tests! {
                q653: PseudoMersenne<24, 6>, q761: PseudoMersenne<25, 12>,
                q1048065: PseudoMersenne<20, 9>,
                q65521: PseudoMersenne<16, 4>, q1048573: PseudoMersenne<20, 2>,
                q16769023: PseudoMersenne<24, 13, -1, -1>,
                q268369921: PseudoMersenne<28, 16>, q16785409: PseudoMersenne<24, 13, 1, 1>,
                q1048583: PseudoMersenne<20, 3, 1, -1>,
            }
        })*
    };
}

for_pseudo_mersenne! {
    pseudo_mersenne: reducer_tests;
    pseudo_mersenne_sums: sum_tests
}

macro_rules! for_proth {
    ($($method:ident: $tests:ident);*) => {
        $(mod $method {
            use super::*;
            $tests! {
                q7340033: Proth<7, 20>, q104857601: Proth<25, 22>, q469762049: Proth<7, 26>,
                q998244353: Proth<119, 23>,
            }
        })*
    };
}

for_proth! {
    proth: reducer_tests;
    proth_sums: sum_tests
}

#[test]
fn moduli() {
    assert_eq!(PseudoMersenne::<24, 6>::MODULUS, 16777153);
    assert_eq!(PseudoMersenne::<25, 12>::MODULUS, 33550337);
    assert_eq!(PseudoMersenne::<16, 4>::MODULUS, 65521);
    assert_eq!(PseudoMersenne::<20, 2>::MODULUS, 1048573);
    assert_eq!(PseudoMersenne::<24, 13, -1, -1>::MODULUS, 16769023);
    assert_eq!(PseudoMersenne::<28, 16>::MODULUS, 268369921);
    assert_eq!(Mersenne::<31>::MODULUS, 2147483647);
    assert_eq!(Proth::<7, 20>::MODULUS, 7340033);
    assert_eq!(Proth::<25, 22>::MODULUS, 104857601);
    assert_eq!(Proth::<7, 26>::MODULUS, 469762049);
    assert_eq!(Barrett::<4591>::MODULUS, 4591);
    assert_eq!(Montgomery::<7681>::RADIX, ((1u64 << 32) % 7681) as u32);
}

#[test]
fn small_moduli_exhaustively() {
    fn check<const M: u32>() {
        check_small_exhaustively::<RuntimeDivision<M>>();
        check_small_exhaustively::<ConstantDivision<M>>();
        check_small_exhaustively::<Barrett<M>>();
        check_small_exhaustively::<Montgomery<M>>();
        check_small_exhaustively::<Shoup<M>>();
        check_small_exhaustively::<Plantard<M>>();
        check_small_exhaustively::<Float<M>>();
        check_small_exhaustively::<UnsignedDivision<M>>();
        check_small_exhaustively::<UnsignedShoup<M>>();
        check_small_exhaustively::<UnsignedMontgomery<M>>();
    }
    check::<3>();
    check::<257>();
    check_small_exhaustively::<PseudoMersenne<10, 2>>();
    check_small_exhaustively::<Mersenne<2>>();
    check_small_exhaustively::<Mersenne<8>>();
}
