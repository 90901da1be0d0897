//! Every reducer against exact arithmetic: at the ends of its ranges, around multiples of the
//! modulus, at random.

use ctru_math::reduce::{
    Barrett, ConstantDivision, Float, Mersenne, Montgomery, Packed, Plantard, Proth,
    PseudoMersenne, ReduceSum, Reducer, Residue, RoundingShoup, RuntimeDivision, Shoup,
    UnsignedDivision, UnsignedMontgomery, UnsignedShoup,
};
use proptest::prelude::*;

fn modulus<M: Reducer>() -> i128 {
    i128::from(M::MODULUS)
}

fn assert_congruent<M: Reducer>(a: i128, b: i128, what: &str) {
    assert_eq!((a - b).rem_euclid(modulus::<M>()), 0, "{what} modulo {}", M::MODULUS);
}

/// Checks the promises of `Reducer` for one input and one factor.
fn check_mul<M: Reducer>(a: i32, w: i32) {
    let what = format!("{} * {w}", a);
    let factor = M::factor(w);
    assert_eq!(M::Factor::from_word(factor.to_word()), factor, "a factor as a word");
    let product = M::mul(M::Residue::new(a), factor).value();
    assert_eq!(
        M::Residue::from_word(M::Residue::new(product).to_word()).value(),
        product,
        "a residue as a word"
    );
    let least = if M::IS_SIGNED { -M::OUTPUT_BOUND } else { 0 };
    assert!(
        (least..=M::OUTPUT_BOUND).contains(&product),
        "{what} = {product} modulo {}",
        M::MODULUS
    );
    assert_congruent::<M>(product.into(), i128::from(a) * i128::from(w), &what);
    check_canonical::<M>(product);

    let small = M::normalise(M::Residue::new(a)).value();
    assert!(small.abs() <= M::NORMALISED_BOUND, "normalise({a}) = {small} modulo {}", M::MODULUS);
    assert_congruent::<M>(small.into(), a.into(), "normalise");
}

/// Checks the promises of `ReduceSum` for one sum.
fn check_sum<M: ReduceSum>(sum: i64) {
    let reduced = M::reduce(sum);
    assert!(reduced.abs() <= M::OUTPUT_BOUND, "reduce({sum}) = {reduced} modulo {}", M::MODULUS);
    assert_congruent::<M>(i128::from(reduced) * i128::from(M::RADIX), sum.into(), "reduce");
}

fn check_product<M: ReduceSum>(a: i32, w: i32) {
    let product = M::product(a, M::factor(w));
    assert!(i128::from(product).abs() <= i128::from(a).abs() * modulus::<M>());
    let expected = i128::from(a) * i128::from(w) * i128::from(M::RADIX);
    assert_congruent::<M>(product.into(), expected, "product");
    check_sum::<M>(product);
}

fn check_canonical<M: Reducer>(a: i32) {
    let expected = i128::from(a).rem_euclid(modulus::<M>());
    assert_eq!(
        i128::from(M::canonical(M::Residue::new(a))),
        expected,
        "canonical({a}) modulo {}",
        M::MODULUS
    );
    let centred = if expected > modulus::<M>() / 2 { expected - modulus::<M>() } else { expected };
    assert_eq!(
        i128::from(M::centred(M::Residue::new(a))),
        centred,
        "centred({a}) modulo {}",
        M::MODULUS
    );
    let first = if M::IS_SIGNED { centred } else { expected };
    assert_eq!(i128::from(M::from_canonical(expected as u32).value()), first, "from {expected}");
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

fn check_edges<M: Reducer>() {
    const {
        assert!(M::OUTPUT_BOUND <= M::INPUT_BOUND);
        assert!((M::OUTPUT_BOUND as u32) < 2 * M::MODULUS);
        assert!(M::NORMALISED_BOUND <= M::OUTPUT_BOUND);
    }
    let step = i64::from(M::MODULUS);
    for a in edges(M::INPUT_BOUND.into(), step).into_iter().filter(is_input::<M>) {
        for w in edges(step / 2, step) {
            check_mul::<M>(a as i32, w as i32);
        }
    }
    for a in edges(M::OUTPUT_BOUND.into(), step).into_iter().filter(is_input::<M>) {
        check_canonical::<M>(a as i32);
    }
}

/// Returns whether the method takes numbers of this sign.
fn is_input<M: Reducer>(a: &i64) -> bool {
    M::IS_SIGNED || *a >= 0
}

fn check_sum_edges<M: ReduceSum>() {
    let step = i64::from(M::MODULUS);
    let largest_product = i128::from(M::INPUT_BOUND) * (modulus::<M>() / 2);
    assert!(largest_product <= M::SUM_BOUND.into());
    edges(M::SUM_BOUND, step).into_iter().for_each(check_sum::<M>);
    for a in edges(M::INPUT_BOUND.into(), step) {
        for w in edges(step / 2, step) {
            check_product::<M>(a as i32, w as i32);
        }
    }
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

macro_rules! reducer_tests {
    ($($name:ident: $reducer:ty),* $(,)?) => {
        $(mod $name {
            use super::*;

            #[test]
            fn edges() {
                check_edges::<$reducer>();
            }

            proptest! {
                #[test]
                fn random(a in -i64::MAX..=i64::MAX, w in -i64::MAX..=i64::MAX) {
                    let half = i64::from(<$reducer>::MODULUS / 2);
                    let a = if <$reducer>::IS_SIGNED { a } else { a.abs() };
                    let a = scaled(a, <$reducer>::INPUT_BOUND.into());
                    check_mul::<$reducer>(a as i32, scaled(w, half) as i32);
                }
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

            proptest! {
                #[test]
                fn random(
                    sum in -i64::MAX..=i64::MAX, a in any::<i32>(), w in -i64::MAX..=i64::MAX,
                ) {
                    check_sum::<$reducer>(scaled(sum, <$reducer>::SUM_BOUND));
                    let w = scaled(w, i64::from(<$reducer>::MODULUS / 2));
                    let bound = <$reducer>::INPUT_BOUND;
                    check_product::<$reducer>(a.clamp(-bound, bound), w as i32);
                }
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
