//! GPUs, and their kernels.
#![allow(unsafe_code)]

use core::ffi::{c_int, c_uint, c_void};
use core::{fmt, ptr};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::CString;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ctru_gpu_kernels::descriptor::Kernel;
use ctru_gpu_kernels::ptx::Module;
use cust::CudaApiVersion;
use cust::device::{Device as Gpu, DeviceAttribute};
use cust::sys::{CUcontext, CUfunction, CUfunction_attribute, CUjit_option, CUmodule};

use super::calls;
use super::forward;
use super::memory::CudaRegistration;
use super::ptx;
use super::stream::CudaQueue;
use crate::error::RuntimeError;
use crate::memory::PinnedVec;
use crate::queue::{Device, MemoryInfo};

/// Shared memory that a block may use without asking.
const SHARED_BYTES_BY_DEFAULT: u32 = 48 << 10;
/// Room for what the compiler says.
const LOG_BYTES: usize = 16 << 10;

/// A GPU of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Its number, from 0; what [`CudaDevice::open`] takes.
    pub index: u32,
    /// Its name, as "NVIDIA H200".
    pub name: String,
    /// Its compute capability: 9 and 0 for sm_90.
    pub compute_capability: (u32, u32),
    /// Its multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of its memory.
    pub memory_bytes: usize,
}

/// Loads and initialises the driver. Cheap after the first time.
fn initialise() -> Result<(), RuntimeError> {
    forward::load()?;
    // SAFETY: it may be called at any time, with 0.
    unsafe { calls::cuInit(0) }
}

/// The newest version of CUDA that the driver knows: 13 and 0 for 13.0.
///
/// # Errors
/// [`RuntimeError::NoDriver`] or [`RuntimeError::NoDevice`] if there is nothing to use.
pub fn cuda_version() -> Result<(u32, u32), RuntimeError> {
    initialise()?;
    let version = CudaApiVersion::get().map_err(calls::from_cust("cuDriverGetVersion"))?;
    Ok((version.major().unsigned_abs(), version.minor().unsigned_abs()))
}

/// The GPUs that this process may use; at least one.
///
/// # Errors
/// [`RuntimeError::NoDriver`] or [`RuntimeError::NoDevice`] if there is nothing to use.
pub fn devices() -> Result<Vec<DeviceInfo>, RuntimeError> {
    (0..device_count()?).map(info).collect()
}

fn device_count() -> Result<u32, RuntimeError> {
    initialise()?;
    match Gpu::num_devices().map_err(calls::from_cust("cuDeviceGetCount"))? {
        0 => Err(RuntimeError::NoDevice),
        count => Ok(count),
    }
}

fn gpu(index: u32) -> Result<Gpu, RuntimeError> {
    let count = device_count()?;
    if index >= count {
        return Err(RuntimeError::UnknownDevice { index, count });
    }
    Gpu::get_device(index).map_err(calls::from_cust("cuDeviceGet"))
}

fn info(index: u32) -> Result<DeviceInfo, RuntimeError> {
    let gpu = gpu(index)?;
    let attribute = |attribute| {
        let value = gpu.get_attribute(attribute).map_err(calls::from_cust("cuDeviceGetAttribute"));
        value.map(i32::unsigned_abs)
    };
    Ok(DeviceInfo {
        index,
        name: gpu.name().map_err(calls::from_cust("cuDeviceGetName"))?,
        compute_capability: (
            attribute(DeviceAttribute::ComputeCapabilityMajor)?,
            attribute(DeviceAttribute::ComputeCapabilityMinor)?,
        ),
        multiprocessors: attribute(DeviceAttribute::MultiprocessorCount)?,
        memory_bytes: gpu.total_memory().map_err(calls::from_cust("cuDeviceTotalMem"))?,
    })
}

