//! Tests of barriers, shuffles, bounds, races of plain accesses, and traces.

use core::time::Duration;
#[cfg(target_os = "linux")]
use std::process::Command;

use ctru_simt::descriptor::{Batch, Kernel, Parameter, Rows, Shape};
use ctru_simt::emulator::{Buffer, Emulate, Emulator, Fault, Thread};
use ctru_simt::simt::{Simt, U32x4, Update};

use crate::{ignore, kernel, run};

/// Writes the thread's own word of shared memory, calls `between`, and returns the word of thread
/// `other`.
fn exchange(s: Thread<'_>, other: u32, between: impl Fn()) -> u32 {
    s.store_shared::<u32>(4 * s.thread(), s.thread());
    between();
    s.load_shared(4 * other)
}

#[test]
fn block_barriers_order() {
    let result = run(|s, arrays, _| {
        let read = exchange(s, 63 - s.thread(), || s.sync_block());
        s.store(arrays[0].view(), 64 * s.block() + s.thread(), read);
    });
    assert_eq!(result, Ok((0..128).map(|i| 63 - i % 64).collect()));
}

#[test]
fn warp_barriers_order_in_a_warp_only() {
    assert!(run(|s, _, _| ignore(exchange(s, s.thread() ^ 1, || s.sync_warp()))).is_ok());
    let across = run(|s, _, _| ignore(exchange(s, s.thread() ^ 32, || s.sync_warp())));
    // The first warp runs before the second warp has written anything.
    assert!(matches!(across, Err(Fault::Uninitialised { .. })), "{across:?}");
    let written_before = run(|s, _, _| {
        s.store_shared::<u32>(4 * s.thread(), 0);
        s.sync_block();
        ignore(exchange(s, s.thread() ^ 32, || s.sync_warp()));
    });
    assert!(matches!(written_before, Err(Fault::Race { .. })), "{written_before:?}");
}

#[test]
fn shuffles_move_values_and_order_nothing() {
    let result = run(|s, arrays, _| {
        let value = s.shuffle(s.thread(), 31 - s.lane());
        s.store(arrays[0].view(), 64 * s.block() + s.thread(), value);
    });
    assert_eq!(result, Ok((0..128).map(|i| i % 64 / 32 * 32 + 31 - i % 32).collect()));
    let race = run(|s, _, _| {
        exchange(s, s.thread() ^ 1, || {
            s.shuffle(0, 0);
        });
    });
    assert!(matches!(race, Err(Fault::Race { .. })), "{race:?}");
}

#[test]
fn races_name_both_accesses() {
    let Err(fault) = run(|s, _, _| s.store_shared::<u32>(0, s.thread())) else {
        panic!("no race found")
    };
    let Fault::Race { kernel, first, second, address } = fault else { panic!("{fault}") };
    assert_eq!((kernel, first.thread, second.thread, address), ("test", 0, 1, 0));
    assert!(first.location.file().ends_with("rules.rs") && first.location == second.location);
    // A write after reads by other threads is a race too. Reads alone are not a race.
    let after_reads = run(|s, arrays, _| {
        s.load::<u32>(arrays[0].view(), 0);
        if s.thread() == 63 {
            s.store(arrays[0].view(), 0, 1u32);
        }
    });
    assert!(matches!(after_reads, Err(Fault::Race { .. })), "{after_reads:?}");
    assert!(run(|s, arrays, _| ignore(s.load::<u32>(arrays[0].view(), 0))).is_ok());
}

