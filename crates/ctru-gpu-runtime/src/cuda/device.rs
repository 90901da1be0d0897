//! GPUs and the kernels that are loaded into them.
#![allow(unsafe_code)]

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::hash::Hash;
use core::{fmt, ptr};
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{LazyLock, Mutex};

use ctru_simt::descriptor::Kernel;
use ctru_simt::ptx::Module;

use super::driver;
use super::ptx;
use super::sys::{
    CUDA_ERROR_INVALID_PTX, CUcontext, CUdevice, CUdevice_attribute, CUfunction,
    CUfunction_attribute, CUjit_option, CUmodule,
};
use crate::error::RuntimeError;
use crate::lock::lock;
use crate::queue::MemoryInfo;

/// Bytes of shared memory that a block may use by default, with those that its code declares. More
/// must be requested per function.
const SHARED_BYTES_BY_DEFAULT: u32 = 48 << 10;
/// The bytes of shared memory that the code of a function declares.
const DECLARED: CUfunction_attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
/// Length of the buffer for the name of a GPU.
const NAME_BYTES: usize = 256;
/// Length of the buffer for the messages of the compiler.
const LOG_BYTES: usize = 16 << 10;

/// Properties of a GPU of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// The GPU's number, counted from 0, for [`CudaDevice::open`].
    pub index: u32,
    /// The GPU's name, such as "NVIDIA H200".
    pub name: String,
    /// The compute capability, such as `(9, 0)` for sm_90.
    pub compute_capability: (u32, u32),
    /// The number of multiprocessors.
    pub multiprocessors: u32,
    /// The size of the GPU's memory in bytes.
    pub memory_bytes: usize,
}

/// The resources that a kernel uses after the driver has compiled it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelResources {
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of local memory per thread, for example for spilled registers.
    pub local_bytes: u32,
    /// Bytes of shared memory per block.
    pub shared_bytes: u32,
    /// Number of blocks that a multiprocessor can run at the same time.
    pub blocks: u32,
}

/// Loads and initialises the driver. Later calls take almost no time.
fn initialise() -> Result<(), RuntimeError> {
    // SAFETY: `cuInit` may be called at any time, with the flags 0.
    unsafe { driver::cuInit(0) }
}

/// Returns the newest version of CUDA that the driver supports, such as `(13, 0)`.
///
/// # Errors
/// [`RuntimeError::NoDriver`] or [`RuntimeError::NoDevice`] if this process can use no GPU;
/// [`RuntimeError::Driver`] if the driver does not answer.
pub fn cuda_version() -> Result<(u32, u32), RuntimeError> {
    initialise()?;
    let mut version = 0;
    // SAFETY: `version` may be written.
    unsafe { driver::cuDriverGetVersion(&raw mut version) }?;
    let version = version.unsigned_abs();
    Ok((version / 1000, version % 1000 / 10))
}

/// Returns the GPUs that this process may use. There is at least one.
///
/// # Errors
/// [`RuntimeError::NoDriver`] or [`RuntimeError::NoDevice`] if this process can use no GPU;
/// [`RuntimeError::Driver`] if the driver does not answer.
pub fn devices() -> Result<Vec<DeviceInfo>, RuntimeError> {
    (0..device_count()?).map(info).collect()
}

fn device_count() -> Result<u32, RuntimeError> {
    initialise()?;
    let mut count = 0;
    // SAFETY: `count` may be written.
    unsafe { driver::cuDeviceGetCount(&raw mut count) }?;
    match count {
        ..=0 => Err(RuntimeError::NoDevice),
        count => Ok(count.unsigned_abs()),
    }
}

/// Returns the driver's handle of the GPU with number `index`.
fn gpu(index: u32) -> Result<CUdevice, RuntimeError> {
    let count = device_count()?;
    if index >= count {
        return Err(RuntimeError::UnknownDevice { index, count });
    }
    let mut gpu = 0;
    // SAFETY: `gpu` may be written.
    unsafe { driver::cuDeviceGet(&raw mut gpu, index as c_int) }?;
    Ok(gpu)
}

/// Returns a number that describes the GPU with number `index`.
fn attribute(index: u32, attribute: CUdevice_attribute) -> Result<u32, RuntimeError> {
    let gpu = gpu(index)?;
    let mut value = 0;
    // SAFETY: `value` may be written, and the GPU exists.
    unsafe { driver::cuDeviceGetAttribute(&raw mut value, attribute, gpu) }?;
    Ok(value.unsigned_abs())
}

