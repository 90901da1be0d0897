//! Tests scalars and grids of several dimensions, and what a launch refuses.

use ctru_gpu_runtime::{Queue, RuntimeError};
use ctru_machine::*;
use ctru_simt::descriptor::{Batch, GridError};
use ctru_simt::scalar::{ScalarError, Value};
use ctru_simt::simt::NumberType;

use crate::{download, queue, upload};

#[test]
fn scalars_of_each_type() {
    let queue = queue();
    let bits = upload(&queue, &[0u64; 8]);
    let values: [Value; 8] = [
        200u8.into(),
        (-2i16).into(),
        3_000_000_000u32.into(),
        (-4i64).into(),
        0.5f32.into(),
        (-0.25f64).into(),
        (-7i8).into(),
        u64::MAX.into(),
    ];
    let kernel = SCALARS.with(&values).unwrap();
    queue.launch(&kernel, &[&bits], Batch::each(2)).unwrap();
    let expected = [
        200,
        0xfffe,
        3_000_000_000,
        -4i64 as u64,
        0.5f32.to_bits().into(),
        (-0.25f64).to_bits(),
        0xf9,
        u64::MAX,
    ];
    assert_eq!(download(&queue, &bits), expected);
}

#[test]
fn scalars_in_arithmetic() {
    let queue = queue();
    let (x, y) = ([1.5f32; 200], [2.0f32; 200]);
    let (x, y) = (upload(&queue, &x), upload(&queue, &y));
    for (a, sum) in [(2.0f32, 5.0f32), (-4.0, -1.0)] {
        let kernel = AXPY.with(&[a.into()]).unwrap();
        queue.launch(&kernel, &[&x, &y], Batch::each(200)).unwrap();
        assert_eq!(download(&queue, &y), [sum; 200]);
    }
}

#[test]
fn wrong_scalars() {
    let count = AXPY.with(&[]).unwrap_err();
    assert_eq!(count, ScalarError::Count { kernel: "axpy", expected: 1, actual: 0 });
    assert_eq!(count.to_string(), "axpy takes 1 scalars, but 0 values are given");
    let number_type = AXPY.with(&[1.0f64.into()]).unwrap_err();
    let (expected, actual) = (NumberType::F32, NumberType::F64);
    assert_eq!(number_type, ScalarError::Type { kernel: "axpy", scalar: "a", expected, actual });
    assert_eq!(number_type.to_string(), "axpy: the scalar a is f32, but the value is f64");
    let queue = queue();
    let array = upload(&queue, &[0f32; 1]);
    let unset = queue.launch(&AXPY, &[&array, &array], Batch::each(1));
    assert_eq!(unset, Err(RuntimeError::UnsetScalars { kernel: "axpy", count: 1 }));
}

#[test]
fn grids_of_three_dimensions() {
    let queue = queue();
    let (x, y, z) = (4u32, 3, 2);
    let array = upload(&queue, &[0u32; 3 * 4 * 3 * 2]);
    let kernel = NUMBERS.in_grid(y, z).unwrap();
    queue.launch(&kernel, &[&array], Batch::each(x)).unwrap();
    let expected: Vec<u32> = (0..x * y * z).flat_map(|i| [i % x, i / x % y, i / x / y]).collect();
    assert_eq!(download(&queue, &array), expected);
}

#[test]
fn wrong_grids() {
    let one = AXPY.in_grid(2, 1).unwrap_err();
    assert_eq!(one, GridError::OneDimension { kernel: "axpy" });
    for blocks in [0, 65536] {
        let error = NUMBERS.in_grid(1, blocks).unwrap_err();
        assert_eq!(error, GridError::Blocks { kernel: "numbers", blocks });
    }
    // The array is too short for the grid.
    let queue = queue();
    let array = upload(&queue, &[0u32; 17]);
    let kernel = NUMBERS.in_grid(3, 1).unwrap();
    let short = queue.launch(&kernel, &[&array], Batch::each(2)).unwrap_err();
    assert!(matches!(short, RuntimeError::Length { needed: 18, actual: 17, .. }), "{short}");
    let endless = NUMBERS.in_grid(65535, 65535).unwrap();
    let endless = queue.launch(&endless, &[&array], Batch::each(1)).unwrap_err();
    assert!(matches!(endless, RuntimeError::Length { needed: u64::MAX, .. }), "{endless}");
}

#[test]
fn lengths_that_depend_on_scalars() {
    let (rows, columns) = (70u32, 45u32);
    let matrix: Vec<f64> = (0..rows * columns).map(f64::from).collect();
    let queue = queue();
    let (from, to) = (upload(&queue, &matrix), upload(&queue, &vec![0f64; matrix.len()]));
    let kernel = TRANSPOSE.with(&[rows.into()]).unwrap().in_grid(rows.div_ceil(32), 2).unwrap();
    queue.launch(&kernel, &[&from, &to], Batch::each(columns)).unwrap();
    let expected: Vec<f64> = (0..columns)
        .flat_map(|column| (0..rows).map(move |row| f64::from(row * columns + column)))
        .collect();
    assert_eq!(download(&queue, &to), expected);
    let taller = TRANSPOSE.with(&[(rows + 1).into()]).unwrap();
    let short = queue.launch(&taller, &[&from, &to], Batch::each(columns)).unwrap_err();
    assert!(matches!(short, RuntimeError::Length { needed: 3195, actual: 3150, .. }), "{short}");
}
