//! A place in memory that is zero in a new process.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// The place, or null before the first call. There is no lock, which a fork could find locked.
static PLACE: AtomicPtr<AtomicU64> = AtomicPtr::new(std::ptr::null_mut());

/// Returns the place, which keeps what is written to it as long as the process lives. It is zero at
/// first, and again in a fork, if the system can do that.
pub(crate) fn place() -> &'static AtomicU64 {
    let found = PLACE.load(Ordering::Acquire);
    let place = if found.is_null() { make() } else { found };
    // SAFETY: the pointer is that of a page that is never unmapped once it has been written to
    // `PLACE`, or of a static. Both begin with an `AtomicU64`, and zeros are one.
    unsafe { &*place }
}

/// Makes the place, unless another thread makes it at the same time. Returns it.
fn make() -> *mut AtomicU64 {
    /// The place where the system has no page that it fills with zeros.
    static KEPT: AtomicU64 = AtomicU64::new(0);
    let page = system::page();
    let new = page.map_or_else(|| (&raw const KEPT).cast_mut(), |page| page.as_ptr().cast());
    let null = std::ptr::null_mut();
    match PLACE.compare_exchange(null, new, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => new,
        Err(other) => {
            if let Some(page) = page {
                system::unmap(page);
            }
            other
        }
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::ffi::c_void;
    use std::num::NonZero;
    use std::ptr::NonNull;
    use std::sync::atomic::AtomicU64;

    use nix::sys::mman::{MapFlags, MmapAdvise, ProtFlags, madvise, mmap_anonymous, munmap};

    /// The system makes whole pages of it.
    const BYTES: NonZero<usize> = NonZero::new(size_of::<AtomicU64>()).unwrap();

    /// Returns a page of zeros. In a fork, the system fills it with zeros again, whatever was
    /// written to it.
    pub(super) fn page() -> Option<NonNull<c_void>> {
        let (access, flags) = (ProtFlags::PROT_READ | ProtFlags::PROT_WRITE, MapFlags::MAP_PRIVATE);
        // SAFETY: the address is one that the system chooses, so no other memory is replaced.
        let page = unsafe { mmap_anonymous(None, BYTES, access, flags) }.ok()?;
        // SAFETY: the page is new, and nothing uses it yet. It has more bytes than these.
        let wiped = unsafe { madvise(page, BYTES.get(), MmapAdvise::MADV_WIPEONFORK) };
        if wiped.is_err() {
            unmap(page);
            return None;
        }
        Some(page)
    }

    /// Gives back a page that nothing uses.
    pub(super) fn unmap(page: NonNull<c_void>) {
        // SAFETY: the page is one of `page`, and its callers give it back before anybody gets it.
        // If that fails, it stays.
        let _ = unsafe { munmap(page, BYTES.get()) };
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::ffi::c_void;
    use std::ptr::NonNull;

    /// Returns no page.
    pub(super) fn page() -> Option<NonNull<c_void>> {
        None
    }

    /// Is never called, because there is no page.
    pub(super) fn unmap(_: NonNull<c_void>) {}
}
