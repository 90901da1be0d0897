//! Macros that make entry points from lists of kernels.

/// Makes the entry point of a kernel. `$name` are the pieces of its name, and `$function` is the
/// kernel, which is generic over the machine and receives a [`Gpu`](crate::gpu::Gpu).
macro_rules! entry_point {
    ([$($name:expr),*], $function:path, ($($array:ident: $element:ty),*)) => {
        const _: () = {
            #[unsafe(export_name = concat!($($name),*))]
            unsafe extern "ptx-kernel" fn entry($($array: *mut $element,)* operations: u32,
                rows: u32) {
                // SAFETY: the host launches the kernel by its descriptor, which comes from the same
                // entry of the list. The descriptor states the lengths of the arrays and the shape
                // of the blocks. Under these conditions, the kernel keeps the rules: the tests run
                // it on the emulator with arrays of exactly these lengths, and the emulator stops
                // at every violation.
                let gpu = unsafe { $crate::gpu::Gpu::new() };
                let batch = ctru_gpu_kernels::descriptor::Batch::from_arguments([operations, rows]);
                $function(gpu, $($crate::gpu::Global::new($array),)* batch);
            }
        };
    };
}

/// Makes three entry points from each entry of a list, one for each ring. The modules that the
/// entries name must be in scope.
#[cfg(not(feature = "lab"))]
macro_rules! ring_entry_points {
    ($($name:ident $text:literal = $room:ident::$module:ident::$function:ident(
        $($array:ident: $element:ty [$($length:tt)*]),*
    );)*) => {
        $(
            $crate::entry_points::entry_point!([$text, "_653"],
                $room::$module::$function::<_, ctru_math::R653>, ($($array: $element),*));
            $crate::entry_points::entry_point!([$text, "_761"],
                $room::$module::$function::<_, ctru_math::R761>, ($($array: $element),*));
            $crate::entry_points::entry_point!([$text, "_1277"],
                $room::$module::$function::<_, ctru_math::R1277>, ($($array: $element),*));
        )*
    };
}

pub(crate) use entry_point;
#[cfg(not(feature = "lab"))]
pub(crate) use ring_entry_points;
