//! Compares the kernels of inversion by powers with the CPU.

use ctru_gpu_kernels::descriptor::Batch;
use ctru_gpu_kernels::emulator::Buffer;
use ctru_gpu_kernels::kernels::invert::frobenius::{self, ELEMENTS};
use ctru_gpu_kernels::kernels::product::rows;
use ctru_gpu_kernels::kernels::row;
use ctru_gpu_kernels::table::{DIVIDE_BY_NORM, FROBENIUS, MULTIPLY_PAIRS};
use ctru_math::invert::invert;
use ctru_math::kernel::frobenius::apply;
use ctru_math::mul;

use ctru_math::{Arithmetic, NtruPrimeRing, Poly, R653, R761, R1277};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::device;
use crate::strategies::poly;
use crate::traces::assert_same_trace;

/// Returns rows of coefficients with nonsense after the last coefficient.
fn rows_of<'a, R: Arithmetic>(elements: impl IntoIterator<Item = &'a Poly<R>>) -> Vec<u16> {
    let padding = vec![0xffff; row::<R>() as usize - R::N];
    elements.into_iter().flat_map(|a| [a.coefficients(), &padding].concat()).collect()
}

/// Returns the same rows, and rows of nonsense up to a multiple of eight rows.
fn padded<R: Arithmetic>(elements: &[Poly<R>]) -> Buffer {
    let mut content = rows_of(elements);
    let rows = elements.len().next_multiple_of(ELEMENTS as usize);
    content.resize(rows * row::<R>() as usize, 0xffff);
    Buffer::new(&content)
}

fn blank<R: Arithmetic>(rows: usize) -> Buffer {
    Buffer::new(&vec![0xffff_u16; rows * row::<R>() as usize])
}

/// Returns the batch that maps `count` elements.
fn maps<R: Arithmetic>(count: usize) -> Batch {
    Batch::each(frobenius::operations::<R>() * (count as u32).div_ceil(ELEMENTS))
}

/// Returns the number of rows of pairs that [`maps`] writes.
fn paired(count: usize) -> usize {
    2 * count.next_multiple_of(ELEMENTS as usize)
}

/// Returns the columns of a matrix of residues that look random. A strategy would take seconds for
/// them.
fn random_matrix<R: Arithmetic>(seed: u64) -> Vec<u16> {
    let step = |&state: &u64| {
        Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
    };
    let states = std::iter::successors(Some(seed), step);
    states.map(|state| ((state >> 33) % u64::from(R::Q)) as u16).take(R::N * R::N).collect()
}

fn pack<R: Arithmetic>(columns: &[u16]) -> Buffer {
    let mut packed = vec![0xff_u8; frobenius::matrix_bytes::<R>() as usize];
    frobenius::pack::<R>(columns, &mut packed);
    Buffer::new(&packed)
}

/// Checks that the kernel multiplies elements by a matrix, which any columns form.
fn check_map<R: Arithmetic>(columns: &[u16], elements: &[Poly<R>], factors: &[Poly<R>]) {
    let pairs = blank::<R>(paired(elements.len()));
    let arrays = [&pack::<R>(columns), &padded(elements), &padded(factors), &pairs];
    device::launch(FROBENIUS.of::<R>(), &arrays, maps::<R>(elements.len()));
    let pairs = pairs.content::<u16>();
    let pairs = pairs.chunks(2 * row::<R>() as usize);
    for ((pair, element), factor) in pairs.zip(elements).zip(factors) {
        let (mapped, beside) = pair.split_at(row::<R>() as usize);
        assert_eq!(&mapped[..R::N], apply(columns, element).coefficients());
        assert_eq!(&beside[..R::N], factor.coefficients());
    }
}

fn check_products<R: Arithmetic>(pairs: &[[Poly<R>; 2]]) {
    let products = blank::<R>(pairs.len());
    let factors = Buffer::new(&rows_of(pairs.as_flattened()));
    let batch = Batch::each(rows::operations::<R>() * pairs.len() as u32);
    device::launch(MULTIPLY_PAIRS.of::<R>(), &[&factors, &products], batch);
    let products = products.content::<u16>();
    for (product, [a, b]) in products.chunks(row::<R>() as usize).zip(pairs) {
        assert_eq!(&product[..R::N], mul::mul(a, b).coefficients());
    }
}

fn constant<R: Arithmetic>(c: u16) -> Poly<R> {
    let mut coefficients = vec![0; R::N];
    coefficients[0] = c;
    Poly::from_coefficients(&coefficients).unwrap()
}

