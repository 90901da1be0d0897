//! Counts what the stand-in for the driver compiles.

use core::ffi::c_long;

use ctru_gpu_runtime::cuda::CudaDevice;
use libloading::Library;

use super::on_a_fake_driver;
use crate::common::{MODULE, REVERSE, check};

/// Opens a device several times and launches a kernel each time. Checks that the driver compiles
/// the module and the kernel the first time and never again.
#[test]
fn each_is_compiled_once() {
    if std::env::var("CTRU_FAKE_DRIVER").as_deref() != Ok("counts-modules") {
        return;
    }
    // SAFETY: this is the library that the crate opens too.
    let library = unsafe { Library::new("libcuda.so.1") }.unwrap();
    // SAFETY: the stand-in defines this function with this type.
    let loads: unsafe extern "C" fn() -> c_long =
        unsafe { *library.get("ctru_module_loads").unwrap() };
    // SAFETY: the function may be called at any time.
    let loads = || unsafe { loads() };

    assert_eq!(loads(), 0);
    for _ in 0..3 {
        let device = CudaDevice::open(0, &MODULE).unwrap();
        assert!(device.resources(&REVERSE).unwrap().blocks > 0);
        check(&device).unwrap();
    }
    // What is outside of kernels, and the kernel.
    assert_eq!(loads(), 2);
    println!("compiled once");
}

#[test]
fn each_is_compiled_once_on_a_fake_driver() {
    let tests = ["--exact", "fake_driver::modules::each_is_compiled_once", "--nocapture"];
    let Some(run) = on_a_fake_driver(&tests, "counts-modules") else { return };
    let (output, errors) =
        (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success() && output.contains("compiled once"), "{output}{errors}");
}
