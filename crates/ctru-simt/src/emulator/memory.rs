//! Memory that records the history of accesses to each byte, to detect races.

use core::cell::RefCell;
use core::ops::Range;
use core::{fmt, iter};
use std::rc::Rc;
use std::vec::Vec;

use super::fault::Access;
use crate::simt::{U32x4, WARP, Word};

/// The time of an access. The counts of passed barriers determine the order of two accesses.
#[derive(Copy, Clone, Debug)]
pub(super) struct Stamp {
    /// Number of the launch, unique in the process.
    pub(super) launch: u32,
    /// Number of block barriers that the block has passed.
    pub(super) block_barriers: u32,
    /// Number of warp barriers that the thread's warp has passed.
    pub(super) warp_barriers: u32,
    pub(super) access: Access,
}

impl Stamp {
    /// Returns the number of the thread's warp in its block.
    fn warp(&self) -> u32 {
        self.access.thread / WARP
    }

    /// Returns whether no barrier and no launch orders this access before `later`.
    fn races_with(&self, later: &Self) -> bool {
        let (a, b) = (&self.access, &later.access);
        let same_thread = (a.block, a.thread) == (b.block, b.thread);
        let ordered_in_warp =
            self.warp() == later.warp() && self.warp_barriers < later.warp_barriers;
        let ordered =
            a.block == b.block && (self.block_barriers < later.block_barriers || ordered_in_warp);
        self.launch == later.launch && !same_thread && !ordered
    }
}

/// The last write to a byte, and as many reads since then as show whether a later write races with
/// any read.
#[derive(Copy, Clone, Default)]
struct History {
    write: Option<Stamp>,
    reads: [Option<Stamp>; 2],
}

impl History {
    /// Records the access. Returns an earlier access as the error if the two race.
    fn record(&mut self, stamp: Stamp) -> Result<(), Access> {
        let racing = |earlier: &Option<Stamp>| earlier.filter(|earlier| earlier.races_with(&stamp));
        if let Some(earlier) = racing(&self.write) {
            return Err(earlier.access);
        }
        if stamp.access.writes {
            if let Some(earlier) = self.reads.iter().find_map(racing) {
                return Err(earlier.access);
            }
            *self = Self { write: Some(stamp), reads: [None; 2] };
        } else {
            self.record_read(stamp);
        }
        Ok(())
    }

    /// Records a read. Blocks run one after another, so a read of an earlier block of this launch
    /// races with every later write. Within a block and between two of its barriers, two reads are
    /// enough: of two warps, or else of two threads of a warp between two barriers of the warp.
    fn record_read(&mut self, read: Stamp) {
        let [first, second] = &mut self.reads;
        let alone = match first {
            Some(first) if first.launch != read.launch => true,
            Some(first) if first.access.block != read.access.block => false,
            Some(first) if first.block_barriers < read.block_barriers => true,
            Some(first) => {
                let other_warp = |other: &Stamp| first.warp() != other.warp();
                if second.as_ref().is_some_and(other_warp) {
                    return;
                }
                if other_warp(&read) {
                    *second = Some(read);
                    return;
                }
                if first.access.thread != read.access.thread {
                    second.get_or_insert(read);
                }
                first.warp_barriers < read.warp_barriers
            }
            None => true,
        };
        if alone {
            self.reads = [Some(read), None];
        }
    }
}

/// The rule that an access violates.
pub(super) enum Problem {
    Bounds { bytes: u64 },
    Uninitialised { address: u64 },
    Race { first: Access, address: u64 },
}

/// Bytes and their histories.
pub(super) struct Memory {
    bytes: Vec<u8>,
    /// One history for each unit. It is the history of all bytes of the unit.
    histories: Vec<History>,
    /// The number of bytes of a unit, a power of two. No access so far was narrower.
    unit: usize,
    /// Whether a read of a byte that no thread has written is a fault.
    starts_undefined: bool,
}

impl Memory {
    fn new(bytes: Vec<u8>, starts_undefined: bool) -> Self {
        const WIDEST: usize = U32x4::BYTES as usize;
        let histories = std::vec![History::default(); bytes.len().div_ceil(WIDEST)];
        Self { bytes, histories, unit: WIDEST, starts_undefined }
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
        Ok(address as usize..address as usize + length as usize)
    }

    /// Returns the first byte and the history of each unit in `range`, whose beginning is a
    /// multiple of its length. If the range is shorter than a unit, first divides all units.
    fn units(&mut self, range: &Range<usize>) -> impl Iterator<Item = (usize, &mut History)> {
        if range.len() < self.unit {
            let parts = self.unit / range.len();
            let parts_of = |history: &History| iter::repeat_n(*history, parts);
            self.histories = self.histories.iter().flat_map(parts_of).collect();
            self.unit = range.len();
        }
        let histories = &mut self.histories[range.start / self.unit..range.end / self.unit];
        range.clone().step_by(self.unit).zip(histories)
    }

    pub(super) fn load<T: Word>(&mut self, address: u64, stamp: Stamp) -> Result<T, Problem> {
        let range = self.checked_range(address, T::BYTES)?;
        let starts_undefined = self.starts_undefined;
        for (first, history) in self.units(&range) {
            let address = first as u64;
            if starts_undefined && history.write.is_none() {
                return Err(Problem::Uninitialised { address });
            }
            history.record(stamp).map_err(|first| Problem::Race { first, address })?;
        }
        let mut bits = [0; size_of::<u128>()];
        bits[..range.len()].copy_from_slice(&self.bytes[range]);
        Ok(T::from_bits(u128::from_le_bytes(bits)))
    }

    pub(super) fn store<T: Word>(
        &mut self,
        address: u64,
        value: T,
        stamp: Stamp,
    ) -> Result<(), Problem> {
        let range = self.checked_range(address, T::BYTES)?;
        for (first, history) in self.units(&range) {
            let race = |earlier| Problem::Race { first: earlier, address: first as u64 };
            history.record(stamp).map_err(race)?;
        }
        let length = range.len();
        self.bytes[range].copy_from_slice(&value.to_bits().to_le_bytes()[..length]);
        Ok(())
    }
}

/// An array in the emulated global memory. Clones share the memory.
#[derive(Clone)]
pub struct Buffer {
    pub(super) memory: Rc<RefCell<Memory>>,
    element_bytes: u32,
}

impl Buffer {
    /// Creates an array with this content.
    #[must_use]
    pub fn new<T: Word>(content: &[T]) -> Self {
        let bytes: Vec<u8> = content
            .iter()
            .flat_map(|value| value.to_bits().to_le_bytes().into_iter().take(T::BYTES as usize))
            .collect();
        Self::from_bytes(T::BYTES, bytes)
    }

    /// Creates an array from the bytes of its elements. Each element has `element_bytes` bytes,
    /// little-endian.
    #[must_use]
    pub fn from_bytes(element_bytes: u32, bytes: Vec<u8>) -> Self {
        Self { memory: Rc::new(RefCell::new(Memory::new(bytes, false))), element_bytes }
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
        self.memory.borrow_mut().bytes.copy_from_slice(bytes);
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
