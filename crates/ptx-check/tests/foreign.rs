//! Runs kernels that nvcc and Triton compiled, and compares their results with those of the CPU.
//! The sources lie beside the PTX in `data`.
// A failure in a helper is a failed test.
#![allow(clippy::unwrap_used)]

use ptx_check::run::{Argument, Array, Broken, Error, Launch, Rule};
use ptx_check::syntax::parse;

const KERNELS: &str = include_str!("data/cuda/kernels.ptx");
const FEATURES: &str = include_str!("data/cuda/features.ptx");

/// An argument of a kernel.
enum Given {
    Array(Array),
    Number(u64),
    /// A struct with the addresses of the first two arrays in front.
    Struct(Vec<u8>),
}

/// A number in memory.
trait Element: Copy {
    fn bytes(self) -> Vec<u8>;
    fn of(bytes: &[u8]) -> Self;
}

macro_rules! element {
    ($($kind:ty)*) => {$(
        impl Element for $kind {
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
            fn of(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().unwrap())
            }
        }
    )*};
}
element!(u8 u16 u32 i32 u64 f32 f64);

fn array<T: Element>(elements: &[T]) -> Given {
    Given::Array(Array::new(elements.iter().flat_map(|element| element.bytes()).collect()))
}

/// Memory for results, in which nothing is defined.
fn new(bytes: usize) -> Given {
    Given::Array(Array::undefined(bytes))
}

fn read<T: Element>(array: &Array) -> Vec<T> {
    array.bytes.chunks(size_of::<T>()).map(T::of).collect()
}

/// Runs a kernel. Returns the arrays.
fn run(
    text: &str,
    kernel: &str,
    [grid, block]: [[u32; 3]; 2],
    shared_bytes: u32,
    given: Vec<Given>,
) -> Result<Vec<Array>, Error> {
    let module = parse(text).unwrap();
    let (mut arrays, mut arguments) = (Vec::new(), Vec::new());
    for argument in given {
        arguments.push(match argument {
            Given::Array(array) => {
                arrays.push(array);
                Argument::Array(arrays.len() - 1)
            }
            Given::Number(number) => Argument::Number(number),
            Given::Struct(rest) => {
                let bytes = [vec![0; 16], rest].concat();
                Argument::Bytes { bytes, addresses: vec![(0, 0), (8, 1)] }
            }
        });
    }
    // A struct has the addresses of arrays, which are no arguments themselves.
    if arguments.iter().any(|argument| matches!(argument, Argument::Bytes { .. })) {
        arguments.retain(|argument| !matches!(argument, Argument::Array(_)));
    }
    let mut orders = Vec::new();
    for seed in [None, Some(1), Some(2)] {
        let mut arrays = arrays.clone();
        let launch = Launch {
            grid,
            block,
            shared_bytes,
            seed,
            most_instructions: 1 << 24,
            ..Launch::new(&module, kernel)
        };
        let done = launch.run(&mut arrays, &arguments);
        orders.push(done.map(|_| arrays));
    }
    // Faults may be others in another order, but no order is without one.
    assert!(orders.iter().all(|order| order.is_ok() == orders[0].is_ok()), "{kernel}: {orders:?}");
    orders.swap_remove(0)
}

fn line(blocks: u32, threads: u32) -> [[u32; 3]; 2] {
    [[blocks, 1, 1], [threads, 1, 1]]
}

#[track_caller]
fn ran(
    text: &str,
    kernel: &str,
    shape: [[u32; 3]; 2],
    shared_bytes: u32,
    given: Vec<Given>,
) -> Vec<Array> {
    run(text, kernel, shape, shared_bytes, given).unwrap_or_else(|error| panic!("{error}"))
}

fn some_floats(count: usize) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(count as u64);
    (0..count).map(|_| (random.f32() - 0.5) * 8.0).collect()
}

fn some_ints(count: usize, below: i32) -> Vec<i32> {
    let mut random = fastrand::Rng::with_seed(count as u64);
    (0..count).map(|_| random.i32(0..below)).collect()
}

#[test]
fn reduction() {
    let numbers: Vec<f32> = (0..1000).map(|i| i as f32 * 0.5).collect();
    let given = vec![array(&numbers), array(&[0_f32]), Given::Number(1000)];
    let arrays = ran(KERNELS, "reduction", line(3, 128), 0, given);
    assert_eq!(read::<f32>(&arrays[1]), [numbers.iter().sum::<f32>()]);
}

