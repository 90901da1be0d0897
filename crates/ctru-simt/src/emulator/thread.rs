//! The emulator's thread, which implements [`Simt`] on a coroutine.

use core::array;
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
    /// A matrix product. The thread has stored its part of the factors in [`Block::fragments`],
    /// where it finds its part of the product.
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

/// A thread's parts of the matrices of a product.
#[derive(Copy, Clone, Default)]
pub(super) struct Fragments {
    a: [u32; 4],
    b: [u32; 2],
    product: [i32; 4],
}

impl Fragments {
    /// Multiplies the matrices of a warp.
    ///
    /// Source: [`Simt::mma_m16n8k32`] has the places of the elements.
    pub(super) fn multiply(warp: &mut [Self]) {
        // The compiler uses vectors for numbers of 16 bits and sums without checks of overflow.
        let mut rows = [[0i16; 32]; 16];
        let mut columns = [[0i16; 32]; 8];
        let write = |to: &mut [i16], word: u32| {
            for (to, byte) in to.iter_mut().zip(word.to_le_bytes()) {
                *to = i16::from(byte as i8);
            }
        };
        for (lane, Self { a, b, .. }) in warp.iter().enumerate() {
            let (i, j) = (lane / 4, lane % 4);
            for (k, &word) in a.iter().enumerate() {
                write(&mut rows[i + 8 * (k % 2)][16 * (k / 2) + 4 * j..][..4], word);
            }
            for (k, &word) in b.iter().enumerate() {
                write(&mut columns[i][16 * k + 4 * j..][..4], word);
            }
        }
        for (lane, Self { product, .. }) in warp.iter_mut().enumerate() {
            let (i, j) = (lane / 4, lane % 4);
            *product = array::from_fn(|k| {
                let elements = rows[i + 8 * (k / 2)].iter().zip(&columns[2 * j + k % 2]);
                elements.fold(0, |sum: i32, (&a, &b)| {
                    sum.wrapping_add(i32::from(a).wrapping_mul(i32::from(b)))
                })
            });
        }
    }
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
    /// One entry for each thread.
    pub(super) fragments: RefCell<Vec<Fragments>>,
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
            warp_barriers: warps.map(|_| Cell::new(0)).collect(),
            fragments: RefCell::new(std::vec![Fragments::default(); shape.threads as usize]),
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
        let own = self.number as usize;
        self.block.fragments.borrow_mut()[own] = Fragments { a, b, product: [0; 4] };
        self.wait(Request::Mma);
        let product = self.block.fragments.borrow()[own].product;
        array::from_fn(|k| c[k].wrapping_add(product[k]))
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
