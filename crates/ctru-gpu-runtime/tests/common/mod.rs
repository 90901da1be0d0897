//! Checks that every device must pass. Both test files run all these checks.
#![allow(unsafe_code)]

use ctru_gpu_runtime::{
    Device, DeviceMemory, HostMemory, Plain, Queue, RuntimeError, SharedMemory,
};
use ctru_simt::descriptor::{Batch, Kernel, Parameter, Rows, Shape};
use ctru_simt::emulator::Emulate;
use ctru_simt::ptx::Module;
use ctru_simt::simt::{Simt, U32x4};

/// Number of threads per block of `reverse`, and of elements per operation.
const LEN: u32 = 64;
const N: usize = LEN as usize;

/// Computes `output[i] = key[LEN - 1 - i] + i` for each operation, through shared memory.
fn reverse<S: Simt>(s: S, keys: S::Global<u16>, output: S::Global<u32>, batch: Batch) {
    let (operation, i) = (s.block(), s.thread());
    s.store_shared::<u32>(4 * i, u32::from(s.load(keys, batch.row(operation) * LEN + i)));
    s.sync_block();
    let mirrored = s.load_shared::<u32>(4 * (LEN - 1 - i));
    s.store(output, operation * LEN + i, mirrored + i);
}

/// The kernel `reverse` in PTX for the GPU, written by hand.
#[allow(dead_code)] // The test of the emulator does not use it.
pub(crate) const PTX: &str = "
.version 7.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 smem[];

.visible .entry reverse(
    .param .u64 p_keys, .param .u64 p_output, .param .u32 p_count, .param .u32 p_number)
{
    .reg .pred %p;
    .reg .u16 %h;
    .reg .u32 %i, %block, %key, %number, %value, %address, %base;
    .reg .u64 %keys, %output, %offset;

    ld.param.u64 %keys, [p_keys];
    ld.param.u64 %output, [p_output];
    ld.param.u32 %number, [p_number];
    cvta.to.global.u64 %keys, %keys;
    cvta.to.global.u64 %output, %output;
    mov.u32 %i, %tid.x;
    mov.u32 %block, %ctaid.x;
    mov.u32 %base, smem;

    setp.eq.u32 %p, %number, 1;
    selp.u32 %key, 0, %block, %p;
    mad.lo.u32 %key, %key, 64, %i;
    mad.wide.u32 %offset, %key, 2, %keys;
    ld.global.u16 %h, [%offset];
    cvt.u32.u16 %value, %h;
    mad.lo.u32 %address, %i, 4, %base;
    st.shared.u32 [%address], %value;
    bar.sync 0;
    sub.u32 %address, 63, %i;
    mad.lo.u32 %address, %address, 4, %base;
    ld.shared.u32 %value, [%address];
    add.u32 %value, %value, %i;
    mad.lo.u32 %key, %block, 64, %i;
    mad.wide.u32 %offset, %key, 4, %output;
    st.global.u32 [%offset], %value;
    ret;
}
";

pub(crate) static MODULE: Module = Module::new(PTX);

pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter::new("keys", 2, Rows::EachOrShared, LEN),
    Parameter::new("output", 4, Rows::EachOperation, LEN),
];

/// The shape of `reverse`. It has more shared memory than a block may use by default.
pub(crate) const SHAPE: Shape = Shape::new(LEN, 1, 64 << 10);

pub(crate) static REVERSE: Kernel = {
    // SAFETY: the code above shows that a block reads one row of `LEN` elements of a key and writes
    // one row of `LEN` elements of its operation.
    let kernel = unsafe { Kernel::new(&MODULE, "reverse", SHAPE, PARAMETERS) };
    kernel.emulated_by(&EMULATE_REVERSE)
};

static EMULATE_REVERSE: Emulate = |thread, buffers, batch| {
    let &[keys, output] = buffers else { unreachable!("the launch has checked the arguments") };
    reverse(thread, keys.view(), output.view(), batch);
};

type Done = Result<(), RuntimeError>;

