//! Tests the limits that descriptors compute.

use ctru_simt::descriptor::{Batch, Kernel, Parameter, Rows, Shape};
use ctru_simt::emulator::Emulate;
use ctru_simt::simt::U32x4;

const NOTHING: Emulate = |_, _, _| ();

/// With the largest batch, the declared length covers all rows, although several operations share
/// a row and blocks are not a power of two.
#[test]
fn lengths_of_the_largest_batch_are_exact() {
    const BYTE: &[Parameter] = &[Parameter::new("bytes", 1, Rows::InWholeBlocks(32), 1)];
    let kernel = Kernel::emulated("test", Shape::new(96, 96, 0), BYTE, &{ NOTHING });
    let most = kernel.most_operations();
    assert_eq!(most, u32::MAX - 2 * 96);
    let rows = (u64::from(most).div_ceil(96) * 96).div_ceil(32);
    assert_eq!(kernel.elements(&BYTE[0], Batch::each(most)), rows);
}

/// A GPU runs at most `2^31 - 1` blocks in the first dimension of a grid.
#[test]
fn grids_have_as_many_blocks_as_a_gpu_runs() {
    const ONE: &[Parameter] = &[Parameter::new("words", 4, Rows::One, 1)];
    const BYTE: &[Parameter] = &[Parameter::new("bytes", 1, Rows::EachOperation, 1)];
    const MOST: u32 = (1 << 31) - 1;
    let kernel = |per_block, parameters| {
        Kernel::emulated("test", Shape::new(32, per_block, 0), parameters, &{ NOTHING })
    };
    for parameters in [&[], ONE, BYTE] {
        let one = kernel(1, parameters);
        assert_eq!((one.most_operations(), one.blocks(one.most_operations())), (MOST, MOST));
        for per_block in [2, 3, 32] {
            let kernel = kernel(per_block, parameters);
            assert!(kernel.most_operations() > MOST && kernel.blocks(u32::MAX - 64) <= MOST);
        }
    }
}

#[test]
fn alignments_are_those_of_groups_and_casts() {
    let parameter = Parameter::new("numbers", 4, Rows::One, 64);
    assert_eq!(parameter.alignment(), 4);
    assert_eq!(parameter.in_multiples_of(2).alignment(), 8);
    assert_eq!(parameter.in_multiples_of(8).alignment(), 16);
    assert_eq!(parameter.cast_to::<u64>().alignment(), 8);
    assert_eq!(parameter.cast_to::<u8>().alignment(), 4);
    assert_eq!(parameter.cast_to::<U32x4>().in_multiples_of(2).alignment(), 16);
    assert_eq!(parameter.in_multiples_of(8).cast_to::<u64>().alignment(), 16);
}

/// A shape without planes takes the planes away.
#[test]
#[allow(unsafe_code)]
fn another_shape_may_have_no_planes() {
    let planes = Shape::new(32, 1, 0).in_planes();
    let kernel = Kernel::emulated("test", planes, &[], &{ NOTHING }).in_grid(2, 3).expect("planes");
    // SAFETY: the kernel accesses nothing.
    let (same, flat) =
        unsafe { (kernel.in_blocks_of(planes), kernel.in_blocks_of(Shape::new(32, 1, 0))) };
    assert_eq!((same.grid(5), flat.grid(5)), ([5, 2, 3], [5, 1, 1]));
}
