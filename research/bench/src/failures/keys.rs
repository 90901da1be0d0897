//! How the failure rate differs from key to key, and from message to message.
//!
//! For a fixed key, a sum of four neighbouring noise coefficients is a sum of independent terms
//! ([`chain`](super::chain)), so the saddlepoint method gives its tail without a further
//! assumption. The same holds for a fixed message, that is, for fixed `r` and `d`, over random
//! keys. Only sums of neighbours with equal signs are added up: the others are rarer by many bits.

use super::chain::places;
use super::random::Random;
use super::set::Set;
use super::tail::{ln_sum, ln_tail};

/// Events whose logarithm is this much below that of the largest one are left out.
const NEGLIGIBLE: f64 = 8.0;

/// Samples keys, and returns the failure rate of each over random messages, with the noise
/// multiplied by `scale`, as sorted natural logarithms.
pub(super) fn of_keys(set: &Set, scale: f64, count: usize, random: &mut Random) -> Vec<f64> {
    sorted((0..count).map(|_| {
        let mut small = || small(set, random);
        let (f, g) = (small(), small());
        of_key(set, scale, &f, &g)
    }))
}

/// Samples messages, and returns the failure rate of each over random keys, as sorted natural
/// logarithms.
pub(super) fn of_messages(set: &Set, count: usize, random: &mut Random) -> Vec<f64> {
    sorted((0..count).map(|_| {
        let r = small(set, random);
        let d: Vec<f64> = (0..set.n).map(|_| random.unit() - 0.5).collect();
        of_message(set, &r, &d)
    }))
}

/// Returns random coefficients of `f'`, `g` or `r`.
fn small(set: &Set, random: &mut Random) -> Vec<i32> {
    (0..set.n).map(|_| random.small(set.eta).into()).collect()
}

fn sorted(rates: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut rates: Vec<f64> = rates.collect();
    rates.sort_by(f64::total_cmp);
    rates
}

/// Returns the failure rate of a key over random messages, as a natural logarithm. `f` is `f'`.
pub(super) fn of_key(set: &Set, scale: f64, f: &[i32], g: &[i32]) -> f64 {
    let mut f: Vec<f64> = f.iter().map(|&x| f64::from(2 * x)).collect();
    f[0] += 1.0;
    let g: Vec<f64> = g.iter().map(|&x| x.into()).collect();
    let ratio = set.q2 / set.q;
    let sums = counted(set, &g).into_iter().zip(counted(set, &f)).map(|(g, f)| {
        let variance = ratio * ratio * set.small_variance() * squares(&g)
            + set.rounding_variance() * squares(&f);
        let cumulants = move |t: f64| {
            let mut total = [0.0; 3];
            for &(value, count) in &g {
                add(&mut total, ratio * value, count, |x| set.small_cumulants(x), t);
            }
            for &(value, count) in &f {
                add(&mut total, value, count, |x| set.rounding_cumulants(x), t);
            }
            total
        };
        (variance, cumulants)
    });
    // A sum and its negative have the same law.
    union(set.q2 / scale, sums) + std::f64::consts::LN_2
}

/// Returns the failure rate of a message over random keys, as a natural logarithm.
pub(super) fn of_message(set: &Set, r: &[i32], d: &[f64]) -> f64 {
    let r: Vec<f64> = r.iter().map(|&x| x.into()).collect();
    let (of_r, of_d) = (counted(set, &r), counted(set, d));
    let ratio = set.q2 / set.q;
    let sums = of_r.iter().zip(&of_d).zip(places(set)).flat_map(|((of_r, of_d), place)| {
        let variance = set.small_variance() * (ratio * ratio * squares(of_r) + 4.0 * squares(of_d));
        // `d` itself is fixed, so the sum has a mean, which counts for it or for its negative.
        let mean = d[place..place + 4].iter().sum::<f64>();
        [1.0, -1.0].map(|sign| {
            let cumulants = move |t: f64| {
                let mut total = [sign * mean * t, sign * mean, 0.0];
                for (factor, terms) in [(ratio, of_r), (2.0, of_d)] {
                    for &(value, count) in terms {
                        add(&mut total, factor * value, count, |x| set.small_cumulants(x), t);
                    }
                }
                total
            };
            (variance, cumulants)
        })
    });
    union(set.q2, sums)
}

