//! The waiting room, in which messages of streams wait for room in the lane of large calls.
//!
//! Each client has a line of its own, and a share of the room as [`Room`] says. The clients take
//! turns. A message that waits because its own client has too much room delays no other client. A
//! message that waits because other clients fill the room delays all later messages, so that it
//! does not wait forever.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;

use crate::identity::Share;
use crate::lock;
use crate::room::Room;

/// The room of a lane, and the messages that wait for it.
#[derive(Clone, Debug)]
pub(crate) struct WaitingRoom(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    room: Room,
    /// The clients in the order of their turns.
    lines: VecDeque<Line>,
}

/// The messages of a client that wait, oldest first: their weights, and where their tickets go.
#[derive(Debug)]
struct Line {
    share: Share,
    waiting: VecDeque<(usize, oneshot::Sender<Ticket>)>,
}

/// The room of one message, which is free again when this value is dropped.
#[derive(Debug)]
pub(crate) struct Ticket {
    room: WaitingRoom,
    share: Share,
    weight: usize,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        lock(&self.room.0).room.release(self.share, self.weight);
        self.room.admit();
    }
}

impl WaitingRoom {
    /// Returns room for messages of at most `capacity` operations together.
    pub(crate) fn new(capacity: usize) -> Self {
        let (room, lines) = (Room::new(capacity), VecDeque::new());
        Self(Arc::new(Mutex::new(State { room, lines })))
    }

    /// Gives room to a message of `weight` operations, if there is some now.
    pub(crate) fn try_enter(&self, share: Share, weight: usize) -> Option<Ticket> {
        let weight = weight.max(1);
        let has_room = lock(&self.0).room.take(share, weight);
        has_room.then(|| Ticket { room: self.clone(), share, weight })
    }

    /// Waits for room for a message of `weight` operations. Returns nothing if a message of this
    /// weight never finds room.
    pub(crate) async fn enter(&self, share: Share, weight: usize) -> Option<Ticket> {
        let weight = weight.max(1);
        let (sender, ticket) = oneshot::channel();
        {
            let State { room, lines } = &mut *lock(&self.0);
            if !room.fits(weight) {
                return None;
            }
            match lines.iter_mut().find(|line| line.share == share) {
                Some(Line { waiting, .. }) => {
                    // Before a line gets longer, those leave it whose callers have gone. With
                    // room for as many again, that costs little, however often they go.
                    if waiting.len() == waiting.capacity() {
                        waiting.retain(|(_, sender)| !sender.is_closed());
                        waiting.reserve(waiting.len() + 1);
                    }
                    waiting.push_back((weight, sender));
                }
                None => {
                    let waiting = VecDeque::from([(weight, sender)]);
                    lines.push_back(Line { share, waiting });
                }
            }
        }
        self.admit();
        ticket.await.ok()
    }

    /// Gives room to waiting messages, by turns, until there is no more room.
    fn admit(&self) {
        loop {
            // A ticket that nobody takes any more comes back here, so the lock is not held.
            let admitted = lock(&self.0).next();
            let Some((share, weight, sender)) = admitted else { return };
            drop(sender.send(Ticket { room: self.clone(), share, weight }));
        }
    }
}

impl State {
    /// Removes the next message whose turn it is, and reserves its room.
    fn next(&mut self) -> Option<(Share, usize, oneshot::Sender<Ticket>)> {
        let Self { room, lines } = self;
        let mut index = 0;
        // This sees only the beginnings of the lines, because a line can be long.
        while let Some(Line { share, waiting }) = lines.get_mut(index) {
            // The callers of these have gone.
            while waiting.pop_front_if(|(_, sender)| sender.is_closed()).is_some() {}
            let Some(&(weight, _)) = waiting.front() else {
                lines.remove(index);
                continue;
            };
            if room.take(*share, weight) {
                break;
            }
            if room.is_kept_out_by_others(*share, weight) {
                return None;
            }
            index += 1;
        }
        let mut line = lines.remove(index)?;
        let (weight, sender) = line.waiting.pop_front()?;
        let share = line.share;
        if !line.waiting.is_empty() {
            lines.push_back(line);
        }
        Some((share, weight, sender))
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    type Entry = Pin<Box<dyn Future<Output = Option<Ticket>>>>;

    fn share(number: u64) -> Share {
        Share::Connection(number)
    }

    fn enter(room: &WaitingRoom, number: u64, weight: usize) -> Entry {
        let room = room.clone();
        let mut entry: Entry = Box::pin(async move { room.enter(share(number), weight).await });
        // It takes its place.
        assert!(now(&mut entry).is_none());
        entry
    }

    fn now(entry: &mut Entry) -> Option<Ticket> {
        match entry.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(ticket) => Some(ticket.unwrap()),
            Poll::Pending => None,
        }
    }

