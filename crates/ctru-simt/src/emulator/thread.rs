//! The emulator's thread, which implements [`Simt`] on a coroutine.

use core::cell::{Cell, RefCell};
use core::fmt;
use core::marker::PhantomData;
use core::mem;
use core::panic::Location;
use std::boxed::Box;
use std::collections::VecDeque;
use std::vec::Vec;

use corosensei::Yielder;

use super::fault::{Access, Fault, Kind, Space};
use super::launch::Launch;
use super::memory::{Buffer, Memory, Problem, Stamp};
use super::product::{Factors, Fragments};
use crate::descriptor::Kernel;
use crate::scalar::Value;
use crate::simt::{AtomicFloat, AtomicInteger, Copyable, Number, Simt, Update, WARP, Word};

/// A reason to suspend a thread.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Request {
    SyncBlock,
    SyncWarp,
    /// The value of another thread of the warp. For this request and the next two, the thread has
    /// stored what it passes in [`Block::operands`].
    Shuffle,
    /// The threads of the warp whose vote, the value, is not 0.
    Ballot,
    /// The threads of the warp that pass the same value.
    Match,
    /// A matrix product. The thread has stored its part of the matrices in [`Block::fragments`],
    /// where it finds its part of the sum.
    Multiply(Factors),
    /// The thread violated a rule and never continues.
    Stop,
}

/// A request and the source line that made it.
#[derive(Copy, Clone)]
pub(super) struct Wait {
    pub(super) request: Request,
    pub(super) location: &'static Location<'static>,
}

/// The values that a thread passes to the other threads of its warp.
#[derive(Copy, Clone, Default)]
pub(super) struct Operands {
    pub(super) value: u32,
    /// The lane whose value a shuffle returns.
    pub(super) lane: u32,
}

/// An asynchronous copy to shared memory that is not finished.
#[derive(Copy, Clone, Debug)]
pub(super) struct Copied {
    address: u64,
    length: u32,
    bits: u128,
    location: &'static Location<'static>,
}

/// The asynchronous copies of a thread: those of each group that is not finished, and then those
/// that belong to no group yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Copies {
    groups: VecDeque<Vec<Copied>>,
    open: Vec<Copied>,
}

/// The state that the threads of a block share.
pub(super) struct Block {
    pub(super) kernel: &'static str,
    /// The number of the block, counted along the first dimension of the grid first.
    pub(super) number: u32,
    /// The numbers of the block in the dimensions of the grid.
    place: [u32; 3],
    grid: [u32; 3],
    scalars: Vec<Value>,
    pub(super) launch: Launch,
    /// The number of operations of its threads so far.
    pub(super) operations: Cell<u64>,
    threads: u32,
    pub(super) shared: RefCell<Memory>,
    pub(super) block_barriers: Cell<u32>,
    pub(super) warp_barriers: Vec<Cell<u32>>,
    /// One entry for each thread.
    pub(super) operands: Vec<Cell<Operands>>,
    /// One entry for each thread.
    pub(super) fragments: RefCell<Vec<Fragments>>,
    /// One entry for each thread.
    copies: RefCell<Vec<Copies>>,
    /// The fault is in a `Box`, since the unused bytes of a large enum keep what the stack held
    /// before, which may be secrets.
    pub(super) fault: RefCell<Option<Box<Fault>>>,
    /// The accesses of each thread, or none if the launch is not traced.
    pub(super) events: RefCell<Vec<Vec<Event>>>,
}

impl Block {
    /// Creates block `number` of a launch in a grid of `grid` blocks.
    pub(super) fn new(kernel: &Kernel, number: u32, grid: [u32; 3], launch: Launch) -> Self {
        let (name, shape) = (kernel.name(), kernel.shape());
        let warps = 0..shape.threads.div_ceil(WARP);
        let traced = if launch.trace { shape.threads as usize } else { 0 };
        let events = std::vec![Vec::new(); traced];
        Self {
            kernel: name,
            number,
            place: [number % grid[0], number / grid[0] % grid[1], number / grid[0] / grid[1]],
            grid,
            scalars: kernel.values().to_vec(),
            launch,
            operations: Cell::new(0),
            threads: shape.threads,
            shared: RefCell::new(Memory::shared(shape.shared_bytes)),
            block_barriers: Cell::new(0),
            warp_barriers: warps.map(|_| Cell::new(0)).collect(),
            operands: std::vec![Cell::default(); shape.threads as usize],
            fragments: RefCell::new(std::vec![Fragments::default(); shape.threads as usize]),
            copies: RefCell::new(std::vec![Copies::default(); shape.threads as usize]),
            fault: RefCell::new(None),
            events: RefCell::new(events),
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
    /// Offset in bytes of the element with index 0.
    first: u64,
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
        View { buffer: self, first: 0, element: PhantomData }
    }
}

impl<'a, T: Word> View<'a, T> {
    /// Returns the offset in bytes of an element.
    fn address(&self, index: u32) -> u64 {
        self.first + u64::from(index) * u64::from(T::BYTES)
    }
}

impl<'a> Thread<'a> {
    /// Returns the block's shared memory.
    fn shared(self) -> (&'a RefCell<Memory>, Space) {
        (&self.block.shared, Space::Shared)
    }