/// A write races with a read of any thread, however many threads have read since.
#[test]
fn races_with_older_reads_are_found() {
    let other_warp = run(|s, arrays, _| {
        ignore(s.load::<u32>(arrays[0].view(), 64 * s.block()));
        s.sync_warp();
        if s.thread() == 32 {
            s.store(arrays[0].view(), 64 * s.block(), 1u32);
        }
    });
    let Err(Fault::Race { first, second, .. }) = other_warp else { panic!("{other_warp:?}") };
    assert_eq!((first.thread, second.thread), (0, 32));
    let other_block = run(|s, arrays, _| {
        ignore(s.load::<u32>(arrays[0].view(), 0));
        s.sync_block();
        if s.block() == 1 && s.thread() == 0 {
            s.store(arrays[0].view(), 0, 1u32);
        }
    });
    let Err(Fault::Race { first, second, .. }) = other_block else { panic!("{other_block:?}") };
    assert_eq!((first.block, second.block), (0, 1));
    let same_warp = run(|s, arrays, _| {
        ignore(s.load::<u32>(arrays[0].view(), 64 * s.block()));
        if s.thread() == 31 {
            s.store(arrays[0].view(), 64 * s.block(), 1u32);
        }
    });
    let Err(Fault::Race { first, second, .. }) = same_warp else { panic!("{same_warp:?}") };
    assert_eq!((first.thread, second.thread), (0, 31));
    let ordered = run(|s, arrays, _| {
        ignore(s.load::<u32>(arrays[0].view(), 64 * s.block()));
        s.sync_block();
        if s.thread() < 32 {
            ignore(s.load::<u32>(arrays[0].view(), 64 * s.block()));
            s.sync_warp();
            if s.thread() == 5 {
                s.store(arrays[0].view(), 64 * s.block(), 1u32);
            }
        }
    });
    assert!(ordered.is_ok(), "{ordered:?}");
}

#[test]
fn nothing_orders_blocks() {
    let race = run(|s, arrays, _| {
        if s.thread() == 0 {
            s.store(arrays[0].view(), 5, s.block());
        }
        s.sync_block();
    });
    let Err(Fault::Race { first, second, .. }) = race else { panic!("{race:?}") };
    assert_eq!((first.block, second.block), (0, 1));
}

#[test]
fn launches_are_ordered() {
    let array = Buffer::new(&[7u32; 64]);
    let write = kernel(|s, arrays, _| s.store(arrays[0].view(), 63 - s.thread(), 1u32));
    let read = kernel(|s, arrays, _| ignore(s.load::<u32>(arrays[0].view(), s.thread())));
    for kernel in [&write, &read, &write] {
        Emulator::new().launch(kernel, &[&array], Batch::each(1)).expect("no fault");
    }
}

/// An array may be longer than the descriptor declares. The kernel may not access the rest.
#[test]
fn accesses_behind_the_declared_part() {
    let array = Buffer::new(&[7u32; 128]);
    let read = kernel(|s, arrays, _| ignore(s.load::<u32>(arrays[0].view(), 64 - s.thread())));
    let result = Emulator::new().launch(&read, &[&array], Batch::each(1));
    assert!(matches!(result, Err(Fault::Bounds { address: 256, bytes: 256, .. })), "{result:?}");
}

#[test]
fn accesses_outside_or_unaligned() {
    for outside in [
        run(|s, arrays, _| ignore(s.load::<u32>(arrays[0].view(), 128))),
        run(|s, arrays, _| s.store(arrays[0].view(), 128 + s.thread(), 0u32)),
        run(|s, _, _| s.store_shared(256, 0u8)),
        run(|s, _, _| s.store_shared(253, 0u32)),
        run(|s, _, _| s.store_shared(2, 0u32)),
        run(|s, _, _| s.store_shared(8, U32x4::default())),
        run(|s, _, _| ignore(s.constant(&[1, 2, 3], 3))),
    ] {
        assert!(matches!(outside, Err(Fault::Bounds { .. })), "{outside:?}");
    }
}

