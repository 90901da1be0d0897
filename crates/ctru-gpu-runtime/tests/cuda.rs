//! Tests the device for NVIDIA GPUs.
//!
//! On a machine without a GPU, the tests that need one print a line and pass. If `CTRU_REQUIRE_GPU`
//! is set, they fail, so that a run on a GPU machine cannot pass by mistake. On every machine with
//! Linux, all tests also run once on a stand-in for the driver.

// Tests may unwrap: a test must fail if its input cannot be built.
#![allow(clippy::unwrap_used, unsafe_code)]

mod common;
#[cfg(target_os = "linux")]
mod fake_driver;

use std::time::Duration;

use ctru_gpu_runtime::cuda::{CudaDevice, CudaMemory, CudaQueue, cuda_version, devices};
use ctru_gpu_runtime::{
    Buffer, Device, DeviceMemory, HostMemory, Launch, Order, Queue, RuntimeError,
};
use ctru_simt::descriptor::{Batch, Kernel, Shape};
use ctru_simt::ptx::Module;
#[cfg(target_os = "linux")]
use fake_driver::{on_a_fake_driver, pass_on_a_fake_driver};

/// Opens the first GPU. Returns `None` if there is no GPU and `CTRU_REQUIRE_GPU` is not set.
fn gpu(module: &'static Module) -> Option<CudaDevice> {
    match CudaDevice::open(0, module) {
        Err(error @ (RuntimeError::NoDriver { .. } | RuntimeError::NoDevice)) => {
            assert!(
                std::env::var_os("CTRU_REQUIRE_GPU").is_none(),
                "CTRU_REQUIRE_GPU is set, but: {error}"
            );
            println!("skipped: {error}");
            None
        }
        result => Some(result.unwrap()),
    }
}

/// Checks that the program starts without the driver's library and that functions return typed
/// errors.
#[test]
fn starts_without_driver() {
    let absent = |error: &RuntimeError| {
        matches!(error, RuntimeError::NoDriver { .. } | RuntimeError::NoDevice)
    };
    match devices() {
        Ok(devices) => {
            println!("{devices:#?}, CUDA {:?}", cuda_version());
            assert!(!devices.is_empty());
            for device in &devices {
                assert!(!device.name.is_empty());
                assert!(device.compute_capability.0 > 0 && device.memory_bytes > 0);
            }
            let count = devices.len() as u32;
            let beyond = CudaDevice::open(count, &common::MODULE);
            assert_eq!(beyond.err(), Some(RuntimeError::UnknownDevice { index: count, count }));
        }
        Err(error) => {
            println!("{error}");
            assert!(absent(&error), "{error:?}");
            // Later calls and other functions return the same error.
            assert_eq!(devices(), Err(error.clone()));
            assert_eq!(cuda_version(), Err(error.clone()));
            assert_eq!(CudaDevice::open(0, &common::MODULE).err(), Some(error));
        }
    }
}

#[test]
fn does_what_every_device_does() {
    let Some(device) = gpu(&common::MODULE) else { return };
    common::check(&device).unwrap();
}

/// Checks that reading host memory waits for launches that were issued together and wrote to it.
#[test]
fn launches_together_on_host_memory() {
    let Some(device) = gpu(&common::MODULE) else { return };
    let queue = device.queue().unwrap();
    let mut keys = queue.pinned::<u16>(64).unwrap();
    let mut output = queue.pinned::<u32>(64).unwrap();
    keys.write().unwrap().fill(1000);
    let memory = vec![keys.on_device(), output.on_device()];
    let launch =
        Launch { kernel: &common::REVERSE, memory, batch: Batch::each(1), order: Order::Next };
    queue.launch_all(&[launch.clone(), launch]).unwrap();
    let expected: Vec<u32> = (1000..1064).collect();
    assert_eq!(output.read().unwrap(), expected);
}

