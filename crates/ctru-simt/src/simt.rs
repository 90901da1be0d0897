//! The machine model of the kernels: blocks of threads, one shared memory per block, and warps of
//! 32 threads that run together.

use core::fmt::Debug;

/// Threads per warp.
pub const WARP: u32 = 32;

mod sealed {
    pub trait Sealed {}
}

/// An element of memory: a number of 1, 2, 4 or 8 bytes, or a vector of 16 bytes that one
/// instruction moves.
///
/// The trait is sealed because a GPU reads any memory as these types. So a type must have no
/// padding, and every bit pattern must be a valid value.
pub trait Word:
    Copy + Default + PartialEq + Debug + Send + Sync + sealed::Sealed + 'static
{
    /// Size in bytes, a power of two. Addresses of elements are multiples of the size.
    const BYTES: u32;

    /// Returns the value in the low bytes of a number, little-endian. The other bytes are 0.
    fn to_bits(self) -> u128;

    /// Returns the value that the low bytes of a number encode. Ignores the other bytes.
    fn from_bits(bits: u128) -> Self;
}

macro_rules! word {
    ($($number:ty),*) => {$(
        impl sealed::Sealed for $number {}
        impl Word for $number {
            const BYTES: u32 = size_of::<$number>() as u32;
            #[inline(always)]
            fn to_bits(self) -> u128 {
                u128::from(self)
            }
            #[inline(always)]
            fn from_bits(bits: u128) -> Self {
                bits as Self
            }
        }
    )*};
}
word!(u8, u16, u32, u64);

/// Four 32-bit numbers, aligned to 16 bytes.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct U32x4(pub [u32; 4]);

impl sealed::Sealed for U32x4 {}
impl Word for U32x4 {
    const BYTES: u32 = 16;
    #[inline(always)]
    fn to_bits(self) -> u128 {
        self.0.iter().rev().fold(0, |bits, &word| bits << 32 | u128::from(word))
    }
    #[inline(always)]
    fn from_bits(bits: u128) -> Self {
        Self([bits as u32, (bits >> 32) as u32, (bits >> 64) as u32, (bits >> 96) as u32])
    }
}

/// A thread of a running kernel.
///
/// Kernels are functions that are generic over this trait, so the same code runs on a GPU and on
/// the emulator. On a GPU each method compiles to one instruction or to a few.
///
/// # Rules
///
/// The emulator checks these rules; a GPU does not.
/// - Every thread of a block reaches the same [`sync_block`](Self::sync_block), and every thread of
///   a warp the same [`sync_warp`](Self::sync_warp), shuffle or matrix product.
/// - If two threads touch the same byte and at least one of them writes it, a `sync_block` or a
///   `sync_warp` of both threads lies between the two accesses. Shuffles and matrix products do not
///   order accesses. Nothing orders the accesses of different blocks.
/// - Every access lies inside its array, table or shared memory and is aligned to its element. A
///   thread reads shared memory only after some thread of the block has written it.
///
/// # Soundness
///
/// The methods are safe, so kernels are safe functions. But a GPU does not check the rules.
/// Therefore safe code must not be able to create a value of a machine that does not check them.
/// Such a machine has only an `unsafe` constructor. The caller of this constructor promises that
/// the kernel which receives the value keeps all rules on the arrays of the launch. Each entry
/// point gives this promise for one kernel.
/// [`Kernel::new`](crate::descriptor::Kernel::new) states what the host promises about the arrays.
pub trait Simt: Copy {
    /// An array of `T` in global memory, which all blocks and the host can access.
    type Global<T: Word>: Copy;

    /// Returns the number of this thread in its block.
    fn thread(self) -> u32;
    /// Returns the number of threads per block.
    fn threads(self) -> u32;
    /// Returns the number of this block.
    fn block(self) -> u32;

    /// Waits until all threads of the block reach this barrier. Afterwards each of them sees what
    /// the others wrote before it.
    #[track_caller]
    fn sync_block(self);
    /// Waits until all threads of the warp reach this barrier. Afterwards each of them sees what
    /// the others wrote before it.
    #[track_caller]
    fn sync_warp(self);
    /// Returns the `value` that thread `lane < 32` of the warp passes.
    #[track_caller]
    fn shuffle(self, value: u32, lane: u32) -> u32;

    /// Returns the matrix `c + a b`. Every thread of the warp holds a part of each matrix: `a` has
    /// 16 rows of 32 signed bytes, `b` has 32 rows of 8 signed bytes, `c` and the result have 16
    /// rows of 8 numbers.
    ///
    /// Thread `4 i + j`, `i < 8`, `j < 4`, holds
    ///
    /// - of `a`: the columns `4 j..4 j + 4` of the rows `i` and `i + 8`, and then the columns `16 +
    ///   4 j..20 + 4 j` of both rows,
    /// - of `b`: the rows `4 j..4 j + 4` and `16 + 4 j..20 + 4 j` of column `i`,
    /// - of `c` and of the result: the columns `2 j` and `2 j + 1` of row `i`, and then of row `i +
    ///   8`.
    ///
    /// Source: PTX ISA, `mma.m16n8k32` for `.s8`.
    #[track_caller]
    fn mma_m16n8k32(self, a: [u32; 4], b: [u32; 2], c: [i32; 4]) -> [i32; 4];

    /// Returns four of the eight bytes of `low` and `high`. The low three bits of nibble `k` of
    /// `selector` are the number of the byte that becomes byte `k` of the result.
    ///
    /// Source: PTX ISA, `prmt`.
    #[inline(always)]
    fn byte_permute(self, low: u32, high: u32, selector: u32) -> u32 {
        let bytes = u64::from(high) << 32 | u64::from(low);
        (0..4).fold(0, |word, k| {
            let byte = bytes >> (8 * (selector >> (4 * k) & 7)) & 0xff;
            word | (byte as u32) << (8 * k)
        })
    }

    /// Returns the same array with elements of another size. The array must be aligned for both
    /// sizes.
    fn cast<T: Word, U: Word>(self, memory: Self::Global<T>) -> Self::Global<U>;

    /// Returns element `index` of an array in global memory.
    #[track_caller]
    fn load<T: Word>(self, memory: Self::Global<T>, index: u32) -> T;
    /// Writes element `index` of an array in global memory.
    #[track_caller]
    fn store<T: Word>(self, memory: Self::Global<T>, index: u32, value: T);

    /// Returns the number at byte `address` of shared memory. The address is a multiple of the
    /// number's size.
    #[track_caller]
    fn load_shared<T: Word>(self, address: u32) -> T;
    /// Writes a number at byte `address` of shared memory. The address is a multiple of the
    /// number's size.
    #[track_caller]
    fn store_shared<T: Word>(self, address: u32, value: T);

    /// Returns entry `index` of a constant table of the program.
    #[track_caller]
    fn constant<T: Copy>(self, table: &'static [T], index: u32) -> T;

    /// Returns the number of this thread in its warp.
    #[inline(always)]
    fn lane(self) -> u32 {
        self.thread() % WARP
    }
    /// Returns the number of this thread's warp in its block.
    #[inline(always)]
    fn warp(self) -> u32 {
        self.thread() / WARP
    }
}