/// Checks the division by the norm. A conjugate with the norm `norm` is `norm` times the inverse.
fn check_norm<R: Arithmetic>(elements: &[Poly<R>], norm: u16) {
    let inverse = |a| Option::from(invert(a)).unwrap_or_else(Poly::<R>::zero);
    let conjugates = elements.iter().map(|a| mul::mul(&inverse(a), &constant(norm)));
    let pairs: Vec<_> = conjugates.zip(elements).flat_map(|(c, a)| [c, a.clone()]).collect();
    let inverses = blank::<R>(elements.len());
    let arrays = [&Buffer::new(&rows_of(&pairs)), &inverses];
    device::launch(DIVIDE_BY_NORM.of::<R>(), &arrays, Batch::each(pairs.len() as u32));
    let inverses = inverses.content::<u16>();
    for (row, a) in inverses.chunks(row::<R>() as usize).zip(elements) {
        let expected = if norm == 0 { Poly::zero() } else { inverse(a) };
        assert_eq!(&row[..R::N], expected.coefficients());
    }
}

fn check_extremes<R: Arithmetic>() {
    let largest = R::Q as u16 - 1;
    let all = |c| Poly::<R>::from_coefficients(&vec![c; R::N]).unwrap();
    let elements = [0, 1, largest / 2, largest / 2 + 1, largest].map(all);
    for entry in [0, largest] {
        check_map(&vec![entry; R::N * R::N], &elements, &elements);
    }
    let pairs: Vec<_> =
        elements.iter().flat_map(|a| elements.iter().map(|b| [a.clone(), b.clone()])).collect();
    check_products(&pairs);
    for norm in [0, 1, largest] {
        check_norm(&elements, norm);
    }
}

/// Checks products of powers of `x`: all pairs on a GPU, and a few on the emulator. The kernel is
/// linear in both operands, so all pairs show all products.
fn check_powers_of_x<R: Arithmetic>() {
    let step = if device::IS_EMULATED { R::N } else { 1 };
    let powers: Vec<Poly<R>> = (0..R::N)
        .step_by(step)
        .chain([R::N - 1])
        .map(|power| {
            let mut coefficients = vec![0; R::N];
            coefficients[power] = 1;
            Poly::from_coefficients(&coefficients).unwrap()
        })
        .collect();
    for a in &powers {
        let pairs: Vec<_> = powers.iter().map(|b| [a.clone(), b.clone()]).collect();
        check_products(&pairs);
    }
}

fn check_traces<R: Arithmetic>() {
    let secrets = [0, R::Q as u16 - 1].map(|c| [constant::<R>(c), constant(c / 2)]);
    let matrix = vec![1; R::N * R::N];
    let of_map = |elements: [Poly<R>; 2]| {
        vec![pack::<R>(&matrix), padded(&elements), padded(&elements), blank::<R>(paired(2))]
    };
    assert_same_trace(FROBENIUS.of::<R>(), secrets.clone().map(of_map), maps::<R>(2));
    let of_pair = |pair: [Poly<R>; 2]| vec![Buffer::new(&rows_of(&pair)), blank::<R>(1)];
    let batch = Batch::each(rows::operations::<R>());
    assert_same_trace(MULTIPLY_PAIRS.of::<R>(), secrets.clone().map(of_pair), batch);
    assert_same_trace(DIVIDE_BY_NORM.of::<R>(), secrets.map(of_pair), Batch::each(2));
}

macro_rules! properties {
    ($($name:ident: $ring:ty $(, $ignored:meta)?;)*) => {$(
        mod $name {
            use super::*;
            proptest! {
                #![proptest_config(ProptestConfig::with_cases(2))]
                #[test]
                fn map(
                    seed in any::<u64>(),
                    elements in vec(poly::<$ring>(), 9),
                    count in 1..=9_usize,
                ) {
                    let columns = random_matrix::<$ring>(seed);
                    check_map::<$ring>(&columns, &elements[..count], &elements[9 - count..]);
                }
                #[test]
                fn products(a in poly::<$ring>(), b in poly::<$ring>()) {
                    check_products::<$ring>(&[[a.clone(), b.clone()], [b.clone(), b]]);
                }
                #[test]
                fn norm(a in poly::<$ring>(), norm in 0..<$ring>::Q as u16) {
                    check_norm::<$ring>(&[a], norm);
                }
            }
            #[test]
            $(#[$ignored])?
            fn extremes() {
                check_extremes::<$ring>();
            }
            #[test]
            fn powers_of_x() {
                check_powers_of_x::<$ring>();
            }
            #[test]
            $(#[$ignored])?
            fn traces() {
                check_traces::<$ring>();
            }
        }
    )*};
}
properties! {
    r653: R653;
    r761: R761;
    r1277: R1277, ignore = "takes long; CI runs it";
}
