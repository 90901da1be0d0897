//! Prefetches memory into the caches of the host's processor.

/// Asks the processor to load bytes into its caches. Does nothing on processors other than x86-64.
pub(super) fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

        /// Bytes of a cache line, which are loaded together.
        const CACHE_LINE: usize = 64;
        for line in bytes.chunks(CACHE_LINE) {
            // SAFETY: every x86-64 processor has the instruction, and the address is valid.
            #[allow(unsafe_code)]
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast());
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}
