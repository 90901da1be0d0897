//! Makes each call of the driver fail in turn, on the stand-in for the driver.

use core::ffi::{c_int, c_long};

use ctru_gpu_runtime::cuda::{CudaDevice, cuda_version, devices};
use ctru_gpu_runtime::{Device, HostMemory, Launch, Order, Queue, RuntimeError, SharedMemory};
use ctru_simt::descriptor::{Batch, Kernel};
use ctru_simt::ptx::Module;

use super::{StandIn, alone};
use crate::common::{MODULE, PARAMETERS, PTX, REVERSE, SHAPE};

/// The codes with which calls fail: no memory, a failed operation, and a code without a meaning of
/// its own.
const CODES: [c_int; 3] = [2, ILLEGAL_ADDRESS, REFUSED];
const ILLEGAL_ADDRESS: c_int = 700;
/// A code with which the driver refuses a call. Nothing is known about operations then.
const REFUSED: c_int = 999;
/// The length of a row of the kernel `reverse`.
const N: usize = 64;

/// Calls every function that a pipeline can call, on a module that the driver has not seen, and
/// checks all results. The exception is [`Queue::settle`], which ends the process if the driver
/// does not let it wait.
fn work() -> Result<(), RuntimeError> {
    let module: &'static Module = Box::leak(Box::new(Module::new(PTX.to_owned().leak())));
    // SAFETY: the entry point is that of `common::REVERSE`.
    let kernel = unsafe { Kernel::new(module, "reverse", SHAPE, PARAMETERS) };
    let device = CudaDevice::open(0, module)?;
    assert_eq!((devices()?.len(), cuda_version()?), (1, (13, 0)));
    assert_eq!(device.info()?.name, "Fake");
    assert_eq!(device.within(|| 7)?, 7);
    assert!(device.memory_info()?.free > 0 && device.resources(&kernel)?.blocks > 0);

    let (queue, other) = (device.queue()?, device.queue()?);
    let (mut keys, mut output) = (queue.pinned::<u16>(N)?, queue.pinned::<u32>(N)?);
    let (from, to) = (queue.allocate::<u16>(N)?, queue.allocate::<u32>(N)?);
    let copied = queue.allocate::<u32>(N)?;
    keys.write()?.fill(1000);
    let expected: Vec<u32> = (1000..).take(N).collect();

    let start = queue.record()?;
    queue.upload(&keys, 0..N, &from, 0)?;
    queue.launch(&kernel, &[&from, &to], Batch::each(1))?;
    let end = queue.record()?;
    queue.copy(&to, &copied)?;
    queue.download(&copied, 0..N, &mut output, 0)?;
    assert_eq!(output.read()?, expected);
    end.elapsed_since(&start)?;

    output.write()?.fill(0);
    other.wait_for(&end)?;
    other.launch(&kernel, &[keys.on_device(), output.on_device()], Batch::each(1))?;
    assert_eq!(output.read()?, expected);

    queue.wipe(&to)?;
    other.follow(&queue)?;
    // The second call changes the graph of the first one.
    for to in [&copied, &to] {
        let (memory, batch) = (vec![&*from, &**to], Batch::each(1));
        let launch = Launch { kernel: &kernel, memory, batch, order: Order::Next };
        let launches = [launch.clone(), launch];
        let issued = other.launch_all(&launches);
        // After a failure, the queue's graph must not run with the memory of another call.
        if issued.is_err() && other.launch_all(&launches).is_ok() {
            let mut read = other.pinned::<u32>(N)?;
            other.download(to, 0..N, &mut read, 0)?;
            assert_eq!(read.read()?, expected);
        }
        issued?;
    }
    queue.follow(&other)?;
    queue.download(&to, 0..N, &mut output, 0)?;
    assert_eq!(output.read()?, expected);

    let mut registered = device.register(vec![5; 2 * N])?;
    let (bytes, ours) = (queue.allocate::<u8>(2 * N)?, other.allocate::<u8>(2 * N)?);
    let sevens = [7; N];
    queue.scope(|scope| {
        queue.upload_from(scope, &registered, &bytes)?;
        queue.upload_from(scope, &sevens, &bytes)?;
        queue.upload_from(scope, &registered[..N], &bytes)?;
        other.upload_from(scope, &registered, &ours)?;
        queue.wipe(&*queue.slice::<u8>(&bytes, 0..1)?)
    })?;
    queue.launch(&kernel, &[keys.on_device(), output.on_device()], Batch::each(1))?;
    queue.scope(|scope| {
        queue.download_to(scope, &bytes, &mut registered[..N])?;
        assert_eq!(output.read()?, expected);
        Ok(())
    })?;
    assert!(registered[0] == 0 && registered[1..] == [5; 2 * N - 1]);
    other.synchronise()
}