    /// Returns the address of an element in global memory, and the memory. If the descriptor does
    /// not permit the access, the launch ends.
    #[track_caller]
    fn element<T: Word>(
        self,
        view: View<'a, T>,
        index: u32,
        kind: Kind,
    ) -> (u64, (&'a RefCell<Memory>, Space)) {
        let (address, Buffer { memory, limit, declared, .. }) = (view.address(index), view.buffer);
        if let Some(array) = declared.filter(|array| array.alignment() < T::BYTES) {
            let access = self.described(kind, Space::Global);
            self.stop(Fault::Width {
                kernel: self.block.kernel,
                access,
                parameter: array.name(),
                declared: array.alignment(),
                bytes: T::BYTES,
            });
        }
        if address + u64::from(T::BYTES) > *limit {
            let access = self.described(kind, Space::Global);
            let (kernel, bytes) = (self.block.kernel, *limit);
            self.stop(Fault::Bounds { kernel, access, address, bytes });
        }
        (address, (memory, Space::Global))
    }

    /// Returns the value of a scalar of the kernel.
    ///
    /// # Panics
    /// If the kernel takes no scalar of this type with this number.
    #[must_use]
    pub fn scalar<T: Number>(self, number: usize) -> T {
        self.block.scalars[number].get().expect("the descriptor states the type of the scalar")
    }

    /// Suspends the thread until all participating threads have made the same request. Returns the
    /// result of the request.
    #[track_caller]
    fn wait(self, request: Request) -> u32 {
        self.count();
        self.yielder.suspend(Wait { request, location: Location::caller() })
    }

    /// Passes a value to the other threads of the warp. Returns the result of the request.
    #[inline(always)]
    #[track_caller]
    fn exchange(self, request: Request, value: u32, lane: u32) -> u32 {
        self.block.operands[self.number as usize].set(Operands { value, lane });
        self.wait(request)
    }

    /// Counts an operation of the machine. From time to time checks the time limit of the launch.
    #[inline(always)]
    #[track_caller]
    fn count(self) {
        const BETWEEN_LOOKS: u64 = 1 << 12;
        let before = self.block.operations.get();
        self.block.operations.set(before + 1);
        if before.is_multiple_of(BETWEEN_LOOKS) && self.block.launch.is_late() {
            self.stop(Fault::TimeLimit {
                kernel: self.block.kernel,
                block: self.block.number,
                thread: self.number,
                location: Location::caller(),
                limit: self.block.launch.limit,
            });
        }
    }

    /// Counts an access. Appends it to the trace if the launch is traced.
    #[inline(always)]
    #[track_caller]
    fn event(self, writes: bool, address: u64) {
        self.count();
        if self.block.launch.trace {
            let event = Event { writes, address, location: Location::caller() };
            self.block.events.borrow_mut()[self.number as usize].push(event);
        }
    }

    /// Runs `operation` on a memory. Passes it a stamp that tells between which barriers the access
    /// happens. If the access violates a rule, the launch ends.
    #[track_caller]
    fn access<V>(
        self,
        (memory, space): (&RefCell<Memory>, Space),
        address: u64,
        kind: Kind,
        operation: impl FnOnce(&mut Memory, &Stamp) -> Result<V, Problem>,
    ) -> V {
        self.event(kind != Kind::Read, address);
        let access = self.described(kind, space);
        self.checked(address, access, |stamp| operation(&mut memory.borrow_mut(), stamp))
    }

    /// Returns the description of an access of this thread.
    #[track_caller]
    fn described(self, kind: Kind, space: Space) -> Access {
        let (block, location) = (self.block.number, Location::caller());
        Access { block, thread: self.number, kind, space, location }
    }

    /// Runs `operation` with the stamp of `access`. If it violates a rule, the launch ends.
    fn checked<V>(
        self,
        address: u64,
        access: Access,
        operation: impl FnOnce(&Stamp) -> Result<V, Problem>,
    ) -> V {
        let Access { block, thread, kind, space, location } = access;
        let stamp = Stamp {
            launch: self.block.launch.number,
            block,
            thread,
            block_barriers: self.block.block_barriers.get(),
            warp_barriers: self.block.warp_barriers[self.warp() as usize].get(),
            kind,
            space,
            location,
        };
        match operation(&stamp) {
            Ok(value) => value,
            Err(problem) => self.refuse(address, access, problem),
        }
    }

    /// Ends the launch because an access violates a rule.
    #[cold]
    fn refuse(self, address: u64, access: Access, problem: Problem) -> ! {
        let kernel = self.block.kernel;
        self.stop(match problem {
            Problem::Bounds { bytes } => Fault::Bounds { kernel, access, address, bytes },
            Problem::Uninitialised { address } => Fault::Uninitialised { kernel, access, address },
            Problem::Race { first, address } => {
                Fault::Race { kernel, first, second: access, address }
            }
            Problem::Unfinished { copy, address } => {
                Fault::Unfinished { kernel, copy, access, address }
            }
        })
    }

    /// Multiplies matrices together with the other threads of the warp. `sum` is the thread's part
    /// of the matrix to which the product is added. Returns the thread's part of the sum.
    #[inline(always)]
    #[track_caller]
    fn multiply(self, factors: Factors, a: [u32; 4], b: [u32; 2], sum: [u32; 4]) -> [u32; 4] {
        let own = self.number as usize;
        self.block.fragments.borrow_mut()[own] = Fragments { a, b, sum };
        self.wait(Request::Multiply(factors));
        self.block.fragments.borrow()[own].sum
    }

    /// Reports a fault, which ends the launch. The thread is never resumed.
    #[track_caller]
    fn stop(self, fault: Fault) -> ! {
        *self.block.fault.borrow_mut() = Some(Box::new(fault));
        loop {
            self.yielder.suspend(Wait { request: Request::Stop, location: Location::caller() });
        }
    }
}

impl<'a> Simt for Thread<'a> {
    type Global<T: Word> = View<'a, T>;