/// Checks that launches that are issued together run, in order, that the same kernels can be issued
/// again with other memory, and that wrong arguments are refused before anything runs.
#[test]
fn launches_together() {
    let Some(device) = gpu(&common::MODULE) else { return };
    let queue = device.queue().unwrap();
    let keys = [1000u16, 2000].map(|first| {
        let mut pinned = queue.pinned::<u16>(64).unwrap();
        let numbers = pinned.write().unwrap().iter_mut().zip(first..);
        numbers.for_each(|(key, number)| *key = number);
        let keys = queue.allocate::<u16>(64).unwrap();
        queue.upload(&pinned, 0..64, &keys, 0).unwrap();
        keys
    });
    let outputs = [(); 3].map(|()| queue.allocate::<u32>(64).unwrap());
    let reversed = |output: &Buffer<u32, CudaMemory>| {
        let mut pinned = queue.pinned::<u32>(64).unwrap();
        queue.download(output, 0..64, &mut pinned, 0).unwrap();
        pinned.read().unwrap().to_vec()
    };
    let launch = |key: usize, output: usize, operations, order| Launch {
        kernel: &common::REVERSE,
        memory: vec![&*keys[key], &*outputs[output]],
        batch: Batch::each(operations),
        order,
    };
    let wipe = || outputs.iter().for_each(|output| queue.wipe(output).unwrap());
    // The output is key 63 - i plus i.
    let values = |values: [u32; 3]| values.map(|value| vec![value; 64]);
    let (next, beside, join) = (Order::Next, Order::Beside, Order::Join);
    for _ in 0..2 {
        // The later launch to output 1 wins, and the last one has no operations.
        let launches = [
            launch(0, 0, 1, next),
            launch(0, 1, 1, next),
            launch(1, 1, 1, next),
            launch(1, 2, 0, next),
        ];
        wipe();
        queue.launch_all(&launches).unwrap();
        assert_eq!(outputs.each_ref().map(&reversed), values([1063, 2063, 0]));
        wipe();
        let other = [launch(1, 2, 1, next), launch(1, 0, 1, next), launch(0, 0, 1, next)];
        queue.launch_all(&other).unwrap();
        assert_eq!(outputs.each_ref().map(&reversed), values([1063, 0, 2063]));
        wipe();
        let besides = [launch(1, 2, 1, beside), launch(1, 1, 1, next), launch(0, 2, 1, join)];
        queue.launch_all(&besides).unwrap();
        assert_eq!(outputs.each_ref().map(&reversed), values([0, 2063, 1063]));
    }
    // More sequences of kernels than a queue keeps.
    for number in (2..40).chain(2..40) {
        wipe();
        let launches = vec![launch(number % 2, 0, 1, next); number];
        queue.launch_all(&launches).unwrap();
        assert_eq!(outputs.each_ref().map(&reversed)[0], [1063 + 1000 * (number as u32 % 2); 64]);
    }
    wipe();
    let short = queue.launch_all(&[launch(0, 0, 1, next), launch(0, 0, 2, next)]);
    assert!(matches!(short, Err(RuntimeError::Length { .. })), "{short:?}");
    assert_eq!(outputs.each_ref().map(&reversed), values([0; 3]));
    queue.launch_all(&[]).unwrap();
}

/// Launches a kernel with this name, which the driver does not compile or which the module does not
/// have.
fn launch(
    device: CudaDevice,
    module: &'static Module,
    name: &'static str,
) -> Result<(), RuntimeError> {
    // SAFETY: the driver has no entry point with this name, so nothing runs.
    let kernel = unsafe { Kernel::new(module, name, common::SHAPE, common::PARAMETERS) };
    let queue = device.queue()?;
    let (keys, output) = (queue.allocate::<u16>(64)?, queue.allocate::<u32>(64)?);
    queue.launch(&kernel, &[&keys, &output], Batch::each(1))
}

/// Creates a module with this text.
fn module(text: &str) -> &'static Module {
    Box::leak(Box::new(Module::new(text.to_owned().leak())))
}

