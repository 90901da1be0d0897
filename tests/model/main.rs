//! Runs the code of the engines that threads share in every order of the threads.
//!
//! `loom` runs a test once for each order in which threads can use a mutex or a shared number, and
//! for each value that a thread may read there by the rules of memory. It finds wrong results and
//! threads that wait forever. Most tests leave out the orders in which threads are interrupted more
//! than twice where they could go on. The code is that of the engines: the files are included by
//! their paths, and take mutexes and shared numbers from their parent module, which is this file.

// The engines call functions that the tests do not call. Some of the files are part of an
// interface.
#![allow(dead_code, unreachable_pub)]

#[path = "../../crates/ctru-gpu-runtime/src/cuda/counter.rs"]
mod counter;
#[path = "../../crates/ctru-gpu-runtime/src/batch/deal.rs"]
mod deal;
#[path = "../../crates/ctru-gpu-runtime/src/batch/coalesce/gate.rs"]
mod gate;
#[path = "../../crates/ctru-gpu-runtime/src/batch/coalesce/groups/mod.rs"]
mod groups;
#[path = "../../crates/ctru-gpu-runtime/src/batch/slots.rs"]
mod slots;

use std::cell::Cell;
use std::panic::catch_unwind;
use std::sync::atomic::AtomicU64 as Plain;
use std::time::Duration;

use counter::Counter;
use deal::Deal;
use gate::Gate;
use groups::call::{End, Entry};
use groups::{Groups, Limits};
use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::{sync, thread};
use slots::{Settle, Slots};

/// The most interruptions of threads that could go on. All orders of some tests would take days.
const INTERRUPTIONS: Option<usize> = Some(2);

/// Runs `test` in every order of its threads. With `preemptions`, leaves out the orders in which
/// threads are interrupted more often, where they could go on. Returns the number of orders.
fn explore(preemptions: Option<usize>, test: impl Fn() + Sync + Send + 'static) -> u64 {
    static EXPLORED: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one_at_a_time = EXPLORED.lock();
    let mut builder = Builder::new();
    builder.preemption_bound = preemptions;
    builder.max_branches = 10_000;
    let orders: &'static Plain = Box::leak(Box::default());
    builder.check(move || {
        orders.fetch_add(1, Ordering::Relaxed);
        test();
    });
    let orders = orders.load(Ordering::Relaxed);
    println!("{orders} orders");
    orders
}

/// Returns a value that lives as long as the program: threads of loom borrow nothing else.
fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// A stream whose driver finishes operations only when somebody waits for it.
struct Stream {
    counter: Counter,
    /// The numbers of operations that the driver has got, and has finished.
    issued: AtomicU64,
    finished: AtomicU64,
}

impl Stream {
    fn new() -> Self {
        let [issued, finished] = [(); 2].map(|()| AtomicU64::new(0));
        Self { counter: Counter::new(), issued, finished }
    }

