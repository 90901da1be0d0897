//! Kernels that break the rules of the machine, one rule each.
//!
//! They show what the emulator finds, and the example `planted` shows what NVIDIA's tools find on a
//! GPU. The comment behind a line says what the line does; the tests look for it in the reports.

#![allow(unsafe_code)]

use ctru_simt::descriptor::{Batch, Kernel, Rows, Shape};
use ctru_simt::simt::{Simt, U32x4, Update};

use crate::{MODULE, thread_in_launch};

/// Threads per block: two warps.
pub const THREADS: u32 = 64;

/// A kernel with a fault. It takes one array of `u32` with one element per thread.
#[derive(Debug)]
pub struct Planted {
    /// The kernel.
    pub kernel: &'static Kernel,
    /// Whether the array must have no content before the launch. Otherwise it must have content.
    pub needs_new_memory: bool,
}

/// Writes the thread's own word of shared memory twice, with a barrier of the block between.
#[inline(always)]
fn write_twice<S: Simt>(s: S) {
    s.store_shared(4 * s.thread(), 0u32);
    s.sync_block();
    s.store_shared(4 * s.thread(), s.thread()); // writes its own word
}

fn race_threads<S: Simt>(s: S, numbers: S::Global<u32>, _: Batch) {
    write_twice(s);
    let other: u32 = s.load_shared(4 * (s.thread() ^ 1)); // reads its neighbour's word
    s.store(numbers, thread_in_launch(s), other);
}

fn race_warps<S: Simt>(s: S, numbers: S::Global<u32>, _: Batch) {
    write_twice(s);
    s.sync_warp();
    let other: u32 = s.load_shared(4 * (s.thread() ^ 32)); // reads a word of the other warp
    s.store(numbers, thread_in_launch(s), other);
}

fn race_blocks<S: Simt>(s: S, numbers: S::Global<u32>, _: Batch) {
    if s.thread() == 0 {
        s.store(numbers, 0, s.block()); // each block writes the same element
    }
}

fn divergent_barrier<S: Simt>(s: S, numbers: S::Global<u32>, _: Batch) {
    if s.lane() < 16 {
        s.sync_block(); // half of each warp waits
    }
    s.store(numbers, thread_in_launch(s), 1);
}

fn dead_lane<S: Simt>(s: S, numbers: S::Global<u32>, _: Batch) {
    if s.lane() == 31 {
        return;
    }
    let other = s.shuffle(s.thread(), 31); // reads from a thread that has returned
    s.store(numbers, thread_in_launch(s), other);
}

fn outside_global<S: Simt>(s: S, numbers: S::Global<u32>, _: Batch) {
    let behind = s.grid()[0] * s.threads();
    s.store(numbers, behind + thread_in_launch(s), 1); // writes behind the array
}

fn outside_shared<S: Simt>(s: S, _: S::Global<u32>, _: Batch) {
    s.store_shared(4 * (s.threads() + s.thread()), 1u32); // writes behind shared memory
}

fn outside_constant<S: Simt>(s: S, numbers: S::Global<u32>, _: Batch) {
    static TABLE: [u32; 37] = {
        let mut table = [0; 37];
        let mut i = 0;
        while i < table.len() {
            table[i] = (i * i) as u32;
            i += 1;
        }
        table
    };
    let square = s.constant(&TABLE, s.thread()); // reads behind the table
    s.store(numbers, thread_in_launch(s), square);
}

fn undefined_shared<S: Simt>(s: S, numbers: S::Global<u32>, _: Batch) {
    let undefined: u32 = s.load_shared(4 * s.thread()); // reads new shared memory
    s.store(numbers, thread_in_launch(s), undefined);
}

fn undefined_global<S: Simt>(s: S, numbers: S::Global<u32>, _: Batch) {
    let undefined = s.load(numbers, thread_in_launch(s)); // reads a new array
    s.store(numbers, thread_in_launch(s), undefined + 1);
}

fn mixed_atomics<S: Simt>(s: S, numbers: S::Global<u32>, _: Batch) {
    if s.thread() == 0 {
        s.store_shared(0, 0u32);
    }
    s.sync_block();
    if s.thread() == 0 {
        s.store_shared(0, 7u32); // a plain write
    } else {
        s.atomic_shared(0, Update::Add(1u32)); // an atomic addition
    }
    s.sync_block();
    s.store(numbers, thread_in_launch(s), s.load_shared(0));
}

fn misaligned_vector<S: Simt>(s: S, numbers: S::Global<u32>, _: Batch) {
    let vectors = s.cast::<u32, U32x4>(s.tail(numbers, 1));
    let U32x4([a, b, c, d]) = s.load(vectors, 0); // reads 16 bytes from byte 4
    s.store_shared(4 * s.thread(), a ^ b ^ c ^ d);
}

fn unfinished_copy<S: Simt>(s: S, numbers: S::Global<u32>, _: Batch) {
    let i = thread_in_launch(s);
    s.copy_to_shared(numbers, i, 4 * s.thread()); // begins a copy
    s.commit_copies();
    let early: u32 = s.load_shared(4 * s.thread()); // reads before the copy is finished
    s.wait_for_copies::<0>();
    s.store(numbers, i, early + 1);
}

const SHAPE: Shape = Shape::new(THREADS, THREADS, 4 * THREADS);

macro_rules! planted {
    ($($name:ident $text:literal $function:ident $needs_new_memory:literal;)*) => {
        // The promise of these lines is false, so only `planted` gives access to the kernels.
        ctru_simt::kernels! {
            in MODULE:
            $(
                /// The kernel.
                unsafe $name $text = $function(
                    numbers: u32[Rows::InWholeBlocks(1); 1] as U32x4) in SHAPE;
            )*
        }

        /// Returns the kernels.
        ///
        /// # Safety
        /// They do not keep the promise of [`Kernel::new`]. If a GPU runs one, it may access all
        /// memory of the process on the GPU. The caller runs them on the emulator only, or in a
        /// process that has nothing else on the GPU and then ends.
        #[must_use]
        pub unsafe fn planted() -> &'static [Planted] {
            static PLANTED: &[Planted] = &[
                $(Planted { kernel: &$name, needs_new_memory: $needs_new_memory },)*
            ];
            PLANTED
        }
    };
}
planted! {
    RACE_THREADS "race_threads" race_threads false;
    RACE_WARPS "race_warps" race_warps false;
    RACE_BLOCKS "race_blocks" race_blocks false;
    MIXED_ATOMICS "mixed_atomics" mixed_atomics false;
    DIVERGENT_BARRIER "divergent_barrier" divergent_barrier false;
    DEAD_LANE "dead_lane" dead_lane false;
    OUTSIDE_GLOBAL "outside_global" outside_global false;
    OUTSIDE_SHARED "outside_shared" outside_shared false;
    OUTSIDE_CONSTANT "outside_constant" outside_constant false;
    MISALIGNED_VECTOR "misaligned_vector" misaligned_vector false;
    UNDEFINED_SHARED "undefined_shared" undefined_shared false;
    UNDEFINED_GLOBAL "undefined_global" undefined_global true;
    UNFINISHED_COPY "unfinished_copy" unfinished_copy false;
}
