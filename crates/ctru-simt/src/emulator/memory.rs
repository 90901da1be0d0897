//! Memory that records the history of accesses to each byte, to detect races.

use core::cell::RefCell;
use core::ops::Range;
use core::panic::Location;
use core::{fmt, hint, iter};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::vec::Vec;

use super::fault::{Access, Kind, Space};
use crate::descriptor::Parameter;
use crate::simt::{U32x4, WARP, Word};

/// An access and its time. The counts of passed barriers determine the order of two accesses. The
/// emulator keeps three of them for each unit of memory, so they are as small as they can be.
#[derive(Copy, Clone, Debug)]
pub(super) struct Stamp {
    /// Number of the launch, unique in the process.
    pub(super) launch: u32,
    pub(super) block: u32,
    pub(super) thread: u32,
    /// Number of block barriers that the block has passed.
    pub(super) block_barriers: u32,
    /// Number of warp barriers that the thread's warp has passed.
    pub(super) warp_barriers: u32,
    pub(super) kind: Kind,
    pub(super) space: Space,
    pub(super) location: &'static Location<'static>,
}

impl Stamp {
    pub(super) fn access(&self) -> Access {
        let Self { block, thread, kind, space, location, .. } = *self;
        Access { block, thread, kind, space, location }
    }

    /// Returns the number of the thread's warp in its block.
    fn warp(&self) -> u32 {
        self.thread / WARP
    }

    /// Returns whether no barrier and no launch orders this access before `later`.
    fn races_with(&self, later: &Self) -> bool {
        let same_thread = (self.block, self.thread) == (later.block, later.thread);
        let ordered_in_warp =
            self.warp() == later.warp() && self.warp_barriers < later.warp_barriers;
        let ordered = self.block == later.block
            && (self.block_barriers < later.block_barriers || ordered_in_warp);
        self.launch == later.launch && !same_thread && !ordered
    }
}

/// Up to two accesses of one kind. They are enough to decide whether a later access of another kind
/// races with any access of this kind.
#[derive(Copy, Clone, Default)]
struct Witnesses([Option<Stamp>; 2]);

impl Witnesses {
    /// Returns an access that races with a later one, if there is any.
    fn racing_with(&self, later: &Stamp) -> Option<&Stamp> {
        self.0.iter().flatten().find(|earlier| earlier.races_with(later))
    }

    /// Adds an access, here called a read. Blocks run one after another, so a read of an earlier
    /// block of this launch races with every later write. Within a block and between two of its
    /// barriers, two reads are enough: of two warps, or else of two threads of a warp between two
    /// barriers of the warp.
    fn add(&mut self, read: &Stamp) {
        let [first, second] = &mut self.0;
        let alone = match first {
            Some(first) if first.launch != read.launch => true,
            Some(first) if first.block != read.block => false,
            Some(first) if first.block_barriers < read.block_barriers => true,
            Some(first) => {
                let other_warp = |other: &Stamp| first.warp() != other.warp();
                if second.as_ref().is_some_and(other_warp) {
                    return;
                }
                if other_warp(read) {
                    *second = Some(*read);
                    return;
                }
                if first.thread != read.thread {
                    second.get_or_insert(*read);
                }
                first.warp_barriers < read.warp_barriers
            }
            None => true,
        };
        if alone {
            self.0 = [Some(*read), None];
        }
    }
}

/// The last write to a byte, and the reads since then.
#[derive(Copy, Clone, Default)]
struct History {
    write: Option<Stamp>,
    reads: Witnesses,
}

impl History {
    /// Returns an earlier write, or a read if `later` is not a read, that races with `later`.
    fn racing_with(&self, later: &Stamp) -> Option<&Stamp> {
        match &self.write {
            Some(write) if write.races_with(later) => Some(write),
            _ if later.kind == Kind::Read => None,
            _ => self.reads.racing_with(later),
        }
    }
}

/// The rule that an access violates.
pub(super) enum Problem {
    Bounds { bytes: u64 },
    Uninitialised { address: u64 },
    Race { first: Access, address: u64 },
    Unfinished { copy: Access, address: u64 },
}

/// Bytes and their histories. The bytes are overwritten when they are dropped, because they may be
/// secret.
pub(super) struct Memory {
    bytes: Vec<u8>,
    /// One history for each unit. It is the history of all bytes of the unit.
    histories: Vec<History>,
    /// The binary logarithm of the number of bytes of a unit. No access so far was narrower.
    unit_log: u32,
    /// The atomic accesses since the last write to a unit, by its first byte. Few units have any.
    atomics: BTreeMap<usize, Witnesses>,
    /// Whether a read of a byte that no store has written is a fault.
    starts_undefined: bool,
    /// The bytes that asynchronous copies may still write.
    unfinished: Vec<(Range<usize>, Access)>,
}

