//! Memory that the system neither swaps out nor writes into core dumps, where it allows that.
#![allow(unsafe_code)]

use std::fmt;
use std::ops::Deref;

/// A value on pages of its own. They are locked and left out of core dumps; where the system
/// refuses one or the other, the value is there all the same. The value is never moved.
pub(crate) struct Locked<T>(pages::Pages<T>);

impl<T> Locked<T> {
    /// Moves a value to pages of its own.
    pub(crate) fn new(value: T) -> Self {
        Self(pages::Pages::new(value))
    }
}

impl<T> Deref for Locked<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.get()
    }
}

impl<T> fmt::Debug for Locked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Locked(..)")
    }
}

/// Locks all memory that this process has and will have, as soon as it is used. So no key reaches a
/// swap area, wherever it lies. Returns whether this succeeded. The system must allow the process
/// to lock any number of bytes (`RLIMIT_MEMLOCK`), because with a limit, allocations beyond it
/// fail.
#[must_use]
pub fn lock_all_memory() -> bool {
    #[cfg(target_os = "linux")]
    {
        use nix::libc::{MCL_ONFAULT, RLIM_INFINITY};
        use nix::sys::mman::{MlockAllFlags, mlockall};
        use nix::sys::resource::{Resource, getrlimit};
        let is_unlimited =
            getrlimit(Resource::RLIMIT_MEMLOCK).is_ok_and(|(limit, _)| limit == RLIM_INFINITY);
        let when_used = MlockAllFlags::from_bits_retain(MCL_ONFAULT);
        let all = MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE | when_used;
        is_unlimited && mlockall(all).is_ok()
    }
    #[cfg(not(target_os = "linux"))]
    false
}

#[cfg(target_os = "linux")]
mod pages {
    use std::num::NonZeroUsize;
    use std::ptr::{self, NonNull};

    use nix::sys::mman::{MapFlags, MmapAdvise, ProtFlags, madvise, mlock, mmap_anonymous, munmap};
    use nix::unistd::{SysconfVar, sysconf};

    /// Pages with one value.
    pub(super) struct Pages<T> {
        value: NonNull<T>,
        bytes: NonZeroUsize,
        /// Whether the pages are a mapping, and not from the allocator.
        is_mapped: bool,
    }

    // SAFETY: the pages belong to the value, like a box.
    unsafe impl<T: Send> Send for Pages<T> {}
    // SAFETY: the value is reached through shared references only, like the content of a box.
    unsafe impl<T: Sync> Sync for Pages<T> {}

    impl<T> Pages<T> {
        pub(super) fn new(value: T) -> Self {
            const { assert!(align_of::<T>() <= 4096) };
            let page = sysconf(SysconfVar::PAGE_SIZE).ok().flatten().unwrap_or(4096) as usize;
            let bytes = size_of::<T>().max(1).next_multiple_of(page);
            let bytes = NonZeroUsize::new(bytes).unwrap_or(NonZeroUsize::MIN);
            let rights = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
            // SAFETY: the mapping is new and of no file, so it overlaps nothing.
            let mapped = unsafe { mmap_anonymous(None, bytes, rights, MapFlags::MAP_PRIVATE) };
            let Ok(memory) = mapped else {
                let value = NonNull::from(Box::leak(Box::new(value)));
                return Self { value, bytes, is_mapped: false };
            };
            // SAFETY: the pages exist. Without these rights, they are as good as other memory.
            unsafe {
                let _ = mlock(memory, bytes.get());
                let _ = madvise(memory, bytes.get(), MmapAdvise::MADV_DONTDUMP);
            }
            let place = memory.cast::<T>();
            // SAFETY: a page is aligned for the type, and the value fits.
            unsafe { place.write(value) };
            Self { value: place, bytes, is_mapped: true }
        }

        pub(super) fn get(&self) -> &T {
            // SAFETY: the value is there until the pages are dropped.
            unsafe { self.value.as_ref() }
        }
    }

    impl<T> Drop for Pages<T> {
        fn drop(&mut self) {
            if !self.is_mapped {
                // SAFETY: `new` took the pointer from a box, and nobody uses it any more.
                drop(unsafe { Box::from_raw(self.value.as_ptr()) });
                return;
            }
            // SAFETY: the value is there, and nobody uses it or its pages any more.
            unsafe {
                ptr::drop_in_place(self.value.as_ptr());
                let _ = munmap(self.value.cast(), self.bytes.get());
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod pages {
    /// A value, in memory of the allocator.
    pub(super) struct Pages<T>(Box<T>);

    impl<T> Pages<T> {
        pub(super) fn new(value: T) -> Self {
            Self(Box::new(value))
        }

        pub(super) fn get(&self) -> &T {
            &self.0
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;

    /// Returns what the kernel says of the mapping that has an address.
    fn flags(address: usize) -> Option<String> {
        let maps = fs::read_to_string("/proc/self/smaps").unwrap();
        let mut lines = maps.lines().skip_while(|line| {
            let range = line.split(' ').next().unwrap().split_once('-');
            let ends = range.map(|(from, to)| [from, to].map(|end| usize::from_str_radix(end, 16)));
            !matches!(ends, Some([Ok(from), Ok(to)]) if (from..to).contains(&address))
        });
        lines.find_map(|line| line.strip_prefix("VmFlags: ").map(str::to_owned))
    }

    #[test]
    fn values_are_on_pages_of_their_own() {
        let dropped = Arc::new(());
        let locked = Locked::new(([7; 5000], Arc::clone(&dropped)));
        let (value, _) = &*locked;
        let address = std::ptr::from_ref(&*locked) as usize;
        assert_eq!((value.len(), value[4999], address % 4096), (5000, 7, 0));
        assert_eq!(format!("{locked:?}"), "Locked(..)");
        let found = flags(address).unwrap();
        // Left out of core dumps, and locked if this process may lock two pages.
        assert!(found.contains(" dd"), "{found}");
        let (limit, _) =
            nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_MEMLOCK).unwrap();
        assert!(found.contains(" lo") || limit < 1 << 20, "{found}");
        drop(locked);
        assert_eq!(Arc::strong_count(&dropped), 1);
        assert_eq!(Locked::new(()).deref(), &());
    }
}
