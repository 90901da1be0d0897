//! The low half of a number of 64 bits.
//!
//! LLVM computes `trunc` of a product, its product with a constant and so on in 64 bits throughout,
//! because the results are the same. On machines with a 32-bit multiplier, such as GPUs, that costs
//! up to three times as many products. The functions here hide the truncation from the compiler for
//! the device, which then keeps 32 bits.

/// Returns the low 32 bits.
#[cfg(not(target_arch = "nvptx64"))]
#[inline(always)]
pub(super) const fn narrow(a: i64) -> i32 {
    a as i32
}

/// Returns the low 32 bits.
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

/// Returns a number of 32 bits unchanged, so that the compiler uses products of 32 bits for it.
#[inline(always)]
pub(super) const fn narrowed(a: i64) -> i64 {
    debug_assert!(a == a as i32 as i64);
    if cfg!(target_arch = "nvptx64") { narrow(a) as i64 } else { a }
}
