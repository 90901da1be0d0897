//! Memory that knows which of its bytes are defined, and which threads accessed them.

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

/// A piece of memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Region {
    pub(super) bytes: Vec<u8>,
    pub(super) defined: Vec<bool>,
    /// Whether kernels may only read it.
    pub(super) is_constant: bool,
    /// The accesses to the words of each page.
    pages: Vec<Option<Box<[Word; PAGE]>>>,
}

/// A number for each lane of a warp, which counts what it has done.
pub(super) type Clocks = [u32; 32];

/// What comes before an access: what the thread or one that it has met since has done.
pub(super) struct Past<'w> {
    pub(super) block: u32,
    pub(super) warp: u32,
    /// The clocks of each other warp of the block, and of the thread's own warp.
    pub(super) known: &'w [Clocks],
    pub(super) seen: &'w Clocks,
}

impl Past<'_> {
    fn has(&self, earlier: &Moment) -> bool {
        let (warp, lane) = (earlier.thread / 32, earlier.thread as usize % 32);
        let clocks = if warp == self.warp { self.seen } else { &self.known[warp as usize] };
        earlier.block == self.block && earlier.clock <= clocks[lane]
    }
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
        Self { bytes, defined, is_constant, pages: vec![None; pages] }
    }

    /// Checks an access and remembers it. Returns the index of its first byte.
    pub(super) fn access(
        &mut self,
        offset: u64,
        bytes: usize,
        how: Use,
        now: Moment,
        past: &Past<'_>,
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
                let page = self.pages[byte / WORD / PAGE]
                    .get_or_insert_with(|| Box::new(std::array::from_fn(|_| Word::default())));
                let word = &mut page[byte / WORD % PAGE];
                let is_whole = byte.is_multiple_of(WORD) && byte + WORD <= end;
                if is_whole && word.bytes.is_none() {
                    word.whole.access(byte, how, now, past)?;
                    byte += WORD;
                } else {
                    let bytes = word.bytes.get_or_insert_with(|| Box::new([word.whole; WORD]));
                    bytes[byte % WORD].access(byte, how, now, past)?;
                    byte += 1;
                }
            }
        }
        if how != Use::Read {
            self.defined[start..end].fill(true);
        }
        Ok(start)
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

impl Trace {
    /// Checks an access to bytes, the first of which is `byte`, and remembers it.
    fn access(&mut self, byte: usize, how: Use, now: Moment, past: &Past<'_>) -> Result<(), Fault> {
        let meets = |earlier: &Moment| {
            earlier.clock != 0
                && (earlier.block, earlier.thread) != (now.block, now.thread)
                && !past.has(earlier)
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
