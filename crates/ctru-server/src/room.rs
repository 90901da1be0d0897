//! Divides a limited resource among clients.
//!
//! A client may hold at most as much as is left after it. So the first client gets at most a half,
//! a second one at most half of the rest, and a greedy client always leaves room for others.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::fault::Fault;
use crate::identity::Share;
use crate::lock;

/// The total amount, and the amount that each client holds.
#[derive(Debug)]
pub(crate) struct Room {
    capacity: usize,
    used: usize,
    own: HashMap<Share, usize>,
}

impl Room {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, used: 0, own: HashMap::new() }
    }

    /// Returns how much all clients hold.
    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// Returns how much a client holds.
    pub(crate) fn own(&self, share: Share) -> usize {
        self.own.get(&share).copied().unwrap_or(0)
    }

    /// Gives `amount` to a client. Returns `false` if there is not enough.
    pub(crate) fn take(&mut self, share: Share, amount: usize) -> bool {
        let own = self.own(share);
        let left = self.capacity - self.used;
        // What the client then holds is at most what is then left.
        let has_room = amount <= left && own <= left - amount && amount <= left - amount - own;
        if has_room && amount > 0 {
            self.used += amount;
            *self.own.entry(share).or_insert(0) += amount;
        }
        has_room
    }

    /// Takes back `amount` that a client holds.
    pub(crate) fn release(&mut self, share: Share, amount: usize) {
        if let Some(own) = self.own.get_mut(&share) {
            let amount = amount.min(*own);
            self.used -= amount;
            *own -= amount;
            if *own == 0 {
                self.own.remove(&share);
            }
        }
    }
}

/// The memory of the messages of calls in progress.
#[derive(Clone, Debug)]
pub(crate) struct Memory(Arc<Mutex<Room>>);

impl Memory {
    /// Returns memory of at most `bytes` bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        Self(Arc::new(Mutex::new(Room::new(bytes))))
    }

    /// Returns the bytes that all calls hold.
    pub(crate) fn used(&self) -> usize {
        lock(&self.0).used()
    }
}

/// The memory that one call holds, which is released when this value is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    memory: Memory,
    share: Share,
    bytes: Mutex<usize>,
    /// The bytes of a message of a stream that have been passed on to gRPC.
    message: AtomicUsize,
}

impl Held {
    pub(crate) fn new(memory: Memory, share: Share) -> Self {
        Self { memory, share, bytes: Mutex::new(0), message: AtomicUsize::new(0) }
    }

    /// Takes more memory.
    ///
    /// # Errors
    /// [`Fault::MemoryFull`] if there is not enough.
    pub(crate) fn grow(&self, bytes: usize) -> Result<(), Fault> {
        if !lock(&self.memory.0).take(self.share, bytes) {
            return Err(Fault::MemoryFull);
        }
        *lock(&self.bytes) += bytes;
        Ok(())
    }

    /// Notes that gRPC gets some of the memory as a part of a message.
    pub(crate) fn pass_on(&self, bytes: usize) {
        self.message.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns the bytes that gRPC has got since the last call of this function.
    pub(crate) fn take_message(&self) -> usize {
        self.message.swap(0, Ordering::Relaxed)
    }

    /// Releases some of the memory.
    pub(crate) fn release(&self, bytes: usize) {
        let mut held = lock(&self.bytes);
        let bytes = bytes.min(*held);
        *held -= bytes;
        lock(&self.memory.0).release(self.share, bytes);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let bytes = *lock(&self.bytes);
        lock(&self.memory.0).release(self.share, bytes);
    }
}

/// The connections that may be open. A client with an identity holds at most as many as it leaves
/// to others.
#[derive(Clone, Debug)]
pub(crate) struct Seats(Memory);

impl Seats {
    /// Returns seats for at most `most` connections.
    pub(crate) fn new(most: usize) -> Self {
        // With one more than there are, the last one is given to a client that holds none.
        Self(Memory::new(most.saturating_add(1)))
    }

    /// Takes a seat for a connection of a client, if there is one. It is free again when the value
    /// is dropped.
    pub(crate) fn take(&self, share: Share) -> Option<Held> {
        let seat = Held::new(self.0.clone(), share);
        seat.grow(1).is_ok().then_some(seat)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Owner;

    #[test]
    fn a_client_holds_at_most_half_of_the_seats() {
        let (one, two) = (Share::Owner(Owner([1; 32])), Share::Owner(Owner([2; 32])));
        let seats = Seats::new(4);
        let of_one = [seats.take(one).unwrap(), seats.take(one).unwrap()];
        assert!(seats.take(one).is_none());
        let _of_two = seats.take(two).unwrap();
        assert!(seats.take(two).is_none());
        // Clients without an identity have a share for each connection, and take all that is left.
        let _last = seats.take(Share::Connection(1)).unwrap();
        assert!(seats.take(Share::Connection(2)).is_none());
        drop(of_one);
        assert!(seats.take(Share::Connection(2)).is_some());
        assert!(Seats::new(1).take(one).is_some());
    }

    #[test]
    fn calls_hold_memory_until_they_end() {
        let memory = Memory::new(100);
        let call = |number| Held::new(memory.clone(), Share::Connection(number));
        let (one, two) = (call(1), call(2));
        assert_eq!(one.grow(51), Err(Fault::MemoryFull));
        assert_eq!(one.grow(50), Ok(()));
        assert_eq!(call(1).grow(1), Err(Fault::MemoryFull));
        assert_eq!(two.grow(25), Ok(()));
        assert_eq!(memory.used(), 75);
        one.release(20);
        one.release(0);
        assert_eq!(memory.used(), 55);
        drop(one);
        two.release(1000);
        assert_eq!(memory.used(), 0);
        assert_eq!(call(3).grow(50), Ok(()));
        assert_eq!(call(3).grow(usize::MAX), Err(Fault::MemoryFull));
        assert_eq!(memory.used(), 0);
    }
}
