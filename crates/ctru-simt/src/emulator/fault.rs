//! Faults: violations of the machine's rules.

use core::fmt;
use core::panic::Location;

/// An access to memory, with the thread and the source line that made it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Number of the block.
    pub block: u32,
    /// Number of the thread in its block.
    pub thread: u32,
    /// Whether the access is a write.
    pub writes: bool,
    /// Source line.
    pub location: &'static Location<'static>,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.writes { "write" } else { "read" };
        write!(f, "{verb} by thread {} of block {} at {}", self.thread, self.block, self.location)
    }
}

/// A violation of a rule of [`Simt`](crate::simt::Simt) by a kernel, or an invalid launch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The buffers of a launch do not match the kernel's parameters in number or in element size.
    Arguments {
        /// Entry point.
        kernel: &'static str,
    },
    /// The kernel has no function that the emulator can run.
    NotEmulated {
        /// Entry point.
        kernel: &'static str,
    },
    /// An access outside an array or shared memory, or at an address that is not a multiple of the
    /// element's size.
    Bounds {
        /// Entry point.
        kernel: &'static str,
        /// The access.
        access: Access,
        /// Address of the first byte.
        address: u64,
        /// Size of the memory in bytes.
        bytes: u64,
    },
    /// A read of a shared byte that no thread of the block has written.
    Uninitialised {
        /// Entry point.
        kernel: &'static str,
        /// The read.
        access: Access,
        /// Address of the byte.
        address: u64,
    },
    /// Two accesses to one byte, at least one of them a write, that no barrier orders.
    Race {
        /// Entry point.
        kernel: &'static str,
        /// The access that the emulator made first.
        first: Access,
        /// The other access.
        second: Access,
        /// Address of the byte.
        address: u64,
    },
    /// Threads that must reach the same barrier, shuffle or matrix product wait at different source
    /// lines.
    Divergence {
        /// Entry point.
        kernel: &'static str,
        /// Number of the block.
        block: u32,
        /// One of the threads.
        thread: u32,
        /// The source line where it waits, or `None` if it has returned.
        at: Option<&'static Location<'static>>,
        /// A thread at another place.
        other: u32,
        /// The source line where the other thread waits, or `None` if it has returned.
        other_at: Option<&'static Location<'static>>,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arguments { kernel } => {
                write!(f, "{kernel}: the buffers do not match the kernel's parameters")
            }
            Self::NotEmulated { kernel } => {
                write!(f, "{kernel}: the emulator has no function for this kernel")
            }
            Self::Bounds { kernel, access, address, bytes } => {
                write!(
                    f,
                    "{kernel}: {access} is out of bounds or unaligned: byte {address} of {bytes}"
                )
            }
            Self::Uninitialised { kernel, access, address } => {
                write!(
                    f,
                    "{kernel}: {access} of shared byte {address}, which no thread has written"
                )
            }
            Self::Race { kernel, first, second, address } => {
                write!(f, "{kernel}: race on byte {address}: {first}; {second}")
            }
            Self::Divergence { kernel, block, thread, at, other, other_at } => {
                let place = |at: &Option<&'static Location<'static>>| match at {
                    Some(location) => std::format!("waits at {location}"),
                    None => "has returned".into(),
                };
                let (at, other_at) = (place(at), place(other_at));
                write!(
                    f,
                    "{kernel}: in block {block} thread {thread} {at}, but thread {other} {other_at}"
                )
            }
        }
    }
}

impl core::error::Error for Fault {}
