//! Transforms on a basis, and residues of products on all pairs of basis elements.

extern crate std;

use std::vec;
use std::vec::Vec;

use ctru_tests::exhaust;
use ctru_tests::exhaust::Extent;

use super::Classes;
use crate::array::Array;
use crate::backend::{self, Backend};
use crate::mul::rns_ntt::plan::{MODULI, Plan, RnsRing, Shape, ThirdPrime, TwoPrimes};
use crate::mul::rns_ntt::transform::inverse;
use crate::mul::rns_ntt::{Multiply, NttForm, NttPoly3, Transform};
use crate::poly::Poly;
use crate::powers::power;
use crate::ring::{R653, R761, R857, R953, R1013, R1277};
use crate::simd::{Simd, WithSimd, dispatch_to};

struct Lanes;

impl WithSimd for Lanes {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> usize {
        S::LANES
    }
}

/// Transforms back, as `NttPoly3::take` does, and leaves the residues in the second value.
struct Back<'a, T: Shape>(&'a mut NttPoly3<T>, &'a mut NttPoly3<T>);

impl<T: Shape> WithSimd for Back<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self(form, residues) = self;
        form.two.residues(simd, &mut residues.two);
        let (minus, plus) = residues.third.split_at_mut(T::Padded::<i16>::LEN / 2);
        inverse::<ThirdPrime<T>, S>(simd, &mut form.third, minus, plus);
    }
}

/// Returns `c x^i`.
fn monomial<R: RnsRing>(c: u16, i: usize) -> Poly<R> {
    Poly::from_array(R::Coeffs::from_fn(|k| if k == i { c } else { 0 }))
}

/// Returns the room of a plain product.
fn padded<R: RnsRing>() -> usize {
    <R::Shape as Shape>::Padded::<i16>::LEN
}

fn transformed<R: RnsRing>(backend: Backend, a: &Poly<R>) -> NttPoly3<R::Shape> {
    let mut form = NttPoly3::zero();
    dispatch_to(backend, Transform(&mut form, &a.operand()));
    form
}

/// The order of the numbers of a tree in NTT form, as the transform of `x^d` shows it.
struct Tree {
    classes: Classes,
    /// The indices of the numbers of each leaf, in the order of the leaf's coefficients.
    leaves: Vec<Vec<usize>>,
    /// The class of `zeta`, for the leaf modulo `x^d - zeta`.
    zetas: Vec<u64>,
}

impl Tree {
    /// Reads the `zeta` of each leaf from the NTT form of `x^d`, and checks that the `x^d - zeta`
    /// are the factors of `x^length - sign`.
    fn new<P: Plan>(tree: usize, lanes: usize, form: &[i16]) -> Self {
        let (d, half) = (P::LEAF_DEGREE, lanes / 2);
        let rows = (d << P::LAYERS) / half;
        let leaf = |leaf: usize| {
            let (group, lane) = (leaf / half, leaf % half + tree * half);
            (0..d).map(|k| (group * d + k) * lanes + lane).collect()
        };
        let leaves: Vec<Vec<usize>> = (0..rows / d * half).map(leaf).collect();
        let classes = Classes::of(&P::MODULI[tree]);
        let m = classes.m as u64;
        let zeta = |leaf: &Vec<usize>| i64::from(form[leaf[0]]).rem_euclid(m as i64) as u64;
        let zetas: Vec<u64> = leaves.iter().map(zeta).collect();
        // The leaves of the whole ring, modulo x^length - 1, or of a half of it.
        let sign = if P::ROOTS[tree] == 3 { m - 1 } else { 1 };
        assert!(zetas.iter().all(|&zeta| power(zeta, 1 << P::LAYERS, m) == sign));
        let mut different = zetas.clone();
        different.sort_unstable();
        different.dedup();
        assert!(different.len() == 1 << P::LAYERS);
        Self { classes, leaves, zetas }
    }

    /// Calls the function with the index and the class of each number of `x^i` that is not zero.
    fn power(&self, i: usize, mut each: impl FnMut(usize, u64)) {
        let m = self.classes.m as u64;
        for (leaf, &zeta) in self.leaves.iter().zip(&self.zetas) {
            each(leaf[i % leaf.len()], power(zeta, (i / leaf.len()) as u64, m));
        }
    }
}

/// The order of the numbers of a plan's NTT form.
struct Order {
    trees: [Tree; 2],
    /// The numbers without aliased coefficients.
    len: usize,
}