#[test]
fn histogram() {
    let numbers: Vec<u8> = some_ints(3000, 256).iter().map(|&i| i as u8).collect();
    let given = vec![array(&numbers), array(&[0_u32; 256]), Given::Number(3000)];
    let arrays = ran(KERNELS, "histogram", line(4, 96), 0, given);
    let mut counts = [0; 256];
    numbers.iter().for_each(|&number| counts[usize::from(number)] += 1);
    assert_eq!(read::<u32>(&arrays[1]), counts);
}

/// Returns the product of square matrices, summed by fused operations in order.
fn product(a: &[f32], b: &[f32], n: usize) -> Vec<f32> {
    let sum = |row: usize, column: usize| {
        (0..n).fold(0.0, |sum, k| a[row * n + k].mul_add(b[k * n + column], sum))
    };
    (0..n * n).map(|i| sum(i / n, i % n)).collect()
}

#[test]
fn tiled_product() {
    let (a, b) = (some_floats(48 * 48), some_floats(48 * 48 + 1));
    let given = vec![array(&a), array(&b), new(4 * 48 * 48), Given::Number(48)];
    let arrays = ran(KERNELS, "product", [[3, 3, 1], [16, 16, 1]], 0, given);
    assert_eq!(read::<f32>(&arrays[2]), product(&a, &b[..48 * 48], 48));
}

/// Returns a small whole number as a half.
fn half(number: i32) -> u16 {
    let bits = (number as f32).to_bits();
    if number == 0 {
        0
    } else {
        ((bits >> 16 & 0x8000) | ((bits >> 13 & 0x3ffff) - (112 << 10))) as u16
    }
}

#[test]
fn matrix_unit() {
    let numbers =
        |seed: usize| some_ints(256 + seed, 9).iter().map(|i| i - 4).collect::<Vec<i32>>();
    let (a, b) = (numbers(0), numbers(1));
    let halves = |numbers: &[i32]| array(&numbers.iter().map(|&i| half(i)).collect::<Vec<u16>>());
    // The second matrix lies in memory column by column.
    let arrays = ran(
        KERNELS,
        "matrix_unit",
        line(1, 32),
        0,
        vec![halves(&a), halves(&b[..128]), new(4 * 128)],
    );
    let sum = |row: usize, column: usize| {
        1 + (0..16).map(|k| a[row * 16 + k] * b[column * 16 + k]).sum::<i32>()
    };
    let expected: Vec<f32> = (0..128).map(|i| sum(i / 8, i % 8) as f32).collect();
    assert_eq!(read::<f32>(&arrays[2]), expected);
}