/// Returns, for each place, absolute values of the sums of [`for_each_sum`] and how many sums have
/// each of them. Cumulants do not depend on the sign, and a list of a hundred values is much
/// shorter than the one of the sums. Sums that are not integers are put together where they differ
/// by less than a sixteenth; the root of their mean square stands for them, so that the variance
/// stays exact.
fn counted(set: &Set, poly: &[f64]) -> Vec<Vec<(f64, f64)>> {
    const PER_UNIT: f64 = 16.0;
    let largest = poly.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    // A sum of four coefficients of `x^k poly` has at most eight terms, besides those of `k = 0`.
    let width = (16.0 * largest * PER_UNIT) as usize + 1;
    let mut bins = vec![vec![(0.0, 0.0); width]; places(set).count()];
    for_each_sum(set, poly, |place, sum: f64| {
        let (squares, count) = &mut bins[place][(sum.abs() * PER_UNIT).round() as usize];
        *squares += sum * sum;
        *count += 1.0;
    });
    let values = |bins: Vec<(f64, f64)>| {
        let used = bins.into_iter().filter(|(_, count)| *count > 0.0);
        used.map(|(squares, count)| ((squares / count).sqrt(), count)).collect()
    };
    bins.into_iter().map(values).collect()
}

/// Returns the sum of the squares of counted values.
fn squares(terms: &[(f64, f64)]) -> f64 {
    terms.iter().map(|(value, count)| count * value * value).sum()
}

/// Adds the cumulants of `factor` times a random number, `count` times.
pub(super) fn add(
    total: &mut [f64; 3],
    factor: f64,
    count: f64,
    cumulants: impl Fn(f64) -> [f64; 3],
    t: f64,
) {
    let [value, first, second] = cumulants(factor * t);
    total[0] += count * value;
    total[1] += count * factor * first;
    total[2] += count * factor * factor * second;
}

/// Returns the logarithm of the sum of the probabilities that each of several random numbers, given
/// by variance and cumulants, reaches a threshold.
fn union<C: Fn(f64) -> [f64; 3]>(threshold: f64, sums: impl Iterator<Item = (f64, C)>) -> f64 {
    let sums: Vec<_> = sums.collect();
    let exponent = |variance: f64| -threshold * threshold / (2.0 * variance);
    let exponents = sums.iter().map(|(variance, _)| exponent(*variance));
    let largest = exponents.fold(f64::NEG_INFINITY, f64::max);
    let wanted = sums.iter().filter(|(variance, _)| exponent(*variance) > largest - NEGLIGIBLE);
    ln_sum(wanted.map(|(variance, cumulants)| ln_tail(cumulants, threshold / variance, threshold)))
}

/// Calls `each` with the number of a place and the sum of four coefficients of `x^k poly` from this
/// place on, for `k` from 0 to `n - 1`.
fn for_each_sum<T: Copy + std::ops::Add<Output = T>>(
    set: &Set,
    poly: &[T],
    mut each: impl FnMut(usize, T),
) {
    let mut coefficients = poly.to_vec();
    let places: Vec<usize> = places(set).collect();
    for _ in 0..set.n {
        for (number, &place) in places.iter().enumerate() {
            let [a, b, c, d] = [0, 1, 2, 3].map(|j| coefficients[place + j]);
            each(number, a + b + c + d);
        }
        // Multiplication by x: the coefficient of x^n goes to x^0 and to x^1.
        coefficients.rotate_right(1);
        coefficients[1] = coefficients[1] + coefficients[0];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_sums_keep_number_and_squares() {
        let set = Set { n: 17, q: 4591.0, q2: 1024.0, eta: 2, blocks: 1 };
        let poly: Vec<f64> = (0..17).map(|i| f64::from(i * i % 11) / 11.0 - 0.5).collect();
        let mut expected = vec![(0.0, 0.0); 3];
        for_each_sum(&set, &poly, |place, sum: f64| {
            expected[place].0 += 1.0;
            expected[place].1 += sum * sum;
        });
        for (terms, (count, sum)) in counted(&set, &poly).iter().zip(expected) {
            assert_eq!(terms.iter().map(|(_, count)| count).sum::<f64>(), count);
            assert!((squares(terms) - sum).abs() < 1e-12);
        }
    }

    #[test]
    fn sums_are_those_of_products() {
        let set = Set { n: 17, q: 4591.0, q2: 1024.0, eta: 2, blocks: 1 };
        let poly: Vec<i32> = (0..17).map(|i| i * i - 40).collect();
        let mut sums = vec![Vec::new(); 3];
        for_each_sum(&set, &poly, |place, sum| sums[place].push(sum));
        for k in 0..17 {
            // x^k poly, folded by x^17 = x + 1.
            let mut product = [0; 34];
            product[k..k + 17].copy_from_slice(&poly);
            for i in (17..34).rev() {
                product[i - 17] += product[i];
                product[i - 16] += product[i];
            }
            for (place, start) in places(&set).enumerate() {
                assert_eq!(sums[place][k], product[start..start + 4].iter().sum::<i32>());
            }
        }
    }
}