/// Runs all checks.
pub(crate) fn check<D: Device>(device: &D) -> Done
where
    D::Queue: Clone,
{
    copies::<D, u8>(device, |i| i as u8)?;
    copies::<D, u16>(device, |i| i as u16 * 257)?;
    copies::<D, u32>(device, |i| i.wrapping_mul(0x0101_0101))?;
    copies::<D, u64>(device, |i| u64::from(i) << 40 | 7)?;
    copies::<D, U32x4>(device, |i| U32x4([i, !i, i << 8, 1]))?;
    zero_copy(device)?;
    launches(device, Batch::each(5))?;
    launches(device, Batch::shared(5))?;
    launches(device, Batch::each(1))?;
    launches(device, Batch::each(300))?;
    launches(device, Batch::each(0))?;
    launches_of_nothing(device)?;
    queues_share_memory(device)?;
    pinned_memory_stays_on_its_queue(device)?;
    kernels_on_host_memory(device)?;
    queues_follow_one_another(device)?;
    shared_memory(device)?;
    host_memory_is_wiped(device)?;
    slices(device)?;
    short_arrays(device)?;
    bad_arguments(device)?;
    out_of_memory(device)?;
    memory_is_given_back(device)
}

fn copies<D: Device, T: Plain>(device: &D, element: impl Fn(u32) -> T) -> Done {
    let queue = device.queue()?;
    let content: Vec<T> = (0..100).map(element).collect();
    let mut pinned = queue.pinned::<T>(100)?;
    assert_eq!(pinned.read()?, [T::default(); 100]);
    pinned.write()?.copy_from_slice(&content);

    let buffer = queue.allocate::<T>(100)?;
    assert_eq!(buffer.len(), 100);
    queue.upload(&pinned, 0..100, &buffer, 0)?;
    queue.upload(&pinned, 90..100, &buffer, 5)?;
    let mut back = queue.pinned::<T>(120)?;
    queue.download(&buffer, 0..100, &mut back, 20)?;
    queue.download(&buffer, 5..15, &mut back, 0)?;
    queue.download(&buffer, 7..7, &mut back, 0)?;
    assert_eq!(back.read()?[..10], content[90..]);
    assert_eq!(back.read()?[10..20], [T::default(); 10]);
    assert_eq!(back.read()?[20..25], content[..5]);
    assert_eq!(back.read()?[25..35], content[90..]);
    assert_eq!(back.read()?[35..], content[15..]);

    queue.wipe(&buffer)?;
    queue.download(&buffer, 0..100, &mut back, 0)?;
    queue.synchronise()?;
    assert_eq!(back.read()?[..100], [T::default(); 100]);
    Ok(())
}