impl Order {
    fn new<P: Plan>(lanes: usize, form: &[i16]) -> Self {
        let tree = |tree| Tree::new::<P>(tree, lanes, form);
        Self { trees: [tree(0), tree(1)], len: 2 * (P::LEAF_DEGREE << P::LAYERS) }
    }

    /// Returns the form of `x^i`, as classes.
    fn power(&self, i: usize) -> Vec<i32> {
        let mut form = vec![0; self.len];
        for tree in &self.trees {
            tree.power(i, |at, class| form[at] = class as i32);
        }
        form
    }

    /// Returns whether a form is that of a combination of powers, whose form is given as integers.
    fn is(&self, form: &[i16], classes: &[i64]) -> bool {
        self.trees.iter().all(|tree| {
            tree.leaves.iter().flatten().fold(true, |all, &at| {
                let m = i64::from(tree.classes.m);
                all & tree.classes.is_zero(i32::from(form[at]) - (classes[at] % m) as i32)
            })
        })
    }
}

/// Checks that the transform is right on multiples of all powers of `x`, and that each coefficient
/// may have each value, with others beside it.
fn check_forward<R: RnsRing>(backend: Backend, orders: &[Order; 2], extent: Extent) -> u64 {
    let forms = |form: &NttPoly3<R::Shape>| {
        [form.two.0.as_flattened()[..orders[0].len].to_vec(), form.third[..orders[1].len].to_vec()]
    };
    let mut count = 0;
    let end = R::N as i64 - 1;
    let mut sums = orders.each_ref().map(|order| vec![0_i64; order.len]);
    let mut all = Vec::new();
    for i in 0..R::N {
        let classes = orders.each_ref().map(|order| order.power(i));
        for (sums, classes) in sums.iter_mut().zip(&classes) {
            for (sum, &class) in sums.iter_mut().zip(classes) {
                *sum += i64::from(class);
            }
        }
        all.push(classes);
    }
    for i in extent.some(0..=end, 20) {
        let i = i as usize;
        for c in [1, -1, i64::from(R::Q / 2), -i64::from(R::Q / 2)] {
            let a = monomial(c.rem_euclid(R::Q.into()) as u16, i);
            let forms = forms(&transformed::<R>(backend, &a));
            for ((order, form), classes) in orders.iter().zip(&forms).zip(&all[i]) {
                let classes: Vec<i64> = classes.iter().map(|&class| c * i64::from(class)).collect();
                assert!(order.is(form, &classes), "on {backend}, {c} x^{i}");
                count += 1;
            }
        }
    }
    // From one operand to the next, all coefficients grow by 1, and those at the end of their range
    // become smaller by `q`.
    let q = i64::from(R::Q);
    let value = |run: i64, i: usize| (run + 7 * i as i64) % q - q / 2;
    let mut classes = orders.each_ref().map(|order| vec![0_i64; order.len]);
    for run in 0..if extent == Extent::All { q } else { 10 } {
        for (i, all) in all.iter().enumerate() {
            let change = if run == 0 { value(0, i) } else { value(run, i) - value(run - 1, i) - 1 };
            for (sums, all) in classes.iter_mut().zip(all).filter(|_| change != 0) {
                for (sum, &class) in sums.iter_mut().zip(all) {
                    *sum += change * i64::from(class);
                }
            }
        }
        for (classes, sums) in classes.iter_mut().zip(&sums).filter(|_| run > 0) {
            for (class, sum) in classes.iter_mut().zip(sums) {
                *class += sum;
            }
        }
        let a = R::Coeffs::from_fn(|i| value(run, i).rem_euclid(q) as u16);
        let forms = forms(&transformed::<R>(backend, &Poly::from_array(a)));
        for ((order, form), classes) in orders.iter().zip(&forms).zip(&classes) {
            assert!(order.is(form, classes), "on {backend}, run {run}");
            count += 1;
        }
    }
    count
}

