//! The emulator's thread, which implements [`Simt`] on a coroutine.

use core::cell::{Cell, RefCell};
use core::fmt;
use core::marker::PhantomData;
use core::panic::Location;
use std::vec::Vec;

use corosensei::Yielder;

use super::fault::{Access, Fault};
use super::memory::{Buffer, Memory, Problem, Stamp};
use crate::descriptor::Kernel;
use crate::simt::{Simt, WARP, Word};

/// A reason to suspend a thread.
#[derive(Copy, Clone)]
pub(super) enum Request {
    SyncBlock,
    SyncWarp,
    Shuffle {
        value: u32,
        lane: u32,
    },
    /// A matrix product. The thread has stored its part of the factors in [`Block::factors`].
    Mma,
    /// The thread violated a rule and never continues.
    Stop,
}

/// A request and the source line that made it.
#[derive(Copy, Clone)]
pub(super) struct Wait {
    pub(super) request: Request,
    pub(super) location: &'static Location<'static>,
}

/// A thread's parts of the factors of a matrix product.
#[derive(Copy, Clone, Default)]
struct Factors {
    a: [u32; 4],
    b: [u32; 2],
}

/// The state that the threads of a block share.
pub(super) struct Block {
    pub(super) kernel: &'static str,
    pub(super) number: u32,
    pub(super) launch: u32,
    pub(super) threads: u32,
    pub(super) shared: RefCell<Memory>,
    pub(super) block_barriers: Cell<u32>,
    pub(super) warp_barriers: Vec<Cell<u32>>,
    /// Number of matrix products that each warp has finished.
    pub(super) matrix_products: Vec<Cell<u32>>,
    /// Two entries per thread, for even and odd products of its warp. One entry is not enough,
    /// because a thread may read the factors of a product after others have begun the next product.
    factors: RefCell<Vec<[Factors; 2]>>,
    pub(super) fault: RefCell<Option<Fault>>,
    /// The accesses of each thread, if the launch is traced.
    pub(super) events: Option<RefCell<Vec<Vec<Event>>>>,
}

impl Block {
    pub(super) fn new(kernel: &Kernel, number: u32, launch: u32, trace: bool) -> Self {
        let (name, shape) = (kernel.name(), kernel.shape());
        let warps = 0..shape.threads.div_ceil(WARP);
        let events = std::vec![Vec::new(); shape.threads as usize];
        Self {
            kernel: name,
            number,
            launch,
            threads: shape.threads,
            shared: RefCell::new(Memory::shared(shape.shared_bytes)),
            block_barriers: Cell::new(0),
            warp_barriers: warps.clone().map(|_| Cell::new(0)).collect(),
            matrix_products: warps.map(|_| Cell::new(0)).collect(),
            factors: RefCell::new(std::vec![Default::default(); shape.threads as usize]),
            fault: RefCell::new(None),
            events: trace.then_some(RefCell::new(events)),
        }
    }
}

/// An access of a traced thread to global memory, to shared memory or to a constant table.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Whether the access is a write.
    pub writes: bool,
    /// Offset in bytes from the beginning of the array, of shared memory or of the table.
    pub address: u64,
    /// Source line.
    pub location: &'static Location<'static>,
}

/// A thread of a kernel on the emulator.
#[derive(Copy, Clone)]
pub struct Thread<'a> {
    pub(super) block: &'a Block,
    pub(super) yielder: &'a Yielder<u32, Wait>,
    pub(super) number: u32,
}

impl fmt::Debug for Thread<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Thread({} of block {})", self.number, self.block.number)
    }
}

/// A kernel's handle of an array in global memory, with the type of its elements.
#[derive(Copy, Clone)]
pub struct View<'a, T> {
    buffer: &'a Buffer,
    element: PhantomData<T>,
}

impl<T> fmt::Debug for View<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.buffer.fmt(f)
    }
}

impl Buffer {
    /// Returns the handle that a kernel takes as an argument.
    #[must_use]
    pub fn view<T: Word>(&self) -> View<'_, T> {
        View { buffer: self, element: PhantomData }
    }
}

