//! Tests the device on the CPU.

// Tests may unwrap: a test must fail if its input cannot be built.
#![allow(clippy::unwrap_used)]

mod common;

use std::time::Duration;

use ctru_gpu_runtime::emulated::{EmulatedDevice, EmulatedMemory};
use ctru_gpu_runtime::{Device, HostMemory, Launch, Order, Queue, RuntimeError};
use ctru_simt::descriptor::{Batch, Kernel, Parameter, Rows, Shape};
use ctru_simt::emulator::{Emulate, Fault};
use ctru_simt::simt::Simt;

#[test]
fn does_what_every_device_does() {
    common::check(&EmulatedDevice::with_memory(64 << 20)).unwrap();
}

/// A kernel of one thread that computes `to[0] = from[index[0]]`.
static PICK: Kernel = Kernel::emulated(
    "pick",
    Shape::new(1, 1, 0),
    &[
        Parameter::new("from", 1, Rows::EachOperation, 4),
        Parameter::new("index", 4, Rows::One, 1),
        Parameter::new("to", 1, Rows::EachOperation, 1),
    ],
    &EMULATE_PICK,
);

static EMULATE_PICK: Emulate = |s, buffers, _| {
    let &[from, index, to] = buffers else { unreachable!("the launch has checked the arguments") };
    s.store(to.view::<u8>(), 0, s.load(from.view::<u8>(), s.load(index.view::<u32>(), 0)));
};

#[test]
fn faults_are_errors_and_change_nothing() {
    let queue = EmulatedDevice::new().queue().unwrap();
    let (from, index, to) = (
        queue.allocate::<u8>(4).unwrap(),
        queue.allocate::<u32>(1).unwrap(),
        queue.allocate::<u8>(1).unwrap(),
    );
    // The index is read from new memory, whose content is a number far outside the array.
    let fault = queue.launch(&PICK, &[&from, &index, &to], Batch::each(1));
    assert!(
        matches!(fault, Err(RuntimeError::Emulator(Fault::Bounds { kernel: "pick", .. }))),
        "{fault:?}"
    );
    assert!(fault.unwrap_err().to_string().contains("emulated.rs"), "names the source line");
    let mut back = queue.pinned::<u8>(1).unwrap();
    queue.download(&to, 0..1, &mut back, 0).unwrap();
    assert_eq!(back.read().unwrap(), [0xa5]);
}

const WORD: &[Parameter] = &[Parameter::new("word", 4, Rows::One, 1)];

/// A kernel that takes longer than the device permits is an error, and the device still works.
#[test]
fn launches_end_in_time() {
    static WAIT: Kernel = Kernel::emulated("wait", Shape::new(1, 1, 0), WORD, &EMULATE_WAIT);
    static EMULATE_WAIT: Emulate =
        |s, buffers, _| while s.load::<u32>(buffers[0].view(), 0) == 0 {};
    let limit = Duration::from_millis(20);
    let queue = EmulatedDevice::with_time_limit(limit).queue().unwrap();
    let word = queue.allocate::<u32>(1).unwrap();
    queue.wipe(&word).unwrap();
    match queue.launch(&WAIT, &[&word], Batch::each(1)) {
        Err(RuntimeError::Emulator(Fault::TimeLimit { kernel: "wait", limit: named, .. })) => {
            assert_eq!(named, limit);
        }
        other => panic!("{other:?}"),
    }
    let mut one = queue.pinned::<u32>(1).unwrap();
    one.write().unwrap()[0] = 1;
    queue.upload(&one, 0..1, &word, 0).unwrap();
    // A launch that a busy machine stops for so long is late, too, and is repeated.
    let mut launches = (0..100).map(|_| queue.launch(&WAIT, &[&word], Batch::each(1)));
    let late = |of: &_| matches!(of, Err(RuntimeError::Emulator(Fault::TimeLimit { .. })));
    launches.find(|launch| !late(launch)).unwrap().unwrap();
}

/// A panic in the code of a kernel leaves the launch, also if other threads wait at a barrier. The
/// device still works.
#[test]
fn panics_of_kernels_pass_through() {
    static PANICS: Kernel = Kernel::emulated("panics", Shape::new(64, 1, 0), WORD, &EMULATE_PANICS);
    static EMULATE_PANICS: Emulate = |s, buffers, _| {
        if s.thread() == 40 && s.load::<u32>(buffers[0].view(), 0) != 0 {
            std::panic::resume_unwind(Box::new("on purpose"));
        }
        s.sync_block();
    };
    let queue = EmulatedDevice::new().queue().unwrap();
    let word = queue.allocate::<u32>(1).unwrap();
    let launch = || queue.launch(&PANICS, &[&word], Batch::each(2));
    let panic = std::panic::catch_unwind(core::panic::AssertUnwindSafe(launch)).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"on purpose"));
    queue.wipe(&word).unwrap();
    assert_eq!(launch(), Ok(()));
}