    /// Gives the driver an operation, and returns its place.
    fn issue(&self) -> u64 {
        self.issued.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn synchronise(&self) {
        let wait = || {
            let issued = self.issued.load(Ordering::SeqCst);
            self.finished.fetch_max(issued, Ordering::SeqCst);
            Ok::<_, ()>(())
        };
        self.counter.wait(wait).expect("the driver never fails");
    }

    /// Waits for an operation, and checks that the driver has finished it.
    fn await_operation(&self, number: u64, place: u64) {
        if !self.counter.is_done(number) {
            self.synchronise();
            assert!(self.counter.is_done(number), "the next wait would be in vain");
        }
        assert!(self.finished.load(Ordering::SeqCst) >= place, "an operation is still under way");
    }
}

/// Lets two threads give a stream operations and wait for them, and a third one wait for all. The
/// program counts an operation after it has been issued, or before.
fn count_operations(counts_after: bool) {
    let stream = Arc::new(Stream::new());
    let work = move |stream: &Stream| {
        let (number, place) = if counts_after {
            let place = stream.issue();
            (stream.counter.count(), place)
        } else {
            (stream.counter.count(), stream.issue())
        };
        stream.await_operation(number, place);
    };
    let other = Arc::clone(&stream);
    let other = thread::spawn(move || work(&other));
    let waiting = Arc::clone(&stream);
    let waiting = thread::spawn(move || waiting.synchronise());
    work(&stream);
    other.join().expect("the thread's assertions hold");
    waiting.join().expect("the thread's assertions hold");
}

#[test]
fn whoever_waits_for_an_operation_finds_it_done() {
    assert!(explore(INTERRUPTIONS, || count_operations(true)) > 100);
}

/// Checks that the model finds an operation that is counted before it has been issued.
#[test]
fn the_model_finds_operations_that_are_counted_too_early() {
    catch_unwind(|| explore(INTERRUPTIONS, || count_operations(false)))
        .expect_err("the fault is there");
}

impl Settle for u32 {
    fn settle(&self) {}
}

/// Lets three threads take two slots.
fn share_slots(gives_back: bool) {
    // A value of loom that is dropped while loom reports a fault would end the program.
    let slots: &Slots<u32> = leak(Slots::new(vec![0, 0]));
    let work = move || {
        let mut slot = slots.take();
        *slot += 1;
        if !gives_back {
            std::mem::forget(slot);
        }
    };
    let threads = [(); 2].map(|()| thread::spawn(work));
    work();
    for thread in threads {
        thread.join().expect("the thread's assertions hold");
    }
    let (first, second) = (slots.try_take(), slots.try_take());
    let uses = first.as_deref().expect("is free") + second.as_deref().expect("is free");
    assert!(uses == 3 && slots.try_take().is_none());
}

#[test]
fn everybody_gets_a_slot() {
    assert!(explore(None, || share_slots(true)) > 100);
}

/// Checks that the model finds a thread that waits forever.
#[test]
fn the_model_finds_slots_that_are_not_given_back() {
    catch_unwind(|| explore(None, || share_slots(false))).expect_err("the fault is there");
}

/// Checks that each slot is wiped between two uses, while others take slots.
#[test]
fn all_slots_are_wiped() {
    let orders = explore(None, || {
        let slots: &Slots<u32> = leak(Slots::new(vec![1, 1]));
        let threads = [(); 2].map(|()| thread::spawn(|| *slots.take() += 2));
        let mut wiped = 0;
        slots.for_each(|slot| {
            *slot &= !1;
            wiped += 1;
        });
        for thread in threads {
            thread.join().expect("the thread's assertions hold");
        }
        let (first, second) = (slots.try_take(), slots.try_take());
        let left = first.as_deref().expect("is free") + second.as_deref().expect("is free");
        assert!(wiped == 2 && left == 4);
    });
    assert!(orders > 100);
}

/// What happens to a batch.
#[derive(Copy, Clone, PartialEq)]
enum Fate {
    Success,
    /// The chunk with this number fails.
    Failure(usize),
    /// Another thread cancels it.
    Cancellation,
}

/// Returns a function that says whether the number has changed.
fn has_changed(number: &'static AtomicU64) -> impl Fn() -> bool + Sync {
    let before = number.load(Ordering::Acquire);
    move || number.load(Ordering::Acquire) != before
}

/// Runs two batches of three chunks at the same time, on two slots. A batch has the caller's thread
/// and another one, or if `together` is 2, one thread that has two chunks under way. The first
/// batch meets its fate.
fn run_batches(fate: Fate, together: usize) {
    const CHUNKS: usize = 3;
    let slots: &[Slots<u32>] = leak([Slots::new(vec![0, 0])]);
    let cancellations = leak(AtomicU64::new(0));
    let batch = move |fate| {
        let chunks = [0..2, 2..4, 4..5].into_iter().enumerate();
        let chunks = chunks.map(|(number, range)| (0, range, number));
        let is_cancelled = leak(has_changed(cancellations));
        let deal = Arc::new(Deal::new(slots, is_cancelled, [2, together], chunks));
        // How often each chunk has been worked on.
        let begun = Arc::new([const { Plain::new(0) }; CHUNKS]);
        let counted = Arc::clone(&begun);
        // The first chunk fails when it is issued, and others when they are finished.
        let issue = move |slot: &mut u32, chunk: usize| {
            *slot += 1;
            counted[chunk].fetch_add(1, Ordering::Relaxed);
            let fails = fate == Fate::Failure(0) && chunk == 0;
            if fails { Err(0) } else { Ok(chunk) }
        };
        let finish = move |slot: &mut u32, chunk| {
            *slot += 1;
            if fate == Fate::Failure(chunk) { Err(chunk) } else { Ok(()) }
        };
        let mut servers = deal.servers();
        assert_eq!(servers, vec![0; 2 / together]);
        servers.pop();
        let others: Vec<_> = servers
            .into_iter()
            .map(|device| {
                let (other, issue) = (Arc::clone(&deal), issue.clone());
                thread::spawn(move || other.serve(device, &issue, &finish))
            })
            .collect();
        deal.serve(0, &issue, &finish);
        for other in others {
            other.join().expect("the thread's assertions hold");
        }
        let deal = Arc::try_unwrap(deal).unwrap_or_else(|_| panic!("nobody serves any more"));
        (deal.end(), begun)
    };
    let canceller = (fate == Fate::Cancellation).then(|| {
        thread::spawn(move || {
            cancellations.fetch_add(1, Ordering::AcqRel);
        })
    });
    let another = (fate != Fate::Cancellation).then(|| thread::spawn(move || batch(Fate::Success)));
    let ((done, failure), begun) = batch(fate);

    // A chunk is begun once at most, and it is named as done if and only if its work succeeded.
    let times = |chunk: usize| begun[chunk].load(Ordering::Relaxed);
    let failed = if let Fate::Failure(chunk) = fate { Some(chunk) } else { None };
    assert_eq!(failure, failed.filter(|&chunk| times(chunk) == 1));
    let expected: Vec<_> = [0..2, 2..4, 4..5]
        .into_iter()
        .enumerate()
        .filter(|&(chunk, _)| times(chunk) == 1 && Some(chunk) != failed)
        .map(|(_, range)| range)
        .collect();
    assert!((0..CHUNKS).all(|chunk| times(chunk) <= 1) && done == expected);
    if fate == Fate::Success {
        assert_eq!(done, [0..2, 2..4, 4..5]);
    }
    if let Some(chunk) = failed {
        // The chunks before it were begun, because chunks are begun in order.
        assert!((0..=chunk).all(|chunk| times(chunk) == 1));
    }
    if let Some(another) = another {
        let ((done, failure), _) = another.join().expect("the thread's assertions hold");
        assert!(done == [0..2, 2..4, 4..5] && failure.is_none());
    }
    if let Some(canceller) = canceller {
        canceller.join().expect("the thread's assertions hold");
    }
    // Every slot is free again.
    let (first, second) = (slots[0].try_take(), slots[0].try_take());
    assert!(first.is_some() && second.is_some());
}

#[test]
fn batches_share_slots() {
    for (together, orders) in [(1, 100), (2, 30)] {
        assert!(explore(INTERRUPTIONS, move || run_batches(Fate::Success, together)) > orders);
    }
}

#[test]
fn a_failed_batch_says_what_is_done() {
    for (together, orders) in [(1, 100), (2, 30)] {
        for fate in (0..3).map(Fate::Failure) {
            assert!(explore(INTERRUPTIONS, move || run_batches(fate, together)) > orders);
        }
    }
}

#[test]
fn a_cancelled_batch_says_what_is_done() {
    for (together, orders) in [(1, 100), (2, 30)] {
        let fate = Fate::Cancellation;
        assert!(explore(INTERRUPTIONS, move || run_batches(fate, together)) > orders);
    }
}

/// Checks that no chunk is begun after a failure or a cancellation that the thread knows.
#[test]
fn a_batch_that_has_failed_begins_no_chunk() {
    explore(None, || {
        let slots: &[Slots<u32>] = leak([Slots::new(vec![0])]);
        let cancellations = leak(AtomicU64::new(0));
        let chunks = || (0..3).map(|number| (0, number..number + 1, number));
        let deal = || Deal::new(slots, leak(has_changed(cancellations)), [1, 1], chunks());
        let fail_second = |_: &mut u32, chunk| {
            if chunk == 1 { Err("on purpose") } else { Ok(()) }
        };
        let failed = deal();
        failed.serve(0, &fail_second, &|_, ()| Ok(()));
        let (done, failure) = failed.end();
        assert!(done.len() == 1 && done[0] == (0..1) && failure == Some("on purpose"));
        let cancelled = deal();
        cancellations.fetch_add(1, Ordering::AcqRel);
        cancelled.serve(0, &fail_second, &|_, ()| Ok(()));
        assert!(cancelled.end() == (vec![], None));
    });
}

/// What the leader of a group does.
#[derive(Copy, Clone, PartialEq)]
enum Leading {
    /// It does the work.
    Works,
    /// Its work fails.
    Fails,
    /// It panics.
    Panics(Moment),
}

/// When a leader panics.
#[derive(Copy, Clone, PartialEq)]
enum Moment {
    /// While others can join its group.
    Open,
    /// When it has closed the group.
    Closed,
    /// When it has issued the work.
    UnderWay,
}

/// How a call ended.
#[derive(Copy, Clone, Debug, PartialEq)]
enum Called {
    Done,
    Failed,
    Panicked,
    GivenUp,
}

/// Groups of two rows, and what their calls share.
struct Shared {
    groups: Groups<u8, u8>,
    limits: Limits,
    /// The rows of each lane. Nothing but the groups orders the accesses of threads to a row, so
    /// that a thread that is too early reads an old value in some order.
    lanes: Vec<[AtomicU64; 2]>,
    /// How many groups are being issued now, and at most so far.
    issuing: [Plain; 2],
    /// How many groups are closed and not done now, and at most so far.
    under_way: [Plain; 2],
}

impl Shared {
    fn new([lanes, issuing, under_way]: [usize; 3]) -> &'static Self {
        let limits = Limits { lanes, rows: 2, issuing, under_way, spin: Duration::ZERO };
        let rows = |_| [(); 2].map(|()| AtomicU64::new(0));
        leak(Self {
            groups: Groups::new(limits),
            limits,
            lanes: (0..lanes).map(rows).collect(),
            issuing: Default::default(),
            under_way: Default::default(),
        })
    }
}

