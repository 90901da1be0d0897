//! Tests that every kernel stays inside the lengths that its descriptor declares, on arrays of
//! zeros.
//!
//! Launches rely on this property: they check only that arrays have at least these lengths. The
//! emulator stops at the first access outside an array.

use ctru_simt::descriptor::{Batch, Kernel, Parameter};
use ctru_simt::emulator::{Buffer, Emulator};
use research_reductions::table::{CHAINS, CYCLICS, Columns, SINGLES, THREADS_RANGE, all};

/// Runs a kernel on arrays of zeros, of exactly the declared lengths. The arithmetic asserts that
/// numbers are in range.
fn run(kernel: &Kernel, batch: Batch) {
    let array = |parameter: &Parameter| {
        let bytes = parameter.element_bytes();
        let len = kernel.elements(parameter, batch) as usize * bytes as usize;
        Buffer::from_bytes(bytes, vec![0; len])
    };
    let arrays: Vec<Buffer> = kernel.parameters().iter().map(array).collect();
    let result = Emulator::new().launch(kernel, &arrays.iter().collect::<Vec<_>>(), batch);
    assert_eq!(result, Ok(()), "{batch:?}");
}

/// Runs the laboratory's kernels in blocks of their own shape. `layers_that_are_none` tests the
/// parameters that determine addresses.
#[test]
fn laboratory() {
    for kernel in all() {
        let per_block = kernel.shape().per_block();
        // Products of values need whole blocks: in a part of a block, some threads write elements
        // that others read.
        let count = if kernel.name().starts_with("values") { 2 * per_block } else { per_block + 1 };
        run(kernel, Batch::each(count));
    }
}

/// Runs the laboratory's kernels with the fewest and the most threads per block, if they permit
/// these numbers.
#[test]
fn laboratory_in_other_blocks() {
    let (least, most) = THREADS_RANGE;
    for threads in [least, most] {
        run(&CHAINS[0].with_threads(threads).unwrap(), Batch::each(threads + 1));
        for cyclic in
            CYCLICS.iter().filter(|cyclic| cyclic.modulus == 7_340_033 && cyclic.method == "shoup")
        {
            let Some((columns, rows)) = cyclic.with_threads(threads) else {
                assert!(cyclic.columns.is_none() && threads == least, "{}", cyclic.rows.name());
                continue;
            };
            for kernel in columns.iter().flat_map(Columns::each).chain([&rows]) {
                run(kernel, Batch::each(threads + 1));
            }
        }
    }
    for threads in [0, 1, least / 2, least + 1, 2 * most] {
        assert!(
            CHAINS[0].with_threads(threads).is_none() && CYCLICS[0].with_threads(threads).is_none()
        );
    }
}

/// Tests that layer parameters which are not valid cause no access outside the arrays.
#[test]
fn layers_that_are_none() {
    for kernel in SINGLES.iter().take(1).flat_map(|single| [&single.forward, &single.inverse]) {
        for [log_half, log_len] in [
            [0, 0],
            [0, 17],
            [16, 17],
            [17, 17],
            [5, 3],
            [31, 32],
            [32, 33],
            [u32::MAX, 0],
            [7, u32::MAX],
        ] {
            for count in [1, 300] {
                let batch = Batch::each(count);
                let len = |i: usize| kernel.elements(&kernel.parameters()[i], batch) as usize;
                let factors = Buffer::from_bytes(8, vec![0; 8 * len(0)]);
                let layer = Buffer::new(&[log_half, log_len, 1]);
                let polynomials = Buffer::new(&vec![1u32; len(2)]);
                let result =
                    Emulator::new().launch(kernel, &[&factors, &layer, &polynomials], batch);
                assert_eq!(result, Ok(()), "{log_half} {log_len} {count}");
            }
        }
    }
}