    #[inline]
    fn thread(self) -> u32 {
        self.number
    }
    #[inline]
    fn threads(self) -> u32 {
        self.block.threads
    }
    #[inline]
    fn block(self) -> u32 {
        self.block.place[0]
    }
    fn block_in_grid(self) -> [u32; 3] {
        self.block.place
    }
    fn grid(self) -> [u32; 3] {
        self.block.grid
    }
    fn sync_block(self) {
        self.wait(Request::SyncBlock);
    }
    fn sync_warp(self) {
        self.wait(Request::SyncWarp);
    }
    #[inline]
    fn shuffle(self, value: u32, lane: u32) -> u32 {
        self.exchange(Request::Shuffle, value, lane)
    }
    fn ballot(self, vote: bool) -> u32 {
        self.exchange(Request::Ballot, u32::from(vote), 0)
    }
    fn lanes_with(self, value: u32) -> u32 {
        self.exchange(Request::Match, value, 0)
    }
    fn mma_m16n8k32(self, a: [u32; 4], b: [u32; 2], c: [i32; 4]) -> [i32; 4] {
        self.multiply(Factors::S8, a, b, c.map(|c| c as u32)).map(|sum| sum as i32)
    }
    fn mma_m16n8k32_u8(self, a: [u32; 4], b: [u32; 2], c: [i32; 4]) -> [i32; 4] {
        self.multiply(Factors::U8, a, b, c.map(|c| c as u32)).map(|sum| sum as i32)
    }
    fn mma_m16n8k16_bf16(self, a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4] {
        self.multiply(Factors::Bf16, a, b, c.map(f32::to_bits)).map(f32::from_bits)
    }
    fn cast<T: Word, U: Word>(self, memory: View<'a, T>) -> View<'a, U> {
        View { buffer: memory.buffer, first: memory.first, element: PhantomData }
    }
    fn tail<T: Word>(self, memory: View<'a, T>, first: u32) -> View<'a, T> {
        View { first: memory.address(first), ..memory }
    }
    fn load<T: Word>(self, memory: View<'a, T>, index: u32) -> T {
        let (at, memory) = self.element(memory, index, Kind::Read);
        self.access(memory, at, Kind::Read, |memory, stamp| memory.load(at, stamp))
    }
    fn store<T: Word>(self, memory: View<'a, T>, index: u32, value: T) {
        let (at, memory) = self.element(memory, index, Kind::Write);
        self.access(memory, at, Kind::Write, |memory, stamp| memory.store(at, value, stamp));
    }
    fn load_shared<T: Word>(self, address: u32) -> T {
        let at = u64::from(address);
        self.access(self.shared(), at, Kind::Read, |memory, stamp| memory.load(at, stamp))
    }
    fn store_shared<T: Word>(self, address: u32, value: T) {
        let at = u64::from(address);
        self.access(self.shared(), at, Kind::Write, |memory, stamp| memory.store(at, value, stamp));
    }
    fn atomic<T: AtomicInteger>(self, memory: View<'a, T>, index: u32, update: Update<T>) -> T {
        let (at, memory) = self.element(memory, index, Kind::Atomic);
        let new = |old| update.applied(old);
        self.access(memory, at, Kind::Atomic, |memory, stamp| memory.update(at, new, stamp))
    }
    fn atomic_load<T: AtomicInteger>(self, memory: View<'a, T>, index: u32) -> T {
        let (at, memory) = self.element(memory, index, Kind::Atomic);
        self.access(memory, at, Kind::Atomic, |memory, stamp| memory.update(at, |old| old, stamp))
    }
    fn atomic_shared<T: AtomicInteger>(self, address: u32, update: Update<T>) -> T {
        let at = u64::from(address);
        let new = |old| update.applied(old);
        self.access(self.shared(), at, Kind::Atomic, |memory, stamp| memory.update(at, new, stamp))
    }
    fn atomic_add_float<T: AtomicFloat>(self, memory: View<'a, T>, index: u32, value: T) -> T {
        let (at, memory) = self.element(memory, index, Kind::Atomic);
        let new = |old: T| old + value;
        self.access(memory, at, Kind::Atomic, |memory, stamp| memory.update(at, new, stamp))
    }
    fn atomic_add_float_shared<T: AtomicFloat>(self, address: u32, value: T) -> T {
        let at = u64::from(address);
        let new = |old: T| old + value;
        self.access(self.shared(), at, Kind::Atomic, |memory, stamp| memory.update(at, new, stamp))
    }
    fn copy_to_shared<T: Copyable>(self, memory: View<'a, T>, index: u32, address: u32) {
        let value = self.load(memory, index);
        let at = u64::from(address);
        self.access(self.shared(), at, Kind::Write, |memory, stamp| {
            memory.begin_copy(at, T::BYTES, stamp)
        });
        self.block.copies.borrow_mut()[self.number as usize].open.push(Copied {
            address: at,
            length: T::BYTES,
            bits: value.to_bits(),
            location: Location::caller(),
        });
    }
    fn commit_copies(self) {
        let copies = &mut self.block.copies.borrow_mut()[self.number as usize];
        let group = mem::take(&mut copies.open);
        copies.groups.push_back(group);
    }
    fn wait_for_copies<const PENDING: u32>(self) {
        loop {
            let finished = {
                let groups = &mut self.block.copies.borrow_mut()[self.number as usize].groups;
                if groups.len() <= PENDING as usize {
                    return;
                }
                groups.pop_front().unwrap_or_default()
            };
            for Copied { address, length, bits, location } in finished {
                let access = Access { location, ..self.described(Kind::Write, Space::Shared) };
                let (memory, _) = self.shared();
                self.checked(address, access, |stamp| {
                    memory.borrow_mut().finish_copy(address, length, bits, stamp)
                });
            }
        }
    }
    fn constant<T: Copy>(self, table: &'static [T], index: u32) -> T {
        let address = u64::from(index) * size_of::<T>() as u64;
        self.event(false, address);
        // A closure would not know the caller's line.
        match table.get(index as usize) {
            Some(&entry) => entry,
            None => {
                let access = self.described(Kind::Read, Space::Constant);
                let (kernel, bytes) = (self.block.kernel, size_of_val(table) as u64);
                self.stop(Fault::Bounds { kernel, access, address, bytes })
            }
        }
    }
}