/// A GPU with kernels, ready to run them.
#[derive(Copy, Clone)]
pub struct CudaDevice(&'static Opened);

/// Lives until the process ends: the context is never released, no module ever unloaded, so their handles stay valid.
struct Opened {
    index: u32,
    context: CUcontext,
    module: &'static Module,
    functions: Mutex<HashMap<&'static str, Function>>,
}

// SAFETY: the handles may be used from all threads, says the driver's documentation; nothing else is not `Send` or `Sync`.
unsafe impl Send for Opened {}
// SAFETY: as above.
unsafe impl Sync for Opened {}

/// A kernel in the driver, and how much shared memory its blocks may use.
#[derive(Copy, Clone)]
struct Function {
    raw: CUfunction,
    shared_bytes: u32,
}

// SAFETY: as for `Opened`.
unsafe impl Send for Function {}

/// Devices that have been opened, each with its kernels.
static OPENED: Mutex<Vec<&'static Opened>> = Mutex::new(Vec::new());

/// The lock's content. It is changed in single steps, so a thread that panicked has left it whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CudaDevice {
    /// Opens a GPU with the kernels of `module`, whose PTX is in the layout that compilers give it:
    /// each begins with a line `.visible .entry name(` and ends with a line `}`.
    ///
    /// The driver compiles a kernel, with all that stands outside of kernels, when it is first
    /// wanted; once in a process, however often the GPU is opened with the same module. So each
    /// kernel has variables of the device to itself.
    ///
    /// # Errors
    /// [`RuntimeError::NoDriver`], [`RuntimeError::NoDevice`] or [`RuntimeError::UnknownDevice`] if there is no such
    /// GPU, [`RuntimeError::Compilation`] if the driver does not accept what stands outside of kernels, such as the version of the
    /// language and the architecture. Launches give the same error if the driver does not accept the kernel.
    pub fn open(index: u32, module: &'static Module) -> Result<Self, RuntimeError> {
        let gpu = gpu(index)?;
        // Held until it is opened, so that two threads do not open the same.
        let mut all = lock(&OPENED);
        if let Some(opened) =
            all.iter().find(|opened| opened.index == index && ptr::eq(opened.module, module))
        {
            return Ok(Self(opened));
        }
        let mut context = ptr::null_mut();
        // SAFETY: `context` may be written, and the device exists.
        unsafe { calls::cuDevicePrimaryCtxRetain(&raw mut context, gpu.as_raw()) }?;
        {
            let _current = Current::enter(context)?;
            compile(&ptx::outside_kernels(module.text()))?;
        }
        let opened = Opened { index, context, module, functions: Mutex::default() };
        let opened: &'static Opened = Box::leak(Box::new(opened));
        all.push(opened);
        Ok(Self(opened))
    }

    /// Its number.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.0.index
    }

    /// What is known of the GPU.
    ///
    /// # Errors
    /// [`RuntimeError::Driver`] if the driver does not answer.
    pub fn info(&self) -> Result<DeviceInfo, RuntimeError> {
        info(self.0.index)
    }

    /// Whether `other` has the same memory.
    pub(super) fn is(&self, other: &Self) -> bool {
        ptr::eq(self.0.context, other.0.context)
    }

    /// Makes the device the one that the driver's functions work on, in this thread and while the result lives.
    pub(super) fn enter(&self) -> Result<Current, RuntimeError> {
        Current::enter(self.0.context)
    }

    /// The kernel in the driver. The device must be [entered](Self::enter).
    pub(super) fn function(&self, kernel: &Kernel) -> Result<CUfunction, RuntimeError> {
        let name = kernel.name();
        if !kernel.is_of(self.0.module) {
            return Err(RuntimeError::ForeignKernel { name });
        }
        // Held while the driver compiles, so that two threads do not compile the same.
        let mut functions = lock(&self.0.functions);
        let function = match functions.entry(name) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let raw = self.load(name)?;
                new.insert(Function { raw, shared_bytes: SHARED_BYTES_BY_DEFAULT })
            }
        };
        let wanted = kernel.shape().shared_bytes();
        if wanted > function.shared_bytes {
            let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the function was found in the module, which stays loaded.
            unsafe { calls::cuFuncSetAttribute(function.raw, attribute, wanted as c_int) }?;
            function.shared_bytes = wanted;
        }
        Ok(function.raw)
    }

    /// Has the driver compile the kernel of this name. The device must be [entered](Self::enter).
    fn load(&self, kernel: &'static str) -> Result<CUfunction, RuntimeError> {
        let unknown = RuntimeError::UnknownKernel { name: kernel };
        let Ok(name) = CString::new(kernel) else { return Err(unknown) };
        let Some(text) = ptx::of_kernel(self.0.module.text(), kernel) else { return Err(unknown) };
        let module = compile(&text)?;
        let mut function = ptr::null_mut();
        // SAFETY: `function` may be written, the module is loaded, the name is a C string.
        unsafe { calls::cuModuleGetFunction(&raw mut function, module, name.as_ptr()) }?;
        Ok(function)
    }
}

