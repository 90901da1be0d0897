//! Compares the inversion kernels with the CPU.

use ctru_gpu_kernels::descriptor::{Batch, RingKernels};
use ctru_gpu_kernels::emulator::Buffer;
use ctru_gpu_kernels::kernels::row;
use ctru_gpu_kernels::table::{
    DIVIDE_LEAVES, DIVIDE_NODES, INVERT, MULTIPLY_LEAVES, MULTIPLY_NODES,
};
use ctru_math::invert::invert;
use ctru_math::mul;

use ctru_math::{Arithmetic, NtruPrimeRing, Poly, R653, R761, R1277, SmallPoly};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::device;
use crate::strategies::{poly, small_poly};
use crate::traces::assert_same_trace;
use crate::vectors::Intermediate;

/// Returns rows of coefficients with nonsense after the last coefficient.
fn rows<R: Arithmetic>(elements: &[SmallPoly<R>]) -> Buffer {
    let elements: Vec<_> = elements.iter().map(Poly::from).collect();
    rows_of(&elements)
}

fn rows_of<R: Arithmetic>(elements: &[Poly<R>]) -> Buffer {
    let padding = vec![0xffff; row::<R>() as usize - R::N];
    Buffer::new(
        &elements
            .iter()
            .map(|a| [a.coefficients(), &padding].concat())
            .collect::<Vec<_>>()
            .concat(),
    )
}

/// Returns rows of signed bytes with nonsense after the last coefficient.
fn small_rows<R: Arithmetic>(elements: &[SmallPoly<R>]) -> Buffer {
    let padding = vec![0xff; row::<R>() as usize - R::N];
    let row = |a: &SmallPoly<R>| {
        a.coefficients().iter().map(|&c| c as u8).chain(padding.clone()).collect()
    };
    Buffer::new(&elements.iter().map(row).collect::<Vec<Vec<u8>>>().concat())
}

fn inverses<R: Arithmetic>(elements: &[SmallPoly<R>]) -> Vec<Vec<u16>> {
    let inverses = Buffer::new(&vec![0xffff_u16; elements.len() * row::<R>() as usize]);
    let batch = Batch::each(elements.len() as u32);
    device::launch(INVERT.of::<R>(), &[&rows(elements), &inverses], batch);
    inverses.content::<u16>().chunks(row::<R>() as usize).map(|row| row[..R::N].to_vec()).collect()
}

fn check<R: Arithmetic>(elements: &[SmallPoly<R>]) {
    for (a, inverse) in elements.iter().zip(inverses(elements)) {
        let expected = Option::from(invert(&Poly::from(a))).unwrap_or(Poly::<R>::zero());
        assert_eq!(inverse, expected.coefficients());
    }
}

/// Checks one level of a product tree in both directions, with the kernels for `nodes`. If there
/// are `leaves`, also checks the kernels for leaves.
fn check_level<R: Arithmetic>(
    nodes: &[Poly<R>],
    leaves: Option<&[SmallPoly<R>]>,
    parents: &[Poly<R>],
) {
    let count = nodes.len();
    assert_eq!(parents.len(), count.div_ceil(2));
    let blank = |rows: usize| Buffer::new(&vec![0xffff_u16; rows * row::<R>() as usize]);
    let one = Poly::from(&sparse(1, 0, 0));
    let sibling = |i: usize| nodes.get(i ^ 1).unwrap_or(&one);
    let (children, up, down) = match leaves {
        None => (rows_of(nodes), &MULTIPLY_NODES, &DIVIDE_NODES),
        Some(leaves) => (small_rows(leaves), &MULTIPLY_LEAVES, &DIVIDE_LEAVES),
    };
    let (products, quotients) = (blank(parents.len()), blank(count));
    let batch = Batch::each(count as u32);
    device::launch(up.of::<R>(), &[&children, &products], batch);
    for (i, product) in products.content::<u16>().chunks(row::<R>() as usize).enumerate() {
        assert_eq!(&product[..R::N], mul::mul(&nodes[2 * i], sibling(2 * i)).coefficients());
    }
    device::launch(down.of::<R>(), &[&rows_of(parents), &children, &quotients], batch);
    for (i, quotient) in quotients.content::<u16>().chunks(row::<R>() as usize).enumerate() {
        assert_eq!(&quotient[..R::N], mul::mul(&parents[i / 2], sibling(i)).coefficients());
    }
}