/// Checks the transform back on a basis of each tree.
fn check_back<R: RnsRing>(backend: Backend, orders: &[Order; 2], extent: Extent) -> u64 {
    let room = padded::<R>();
    let (mut form, mut residues) = (NttPoly3::<R::Shape>::zero(), NttPoly3::<R::Shape>::zero());
    let mut count = 0;
    let longest = R::Shape::LEN;
    for i in extent.some(0..=longest as i64 - 1, 20) {
        // Half as many powers are a basis of the second plan's trees.
        let powers = [i as usize, i as usize % (longest / 2)];
        for tree in 0..2 {
            for plan in 0..2 {
                let numbers = match plan {
                    0 => form.two.0.as_flattened_mut(),
                    _ => &mut form.third,
                };
                numbers.fill(0);
                let Tree { classes, .. } = &orders[plan].trees[tree];
                orders[plan].trees[tree].power(powers[plan], |at, class| {
                    numbers[at] = classes.centred(class as i64);
                });
            }
            dispatch_to(backend, Back(&mut form, &mut residues));
            let (two, third) = (residues.two.0.as_flattened(), &*residues.third);
            let (two, third) = (two.split_at(room), third.split_at(room / 2));
            for (plan, [first, second]) in [[two.0, two.1], [third.0, third.1]].iter().enumerate() {
                let [own, other] = if tree == 0 { [first, second] } else { [second, first] };
                let [own_tree, other_tree] = [tree, 1 - tree].map(|tree| &orders[plan].trees[tree]);
                let scale = (own_tree.leaves.len() as i32) % own_tree.classes.m;
                let right = own_tree.classes.are(own, &[(powers[plan], scale)]);
                assert!(right && other_tree.classes.are(other, &[]), "on {backend}: x^{i}");
                count += 1;
            }
        }
    }
    count
}

/// Checks the transforms forward and back on bases of their domains.
fn transforms<R: RnsRing>(extent: Extent) -> u64 {
    let mut count = 0;
    for backend in backend::available() {
        let lanes = dispatch_to(backend, Lanes);
        let form = transformed::<R>(backend, &monomial(1, R::Shape::LEAF_DEGREE));
        let orders = [
            Order::new::<TwoPrimes<R::Shape>>(lanes, form.two.0.as_flattened()),
            Order::new::<ThirdPrime<R::Shape>>(lanes, &form.third),
        ];
        count += check_forward::<R>(backend, &orders, extent);
        count += check_back::<R>(backend, &orders, extent);
    }
    count
}

/// Checks the residues of the products of all pairs of powers of `x`.
fn residues<R: RnsRing>(extent: Extent) -> u64 {
    let (room, length) = (padded::<R>(), R::Shape::LEN);
    let half = length / 2;
    let classes = MODULI.each_ref().map(Classes::of);
    let (mut product, mut residues) = (NttPoly3::<R::Shape>::zero(), NttPoly3::<R::Shape>::zero());
    let mut count = 0;
    for backend in backend::available() {
        let powers: Vec<_> = extent.some(0..=R::N as i64 - 1, 5).map(|i| i as usize).collect();
        let forms: Vec<_> =
            powers.iter().map(|&i| transformed::<R>(backend, &monomial(1, i))).collect();
        for (i, left) in powers.iter().zip(&forms) {
            for (j, right) in powers.iter().zip(&forms) {
                product.copy_from(left);
                dispatch_to(backend, Multiply(&mut product, right));
                dispatch_to(backend, Back(&mut product, &mut residues));
                let k = i + j;
                let (r0, r1) = residues.two.0.as_flattened().split_at(room);
                let (minus, plus) = residues.third.split_at(room / 2);
                let (at, sign) = match k.checked_sub(length) {
                    // An aliased coefficient.
                    Some(aliased) => (half + aliased, 1),
                    None => (k % half, if k < half { 1 } else { -1 }),
                };
                let right = classes[0].are(r0, &[(k, 1)])
                    & classes[1].are(r1, &[(k, 1)])
                    & classes[2].are(minus, &[(at, 1)])
                    & classes[2].are(plus, &[(at, sign)]);
                assert!(right, "on {backend}: x^{i} x^{j}");
                count += 1;
            }
        }
    }
    count
}

exhaust! {
    transforms_653: transforms::<R653>,
    transforms_761: transforms::<R761>,
    transforms_857: transforms::<R857>,
    transforms_953: transforms::<R953>,
    transforms_1013: transforms::<R1013>,
    transforms_1277: transforms::<R1277>,
    residues_653: residues::<R653>,
    residues_761: residues::<R761>,
    residues_857: residues::<R857>,
    residues_953: residues::<R953>,
    residues_1013: residues::<R1013>,
    residues_1277: residues::<R1277>,
}
