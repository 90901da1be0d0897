//! The GPU as an implementation of [`Simt`]. Each method is one instruction or a few. This module
//! exists only where the crate is compiled for a GPU, for the target `nvptx64-nvidia-cuda`.
//!
//! The methods do not check the rules of [`Simt`]. They rely on the promise of the caller of
//! [`Gpu::new`] that the kernel keeps the rules.

#![allow(unsafe_code)]

mod atomic;

use core::arch::{asm, global_asm, nvptx};

use self::atomic::{atomic, atomic_add_float, atomic_load};
use crate::simt::{AtomicFloat, AtomicInteger, Copyable, NumberType, Simt, Update, Word};

// The launch sets the size of shared memory.
global_asm!(".extern .shared .align 16 .b8 shared_memory[];");

// Barriers, shuffles and votes must not be inline assembly. The compiler does not know that all
// threads of a warp execute inline assembly together, and may copy it into both sides of a branch.
#[allow(improper_ctypes)]
unsafe extern "C" {
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    fn bar_warp_sync(members: u32);
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    fn shfl_sync_idx(members: u32, value: u32, lane: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.match.any.sync.i32"]
    fn match_any_sync(members: u32, value: u32) -> u32;
    #[link_name = "llvm.nvvm.prmt"]
    fn prmt(low: u32, high: u32, selector: u32) -> u32;
}
unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    fn vote_ballot_sync(members: u32, vote: bool) -> u32;
}

/// The four elements of a matrix that one thread holds.
#[repr(C)]
struct Part<T>(T, T, T, T);

unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.mma.m16n8k32.row.col.s8"]
    fn mma_s8(
        a0: u32,
        a1: u32,
        a2: u32,
        a3: u32,
        b0: u32,
        b1: u32,
        c0: i32,
        c1: i32,
        c2: i32,
        c3: i32,
    ) -> Part<i32>;
    #[link_name = "llvm.nvvm.mma.m16n8k32.row.col.u8"]
    fn mma_u8(
        a0: u32,
        a1: u32,
        a2: u32,
        a3: u32,
        b0: u32,
        b1: u32,
        c0: i32,
        c1: i32,
        c2: i32,
        c3: i32,
    ) -> Part<i32>;
    #[link_name = "llvm.nvvm.mma.m16n8k16.row.col.s8"]
    fn mma_half_s8(a0: u32, a1: u32, b: u32, c0: i32, c1: i32, c2: i32, c3: i32) -> Part<i32>;
    #[link_name = "llvm.nvvm.mma.m16n8k16.row.col.u8"]
    fn mma_half_u8(a0: u32, a1: u32, b: u32, c0: i32, c1: i32, c2: i32, c3: i32) -> Part<i32>;
    #[link_name = "llvm.nvvm.mma.m16n8k16.row.col.bf16"]
    fn mma_bf16(
        a0: u32,
        a1: u32,
        a2: u32,
        a3: u32,
        b0: u32,
        b1: u32,
        c0: f32,
        c1: f32,
        c2: f32,
        c3: f32,
    ) -> Part<f32>;
}

/// Traps. Kernels must not panic, so `cargo xtask build-ptx` refuses PTX with this trap.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: the instruction ends the kernel and touches nothing.
    unsafe { nvptx::trap() }
}

/// The set of all threads of a warp.
const EVERYONE: u32 = !0;
/// The last lane of a shuffle over a whole warp.
const LAST_LANE: u32 = 31;

/// A thread of a running kernel.
#[derive(Copy, Clone, Debug)]
pub struct Gpu {
    /// The start of the block's shared memory, as an address in the space of shared memory.
    shared: u32,
}

impl Gpu {
    /// Returns the thread that executes this call.
    ///
    /// # Safety
    ///
    /// The kernel that receives the value must keep the [rules](Simt#rules) of the machine, with
    /// the shape of blocks and the shared memory of this launch, if its arrays are disjoint and
    /// nothing else accesses them. If arrays overlap, or other code writes to them, the values that
    /// it reads from them and from shared memory are unspecified. But it must still access only
    /// elements inside its arrays and its shared memory, at aligned addresses, and its threads must
    /// still reach barriers, shuffles, votes and matrix products together.
    #[inline(always)]
    pub unsafe fn new() -> Self {
        let shared;
        // SAFETY: the instruction writes an address to a register and nothing else.
        unsafe {
            asm!("mov.u32 {}, shared_memory;", out(reg32) shared,
                options(pure, nomem, nostack, preserves_flags))
        }
        Self { shared }
    }
}

/// An array in global memory: a pointer to its first element.
#[derive(Copy, Clone, Debug)]
pub struct Global<T>(*mut T);

impl<T> Global<T> {
    /// Returns the array that begins at `first`.
    #[inline(always)]
    pub const fn new(first: *mut T) -> Self {
        Self(first)
    }