impl Thread<'_> {
    /// Suspends the thread until all participating threads have made the same request. Returns the
    /// answer.
    #[track_caller]
    fn wait(self, request: Request) -> u32 {
        self.yielder.suspend(Wait { request, location: Location::caller() })
    }

    /// Appends an access to the trace if the launch is traced.
    #[track_caller]
    fn event(self, writes: bool, address: u64) {
        if let Some(events) = &self.block.events {
            let event = Event { writes, address, location: Location::caller() };
            events.borrow_mut()[self.number as usize].push(event);
        }
    }

    /// Runs `operation` on a memory. Passes it a stamp that tells between which barriers the access
    /// happens. If the access violates a rule, the launch ends.
    #[track_caller]
    fn access<V>(
        self,
        memory: &RefCell<Memory>,
        address: u64,
        writes: bool,
        operation: impl FnOnce(&mut Memory, Stamp) -> Result<V, Problem>,
    ) -> V {
        let Block { kernel, number, .. } = *self.block;
        let access =
            Access { block: number, thread: self.number, writes, location: Location::caller() };
        self.event(writes, address);
        let stamp = Stamp {
            launch: self.block.launch,
            block_barriers: self.block.block_barriers.get(),
            warp_barriers: self.block.warp_barriers[self.warp() as usize].get(),
            access,
        };
        let problem = match operation(&mut memory.borrow_mut(), stamp) {
            Ok(value) => return value,
            Err(problem) => problem,
        };
        self.stop(match problem {
            Problem::Bounds { bytes } => Fault::Bounds { kernel, access, address, bytes },
            Problem::Uninitialised { address } => Fault::Uninitialised { kernel, access, address },
            Problem::Race { first, address } => {
                Fault::Race { kernel, first, second: access, address }
            }
        })
    }

    /// Reports a fault, which ends the launch. The thread is never resumed.
    #[track_caller]
    fn stop(self, fault: Fault) -> ! {
        *self.block.fault.borrow_mut() = Some(fault);
        loop {
            self.wait(Request::Stop);
        }
    }
}

/// Returns the dot product of two vectors of four signed bytes.
fn dot_product(a: u32, b: u32) -> i32 {
    let pairs = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
    pairs.map(|(a, b)| i32::from(a as i8) * i32::from(b as i8)).sum()
}

impl<'a> Simt for Thread<'a> {
    type Global<T: Word> = View<'a, T>;

    fn thread(self) -> u32 {
        self.number
    }
    fn threads(self) -> u32 {
        self.block.threads
    }
    fn block(self) -> u32 {
        self.block.number
    }
    fn sync_block(self) {
        self.wait(Request::SyncBlock);
    }
    fn sync_warp(self) {
        self.wait(Request::SyncWarp);
    }
    fn shuffle(self, value: u32, lane: u32) -> u32 {
        self.wait(Request::Shuffle { value, lane })
    }
    fn mma_m16n8k32(self, a: [u32; 4], b: [u32; 2], c: [i32; 4]) -> [i32; 4] {
        let turn = self.block.matrix_products[self.warp() as usize].get() as usize % 2;
        self.block.factors.borrow_mut()[self.number as usize][turn] = Factors { a, b };
        self.wait(Request::Mma);
        let factors = self.block.factors.borrow();
        let warp = &factors[(self.warp() * WARP) as usize..];
        let (i, j) = (self.lane() as usize / 4, self.lane() as usize % 4);
        core::array::from_fn(|k| {
            let (upper, column) = (k / 2, 2 * j + k % 2);
            let products = (0..4).flat_map(|part| {
                let (a, b) = (warp[4 * i + part][turn].a, warp[4 * column + part][turn].b);
                [dot_product(a[upper], b[0]), dot_product(a[2 + upper], b[1])]
            });
            products.fold(c[k], i32::wrapping_add)
        })
    }
    fn cast<T: Word, U: Word>(self, memory: View<'a, T>) -> View<'a, U> {
        memory.buffer.view()
    }
    fn load<T: Word>(self, memory: View<'a, T>, index: u32) -> T {
        let address = u64::from(index) * u64::from(T::BYTES);
        self.access(&memory.buffer.memory, address, false, |memory, stamp| {
            memory.load(address, stamp)
        })
    }
    fn store<T: Word>(self, memory: View<'a, T>, index: u32, value: T) {
        let address = u64::from(index) * u64::from(T::BYTES);
        self.access(&memory.buffer.memory, address, true, |memory, stamp| {
            memory.store(address, value, stamp)
        });
    }
    fn load_shared<T: Word>(self, address: u32) -> T {
        let address = u64::from(address);
        self.access(&self.block.shared, address, false, |memory, stamp| memory.load(address, stamp))
    }
    fn store_shared<T: Word>(self, address: u32, value: T) {
        let address = u64::from(address);
        self.access(&self.block.shared, address, true, |memory, stamp| {
            memory.store(address, value, stamp)
        });
    }
    fn constant<T: Copy>(self, table: &'static [T], index: u32) -> T {
        let address = u64::from(index) * size_of::<T>() as u64;
        self.event(false, address);
        table.get(index as usize).copied().unwrap_or_else(|| {
            let Block { kernel, number, .. } = *self.block;
            let access = Access {
                block: number,
                thread: self.number,
                writes: false,
                location: Location::caller(),
            };
            self.stop(Fault::Bounds { kernel, access, address, bytes: size_of_val(table) as u64 })
        })
    }
}