/// Counts one more, and checks that there are at most `limit`.
fn begin([now, most]: &[Plain; 2], limit: usize) {
    let count = now.fetch_add(1, Ordering::Relaxed) + 1;
    assert!(count <= limit as u64, "more groups than the limit");
    most.fetch_max(count, Ordering::Relaxed);
}

/// Makes a call with one row, whose input is `input`. The row holds `input` and the tag. The work
/// of a group multiplies it by 10.
fn call(
    shared: &Shared,
    (tag, input): (u8, u64),
    leading: Leading,
    gives_up: impl Fn() -> bool + Copy,
) -> Called {
    let Shared { groups, limits, lanes, issuing, under_way } = shared;
    let input = 100 * u64::from(tag) + input;
    loop {
        let Some(mut entry) = groups.enter(tag, 1, gives_up) else { return Called::GivenUp };
        let (lane, rows) = (&lanes[entry.lane()], entry.rows());
        assert_eq!(rows.len(), 1);
        let row = rows.start;
        lane[row].store(input, Ordering::Relaxed);
        match &mut entry {
            Entry::Lead(leader) => {
                if leading == Leading::Panics(Moment::Open) {
                    return Called::Panicked;
                }
                let Some(whole) = leader.close(gives_up) else {
                    assert!(gives_up());
                    return Called::GivenUp;
                };
                if leading == Leading::Panics(Moment::Closed) {
                    return Called::Panicked;
                }
                begin(under_way, limits.under_way);
                begin(issuing, limits.issuing);
                let inputs: Vec<u64> =
                    lane[..whole].iter().map(|row| row.load(Ordering::Relaxed)).collect();
                let tags = inputs.iter().map(|input| input / 100);
                assert!(tags.eq(vec![u64::from(tag); whole]), "rows of others, or not filled");
                // Loom runs others where threads use the same mutex, and not at every step.
                let let_others_run = || {
                    if limits.issuing.max(limits.under_way) > 1 {
                        groups.closed();
                    }
                };
                let_others_run();
                issuing[0].fetch_sub(1, Ordering::Relaxed);
                leader.issued();
                if leading == Leading::Panics(Moment::UnderWay) {
                    under_way[0].fetch_sub(1, Ordering::Relaxed);
                    return Called::Panicked;
                }
                for (row, input) in lane.iter().zip(inputs) {
                    row.store(10 * input, Ordering::Relaxed);
                }
                let_others_run();
                under_way[0].fetch_sub(1, Ordering::Relaxed);
                if leading == Leading::Fails {
                    leader.end(Err(7));
                    return Called::Failed;
                }
                leader.end(Ok(()));
            }
            Entry::Join(joiner) => {
                // A call may note that it has filled its row before it waits.
                if input.is_multiple_of(2) {
                    joiner.filled();
                }
                match joiner.wait(gives_up) {
                    End::Done => {}
                    End::Failed(error) => {
                        assert_eq!(error, 7);
                        return Called::Failed;
                    }
                    End::Abandoned => continue,
                    End::GivenUp => return Called::GivenUp,
                }
            }
        }
        assert_eq!(lane[row].load(Ordering::Relaxed), 10 * input, "the results of another");
        return Called::Done;
    }
}

