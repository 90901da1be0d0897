//! Memory that knows which of its bytes are defined, and which threads accessed them.

use super::fault::{Fault, Kind, Moment};

/// How an access touches memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Read,
    Write,
    /// It reads and perhaps writes as one operation.
    Atomic,
}

/// The last accesses to a byte.
#[derive(Copy, Clone, Debug, Default)]
struct Trace {
    write: Moment,
    /// The last atomic operation since the write.
    atomic: Moment,
    /// Two reads since the write, by different threads.
    reads: [Moment; 2],
}

const PAGE: usize = 64;

/// A piece of memory.
#[derive(Debug, Default)]
pub(super) struct Region {
    pub(super) bytes: Vec<u8>,
    pub(super) defined: Vec<bool>,
    /// Whether kernels may only read it.
    pub(super) is_constant: bool,
    traces: Vec<Option<Box<[Trace; PAGE]>>>,
}

/// Tells whether an earlier access comes before the present one: the threads have met in between.
pub(super) trait Order {
    fn is_before(&self, earlier: &Moment) -> bool;
}

impl Region {
    pub(super) fn undefined(bytes: usize) -> Self {
        Self::new(vec![0xa5; bytes], vec![false; bytes], false)
    }

    pub(super) fn defined(bytes: Vec<u8>, is_constant: bool) -> Self {
        let defined = vec![true; bytes.len()];
        Self::new(bytes, defined, is_constant)
    }

    pub(super) fn new(bytes: Vec<u8>, defined: Vec<bool>, is_constant: bool) -> Self {
        let pages = bytes.len().div_ceil(PAGE);
        Self { bytes, defined, is_constant, traces: (0..pages).map(|_| None).collect() }
    }

    /// Checks an access and remembers it. Returns the index of its first byte.
    pub(super) fn access(
        &mut self,
        offset: u64,
        bytes: usize,
        how: Use,
        now: Moment,
        order: &impl Order,
    ) -> Result<usize, Fault> {
        let outside = Kind::OutOfBounds { offset: offset as i64, bytes, length: self.bytes.len() };
        let start = usize::try_from(offset).map_err(|_| Fault::at(now, outside.clone()))?;
        let end = start.checked_add(bytes).filter(|&end| end <= self.bytes.len());
        let end = end.ok_or_else(|| Fault::at(now, outside))?;
        if how != Use::Read && self.is_constant {
            return Err(Fault::at(now, Kind::Constant));
        }
        if !start.is_multiple_of(bytes) {
            return Err(Fault::at(now, Kind::Misaligned { offset, bytes }));
        }
        if how != Use::Write && !self.defined[start..end].iter().all(|&defined| defined) {
            return Err(Fault::at(now, Kind::Undefined { offset }));
        }
        if !self.is_constant {
            for byte in start..end {
                self.trace(byte, how, now, order)?;
            }
        }
        if how != Use::Read {
            self.defined[start..end].fill(true);
        }
        Ok(start)
    }

    fn trace(
        &mut self,
        byte: usize,
        how: Use,
        now: Moment,
        order: &impl Order,
    ) -> Result<(), Fault> {
        let page =
            self.traces[byte / PAGE].get_or_insert_with(|| Box::new([Trace::default(); PAGE]));
        let trace = &mut page[byte % PAGE];
        let meets = |earlier: &Moment| {
            earlier.clock != 0
                && (earlier.block, earlier.thread) != (now.block, now.thread)
                && !order.is_before(earlier)
        };
        let race = |earlier: Moment, is_write| {
            Err(Fault::at(now, Kind::Race { earlier, is_write, byte: byte as u64 }))
        };
        if meets(&trace.write) {
            return race(trace.write, true);
        }
        if how != Use::Atomic && meets(&trace.atomic) {
            return race(trace.atomic, true);
        }
        if how != Use::Read
            && let Some(&read) = trace.reads.iter().find(|read| meets(read))
        {
            return race(read, false);
        }
        match how {
            Use::Read => {
                // A read that comes before this one, or by the same thread, need not be remembered.
                let free = trace.reads.iter().position(|earlier| !meets(earlier));
                trace.reads[free.unwrap_or(1)] = now;
            }
            Use::Write => *trace = Trace { write: now, ..Trace::default() },
            Use::Atomic => trace.atomic = now,
        }
        Ok(())
    }

    pub(super) fn read(&self, start: usize, bytes: usize) -> u64 {
        let mut value = [0; 8];
        value[..bytes].copy_from_slice(&self.bytes[start..start + bytes]);
        u64::from_le_bytes(value)
    }

    pub(super) fn write(&mut self, start: usize, bytes: usize, value: u64) {
        self.bytes[start..start + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
    }
}
