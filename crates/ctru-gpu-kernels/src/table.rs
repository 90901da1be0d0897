//! The list of all kernels, from which device entry points and host descriptors are made.

use ctru_math::{R653, R761, R1277};

use crate::kernel::{Kernel, Kernels, Parameter};
use crate::kernels::*;
use crate::simt::Word;

/// Calls the macro `$callback` with the list of all kernels.
///
/// An entry `NAME "name" = module::function(array: element, ...);` stands for three entry points, `name_653`, `name_761`
/// and `name_1277`: the function [`module::function`](crate::kernels) for each ring, in blocks of the shape
/// `module::shape::<Ring>()`.
#[macro_export]
macro_rules! for_each_kernel {
    ($callback:ident) => {
        $callback! {
            MULTIPLY_SAMPLED "multiply_sampled" =
                product::multiply_sampled(large: u16, small: u8, product: u16);
            MULTIPLY_ROUNDED "multiply_rounded" =
                product::multiply_rounded(large: u16, small: u8, product: u16);
        }
    };
}

macro_rules! descriptors {
    ($($name:ident $text:literal = $module:ident::$function:ident($($array:ident: $element:ty),*);)*) => {
        $(
            #[doc = concat!("[`", stringify!($module), "::", stringify!($function), "`]")]
            pub static $name: Kernels = Kernels {
                of_653: descriptors!(@kernel R653, $text, "_653", $module, $function, $($array: $element),*),
                of_761: descriptors!(@kernel R761, $text, "_761", $module, $function, $($array: $element),*),
                of_1277: descriptors!(@kernel R1277, $text, "_1277", $module, $function, $($array: $element),*),
            };
        )*

        /// Every kernel.
        pub static ALL: &[&Kernels] = &[$(&$name),*];
    };
    (@kernel $ring:ident, $text:literal, $suffix:literal, $module:ident, $function:ident,
        $($array:ident: $element:ty),*) => {
        Kernel {
            name: concat!($text, $suffix),
            shape: $module::shape::<$ring>(),
            parameters: &[$(Parameter { name: stringify!($array), element_bytes: <$element as Word>::BYTES }),*],
            #[cfg(feature = "emulator")]
            emulate: |thread, buffers, batch| {
                let &[$($array),*] = buffers else { unreachable!("the launch has checked the arguments") };
                $module::$function::<_, $ring>(thread, $($array.view::<$element>(),)* batch);
            },
        }
    };
}

for_each_kernel!(descriptors);
