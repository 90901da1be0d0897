//! Tests of arrays without initial content, and of the texts of faults.

use ctru_simt::descriptor::Batch;
use ctru_simt::emulator::{Buffer, Emulate, Emulator, Fault, Space};
use ctru_simt::simt::{Simt, Update};

use crate::{ignore, kernel, run};

/// Runs a block of a kernel on an array of 64 words.
fn launch(emulate: Emulate, array: &Buffer) -> Result<(), Fault> {
    Emulator::new().launch(&kernel(emulate), &[array], Batch::each(1))
}

#[test]
fn arrays_without_content() {
    const READ: Emulate = |s, arrays, _| ignore(s.load::<u32>(arrays[0].view(), s.thread()));
    let array = Buffer::uninitialised(4, 64);
    let read = launch(READ, &array);
    let Err(Fault::Uninitialised { access, address: 0, .. }) = read else { panic!("{read:?}") };
    assert_eq!((access.space, access.thread), (Space::Global, 0));
    let update =
        launch(|s, arrays, _| ignore(s.atomic::<u32>(arrays[0].view(), 0, Update::Add(1))), &array);
    assert!(matches!(update, Err(Fault::Uninitialised { .. })), "{update:?}");
    // Half of each word is written, then the rest.
    for half in 0..2 {
        let write: Emulate = match half {
            0 => |s, arrays, _| s.store(s.cast::<u32, u16>(arrays[0].view()), 2 * s.thread(), 3),
            _ => {
                |s, arrays, _| s.store(s.cast::<u32, u16>(arrays[0].view()), 2 * s.thread() + 1, 4)
            }
        };
        assert_eq!(launch(write, &array), Ok(()));
        let read = launch(READ, &array);
        assert_eq!(read.is_ok(), half == 1, "{read:?}");
    }
    assert_eq!(array.content::<u32>(), [0x0004_0003; 64]);
    let array = Buffer::uninitialised(4, 64);
    array.set_bytes(&[1; 256]);
    assert_eq!(launch(READ, &array), Ok(()));
}

/// The number of bytes is not computed modulo the size of the address space.
#[test]
#[should_panic(expected = "at most isize::MAX bytes")]
fn arrays_beyond_the_address_space() {
    ignore(Buffer::uninitialised(4, usize::MAX / 4 + 2));
}

#[test]
fn texts_of_faults() {
    let texts: [(Result<_, Fault>, &str); 5] = [
        (
            run(|s, arrays, _| ignore(s.load::<u32>(arrays[0].view(), 128))),
            "test: read of global memory by thread 0 of block 0 at LINE is out of bounds or \
             unaligned: byte 512 of 512",
        ),
        (
            run(|s, _, _| ignore(s.load_shared::<u32>(4))),
            "test: read of shared memory by thread 0 of block 0 at LINE reads byte 4, which \
             nothing has written",
        ),
        (
            run(|s, _, _| s.store_shared(4, s.thread())),
            "test: race on byte 4: write of shared memory by thread 0 of block 0 at LINE; write of \
             shared memory by thread 1 of block 0 at LINE",
        ),
        (
            run(|s, arrays, _| {
                s.copy_to_shared::<u32>(arrays[0].view(), s.thread(), 4 * s.thread());
                ignore(s.load_shared::<u32>(4 * s.thread()));
            }),
            "test: read of shared memory by thread 0 of block 0 at LINE touches byte 0, whose copy \
             is not finished: write of shared memory by thread 0 of block 0 at LINE",
        ),
        (
            run(|s, _, _| {
                if s.thread() != 3 {
                    s.sync_block();
                }
            }),
            "test: in block 0 thread 0 waits at LINE, but thread 3 has returned",
        ),
    ];
    for (result, expected) in texts {
        let text = result.expect_err("a fault").to_string();
        // Each place of a source line becomes LINE.
        let words = text.split(' ').map(|word| {
            let end = word.find([';', ',']).unwrap_or(word.len());
            match word.contains(".rs:") {
                true => format!("LINE{}", &word[end..]),
                false => word.to_owned(),
            }
        });
        assert_eq!(words.collect::<Vec<_>>().join(" "), expected);
    }
}