/// Launches check that arrays are aligned as the descriptor says, so a wider access is a fault
/// even where this launch's array is aligned.
#[test]
fn accesses_wider_than_declared() {
    let wide = run(|s, arrays, _| {
        s.store(s.cast::<u32, u64>(arrays[0].view()), s.thread() / 2, 1u64);
    });
    let Err(fault) = wide else { panic!("no fault") };
    let Fault::Width { access, parameter, declared, bytes, .. } = fault else { panic!("{fault}") };
    assert_eq!((access.thread, parameter, declared, bytes), (0, "array", 4, 8));
    assert!(access.location.file().ends_with("rules.rs"));
    // The cast alone is no fault, nor is an access that is narrower than the elements.
    assert!(run(|s, arrays, _| ignore(s.cast::<u32, u64>(arrays[0].view()))).is_ok());
    let narrow = run(|s, arrays, _| {
        ignore(s.load(s.cast::<u32, u16>(arrays[0].view()), s.thread()));
    });
    assert!(narrow.is_ok(), "{narrow:?}");
    // Every way to access an array is checked.
    for other in [
        run(|s, arrays, _| ignore(s.load(s.cast::<u32, U32x4>(arrays[0].view()), 0))),
        run(|s, arrays, _| {
            s.atomic(s.cast::<u32, u64>(arrays[0].view()), 0, Update::Add(1u64));
        }),
        run(|s, arrays, _| {
            s.atomic_add_float(s.cast::<u32, f64>(arrays[0].view()), 0, 1.0);
        }),
        run(|s, arrays, _| s.copy_to_shared(s.cast::<u32, u64>(arrays[0].view()), 0, 0)),
    ] {
        assert!(matches!(other, Err(Fault::Width { .. })), "{other:?}");
    }
    // A declaration permits the access.
    const WIDER: &[Parameter] =
        &[Parameter::new("array", 4, Rows::EachOperation, 64).cast_to::<u64>()];
    static WIDE: Emulate = |s, arrays, _| {
        let words = s.cast::<u32, u64>(arrays[0].view());
        s.store(words, 32 * s.block() + s.thread(), 1u64);
    };
    let kernel = Kernel::emulated("test", Shape::new(32, 1, 0), WIDER, &WIDE);
    let result = Emulator::new().launch(&kernel, &[&Buffer::new(&[7u32; 128])], Batch::each(2));
    assert_eq!(result, Ok(()));
}

#[test]
fn shared_memory_starts_undefined_in_every_block() {
    let undefined = run(|s, _, _| ignore(s.load_shared::<u8>(3)));
    assert!(matches!(undefined, Err(Fault::Uninitialised { address: 3, .. })), "{undefined:?}");
}

#[test]
fn divergence() {
    let returned = run(|s, _, _| {
        if s.thread() != 40 {
            s.sync_block();
        }
    });
    let Err(Fault::Divergence { other: 40, other_at: None, .. }) = returned else {
        panic!("{returned:?}")
    };
    let elsewhere = run(|s, _, _| {
        if s.lane() < 16 {
            s.sync_warp();
        } else {
            ignore(s.shuffle(0, 0));
        }
    });
    assert!(matches!(elsewhere, Err(Fault::Divergence { .. })), "{elsewhere:?}");
    let whole_warp = run(|s, _, _| {
        if s.warp() == 1 {
            s.sync_block();
        }
    });
    assert!(matches!(whole_warp, Err(Fault::Divergence { .. })), "{whole_warp:?}");
    // The requests are made in another function, but have the line of its caller.
    #[track_caller]
    fn vote_or_pass<S: Simt>(s: S, votes: bool) -> u32 {
        if votes { s.ballot(true) } else { s.lanes_with(1) }
    }
    let other_request = run(|s, _, _| ignore(vote_or_pass(s, s.lane() < 16))).unwrap_err();
    assert!(matches!(other_request, Fault::Divergence { other: 16, .. }), "{other_request:?}");
    assert!(other_request.to_string().ends_with(" for something else"), "{other_request}");
}