/// Makes each call of [`work`] fail, alone and with all calls after it, with each code. Checks that
/// the error names the code, that the stand-in has got no memory back that is not wiped (it would
/// abort), and that the same work succeeds afterwards.
#[test]
fn each_call() {
    alone("faults::each_call", "faults", || {
        let stand_in = StandIn::open();
        let fail = |before, count, code| stand_in.fail(before, count, code);

        fail(0, 0, 0);
        assert_eq!(work(), Ok(()));
        let calls = fail(0, 0, 0);
        assert!(calls > 100, "{calls} calls");
        let (mut errors, mut passed) = (0, 0);
        for code in CODES {
            for (call, count) in (0..calls).flat_map(|call| [(call, 1), (call, c_long::MAX / 2)]) {
                fail(call, count, code);
                let result = work();
                assert!(fail(0, 0, 0) > call, "call {call} was not made");
                match result {
                    Err(RuntimeError::Driver { code: named, .. }) => assert_eq!(named, code),
                    Err(
                        RuntimeError::OutOfMemory { .. } | RuntimeError::OutOfHostMemory { .. },
                    ) => {
                        assert_eq!(code, 2);
                    }
                    // The end of a value has no result.
                    Ok(()) => passed += 1,
                    Err(error) => panic!("call {call} of {calls}, code {code}: {error:?}"),
                }
                errors += 1;
                assert_eq!(work(), Ok(()), "after call {call} of {calls} with code {code}");
            }
        }
        println!("{calls} calls, {errors} faults, {passed} of them without a result");
        assert!(passed < errors / 2);
    });
}

/// Lets an operation fail. Checks that host memory is wiped all the same and that the error is
/// returned; and that nothing is wiped if it cannot be known whether operations are over.
#[test]
fn memory_is_wiped_after_a_failure() {
    alone("faults::memory_is_wiped_after_a_failure", "wipes", || {
        let stand_in = StandIn::open();
        let fail = |before, count, code| stand_in.fail(before, count, code);

        let queue = CudaDevice::open(0, &MODULE).unwrap().queue().unwrap();
        let (mut keys, mut output) =
            (queue.pinned::<u16>(N).unwrap(), queue.shared::<u32>(N).unwrap());
        // The first call enters the context, and the second one waits.
        for (call, code, is_wiped) in [(1, ILLEGAL_ADDRESS, true), (0, REFUSED, false)] {
            for wipes_shared in [false, true] {
                keys.write().unwrap().fill(7);
                let memory = [keys.on_device(), output.on_device()];
                queue.launch(&REVERSE, &memory, Batch::each(1)).unwrap();
                fail(call, 1, code);
                let wiped = if wipes_shared { output.wipe() } else { keys.wipe() };
                assert!(fail(0, 0, 0) > call);
                assert!(
                    matches!(wiped, Err(RuntimeError::Driver { code: named, .. }) if named == code),
                    "{wiped:?}"
                );
                let zeros = match wipes_shared {
                    true => output.with(0..N, |output| output == [0; N]).unwrap(),
                    false => keys.read().unwrap() == [0; N],
                };
                assert_eq!(zeros, is_wiped, "code {code}");
            }
        }
    });
}
