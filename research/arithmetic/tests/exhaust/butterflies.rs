//! Butterflies: of pairs on all inputs of small moduli, of triples on all inputs of a modulus of
//! seven bits. Their products are those of the reducers; sums are exact.

use research_arithmetic::ntt::butterfly::{radix2, radix2_inverse, radix3, radix3_inverse};
use research_arithmetic::reduce::{Barrett, Montgomery, Plantard, Reducer, Residue, Shoup};

use ctru_tests::exhaust;
use ctru_tests::exhaust::Extent;

fn congruent<M: Reducer>(residue: M::Residue, expected: i64) -> bool {
    (i64::from(residue.value()) - expected).rem_euclid(M::MODULUS.into()) == 0
}

/// Checks both butterflies of pairs for all pairs of centred numbers.
fn pairs<M: Reducer>(extent: Extent) -> u64 {
    let (half, len) = (i64::from(M::MODULUS / 2), i64::from(M::MODULUS));
    let z = half - 1;
    let factor = M::factor(z as i32);
    let mut count = 0;
    for number in extent.of(0..=len * len - 1) {
        let (x, y) = (number / len - half, number % len - half);
        let [a, b] = [x, y].map(|x| M::Residue::new(x as i32));
        let (sum, difference) = radix2::<M>(a, b, factor);
        let ok = congruent::<M>(sum, x + z * y) && congruent::<M>(difference, x - z * y);
        let (sum, difference) = radix2_inverse::<M>(a, b, factor);
        let ok = ok && sum.value() == (x + y) as i32;
        assert!(ok && congruent::<M>(difference, (x - y) * z), "{x}, {y}");
        count += 2;
    }
    count
}

/// Checks both butterflies of triples for all triples of centred numbers, modulo 127.
fn triples<M: Reducer>(extent: Extent) -> u64 {
    const { assert!(M::MODULUS == 127) };
    // 19 is a primitive third root of 1.
    let (z, omega) = (5, 19);
    let [z1, z2, w] = [z, z * z, omega].map(M::factor);
    let mut count = 0;
    for number in extent.of(0..=127 * 127 * 127 - 1) {
        let x = [number / (127 * 127), number / 127 % 127, number % 127].map(|x| x - 63);
        let residues = x.map(|x| M::Residue::new(x as i32));
        let (z, omega) = (i64::from(z), i64::from(omega));
        let value = |z: i64| x[0] + z * x[1] + z * z * x[2];
        let split = radix3::<M>(residues, [z1, z2], w);
        let expected = [z, omega * z, omega * omega % 127 * z].map(value);
        let ok = split.into_iter().zip(expected).all(|(a, b)| congruent::<M>(a, b));
        // The inverse transform of length 3, times the factors.
        let joined = radix3_inverse::<M>(residues, [z1, z2], w);
        let inverse = |w: i64| x[0] + w * x[1] + w * w * x[2];
        let expected = [inverse(1), z * inverse(omega * omega % 127), z * z * inverse(omega)];
        let ok = ok && joined.into_iter().zip(expected).all(|(a, b)| congruent::<M>(a, b));
        assert!(ok, "{x:?}");
        count += 2;
    }
    count
}

exhaust! {
    barrett_pairs: pairs::<Barrett<4591>>,
    montgomery_pairs: pairs::<Montgomery<4591>>,
    shoup_pairs: pairs::<Shoup<4591>>,
    plantard_pairs: pairs::<Plantard<4591>>,
    barrett_triples: triples::<Barrett<127>>,
    montgomery_triples: triples::<Montgomery<127>>,
    shoup_triples: triples::<Shoup<127>>,
    plantard_triples: triples::<Plantard<127>>,
}