/// A thread that spins for ever does not hang the test, with and without barriers in its loop.
#[test]
fn launches_end() {
    let array = Buffer::new(&[7u32; 64]);
    let emulator = Emulator::with_time_limit(Duration::from_millis(20));
    let stops = |kernel| {
        let result = emulator.launch(&kernel, &[&array], Batch::each(1));
        let Err(fault) = result else { panic!("{result:?}") };
        let Fault::TimeLimit { kernel, block, location, .. } = fault else { panic!("{fault}") };
        assert_eq!((kernel, block), ("test", 0));
        assert!(location.file().ends_with("rules.rs"));
        assert!(fault.to_string().starts_with("test: the launch has taken longer than 20ms"));
    };
    stops(kernel(|s, arrays, _| while s.atomic_load::<u32>(arrays[0].view(), 0) == 7 {}));
    stops(kernel(|s, _, _| while s.any(true) {}));
    stops(kernel(|s, _, _| {
        loop {
            s.sync_block();
        }
    }));
    // Every block looks at its first operation.
    let short = kernel(|s, arrays, _| ignore(s.load::<u32>(arrays[0].view(), 0)));
    let result =
        Emulator::with_time_limit(Duration::ZERO).launch(&short, &[&array], Batch::each(1));
    assert!(matches!(result, Err(Fault::TimeLimit { .. })), "{result:?}");
    let waits = kernel(|s, arrays, _| while s.atomic_load::<u32>(arrays[0].view(), 0) != 7 {});
    // A launch that a busy machine stops for so long is late, too, and is repeated.
    let mut counts = (0..100).map(|_| emulator.count(&waits, &[&array], Batch::each(1)));
    let count = counts.find(|count| !matches!(count, Err(Fault::TimeLimit { .. })));
    assert_eq!(count, Some(Ok(64)));
}

/// A kernel whose threads find no memory for their stacks is a fault. The process that shows this
/// may map less memory than the stacks of a block of 1024 threads have.
#[test]
#[cfg(target_os = "linux")]
fn threads_without_stacks_are_a_fault() {
    const LIMITED: &str = "CTRU_LIMITED_MEMORY";
    const KIB: u32 = 200 << 10;
    static NOTHING: Emulate = |_, _, _| ();
    let large = Kernel::emulated("large", Shape::new(1024, 1, 0), &[], &NOTHING);
    if std::env::var_os(LIMITED).is_some() {
        let result = Emulator::new().launch(&large, &[], Batch::each(1));
        assert_eq!(result, Err(Fault::NoStack { kernel: "large", block: 0 }));
        // The stacks that were found have been given back.
        assert!(run(|s, _, _| s.sync_block()).is_ok());
        return println!("a fault");
    }
    assert_eq!(Emulator::new().launch(&large, &[], Batch::each(1)), Ok(()));
    let test = "rules::threads_without_stacks_are_a_fault";
    let command = format!("ulimit -v {KIB} && exec \"$0\" --exact {test} --nocapture");
    let program = std::env::current_exe().expect("a test knows its program");
    let limited = Command::new("sh").arg("-c").arg(command).arg(program).env(LIMITED, "1").output();
    let limited = limited.expect("a shell");
    let output = String::from_utf8_lossy(&limited.stdout);
    assert!(limited.status.success() && output.contains("a fault"), "{limited:?}");
}

#[test]
fn wrong_arguments() {
    let bytes = Buffer::new(&[0u8; 512]);
    let result = Emulator::new().launch(&kernel(|_, _, _| ()), &[&bytes], Batch::each(1));
    assert_eq!(result, Err(Fault::Arguments { kernel: "test" }));
}

/// Returns a kernel in which every thread uses its own word as an index, like a table lookup with a
/// secret index.
fn look_up() -> Kernel {
    kernel(|s, arrays, _| {
        let secret = s.load::<u32>(arrays[0].view(), s.thread());
        ignore(s.load::<u32>(arrays[0].view(), secret));
    })
}

#[test]
fn traces_show_addresses() {
    let array = Buffer::new(&[9u32; 64]);
    let trace = Emulator::new().trace(&look_up(), &[&array], Batch::each(1)).expect("no fault");
    let accesses: Vec<_> = trace.iter().map(|event| (event.writes, event.address)).collect();
    let expected: Vec<_> = (0..64).flat_map(|thread| [(false, 4 * thread), (false, 36)]).collect();
    assert_eq!(accesses, expected);
}
