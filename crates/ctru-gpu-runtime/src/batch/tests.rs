//! Tests of slots, and of how chunks are dealt to them.

use std::sync::Mutex;

use super::deal::Deal;
use super::slots::{Settle, Slots};

impl Settle for u32 {
    fn settle(&self) {}
}

#[test]
fn a_panic_gives_the_slot_back() {
    let slots = Slots::new(vec![7u32]);
    let panicked = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let _slot = slots.take();
            panic!("on purpose");
        });
        thread.join().is_err()
    });
    assert!(panicked);
    assert_eq!(*slots.take(), 7);
}

#[test]
fn only_work_that_has_not_succeeded_is_settled() {
    use core::cell::Cell;

    #[derive(Debug, Default)]
    struct Counted(Cell<u32>);
    impl Settle for Counted {
        fn settle(&self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let slots = Slots::new(vec![Counted::default()]);
    slots.take().succeeded();
    drop(slots.take());
    assert_eq!(slots.take().0.get(), 1);
}

/// What a thread does with a chunk.
#[derive(Debug, PartialEq)]
enum Step {
    Issue(usize),
    Finish(usize),
}
use Step::{Finish, Issue};

/// Serves five chunks on the slots, of which `taken` are in use, with three chunks under way if
/// possible. The chunk `failing` fails when it is issued. Returns what happened, and the
/// number of operations that were done.
fn serve(slots: usize, taken: usize, failing: Option<usize>) -> (Vec<Step>, usize) {
    let slots = [Slots::new(vec![0u32; slots])];
    let others: Vec<_> = (0..taken).map(|_| slots[0].take()).collect();
    let chunks = (0..5).map(|number| (0, number..number + 1, number));
    let deal = Deal::new(&slots, &|| false, [slots[0].len(), 3], chunks);
    // Three chunks of five, or of as many as there are slots, are with one thread.
    assert_eq!(deal.servers().len(), if slots[0].len() > 3 { 2 } else { 1 });
    let steps = Mutex::new(Vec::new());
    let issue = |_: &mut _, number| {
        steps.lock().unwrap().push(Issue(number));
        if failing == Some(number) { Err(()) } else { Ok(number) }
    };
    let finish = |_: &mut _, number| {
        steps.lock().unwrap().push(Finish(number));
        Ok(())
    };
    deal.serve(0, &issue, &finish);
    drop(others);
    let (done, failure) = deal.end();
    assert_eq!(failure.is_some(), failing.is_some());
    (steps.into_inner().unwrap(), done.len())
}

#[test]
fn a_thread_has_several_chunks_under_way() {
    let all = [
        [Issue(0), Issue(1), Issue(2)],
        [Finish(0), Issue(3), Finish(1)],
        [Issue(4), Finish(2), Finish(3)],
    ];
    let expected: Vec<_> = all.into_iter().flatten().chain([Finish(4)]).collect();
    assert_eq!(serve(8, 0, None), (expected, 5));
}

#[test]
fn a_thread_with_a_slot_does_not_wait_for_others() {
    let expected = (0..5).flat_map(|number| [Issue(number), Finish(number)]).collect();
    assert_eq!(serve(2, 1, None), (expected, 5));
}

#[test]
fn what_was_issued_before_a_failure_is_finished() {
    let expected = vec![Issue(0), Issue(1), Finish(0)];
    assert_eq!(serve(4, 0, Some(1)), (expected, 1));
}
