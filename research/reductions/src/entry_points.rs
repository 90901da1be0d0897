//! The entry points of the reduction laboratory's kernels.

use ctru_math::{R653, R761, R1277};
use ctru_simt::simt::U32x4;
use research_arithmetic::reduce::*;

use crate::FactorWord;
use crate::table::lab_kernel;

macro_rules! entry_points {
    (
        chain { $($chain:ident $chain_modulus:literal $reducer:ty;)* }
        cyclic { $($cyclic:ident $cyclic_modulus:literal $log:literal $c:literal $r:literal
            $twiddle:ty, $value:ty;)* }
        rows { $($rows:ident $rows_modulus:literal $rows_log:literal
            $rows_twiddle:ty, $rows_value:ty;)* }
        mixed { $($mixed:ident $mixed_modulus:literal $mixed_log:literal
            $mixed_c:literal $mixed_r:literal $mixed_twiddle:ty, $mixed_value:ty;)* }
        single { $($single:ident $single_modulus:literal $single_twiddle:ty, $single_value:ty;)* }
        ring { $($arithmetic:ident $n:literal $ring:ident $type:ty;)* }
    ) => {
        $(lab_kernel!(entry_points ring $arithmetic $n $ring, $type);)*
        lab_kernel!(entry_points copy);
        $(lab_kernel!(entry_points chain $chain $chain_modulus $reducer);)*
        $(
            lab_kernel!(entry_points columns_forward $cyclic $cyclic_modulus $log $c $r
                $twiddle, $value);
            lab_kernel!(entry_points columns_inverse $cyclic $cyclic_modulus $log $c $r
                $twiddle, $value);
            lab_kernel!(entry_points rows_multiply $cyclic $cyclic_modulus $log $c $r
                $twiddle, $value);
        )*
        $(lab_kernel!(entry_points rows_multiply $rows $rows_modulus $rows_log 0 $rows_log
            $rows_twiddle, $rows_value);)*
        $(
            lab_kernel!(entry_points forward_and_multiply $mixed $mixed_modulus $mixed_log
                $mixed_c $mixed_r $mixed_twiddle, $mixed_value);
            lab_kernel!(entry_points multiply_and_inverse $mixed $mixed_modulus $mixed_log
                $mixed_c $mixed_r $mixed_twiddle, $mixed_value);
        )*
        $(
            lab_kernel!(entry_points layer_forward $single $single_modulus
                $single_twiddle, $single_value);
            lab_kernel!(entry_points values_multiply $single $single_modulus
                $single_twiddle, $single_value);
            lab_kernel!(entry_points layer_inverse $single $single_modulus
                $single_twiddle, $single_value);
        )*
    };
    (@kernel [$($name:tt)*], $shape:expr, $function:path,
        ($($array:ident: $element:ty [$($length:tt)*]),*)) => {
        // SAFETY: the kernels keep the rules of the machine. The tests run each of them on the
        // emulator, which stops at every violation.
        ctru_simt::entry_point!(unsafe [$($name)*], $function, ($($array: $element),*));
    };
}

crate::table::for_each_lab_kernel!(entry_points);