#[test]
fn refuses_what_is_no_ptx() {
    if gpu(&common::MODULE).is_none() {
        return;
    }
    for text in ["", "nonsense", "\0"] {
        let device = CudaDevice::open(0, module(text));
        let Err(error @ RuntimeError::Compilation { kernel: None, .. }) = device else {
            panic!("{device:?}")
        };
        assert!(error.to_string().contains("outside of kernels"), "{error}");
    }
}

#[test]
fn refuses_damaged_kernels_and_runs_the_others() {
    let damaged = common::PTX.replace("bar.sync", "bar.sink").replace("reverse", "damaged");
    let kernel = damaged.find(".visible").unwrap();
    let module = module(&(common::PTX.to_owned() + &damaged[kernel..]));
    let Some(device) = gpu(module) else { return };
    for _ in 0..2 {
        match launch(device, module, "damaged") {
            Err(error @ RuntimeError::Compilation { kernel: Some("damaged"), .. }) => {
                let text = error.to_string();
                assert!(text.contains("compile damaged:") && text.contains("sink"), "{text}");
            }
            other => panic!("{other:?}"),
        }
    }
    // SAFETY: the entry point is the same text as `reverse` in `common::MODULE`.
    let reverse = unsafe { Kernel::new(module, "reverse", common::SHAPE, common::PARAMETERS) };
    let queue = device.queue().unwrap();
    let (keys, output) = (queue.allocate::<u16>(64).unwrap(), queue.allocate::<u32>(64).unwrap());
    queue.launch(&reverse, &[&keys, &output], Batch::each(1)).unwrap();
    queue.synchronise().unwrap();
}

/// Checks that a device refuses a kernel of another module, even if its own module has an entry
/// point with the same name.
#[test]
fn kernels_of_other_modules_are_refused() {
    let Some(device) = gpu(module(common::PTX)) else { return };
    let queue = device.queue().unwrap();
    let (keys, output) = (queue.allocate::<u16>(64).unwrap(), queue.allocate::<u32>(64).unwrap());
    let foreign = RuntimeError::ForeignKernel { name: "reverse" };
    let launched = queue.launch(&common::REVERSE, &[&keys, &output], Batch::each(1));
    assert_eq!(launched, Err(foreign.clone()));
    assert_eq!(device.resources(&common::REVERSE), Err(foreign));
}

#[test]
fn unknown_kernels_are_errors() {
    let Some(device) = gpu(&common::MODULE) else { return };
    let launched = launch(device, &common::MODULE, "absent");
    assert_eq!(launched, Err(RuntimeError::UnknownKernel { name: "absent" }));
}

/// Checks that the error of a kernel whose blocks need more shared memory than a GPU has names the
/// kernel, and that the same kernel runs with less.
#[test]
fn too_much_shared_memory_is_an_error() {
    let Some(device) = gpu(&common::MODULE) else { return };
    // No GPU so far has 1 MiB.
    let large = Shape::new(64, 1, 1 << 20);
    // SAFETY: a block may access more shared memory than it does.
    let kernel = unsafe { common::REVERSE.in_blocks_of(large) };
    let queue = device.queue().unwrap();
    let (keys, output) = (queue.allocate::<u16>(64).unwrap(), queue.allocate::<u32>(64).unwrap());
    let refused = |result: Result<(), RuntimeError>| match result {
        Err(RuntimeError::SharedMemory { kernel: "reverse", needed, most }) => {
            assert!(needed >= 1 << 20 && (48 << 10..1 << 20).contains(&most), "{needed} {most}");
        }
        other => panic!("{other:?}"),
    };
    refused(queue.launch(&kernel, &[&keys, &output], Batch::each(1)));
    refused(device.resources(&kernel).map(drop));
    queue.launch(&common::REVERSE, &[&keys, &output], Batch::each(1)).unwrap();
    queue.synchronise().unwrap();
}

