//! Products and inversions, on every backend that this CPU has.
//!
//! `cargo bench -p ctru-math --bench arithmetic`
#![allow(missing_docs)]

use ctru_math::backend::{self, Backend};
use ctru_math::invert::{BatchNode, invert, invert_batch};
use ctru_math::kernel::frobenius;
use ctru_math::mul;
use ctru_math::{Arithmetic, Poly, R653, R761, R1277, RoundedPoly, SmallPoly};
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};

/// Number of inversions in a batch.
const BATCH: usize = 64;

fn main() {
    divan::main();
}

/// Returns numbers that look random.
fn spread(i: usize) -> u16 {
    ((i as u32 + 1).wrapping_mul(0x9e37_79b1) >> 16) as u16
}

fn poly<R: Arithmetic>(start: usize) -> Poly<R> {
    let coefficients: Vec<u16> = (start..start + R::N).map(|i| spread(i) % R::Q as u16).collect();
    Poly::from_coefficients(&coefficients).expect("coefficients below q")
}

fn small<R: Arithmetic>(start: usize) -> SmallPoly<R> {
    let coefficients: Vec<i8> = (start..start + R::N).map(|i| (spread(i) % 8) as i8 - 4).collect();
    SmallPoly::from_coefficients(&coefficients).expect("small coefficients")
}

#[divan::bench(types = [R653, R761, R1277], args = backend::available())]
fn mul_small<R: Arithmetic>(bencher: Bencher<'_, '_>, backend: Backend) {
    backend::select(backend).expect("an available backend");
    let (a, b) = (poly::<R>(0), small::<R>(0));
    bencher.bench_local(|| mul::mul_small(black_box(&a), black_box(&b)));
}

#[divan::bench(types = [R653, R761, R1277], args = backend::available())]
fn mul_rounded<R: Arithmetic>(bencher: Bencher<'_, '_>, backend: Backend) {
    backend::select(backend).expect("an available backend");
    let coefficients: Vec<u16> = (0..R::N).map(|i| spread(i) % R::Q2 as u16).collect();
    let c = RoundedPoly::<R>::from_coefficients(&coefficients).expect("coefficients below q2");
    let f = small::<R>(0);
    bencher.bench_local(|| mul::mul_rounded(black_box(&c), black_box(&f)));
}

#[divan::bench(types = [R653, R761, R1277], args = backend::available())]
fn mul<R: Arithmetic>(bencher: Bencher<'_, '_>, backend: Backend) {
    backend::select(backend).expect("an available backend");
    let (a, b) = (poly::<R>(0), poly::<R>(R::N));
    bencher.bench_local(|| mul::mul(black_box(&a), black_box(&b)));
}

#[divan::bench(types = [R653, R761, R1277], args = backend::available())]
fn inversion<R: Arithmetic>(bencher: Bencher<'_, '_>, backend: Backend) {
    backend::select(backend).expect("an available backend");
    let a = poly::<R>(0);
    bencher.bench_local(|| invert(black_box(&a)));
}

fn matrices<R: Arithmetic>() -> Vec<u16> {
    let mut matrices = vec![0; frobenius::maps::<R>() * R::N * R::N];
    frobenius::fill::<R>(&mut matrices);
    matrices
}

#[divan::bench(types = [R653, R761, R1277], args = backend::available(), sample_count = 10)]
fn matrices_of_powers<R: Arithmetic>(bencher: Bencher<'_, '_>, backend: Backend) {
    backend::select(backend).expect("an available backend");
    bencher.bench_local(matrices::<R>);
}

#[divan::bench(types = [R653, R761, R1277], args = backend::available())]
fn inversion_by_powers<R: Arithmetic>(bencher: Bencher<'_, '_>, backend: Backend) {
    backend::select(backend).expect("an available backend");
    let (matrices, a) = (matrices::<R>(), poly::<R>(0));
    bencher.bench_local(|| frobenius::invert(&matrices, black_box(&a)));
}

#[divan::bench(types = [R653, R761, R1277], args = backend::available())]
fn inversion_of_batch<R: Arithmetic>(bencher: Bencher<'_, '_>, backend: Backend) {
    backend::select(backend).expect("an available backend");
    let elements: Vec<SmallPoly<R>> = (0..BATCH).map(|i| small(i * R::N)).collect();
    let elements: Vec<&SmallPoly<R>> = elements.iter().collect();
    let mut inverses = vec![Poly::zero(); BATCH];
    let mut nodes: Vec<BatchNode<R>> = (0..BATCH).map(|_| BatchNode::new()).collect();
    bencher.counter(ItemsCount::new(BATCH)).bench_local(|| {
        invert_batch(black_box(&elements), &mut inverses, &mut nodes).expect("room for the batch");
    });
}