impl Memory {
    fn new(bytes: Vec<u8>, starts_undefined: bool) -> Self {
        const WIDEST: usize = U32x4::BYTES as usize;
        let histories = std::vec![History::default(); bytes.len().div_ceil(WIDEST)];
        Self {
            bytes,
            histories,
            unit_log: WIDEST.ilog2(),
            atomics: BTreeMap::new(),
            starts_undefined,
            unfinished: Vec::new(),
        }
    }

    pub(super) fn shared(bytes: u32) -> Self {
        // The initial content is arbitrary, because a GPU's shared memory holds what an earlier
        // block left there.
        Self::new(std::vec![0xa5; bytes as usize], true)
    }

    fn checked_range(&self, address: u64, length: u32) -> Result<Range<usize>, Problem> {
        let bytes = self.bytes.len() as u64;
        if !address.is_multiple_of(u64::from(length)) || address + u64::from(length) > bytes {
            return Err(Problem::Bounds { bytes });
        }
        let range = address as usize..address as usize + length as usize;
        let overlaps = |(other, _): &&(Range<usize>, Access)| {
            other.start < range.end && range.start < other.end
        };
        match self.unfinished.iter().find(overlaps) {
            Some(&(_, copy)) => Err(Problem::Unfinished { copy, address }),
            None => Ok(range),
        }
    }

    /// Divides all units if they have more than `2^length_log` bytes.
    fn divide(&mut self, length_log: u32) {
        if length_log < self.unit_log {
            let parts = 1 << (self.unit_log - length_log);
            let parts_of = |history: &History| iter::repeat_n(*history, parts);
            self.histories = self.histories.iter().flat_map(parts_of).collect();
            let parts_of = |(first, atomics): (&usize, &Witnesses)| {
                let (first, atomics) = (*first, *atomics);
                (0..parts).map(move |part| (first + (part << length_log), atomics))
            };
            self.atomics = self.atomics.iter().flat_map(parts_of).collect();
            self.unit_log = length_log;
        }
    }

    /// Records an access to `range`, whose start is a multiple of its length. A read needs content.
    /// Two reads do not race, and neither do two atomic accesses.
    fn record(&mut self, range: &Range<usize>, stamp: &Stamp) -> Result<(), Problem> {
        self.divide(range.len().ilog2());
        let kind = stamp.kind;
        let needs_content = self.starts_undefined && kind != Kind::Write;
        let units = range.start >> self.unit_log..range.end >> self.unit_log;
        for (unit, history) in units.clone().zip(&mut self.histories[units]) {
            let first = unit << self.unit_log;
            let address = first as u64;
            if needs_content && history.write.is_none() {
                return Err(Problem::Uninitialised { address });
            }
            let mut racing = history.racing_with(stamp);
            if kind != Kind::Atomic && !self.atomics.is_empty() {
                let atomics = self.atomics.get(&first);
                racing = racing.or_else(|| atomics.and_then(|atomics| atomics.racing_with(stamp)));
            }
            if let Some(earlier) = racing {
                return Err(Problem::Race { first: earlier.access(), address });
            }
            match kind {
                Kind::Read => history.reads.add(stamp),
                Kind::Atomic => self.atomics.entry(first).or_default().add(stamp),
                Kind::Write => {
                    history.write = Some(*stamp);
                    // A new `Witnesses` would be copied as a whole.
                    history.reads.0 = [None, None];
                    if !self.atomics.is_empty() {
                        self.atomics.remove(&first);
                    }
                }
            }
        }
        Ok(())
    }

    fn get<T: Word>(&self, range: &Range<usize>) -> T {
        let mut bits = [0; size_of::<u128>()];
        // This is the length of the range as a constant, so the compiler needs no loop.
        let length = T::BYTES as usize;
        bits[..length].copy_from_slice(&self.bytes[range.start..][..length]);
        T::from_bits(u128::from_le_bytes(bits))
    }

    fn set(&mut self, range: Range<usize>, bits: u128) {
        let length = range.len();
        self.bytes[range].copy_from_slice(&bits.to_le_bytes()[..length]);
    }

    pub(super) fn load<T: Word>(&mut self, address: u64, stamp: &Stamp) -> Result<T, Problem> {
        let range = self.checked_range(address, T::BYTES)?;
        self.record(&range, stamp)?;
        Ok(self.get(&range))
    }

    pub(super) fn store<T: Word>(
        &mut self,
        address: u64,
        value: T,
        stamp: &Stamp,
    ) -> Result<(), Problem> {
        let range = self.checked_range(address, T::BYTES)?;
        self.record(&range, stamp)?;
        self.set(range, value.to_bits());
        Ok(())
    }

    /// Replaces the element `old` at `address` by `new(old)`. Returns `old`.
    pub(super) fn update<T: Word>(
        &mut self,
        address: u64,
        new: impl FnOnce(T) -> T,
        stamp: &Stamp,
    ) -> Result<T, Problem> {
        let range = self.checked_range(address, T::BYTES)?;
        self.record(&range, stamp)?;
        let old = self.get(&range);
        self.set(range, new(old).to_bits());
        Ok(old)
    }

