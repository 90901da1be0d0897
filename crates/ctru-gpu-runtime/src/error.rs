//! Errors of devices and queues.

use thiserror::Error;

/// The reason why a call failed. The text states a remedy where one is known.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// There is no NVIDIA driver on this machine.
    #[error("no NVIDIA driver: {reason}; install the driver, or compute on the CPU")]
    NoDriver {
        /// The message of the dynamic linker.
        reason: String,
    },
    /// There is a driver, but no GPU that this process may use.
    #[error(
        "the NVIDIA driver sees no GPU: see `nvidia-smi`, the permissions of /dev/nvidia* and the \
         variable CUDA_VISIBLE_DEVICES, or compute on the CPU"
    )]
    NoDevice,
    /// There is no GPU with this number.
    #[error("there is no GPU number {index}: this machine has {count} GPUs, numbered from 0")]
    UnknownDevice {
        /// The requested number.
        index: u32,
        /// The number of GPUs.
        count: u32,
    },
    /// A call of the driver failed.
    #[error("{call}: {name} ({code}){}", advice(*code))]
    Driver {
        /// The function of the driver that reported the error. If it waits for operations, one of
        /// them may be the cause.
        call: &'static str,
        /// The driver's code.
        code: i32,
        /// The driver's name for the code.
        name: String,
    },
    /// The driver did not compile a kernel, or the text outside of kernels.
    #[error(
        "the driver did not compile {}: {name} ({code}){}\n{log}",
        kernel.unwrap_or("the text outside of kernels"), advice(*code)
    )]
    Compilation {
        /// The kernel, or `None` for the text outside of kernels.
        kernel: Option<&'static str>,
        /// The driver's code.
        code: i32,
        /// The driver's name for the code.
        name: String,
        /// The messages of the driver's compiler.
        log: String,
    },
    /// The loaded module has no kernel with this name.
    #[error(
        "the loaded module has no kernel named {name}: build the kernels and this program from the \
         same sources"
    )]
    UnknownKernel {
        /// The name of the kernel.
        name: &'static str,
    },
    /// The blocks of a kernel need more shared memory than a block may have on this GPU.
    #[error(
        "{kernel} needs {needed} bytes of shared memory per block, but this GPU has {most}: use a \
         kernel with smaller blocks"
    )]
    SharedMemory {
        /// The name of the kernel.
        kernel: &'static str,
        /// The bytes that a block needs: those that the code declares and those of the descriptor.
        needed: u32,
        /// The number of bytes that a block may have.
        most: u32,
    },
    /// A kernel of one module was launched on a device that was opened with another module.
    #[error(
        "{name} is not a kernel of the module with which the device was opened: open the device \
         with its module"
    )]
    ForeignKernel {
        /// The name of the kernel.
        name: &'static str,
    },
    /// A launch has too many or too few arrays.
    #[error("{kernel} takes {expected} arrays, but the launch passes {actual}")]
    ArgumentCount {
        /// The name of the kernel.
        kernel: &'static str,
        /// Number of arrays that the kernel takes.
        expected: usize,
        /// Number of arrays that the launch passes.
        actual: usize,
    },
    /// A kernel takes scalars, but the launch gives them no values.
    #[error(
        "{kernel} takes {count} scalars without values: launch what Kernel::with returns for them"
    )]
    UnsetScalars {
        /// The name of the kernel.
        kernel: &'static str,
        /// Number of scalars that the kernel takes.
        count: usize,
    },
    /// An array of a launch has elements of the wrong size.
    #[error(
        "{kernel}: the array {parameter} must have elements of {expected} bytes, but the launch \
         passes elements of {actual} bytes"
    )]
    Argument {
        /// The name of the kernel.
        kernel: &'static str,
        /// The name of the array.
        parameter: &'static str,
        /// Bytes per element that the kernel takes.
        expected: u32,
        /// Bytes per element of the array that the launch passes.
        actual: u32,
    },
    /// A launch has more operations than the kernel can index in 32 bits.
    #[error(
        "{kernel} takes at most {most} operations, but the launch has {count}: launch them in \
         parts"
    )]
    TooManyOperations {
        /// The name of the kernel.
        kernel: &'static str,
        /// The largest number of operations that the kernel takes.
        most: u32,
        /// The number of operations in the batch.
        count: u32,
    },
    /// An array of a launch is shorter than the part that the kernel may access for this batch.
    #[error(
        "{kernel}: the array {parameter} must have {needed} elements, but the launch passes \
         {actual}"
    )]
    Length {
        /// The name of the kernel.
        kernel: &'static str,
        /// The name of the array.
        parameter: &'static str,
        /// The number of elements that the array must have.
        needed: u64,
        /// The number of elements in the array that the launch passes.
        actual: u64,
    },
    /// An array of a launch does not begin at a multiple of the size of the groups of elements that
    /// the kernel accesses.
    #[error(
        "{kernel}: the address of the array {parameter} must be a multiple of {bytes} bytes: pass \
         a slice that begins at such an address"
    )]
    Alignment {
        /// The name of the kernel.
        kernel: &'static str,
        /// The name of the array.
        parameter: &'static str,
        /// The number of bytes.
        bytes: u32,
    },
    /// A copy exceeds the end of its source or of its target.
    #[error("a copy uses the elements {start}..{end} of memory that has {len} elements")]
    Range {
        /// First element.
        start: usize,
        /// The element after the last one.
        end: usize,
        /// Number of elements in the memory.
        len: usize,
    },
    /// Two calls use the same elements of shared host memory at the same time.
    #[error("other calls use some of the elements {start}..{end} at this time")]
    Overlap {
        /// First element.
        start: usize,
        /// The element after the last one.
        end: usize,
    },
    /// A slice of device memory does not lie inside the memory, or it does not consist of whole
    /// elements at addresses that are multiples of their size.
    #[error(
        "the bytes {start}..{end} of {bytes} bytes of device memory are not whole, aligned \
         elements of {element_bytes} bytes"
    )]
    Slice {
        /// First byte.
        start: usize,
        /// The byte after the last one.
        end: usize,
        /// Number of bytes in the memory.
        bytes: usize,
        /// Bytes per element of the slice.
        element_bytes: u32,
    },
    /// Device memory was used on a queue of another device, or pinned memory was copied on a queue
    /// that did not allocate it.
    #[error("{what} belongs to another {owner}: use it where it was allocated")]
    Foreign {
        /// The kind of memory.
        what: &'static str,
        /// The kind of owner.
        owner: &'static str,
    },
    /// The device does not have enough free memory.
    #[error(
        "the device cannot allocate {requested} bytes, {free} bytes are free: request smaller or \
         fewer buffers"
    )]
    OutOfMemory {
        /// The requested number of bytes.
        requested: usize,
        /// The number of free bytes. They may not be contiguous.
        free: usize,
    },
    /// The host does not have enough memory that can be pinned.
    #[error("the host cannot pin {requested} bytes: request smaller or fewer buffers")]
    OutOfHostMemory {
        /// The requested number of bytes.
        requested: usize,
    },
    /// A kernel violated a rule of the machine on the emulator.
    #[cfg(feature = "emulator")]
    #[error("the emulator stopped: {0}")]
    Emulator(#[from] ctru_simt::emulator::Fault),
    /// The PTX of a kernel could not be run, or violated a rule of the machine.
    #[cfg(feature = "interpreter")]
    #[error("the interpreter of PTX stopped: {0}")]
    Interpreter(#[from] ptx_check::run::Error),
}

/// Returns an explanation or a remedy for an error code of the driver, or an empty string.
fn advice(code: i32) -> &'static str {
    match code {
        46 => ": another process uses this GPU exclusively (see `nvidia-smi -q -d COMPUTE`)",
        200 | 218 => ": the kernels are damaged or built for another kind of GPU",
        209 => ": the kernels are built for a newer GPU than this one",
        222 => ": the driver is older than the kernels; update it",
        221 | 223 => ": the driver's compiler is missing or disabled (see CUDA_DISABLE_PTX_JIT)",
        214 | 220 | 226 | 700 | 702 | 710 | 713..=719 => {
            ": this process can no longer use the GPU; end it, and report the failure"
        }
        802 => ": the system is still starting, or its fabric manager is not running",
        803 => {
            ": the driver in the kernel and its libraries have different versions; restart the \
             machine"
        }
        _ => "",
    }
}
