//! Cyclic products by transforms: every method against the schoolbook, and against each other at
//! full length.

use crate::strategies::numbers;
use proptest::prelude::*;
use research_arithmetic::ntt::cyclic::{
    CyclicError, Layers, Plan, Transform, forward_layer, inverse_layer, schoolbook,
};
use research_arithmetic::reduce::{
    Barrett, ConstantDivision, Float, Montgomery, Plantard, Proth, ReduceSum, Reducer, Residue,
    RoundingShoup, RuntimeDivision, Shoup,
};

/// Returns the product by transforms with the reducers `M` and `P`.
fn multiply<M: Reducer, P: ReduceSum>(a: &[u32], b: &[u32]) -> Vec<u32> {
    let n = a.len();
    let (mut forward, mut inverse) =
        (vec![M::Factor::default(); n / 2], vec![M::Factor::default(); n]);
    let transform = Transform::<M, P>::new(&mut forward, &mut inverse).unwrap();
    let residues = |x: &[u32]| x.iter().map(|&x| M::Residue::new(x as i32)).collect::<Vec<_>>();
    let (mut a, mut b) = (residues(a), residues(b));
    transform.multiply(&mut a, &mut b).unwrap();
    b.iter().map(|x| x.value() as u32).collect()
}

/// Generates pairs of polynomials of the same length, at most 256, with coefficients in
/// `0..modulus`.
fn operands(modulus: u32) -> impl Strategy<Value = (Vec<u32>, Vec<u32>)> {
    (1u32..=8).prop_flat_map(move |log| {
        let polynomial = || {
            numbers(1 << log, 0, i64::from(modulus) - 1)
                .prop_map(|x| x.iter().map(|&x| x as u32).collect::<Vec<_>>())
        };
        (polynomial(), polynomial())
    })
}

/// Compares products with the schoolbook. The property is compiled once.
fn check_products(modulus: u32, multiply: fn(&[u32], &[u32]) -> Vec<u32>) {
    proptest!(ProptestConfig::with_cases(32), |((a, b) in operands(modulus))| {
        let mut expected = vec![0; a.len()];
        schoolbook(modulus, &a, &b, &mut expected).unwrap();
        prop_assert_eq!(multiply(&a, &b), expected);
    });
}

/// Returns pseudo-random coefficients, other ones for each `state`.
fn pseudorandom(modulus: u32, len: usize, mut state: u64) -> Vec<u32> {
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % u64::from(modulus)) as u32
    };
    (0..len).map(|_| next()).collect()
}

macro_rules! products {
    ($($name:ident: $twiddle:ty, $pointwise:ty;)*) => {$(
        mod $name {
            use super::*;
            #[test]
            fn as_the_schoolbook() {
                check_products(<$twiddle>::MODULUS, multiply::<$twiddle, $pointwise>);
            }

            /// Multiplies polynomials of the laboratory's greatest length: first with all
            /// coefficients equal to the largest one, then with random ones.
            #[test]
            fn as_each_other() {
                const MODULUS: u32 = <$twiddle>::MODULUS;
                let largest = vec![MODULUS - 1; 1 << 17];
                // Each of the 2^17 terms of a coefficient is (-1)^2.
                let product = multiply::<$twiddle, $pointwise>(&largest, &largest);
                assert_eq!(product, vec![(1 << 17) % MODULUS; 1 << 17]);
                let (a, b) = (pseudorandom(MODULUS, 1 << 17, 1), pseudorandom(MODULUS, 1 << 17, 2));
                let expected = multiply::<Montgomery<MODULUS>, Montgomery<MODULUS>>(&a, &b);
                assert_eq!(multiply::<$twiddle, $pointwise>(&a, &b), expected);
            }
        }
    )*};
}

macro_rules! moduli {
    ($($name:ident: $modulus:literal, $proth:ty;)*) => {$(
        mod $name {
            use super::*;
            products! {
                runtime_division: RuntimeDivision<$modulus>, ConstantDivision<$modulus>;
                constant_division: ConstantDivision<$modulus>, ConstantDivision<$modulus>;
                barrett: Barrett<$modulus>, Barrett<$modulus>;
                montgomery: Montgomery<$modulus>, Montgomery<$modulus>;
                shoup: Shoup<$modulus>, Montgomery<$modulus>;
                plantard: Plantard<$modulus>, Montgomery<$modulus>;
                proth: $proth, $proth;
            }
        }
    )*};
}