/// Checks copies from and to the caller's memory, both registered and not.
fn zero_copy<D: Device>(device: &D) -> Done {
    const BYTES: usize = 1 << 17;
    let queue = device.queue()?;
    let content: Vec<u8> = (0..BYTES).map(|i| (i * 7 + (i >> 8)) as u8).collect();
    let mut registered = device.register(content.clone())?;
    assert!(queue.is_registered(&registered) && queue.is_registered(&registered[10..20]));
    assert!(!queue.is_registered(&content));
    assert_eq!(format!("{registered:?}"), "PinnedVec(131072 elements)");

    let (short, long) = (queue.allocate::<u8>(100)?, queue.allocate::<u8>(BYTES)?);
    let result = queue.scope(|scope| {
        queue.upload_from(scope, &registered[50..150], &short)?;
        queue.upload_from(scope, &registered, &long)?;
        queue.upload_from(scope, &[], &short)?;
        Ok("the result of `work`")
    });
    assert_eq!(result?, "the result of `work`");
    registered.fill(0);
    let (first, others) = registered.split_at_mut(100);
    queue.scope(|scope| {
        queue.download_to(scope, &short, first)?;
        queue.download_to(scope, &long, others)?;
        queue.download_to(scope, &short, &mut [])
    })?;
    assert!(first == &content[50..150] && others == &content[..BYTES - 100]);
    // Copies of several queues, in the order of the calls on each of them.
    let other = device.queue()?;
    let theirs = other.allocate::<u8>(BYTES)?;
    let (mut back, mut of_other) = (vec![0; BYTES], vec![0; BYTES]);
    queue.scope(|scope| {
        other.upload_from(scope, &content, &theirs)?;
        queue.upload_from(scope, &content[BYTES - 30..], &long)?;
        queue.download_to(scope, &long, &mut back)?;
        other.download_to(scope, &theirs, &mut of_other)
    })?;
    assert!(back[..30] == content[BYTES - 30..] && back[30..] == content[30..]);
    assert!(of_other == content);

    let too_long = Err(RuntimeError::Range { start: 0, end: 101, len: 100 });
    let mut refused = vec![1; 101];
    assert_eq!(queue.scope(|scope| queue.upload_from(scope, &content[..101], &short)), too_long);
    assert_eq!(queue.scope(|scope| queue.download_to(scope, &short, &mut refused)), too_long);
    assert_eq!(refused, [1; 101]);
    // The refused calls have copied nothing.
    queue.scope(|scope| queue.download_to(scope, &short, &mut back[..100]))?;
    assert!(back[..100] == content[50..150]);
    let failed: Done = Err(RuntimeError::OutOfHostMemory { requested: 1 });
    let result = queue.scope(|scope| {
        queue.upload_from(scope, &content[..5], &short)?;
        failed.clone()
    });
    assert_eq!(result, failed);
    let content = registered.into_vec();
    assert!(!queue.is_registered(&content));
    Ok(())
}

fn launches<D: Device>(device: &D, batch: Batch) -> Done {
    let [count, keys] = batch.arguments();
    let queue = device.queue()?;
    let mut input = queue.pinned::<u16>(N * keys as usize)?;
    for (i, key) in input.write()?.iter_mut().enumerate() {
        *key = (i * 31) as u16;
    }
    let mut output = queue.pinned::<u32>(N * count as usize)?;
    let (from, to) = (queue.allocate::<u16>(input.len())?, queue.allocate::<u32>(output.len())?);
    queue.upload(&input, 0..input.len(), &from, 0)?;
    queue.launch(&REVERSE, &[&from, &to], batch)?;
    queue.download(&to, 0..to.len(), &mut output, 0)?;
    for (operation, output) in output.read()?.chunks(N).enumerate() {
        let key = if keys == 1 { 0 } else { operation };
        for (i, &value) in output.iter().enumerate() {
            assert_eq!(value, u32::from(input.read()?[key * N + N - 1 - i]) + i as u32);
        }
    }
    Ok(())
}

/// Checks that kernels of several queues read and write host memory, and that the host sees what it
/// and they have written before.
fn kernels_on_host_memory<D: Device>(device: &D) -> Done {
    let (owner, other) = (device.queue()?, device.queue()?);
    let (mut input, mut output) = (owner.pinned::<u16>(N)?, owner.pinned::<u32>(2 * N)?);
    let keys = owner.allocate::<u16>(N)?;
    for round in 0..3u16 {
        input.write()?.fill(100 * round);
        output.write()?[N..].fill(7);
        let queue = if round == 1 { &other } else { &owner };
        queue.launch(&REVERSE, &[input.on_device(), output.on_device()], Batch::each(1))?;
        let expected = |i: usize| 100 * u32::from(round) + i as u32;
        assert!(output.read()?[..N].iter().enumerate().all(|(i, &value)| value == expected(i)));
        assert!(output.read()?[N..].iter().all(|&value| value == 7));
        assert!(input.read()?.iter().all(|&value| value == 100 * round));
        // A copy reads what the kernel has written before.
        owner.upload(&input, 0..N, &keys, 0)?;
        owner.launch(&REVERSE, &[&keys, output.on_device()], Batch::shared(2))?;
        assert!(output.read()?[N..].iter().enumerate().all(|(i, &value)| value == expected(i)));
    }
    owner.wipe(output.on_device())?;
    assert_eq!(output.read()?, [0; 2 * N]);
    let short = owner.launch(&REVERSE, &[input.on_device(), output.on_device()], Batch::each(2));
    assert!(matches!(short, Err(RuntimeError::Length { needed, actual, .. }) if needed > actual));
    let wrong = owner.launch(&REVERSE, &[output.on_device(), input.on_device()], Batch::each(1));
    assert!(matches!(wrong, Err(RuntimeError::Argument { .. })));
    Ok(())
}

