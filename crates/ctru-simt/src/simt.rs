//! The machine model of the kernels: blocks of threads, one shared memory per block, and warps of
//! 32 threads that run together.

use core::fmt::{self, Debug};
use core::ops::Add;

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

/// The type of a number.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the types")]
pub enum NumberType {
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F32,
    F64,
}

impl fmt::Display for NumberType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        })
    }
}

/// A number, which can be an element of memory and a scalar argument of a kernel.
pub trait Number: Word {
    /// The type.
    const TYPE: NumberType;
}

/// An integer that [atomic](Simt::atomic) operations update.
pub trait AtomicInteger: Number + Ord {
    /// Returns the sum modulo `2^32` or `2^64`.
    #[must_use]
    fn plus(self, other: Self) -> Self;
}

/// A floating-point number to which atomic operations [add](Simt::atomic_add_float).
pub trait AtomicFloat: Number + Add<Output = Self> {}

/// An element of 4, 8 or 16 bytes, which [asynchronous copies](Simt::copy_to_shared) move.
pub trait Copyable: Word {}

macro_rules! word {
    ($($number:ident $unsigned:ident $type:ident;)*) => {$(
        impl sealed::Sealed for $number {}
        impl Word for $number {
            const BYTES: u32 = size_of::<$number>() as u32;
            #[inline(always)]
            fn to_bits(self) -> u128 {
                u128::from($unsigned::from_ne_bytes(self.to_ne_bytes()))
            }
            #[inline(always)]
            fn from_bits(bits: u128) -> Self {
                Self::from_ne_bytes((bits as $unsigned).to_ne_bytes())
            }
        }
        impl Number for $number {
            const TYPE: NumberType = NumberType::$type;
        }
    )*};
}
word! {
    u8 u8 U8;
    u16 u16 U16;
    u32 u32 U32;
    u64 u64 U64;
    i8 u8 I8;
    i16 u16 I16;
    i32 u32 I32;
    i64 u64 I64;
    f32 u32 F32;
    f64 u64 F64;
}

macro_rules! atomic_integer {
    ($($number:ty),*) => {$(
        impl AtomicInteger for $number {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
        }
    )*};
}
atomic_integer!(u32, u64, i32, i64);
impl AtomicFloat for f32 {}
impl AtomicFloat for f64 {}

macro_rules! copyable {
    ($($word:ty),*) => {$(
        impl Copyable for $word {}
    )*};
}
copyable!(u32, u64, i32, i64, f32, f64, U32x4);

/// A change of one element that no other atomic access to this element interrupts.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Update<T> {
    /// Adds this number, modulo `2^32` or `2^64`.
    Add(T),
    /// Replaces the element by the minimum of both.
    Min(T),
    /// Replaces the element by the maximum of both.
    Max(T),
    /// Replaces the element.
    Exchange(T),
    /// Replaces the element by `new` if it is `expected`.
    CompareExchange {
        /// The element to replace.
        expected: T,
        /// The new element.
        new: T,
    },
}

