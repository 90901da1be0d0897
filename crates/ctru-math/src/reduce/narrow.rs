//! The low half of a number of 64 bits.
//!
//! LLVM computes `trunc` of a product, its product with a constant and so on in 64 bits throughout, because the results
//! are the same. Where a multiplier has 32 bits, as on GPUs, that costs up to three times as many products. So the device's
//! compiler does not see what happens here, and leaves what is written in 32 bits there.

/// The low 32 bits.
#[cfg(not(target_arch = "nvptx64"))]
#[inline(always)]
pub(super) const fn narrow(a: i64) -> i32 {
    a as i32
}

/// The low 32 bits.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub(super) const fn narrow(a: i64) -> i32 {
    const fn visible(a: i64) -> i32 {
        a as i32
    }
    #[inline(always)]
    fn hidden(a: i64) -> i32 {
        let low;
        // SAFETY: one instruction on registers.
        #[allow(unsafe_code)]
        unsafe {
            core::arch::asm!("cvt.u32.u64 {}, {};", out(reg32) low, in(reg64) a,
                options(pure, nomem, nostack, preserves_flags));
        }
        low
    }
    core::intrinsics::const_eval_select((a,), visible, hidden)
}

/// The number itself, which has 32 bits: a product with it is one of 32 bits.
#[inline(always)]
pub(super) const fn narrowed(a: i64) -> i64 {
    debug_assert!(a == a as i32 as i64);
    if cfg!(target_arch = "nvptx64") { narrow(a) as i64 } else { a }
}