    /// Returns the address of an element in the space of global memory.
    #[inline(always)]
    fn address(self, index: u32) -> u64 {
        let generic = self.0.wrapping_add(index as usize);
        let address;
        // SAFETY: the instruction converts an address and does nothing else.
        unsafe {
            asm!("cvta.to.global.u64 {}, {};", out(reg64) address, in(reg64) generic,
                options(pure, nomem, nostack, preserves_flags));
        }
        address
    }
}

impl Simt for Gpu {
    type Global<T: Word> = Global<T>;

    #[inline(always)]
    fn thread(self) -> u32 {
        // SAFETY: the intrinsic reads a register, which every thread has.
        unsafe { nvptx::_thread_idx_x() as u32 }
    }
    #[inline(always)]
    fn threads(self) -> u32 {
        // SAFETY: the intrinsic reads a register, which every thread has.
        unsafe { nvptx::_block_dim_x() as u32 }
    }
    #[inline(always)]
    fn block(self) -> u32 {
        // SAFETY: the intrinsic reads a register, which every thread has.
        unsafe { nvptx::_block_idx_x() as u32 }
    }
    #[inline(always)]
    fn block_in_grid(self) -> [u32; 3] {
        // SAFETY: the intrinsics read registers, which every thread has.
        unsafe { [nvptx::_block_idx_x(), nvptx::_block_idx_y(), nvptx::_block_idx_z()] }
            .map(|number| number as u32)
    }
    #[inline(always)]
    fn grid(self) -> [u32; 3] {
        // SAFETY: the intrinsics read registers, which every thread has.
        unsafe { [nvptx::_grid_dim_x(), nvptx::_grid_dim_y(), nvptx::_grid_dim_z()] }
            .map(|number| number as u32)
    }

    #[inline(always)]
    fn sync_block(self) {
        // SAFETY: every thread of the block reaches this barrier, as the caller of `Gpu::new`
        // promised.
        unsafe { nvptx::_syncthreads() }
    }
    #[inline(always)]
    fn sync_warp(self) {
        // SAFETY: every thread of the warp reaches this barrier, as the caller of `Gpu::new`
        // promised.
        unsafe { bar_warp_sync(EVERYONE) }
    }
    #[inline(always)]
    fn shuffle(self, value: u32, lane: u32) -> u32 {
        // SAFETY: every thread of the warp reaches this shuffle, as the caller of `Gpu::new`
        // promised.
        unsafe { shfl_sync_idx(EVERYONE, value, lane, LAST_LANE) }
    }
    #[inline(always)]
    fn ballot(self, vote: bool) -> u32 {
        // SAFETY: every thread of the warp reaches this vote, as the caller of `Gpu::new` promised.
        unsafe { vote_ballot_sync(EVERYONE, vote) }
    }
    #[inline(always)]
    fn lanes_with(self, value: u32) -> u32 {
        // SAFETY: every thread of the warp reaches this vote, as the caller of `Gpu::new` promised.
        unsafe { match_any_sync(EVERYONE, value) }
    }

    #[inline(always)]
    fn keep_rolled(self) {
        // SAFETY: a pragma is no instruction.
        unsafe { asm!(".pragma \"nounroll\";", options(nomem, nostack, preserves_flags)) }
    }
    #[inline(always)]
    fn mma_m16n8k32(self, a: [u32; 4], b: [u32; 2], c: [i32; 4]) -> [i32; 4] {
        // SAFETY: every thread of the warp reaches this product, as the caller of `Gpu::new`
        // promised.
        let Part(c0, c1, c2, c3) =
            unsafe { mma_s8(a[0], a[1], a[2], a[3], b[0], b[1], c[0], c[1], c[2], c[3]) };
        [c0, c1, c2, c3]
    }
    #[inline(always)]
    fn mma_m16n8k32_u8(self, a: [u32; 4], b: [u32; 2], c: [i32; 4]) -> [i32; 4] {
        // SAFETY: every thread of the warp reaches this product, as the caller of `Gpu::new`
        // promised.
        let Part(c0, c1, c2, c3) =
            unsafe { mma_u8(a[0], a[1], a[2], a[3], b[0], b[1], c[0], c[1], c[2], c[3]) };
        [c0, c1, c2, c3]
    }
    #[inline(always)]
    fn mma_m16n8k16(self, a: [u32; 2], b: u32, c: [i32; 4]) -> [i32; 4] {
        // SAFETY: every thread of the warp reaches this product, as the caller of `Gpu::new`
        // promised.
        let Part(c0, c1, c2, c3) = unsafe { mma_half_s8(a[0], a[1], b, c[0], c[1], c[2], c[3]) };
        [c0, c1, c2, c3]
    }
    #[inline(always)]
    fn mma_m16n8k16_u8(self, a: [u32; 2], b: u32, c: [i32; 4]) -> [i32; 4] {
        // SAFETY: every thread of the warp reaches this product, as the caller of `Gpu::new`
        // promised.
        let Part(c0, c1, c2, c3) = unsafe { mma_half_u8(a[0], a[1], b, c[0], c[1], c[2], c[3]) };
        [c0, c1, c2, c3]
    }
    #[inline(always)]
    fn mma_m16n8k16_bf16(self, a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4] {
        // SAFETY: every thread of the warp reaches this product, as the caller of `Gpu::new`
        // promised.
        let Part(c0, c1, c2, c3) =
            unsafe { mma_bf16(a[0], a[1], a[2], a[3], b[0], b[1], c[0], c[1], c[2], c[3]) };
        [c0, c1, c2, c3]
    }
    #[inline(always)]
    fn byte_permute(self, low: u32, high: u32, selector: u32) -> u32 {
        // SAFETY: the intrinsic accepts every selector, and reads and writes registers only.
        unsafe { prmt(low, high, selector) }
    }
    #[inline(always)]
    fn xor(self, a: u32, b: u32, c: u32) -> u32 {
        let result;
        // SAFETY: the instruction reads and writes registers only.
        unsafe {
            asm!("lop3.b32 {}, {}, {}, {}, 0x96;", out(reg32) result, in(reg32) a, in(reg32) b,
                in(reg32) c, options(pure, nomem, nostack, preserves_flags))
        }
        result
    }
    #[inline(always)]
    fn cast<T: Word, U: Word>(self, memory: Global<T>) -> Global<U> {
        Global(memory.0.cast())
    }

