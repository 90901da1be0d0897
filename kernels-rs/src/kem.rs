//! The entry points of the KEM's kernels.

use ctru_gpu_kernels::kernel::Batch;
use ctru_gpu_kernels::kernels::*;
use ctru_math::{R653, R761, R1277};

use crate::gpu::{Global, Gpu};

macro_rules! entry_points {
    ($($name:ident $text:literal = $module:ident::$function:ident(
        $($array:ident: $element:ty [$($length:tt)*]),*
    );)*) => {
        $(
            const _: () = {
                entry_points!(@ring R653, $text, "_653", $module, $function, $($array: $element),*);
                entry_points!(@ring R761, $text, "_761", $module, $function, $($array: $element),*);
                entry_points!(@ring R1277, $text, "_1277", $module, $function, $($array: $element),*);
            };
        )*
    };
    (@ring $ring:ident, $text:literal, $suffix:literal, $module:ident, $function:ident,
        $($array:ident: $element:ty),*) => {
        const _: () = {
            #[unsafe(export_name = concat!($text, $suffix))]
            unsafe extern "ptx-kernel" fn entry($($array: *mut $element,)* count: u32, keys: u32) {
                // SAFETY: the host launches the kernel by its descriptor, which is made of the same
                // entry of the list: with arrays of the lengths and in blocks of the shape that it
                // states. Under these conditions the kernel keeps the rules: the tests run it on
                // arrays of exactly these lengths on the emulator, which stops at every broken rule.
                let gpu = unsafe { Gpu::new() };
                $module::$function::<_, $ring>(gpu, $(Global::new($array),)* Batch { count, keys });
            }
        };
    };
}

ctru_gpu_kernels::for_each_kernel!(entry_points);
