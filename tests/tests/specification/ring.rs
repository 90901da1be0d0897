//! Products and inverses in `Z[x]/(x^n - x - 1)` (specification, section 4).

use crate::strings::reduce;

/// Returns the coefficients `s_k` of the product of two polynomials.
fn plain_product(a: &[i64], b: &[i64]) -> Vec<i64> {
    let mut s = vec![0; a.len() + b.len() - 1];
    for (i, a) in a.iter().enumerate() {
        for (j, b) in b.iter().enumerate() {
            s[i + j] += a * b;
        }
    }
    s
}

/// Folds a plain product by `x^n = x + 1`.
fn fold(s: &[i64], n: usize) -> Vec<i64> {
    let mut c = s[..n].to_vec();
    for k in n..s.len() {
        c[k - n] += s[k];
        c[k - n + 1] += s[k];
    }
    c
}

/// Multiplies two elements of the ring modulo `m`.
pub(crate) fn product(a: &[i64], b: &[i64], m: i64) -> Vec<i64> {
    reduce(&fold(&plain_product(a, b), a.len()), m)
}

/// Inverts an element of `R_q` that is not 0, by the extended algorithm of Euclid in `Z_q[x]`.
pub(crate) fn inverse(f: &[i64], q: i64) -> Vec<i64> {
    let n = f.len();
    // The invariants are r0 = t0 f and r1 = t1 f, both modulo q and x^n - x - 1.
    let mut r0 = vec![0; n + 1];
    (r0[n], r0[1], r0[0]) = (1, q - 1, q - 1);
    let mut r1 = [reduce(f, q), vec![0]].concat();
    let mut t0 = vec![0; n + 1];
    let mut t1 = t0.clone();
    t1[0] = 1;
    while degree(&r1) > 0 {
        let inverse_of_leading = inverse_number(r1[degree(&r1)], q);
        while degree(&r0) >= degree(&r1) {
            let shift = degree(&r0) - degree(&r1);
            let factor = r0[degree(&r0)] * inverse_of_leading % q;
            subtract(&mut r0, factor, shift, &r1, q);
            subtract(&mut t0, factor, shift, &t1, q);
        }
        (r0, r1, t0, t1) = (r1, r0, t1, t0);
    }
    let scale = inverse_number(r1[0], q);
    t1[..n].iter().map(|t| t * scale % q).collect()
}

/// Returns the degree of a polynomial with coefficients in `0..q`. The polynomial is not 0.
fn degree(a: &[i64]) -> usize {
    a.iter().rposition(|&coefficient| coefficient != 0).unwrap()
}

/// Subtracts `factor x^shift b` from `a`.
fn subtract(a: &mut [i64], factor: i64, shift: usize, b: &[i64], q: i64) {
    for i in 0..=degree(b) {
        a[i + shift] = (a[i + shift] + (q - factor) * b[i]) % q;
    }
}

/// Inverts a number modulo the prime `q` by Fermat's theorem.
fn inverse_number(a: i64, q: i64) -> i64 {
    power(a, q - 2, q)
}

/// Returns the power `a^exponent` modulo `q`.
fn power(a: i64, exponent: i64, q: i64) -> i64 {
    if exponent == 0 {
        return 1;
    }
    let half = power(a, exponent / 2, q);
    let square = half * half % q;
    if exponent % 2 == 0 { square } else { square * a % q }
}

#[test]
fn example_of_a_product() {
    let s = plain_product(&[1, 2, 3], &[4, 5, 6]);
    assert_eq!(s, [4, 13, 28, 27, 18]);
    assert_eq!(fold(&s, 3), [31, 58, 46]);
}

#[test]
fn formulas_of_folding() {
    let n = 6;
    let s: Vec<i64> = (0..=2 * n - 2).map(|k| 1 << k).collect();
    let c = fold(&s, n);
    assert_eq!(c[0], s[0] + s[n]);
    for i in 1..=n - 2 {
        assert_eq!(c[i], s[i] + s[n + i - 1] + s[n + i]);
    }
    assert_eq!(c[n - 1], s[n - 1] + s[2 * n - 2]);
}

#[test]
fn facts_about_exactness() {
    use crate::parameters::COLUMNS;
    // The largest coefficients of f are 2 eta + 1 at 0 and 2 eta elsewhere.
    let largest_f = |n, eta: i64| {
        let mut f = vec![2 * eta; n];
        f[0] += 1;
        f
    };
    let q_prime = [16_777_153, 33_550_337, 33_550_337];
    // The largest folded coefficient of h r, the largest plain ones of the centred h r and c f, and
    // whether q'/2 is exceeded by h r, by c f, and by the folded product of the centred h and r.
    let rows = [
        (18_087_300, 4_525_290, 4_013_056, [true, true, true]),
        (13_962_780, 3_492_990, 1_559_040, [false, false, false]),
        (40_225_068, 10_060_206, 2_615_808, [true, false, true]),
    ];
    for ((p, q_prime), row) in COLUMNS.iter().zip(q_prime).zip(rows) {
        let plain = |a: i64, b: &[i64]| plain_product(&vec![a; p.n], b);
        let largest = |list: &[i64]| *list.iter().max().unwrap();
        let folded = |a, b: &[i64]| largest(&fold(&plain(a, b), p.n));
        let (r, f) = (vec![p.eta; p.n], largest_f(p.n, p.eta));

        let (h_r, c_f) = (folded(p.q - 1, &r), folded(p.q2() - 1, &f));
        let centred_h_r = largest(&plain((p.q - 1) / 2, &r));
        let centred_c_f = largest(&plain(p.q2() / 2, &f));
        let exceeds = |value| 2 * value > q_prime;
        let folded_exceeds = exceeds(folded((p.q - 1) / 2, &r));
        let found = [exceeds(h_r), exceeds(c_f), folded_exceeds];
        assert_eq!((h_r, centred_h_r, centred_c_f, found), row, "n = {}", p.n);
        assert!(!exceeds(centred_h_r) && !exceeds(centred_c_f));
    }
}