/// Checks that several calls can use other elements of shared memory at the same time, that two
/// calls cannot have the same element, and that a kernel sees what they have written.
fn shared_memory<D: Device>(device: &D) -> Done {
    let queue = device.queue()?;
    let mut keys = queue.shared::<u16>(N)?;
    assert_eq!(keys.with(0..N, |keys| keys.to_vec())?, [0; N]);
    let overlap = |start, end| Err(RuntimeError::Overlap { start, end });
    let take = |keys: &<D::Queue as Queue>::Shared<u16>, start, end| {
        keys.with(start..end, |part| part.len())
    };
    keys.with(10..20, |part| {
        part.fill(7);
        assert_eq!(keys.len(), N);
        for (start, end) in [(10, 20), (0, 11), (19, N), (12, 13), (0, N)] {
            assert_eq!(take(&keys, start, end), overlap(start, end));
        }
        // No other call can have an element of an empty range.
        for place in [0, 10, 15, 20, N] {
            assert_eq!(take(&keys, place, place), Ok(0));
        }
        let nested = keys.with(20..N, |rest| {
            rest.fill(8);
            assert_eq!(take(&keys, 0, 10), Ok(10));
            assert_eq!(take(&keys, 15, 25), overlap(15, 25));
        });
        assert_eq!(nested, Ok(()));
        assert_eq!(take(&keys, 20, N), Ok(N - 20));
        part[0] = 9;
    })?;
    let range = Err(RuntimeError::Range { start: 1, end: N + 1, len: N });
    assert_eq!(take(&keys, 1, N + 1), range);
    // Two threads are inside their calls at the same time.
    let both = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        for start in [0, 5] {
            let (keys, both) = (&keys, &both);
            scope.spawn(move || {
                let written = keys.with(start..start + 5, |part| {
                    both.wait();
                    part.fill(start as u16);
                });
                assert_eq!(written, Ok(()));
            });
        }
    });
    // A panic gives the elements back, with what was written before it.
    let panicked = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
        keys.with(0..1, |part| {
            part[0] = 3;
            std::panic::resume_unwind(Box::new("on purpose"));
        })
    }));
    assert!(panicked.is_err());
    let mut expected = [8; N];
    expected[..20].copy_from_slice(&[3, 0, 0, 0, 0, 5, 5, 5, 5, 5, 9, 7, 7, 7, 7, 7, 7, 7, 7, 7]);
    assert_eq!(keys.with(0..N, |keys| keys.to_vec())?, expected);
    let mut output = queue.shared::<u32>(N)?;
    queue.launch(&REVERSE, &[keys.on_device(), output.on_device()], Batch::each(1))?;
    let reversed = expected.iter().rev().zip(0..).map(|(&key, i)| u32::from(key) + i);
    assert!(output.with(0..N, |output| output.iter().copied().eq(reversed))?);
    Ok(())
}

/// Checks that host memory is zero after a wipe, also what kernels have written to it, and that
/// shared memory is not wiped while a caller has elements of it.
fn host_memory_is_wiped<D: Device>(device: &D) -> Done {
    let queue = device.queue()?;
    let (mut keys, mut output) = (queue.pinned::<u16>(N)?, queue.shared::<u32>(N)?);
    keys.write()?.fill(7);
    queue.launch(&REVERSE, &[keys.on_device(), output.on_device()], Batch::each(1))?;
    let refused = output.with(3..4, |element| {
        let refused = output.wipe();
        assert_ne!(element, [0]);
        refused
    })?;
    assert_eq!(refused, Err(RuntimeError::Overlap { start: 0, end: N }));
    output.wipe()?;
    keys.wipe()?;
    assert_eq!(keys.read()?, [0; N]);
    assert!(output.with(0..N, |output| output == [0; N])?);
    queue.pinned::<u64>(0)?.wipe()?;
    queue.shared::<u64>(0)?.wipe()
}