#[test]
fn scan() {
    let numbers = some_ints(256, 1000);
    let arrays = ran(KERNELS, "scan", line(2, 128), 512, vec![array(&numbers), new(1024)]);
    let sums = |numbers: &[i32]| {
        numbers
            .iter()
            .scan(0, |sum, number| {
                *sum += number;
                Some(*sum)
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(read::<i32>(&arrays[1]), [sums(&numbers[..128]), sums(&numbers[128..])].concat());
}

#[test]
fn transposition() {
    let numbers: Vec<f32> = (0..40 * 24).map(|i| i as f32).collect();
    let given = vec![array(&numbers), new(4 * 40 * 24), Given::Number(40), Given::Number(24)];
    let arrays = ran(KERNELS, "transposition", [[3, 2, 1], [16, 16, 1]], 0, given);
    let expected: Vec<f32> = (0..40 * 24).map(|i| numbers[i % 24 * 40 + i / 24]).collect();
    assert_eq!(read::<f32>(&arrays[1]), expected);
}

/// Compares with what is true: the exponential function is computed approximately.
fn assert_is_softmax(numbers: &[f32], results: &[f32], columns: usize) {
    for (row, results) in numbers.chunks(columns).zip(results.chunks(columns)) {
        let sum: f64 = row.iter().map(|&number| f64::from(number).exp()).sum();
        for (&number, &result) in row.iter().zip(results) {
            let expected = f64::from(number).exp() / sum;
            let error = (f64::from(result) - expected).abs() / expected;
            assert!(error < 1e-6, "{number}: {result}, not {expected}");
        }
    }
}

#[test]
fn softmax() {
    let numbers = some_floats(256);
    let arrays = ran(KERNELS, "softmax", line(2, 128), 0, vec![array(&numbers), new(1024)]);
    assert_is_softmax(&numbers, &read(&arrays[1]), 32);
}

#[test]
fn stencil() {
    let numbers = some_floats(200);
    let given = vec![array(&numbers), new(800), Given::Number(200)];
    let arrays = ran(KERNELS, "stencil", line(4, 64), 4 * 68, given);
    let at =
        |i: isize| usize::try_from(i).ok().and_then(|i| numbers.get(i)).copied().unwrap_or(0.0);
    let weights = [0.0625, 0.25, 0.375, 0.25, 0.0625_f32];
    let sum = |i: isize| (0..5).fold(0.0, |sum, k| weights[k as usize].mul_add(at(i + k - 2), sum));
    assert_eq!(read::<f32>(&arrays[1]), (0..200).map(sum).collect::<Vec<f32>>());
}

/// Runs a kernel with a fault. Returns the fault and the comment of its source line.
fn broken(kernel: &str, shape: [[u32; 3]; 2], given: Vec<Given>) -> (Broken, String) {
    let Err(Error::Broken(broken)) = run(KERNELS, kernel, shape, 256, given) else {
        panic!("{kernel} has no fault")
    };
    let source = broken.source.clone().unwrap();
    let line: usize = source.strip_prefix("kernels.cu:").unwrap().parse().unwrap();
    let line = include_str!("data/cuda/kernels.cu").lines().nth(line - 1).unwrap();
    (*broken, line.split_once("// ").unwrap_or_default().1.to_owned())
}

#[test]
fn planted_faults() {
    let numbers = some_ints(64, 100);
    let (race, place) = broken("planted_race", line(1, 64), vec![array(&numbers), new(4)]);
    assert!(matches!(race.rule, Rule::Race { .. }), "{race}");
    assert_eq!(place, "race");
    let (bounds, place) = broken(
        "planted_bounds",
        line(2, 64),
        vec![array(&some_ints(100, 9)), array(&some_ints(100, 8)), new(400), Given::Number(100)],
    );
    assert_eq!(bounds.rule, Rule::OutOfBounds { offset: 400, bytes: 4, length: 400 });
    assert_eq!((bounds.block, bounds.thread), ([1, 0, 0], [36, 0, 0]));
    assert_eq!(place, "bounds");
    let (missing, place) = broken("missing_barrier", line(1, 64), vec![array(&numbers), new(256)]);
    // The other warp has written nothing yet.
    assert!(matches!(missing.rule, Rule::Undefined(_)), "{missing}");
    assert_eq!(place, "missing");
    let (divergent, _) = broken("divergent_barrier", line(1, 64), vec![array(&numbers), new(256)]);
    assert_eq!((divergent.rule, &*divergent.text), (Rule::Divergent, "bar.sync 0"));
}

#[test]
fn calls_of_functions() {
    let numbers: Vec<i32> = (0..32).map(|i| i - 10).collect();
    let given = vec![array(&numbers), new(256), array(&[5])];
    let arrays = ran(FEATURES, "calls", line(1, 32), 0, given);
    let expected: Vec<i32> =
        (0..32).flat_map(|i| [1 << (i % 8), numbers[i as usize].pow(3)]).collect();
    assert_eq!(read::<i32>(&arrays[1]), expected);
    assert_eq!(read::<i32>(&arrays[2]), [5 + 32]);
}

#[test]
fn generic_addresses() {
    let arrays = ran(FEATURES, "generic", line(1, 64), 0, vec![array(&[1000_i32; 64])]);
    let of = |i: i32| {
        let local = [1, 2, 3, 4].map(|n| if n == i % 4 + 1 { n + 100 } else { n });
        1000 + i + 10 + local[0] + local[i as usize % 4]
    };
    assert_eq!(read::<i32>(&arrays[0]), (0..64).map(of).collect::<Vec<i32>>());
}

#[test]
fn structs_as_arguments() {
    let numbers = some_ints(32, 1000);
    let rest = vec![0xfd, 0xff, 7, 8, 9, 0, 0, 0];
    let given = vec![array(&numbers), new(128), Given::Struct(rest), Given::Number(1)];
    let arrays = ran(FEATURES, "structs", line(1, 32), 0, given);
    let expected: Vec<i32> = numbers.iter().map(|number| number * -3 + 8).collect();
    assert_eq!(read::<i32>(&arrays[1]), expected);
}

#[test]
fn choices() {
    let numbers = some_ints(64, 1 << 20);
    let arrays = ran(FEATURES, "jumps", line(1, 64), 0, vec![array(&numbers), array(&[1; 64])]);
    let of = |i: usize| {
        let value = numbers[i];
        match i % 8 {
            0 => value.wrapping_mul(value),
            1 => value.reverse_bits(),
            2 => value.count_ones() as i32,
            3 => value.leading_zeros() as i32,
            4 => 8,
            5 => {
                if value == 0 {
                    0
                } else {
                    value.trailing_zeros() as i32 + 1
                }
            }
            6 => (5 << 24) | value >> 8 & 0xff_ffff,
            _ => !value,
        }
    };
    assert_eq!(read::<i32>(&arrays[1]), (0..64).map(of).collect::<Vec<i32>>());
}

#[test]
fn halves() {
    // All sums and products of these are exact, but for the thirds.
    let (a, b): (Vec<i32>, Vec<i32>) = ((0..32).collect(), (0..32).map(|i| 20 - 2 * i).collect());
    let halves = |numbers: &[i32]| array(&numbers.iter().map(|&i| half(i)).collect::<Vec<u16>>());
    let given = vec![halves(&a), halves(&b), new(256), new(128), new(256)];
    let arrays = ran(FEATURES, "halves", line(1, 32), 0, given);
    let [out, wide] = [2, 3].map(|i: usize| read::<u16>(&arrays[i]));
    let floats = read::<f32>(&arrays[4]);
    for (i, (a, b)) in a.into_iter().zip(b).enumerate() {
        // A third, cut to 11 bits.
        let third = (a as f32 / 3.0).to_bits() & 0xffff_e000;
        let third = if a == 0 { 0 } else { ((third >> 13) - (112 << 10)) as u16 };
        assert_eq!(
            out[4 * i..4 * i + 4],
            [half(a + b), half(a * b), half(a * b + a), third],
            "{i}"
        );
        let bfloat = |value: f32| (value.to_bits() >> 16) as u16;
        let expected = [bfloat(a as f32 * 1.5), bfloat((a as f32).max(0.25))];
        assert_eq!(wide[2 * i..2 * i + 2], expected, "{i}");
        let high = b * b - b + b + if a < b { 100 } else { 0 };
        assert_eq!(floats[2 * i..2 * i + 2], [(a * a - a) as f32, high as f32], "{i}");
    }
}

/// Checks the four roundings of a result: to the nearest, to zero, up and down. `expected` is the
/// nearest, and `beyond` has the sign of what is lost: the true result less the nearest.
fn assert_rounded<T: PartialOrd + std::fmt::Debug + Copy>(
    name: &str,
    results: &[T],
    expected: T,
    beyond: f64,
    [below, above]: [T; 2],
    is_negative: bool,
) {
    let (down, up) = match beyond {
        0.0 => (expected, expected),
        beyond if beyond > 0.0 => (expected, above),
        _ => (below, expected),
    };
    let zero = if is_negative { up } else { down };
    assert_eq!(results, [expected, zero, up, down], "{name}");
}

#[test]
fn roundings() {
    let mut random = fastrand::Rng::with_seed(5);
    // Numbers of few bits, so that 64 bits have the sum of a product and a number.
    let singles: Vec<f32> = (0..64)
        .map(|_| (random.i32(1..1 << 18) as f32 / 1024.0).copysign(random.f32() - 0.5))
        .collect();
    let doubles: Vec<f64> =
        (0..64).map(|_| ((1_i64 << 50) + random.i64(0..1 << 50)) as f64).collect();
    let singles: Vec<f32> = singles.chunks(2).flat_map(|pair| [pair[0].abs(), pair[1]]).collect();
    let given = vec![array(&singles), array(&doubles), new(4 * 24 * 32), new(8 * 20 * 32)];
    let arrays = ran(FEATURES, "roundings", line(1, 32), 0, given);
    let (near, far) = (read::<f32>(&arrays[2]), read::<f64>(&arrays[3]));
    let far_of = read::<f64>(&arrays[1]);
    for thread in 0..32 {
        let [a, b] = [0, 1].map(|i| singles[2 * thread + i]);
        let [x, y] = [0, 1].map(|i| far_of[2 * thread + i]);
        let (wide_a, wide_b) = (f64::from(a), f64::from(b));
        let quotient = f64::from(a / b);
        let root = f64::from(a.sqrt());
        let narrow = x as f32;
        for (i, (name, expected, beyond)) in [
            ("add", a + b, wide_a + wide_b - f64::from(a + b)),
            ("mul", a * b, wide_a * wide_b - f64::from(a * b)),
            ("fma", a.mul_add(b, b), wide_a * wide_b + wide_b - f64::from(a.mul_add(b, b))),
            // What is left of the dividend has the sign of what is lost, times the divisor's.
            ("div", a / b, (wide_a - quotient * wide_b) * wide_b.signum()),
            ("sqrt", a.sqrt(), wide_a - root * root),
            ("cvt", narrow, x - f64::from(narrow)),
        ]
        .into_iter()
        .enumerate()
        {
            let results = &near[24 * thread + 4 * i..24 * thread + 4 * i + 4];
            let near = [expected.next_down(), expected.next_up()];
            assert_rounded(name, results, expected, beyond, near, expected < 0.0);
        }
        let whole = |value: f64| value as i128;
        for (i, (name, expected, beyond)) in [
            ("add", x + y, (whole(x) + whole(y) - whole(x + y)) as f64),
            ("mul", x * y, x.mul_add(y, -(x * y))),
            (
                "fma",
                x.mul_add(y, y),
                (whole(x) * whole(y) + whole(y) - whole(x.mul_add(y, y))) as f64,
            ),
            ("div", x / y, -(x / y).mul_add(y, -x)),
            ("sqrt", x.sqrt(), -x.sqrt().mul_add(x.sqrt(), -x)),
        ]
        .into_iter()
        .enumerate()
        {
            let results = &far[20 * thread + 4 * i..20 * thread + 4 * i + 4];
            let near = [expected.next_down(), expected.next_up()];
            assert_rounded(name, results, expected, beyond, near, false);
        }
    }
}

#[test]
fn carries() {
    let mut random = fastrand::Rng::with_seed(6);
    let numbers: Vec<u64> = (0..64).map(|_| random.u64(..)).collect();
    let arrays = ran(FEATURES, "carries", line(1, 32), 0, vec![array(&numbers), new(512)]);
    let of = |pair: &[u64]| {
        let [a, b] = [0, 1].map(|i| u128::from(pair[i]));
        let c = (a << 64 | b).wrapping_mul(b).wrapping_add(b << 64 | a).wrapping_sub(a ^ b);
        [c as u64, (c >> 64) as u64]
    };
    assert_eq!(read::<u64>(&arrays[1]), numbers.chunks(2).flat_map(of).collect::<Vec<u64>>());
}

#[test]
fn atomics() {
    let given = vec![
        array(&[0, 0, 0]),
        array(&[u32::MAX, 0, 0, 0, 0, 1000, 0]),
        array(&[0_u64, 0, 0]),
        array(&[1_f32]),
        array(&[1_f64]),
        array(&[0_u32]),
    ];
    let arrays = ran(FEATURES, "atomics", line(1, 32), 0, given);
    assert_eq!(read::<i32>(&arrays[0]), [26, -5, 9]);
    // 32 steps of 0, 1, ..., 9, 0, ... and of 0, 9, 8, ..., 0, 9, ...
    assert_eq!(read::<u32>(&arrays[1]), [0, u32::MAX, u32::MAX, 2, 8, 1000 - 64, 96]);
    assert_eq!(read::<u64>(&arrays[2]), [32 << 40, 31 << 33, 77]);
    assert_eq!((read::<f32>(&arrays[3]), read::<f64>(&arrays[4])), (vec![17.0], vec![9.0]));
    assert_eq!(read::<u16>(&arrays[5]), [half(32), half(64)]);
}

#[test]
fn votes() {
    let numbers: Vec<i32> = (0..64).map(|i| i % 6).collect();
    let arrays = ran(FEATURES, "votes", line(1, 64), 0, vec![array(&numbers), new(4 * 16 * 64)]);
    let results = read::<u32>(&arrays[1]);
    for (thread, results) in results.chunks(16).enumerate() {
        let (first, lane) = (thread / 32 * 32, thread % 32);
        let warp = &numbers[first..first + 32];
        let ballot = |holds: &dyn Fn(i32) -> bool| {
            (0..32).fold(0, |all, lane| all | u32::from(holds(warp[lane])) << lane)
        };
        let own = warp[lane];
        let expected = [
            ballot(&|value| value > 3),
            1,
            0,
            ballot(&|value| value == own),
            0,
            0,
            warp[lane / 8 * 8 + 5] as u32,
            warp[if lane % 16 < 2 { lane } else { lane - 2 }] as u32,
            warp.iter().sum::<i32>() as u32,
            5,
            warp.iter().fold(0, |all, value| all ^ value) as u32,
            numbers.iter().filter(|value| **value > 3).count() as u32,
            1,
            0,
            if lane < 16 { warp[lane ^ 1] as u32 } else { 0xffff_0000 },
            (own * 4 + 5) as u32,
        ];
        assert_eq!(results, expected, "{thread}");
    }
}

#[test]
fn barriers_with_names() {
    let numbers = some_ints(256, 1000);
    let shape = line(1, 128);
    let given = || vec![array(&numbers), new(1024)];
    let arrays = ran(FEATURES, "named_barriers", shape, 0, given());
    let expected: Vec<i32> =
        numbers.chunks(64).flat_map(|round| round.iter().rev().copied()).collect();
    assert_eq!(read::<i32>(&arrays[1]), expected);
    // Without the second barrier, the makers arrive again before these numbers are taken.
    let start = FEATURES.find(".entry named_barriers").unwrap();
    let (before, kernel) = FEATURES.split_at(start);
    let kernel = kernel.replace("bar.arrive 2, 128;", "").replace("bar.sync 2, 128;", "");
    let Err(Error::Broken(broken)) =
        run(&format!("{before}{kernel}"), "named_barriers", shape, 0, given())
    else {
        panic!("no fault")
    };
    assert_eq!((broken.rule, &*broken.text), (Rule::Divergent, "bar.arrive 1, 128"));
}

#[test]
fn traps() {
    let numbers: Vec<i32> = (0..32).collect();
    let with = |count: usize| {
        run(FEATURES, "traps", line(1, count as u32), 0, vec![array(&numbers[..count]), new(128)])
    };
    assert_eq!(read::<i32>(&with(13).unwrap()[1])[..13], numbers[..13]);
    let Err(Error::Broken(broken)) = with(32) else { panic!("no fault") };
    assert_eq!((broken.thread, broken.rule), ([13, 0, 0], Rule::Trap));
}

#[test]
fn approximations() {
    let numbers: Vec<f32> = (1..=32).map(|i| i as f32 * 0.2).collect();
    let arrays = ran(FEATURES, "approximations", line(1, 32), 0, vec![array(&numbers), new(1024)]);
    for (x, results) in numbers.iter().zip(read::<f32>(&arrays[1]).chunks(8)) {
        let x = f64::from(*x);
        let expected =
            [x.exp(), x.ln(), x.sin(), x.cos(), 1.0 / x.sqrt(), 1.0 / x, x.exp2(), x.tanh()];
        for (result, expected) in results.iter().zip(expected) {
            let error = (f64::from(*result) - expected).abs();
            assert!(error <= 1e-6 * expected.abs().max(1.0), "{x}: {result}, not {expected}");
        }
    }
}

/// Triton gives each kernel two arrays more, which these do not use.
fn scratch(mut given: Vec<Given>) -> Vec<Given> {
    given.extend([array(&[0]), array(&[0])]);
    given
}

#[test]
fn softmax_of_triton() {
    let text = include_str!("data/triton/softmax.ptx");
    let numbers = some_floats(3 * 200);
    let given = scratch(vec![array(&numbers), new(2400), Given::Number(200)]);
    let arrays = ran(text, "softmax", line(3, 128), 16, given);
    assert_is_softmax(&numbers, &read(&arrays[1]), 200);
}

#[test]
fn product_of_triton() {
    let text = include_str!("data/triton/product.ptx");
    let numbers = |seed: usize| some_ints(4096 + seed, 9).iter().map(|i| i - 4).collect::<Vec<_>>();
    let (a, b) = (numbers(0), numbers(1));
    let halves = |numbers: &[i32]| numbers.iter().map(|&i| half(i)).collect::<Vec<u16>>();
    let given = scratch(vec![array(&halves(&a)), array(&halves(&b[..4096])), new(4 * 4096)]);
    let arrays = ran(text, "product", [[2, 2, 1], [128, 1, 1]], 4096, given);
    let floats = |numbers: &[i32]| numbers.iter().map(|&i| i as f32).collect::<Vec<f32>>();
    assert_eq!(read::<f32>(&arrays[2]), product(&floats(&a), &floats(&b), 64));
}

#[test]
fn counts_of_triton() {
    let text = include_str!("data/triton/counts.ptx");
    let numbers = some_ints(500, 16);
    let given = scratch(vec![array(&numbers), array(&[0_u32; 16]), Given::Number(500)]);
    let arrays = ran(text, "counts", line(4, 128), 0, given);
    let mut counts = [0; 16];
    numbers.iter().for_each(|&number| counts[number as usize] += 1);
    assert_eq!(read::<u32>(&arrays[1]), counts);
}
