//! Runs kernels with deliberate faults, to test that a checker of GPU programs finds them.
//!
//! `compute-sanitizer --tool memcheck faults out-of-bounds` and `compute-sanitizer --tool racecheck
//! faults race` must report an error; `faults none` runs the same kernels without their faults and
//! must pass both.
#![allow(unsafe_code)]

use std::process::ExitCode;

use ctru_gpu_runtime::cuda::CudaDevice;
use ctru_gpu_runtime::{Device, HostMemory, Queue, RuntimeError};
use ctru_simt::descriptor::{Batch, Kernel, Parameter, Rows, Shape};
use ctru_simt::ptx::Module;

/// Threads per block, and elements of the array.
const THREADS: u32 = 64;

/// In `shift`, thread `i` writes element `i + array[0]`. In `exchange`, threads of two warps
/// exchange words of shared memory. Unless `array[0]` is 1, a barrier lies between the writes and
/// the reads.
const PTX: &str = "
.version 7.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 smem[];

.visible .entry shift(.param .u64 p_array, .param .u32 p_count, .param .u32 p_keys)
{
    .reg .u32 %i, %by;
    .reg .u64 %array, %address;
    ld.param.u64 %array, [p_array];
    cvta.to.global.u64 %array, %array;
    ld.global.u32 %by, [%array];
    bar.sync 0;
    mov.u32 %i, %tid.x;
    add.u32 %i, %i, %by;
    mad.wide.u32 %address, %i, 4, %array;
    st.global.u32 [%address], %i;
    ret;
}

.visible .entry exchange(.param .u64 p_array, .param .u32 p_count, .param .u32 p_keys)
{
    .reg .pred %races;
    .reg .u32 %i, %mode, %base, %address, %value;
    .reg .u64 %array, %own;
    ld.param.u64 %array, [p_array];
    cvta.to.global.u64 %array, %array;
    ld.global.u32 %mode, [%array];
    setp.eq.u32 %races, %mode, 1;
    bar.sync 0;
    mov.u32 %i, %tid.x;
    mov.u32 %base, smem;
    mad.lo.u32 %address, %i, 4, %base;
    st.shared.u32 [%address], %i;
    @%races bra read;
    bar.sync 0;
read:
    sub.u32 %address, 63, %i;
    mad.lo.u32 %address, %address, 4, %base;
    ld.shared.u32 %value, [%address];
    mad.wide.u32 %own, %i, 4, %array;
    st.global.u32 [%own], %value;
    ret;
}
";

static MODULE: Module = Module::new(PTX);
const ARRAY: &[Parameter] = &[Parameter::new("array", 4, Rows::EachOperation, THREADS)];
const SHAPE: Shape = Shape::new(THREADS, 1, 4 * THREADS);

// SAFETY: this violates the contract of `Kernel::new` on purpose: unless the array begins with 0,
// the kernel writes past its end. Only `run` launches the kernel, and `run` is unsafe and passes
// the condition on to its caller.
static SHIFT: Kernel = unsafe { Kernel::new(&MODULE, "shift", SHAPE, ARRAY) };
// SAFETY: each thread writes its own element. The race concerns only words of shared memory, for
// which every value is valid.
static EXCHANGE: Kernel = unsafe { Kernel::new(&MODULE, "exchange", SHAPE, ARRAY) };

/// Runs a kernel on an array that begins with `first`.
///
/// # Safety
/// If `kernel` is [`SHIFT`] and `first` is not 0, the memory after the array must hold nothing of
/// value.
unsafe fn run(kernel: &Kernel, first: u32) -> Result<(), RuntimeError> {
    let queue = CudaDevice::open(0, &MODULE)?.queue()?;
    let elements = THREADS as usize;
    let mut content = queue.pinned::<u32>(elements)?;
    content.write()?[0] = first;
    let array = queue.allocate::<u32>(elements)?;
    queue.upload(&content, 0..elements, &array, 0)?;
    queue.launch(kernel, &[&array], Batch::each(1))?;
    queue.synchronise()
}

fn main() -> ExitCode {
    let fault = std::env::args().nth(1).unwrap_or_default();
    let done = match &*fault {
        // SAFETY: the array of `shift` begins with 0.
        "none" => unsafe { run(&SHIFT, 0).and_then(|()| run(&EXCHANGE, 0)) },
        // SAFETY: the element after the array holds nothing of value: this process allocates
        // nothing else on the GPU and ends after this call. The sanitizer must find the access.
        "out-of-bounds" => unsafe { run(&SHIFT, 1) },
        // SAFETY: this kernel is not `shift`.
        "race" => unsafe { run(&EXCHANGE, 1) },
        _ => {
            eprintln!("usage: faults none|out-of-bounds|race");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
