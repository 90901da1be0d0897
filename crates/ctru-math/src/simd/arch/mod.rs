//! The implementations of [`Simd`](super::Simd), one file for each instruction set.

/// Implements methods of a token, a vector or sums. The body of each method becomes a function that
/// is compiled for a CPU feature.
///
/// Inside such a function the intrinsics of the feature are safe to call. The first parameter of
/// the function is the receiver: the method passes `self` for it.
#[cfg(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_endian = "little", target_feature = "neon")
))]
macro_rules! operations {
    ($feature:literal: $(
        fn $name:ident $(<const $number:ident: $number_type:ty>)? (
            $receiver:ident: $own:ty $(, $argument:ident: $type:ty)*
        ) $(-> $output:ty)? $body:block
    )*) => {$(
        #[inline(always)]
        fn $name $(<const $number: $number_type>)? (
            self $(, $argument: $type)*
        ) $(-> $output)? {
            #[inline]
            #[target_feature(enable = $feature)]
            fn operation $(<const $number: $number_type>)? (
                $receiver: $own $(, $argument: $type)*
            ) $(-> $output)? $body
            // SAFETY: `self` is a token, or was made with one, and a token exists only where the
            // CPU has the feature.
            #[allow(unsafe_code)]
            unsafe {
                operation $(::<$number>)? (self $(, $argument)*)
            }
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(all(target_arch = "aarch64", target_endian = "little", target_feature = "neon"))]
mod neon;
mod portable;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod simd128;
#[cfg(target_arch = "x86_64")]
mod sse2;
#[cfg(target_arch = "x86_64")]
mod transpose;