impl fmt::Debug for CudaDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaDevice({})", self.0.index)
    }
}

impl Device for CudaDevice {
    type Queue = CudaQueue;
    type Registration = CudaRegistration;

    fn queue(&self) -> Result<CudaQueue, RuntimeError> {
        CudaQueue::new(*self)
    }

    fn register<T: Send>(
        &self,
        content: Vec<T>,
    ) -> Result<PinnedVec<T, CudaRegistration>, RuntimeError> {
        Ok(PinnedVec::new(CudaRegistration::new(*self, &content)?, content))
    }

    fn memory_info(&self) -> Result<MemoryInfo, RuntimeError> {
        let _current = self.enter()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: both may be written.
        unsafe { calls::cuMemGetInfo_v2(&raw mut free, &raw mut total) }?;
        Ok(MemoryInfo { free, total })
    }
}

/// Loads kernels into the current device.
fn compile(ptx: &str) -> Result<CUmodule, RuntimeError> {
    let refused = |code: c_int, name: String, log: &[u8]| {
        let log: Vec<u8> = log.iter().copied().take_while(|&byte| byte != 0).collect();
        RuntimeError::Compilation {
            code,
            name,
            log: String::from_utf8_lossy(&log).trim_end().into(),
        }
    };
    const INVALID_PTX: c_int = 218;
    let Ok(image) = CString::new(ptx) else {
        return Err(refused(
            INVALID_PTX,
            calls::name(INVALID_PTX),
            b"the text contains a zero byte",
        ));
    };
    let mut module = ptr::null_mut();
    let mut log = vec![0u8; LOG_BYTES];
    let mut options =
        [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    // Values that fit are passed in place of pointers.
    let mut values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(LOG_BYTES)];
    // SAFETY: all arrays live until the call returns and have the lengths told, the image is a C string.
    let result = unsafe {
        calls::cuModuleLoadDataEx(
            &raw mut module,
            image.as_ptr().cast(),
            options.len() as c_uint,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    match result {
        Ok(()) => Ok(module),
        // What the compiler and the loader of code report; others have nothing to do with the text.
        Err(RuntimeError::Driver { code, name, .. })
            if matches!(code, 200 | 209 | 218 | 221..=223 | 300) =>
        {
            Err(refused(code, name, &log))
        }
        Err(error) => Err(error),
    }
}

/// While it lives, its context is this thread's current one.
pub(super) struct Current {
    /// Contexts are current in a thread, so this must stay there.
    _thread: core::marker::PhantomData<*mut ()>,
}

impl Current {
    fn enter(context: CUcontext) -> Result<Self, RuntimeError> {
        // SAFETY: contexts of this crate are retained for ever.
        unsafe { calls::cuCtxPushCurrent_v2(context) }?;
        Ok(Self { _thread: core::marker::PhantomData })
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        let mut context = ptr::null_mut();
        // SAFETY: `enter` pushed a context, and guards are dropped in the reverse order, so the top is ours. It can fail
        // only if the process is ending, and then there is nothing to restore.
        let _ = unsafe { calls::cuCtxPopCurrent_v2(&raw mut context) };
    }
}
