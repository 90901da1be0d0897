//! Tests votes, matrix products, and instructions of single threads.

use ctru_gpu_runtime::{Plain, Queue};
use ctru_machine::*;
use ctru_simt::descriptor::{Batch, Kernel};

use crate::{download, numbers, queue, upload};

#[test]
fn votes_of_warps() {
    // Odd and even values, then odd ones only, then even ones only, in warps.
    let kinds = |i: usize, n: u64| match i / 32 % 3 {
        0 => n % 8,
        1 => n % 4 * 2 + 1,
        _ => n % 4 * 2,
    };
    let values: Vec<u32> =
        (0..).zip(numbers(2 * THREADS as usize)).map(|(i, n)| kinds(i, n) as u32).collect();
    let expected: Vec<u32> = values
        .chunks(32)
        .flat_map(|warp| {
            let lanes = |is_in: &dyn Fn(u32) -> bool| {
                warp.iter().rev().fold(0u32, |set, &value| set << 1 | u32::from(is_in(value)))
            };
            let odd = lanes(&|value| value % 2 == 1);
            let votes = |&own: &u32| {
                [odd, u32::from(odd != 0), u32::from(odd == !0), lanes(&|value| value == own)]
            };
            warp.iter().flat_map(votes).collect::<Vec<_>>()
        })
        .collect();
    let queue = queue();
    let (from, results) = (upload(&queue, &values), upload(&queue, &vec![0u32; 4 * values.len()]));
    queue.launch(&VOTES, &[&from, &results], Batch::each(values.len() as u32)).unwrap();
    assert_eq!(download(&queue, &results), expected);
}

#[test]
fn instructions_of_a_thread() {
    let words = numbers(3 * 2 * THREADS as usize);
    let expected: Vec<u64> = words
        .as_chunks()
        .0
        .iter()
        .flat_map(|&[a, b, c]| {
            let bytes = [(a as u32).to_le_bytes(), (b as u32).to_le_bytes()].concat();
            let chosen = [0, 4, 8, 12].map(|place| {
                let byte = bytes[(c >> place & 7) as usize];
                if c >> place & 8 == 0 { byte } else { 0xff * u8::from(byte >= 0x80) }
            });
            [(a ^ b ^ c) & 0xffff_ffff, u32::from_le_bytes(chosen).into()]
        })
        .collect();
    let queue = queue();
    let (from, results) = (upload(&queue, &words), upload(&queue, &vec![0u64; expected.len()]));
    queue.launch(&INSTRUCTIONS, &[&from, &results], Batch::each(2 * THREADS)).unwrap();
    assert_eq!(download(&queue, &results), expected);
}

/// Checks a matrix product. `elements` returns the elements of a word, and `sum` makes the element
/// of the sum from an integer. The integers are small, so the floating-point sums are exact.
fn product<T: Plain>(
    kernel: &Kernel,
    word: impl Fn(u64) -> u32,
    elements: impl Fn(u32) -> Vec<i64>,
    sum: impl Fn(i64) -> T,
) {
    let words: Vec<u32> = numbers(128 + 64).into_iter().map(word).collect();
    let (a, b) = words.split_at(128);
    let start: Vec<i64> = numbers(128).into_iter().map(|n| (n % 1000) as i64 - 500).collect();
    let line = |words: &[u32]| words.iter().flat_map(|&word| elements(word)).collect::<Vec<_>>();
    let expected: Vec<T> = (0..128)
        .map(|i| {
            let (row, column) = (line(&a[i / 8 * 8..][..8]), line(&b[i % 8 * 8..][..8]));
            sum(start[i] + row.iter().zip(&column).map(|(a, b)| a * b).sum::<i64>())
        })
        .collect();
    let queue = queue();
    let (a, b) = (upload(&queue, a), upload(&queue, b));
    let result = upload(&queue, &start.into_iter().map(&sum).collect::<Vec<_>>());
    queue.launch(kernel, &[&a, &b, &result], Batch::each(2)).unwrap();
    assert_eq!(download(&queue, &result), expected, "{}", kernel.name());
}

#[test]
fn products_of_bytes() {
    let signed = |word: u32| word.to_le_bytes().map(|byte| i64::from(byte as i8)).to_vec();
    let unsigned = |word: u32| word.to_le_bytes().map(i64::from).to_vec();
    for kernel in [&PRODUCT_S8, &PRODUCT_OF_HALVES_S8] {
        product(kernel, |n| n as u32, signed, |sum| sum as i32);
    }
    for kernel in [&PRODUCT_U8, &PRODUCT_OF_HALVES_U8] {
        product(kernel, |n| n as u32, unsigned, |sum| sum as i32);
    }
}

#[test]
fn products_of_bfloat16() {
    // Integers from -100 to 99, which bfloat16 holds exactly.
    let bits = |n: u64| ((n % 200) as f32 - 100.0).to_bits() >> 16;
    let word = |n: u64| bits(n >> 8) << 16 | bits(n >> 32);
    let element = |bits: u32| f32::from_bits(bits << 16) as i64;
    let elements = |word: u32| vec![element(word & 0xffff), element(word >> 16)];
    product(&PRODUCT_BF16, word, elements, |sum| sum as f32);
}
