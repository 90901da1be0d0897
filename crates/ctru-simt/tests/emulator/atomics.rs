//! Tests of atomic accesses and votes.

use ctru_simt::emulator::{Fault, Kind};
use ctru_simt::simt::{Simt, Update};

use crate::{ignore, run};

/// Checks that a fault is a race between accesses of these kinds.
fn assert_race(result: Result<Vec<u32>, Fault>, kinds: [Kind; 2]) {
    let Err(Fault::Race { first, second, .. }) = &result else { panic!("{result:?}") };
    assert_eq!([first.kind, second.kind], kinds, "{result:?}");
}

#[test]
fn atomic_accesses_do_not_race() {
    let result = run(|s, arrays, _| {
        s.atomic::<u32>(arrays[0].view(), 5, Update::Add(1));
        s.atomic_shared::<u32>(0, Update::Add(1));
    });
    // The word of shared memory has no content before.
    assert!(matches!(result, Err(Fault::Uninitialised { .. })), "{result:?}");
    let result = run(|s, arrays, _| {
        if s.thread() == 0 {
            s.store_shared(0, 0u32);
        }
        s.sync_block();
        s.atomic::<u32>(arrays[0].view(), 5, Update::Add(1));
        s.atomic_shared(0, Update::Max(s.thread()));
        s.sync_block();
        if s.thread() == 0 {
            s.store(arrays[0].view(), 64 * s.block(), s.load_shared::<u32>(0));
        }
    });
    let array = result.expect("no fault");
    assert_eq!((array[5], array[0], array[64]), (7 + 128, 63, 63));
}

#[test]
fn updates() {
    let updates = [
        (Update::Add(i32::MAX), i32::MIN + 1),
        (Update::Min(-3), -3),
        (Update::Max(-3), 2),
        (Update::Exchange(9), 9),
        (Update::CompareExchange { expected: 2, new: 8 }, 8),
        (Update::CompareExchange { expected: 3, new: 8 }, 2),
    ];
    for (update, new) in updates {
        assert_eq!(update.applied(2), new, "{update:?}");
    }
}

#[test]
fn atomic_and_plain_accesses_race() {
    let read_after = run(|s, arrays, _| {
        s.atomic::<u32>(arrays[0].view(), 5, Update::Add(1));
        ignore(s.load::<u32>(arrays[0].view(), 5));
    });
    assert_race(read_after, [Kind::Read, Kind::Atomic]);
    let read_before = run(|s, arrays, _| {
        ignore(s.load::<u32>(arrays[0].view(), 5));
        s.atomic::<u32>(arrays[0].view(), 5, Update::Add(1));
    });
    assert_race(read_before, [Kind::Atomic, Kind::Read]);
    let write_after = run(|s, arrays, _| match s.thread() {
        40 => s.store(arrays[0].view(), 64 * s.block(), 1u32),
        _ => ignore(s.atomic::<u32>(arrays[0].view(), 64 * s.block(), Update::Add(1))),
    });
    assert_race(write_after, [Kind::Atomic, Kind::Write]);
    let in_shared_memory = run(|s, _, _| {
        if s.thread() == 0 {
            s.store_shared(0, 0u32);
        }
        s.atomic_shared::<u32>(0, Update::Add(1));
    });
    assert_race(in_shared_memory, [Kind::Write, Kind::Atomic]);
}

/// An atomic access of the same block does not hide a race with another block.
#[test]
fn atomic_accesses_order_nothing() {
    let across_blocks = run(|s, arrays, _| {
        if s.block() == 0 && s.thread() == 0 {
            s.store(arrays[0].view(), 5, 0u32);
        }
        s.sync_block();
        s.atomic::<u32>(arrays[0].view(), 5, Update::Add(1));
    });
    assert_race(across_blocks, [Kind::Write, Kind::Atomic]);
    let read_by_another_block = run(|s, arrays, _| {
        if s.block() == 0 {
            s.atomic::<u32>(arrays[0].view(), 5, Update::Add(1));
        }
        s.sync_block();
        ignore(s.load::<u32>(arrays[0].view(), 5));
    });
    assert_race(read_by_another_block, [Kind::Atomic, Kind::Read]);
    let flag = run(|s, arrays, _| {
        if s.thread() == 0 {
            s.store(arrays[0].view(), 1 + 64 * s.block(), 3u32);
        }
        s.atomic::<u32>(arrays[0].view(), 64 * s.block(), Update::Add(1));
        ignore(s.load::<u32>(arrays[0].view(), 1 + 64 * s.block()));
    });
    assert_race(flag, [Kind::Write, Kind::Read]);
}

#[test]
fn barriers_order_atomic_and_plain_accesses() {
    let ordered = run(|s, arrays, _| {
        let place = 64 * s.block();
        if s.thread() == 9 {
            s.store(arrays[0].view(), place, 1u32);
        }
        s.sync_block();
        s.atomic_add_float::<f32>(s.cast::<u32, f32>(arrays[0].view()), place + 1, 1.0);
        s.atomic::<u32>(arrays[0].view(), place, Update::Add(1));
        s.sync_block();
        ignore(s.load::<u32>(arrays[0].view(), place));
        s.sync_block();
        s.atomic::<u32>(arrays[0].view(), place, Update::Add(1));
    });
    assert_eq!(ordered.map(|array| (array[0], array[64])), Ok((129, 129)));
}

#[test]
fn votes() {
    let result = run(|s, arrays, _| {
        let odd = s.ballot(s.lane() % 2 == 1);
        let same = s.lanes_with(s.lane() / 8);
        let some = [s.any(s.lane() == 3), s.any(false), s.all(true), s.all(s.lane() != 3)];
        let word = match s.lane() {
            0 => odd,
            k @ 1..5 => u32::from(some[k as usize - 1]),
            _ => same,
        };
        s.store(arrays[0].view(), 64 * s.block() + s.thread(), word);
    });
    let array = result.expect("no fault");
    assert_eq!(array[..5], [0xaaaa_aaaa, 1, 0, 1, 0]);
    assert_eq!((array[5], array[8], array[63]), (0xff, 0xff00, 0xff00_0000));
    let divergent = run(|s, _, _| {
        if s.lane() < 16 {
            s.ballot(true);
        }
    });
    assert!(matches!(divergent, Err(Fault::Divergence { .. })), "{divergent:?}");
}

/// An atomic load reads what an atomic update may write at the same time, but not what a plain
/// store may write.
#[test]
fn atomic_loads() {
    let with_updates = run(|s, arrays, _| {
        s.atomic::<u32>(arrays[0].view(), 5, Update::Add(1));
        let seen: u32 = s.atomic_load(arrays[0].view(), 5);
        s.sync_block();
        if s.thread() == 63 {
            s.store(arrays[0].view(), 64 + s.block(), seen);
        }
    });
    let array = with_updates.expect("no fault");
    // Threads run in order, so the last one of a block has seen all its updates.
    assert_eq!((array[5], array[64], array[65]), (7 + 128, 7 + 64, 7 + 128));
    let with_stores = run(|s, arrays, _| {
        if s.thread() == 0 {
            s.store(arrays[0].view(), 5, 1u32);
        } else {
            ignore(s.atomic_load::<u32>(arrays[0].view(), 5));
        }
    });
    assert_race(with_stores, [Kind::Write, Kind::Atomic]);
}
