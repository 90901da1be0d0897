//! Tests that every kernel stays inside the lengths that its descriptor declares, for arrays of
//! various contents.
//!
//! Launches rely on this property: they check only that arrays have at least these lengths. The
//! emulator stops at the first access outside an array.

use ctru_gpu_kernels::descriptor::{Batch, Kernel, Rows};
use ctru_gpu_kernels::emulator::{Buffer, Emulate, Emulator};
use ctru_gpu_kernels::table;

/// Arbitrary content of an array.
#[derive(Copy, Clone, Debug)]
enum Content {
    Zeros,
    Ones,
    Random,
    /// Random elements of 0 and 1, for kernels whose arithmetic asserts that numbers are in range.
    Small,
}

use Content::{Ones, Random, Small, Zeros};

impl Content {
    fn bytes(self, element_bytes: usize, len: usize) -> Vec<u8> {
        let mut state = 1u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        match self {
            Zeros => vec![0; len],
            Ones => vec![0xff; len],
            Random => (0..len).map(|_| random()).collect(),
            Small => {
                (0..len).map(|i| random() & u8::from(i.is_multiple_of(element_bytes))).collect()
            }
        }
    }
}

/// Runs a kernel on arrays of exactly the declared lengths.
fn run(kernel: &Kernel, batch: Batch, content: Content) {
    let arrays: Vec<Buffer> = kernel
        .parameters()
        .iter()
        .map(|parameter| {
            let (element_bytes, elements) =
                (parameter.element_bytes(), kernel.elements(parameter, batch));
            let len = elements as usize * element_bytes as usize;
            Buffer::from_bytes(element_bytes, content.bytes(element_bytes as usize, len))
        })
        .collect();
    let result = Emulator::new().launch(kernel, &arrays.iter().collect::<Vec<_>>(), batch);
    assert_eq!(result, Ok(()), "{batch:?}, {content:?}");
}

/// Beginnings of the names of kernels whose arithmetic asserts, in debug builds, that numbers are
/// in range.
const ASSERTING: &[&str] = &["divide_by_norm", "encapsulate", "expand", "invert", "multiply_pairs"];

/// Runs a kernel on batches of one operation, of three operations, and of sizes around one block,
/// with shared rows and with one row per operation. The runs cycle through the kinds of content.
fn run_all_batches(kernel: &Kernel) {
    let per_block = kernel.shape().per_block();
    let mut counts = vec![1, 3, per_block - 1, per_block, per_block + 1];
    counts.sort_unstable();
    counts.dedup();
    let counts = counts.into_iter().filter(|&count| count > 0);
    let can_be_shared = kernel.parameters().iter().any(|parameter| {
        kernel.elements(parameter, Batch::each(3)) != kernel.elements(parameter, Batch::shared(3))
    });
    let batches = counts.flat_map(|count| {
        let each = Batch::each(count);
        let one = (can_be_shared && count != 1).then_some(Batch::shared(count));
        [Some(each), one].into_iter().flatten()
    });
    let asserts = ASSERTING.iter().any(|name| kernel.name().starts_with(name));
    let contents = if asserts { [Small; 3] } else { [Ones, Random, Zeros] };
    for (batch, content) in batches.zip(contents.into_iter().cycle()) {
        run(kernel, batch, content);
    }
}

fn check_ring(ring: usize) {
    for kernels in table::ALL.iter() {
        run_all_batches(&kernels.each()[ring]);
    }
}

#[test]
#[ignore = "takes long; CI runs it"]
fn kernels_653() {
    check_ring(0);
}

#[test]
fn kernels_761() {
    check_ring(1);
}

#[test]
#[ignore = "takes long; CI runs it"]
fn kernels_1277() {
    check_ring(2);
}

/// The declared lengths of the KEM's kernels are whole rows. Only an array of bytes may be longer,
/// up to the end of the word in which its last row ends. So kernels access only elements that
/// belong to the batch. The kernels of inversion by powers have longer rows: matrices, groups of
/// eight elements, and pairs of elements.
#[test]
fn lengths_are_rows() {
    const LONGEST_ROW: u64 = 5112;
    const LONG: [&str; 3] = ["frobenius", "multiply_pairs", "divide_by_norm"];
    let kernels = table::ALL.iter();
    for kernel in kernels.flat_map(|kernels| kernels.each()) {
        for parameter in kernel.parameters() {
            let elements = |count| kernel.elements(parameter, Batch::shared(count));
            let (one, five) = (elements(1), elements(5));
            let name = (kernel.name(), parameter.name());
            let is_long = LONG.iter().any(|name| kernel.name().starts_with(name));
            let bytes = one * u64::from(parameter.element_bytes());
            assert!(is_long || bytes <= LONGEST_ROW, "{name:?}");
            // Five operations have one row, one row per two operations, or one row each. If a row
            // ends within a word, `one` is up to 3 bytes longer than a row.
            let in_words =
                |rows| (rows * (one - 3)..=rows * one).contains(&five) && five.is_multiple_of(4);
            let are = |rows| five == rows * one || parameter.element_bytes() == 1 && in_words(rows);
            assert!([1, 3, 5].into_iter().any(are), "{name:?}");
        }
        assert!(kernel.most_operations() > 1 << 19, "{}", kernel.name());
    }
}

/// Tests the declared lengths for every kind of rows.
#[test]
fn rows() {
    use ctru_gpu_kernels::descriptor::{Parameter, Shape};

    const KERNEL: Kernel = Kernel::emulated("rows", Shape::new(64, 8, 0), PARAMETERS, &{ NOTHING });
    const NOTHING: Emulate = |_, _, _| ();
    const PARAMETERS: &[Parameter] = &[
        Parameter::new("one", 1, Rows::One, 7),
        Parameter::new("each_or_shared", 2, Rows::EachOrShared, 7),
        Parameter::new("each_operation", 4, Rows::EachOperation, 7),
        Parameter::new("each_pair", 8, Rows::EachPair, 7),
        Parameter::new("in_whole_blocks", 16, Rows::InWholeBlocks(3), 7),
        Parameter::new("in_words", 1, Rows::EachOperation, 7).in_multiples_of(4),
    ];
    let lengths = |batch| -> Vec<u64> {
        PARAMETERS.iter().map(|parameter| KERNEL.elements(parameter, batch)).collect()
    };
    assert_eq!(lengths(Batch::each(1)), [7, 7, 7, 7, 21, 8]);
    assert_eq!(lengths(Batch::shared(9)), [7, 7, 63, 35, 42, 64]);
    assert_eq!(lengths(Batch::each(9)), [7, 63, 63, 35, 42, 64]);
    // With the largest batch and two more blocks, every byte of every array has a 32-bit index.
    // With more operations, some byte does not.
    let most = u64::from(KERNEL.most_operations());
    let bytes = |operations: u64| 16 * 7 * operations.div_ceil(3);
    let longest = |operations: u64| bytes(operations + 16).max(4 * 7 * (operations + 16)) + 16;
    assert!(longest(most) <= 1 << 32 && longest(most + 3) > 1 << 32, "{most}");
    // Lengths do not overflow, even for batches that are far too large.
    assert_eq!(lengths(Batch::each(u32::MAX))[2], 7 * u64::from(u32::MAX));
}