fn check_levels<R: Arithmetic>(nodes: &[Poly<R>], leaves: &[SmallPoly<R>], parents: &[Poly<R>]) {
    check_level(nodes, None, parents);
    check_level(&leaves.iter().map(Poly::from).collect::<Vec<_>>(), Some(leaves), parents);
}

/// Returns the polynomial with these coefficients of `x^0`, `x^1` and `x^(n-1)`.
fn sparse<R: Arithmetic>(constant: i8, linear: i8, last: i8) -> SmallPoly<R> {
    let mut coefficients = vec![0; R::N];
    (coefficients[0], coefficients[1], coefficients[R::N - 1]) = (constant, linear, last);
    SmallPoly::from_coefficients(&coefficients).unwrap()
}

/// Compares the traces of inversion and of both directions of a product tree, for an odd number of
/// nodes.
fn check_traces<R: Arithmetic>() {
    const NODES: usize = 3;
    let vector = Intermediate::load(R::N);
    let f = SmallPoly::<R>::from_coefficients(&vector.f).unwrap();
    let secrets = [vec![f; NODES], vec![sparse(1, -2, 2); NODES]];
    let blank = |rows: usize| Buffer::new(&vec![0_u16; rows * row::<R>() as usize]);
    let check = |kernels: &RingKernels,
                 batch: Batch,
                 buffers: &dyn Fn(&[SmallPoly<R>]) -> Vec<Buffer>| {
        assert_same_trace(kernels.of::<R>(), secrets.each_ref().map(|nodes| buffers(nodes)), batch);
    };
    check(&INVERT, Batch::each(1), &|nodes| vec![rows(&nodes[..1]), blank(1)]);
    let nodes = Batch::each(NODES as u32);
    check(&MULTIPLY_LEAVES, nodes, &|nodes| vec![small_rows(nodes), blank(2)]);
    check(&MULTIPLY_NODES, nodes, &|nodes| vec![rows(nodes), blank(2)]);
    check(&DIVIDE_LEAVES, nodes, &|nodes| vec![rows(&nodes[..2]), small_rows(nodes), blank(NODES)]);
    check(&DIVIDE_NODES, nodes, &|nodes| vec![rows(&nodes[..2]), rows(nodes), blank(NODES)]);
}

macro_rules! properties {
    ($($name:ident: $ring:ty),*) => {$(
        mod $name {
            use super::*;
            proptest! {
                #![proptest_config(ProptestConfig::with_cases(3))]
                #[test]
                fn small(a in small_poly::<$ring>(), b in small_poly::<$ring>()) {
                    check::<$ring>(&[a, b]);
                }
                #[test]
                fn levels(nodes in vec(poly::<$ring>(), 4),
                    leaves in vec(small_poly::<$ring>(), 4), count in 1..=4_usize) {
                    check_levels::<$ring>(&nodes[..count], &leaves[..count],
                        &nodes[4 - count.div_ceil(2)..]);
                }
            }
            #[test]
            fn extreme_levels() {
                // The largest coefficient, and the largest one with the largest low byte, 127.
                let largest = [<$ring>::Q - 1, (<$ring>::Q & !127) - 1];
                for (largest, sign) in largest.into_iter().zip([-1, 1]) {
                    let nodes = [largest as u16].repeat(<$ring>::N);
                    let nodes = vec![Poly::from_coefficients(&nodes).unwrap(); 3];
                    let leaves = [sign * SmallPoly::<$ring>::BOUND as i8].repeat(<$ring>::N);
                    let leaves = vec![SmallPoly::from_coefficients(&leaves).unwrap(); 3];
                    check_levels::<$ring>(&nodes, &leaves, &nodes[..2]);
                }
            }
            #[test]
            fn extremes() {
                check::<$ring>(&[sparse(0, 0, 0), sparse(1, 0, 0), sparse(0, 0, 1),
                    sparse(-5, 1, -1)]);
            }
            #[test]
            fn vector() {
                let vector = Intermediate::load(<$ring>::N);
                let f = SmallPoly::<$ring>::from_coefficients(&vector.f).unwrap();
                assert_eq!(inverses(&[f]), [vector.f_inv]);
            }
            #[test]
            fn traces() {
                check_traces::<$ring>();
            }
        }
    )*};
}
properties! {
    r653: R653,
    r761: R761,
    r1277: R1277
}