/// Checks that all lanes are free, that nobody waits for a turn, and that a lone call is counted as
/// a group.
fn check_idle(shared: &Shared) {
    for tag in [1, 2] {
        let closed = shared.groups.closed();
        assert_eq!(call(shared, (tag, 9), Leading::Works, || false), Called::Done);
        assert_eq!(shared.groups.closed(), closed + 1);
    }
}

/// Lets three threads call with these tags, and checks how the calls of the first one end. Returns
/// what they have shared.
fn meet(limits: [usize; 3], tags: [u8; 3], leading: Leading) -> &'static Shared {
    let shared = Shared::new(limits);
    let threads = [1, 2].map(|i| {
        thread::spawn(move || {
            assert_ne!(
                call(shared, (tags[i], i as u64 + 1), Leading::Works, || false),
                Called::GivenUp
            );
        })
    });
    let called = call(shared, (tags[0], 1), leading, || false);
    for thread in threads {
        thread.join().expect("the thread's assertions hold");
    }
    let allowed = match leading {
        Leading::Works => [Called::Done; 2],
        Leading::Fails => [Called::Done, Called::Failed],
        Leading::Panics(_) => [Called::Done, Called::Panicked],
    };
    assert!(allowed.contains(&called));
    shared
}

/// Lets three threads call with these tags in every order. Returns the least number of groups, and
/// the most groups that were being issued, and that were under way.
fn meet_in_every_order(interruptions: usize, limits: [usize; 3], tags: [u8; 3]) -> [u64; 3] {
    let groups: &Plain = leak(Plain::new(u64::MAX));
    let [issuing, under_way]: &[Plain; 2] = leak(Default::default());
    let orders = explore(Some(interruptions), move || {
        let shared = meet(limits, tags, Leading::Works);
        groups.fetch_min(shared.groups.closed(), Ordering::Relaxed);
        issuing.fetch_max(shared.issuing[1].load(Ordering::Relaxed), Ordering::Relaxed);
        under_way.fetch_max(shared.under_way[1].load(Ordering::Relaxed), Ordering::Relaxed);
        check_idle(shared);
    });
    assert!(orders > 100);
    [groups, issuing, under_way].map(|number| number.load(Ordering::Relaxed))
}

