//! The low half of a number of 64 bits.
//!
//! Where a product is truncated to 32 bits and multiplied again, LLVM computes all steps in 64
//! bits, because the low halves are the same. On machines with a 32-bit multiplier, such as GPUs,
//! this takes up to three times as many products. On the device, the functions here hide the
//! truncation from LLVM, which then computes the later steps in 32 bits.

/// Returns the low 32 bits.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
#[inline(always)]
pub const fn narrow(a: i64) -> i32 {
    a as i32
}

/// Returns the low 32 bits.
#[cfg(target_arch = "nvptx64")]
#[must_use]
#[inline(always)]
pub const fn narrow(a: i64) -> i32 {
    const fn visible(a: i64) -> i32 {
        a as i32
    }
    #[inline(always)]
    fn hidden(a: i64) -> i32 {
        let low;
        // SAFETY: the instruction reads and writes registers only.
        #[allow(unsafe_code)]
        unsafe {
            core::arch::asm!("cvt.u32.u64 {}, {};", out(reg32) low, in(reg64) a,
                options(pure, nomem, nostack, preserves_flags));
        }
        low
    }
    core::intrinsics::const_eval_select((a,), visible, hidden)
}

/// Returns `a`, a number of 32 bits, unchanged. On the device, the compiler then multiplies `a` in
/// 32 bits.
#[must_use]
#[inline(always)]
pub const fn narrowed(a: i64) -> i64 {
    debug_assert!(a == a as i32 as i64);
    if cfg!(target_arch = "nvptx64") { narrow(a) as i64 } else { a }
}