/// Returns a number that describes a kernel as the driver has compiled it.
fn of_function(function: CUfunction, attribute: CUfunction_attribute) -> Result<u32, RuntimeError> {
    let mut value: c_int = 0;
    // SAFETY: `value` may be written, and the function belongs to a module that stays loaded.
    unsafe { driver::cuFuncGetAttribute(&raw mut value, attribute, function) }?;
    Ok(value.unsigned_abs())
}

fn info(index: u32) -> Result<DeviceInfo, RuntimeError> {
    let gpu = gpu(index)?;
    let attribute = |name| attribute(index, name);
    let mut name: [c_char; NAME_BYTES] = [0; NAME_BYTES];
    // SAFETY: `name` may be written and has this length, and the GPU exists.
    unsafe { driver::cuDeviceGetName(name.as_mut_ptr(), NAME_BYTES as c_int, gpu) }?;
    let name = name.map(|byte| byte as u8);
    let mut memory_bytes = 0;
    // SAFETY: `memory_bytes` may be written, and the GPU exists.
    unsafe { driver::cuDeviceTotalMem_v2(&raw mut memory_bytes, gpu) }?;
    Ok(DeviceInfo {
        index,
        name: CStr::from_bytes_until_nul(&name).unwrap_or_default().to_string_lossy().into(),
        compute_capability: (
            attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        multiprocessors: attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        memory_bytes,
    })
}

/// A GPU that has been opened for the kernels of one module.
#[derive(Copy, Clone)]
pub struct CudaDevice(&'static Opened);

/// An open GPU. It stays open until the process ends. The context is never released and no module
/// is unloaded, so their handles stay valid.
struct Opened {
    index: u32,
    context: CUcontext,
    module: &'static Module,
    /// The kernels by their names.
    functions: Table<&'static str, Function>,
}

// SAFETY: the context is the only field that is not `Send`. By the driver's documentation, any
// thread may push a context and use it.
unsafe impl Send for Opened {}
// SAFETY: the context is the only field that is not `Sync`. Several threads may use the same
// context at the same time, because the driver's functions are thread-safe.
unsafe impl Sync for Opened {}

/// A loaded kernel, and the number of bytes of shared memory that its blocks may use.
#[derive(Copy, Clone)]
struct Function {
    raw: CUfunction,
    shared_bytes: u32,
}

// SAFETY: a function belongs to its context, which any thread may use.
unsafe impl Send for Function {}

/// Values by their keys. One thread makes a value while others that need it wait. If it cannot be
/// made, the next thread tries again.
struct Table<K, V: 'static>(Mutex<HashMap<K, &'static Mutex<Option<V>>>>);

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, V> Table<K, V> {
    /// Calls `work` with the value of `key`, which `make` makes if there is none.
    fn with<T>(
        &self,
        key: K,
        make: impl FnOnce() -> Result<V, RuntimeError>,
        work: impl FnOnce(&mut V) -> Result<T, RuntimeError>,
    ) -> Result<T, RuntimeError> {
        // The lock of the table is held for a look-up only. Opening a GPU and compiling a kernel
        // can take seconds, in which other threads need other values.
        let value = *lock(&self.0).entry(key).or_insert_with(|| Box::leak(Box::default()));
        let mut value = lock(value);
        match &mut *value {
            Some(value) => work(value),
            none => work(none.insert(make()?)),
        }
    }
}

/// The open GPUs, by their numbers and the addresses of the modules for which they were opened.
static OPENED: LazyLock<Table<(u32, usize), &'static Opened>> = LazyLock::new(Table::default);

impl CudaDevice {
    /// Opens a GPU for the kernels of `module`. The PTX must have the layout that compilers
    /// produce: each kernel begins with a line `.visible .entry name(` and ends with a line `}`.
    ///
    /// The driver compiles a kernel when it is first needed, together with all text outside of
    /// kernels. It does so once per process, even if the GPU is opened several times with the same
    /// module. Because kernels are compiled separately, each kernel has its own copy of the
    /// module's variables on the device.
    ///
    /// # Errors
    /// [`RuntimeError::NoDriver`], [`RuntimeError::NoDevice`] or [`RuntimeError::UnknownDevice`] if
    /// there is no such GPU. [`RuntimeError::Compilation`] if the driver rejects the text outside
    /// of kernels, for example because of the version of the PTX language or the architecture. A
    /// launch returns the same error if the driver rejects the kernel.
    pub fn open(index: u32, module: &'static Module) -> Result<Self, RuntimeError> {
        let gpu = gpu(index)?;
        let open = || {
            let mut context = ptr::null_mut();
            // SAFETY: `context` may be written, and the GPU exists.
            unsafe { driver::cuDevicePrimaryCtxRetain(&raw mut context, gpu) }?;
            let _current = Current::enter(context)?;
            compile(None, &ptx::outside_kernels(module.text()))?;
            let opened = Opened { index, context, module, functions: Table::default() };
            let opened: &'static Opened = Box::leak(Box::new(opened));
            Ok(opened)
        };
        let key = (index, ptr::from_ref(module).addr());
        OPENED.with(key, open, |opened| Ok(Self(opened)))
    }

    /// Returns the number of the GPU.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.0.index
    }

    /// Returns the properties of the GPU.
    ///
    /// # Errors
    /// [`RuntimeError::Driver`] if the driver does not answer.
    pub fn info(&self) -> Result<DeviceInfo, RuntimeError> {
        info(self.0.index)
    }

    /// Returns the resources that a kernel uses with its block shape.
    ///
    /// # Errors
    /// [`RuntimeError::ForeignKernel`] or [`RuntimeError::UnknownKernel`] if the device does not
    /// have the kernel. [`RuntimeError::Compilation`] if the driver rejects the kernel.
    /// [`RuntimeError::SharedMemory`] if the GPU has too little for a block.
    /// [`RuntimeError::Driver`] if the driver does not answer.
    pub fn resources(&self, kernel: &Kernel) -> Result<KernelResources, RuntimeError> {
        let _current = self.enter()?;
        let function = self.function(kernel)?;
        let attribute = |attribute| of_function(function, attribute);
        let shape = kernel.shape();
        let mut blocks: c_int = 0;
        // SAFETY: `blocks` may be written, and the function belongs to a module that stays loaded.
        unsafe {
            driver::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &raw mut blocks,
                function,
                shape.threads() as c_int,
                shape.shared_bytes() as usize,
            )
        }?;
        Ok(KernelResources {
            registers: attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            local_bytes: attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            // The sum of the memory that the code declares and the memory that a launch requests.
            shared_bytes: attribute(DECLARED)? + shape.shared_bytes(),
            blocks: blocks.unsigned_abs(),
        })
    }

    /// Returns the total and the free memory of the GPU.
    pub(super) fn memory(&self) -> Result<MemoryInfo, RuntimeError> {
        let _current = self.enter()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: both may be written.
        unsafe { driver::cuMemGetInfo_v2(&raw mut free, &raw mut total) }?;
        Ok(MemoryInfo { free, total })
    }

    /// Returns whether `other` is the same GPU. If it is, both use the same memory.
    pub(super) fn is(&self, other: &Self) -> bool {
        ptr::eq(self.0.context, other.0.context)
    }

    /// Returns whether `context` is that of the device.
    #[cfg(feature = "cust")]
    pub(super) fn has_context(&self, context: CUcontext) -> bool {
        ptr::eq(self.0.context, context)
    }

    /// Makes the device's context current in this thread. Until the result is dropped, the
    /// functions of the driver that this thread calls use this device.
    pub(super) fn enter(&self) -> Result<Current, RuntimeError> {
        Current::enter(self.0.context)
    }

    /// Calls `work` while the device's primary context is current in this thread, so that the
    /// driver, the CUDA runtime and libraries on top of them use this device as the current one.
    /// Then the context that was current before is current again.
    ///
    /// # Errors
    /// [`RuntimeError::Driver`] if the driver refuses the context. `work` is not called then.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> Result<T, RuntimeError> {
        let _current = self.enter()?;
        Ok(work())
    }

    /// Returns the driver's handle of a kernel. Loads the kernel at its first use. The device must
    /// be [current](Self::enter).
    pub(super) fn function(&self, kernel: &Kernel) -> Result<CUfunction, RuntimeError> {
        let name = kernel.name();
        if !kernel.is_of(self.0.module) {
            return Err(RuntimeError::ForeignKernel { name });
        }
        let load = || {
            let raw = self.load(name)?;
            let shared_bytes = SHARED_BYTES_BY_DEFAULT.saturating_sub(of_function(raw, DECLARED)?);
            Ok(Function { raw, shared_bytes })
        };
        self.0.functions.with(name, load, |function| {
            let wanted = kernel.shape().shared_bytes();
            if wanted > function.shared_bytes {
                self.permit(name, function.raw, wanted)?;
                function.shared_bytes = wanted;
            }
            Ok(function.raw)
        })
    }

    /// Lets the blocks of a kernel have `wanted` bytes of shared memory for launches, beside those
    /// that its code declares. The device must be [current](Self::enter).
    fn permit(
        &self,
        kernel: &'static str,
        function: CUfunction,
        wanted: u32,
    ) -> Result<(), RuntimeError> {
        const MOST: CUdevice_attribute =
            CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
        const WANTED: CUfunction_attribute =
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let needed = wanted.saturating_add(of_function(function, DECLARED)?);
        let most = attribute(self.0.index, MOST)?;
        if needed > most {
            return Err(RuntimeError::SharedMemory { kernel, needed, most });
        }
        // SAFETY: the function belongs to a module that stays loaded.
        unsafe { driver::cuFuncSetAttribute(function, WANTED, wanted as c_int) }
    }

    /// Compiles and loads the kernel with this name. The device must be [current](Self::enter).
    fn load(&self, kernel: &'static str) -> Result<CUfunction, RuntimeError> {
        let unknown = RuntimeError::UnknownKernel { name: kernel };
        let Ok(name) = CString::new(kernel) else { return Err(unknown) };
        let Some(text) = ptx::of_kernel(self.0.module.text(), kernel) else { return Err(unknown) };
        let module = compile(Some(kernel), &text)?;
        let mut function = ptr::null_mut();
        // SAFETY: `function` may be written, the module is loaded, the name is a C string.
        unsafe { driver::cuModuleGetFunction(&raw mut function, module, name.as_ptr()) }?;
        Ok(function)
    }
}