/// Checks that one queue can write and another can read the same memory several times while the
/// host waits only at the end.
fn queues_follow_one_another<D: Device>(device: &D) -> Done {
    const BYTES: usize = 1 << 20;
    const ROUNDS: usize = 4;
    let (writer, reader) = (device.queue()?, device.queue()?);
    let mut input = writer.pinned::<u8>(ROUNDS * BYTES)?;
    for (round, input) in input.write()?.chunks_mut(BYTES).enumerate() {
        input.fill(round as u8 + 1);
    }
    let mut output = reader.pinned::<u8>(ROUNDS * BYTES)?;
    let memory = writer.allocate::<u8>(BYTES)?;
    for start in (0..ROUNDS).map(|round| round * BYTES) {
        writer.upload(&input, start..start + BYTES, &memory, 0)?;
        reader.follow(&writer)?;
        reader.download(&memory, 0..BYTES, &mut output, start)?;
        writer.follow(&reader)?;
    }
    assert!(output.read()? == input.read()?);
    Ok(())
}

/// Checks that several queues can use the same keys at the same time, each on its own thread.
fn queues_share_memory<D: Device>(device: &D) -> Done {
    let owner = device.queue()?;
    let mut input = owner.pinned::<u16>(N)?;
    input.write()?.fill(1000);
    let keys = owner.allocate::<u16>(N)?;
    owner.upload(&input, 0..N, &keys, 0)?;
    owner.synchronise()?;
    std::thread::scope(|scope| {
        let run = || {
            let queue = device.queue()?;
            let mut output = queue.pinned::<u32>(3 * N)?;
            let to = queue.allocate::<u32>(3 * N)?;
            for _ in 0..4 {
                queue.launch(&REVERSE, &[&keys, &to], Batch::shared(3))?;
                queue.download(&to, 0..3 * N, &mut output, 0)?;
                assert!(
                    output
                        .read()?
                        .iter()
                        .enumerate()
                        .all(|(i, &value)| value == 1000 + (i % N) as u32)
                );
                output.write()?.fill(0);
            }
            Ok(())
        };
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(run)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("the thread's assertions hold"))
    })
}

/// Checks that a queue and its clones copy their own pinned memory only.
fn pinned_memory_stays_on_its_queue<D: Device>(device: &D) -> Done
where
    D::Queue: Clone,
{
    let (here, there) = (device.queue()?, device.queue()?);
    let (mut pinned, buffer) = (there.pinned::<u8>(4)?, here.allocate::<u8>(4)?);
    let foreign = Err(RuntimeError::Foreign { what: "pinned memory", owner: "queue" });
    assert_eq!(here.upload(&pinned, 0..4, &buffer, 0), foreign);
    assert_eq!(here.download(&buffer, 0..4, &mut pinned, 0), foreign);
    there.clone().upload(&pinned, 0..4, &buffer, 0)?;
    there.download(&buffer, 0..4, &mut pinned, 0)
}