/// Checks that a launch may have 48 KiB of shared memory, although the kernel declares memory of
/// its own, which leaves less of what needs no permission.
#[test]
fn declared_memory_counts_where_permission_is_asked_for() {
    let Some(device) = gpu(&common::MODULE) else { return };
    let queue = device.queue().unwrap();
    // SAFETY: the kernel accesses 4 bytes for each of the threads of a block.
    let kernel = unsafe { common::REVERSE.in_blocks_of(Shape::new(64, 1, 48 << 10)) };
    let (keys, output) = (queue.allocate::<u16>(64).unwrap(), queue.allocate::<u32>(64).unwrap());
    queue.launch(&kernel, &[&keys, &output], Batch::each(1)).unwrap();
    queue.synchronise().unwrap();
}

/// Does this alone, because a permission holds for all tests that run on the stand-in together.
#[test]
#[cfg(target_os = "linux")]
fn declared_memory_counts_on_a_fake_driver() {
    let tests = ["--exact", "declared_memory_counts_where_permission_is_asked_for"];
    pass_on_a_fake_driver(&tests, "obeys", "1 passed");
}

#[test]
fn resources_of_a_kernel() {
    let Some(device) = gpu(&common::MODULE) else { return };
    let resources = device.resources(&common::REVERSE).unwrap();
    assert!(resources.registers > 0 && resources.blocks > 0, "{resources:?}");
    assert!((64 << 10..=80 << 10).contains(&resources.shared_bytes), "{resources:?}");
    // SAFETY: the module has no entry point with this name.
    let absent = unsafe { Kernel::new(&common::MODULE, "absent", common::SHAPE, &[]) };
    assert_eq!(device.resources(&absent), Err(RuntimeError::UnknownKernel { name: "absent" }));
}

/// Checks that the host can access the memory of a copy only after the copy. The test changes the
/// memory right after the call that starts the copy, and expects that the copy has the old bytes.
#[test]
fn copies_are_waited_for() {
    let Some(device) = gpu(&common::MODULE) else { return };
    let queue = device.queue().unwrap();
    let len = 64 << 20;
    let mut pinned = queue.pinned::<u8>(len).unwrap();
    let buffer = queue.allocate::<u8>(len).unwrap();
    for round in 1..5 {
        pinned.write().unwrap().fill(round);
        queue.upload(&pinned, 0..len, &buffer, 0).unwrap();
        pinned.write().unwrap().fill(0xff);
        queue.download(&buffer, 0..len, &mut pinned, 0).unwrap();
        assert!(pinned.read().unwrap().iter().all(|&byte| byte == round));
    }
    // The memory is dropped while operations are running.
    queue.upload(&pinned, 0..len, &buffer, 0).unwrap();
    drop((pinned, buffer));
    queue.synchronise().unwrap();
}

#[test]
fn events_measure_and_order() {
    let Some(device) = gpu(&common::MODULE) else { return };
    let (first, second) = (device.queue().unwrap(), device.queue().unwrap());
    let len = 64 << 20;
    let mut pinned = first.pinned::<u8>(len).unwrap();
    pinned.write().unwrap().fill(7);
    let buffer = first.allocate::<u8>(len).unwrap();
    let start = first.record().unwrap();
    first.upload(&pinned, 0..len, &buffer, 0).unwrap();
    let end = first.record().unwrap();
    second.wait_for(&end).unwrap();
    let mut back = second.pinned::<u8>(len).unwrap();
    second.download(&buffer, 0..len, &mut back, 0).unwrap();
    assert!(back.read().unwrap().iter().all(|&byte| byte == 7));
    let time = end.elapsed_since(&start).unwrap();
    println!("{:.1} GB/s to the device", len as f64 / time.as_secs_f64() / 1e9);
    // A copy of 64 MiB in 64 microseconds would need more than 1 TB/s, which no connection to a GPU
    // reaches.
    assert!(time > Duration::from_micros(64), "{time:?}");
    assert_eq!(start.elapsed_since(&end).unwrap(), Duration::ZERO);
}