    /// Records the beginning of an asynchronous copy of `length` bytes to `address`. Until the copy
    /// is [finished](Self::finish_copy), nothing else may access these bytes.
    pub(super) fn begin_copy(
        &mut self,
        address: u64,
        length: u32,
        stamp: &Stamp,
    ) -> Result<(), Problem> {
        let range = self.checked_range(address, length)?;
        self.record(&range, stamp)?;
        self.unfinished.push((range, stamp.access()));
        Ok(())
    }

    /// Writes the `length` bytes `bits` that an asynchronous copy to `address` has copied.
    pub(super) fn finish_copy(
        &mut self,
        address: u64,
        length: u32,
        bits: u128,
        stamp: &Stamp,
    ) -> Result<(), Problem> {
        self.unfinished.retain(|(range, _)| range.start as u64 != address);
        let range = self.checked_range(address, length)?;
        self.record(&range, stamp)?;
        self.set(range, bits);
        Ok(())
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.bytes.fill(0);
        // Without this use of the bytes, the compiler could remove the writes.
        hint::black_box(&self.bytes);
    }
}

/// An array in the emulated global memory. Clones share the memory, which is overwritten when the
/// last of them is dropped.
#[derive(Clone)]
pub struct Buffer {
    pub(super) memory: Rc<RefCell<Memory>>,
    element_bytes: u32,
    /// The number of bytes that the kernel of a launch may access.
    pub(super) limit: u64,
    /// The declaration of the array in the descriptor of the launched kernel.
    pub(super) declared: Option<&'static Parameter>,
}

impl Buffer {
    /// Creates an array with this content.
    #[must_use]
    pub fn new<T: Word>(content: &[T]) -> Self {
        // Growing step by step would leave copies in freed memory.
        let mut bytes = Vec::with_capacity(size_of_val(content));
        for value in content {
            bytes.extend_from_slice(&value.to_bits().to_le_bytes()[..T::BYTES as usize]);
        }
        Self::from_bytes(T::BYTES, bytes)
    }

    /// Creates an array from the bytes of its elements. Each element has `element_bytes` bytes,
    /// little-endian.
    #[must_use]
    pub fn from_bytes(element_bytes: u32, bytes: Vec<u8>) -> Self {
        Self::from_memory(element_bytes, Memory::new(bytes, false))
    }

    /// Creates an array of `elements` elements of `element_bytes` bytes each, whose content is
    /// undefined, like that of new memory of a GPU. A kernel that reads an element before a kernel
    /// has written it violates the [rules](crate::simt::Simt#rules).
    ///
    /// # Panics
    /// If the array has more than `isize::MAX` bytes.
    #[must_use]
    pub fn uninitialised(element_bytes: u32, elements: usize) -> Self {
        let bytes = (element_bytes as usize)
            .checked_mul(elements)
            .filter(|&bytes| bytes <= isize::MAX as usize)
            .expect("an array has at most isize::MAX bytes");
        Self::from_memory(element_bytes, Memory::new(std::vec![0xa5; bytes], true))
    }

    fn from_memory(element_bytes: u32, memory: Memory) -> Self {
        let limit = memory.bytes.len() as u64;
        Self { memory: Rc::new(RefCell::new(memory)), element_bytes, limit, declared: None }
    }

    /// Returns the same memory as the array `parameter` of a kernel that may access only this many
    /// elements of it.
    pub(super) fn limited(&self, elements: u64, parameter: &'static Parameter) -> Self {
        let bytes = elements.saturating_mul(u64::from(self.element_bytes));
        Self { limit: self.limit.min(bytes), declared: Some(parameter), ..self.clone() }
    }

    /// Returns the content as bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.memory.borrow().bytes.clone()
    }

    /// Replaces the content.
    ///
    /// # Panics
    /// If the number of bytes differs from that of the array.
    pub fn set_bytes(&self, bytes: &[u8]) {
        let mut memory = self.memory.borrow_mut();
        memory.bytes.copy_from_slice(bytes);
        memory.starts_undefined = false;
    }

    /// Returns the number of bytes per element.
    #[must_use]
    pub fn element_bytes(&self) -> u32 {
        self.element_bytes
    }

    /// Returns the content as elements.
    ///
    /// # Panics
    /// If the size of `T` differs from that of the array's elements.
    #[must_use]
    pub fn content<T: Word>(&self) -> Vec<T> {
        assert_eq!(T::BYTES, self.element_bytes, "the array holds elements of another size");
        let element =
            |bytes: &[u8]| bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u128::from(byte));
        self.memory
            .borrow()
            .bytes
            .chunks_exact(T::BYTES as usize)
            .map(|bytes| T::from_bits(element(bytes)))
            .collect()
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.memory.borrow().bytes.len())
    }
}
