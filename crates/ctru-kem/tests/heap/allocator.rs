//! An allocator that finds secrets: in memory that is given back, and in memory that is in use.
#![allow(unsafe_code)]

use core::alloc::{GlobalAlloc, Layout};
use core::ptr;
use std::alloc::System;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of a string that does not occur by chance.
const WORD: usize = 8;
/// The most words that the allocator looks for.
const MOST: usize = 1 << 14;
/// The bits of a word that choose a bit of [`State::ends`].
const END: u32 = 20;

/// The allocator of this program.
pub(crate) struct Watch;

struct State {
    /// The first of the pieces that are in use.
    first: *mut Head,
    /// The words to look for, in ascending order. They are not on the heap, so that they are not
    /// found themselves.
    words: [u64; MOST],
    count: usize,
    /// A bit for each end of a word, which most bytes of memory rule out at once.
    ends: [u64; 1 << END >> 6],
    /// How often a word was found in memory that was given back.
    given_back: usize,
}

// SAFETY: the heads belong to the allocator, which changes them only while it holds the lock.
unsafe impl Send for State {}

static STATE: Mutex<State> = Mutex::new(State {
    first: ptr::null_mut(),
    words: [0; MOST],
    count: 0,
    ends: [0; 1 << END >> 6],
    given_back: 0,
});

/// What lies before each piece of memory.
struct Head {
    previous: *mut Self,
    next: *mut Self,
    bytes: usize,
    /// The distance between this head and the memory.
    distance: usize,
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the layout of a piece with its head, and the distance between both.
fn with_head(layout: Layout) -> Option<(Layout, usize)> {
    Layout::new::<Head>().extend(layout).ok()
}

/// Returns the place of a word in [`State::ends`].
fn place(word: u64) -> (usize, u64) {
    let end = word >> (64 - END);
    ((end >> 6) as usize, 1 << (end & 63))
}

impl State {
    /// Counts the words that the memory holds.
    ///
    /// # Safety
    /// The memory has this many bytes. They need not be initialised, because a volatile read
    /// assumes nothing about the writer.
    unsafe fn find(&self, memory: *const u8, bytes: usize) -> usize {
        let words = &self.words[..self.count];
        let (mut word, mut found) = (0u64, 0);
        for i in 0..bytes {
            // SAFETY: the byte exists.
            let byte = unsafe { memory.add(i).read_volatile() };
            word = word >> 8 | u64::from(byte) << 56;
            let (index, bit) = place(word);
            if self.ends[index] & bit != 0 && i + 1 >= WORD {
                found += usize::from(words.binary_search(&word).is_ok());
            }
        }
        found
    }
}

// SAFETY: the memory comes from the system's allocator, behind a head that has its own room. Every
// piece is in the list until it is given back.
unsafe impl GlobalAlloc for Watch {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some((whole, distance)) = with_head(layout) else { return ptr::null_mut() };
        // SAFETY: the layout is not empty.
        let start = unsafe { System.alloc_zeroed(whole) };
        if start.is_null() {
            return start;
        }
        let head = start.cast::<Head>();
        let mut state = state();
        // SAFETY: the head fits and is aligned, and the list has heads of pieces in use.
        unsafe {
            let (previous, next) = (ptr::null_mut(), state.first);
            head.write(Head { previous, next, bytes: layout.size(), distance });
            if let Some(next) = next.as_mut() {
                next.previous = head;
            }
        }
        state.first = head;
        // SAFETY: the piece begins there.
        unsafe { start.add(distance) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        let Some((whole, distance)) = with_head(layout) else { return };
        let mut state = state();
        // SAFETY: `alloc` has put the head there, and it is in the list.
        unsafe {
            let start = memory.sub(distance);
            let Head { previous, next, .. } = start.cast::<Head>().read();
            match previous.as_mut() {
                Some(previous) => previous.next = next,
                None => state.first = next,
            }
            if let Some(next) = next.as_mut() {
                next.previous = previous;
            }
            state.given_back += state.find(memory, layout.size());
            System.dealloc(start, whole);
        }
    }
}

/// Looks for these secrets from now on, and for no others.
pub(crate) fn look_for(secrets: &[&[u8]]) {
    let mut state = state();
    state.count = 0;
    state.ends.fill(0);
    for word in secrets.iter().flat_map(|secret| secret.windows(WORD)) {
        let count = state.count;
        let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
        let (index, bit) = place(word);
        state.ends[index] |= bit;
        state.words[count] = word;
        state.count += 1;
    }
    let count = state.count;
    state.words[..count].sort_unstable();
    state.given_back = 0;
}

/// Returns how many words of secrets were in memory that was given back since [`look_for`].
pub(crate) fn given_back() -> usize {
    state().given_back
}

/// Returns how many words of secrets are in memory that is in use.
pub(crate) fn in_use() -> usize {
    let state = state();
    let (mut found, mut head) = (0, state.first.cast_const());
    // SAFETY: the list has heads of pieces in use, which nobody changes while the lock is held.
    while let Some(Head { next, bytes, distance, .. }) = unsafe { head.as_ref() } {
        // SAFETY: the piece begins there. The tests that call this function have no thread that
        // works at the same time.
        found += unsafe { state.find(head.cast::<u8>().add(*distance), *bytes) };
        head = *next;
    }
    found
}