moduli! {
    q7340033: 7_340_033, Proth<7, 20>;
    q104857601: 104_857_601, Proth<25, 22>;
    q469762049: 469_762_049, Proth<7, 26>;
}

products! {
    float: Float<7_340_033>, Montgomery<7_340_033>;
    rounding_shoup: RoundingShoup<469_762_049>, Montgomery<469_762_049>;
}

/// Compares the factors of single layers with the tables of all layers.
#[test]
fn factors_of_layers() {
    type M = Shoup<469_762_049>;
    let (mut forward, mut inverse) =
        (vec![Default::default(); 512], vec![Default::default(); 1024]);
    let transform =
        Transform::<M, Montgomery<469_762_049>>::new(&mut forward, &mut inverse).unwrap();
    for layer in 0..10 {
        let mut factors = vec![Default::default(); 1 << layer];
        forward_layer::<M>(&mut factors).unwrap();
        assert_eq!(factors, transform.forward_factors()[..1 << layer]);
        inverse_layer::<M>(&mut factors).unwrap();
        assert_eq!(factors, transform.inverse_factors()[1 << layer..2 << layer]);
    }
    let refused = inverse_layer::<M>(&mut [Default::default(); 3]).unwrap_err();
    assert_eq!(refused, CyclicError::NoRoot { modulus: 469_762_049, len: 6 });
}

/// Compares four coefficients of a product of length 2^17 with the definition.
#[test]
fn a_coefficient_at_full_length() {
    const MODULUS: u32 = 469_762_049;
    let (a, b) = (pseudorandom(MODULUS, 1 << 17, 3), pseudorandom(MODULUS, 1 << 17, 4));
    let product = multiply::<Shoup<MODULUS>, Montgomery<MODULUS>>(&a, &b);
    for k in [0, 1, 99_999, (1 << 17) - 1] {
        let term = |i: usize| u128::from(a[i]) * u128::from(b[(k + (1 << 17) - i) % (1 << 17)]);
        let sum: u128 = (0..1 << 17).map(term).sum();
        assert_eq!(product[k], (sum % u128::from(MODULUS)) as u32);
    }
}

#[test]
fn bad_lengths_are_refused() {
    type M = Montgomery<7_340_033>;
    let new = |first: usize, second: usize| {
        let (mut forward, mut inverse) = (vec![0; first], vec![0; second]);
        Transform::<M, M>::new(&mut forward, &mut inverse).map(drop).unwrap_err()
    };
    assert_eq!(new(4, 4), CyclicError::Length { expected: 8, actual: 4 });
    assert_eq!(new(3, 6), CyclicError::NoRoot { modulus: 7_340_033, len: 6 });
    assert_eq!(new(0, 0), CyclicError::NoRoot { modulus: 7_340_033, len: 0 });
    assert_eq!(new(1 << 20, 1 << 21), CyclicError::NoRoot { modulus: 7_340_033, len: 1 << 21 });

    let (mut forward, mut inverse) = (vec![0; 4], vec![0; 8]);
    let transform = Transform::<M, M>::new(&mut forward, &mut inverse).unwrap();
    let refused = transform.multiply(&mut [0; 8], &mut [0; 7]).unwrap_err();
    assert_eq!(refused, CyclicError::Length { expected: 8, actual: 7 });
}

#[test]
fn plans() {
    // 2^31 is 292 times the modulus: seventeen layers fit, and the bounds of the first four may
    // grow twofold.
    let small = Plan::new::<Montgomery<7_340_033>, Montgomery<7_340_033>>(17);
    for layers in [small.forward, small.inverse] {
        assert_eq!((layers.units, layers.normalise), (4, 0));
        assert_eq!(layers.bound, (16 + 13) * 7_340_032);
    }
    // Products take up to 17.1 times the modulus squared.
    assert_eq!(small.operands, 1);
    // 2^31 is 4.57 times the modulus. Inputs are below one modulus, and each layer adds one modulus
    // to the bound. Layer 3 would reach five moduli, so it normalises. If two layers double the
    // bound, layer 2 normalises, and layer 5 as well.
    let large = Layers::new::<Montgomery<469_762_049>>(469_762_048, 6, i64::MAX);
    assert_eq!((large.units, large.normalise), (1, 0b00_1000));
    // The last bound stays below the room for it, if it can.
    let room = |room: i64| Layers::new::<Montgomery<7_340_033>>(7_340_032, 17, room * 7_340_032);
    assert_eq!([17, 18, 19, 20, 24, 28, 29].map(|r| room(r).units), [4, 1, 2, 2, 3, 3, 4]);
}