    /// Messages of streams that wait do not keep out large calls of others, nor their streams.
    #[test]
    fn a_client_that_waits_keeps_out_no_other() {
        let room = WaitingRoom::new(1000);
        let mut held: Vec<_> = (0..5).map(|_| room.try_enter(share(0), 100).unwrap()).collect();
        let mut waiting: Vec<_> = (0..256).map(|_| enter(&room, 0, 100)).collect();
        assert!(room.try_enter(share(0), 1).is_none());
        let call = room.try_enter(share(1), 100).unwrap();
        let mut stream: Entry = {
            let room = room.clone();
            Box::pin(async move { room.enter(share(2), 150).await })
        };
        let stream = now(&mut stream).unwrap();
        assert!(now(&mut waiting[0]).is_none());
        drop((call, stream, held.pop()));
        assert!(now(&mut waiting[0]).is_some());
        assert!(now(&mut waiting[1]).is_some());
    }

    /// Small messages of others do not keep a large one waiting forever.
    #[test]
    fn a_large_message_comes_in_its_turn() {
        let room = WaitingRoom::new(1000);
        let first =
            [room.try_enter(share(1), 200).unwrap(), room.try_enter(share(2), 200).unwrap()];
        let mut large = enter(&room, 3, 500);
        let mut small = enter(&room, 4, 10);
        let [one, two] = first;
        drop(one);
        assert!(now(&mut large).is_none() && now(&mut small).is_none());
        drop(two);
        assert!(now(&mut large).is_some() && now(&mut small).is_some());
    }

    #[test]
    fn who_goes_takes_no_room() {
        let room = WaitingRoom::new(100);
        let held = room.try_enter(share(0), 50).unwrap();
        let (gone, mut next) = (enter(&room, 0, 50), enter(&room, 0, 50));
        drop(gone);
        drop(held);
        drop(now(&mut next).unwrap());
        // A ticket that comes when its caller has just gone.
        let held = room.try_enter(share(0), 50).unwrap();
        let (gone, mut next) = (enter(&room, 0, 50), enter(&room, 0, 50));
        drop(held);
        assert!(now(&mut next).is_none());
        drop(gone);
        assert!(now(&mut next).is_some());
        let mut never: Entry = {
            let room = room.clone();
            Box::pin(async move { room.enter(share(0), 51).await })
        };
        let context = &mut Context::from_waker(Waker::noop());
        assert!(matches!(never.as_mut().poll(context), Poll::Ready(None)));
    }

    /// Who stands behind others in a line costs an admission nothing, even if it has gone.
    #[test]
    fn an_admission_sees_the_beginnings_of_the_lines() {
        let room = WaitingRoom::new(100);
        let held = room.try_enter(share(0), 50).unwrap();
        let [mut first, second] = [enter(&room, 0, 50), enter(&room, 0, 50)];
        drop((0..100).map(|_| enter(&room, 0, 50)).collect::<Vec<_>>());
        drop(held);
        let ticket = now(&mut first).unwrap();
        assert_eq!(lock(&room.0).lines[0].waiting.len(), 101);
        drop((second, ticket));
        assert!(lock(&room.0).lines.is_empty());
    }

    /// A line that does not move keeps no message that has gone, wherever it stands.
    #[test]
    fn who_goes_leaves_the_line() {
        let room = WaitingRoom::new(100);
        let _held = room.try_enter(share(0), 50).unwrap();
        let _first = enter(&room, 0, 50);
        let mut last = enter(&room, 0, 50);
        for _ in 0..1000 {
            // The next one comes before this one goes.
            let next = enter(&room, 0, 50);
            drop(std::mem::replace(&mut last, next));
        }
        assert!(lock(&room.0).lines[0].waiting.len() < 10);
    }
}
