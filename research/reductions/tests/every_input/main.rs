//! Tries the reducers on every input on a GPU, and on a few thousand of them on the emulator.

// A failure in a helper is a failed test.
#![allow(clippy::unwrap_used)]

use std::ops::RangeInclusive;

use ctru_gpu_runtime::{Buffer, Device, HostMemory, Plain, Queue};
use ctru_simt::descriptor::{Batch, Kernel};
use ctru_simt::simt::Word;
use research_arithmetic::reduce::{Packed, Reducer};
use research_reductions::FactorWord;
use research_reductions::every_input::{self, Pairs, THREADS, Visitor};

#[cfg(not(feature = "cuda"))]
type Q = ctru_gpu_runtime::emulated::EmulatedQueue;
#[cfg(feature = "cuda")]
type Q = ctru_gpu_runtime::cuda::CudaQueue;

/// An array of the device.
type Array<T> = Buffer<T, <Q as Queue>::Memory>;

/// Returns a queue of the device.
///
/// # Panics
/// If there is no GPU, with the feature `cuda`.
fn queue() -> Q {
    #[cfg(not(feature = "cuda"))]
    let device = ctru_gpu_runtime::emulated::EmulatedDevice::new();
    #[cfg(feature = "cuda")]
    let device = ctru_gpu_runtime::cuda::CudaDevice::open(0, &research_reductions::MODULE).unwrap();
    device.queue().unwrap()
}

/// Copies numbers to the device.
fn upload<T: Plain>(queue: &Q, content: &[T]) -> Array<T> {
    let mut pinned = queue.pinned(content.len()).unwrap();
    pinned.write().unwrap().copy_from_slice(content);
    let array = queue.allocate(content.len()).unwrap();
    queue.upload(&pinned, 0..content.len(), &array, 0).unwrap();
    queue.synchronise().unwrap();
    array
}

/// Copies numbers from the device.
fn download<T: Plain>(queue: &Q, array: &Array<T>) -> Vec<T> {
    let mut pinned = queue.pinned(array.len()).unwrap();
    queue.download(array, 0..array.len(), &mut pinned, 0).unwrap();
    pinned.read().unwrap().to_vec()
}

/// What a check tries, and what is wrong with it.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Kind {
    /// Every input on a GPU, a sample on the emulator.
    True,
    /// A sample, whose results are compared with those of the next inputs.
    NextInput,
    /// A sample, whose results no bound permits.
    NoRoom,
}

/// Returns the parts of a range that a check tries, and the number of threads that share a part.
fn parts(kind: Kind, range: RangeInclusive<i32>) -> (Vec<RangeInclusive<i32>>, u32) {
    if cfg!(feature = "cuda") && kind == Kind::True {
        // More threads than a GPU holds at a time. Each takes 2048 of 2^32 inputs.
        return (vec![range], THREADS << 14);
    }
    let (first, last) = (i64::from(*range.start()), i64::from(*range.end()));
    let of = |first: i64| first as i32..=(first + 999) as i32;
    // Both ends and the middle.
    ([first, (first + last) / 2 - 500, last - 999].map(of).into(), THREADS)
}

/// Returns the factors of a check.
fn factors<M: Reducer>(kind: Kind, pairs: Pairs) -> RangeInclusive<i32> {
    let half = (M::MODULUS / 2) as i32;
    match pairs {
        Pairs::EveryInput => half..=half,
        Pairs::EveryFactor if cfg!(feature = "cuda") && kind == Kind::True => -half..=half,
        Pairs::EveryFactor => -4..=5,
    }
}

/// Returns the number of inputs in a part, and the sum of their squares modulo 2^64.
fn known(part: &RangeInclusive<i32>) -> (u64, u64) {
    // The sum of the squares from 1 to n, or minus that from n + 1 to 0.
    let squares = |n: i128| n * (n + 1) * (2 * n + 1) / 6;
    let (first, last) = (i128::from(*part.start()), i128::from(*part.end()));
    ((last - first + 1) as u64, (squares(last) - squares(first - 1)) as u64)
}

/// Launches the kernels and checks their counts.
struct Check {
    queue: Q,
    kind: Kind,
}

impl Visitor for Check {
    fn visit<M: Reducer>(&mut self, kernel: &'static Kernel, pairs: Pairs)
    where
        FactorWord<M>: Word,
    {
        let Self { queue, kind } = self;
        let factors = factors::<M>(*kind, pairs);
        let words = factors.clone().map(|w| M::factor(w).to_word().to_bits());
        let (narrow, wide);
        let memory = if FactorWord::<M>::BYTES == 4 {
            narrow = upload(queue, &words.map(|word| word as u32).collect::<Vec<_>>());
            &*narrow
        } else {
            wide = upload(queue, &words.map(|word| word as u64).collect::<Vec<_>>());
            &*wide
        };
        let range = |bound: i32| if M::IS_SIGNED { -bound..=bound } else { 0..=bound };
        let outputs = range(M::OUTPUT_BOUND);
        let (parts, threads) = match pairs {
            Pairs::EveryInput => parts(*kind, range(M::INPUT_BOUND)),
            Pairs::EveryFactor => parts(*kind, outputs.clone()),
        };
        let counts = upload(queue, &[0u64; 3]);
        let count = factors.clone().count() as u32;
        let planted = i32::from(*kind == Kind::NextInput);
        let cut = if *kind == Kind::NoRoom { 1i64 << 32 } else { 0 };
        let (mut inputs, mut within, mut squares) = (0, 0, 0u64);
        for part in &parts {
            let (first, last) = (*part.start(), *part.end());
            let scalars = [
                first.into(),
                last.into(),
                (*factors.start()).into(),
                count.into(),
                planted.into(),
                cut.into(),
            ];
            let kernel = kernel.with(&scalars).unwrap();
            queue.launch(&kernel, &[memory, &counts], Batch::each(threads)).unwrap();
            let (number, sum) = known(part);
            (inputs, squares) = (inputs + number, squares.wrapping_add(sum));
            let common = first.max(*outputs.start())..=last.min(*outputs.end());
            within += if common.is_empty() { 0 } else { known(&common).0 };
        }
        let [results, wrong, tried] = download(queue, &counts)[..] else { unreachable!() };
        println!("{}: {results} results, {wrong} wrong", kernel.name());
        let expected = inputs * u64::from(count + 1) + 2 * within;
        assert_eq!((results, tried), (expected, squares), "{}", kernel.name());
        let expected = match kind {
            Kind::True => 0,
            // A product by 0 is the same for the next input.
            Kind::NextInput => results - if factors.contains(&0) { inputs } else { 0 },
            Kind::NoRoom => results,
        };
        assert_eq!(wrong, expected, "{}", kernel.name());
    }
}

#[test]
fn every_input_of_every_method() {
    every_input::visit(&mut Check { queue: queue(), kind: Kind::True });
}

#[test]
fn planted_faults_are_found() {
    for kind in [Kind::NextInput, Kind::NoRoom] {
        every_input::visit(&mut Check { queue: queue(), kind });
    }
}