/// Checks launches and copies on parts of arrays, and the slices that are refused.
fn slices<D: Device>(device: &D) -> Done {
    let queue = device.queue()?;
    let content: Vec<u8> = (0..N * 4).map(|i| (i * 7) as u8).collect();
    let (keys, output) = (queue.allocate::<u8>(content.len())?, queue.allocate::<u8>(N * 8 + 1)?);
    let mut back = vec![0xee; output.len()];
    queue.scope(|scope| {
        queue.upload_from(scope, &content, &keys)?;
        queue.upload_from(scope, &back, &output)
    })?;
    // Row 1 of the keys goes to the second half of the output, through a slice of a slice.
    let row = queue.slice::<u16>(&keys, N * 2..N * 4)?;
    let words = queue.slice::<u64>(&output, N * 4..N * 8)?;
    let to = queue.slice::<u32>(&words, 0..N * 4)?;
    assert_eq!((row.len(), words.len(), to.len()), (N, N / 2, N));
    assert_eq!((to.bytes(), to.element_bytes()), (N * 4, 4));
    queue.launch(&REVERSE, &[&row, &to], Batch::each(1))?;
    // The end of the result goes to the first bytes.
    let (end, start) =
        (queue.slice::<u8>(&to, N * 4 - 3..N * 4)?, queue.slice::<u8>(&output, 1..9)?);
    queue.copy(&end, &start)?;
    queue.wipe(&*queue.slice::<u8>(&output, 6..7)?)?;
    queue.scope(|scope| queue.download_to(scope, &output, &mut back))?;
    let key = |i: usize| u16::from_le_bytes([content[2 * (N + i)], content[2 * (N + i) + 1]]);
    for (i, value) in back[N * 4..N * 8].chunks(4).enumerate() {
        let expected = u32::from(key(N - 1 - i)) + i as u32;
        assert_eq!(value, expected.to_le_bytes());
    }
    assert_eq!(back[1..4], back[N * 8 - 3..N * 8]);
    assert_eq!((back[0], back[4], back[6], back[7]), (0xee, 0xee, 0, 0xee));
    assert_eq!(back[N * 8], 0xee);

    let bytes = N * 4;
    let refused =
        |start, end, element_bytes| Err(RuntimeError::Slice { start, end, bytes, element_bytes });
    let slice_of_words = |range| queue.slice::<u64>(&keys, range).map(|_| ());
    assert_eq!(slice_of_words(0..bytes + 8), refused(0, bytes + 8, 8));
    assert_eq!(slice_of_words(4..12), refused(4, 12, 8));
    assert_eq!(slice_of_words(0..12), refused(0, 12, 8));
    #[allow(clippy::reversed_empty_ranges)] // A caller may compute such a range.
    let backwards = slice_of_words(16..8);
    assert_eq!(backwards, refused(16, 8, 8));
    assert!(queue.slice::<u8>(&keys, bytes..bytes)?.is_empty());
    assert_eq!(
        queue.launch(&REVERSE, &[&row, &to], Batch::each(2)).map_err(|error| {
            matches!(error, RuntimeError::Length { parameter: "keys", needed: 128, actual: 64, .. })
        }),
        Err(true)
    );
    let range = RuntimeError::Range { start: 0, end: N * 4, len: 8 };
    assert_eq!(queue.copy(&to, &start), Err(range));
    queue.settle();
    assert!(device.owns(&to) && device.owns(&keys));
    Ok(())
}

/// Checks that a launch is refused if an array is too short, for any number of operations.
fn short_arrays<D: Device>(device: &D) -> Done {
    let queue = device.queue()?;
    let launch = |keys, len, batch| {
        let (keys, output) = (queue.allocate::<u16>(keys)?, queue.allocate::<u32>(len)?);
        queue.launch(&REVERSE, &[&keys, &output], batch)
    };
    let length = |parameter, needed, actual| {
        Err(RuntimeError::Length { kernel: "reverse", parameter, needed, actual })
    };
    assert_eq!(launch(N - 1, N, Batch::each(1)), length("keys", 64, 63));
    assert_eq!(launch(N, 2 * N - 1, Batch::shared(2)), length("output", 128, 127));
    assert_eq!(launch(N, 2 * N, Batch::each(2)), length("keys", 128, 64));
    assert_eq!(launch(1, 1, Batch::each(1000)), length("keys", 64_000, 1));

    // Every byte of the output, and of two more blocks, has a 32-bit index.
    let most = REVERSE.most_operations();
    assert_eq!(u64::from(most), (u64::from(u32::MAX) - 4) / (4 * u64::from(LEN)) - 2);
    assert_eq!(launch(N, N, Batch::shared(most)), length("output", u64::from(most) * 64, 64));
    for count in [most + 1, u32::MAX] {
        let too_many = Err(RuntimeError::TooManyOperations { kernel: "reverse", most, count });
        assert_eq!(launch(N, N, Batch::shared(count)), too_many);
        assert_eq!(launch(N, N, Batch::each(count)), too_many);
    }
    Ok(())
}

