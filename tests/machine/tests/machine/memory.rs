//! Tests loads, stores and copies of each type.

use ctru_gpu_runtime::{Plain, Queue};
use ctru_machine::*;
use ctru_simt::descriptor::{Batch, Kernel};
use ctru_simt::simt::U32x4;

use crate::{download, numbers, queue, upload};

/// Checks a kernel that reverses the elements of each block.
fn check<T: Plain>(kernel: &Kernel, element: impl Fn(u64) -> T) {
    let content: Vec<T> = numbers(3 * THREADS as usize).into_iter().map(element).collect();
    let queue = queue();
    let from = upload(&queue, &content);
    let to = upload(&queue, &vec![T::default(); content.len()]);
    queue.launch(kernel, &[&from, &to], Batch::each(content.len() as u32)).unwrap();
    let expected: Vec<T> =
        content.chunks(THREADS as usize).flat_map(|block| block.iter().rev().copied()).collect();
    assert_eq!(download(&queue, &to), expected, "{}", kernel.name());
}

/// Returns a vector whose four numbers differ.
fn vector(number: u64) -> U32x4 {
    U32x4([number as u32, (number >> 32) as u32, !number as u32, number as u32 ^ 1])
}

#[test]
fn each_type_in_global_and_shared_memory() {
    check(&REVERSE_U8, |n| n as u8);
    check(&REVERSE_U16, |n| n as u16);
    check(&REVERSE_U32, |n| n as u32);
    check(&REVERSE_U64, |n| n);
    check(&REVERSE_I8, |n| n as i8);
    check(&REVERSE_I16, |n| n as i16);
    check(&REVERSE_I32, |n| n as i32);
    check(&REVERSE_I64, |n| n as i64);
    check(&REVERSE_F32, |n| n as i32 as f32);
    check(&REVERSE_F64, |n| n as i64 as f64);
    check(&REVERSE_U32X4, vector);
}

#[test]
fn asynchronous_copies() {
    check(&REVERSE_COPIES_4, |n| n as i32 as f32);
    check(&REVERSE_COPIES_8, |n| n);
    check(&REVERSE_COPIES_16, vector);
}
