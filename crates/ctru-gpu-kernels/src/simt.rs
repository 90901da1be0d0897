//! The machine that kernels are written for: blocks of threads, a shared memory for each block, and
//! warps of 32 threads that run together.

use ctru_math::array::Element;

/// Threads of a warp.
pub const WARP: u32 = 32;

mod sealed {
    pub trait Sealed {}
}

/// An element of memory: a number of 1, 2, 4 or 8 bytes, or a vector of 16 bytes that one
/// instruction moves.
///
/// The trait is sealed, because a GPU reads memory as these types whatever it holds: each has no
/// padding, and every pattern of bits is a value.
pub trait Word: Element + PartialEq + core::fmt::Debug + sealed::Sealed {
    /// Size in bytes, a power of two. Addresses are multiples of it.
    const BYTES: u32;

    /// Returns the value as the low bytes of a number, little-endian.
    fn to_bits(self) -> u128;

    /// Returns the value of the low bytes of a number, and ignores the others.
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
/// the emulator. On a GPU each method is one instruction or a few.
///
/// # Rules
///
/// The emulator checks these rules; a GPU does not.
/// - Every thread of a block reaches the same [`sync_block`](Self::sync_block), and every thread of
///   a warp the same [`sync_warp`](Self::sync_warp), shuffle or matrix product.
/// - If two threads touch the same byte and at least one of them writes it, one of those barriers
///   lies between the two accesses. Shuffles and matrix products order nothing, and nothing orders
///   threads of different blocks.
/// - Every access lies inside its array, table or shared memory and is aligned to its element. A
///   thread reads shared memory only after some thread of the block has written it.
///
/// # Soundness
///
/// The methods are safe, so that kernels are safe functions, and yet a GPU checks no rule. So a
/// value of a machine that does not check the rules must not come from safe code. The only way to
/// such a value is an `unsafe` constructor, whose caller promises that the kernel which receives
/// the value keeps all rules on the arrays that it receives with it. Each entry point in
/// `kernels-rs` gives this promise for one kernel; [`Kernel::new`](crate::descriptor::Kernel::new)
/// says what the host promises in turn.
pub trait Simt: Copy {
    /// An array of `T` in global memory, which all blocks and the host see.
    type Global<T: Word>: Copy;

    /// Returns the number of this thread in its block.
    fn thread(self) -> u32;
    /// Returns the number of threads of a block.
    fn threads(self) -> u32;
    /// Returns the number of this block.
    fn block(self) -> u32;

    /// Waits for all threads of the block. Their writes before are visible after.
    #[track_caller]
    fn sync_block(self);
    /// Waits for all threads of the warp. Their writes before are visible after.
    #[track_caller]
    fn sync_warp(self);
    /// Returns the `value` of thread `lane < 32` of the warp.
    #[track_caller]
    fn shuffle(self, value: u32, lane: u32) -> u32;

    /// Returns `c + a b` for three matrices of which every thread of the warp holds a part: `a` has
    /// 16 rows of 32 signed bytes, `b` 32 rows of 8 signed bytes, `c` and the result 16 rows of 8
    /// numbers.
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

    /// Returns four of the eight bytes of `low` and `high`: byte `k` of the result has the number
    /// that the low three bits of nibble `k` of `selector` state.
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

    /// Returns the same array with elements of another size. It begins where elements of either
    /// size may begin.
    fn cast<T: Word, U: Word>(self, memory: Self::Global<T>) -> Self::Global<U>;

    /// Returns element `index` of an array in global memory.
    #[track_caller]
    fn load<T: Word>(self, memory: Self::Global<T>, index: u32) -> T;
    /// Sets element `index` of an array in global memory.
    #[track_caller]
    fn store<T: Word>(self, memory: Self::Global<T>, index: u32, value: T);

    /// Returns the number at byte `address` of shared memory, a multiple of its size.
    #[track_caller]
    fn load_shared<T: Word>(self, address: u32) -> T;
    /// Sets the number at byte `address` of shared memory, a multiple of its size.
    #[track_caller]
    fn store_shared<T: Word>(self, address: u32, value: T);

    /// Returns entry `index` of a table that is a part of the program.
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