/// Checks that a batch without operations accepts memory of any length, because it accesses none.
fn launches_of_nothing<D: Device>(device: &D) -> Done {
    let queue = device.queue()?;
    let (none, one) = (queue.allocate::<u16>(0)?, queue.allocate::<u32>(1)?);
    for batch in [Batch::each(0), Batch::shared(0)] {
        queue.launch(&REVERSE, &[&none, &one], batch)?;
        queue.launch(&REVERSE, &[&one, &none], batch)?;
    }
    let too_few = RuntimeError::ArgumentCount { kernel: "reverse", expected: 2, actual: 1 };
    assert_eq!(queue.launch(&REVERSE, &[&none], Batch::each(0)), Err(too_few));
    Ok(())
}

fn bad_arguments<D: Device>(device: &D) -> Done {
    let queue = device.queue()?;
    let keys = queue.allocate::<u16>(N)?;
    let launch = |memory: &[_], batch| queue.launch(&REVERSE, memory, batch);
    assert_eq!(
        launch(&[&keys], Batch::each(1)),
        Err(RuntimeError::ArgumentCount { kernel: "reverse", expected: 2, actual: 1 })
    );
    assert_eq!(
        launch(&[&keys, &keys], Batch::each(1)),
        Err(RuntimeError::Argument {
            kernel: "reverse",
            parameter: "output",
            expected: 4,
            actual: 2
        })
    );

    let mut pinned = queue.pinned::<u16>(10)?;
    let range = |start, end, len| Err(RuntimeError::Range { start, end, len });
    #[allow(clippy::reversed_empty_ranges)] // A caller may compute such a range.
    let backwards = 3..2;
    assert_eq!(queue.upload(&pinned, 5..11, &keys, 0), range(5, 11, 10));
    assert_eq!(queue.upload(&pinned, backwards, &keys, 0), range(3, 2, 10));
    assert_eq!(queue.upload(&pinned, 0..10, &keys, N - 9), range(N - 9, N + 1, N));
    assert_eq!(queue.upload(&pinned, 0..10, &keys, usize::MAX), range(usize::MAX, usize::MAX, N));
    assert_eq!(queue.download(&keys, 0..11, &mut pinned, 0), range(0, 11, 10));
    assert_eq!(queue.download(&keys, N..N + 1, &mut pinned, 0), range(N, N + 1, N));
    Ok(())
}

fn out_of_memory<D: Device>(device: &D) -> Done {
    let queue = device.queue()?;
    let requested = device.memory_info()?.total.saturating_add(1);
    match queue.allocate::<u8>(requested) {
        Err(RuntimeError::OutOfMemory { requested: told, .. }) => assert_eq!(told, requested),
        other => panic!("{other:?}"),
    }
    assert!(matches!(queue.allocate::<u64>(usize::MAX), Err(RuntimeError::OutOfMemory { .. })));
    let host = queue.pinned::<u64>(usize::MAX / 8);
    assert!(matches!(host, Err(RuntimeError::OutOfHostMemory { .. })), "{host:?}");
    // The device still works.
    launches(device, Batch::each(2))
}

fn memory_is_given_back<D: Device>(device: &D) -> Done {
    let queue = device.queue()?;
    // The device has memory for one such buffer at a time, but not for two.
    let most = device.memory_info()?.free / 8 * 5;
    for _ in 0..2 {
        let buffer = queue.allocate::<u8>(most)?;
        queue.wipe(&buffer)?;
    }
    Ok(())
}