/// Checks that two calls with the same tag meet in some order.
#[test]
fn calls_meet() {
    assert_eq!(meet_in_every_order(3, [2, 1, 1], [1, 1, 1]), [2, 1, 1]);
    assert_eq!(meet_in_every_order(3, [1, 1, 1], [1, 2, 1]), [2, 1, 1]);
}

/// Checks that there are as many groups at the same time as the limits allow.
#[test]
fn calls_use_the_limits() {
    for (limits, most) in [([2, 1, 2], [1, 2]), ([2, 2, 1], [1, 1]), ([2, 2, 2], [2, 2])] {
        assert_eq!(meet_in_every_order(2, limits, [1, 2, 1])[1..], most);
    }
}

#[test]
fn calls_meet_a_leader_that_fails() {
    let panics = [Moment::Open, Moment::Closed, Moment::UnderWay].map(Leading::Panics);
    for leading in panics.into_iter().chain([Leading::Fails]) {
        let meet = move || check_idle(meet([1, 1, 1], [1, 1, 1], leading));
        assert!(explore(Some(3), meet) > 100);
    }
}

/// Checks that a call that gives up does not disturb others, and that it does not wait for them.
#[test]
fn calls_give_up() {
    let orders = explore(INTERRUPTIONS, || {
        let shared = Shared::new([1; 3]);
        let flag: &AtomicU64 = leak(AtomicU64::new(0));
        let other = thread::spawn(move || {
            assert_eq!(call(shared, (1, 2), Leading::Works, || false), Called::Done);
        });
        let canceller = thread::spawn(move || {
            flag.store(1, Ordering::Release);
            shared.groups.wake_all();
        });
        let gives_up = || flag.load(Ordering::Acquire) != 0;
        let called = call(shared, (1, 1), Leading::Works, gives_up);
        assert!([Called::Done, Called::GivenUp].contains(&called));
        for thread in [other, canceller] {
            thread.join().expect("the thread's assertions hold");
        }
        check_idle(shared);
    });
    assert!(orders > 100);
}

