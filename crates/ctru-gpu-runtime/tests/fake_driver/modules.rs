//! Counts what the stand-in for the driver compiles.

use std::thread;
use std::time::Duration;

use ctru_gpu_runtime::cuda::CudaDevice;
use ctru_gpu_runtime::{Device, Queue, RuntimeError};
use ctru_simt::descriptor::{Batch, Kernel};
use ctru_simt::ptx::Module;

use super::{StandIn, alone};
use crate::common::{MODULE, PARAMETERS, PTX, REVERSE, SHAPE};

/// Launches a kernel for one operation, and waits for it.
fn launch(device: &CudaDevice, kernel: &Kernel) -> Result<(), RuntimeError> {
    let queue = device.queue()?;
    let (keys, output) = (queue.allocate::<u16>(64)?, queue.allocate::<u32>(64)?);
    queue.launch(kernel, &[&keys, &output], Batch::each(1))?;
    queue.synchronise()
}

/// Opens a device several times and launches a kernel each time. Checks that the driver compiles
/// the module and the kernel the first time and never again.
#[test]
fn each_is_compiled_once() {
    alone("modules::each_is_compiled_once", "counts-modules", || {
        let stand_in = StandIn::open();
        assert_eq!(stand_in.loads(), 0);
        for _ in 0..3 {
            let device = CudaDevice::open(0, &MODULE).unwrap();
            assert!(device.resources(&REVERSE).unwrap().blocks > 0);
            launch(&device, &REVERSE).unwrap();
        }
        // What is outside of kernels, and the kernel.
        assert_eq!(stand_in.loads(), 2);
    });
}

/// Lets the driver compile for a long time. Checks that several threads that need the same module
/// or the same kernel compile it once, and that other threads go on with what is compiled.
#[test]
fn compilation_stops_no_other_launch() {
    alone("modules::compilation_stops_no_other_launch", "compiles-slowly", || {
        // A launch that waits for the compiler here would wait for ever.
        thread::spawn(|| {
            thread::sleep(Duration::from_secs(60));
            eprintln!("a launch waits for the compilation of another kernel");
            std::process::exit(1);
        });
        let second = &PTX[PTX.find(".visible").unwrap()..];
        let text = PTX.to_owned() + &second.replace("reverse", "reverse_too");
        let module: &'static Module = Box::leak(Box::new(Module::new(text.leak())));
        // SAFETY: the entry points have the text of that of `REVERSE`.
        let [first, second] = ["reverse", "reverse_too"]
            .map(|name| unsafe { Kernel::new(module, name, SHAPE, PARAMETERS) });
        let (first, second): (&Kernel, &Kernel) =
            (Box::leak(Box::new(first)), Box::leak(Box::new(second)));
        let stand_in = StandIn::open();

        /// Runs `work` on two threads while the driver compiles, and `beside` on this one.
        fn two_threads<T: Send + 'static>(
            stand_in: &StandIn,
            work: impl Fn() -> Result<T, RuntimeError> + Copy + Send + 'static,
            beside: impl FnOnce(),
        ) {
            let before = stand_in.loads();
            stand_in.hold(true);
            let threads = [(); 2].map(|()| thread::spawn(move || work().map(drop)));
            while stand_in.loads() == before {
                thread::yield_now();
            }
            // The other thread has time to begin the same.
            thread::sleep(Duration::from_millis(50));
            beside();
            stand_in.hold(false);
            for thread in threads {
                assert_eq!(thread.join().unwrap(), Ok(()));
            }
            assert_eq!(stand_in.loads(), before + 1);
        }

        let open = move || CudaDevice::open(0, module);
        two_threads(&stand_in, open, || ());
        let device = open().unwrap();
        two_threads(&stand_in, move || launch(&device, first), || ());
        two_threads(
            &stand_in,
            move || launch(&device, second),
            || {
                assert_eq!(launch(&open().unwrap(), first), Ok(()));
            },
        );
        // Another module.
        two_threads(
            &stand_in,
            || CudaDevice::open(0, &MODULE),
            || {
                assert_eq!(launch(&open().unwrap(), second), Ok(()));
            },
        );
    });
}
