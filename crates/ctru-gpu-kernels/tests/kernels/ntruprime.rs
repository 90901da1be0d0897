//! Compares the kernels of Streamlined NTRU Prime on the emulator with the CPU.

use ctru_gpu_kernels::descriptor::{Batch, Kernel, Parameter, Rows};
use ctru_gpu_kernels::emulator::{Buffer, Emulate};
use ctru_gpu_kernels::kernels::ntruprime::{sample, stream};
use ctru_gpu_kernels::kernels::{SEED_WORDS, row};
use ctru_gpu_kernels::simt::Simt;
use ctru_gpu_kernels::table::*;
use ctru_math::array::Array;
use ctru_math::{Arithmetic, NtruPrimeArithmetic, R653, R761, R1277, SmallPoly, short};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::operations::{launch, rows, shake256, unfilled, words};
use crate::strategies::bytes;
use crate::traces::assert_same_trace;

fn check_stream<R: Arithmetic>(seeds: &[Vec<u8>]) {
    let row = stream::words::<R>(1);
    let stream = unfilled(seeds.len(), row);
    let batch = Batch::each(seeds.len() as u32);
    launch(NTRUPRIME_STREAM.of::<R>(), &[&words(seeds), &stream], batch);
    for (seed, stream) in seeds.iter().zip(rows(&stream, row)) {
        let input = [format!("sntrup{} encapsulation", R::N).as_bytes(), seed].concat();
        assert_eq!(stream, shake256(&input, 8 * row as usize));
    }
}

/// Random words of one draw, with the spare half of the last 64-bit word.
fn draw<R: Arithmetic>() -> impl Strategy<Value = Vec<u32>> {
    let len = 2 * stream::words::<R>(1) as usize;
    prop_oneof![
        4 => vec(any::<u32>(), len),
        // Equal keys.
        1 => vec(prop_oneof![Just(0), Just(u32::MAX), Just(1 << 31)], len),
        // Sorted in either direction.
        1 => any::<bool>().prop_map(move |up| {
            (0..len as u32).map(|i| (if up { i } else { len as u32 - i }) << 20).collect()
        }),
    ]
}

fn buffer(draws: &[Vec<u32>]) -> Buffer {
    let word = |pair: &[u32]| u64::from(pair[0]) | u64::from(pair[1]) << 32;
    Buffer::new(&draws.concat().chunks(2).map(word).collect::<Vec<u64>>())
}

fn coefficients<R: Arithmetic>(
    words: &[u32],
    f: fn(&R::Coeffs<[u8; 4]>) -> SmallPoly<R>,
) -> Vec<u8> {
    let words = R::Coeffs::from_fn(|i| words[i].to_le_bytes());
    f(&words).coefficients().iter().map(|&c| c as u8).collect()
}

fn check_sampling<R: Arithmetic + NtruPrimeArithmetic>(draws: &[Vec<u32>]) {
    let emulate: Emulate = |s, arrays, _| {
        let first = 2 * stream::words::<R>(1) * s.block();
        let (stream, to) = (arrays[0].view(), (arrays[1].view(), row::<R>() * s.block()));
        sample::store_small::<_, R>(s, |i| s.load::<u32>(stream, first + i), to);
    };
    let emulate: &'static Emulate = Box::leak(Box::new(emulate));
    let short = NTRUPRIME_SHORT.of::<R>();
    let arrays = Box::leak(Box::new([
        Parameter::new("stream", 8, Rows::EachOperation, stream::words::<R>(1)),
        Parameter::new("small", 1, Rows::EachOperation, row::<R>()),
    ]));
    let small = Kernel::emulated("small", sample::shape::<R>(), arrays, emulate);
    for (kernel, expected) in
        [(short, short::short::<R> as fn(&_) -> _), (&small, short::small::<R> as fn(&_) -> _)]
    {
        let width = row::<R>() as usize;
        let result = Buffer::new(&vec![0xa7u8; draws.len() * width]);
        launch(kernel, &[&buffer(draws), &result], Batch::each(draws.len() as u32));
        for (words, result) in draws.iter().zip(result.content::<u8>().chunks(width)) {
            assert_eq!(result[..R::N], coefficients::<R>(words, expected));
        }
    }
}

fn check_traces<R: Arithmetic>() {
    let seeds = [0u64, !0].map(|seed| {
        vec![Buffer::new(&[seed; SEED_WORDS as usize]), unfilled(1, stream::words::<R>(1))]
    });
    assert_same_trace(NTRUPRIME_STREAM.of::<R>(), seeds, Batch::each(1));
    let len = 2 * stream::words::<R>(1);
    let draws = [1, 0x9e37_79b9_u32].map(|step| {
        let words = (0..len).map(|i| i.wrapping_mul(step)).collect();
        vec![buffer(&[words]), Buffer::new(&vec![0u8; row::<R>() as usize])]
    });
    assert_same_trace(NTRUPRIME_SHORT.of::<R>(), draws, Batch::each(1));
}

macro_rules! properties {
    ($($name:ident: $ring:ty),*) => {$(
        mod $name {
            use super::*;
            proptest! {
                #![proptest_config(ProptestConfig::with_cases(4))]
                #[test]
                fn stream(seeds in prop_oneof![Just(1usize), Just(33), Just(129)]
                    .prop_flat_map(|count| vec(bytes(32), count))) {
                    check_stream::<$ring>(&seeds);
                }
                #[test]
                fn sampling(draws in vec(draw::<$ring>(), 1..4)) {
                    check_sampling::<$ring>(&draws);
                }
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
