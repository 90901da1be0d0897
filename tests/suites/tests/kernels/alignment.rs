//! Tests that a launch refuses an array that is not aligned for the widest access of the kernel.
//!
//! The emulator stops at an access that is wider than the descriptor declares, and
//! `ctru-gpu-kernels` runs every kernel there. So no launch makes an access that is not aligned.

use core::ops::Deref;

use ctru_gpu_kernels::descriptor::{Batch, Kernel, Parameter};
use ctru_gpu_kernels::simt::U32x4;
use ctru_gpu_kernels::table;
use ctru_gpu_runtime::emulated::{EmulatedDevice, EmulatedMemory, EmulatedQueue};
use ctru_gpu_runtime::{Device, Launch, Order, Queue, RuntimeError};

/// An array of an argument.
type Array<'a> = Box<dyn Deref<Target = EmulatedMemory> + 'a>;

/// Returns an array for a parameter, from byte `start` of the memory on.
fn array<'a>(
    queue: &EmulatedQueue,
    memory: &'a EmulatedMemory,
    (kernel, parameter, batch): (&Kernel, &Parameter, Batch),
    start: u32,
) -> Array<'a> {
    let (start, element) = (start as usize, parameter.element_bytes() as usize);
    let range = start..start + element * kernel.elements(parameter, batch) as usize;
    match element {
        1 => Box::new(queue.slice::<u8>(memory, range).unwrap()),
        2 => Box::new(queue.slice::<u16>(memory, range).unwrap()),
        4 => Box::new(queue.slice::<u32>(memory, range).unwrap()),
        8 => Box::new(queue.slice::<u64>(memory, range).unwrap()),
        _ => Box::new(queue.slice::<U32x4>(memory, range).unwrap()),
    }
}

/// Passes one array after the other to a kernel one element too late. Returns the names of the
/// arrays for which both kinds of launches are refused.
fn refused(queue: &EmulatedQueue, memory: &EmulatedMemory, kernel: &Kernel) -> Vec<&'static str> {
    let batch = Batch::each(1);
    let with_late = |late: usize| {
        let arrays: Vec<Array<'_>> = (0..)
            .zip(kernel.parameters())
            .map(|(i, parameter)| {
                let start = if i == late { parameter.element_bytes() } else { 0 };
                array(queue, memory, (kernel, parameter, batch), start)
            })
            .collect();
        let memory: Vec<&EmulatedMemory> = arrays.iter().map(|array| &***array).collect();
        let parameter = &kernel.parameters()[late];
        if parameter.alignment() == parameter.element_bytes() {
            return None;
        }
        let (name, bytes) = (parameter.name(), parameter.alignment());
        let expected =
            Err(RuntimeError::Alignment { kernel: kernel.name(), parameter: name, bytes });
        assert_eq!(queue.launch(kernel, &memory, batch), expected);
        let launch = Launch { kernel, memory, batch, order: Order::Next };
        assert_eq!(queue.launch_all(&[launch.clone(), launch]), expected);
        Some(name)
    };
    (0..kernel.parameters().len()).filter_map(with_late).collect()
}

#[test]
fn arrays_that_are_not_aligned_are_refused() {
    let queue = EmulatedDevice::new().queue().unwrap();
    let memory = queue.allocate::<u8>(32 << 20).unwrap();
    let kernels = table::ALL.iter().flat_map(|kernels| kernels.each());
    let refused_of: Vec<_> =
        kernels.map(|kernel| (kernel.name(), refused(&queue, &memory, kernel))).collect();
    // Some that cast arrays without groups.
    for (name, arrays) in [
        ("fused_encrypt_761", &["h", "ciphertexts"][..]),
        ("frobenius_653", &["matrix", "elements"]),
        ("decapsulate_mixed_radix_653", &["keys", "ciphertexts", "copied_keys"]),
    ] {
        let (_, refused) = refused_of.iter().find(|(kernel, _)| *kernel == name).unwrap();
        assert!(arrays.iter().all(|array| refused.contains(array)), "{name}: {refused:?}");
    }
    // Kernels that access bytes one by one take arrays at every address.
    let (_, refused) =
        refused_of.iter().find(|(kernel, _)| *kernel == "decode_packed13_761").unwrap();
    assert!(!refused.contains(&"ids"), "{refused:?}");
}