/// Checks that a call gives up waiting for a lane although no other call goes on, and that a call
/// alone has its turn at once.
#[test]
fn calls_give_up_while_nobody_goes_on() {
    let orders = explore(None, || {
        let groups = &Shared::new([1; 3]).groups;
        let flag: &AtomicU64 = leak(AtomicU64::new(0));
        let Some(Entry::Lead(mut leader)) = groups.enter(1, 1, || false) else {
            panic!("nobody else has opened a group")
        };
        let giving_up = thread::spawn(move || {
            assert!(groups.enter(2, 1, || flag.load(Ordering::Acquire) != 0).is_none());
        });
        flag.store(1, Ordering::Release);
        groups.wake_all();
        giving_up.join().expect("the thread's assertions hold");
        // Nobody gives up whose turn has come.
        assert_eq!(leader.close(|| true), Some(1));
    });
    assert!(orders > 1);
}

/// What becomes of a group that another call has joined.
#[derive(Copy, Clone, PartialEq)]
enum Joined {
    /// Its leader does not go on, and the other call gives up.
    Open,
    /// It is closed, and then the other call would like to give up.
    Closed,
    /// The other call leaves before it has filled its rows.
    Left,
    /// The other call leaves when it has filled its rows.
    Filled,
}

/// Lets a call join the group of another one in some orders. Returns whether it has joined.
fn join(joined: Joined) -> bool {
    let groups = &Shared::new([1; 3]).groups;
    let flag: &AtomicU64 = leak(AtomicU64::new(0));
    let Some(Entry::Lead(mut leader)) = groups.enter(1, 1, || false) else {
        panic!("nobody else has opened a group")
    };
    let other = thread::spawn(move || {
        let gives_up = || flag.load(Ordering::Acquire) != 0;
        let Some(Entry::Join(mut joiner)) = groups.enter(1, 1, gives_up) else { return false };
        match joined {
            Joined::Open => assert_eq!(joiner.wait(gives_up), End::GivenUp),
            Joined::Closed => assert_eq!(joiner.wait(gives_up), End::Done),
            Joined::Left => {}
            Joined::Filled => joiner.filled(),
        }
        true
    });
    let give_up = || {
        flag.store(1, Ordering::Release);
        groups.wake_all();
    };
    if joined == Joined::Open {
        give_up();
        return other.join().expect("the thread's assertions hold");
    }
    let whole = leader.close(|| false);
    give_up();
    leader.issued();
    leader.end(Ok(()));
    drop(leader);
    let has_joined = other.join().expect("the thread's assertions hold");
    assert_eq!(whole, Some(1 + usize::from(has_joined)));
    has_joined
}

