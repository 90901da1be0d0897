//! Tests atomic operations.

use ctru_gpu_runtime::{Plain, Queue};
use ctru_machine::*;
use ctru_simt::descriptor::{Batch, Kernel};
use ctru_simt::simt::AtomicInteger;

use crate::{download, numbers, queue, upload};

#[test]
fn counts_bytes() {
    let bytes: Vec<u8> = numbers(1000).into_iter().map(|n| (n % 7 * 40) as u8).collect();
    let mut expected = vec![5u32; 256];
    bytes.iter().for_each(|&byte| expected[usize::from(byte)] += 1);
    let queue = queue();
    let (from, counts) = (upload(&queue, &bytes), upload(&queue, &[5u32; 256]));
    queue.launch(&HISTOGRAM, &[&from, &counts], Batch::each(1000)).unwrap();
    assert_eq!(download(&queue, &counts), expected);
}

/// Checks the result of updates of five elements by all `values`: sum, minimum, maximum, the last
/// value of the exchanges, and the number of the values. `returned` is what the exchanges returned.
fn check_updates<T: AtomicInteger>(start: &[T], values: &[T], result: &[T], returned: &[T]) {
    let sum = values.iter().fold(start[0], |sum, &value| sum.plus(value));
    let least = values.iter().copied().fold(start[1], T::min);
    let most = values.iter().copied().fold(start[2], T::max);
    let count = values.iter().fold(start[4], |count, _| count.plus(T::from_bits(1)));
    assert_eq!([result[0], result[1], result[2], result[4]], [sum, least, most, count]);
    // Each value is returned once, except for the last, which stays. The first one is returned
    // instead.
    let mut kept: Vec<T> = returned.iter().copied().chain([result[3]]).collect();
    let mut expected: Vec<T> = values.iter().copied().chain([start[3]]).collect();
    kept.sort_unstable();
    expected.sort_unstable();
    assert_eq!(kept, expected);
}

fn updates<T: AtomicInteger + Plain>(kernel: &Kernel, element: impl Fn(u64) -> T) {
    const BLOCKS: usize = 3;
    let count = BLOCKS * THREADS as usize;
    let values: Vec<T> = numbers(count).into_iter().map(&element).collect();
    let start: Vec<T> = numbers(count + 5)[count..].iter().map(|&n| element(n)).collect();
    let queue = queue();
    let [from, first, all] = [&values, &start, &start].map(|content| upload(&queue, content));
    let of_block = upload(&queue, &[T::default(); BLOCKS * TARGETS as usize]);
    let exchanged = upload(&queue, &vec![T::default(); 2 * count]);
    let arrays = [&*from, &first, &all, &of_block, &exchanged];
    queue.launch(kernel, &arrays, Batch::each(count as u32)).unwrap();
    let exchanged = download(&queue, &exchanged);
    let every_second = |from: &[T]| from.iter().step_by(2).copied().collect::<Vec<_>>();
    check_updates(&start, &values, &download(&queue, &all), &every_second(&exchanged));
    let of_block = download(&queue, &of_block);
    for block in 0..BLOCKS {
        let threads = block * THREADS as usize..(block + 1) * THREADS as usize;
        let returned = &exchanged[2 * threads.start + 1..2 * threads.end];
        let result = &of_block[block * TARGETS as usize..][..TARGETS as usize];
        check_updates(&start, &values[threads], result, &every_second(returned));
    }
}

#[test]
fn updates_of_each_type() {
    updates(&UPDATES_U32, |n| n as u32);
    updates(&UPDATES_I32, |n| n as i32);
    updates(&UPDATES_U64, |n| n);
    updates(&UPDATES_I64, |n| n as i64);
}

fn turns<T: Plain>(kernel: &Kernel, element: impl Fn(u32) -> T) {
    const BLOCKS: u32 = 300;
    let queue = queue();
    let turn = upload(&queue, &[element(0)]);
    queue.launch(kernel, &[&turn], Batch::each(BLOCKS * THREADS)).unwrap();
    assert_eq!(download(&queue, &turn), [element(BLOCKS)]);
}

#[test]
fn blocks_wait_for_one_another() {
    turns(&TURNS_U32, |n| n);
    turns(&TURNS_I64, i64::from);
}

/// Small integers have exact sums in every order.
fn sums<T: Plain>(kernel: &Kernel, element: impl Fn(u64) -> T) {
    let values: Vec<u64> = numbers(2 * THREADS as usize).into_iter().map(|n| n % 100).collect();
    let queue = queue();
    let from = upload(&queue, &values.iter().map(|&n| element(n)).collect::<Vec<_>>());
    let (total, of_block) = (upload(&queue, &[element(3)]), upload(&queue, &[element(0); 2]));
    queue.launch(kernel, &[&from, &total, &of_block], Batch::each(values.len() as u32)).unwrap();
    let sum = |values: &[u64]| values.iter().sum::<u64>();
    let halves = values.split_at(THREADS as usize);
    assert_eq!(download(&queue, &total), [element(3 + sum(&values))]);
    assert_eq!(download(&queue, &of_block), [element(sum(halves.0)), element(sum(halves.1))]);
}

#[test]
fn sums_of_floating_point_numbers() {
    sums(&SUMS_F32, |n| n as f32);
    sums(&SUMS_F64, |n| n as f64);
}