/// Checks that copies of the caller's memory are done when their scope ends, even if the driver
/// delays them.
#[test]
fn copies_end_with_their_scopes() {
    let Some(device) = gpu(&common::MODULE) else { return };
    let queue = device.queue().unwrap();
    let buffer = queue.allocate::<u8>(4).unwrap();
    let mut bytes = [1, 2, 3, 4];
    queue.scope(|scope| queue.upload_from(scope, &bytes, &buffer)).unwrap();
    bytes.fill(0);
    queue.scope(|scope| queue.download_to(scope, &buffer, &mut bytes)).unwrap();
    assert_eq!(bytes, [1, 2, 3, 4]);
}

/// Checks that a queue follows a stream of other code, and that memory of other code is neither
/// wiped nor freed. Here the other code is this library.
#[test]
fn memory_and_streams_of_other_code() {
    let Some(device) = gpu(&common::MODULE) else { return };
    let (owner, other) = (device.queue().unwrap(), device.queue().unwrap());
    let mut input = owner.pinned::<u8>(256).unwrap();
    input.write().unwrap().fill(9);
    let memory = owner.allocate::<u8>(256).unwrap();
    owner.upload(&input, 0..256, &memory, 0).unwrap();

    // SAFETY: the stream is one of the device, and the queue to which it belongs lives longer.
    let stream = unsafe { CudaQueue::from_stream(device, owner.stream()) }.unwrap();
    // SAFETY: the memory lives longer, and the queues follow one another.
    let lent = unsafe { device.lend(memory.address() + 1, 255) };
    let copy = other.allocate::<u8>(300).unwrap();
    other.follow(&stream).unwrap();
    other.copy(&lent, &copy).unwrap();
    other.settle();
    drop((lent, stream));
    let mut back = [0; 300];
    other.scope(|scope| other.download_to(scope, &copy, &mut back)).unwrap();
    assert_eq!(back[..255], [9; 255]);
    owner.scope(|scope| owner.download_to(scope, &memory, &mut back[..256])).unwrap();
    assert_eq!(back[..256], [9; 256]);

    // Elements at multiples of their size by their address, not by their place in the slice.
    // SAFETY: the memory lives longer, and the queues follow one another.
    let lent = unsafe { device.lend(memory.address() + 1, 255) };
    assert_eq!(owner.slice::<u32>(&lent, 3..255).unwrap().len(), 63);
    assert!(owner.slice::<u32>(&lent, 0..252).is_err());
    // SAFETY: no operation uses empty memory.
    assert_eq!(unsafe { device.lend(0, 0) }.bytes(), 0);
}

#[test]
#[cfg(target_os = "linux")]
fn all_of_it_on_a_fake_driver() {
    pass_on_a_fake_driver(&[], "obeys", "test result: ok");
}

/// Checks that a call waits for its copies even if the driver refuses to enter a context while a
/// copy is running.
#[test]
#[cfg(target_os = "linux")]
fn copies_are_waited_for_in_the_context_that_issued_them() {
    let tests = ["--exact", "copies_end_with_their_scopes"];
    pass_on_a_fake_driver(&tests, "refuses-contexts", "1 passed");
}

/// Checks that the process aborts if a call cannot wait for its copies of the caller's memory.
#[test]
#[cfg(target_os = "linux")]
fn the_process_ends_where_copies_cannot_be_waited_for() {
    use std::os::unix::process::ExitStatusExt;

    let Some(run) = on_a_fake_driver(&["--exact", "copies_end_with_their_scopes"], "captures")
    else {
        return;
    };
    const ABORTED: i32 = 6;
    assert_eq!(run.status.signal(), Some(ABORTED), "{}", String::from_utf8_lossy(&run.stdout));
}

/// Checks that a call returns the error of a failed operation. Such an operation is over, so no
/// abort is necessary.
#[test]
#[cfg(target_os = "linux")]
fn calls_return_where_operations_went_wrong() {
    let Some(run) = on_a_fake_driver(&["--exact", "copies_end_with_their_scopes"], "fails") else {
        return;
    };
    let output = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.code().is_some() && output.contains("code: 700"), "{output}");
}
