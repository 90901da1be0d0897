//! Memory that knows which of its bytes are defined, and which threads accessed them.

use std::ops::Range;

use super::fault::{Fault, Moment, Rule};

/// How an access touches memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Read,
    Write,
    /// It reads and perhaps writes as one operation.
    Atomic,
    /// It writes as one operation.
    Set,
}

/// The last accesses to a byte, or to several bytes.
#[derive(Copy, Clone, Debug, Default)]
struct Trace {
    write: Moment,
    /// Two atomic operations since the write, by different threads.
    atomics: [Moment; 2],
    /// Two reads since the write, by different threads.
    reads: [Moment; 2],
}

/// The last accesses to a word of four bytes. They are the same for all its bytes, until an access
/// leaves some of them out.
#[derive(Clone, Debug, Default)]
struct Word {
    whole: Trace,
    bytes: Option<Box<[Trace; WORD]>>,
}

const WORD: usize = 4;
/// The number of words of a page. Pages that are never accessed take no memory.
const PAGE: usize = 64;

/// The accesses to the words of a page.
#[derive(Clone, Debug)]
struct Page {
    words: [Word; PAGE],
    /// The last block that accessed it.
    block: u32,
}

/// A piece of memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Region {
    pub(super) bytes: Vec<u8>,
    pub(super) defined: Vec<bool>,
    /// Whether kernels may only read it.
    pub(super) is_constant: bool,
    pages: Vec<Option<Box<Page>>>,
    /// The pages that blocks have accessed since somebody took this list.
    touched: Vec<usize>,
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
        let pages = bytes.len().div_ceil(WORD * PAGE);
        Self { bytes, defined, is_constant, pages: vec![None; pages], touched: Vec::new() }
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
        let length = self.bytes.len();
        let ends = |start: usize| Some((start, start.checked_add(bytes)?));
        let inside = usize::try_from(offset).ok().and_then(ends).filter(|&(_, end)| end <= length);
        let Some((start, end)) = inside else {
            let offset = offset as i64;
            return Err(Fault::rule(now, Rule::OutOfBounds { offset, bytes, length }));
        };
        if how != Use::Read && self.is_constant {
            return Err(Fault::rule(now, Rule::Constant));
        }
        if !start.is_multiple_of(bytes) {
            return Err(Fault::rule(now, Rule::Misaligned { offset, bytes }));
        }
        if matches!(how, Use::Read | Use::Atomic)
            && !self.defined[start..end].iter().all(|&defined| defined)
        {
            return Err(Fault::rule(now, Rule::Undefined(offset)));
        }
        if !self.is_constant {
            let mut byte = start;
            while byte < end {
                let number = byte / WORD / PAGE;
                let page = self.pages[number].get_or_insert_with(|| {
                    let words = std::array::from_fn(|_| Word::default());
                    Box::new(Page { words, block: u32::MAX })
                });
                if page.block != now.block {
                    page.block = now.block;
                    self.touched.push(number);
                }
                let word = &mut page.words[byte / WORD % PAGE];
                let is_whole = byte.is_multiple_of(WORD) && byte + WORD <= end;
                if is_whole && word.bytes.is_none() {
                    word.whole.access(byte, how, now, order)?;
                    byte += WORD;
                } else {
                    let bytes = word.bytes.get_or_insert_with(|| Box::new([word.whole; WORD]));
                    bytes[byte % WORD].access(byte, how, now, order)?;
                    byte += 1;
                }
            }
        }
        if how != Use::Read {
            self.defined[start..end].fill(true);
        }
        Ok(start)
    }

    /// Returns the pages that blocks have accessed since the last call.
    pub(super) fn take_touched(&mut self) -> Vec<usize> {
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        touched
    }

    /// Tells whether blocks of `own` have accessed a word of a page here that blocks of `others`
    /// have accessed there, not both by reading.
    pub(super) fn conflicts(
        &self,
        own: &Range<u32>,
        there: &Self,
        others: &Range<u32>,
        page: usize,
    ) -> bool {
        let (Some(here), Some(there)) = (&self.pages[page], &there.pages[page]) else {
            return false;
        };
        others.contains(&there.block)
            && here.words.iter().zip(&there.words).any(|(here, there)| {
                let (here, there) = (here.use_by(own), there.use_by(others));
                here.is_some() && there.is_some() && (here, there) != (READ, READ)
            })
    }

    /// Takes over what blocks of `own` have done there to a page, which conflicts with nothing that
    /// blocks of `others` have done here.
    pub(super) fn merge(
        &mut self,
        there: &Self,
        own: &Range<u32>,
        others: &Range<u32>,
        page: usize,
    ) {
        let is_shared = |page: &Page| others.contains(&page.block);
        let (Some(to), Some(from)) =
            (self.pages[page].as_mut().filter(|page| is_shared(page)), &there.pages[page])
        else {
            return self.copy(there, page);
        };
        to.block = from.block;
        for (number, (to, from)) in to.words.iter_mut().zip(&from.words).enumerate() {
            match (from.use_by(own), to.use_by(others)) {
                (None, _) => {}
                (Some(_), None) => {
                    to.clone_from(from);
                    let start = (page * PAGE + number) * WORD;
                    let end = (start + WORD).min(self.bytes.len());
                    self.bytes[start..end].copy_from_slice(&there.bytes[start..end]);
                    self.defined[start..end].copy_from_slice(&there.defined[start..end]);
                }
                // Two blocks have read it, and this remembers both.
                (Some(_), Some(_)) => to.remember_reads(from, own),
            }
        }
    }

    /// Makes a page the same as it is there.
    pub(super) fn copy(&mut self, there: &Self, page: usize) {
        let start = page * PAGE * WORD;
        let end = (start + PAGE * WORD).min(self.bytes.len());
        self.bytes[start..end].copy_from_slice(&there.bytes[start..end]);
        self.defined[start..end].copy_from_slice(&there.defined[start..end]);
        self.pages[page].clone_from(&there.pages[page]);
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

const READ: Option<Use> = Some(Use::Read);

impl Word {
    /// Tells how blocks have used it, if they have.
    fn use_by(&self, blocks: &Range<u32>) -> Option<Use> {
        let by = |moment: &Moment| moment.clock != 0 && blocks.contains(&moment.block);
        let traces = self.bytes.as_ref().map_or(std::slice::from_ref(&self.whole), |all| &all[..]);
        if traces.iter().any(|trace| by(&trace.write) || trace.atomics.iter().any(by)) {
            return Some(Use::Write);
        }
        traces.iter().any(|trace| trace.reads.iter().any(by)).then_some(Use::Read)
    }

    /// Adds the reads by blocks of `own` to those of another block.
    fn remember_reads(&mut self, from: &Self, own: &Range<u32>) {
        let add = |to: &mut Trace, from: &Trace| {
            let is_own = |read: &&Moment| read.clock != 0 && own.contains(&read.block);
            for &read in from.reads.iter().filter(is_own) {
                let place = usize::from(to.reads[0].clock != 0);
                to.reads[place] = read;
            }
        };
        if self.bytes.is_none() && from.bytes.is_none() {
            return add(&mut self.whole, &from.whole);
        }
        let whole = self.whole;
        let bytes = self.bytes.get_or_insert_with(|| Box::new([whole; WORD]));
        let theirs = from.bytes.as_deref().copied().unwrap_or([from.whole; WORD]);
        bytes.iter_mut().zip(&theirs).for_each(|(to, from)| add(to, from));
    }
}

impl Trace {
    /// Checks an access to bytes, the first of which is `byte`, and remembers it.
    fn access(
        &mut self,
        byte: usize,
        how: Use,
        now: Moment,
        order: &impl Order,
    ) -> Result<(), Fault> {
        let meets = |earlier: &Moment| {
            earlier.clock != 0
                && (earlier.block, earlier.thread) != (now.block, now.thread)
                && !order.is_before(earlier)
        };
        let race = |earlier, is_write| Err(Fault::race(now, earlier, is_write, byte as u64));
        if meets(&self.write) {
            return race(self.write, true);
        }
        let meeting = |known: &[Moment; 2]| known.iter().rev().find(|&known| meets(known)).copied();
        if matches!(how, Use::Read | Use::Write)
            && let Some(atomic) = meeting(&self.atomics)
        {
            return race(atomic, true);
        }
        if how != Use::Read
            && let Some(read) = meeting(&self.reads)
        {
            return race(read, false);
        }
        let known = match how {
            Use::Write => {
                *self = Self { write: now, ..Self::default() };
                return Ok(());
            }
            Use::Read => &mut self.reads,
            Use::Atomic | Use::Set => &mut self.atomics,
        };
        // One that comes before this one, or is by the same thread, need not be remembered.
        let free = known.iter().position(|earlier| !meets(earlier));
        known[free.unwrap_or(1)] = now;
        Ok(())
    }
}
