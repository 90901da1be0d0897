//! Tests of asynchronous copies.

use ctru_simt::emulator::{Buffer, Fault, Thread};
use ctru_simt::simt::Simt;

use crate::{ignore, run};

/// Begins to copy the thread's own word to shared memory.
fn begin(s: Thread<'_>, array: &Buffer) {
    s.copy_to_shared::<u32>(array.view(), 64 * s.block() + s.thread(), 4 * s.thread());
}

fn assert_unfinished(result: Result<Vec<u32>, Fault>) {
    assert!(matches!(result, Err(Fault::Unfinished { .. })), "{result:?}");
}

#[test]
fn a_copy_is_written_when_its_thread_waits() {
    let finished = run(|s, arrays, _| {
        begin(s, arrays[0]);
        s.commit_copies();
        s.wait_for_copies::<0>();
        ignore(s.load_shared::<u32>(4 * s.thread()));
        s.sync_block();
        let word: u32 = s.load_shared(4 * (63 - s.thread()));
        s.store(arrays[0].view(), 64 * s.block() + s.thread(), word + s.thread());
    });
    assert_eq!(finished, Ok((0..128).map(|i| 7 + i % 64).collect()));
    let without_barrier = run(|s, arrays, _| {
        begin(s, arrays[0]);
        s.commit_copies();
        s.wait_for_copies::<0>();
        ignore(s.load_shared::<u32>(4 * (s.thread() / 2)));
    });
    assert!(matches!(without_barrier, Err(Fault::Race { .. })), "{without_barrier:?}");
}

#[test]
fn nothing_touches_unfinished_copies() {
    assert_unfinished(run(|s, arrays, _| {
        begin(s, arrays[0]);
        ignore(s.load_shared::<u32>(4 * s.thread()));
    }));
    assert_unfinished(run(|s, arrays, _| {
        begin(s, arrays[0]);
        s.store_shared(4 * s.thread() + 2, 0u8);
    }));
    // Waiting does not finish copies that belong to no group.
    assert_unfinished(run(|s, arrays, _| {
        begin(s, arrays[0]);
        s.wait_for_copies::<0>();
        ignore(s.load_shared::<u32>(4 * s.thread()));
    }));
    // The last group may stay unfinished.
    assert_unfinished(run(|s, arrays, _| {
        begin(s, arrays[0]);
        s.commit_copies();
        s.wait_for_copies::<1>();
        ignore(s.load_shared::<u32>(4 * s.thread()));
    }));
    // A barrier does not replace the wait.
    assert_unfinished(run(|s, arrays, _| {
        if s.thread() == 0 {
            begin(s, arrays[0]);
        }
        s.sync_block();
        if s.thread() == 40 {
            ignore(s.load_shared::<u32>(0));
        }
    }));
}

#[test]
fn copies_race_with_other_accesses() {
    let written = run(|s, arrays, _| {
        if s.thread() == 0 {
            s.store_shared(4, 1u32);
        }
        if s.thread() == 1 {
            begin(s, arrays[0]);
        }
    });
    assert!(matches!(written, Err(Fault::Race { .. })), "{written:?}");
    let outside = run(|s, arrays, _| s.copy_to_shared::<u32>(arrays[0].view(), 0, 256));
    assert!(matches!(outside, Err(Fault::Bounds { .. })), "{outside:?}");
}