impl fmt::Debug for CudaDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaDevice({})", self.0.index)
    }
}

/// Compiles PTX and loads it into the current device. Errors name the kernel, if there is one.
fn compile(kernel: Option<&'static str>, ptx: &str) -> Result<CUmodule, RuntimeError> {
    let refused = |code: c_int, name: String, log: &[u8]| {
        let log: Vec<u8> = log.iter().copied().take_while(|&byte| byte != 0).collect();
        RuntimeError::Compilation {
            kernel,
            code,
            name,
            log: String::from_utf8_lossy(&log).trim_end().into(),
        }
    };
    let Ok(image) = CString::new(ptx) else {
        return Err(refused(
            CUDA_ERROR_INVALID_PTX,
            driver::name(CUDA_ERROR_INVALID_PTX),
            b"the text contains a zero byte",
        ));
    };
    let mut module = ptr::null_mut();
    let mut log = vec![0u8; LOG_BYTES];
    let mut options =
        [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    // The driver takes the second value, a number, in the form of a pointer.
    let mut values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(LOG_BYTES)];
    // SAFETY: all arrays live until the call returns and have the lengths given, and the image is a
    // C string.
    let result = unsafe {
        driver::cuModuleLoadDataEx(
            &raw mut module,
            image.as_ptr().cast(),
            options.len() as c_uint,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    match result {
        Ok(()) => Ok(module),
        // These are codes of the compiler and the loader. Other errors are not caused by the text.
        Err(RuntimeError::Driver { code, name, .. })
            if matches!(code, 200 | 209 | 218 | 221..=223 | 300) =>
        {
            Err(refused(code, name, &log))
        }
        Err(error) => Err(error),
    }
}

/// A guard that keeps a context current in this thread until it is dropped.
pub(super) struct Current {
    /// Makes the guard not `Send`, because the context is current only in this thread.
    _thread: core::marker::PhantomData<*mut ()>,
}

impl Current {
    /// Makes a context current in this thread. The context must exist until the guard is dropped.
    /// Contexts of this crate are never released.
    pub(super) fn enter(context: CUcontext) -> Result<Self, RuntimeError> {
        // SAFETY: the context exists.
        unsafe { driver::cuCtxPushCurrent_v2(context) }?;
        Ok(Self { _thread: core::marker::PhantomData })
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        let mut context = ptr::null_mut();
        // SAFETY: `context` may be written. `enter` pushed a context, and the guards of a thread
        // are dropped in the reverse order, so that this pops the same one, or the one that other
        // code has put in its place to choose another device. The call fails only while the process
        // ends, and then there is nothing to restore.
        let _ = unsafe { driver::cuCtxPopCurrent_v2(&raw mut context) };
    }
}