#[test]
fn calls_give_up_until_their_group_is_closed() {
    for joined in [Joined::Open, Joined::Closed, Joined::Left, Joined::Filled] {
        let times: &Plain = leak(Plain::new(0));
        explore(None, move || {
            times.fetch_add(join(joined).into(), Ordering::Relaxed);
        });
        assert!(times.load(Ordering::Relaxed) > 0);
    }
}

/// Checks that lanes are wiped between groups, and that wiping ends while calls go on.
#[test]
fn lanes_are_wiped_while_calls_meet() {
    let orders = explore(INTERRUPTIONS, || {
        let shared = Shared::new([1; 3]);
        let threads = [1, 2].map(|input| {
            thread::spawn(move || {
                assert_eq!(call(shared, (1, input), Leading::Works, || false), Called::Done);
            })
        });
        let mut wiped = 0;
        shared.groups.for_each_lane(|lane| {
            shared.lanes[lane].iter().for_each(|row| row.store(0, Ordering::Relaxed));
            wiped += 1;
        });
        for thread in threads {
            thread.join().expect("the thread's assertions hold");
        }
        assert_eq!(wiped, 1);
        check_idle(shared);
    });
    assert!(orders > 100);
}

/// Checks that no call has a lane while it is wiped, also if it has been wiped before.
#[test]
fn lanes_of_calls_are_not_wiped() {
    let orders = explore(None, || {
        let groups = &Shared::new([1; 3]).groups;
        let in_use: &Plain = leak(Plain::new(0));
        let wiping = thread::spawn(move || {
            for _ in 0..2 {
                groups.for_each_lane(|_| assert_eq!(in_use.load(Ordering::Relaxed), 0));
            }
        });
        for _ in 0..2 {
            let entry = groups.enter(1, 1, || false);
            in_use.store(1, Ordering::Relaxed);
            // The other thread can run here.
            groups.closed();
            in_use.store(0, Ordering::Relaxed);
            drop(entry);
        }
        wiping.join().expect("the thread's assertions hold");
    });
    assert!(orders > 100);
}

/// Lets three threads enter a gate for `most` callers, one of them twice. If not `leaves`, they
/// never leave. After `passes` callers have passed one that sleeps, it enters.
fn pass_gate(most: usize, passes: usize, leaves: bool) {
    let gate: &Gate = leak(Gate::new(most, passes));
    let inside: &AtomicU64 = leak(AtomicU64::new(0));
    let pass = move || {
        let place = gate.enter(|| false).expect("nobody gives up");
        assert!(inside.fetch_add(1, Ordering::SeqCst) < most as u64, "too many are inside");
        inside.fetch_sub(1, Ordering::SeqCst);
        if !leaves {
            std::mem::forget(place);
        }
    };
    let threads = [(); 2].map(|()| thread::spawn(pass));
    pass();
    pass();
    for thread in threads {
        thread.join().expect("the thread's assertions hold");
    }
}

#[test]
fn all_calls_pass_the_gate() {
    for (most, passes) in [(1, 0), (1, 1), (2, 0), (2, 9)] {
        assert!(explore(Some(3), move || pass_gate(most, passes, true)) > 100);
    }
}