#[test]
fn the_same_memory_may_be_two_arguments() {
    let queue = EmulatedDevice::new().queue().unwrap();
    let mut pinned = queue.pinned::<u8>(4).unwrap();
    pinned.write().unwrap().copy_from_slice(&[1, 2, 3, 4]);
    let (bytes, index) = (queue.allocate::<u8>(4).unwrap(), queue.allocate::<u32>(1).unwrap());
    queue.upload(&pinned, 0..4, &bytes, 0).unwrap();
    queue.upload(&queue.pinned::<u32>(1).unwrap(), 0..1, &index, 0).unwrap();
    queue.launch(&PICK, &[&bytes, &index, &bytes], Batch::each(1)).unwrap();
    queue.download(&bytes, 0..4, &mut pinned, 0).unwrap();
    assert_eq!(pinned.read().unwrap(), [1, 2, 3, 4]);
}

/// A launch without operations waits for nothing, whatever its order says, so later launches do not
/// wait for those beside it. The emulator shows this, because it runs those as late as it may.
#[test]
fn a_join_without_operations_joins_nothing() {
    let queue = EmulatedDevice::new().queue().unwrap();
    let index = queue.allocate::<u32>(1).unwrap();
    queue.wipe(&index).unwrap();
    let after = |joined| {
        let [from, through, to] = [7, 0, 0].map(|number| {
            let bytes = queue.allocate::<u8>(4).unwrap();
            let number = [number; 4];
            queue.scope(|scope| queue.upload_from(scope, &number, &bytes)).unwrap();
            bytes
        });
        let unused = queue.allocate::<u8>(1).unwrap();
        let launch = |memory: [_; 2], operations, order| {
            let [from, to]: [&EmulatedMemory; 2] = memory;
            let memory = vec![from, &*index, to];
            Launch { kernel: &PICK, memory, batch: Batch::each(operations), order }
        };
        let launches = [
            launch([&from, &through], 1, Order::Beside),
            launch([&from, &unused], joined, Order::Join),
            launch([&through, &to], 1, Order::Next),
        ];
        queue.launch_all(&launches).unwrap();
        let mut number = [0];
        queue.scope(|scope| queue.download_to(scope, &to, &mut number)).unwrap();
        number[0]
    };
    assert_eq!((after(1), after(0)), (7, 0));
}

/// A kernel that casts bytes to words takes only slices at multiples of the size of a word.
#[test]
fn arrays_are_aligned_for_casts() {
    static WORDS: Kernel = Kernel::emulated(
        "words",
        Shape::new(1, 1, 0),
        &[Parameter::new("bytes", 1, Rows::EachOperation, 4).in_multiples_of(4)],
        &EMULATE_WORDS,
    );
    static EMULATE_WORDS: Emulate = |s, buffers, _| {
        let words = s.cast::<u8, u32>(buffers[0].view());
        s.store(words, 0, 7);
    };
    let queue = EmulatedDevice::new().queue().unwrap();
    let bytes = queue.allocate::<u8>(16).unwrap();
    let launch = |start| {
        let slice = queue.slice::<u8>(&bytes, start..16).unwrap();
        queue.launch(&WORDS, &[&slice], Batch::each(1))
    };
    assert_eq!(launch(4), Ok(()));
    let refused = RuntimeError::Alignment { kernel: "words", parameter: "bytes", bytes: 4 };
    assert_eq!(launch(1), Err(refused.clone()));
    assert_eq!(launch(6), Err(refused));
}

#[test]
fn traces() {
    let device = EmulatedDevice::traced();
    let queue = device.queue().unwrap();
    let trace = |number: u32| {
        let mut pinned = queue.pinned::<u32>(1).unwrap();
        pinned.write().unwrap()[0] = number;
        let (from, index, to) = (
            queue.allocate::<u8>(4).unwrap(),
            queue.allocate::<u32>(1).unwrap(),
            queue.allocate::<u8>(1).unwrap(),
        );
        queue.upload(&pinned, 0..1, &index, 0).unwrap();
        queue.launch(&PICK, &[&from, &index, &to], Batch::each(1)).unwrap();
        device.take_trace()
    };
    assert_eq!(trace(2).len(), 3);
    assert_eq!(trace(2), trace(2));
    assert_ne!(trace(2), trace(3), "the address depends on the index");
    assert!(device.take_trace().is_empty());
}

#[test]
fn memory_of_another_device_is_refused() {
    let (here, there) =
        (EmulatedDevice::new().queue().unwrap(), EmulatedDevice::new().queue().unwrap());
    let foreign = there.allocate::<u8>(4).unwrap();
    assert!(matches!(here.wipe(&foreign), Err(RuntimeError::Foreign { .. })));
    let mut pinned = here.pinned::<u8>(4).unwrap();
    assert!(matches!(here.upload(&pinned, 0..4, &foreign, 0), Err(RuntimeError::Foreign { .. })));
    let refused = there.download(&foreign, 0..4, &mut pinned, 0);
    assert!(matches!(refused, Err(RuntimeError::Foreign { what: "pinned memory", .. })));
}