impl<T: AtomicInteger> Update<T> {
    /// Returns what replaces the element `old`.
    #[must_use]
    pub fn applied(self, old: T) -> T {
        match self {
            Self::Add(value) => old.plus(value),
            Self::Min(value) => old.min(value),
            Self::Max(value) => old.max(value),
            Self::Exchange(new) => new,
            Self::CompareExchange { expected, new } if old == expected => new,
            Self::CompareExchange { .. } => old,
        }
    }
}

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
///   a warp the same [`sync_warp`](Self::sync_warp), shuffle, vote or matrix product.
/// - If two threads touch the same byte and at least one of them writes it, a `sync_block` or a
///   `sync_warp` of both threads lies between the two accesses, or both are atomic accesses to the
///   same element. Shuffles, votes, matrix products and atomic accesses do not order other
///   accesses. Nothing orders the accesses of different blocks.
/// - Every access lies inside its array, table or shared memory and is aligned to its element. An
///   access to an array is not wider than the
///   [alignment](crate::descriptor::Parameter::alignment) that the descriptor declares.
/// - A thread reads shared memory only after some thread of the block has written it, and an array
///   without initial content only after some thread has written it.
/// - Between an [asynchronous copy](Self::copy_to_shared) and the end of its thread's
///   [wait](Self::wait_for_copies), no thread touches the bytes that it writes, and none writes the
///   bytes that it reads.
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
    /// Returns the number of this block, in the first dimension of the grid.
    fn block(self) -> u32;
    /// Returns the numbers of this block in the three dimensions of the grid.
    fn block_in_grid(self) -> [u32; 3];
    /// Returns the numbers of blocks in the three dimensions of the grid.
    fn grid(self) -> [u32; 3];

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
    /// Returns the threads of the warp whose vote is true: bit `i` for lane `i`.
    #[track_caller]
    fn ballot(self, vote: bool) -> u32;
    /// Returns the threads of the warp that pass the same value: bit `i` for lane `i`.
    ///
    /// Source: PTX ISA, `match.any.sync`.
    #[track_caller]
    fn lanes_with(self, value: u32) -> u32;
    /// Returns whether the vote of any thread of the warp is true.
    #[inline(always)]
    #[track_caller]
    fn any(self, vote: bool) -> bool {
        self.ballot(vote) != 0
    }
    /// Returns whether the votes of all threads of the warp are true.
    #[inline(always)]
    #[track_caller]
    fn all(self, vote: bool) -> bool {
        self.ballot(!vote) == 0
    }

    /// Tells the assembler not to unroll the loop whose body begins with this call.
    ///
    /// Source: PTX ISA, pragma `nounroll`.
    #[inline(always)]
    fn keep_rolled(self) {}

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
    /// Returns the same as [`mma_m16n8k32`](Self::mma_m16n8k32) for unsigned bytes.
    ///
    /// Source: PTX ISA, `mma.m16n8k32` for `.u8`.
    #[track_caller]
    fn mma_m16n8k32_u8(self, a: [u32; 4], b: [u32; 2], c: [i32; 4]) -> [i32; 4];
    /// Returns the same as [`mma_m16n8k32`](Self::mma_m16n8k32) for matrices of half the depth: `a`
    /// has 16 columns, and `b` has 16 rows. A thread holds the first half of what it holds there.
    ///
    /// Source: PTX ISA, `mma.m16n8k16` for `.s8`.
    #[inline(always)]
    #[track_caller]
    fn mma_m16n8k16(self, a: [u32; 2], b: u32, c: [i32; 4]) -> [i32; 4] {
        self.mma_m16n8k32([a[0], a[1], 0, 0], [b, 0], c)
    }
    /// Returns the same as [`mma_m16n8k16`](Self::mma_m16n8k16) for unsigned bytes.
    ///
    /// Source: PTX ISA, `mma.m16n8k16` for `.u8`.
    #[inline(always)]
    #[track_caller]
    fn mma_m16n8k16_u8(self, a: [u32; 2], b: u32, c: [i32; 4]) -> [i32; 4] {
        self.mma_m16n8k32_u8([a[0], a[1], 0, 0], [b, 0], c)
    }
    /// Returns the matrix `c + a b`. Every thread of the warp holds a part of each matrix: `a` has
    /// 16 rows of 16 numbers of the form bfloat16, the upper half of an `f32`, `b` has 16 rows of 8
    /// such numbers, `c` and the result have 16 rows of 8 numbers. Products are exact. The order
    /// and the rounding of the sums are those of the machine.
    ///
    /// Thread `4 i + j`, `i < 8`, `j < 4`, holds two numbers per word, the first in the low bits:
    ///
    /// - of `a`: the columns `2 j` and `2 j + 1` of the rows `i` and `i + 8`, and then the columns
    ///   `8 + 2 j` and `9 + 2 j` of both rows,
    /// - of `b`: the rows `2 j` and `2 j + 1`, and then `8 + 2 j` and `9 + 2 j`, of column `i`,
    /// - of `c` and of the result: the columns `2 j` and `2 j + 1` of row `i`, and then of row `i +
    ///   8`.
    ///
    /// Source: PTX ISA, `mma.m16n8k16` for `.bf16`.
    #[track_caller]
    fn mma_m16n8k16_bf16(self, a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4];

    /// Returns four of the eight bytes of `low` and `high`. The low three bits of nibble `k` of
    /// `selector` are the number of the byte that becomes byte `k` of the result. If the high bit
    /// of the nibble is set, each bit of byte `k` is the high bit of the byte with that number.
    ///
    /// Source: PTX ISA, `prmt`.
    #[inline(always)]
    fn byte_permute(self, low: u32, high: u32, selector: u32) -> u32 {
        let bytes = u64::from(high) << 32 | u64::from(low);
        (0..4).fold(0, |word, k| {
            let nibble = selector >> (4 * k);
            let byte = (bytes >> (8 * (nibble & 7))) as u8;
            let byte = if nibble & 8 == 0 { byte } else { (byte as i8 >> 7) as u8 };
            word | u32::from(byte) << (8 * k)
        })
    }

    /// Returns `a ^ b ^ c`, for which a GPU has an instruction with three operands.
    ///
    /// The instruction is opaque to the compiler. Otherwise the compiler would compute `b ^ c` once
    /// for several calls with the same `b` and `c`, which takes one more instruction.
    ///
    /// Source: PTX ISA, `lop3`.
    #[inline(always)]
    fn xor(self, a: u32, b: u32, c: u32) -> u32 {
        a ^ b ^ c
    }

    /// Returns the same array with elements of another size. The descriptor must
    /// [declare](crate::descriptor::Parameter::cast_to) larger elements, because launches check
    /// that arrays are aligned as the descriptor says.
    fn cast<T: Word, U: Word>(self, memory: Self::Global<T>) -> Self::Global<U>;

    /// Returns the array without its first `first` elements. The compiler makes a constant index
    /// into the rest a part of the instruction. It cannot do so with a constant that is added to
    /// `first`, because this sum of 32-bit numbers could overflow.
    fn tail<T: Word>(self, memory: Self::Global<T>, first: u32) -> Self::Global<T>;

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
    /// Loads four matrices with eight rows of 16 bytes each from shared memory. Thread `8 m + i`
    /// gives the address of row `i` of matrix `m`, a multiple of 16. Returns the thread's word of
    /// each matrix: thread `4 i + j` receives the bytes `4 j..4 j + 4` of row `i`. So a matrix is
    /// half of the factor `b` of a product with the columns of `b` as rows.
    ///
    /// Source: PTX ISA, `ldmatrix.m8n8.x4` for `.b16`.
    #[inline(always)]
    #[track_caller]
    fn load_matrices(self, address: u32) -> [u32; 4] {
        let (i, j) = (self.lane() / 4, self.lane() % 4);
        [0, 1, 2, 3].map(|m| {
            let U32x4(row) = self.load_shared(self.shuffle(address, 8 * m + i));
            row[j as usize]
        })
    }
    /// Writes a number at byte `address` of shared memory. The address is a multiple of the
    /// number's size.
    #[track_caller]
    fn store_shared<T: Word>(self, address: u32, value: T);

    /// Updates element `index` of an array in global memory. Returns its old value. Among atomic
    /// accesses to one element, each happens before or after the other, for all blocks of the
    /// launch.
    #[track_caller]
    fn atomic<T: AtomicInteger>(self, memory: Self::Global<T>, index: u32, update: Update<T>) -> T;
    /// Returns element `index` of an array in global memory. The access is atomic, so other threads
    /// may update the element at the same time. The rules treat it as an update that changes
    /// nothing.
    ///
    /// Source: PTX ISA, `ld.relaxed.gpu`.
    #[track_caller]
    fn atomic_load<T: AtomicInteger>(self, memory: Self::Global<T>, index: u32) -> T;
    /// Updates the number at byte `address` of shared memory. Returns its old value.
    #[track_caller]
    fn atomic_shared<T: AtomicInteger>(self, address: u32, update: Update<T>) -> T;
    /// Adds `value` to element `index` of an array in global memory. Returns its old value. The sum
    /// of several additions depends on their order, which is not specified.
    #[track_caller]
    fn atomic_add_float<T: AtomicFloat>(self, memory: Self::Global<T>, index: u32, value: T) -> T;
    /// Adds `value` to the number at byte `address` of shared memory. Returns its old value.
    #[track_caller]
    fn atomic_add_float_shared<T: AtomicFloat>(self, address: u32, value: T) -> T;

    /// Begins to copy element `index` of an array in global memory to byte `address` of shared
    /// memory. The thread's next call of [`commit_copies`](Self::commit_copies) puts the copy into
    /// a group.
    ///
    /// Source: PTX ISA, `cp.async`.
    #[track_caller]
    fn copy_to_shared<T: Copyable>(self, memory: Self::Global<T>, index: u32, address: u32);
    /// Puts all copies of this thread that are not in a group yet into a new group.
    fn commit_copies(self);
    /// Waits until all groups of copies of this thread are complete, except the last `PENDING`
    /// ones. What the complete groups copied then counts as stored by this thread: after a barrier,
    /// other threads may read it.
    #[track_caller]
    fn wait_for_copies<const PENDING: u32>(self);

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