/// Checks that a call can give up before the gate, while another one enters.
#[test]
fn calls_give_up_before_the_gate() {
    let orders = explore(Some(3), || {
        let gate: &Gate = leak(Gate::new(1, 1));
        let flag: &AtomicU64 = leak(AtomicU64::new(0));
        let other = thread::spawn(move || drop(gate.enter(|| false).expect("nobody gives up")));
        let giving_up = thread::spawn(move || {
            let place = gate.enter(|| flag.load(Ordering::Acquire) != 0);
            assert!(place.is_some() || flag.load(Ordering::Acquire) != 0);
        });
        drop(gate.enter(|| false).expect("nobody gives up"));
        flag.store(1, Ordering::Release);
        gate.wake_all();
        for thread in [other, giving_up] {
            thread.join().expect("the thread's assertions hold");
        }
    });
    assert!(orders > 100);
}

/// Checks that a call gives up before the gate although nobody leaves.
#[test]
fn calls_give_up_before_the_gate_while_nobody_leaves() {
    let orders = explore(None, || {
        let gate: &Gate = leak(Gate::new(1, 1));
        let flag: &AtomicU64 = leak(AtomicU64::new(0));
        let place = gate.enter(|| false);
        let giving_up = thread::spawn(move || {
            assert!(gate.enter(|| flag.load(Ordering::Acquire) != 0).is_none());
        });
        flag.store(1, Ordering::Release);
        gate.wake_all();
        giving_up.join().expect("the thread's assertions hold");
        drop(place);
    });
    assert!(orders > 1);
}

/// Checks that as many callers as the gate allows pass one that sleeps in some order, and that no
/// more of them do in any order.
#[test]
fn few_callers_pass_one_that_sleeps_before_the_gate() {
    const PASSES: usize = 2;
    let most: &Plain = leak(Plain::new(0));
    explore(Some(3), move || {
        let gate: &Gate = leak(Gate::new(1, PASSES));
        let (sleeps, has_entered) = (leak(AtomicU64::new(0)), leak(AtomicU64::new(0)));
        let mut place = gate.enter(|| false);
        let sleeper = thread::spawn(move || {
            let place = gate.enter(|| {
                sleeps.store(1, Ordering::SeqCst);
                false
            });
            has_entered.store(1, Ordering::SeqCst);
            drop(place);
        });
        let mut passed = 0;
        for _ in 0..PASSES + 2 {
            let waits = sleeps.load(Ordering::SeqCst) != 0;
            drop(place);
            place = gate.enter(|| false);
            passed += u64::from(waits && has_entered.load(Ordering::SeqCst) == 0);
        }
        assert!(passed <= PASSES as u64, "{passed} have passed");
        most.fetch_max(passed, Ordering::Relaxed);
        drop(place);
        sleeper.join().expect("the thread's assertions hold");
    });
    assert_eq!(most.load(Ordering::Relaxed), PASSES as u64);
}

/// Checks that nobody wakes up before the gate unless there is a place. Nobody passes those that
/// sleep.
#[test]
fn nobody_wakes_up_before_the_gate_in_vain() {
    let orders = explore(Some(3), || {
        let gate: &Gate = leak(Gate::new(1, 0));
        let pass = || {
            // The gate asks before the caller sleeps, and after it has woken up in vain.
            let asked = Cell::new(0);
            let place = gate.enter(|| {
                asked.set(asked.get() + 1);
                false
            });
            assert!(asked.get() <= 1, "woken in vain");
            drop(place);
        };
        let threads = [(); 2].map(|()| thread::spawn(pass));
        pass();
        for thread in threads {
            thread.join().expect("the thread's assertions hold");
        }
    });
    assert!(orders > 100);
}

/// Checks that the model finds a place that is not given back.
#[test]
fn the_model_finds_calls_that_do_not_leave() {
    catch_unwind(|| explore(INTERRUPTIONS, || pass_gate(2, 1, false)))
        .expect_err("the fault is there");
}

/// Checks that the model finds a call that waits forever.
#[test]
fn the_model_finds_calls_that_get_no_lane() {
    let wait = || drop(Shared::new([0, 1, 1]).groups.enter(1, 1, || false));
    catch_unwind(|| explore(INTERRUPTIONS, wait)).expect_err("the fault is there");
}