    #[inline(always)]
    fn tail<T: Word>(self, memory: Global<T>, first: u32) -> Global<T> {
        // The pointer may point behind the array, but no access then follows.
        Global(memory.0.wrapping_add(first as usize))
    }

    #[inline(always)]
    fn load<T: Word>(self, memory: Global<T>, index: u32) -> T {
        // SAFETY: the caller of `Gpu::new` promised that the element lies inside the array and is
        // aligned. If the arrays are disjoint, no other thread writes it at the same time; if not,
        // the value is unspecified, and every pattern of bits is a valid `Word`.
        unsafe { memory.0.add(index as usize).read() }
    }
    #[inline(always)]
    fn store<T: Word>(self, memory: Global<T>, index: u32, value: T) {
        // SAFETY: the caller of `Gpu::new` promised that the element lies inside the array and is
        // aligned. If the arrays are disjoint, no other thread touches it at the same time; if not,
        // only the content of the arrays is unspecified.
        unsafe { memory.0.add(index as usize).write(value) }
    }

    #[inline(always)]
    fn load_shared<T: Word>(self, address: u32) -> T {
        let address = self.shared.wrapping_add(address);
        // With the option `readonly`, the compiler does not move a load in front of earlier stores
        // and barriers.
        macro_rules! load {
            ($instruction:literal, $class:ident, $register:ty) => {{
                let number: $register;
                // SAFETY: the caller of `Gpu::new` promised that the address lies inside the
                // block's shared memory and is aligned. If the arrays are disjoint, no other thread
                // writes there at the same time; if not, the value is unspecified, and every
                // pattern of bits is a valid `Word`.
                unsafe {
                    asm!(concat!($instruction, " {}, [{}];"), out($class) number, in(reg32) address,
                        options(pure, readonly, nostack, preserves_flags));
                }
                T::from_bits(number.into())
            }};
        }
        match T::BYTES {
            1 => load!("ld.shared.u8", reg16, u16),
            2 => load!("ld.shared.u16", reg16, u16),
            4 => load!("ld.shared.u32", reg32, u32),
            8 => load!("ld.shared.u64", reg64, u64),
            _ => {
                let (a, b, c, d): (u32, u32, u32, u32);
                // SAFETY: the caller of `Gpu::new` promised that the address lies inside the
                // block's shared memory and is aligned. If the arrays are disjoint, no other thread
                // writes there at the same time; if not, the value is unspecified, and every
                // pattern of bits is a valid `Word`.
                unsafe {
                    asm!("ld.shared.v4.u32 {{{}, {}, {}, {}}}, [{}];",
                        out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg32) address,
                        options(pure, readonly, nostack, preserves_flags));
                }
                T::from_bits(
                    u128::from(a) | u128::from(b) << 32 | u128::from(c) << 64 | u128::from(d) << 96,
                )
            }
        }
    }
    #[inline(always)]
    fn load_matrices(self, address: u32) -> [u32; 4] {
        let address = self.shared.wrapping_add(address);
        let (a, b, c, d);
        // SAFETY: the caller of `Gpu::new` promised that every thread of the warp reaches this
        // load, and that the address lies inside the block's shared memory and is aligned. If the
        // arrays are disjoint, no other thread writes there at the same time; if not, the value is
        // unspecified, and every pattern of bits is a valid `Word`. With the option `readonly`, the
        // compiler does not move the load in front of earlier stores and barriers. Without the
        // option `pure`, it does not move the load into a branch that only some threads take.
        unsafe {
            asm!("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{}, {}, {}, {}}}, [{}];",
                out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg32) address,
                options(readonly, nostack, preserves_flags));
        }
        [a, b, c, d]
    }
    #[inline(always)]
    fn store_shared<T: Word>(self, address: u32, value: T) {
        let address = self.shared.wrapping_add(address);
        let bits = value.to_bits();
        macro_rules! store {
            ($instruction:literal, $class:ident, $register:ty) => {
                // SAFETY: the caller of `Gpu::new` promised that the address lies inside the
                // block's shared memory and is aligned. If the arrays are disjoint, no other thread
                // touches it at the same time; if not, only the content of shared memory is
                // unspecified.
                unsafe {
                    asm!(concat!($instruction, " [{}], {};"), in(reg32) address,
                        in($class) bits as $register,
                        options(nostack, preserves_flags));
                }
            };
        }
        match T::BYTES {
            1 => store!("st.shared.u8", reg16, u16),
            2 => store!("st.shared.u16", reg16, u16),
            4 => store!("st.shared.u32", reg32, u32),
            8 => store!("st.shared.u64", reg64, u64),
            _ => {
                let [a, b, c, d] = [0, 32, 64, 96].map(|shift| (bits >> shift) as u32);
                // SAFETY: the caller of `Gpu::new` promised that the address lies inside the
                // block's shared memory and is aligned. If the arrays are disjoint, no other thread
                // touches it at the same time; if not, only the content of shared memory is
                // unspecified.
                unsafe {
                    asm!("st.shared.v4.u32 [{}], {{{}, {}, {}, {}}};",
                        in(reg32) address, in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d,
                        options(nostack, preserves_flags));
                }
            }
        }
    }

    #[inline(always)]
    fn atomic<T: AtomicInteger>(self, memory: Global<T>, index: u32, update: Update<T>) -> T {
        let address = memory.address(index);
        atomic!(".global", reg64, address, update)
    }
    #[inline(always)]
    fn atomic_load<T: AtomicInteger>(self, memory: Global<T>, index: u32) -> T {
        let address = memory.address(index);
        atomic_load!(address)
    }
    #[inline(always)]
    fn atomic_shared<T: AtomicInteger>(self, address: u32, update: Update<T>) -> T {
        let address = self.shared.wrapping_add(address);
        atomic!(".shared", reg32, address, update)
    }
    #[inline(always)]
    fn atomic_add_float<T: AtomicFloat>(self, memory: Global<T>, index: u32, value: T) -> T {
        let address = memory.address(index);
        atomic_add_float!(".global", reg64, address, value)
    }
    #[inline(always)]
    fn atomic_add_float_shared<T: AtomicFloat>(self, address: u32, value: T) -> T {
        let address = self.shared.wrapping_add(address);
        atomic_add_float!(".shared", reg32, address, value)
    }

    #[inline(always)]
    fn copy_to_shared<T: Copyable>(self, memory: Global<T>, index: u32, address: u32) {
        let from = memory.address(index);
        let to = self.shared.wrapping_add(address);
        macro_rules! copy {
            ($cache:literal, $bytes:literal) => {
                // SAFETY: the caller of `Gpu::new` promised that the element lies inside the array,
                // that the address lies inside the block's shared memory and is aligned, and that
                // no other thread touches these bytes until this one has waited.
                unsafe {
                    asm!(concat!("cp.async.", $cache, ".shared.global [{}], [{}], ", $bytes, ";"),
                        in(reg32) to, in(reg64) from, options(nostack, preserves_flags));
                }
            };
        }
        match T::BYTES {
            4 => copy!("ca", 4),
            8 => copy!("ca", 8),
            // Whole vectors need not pass the cache of the multiprocessor.
            _ => copy!("cg", 16),
        }
    }
    #[inline(always)]
    fn commit_copies(self) {
        // SAFETY: the instruction changes only the thread's list of copies.
        unsafe { asm!("cp.async.commit_group;", options(nostack, preserves_flags)) }
    }
    #[inline(always)]
    fn wait_for_copies<const PENDING: u32>(self) {
        // SAFETY: the caller of `Gpu::new` promised that no other thread touches the bytes that the
        // copies write.
        unsafe {
            asm!("cp.async.wait_group {};", const PENDING, options(nostack, preserves_flags));
        }
    }

    #[inline(always)]
    fn constant<T: Copy>(self, table: &'static [T], index: u32) -> T {
        // SAFETY: the caller of `Gpu::new` promised that the index lies inside the table.
        unsafe { *table.get_unchecked(index as usize) }
    }
}
