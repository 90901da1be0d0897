//! Broken rules.

use core::fmt;
use core::panic::Location;

/// An access to memory, with its thread and its source line.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Number of the block.
    pub block: u32,
    /// Number of the thread in its block.
    pub thread: u32,
    /// Whether it wrote.
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

/// A rule of [`Simt`](crate::simt::Simt) that a kernel broke, or a wrong launch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The buffers of a launch are not the arrays that the kernel takes.
    Arguments {
        /// Entry point.
        kernel: &'static str,
    },
    /// The kernel has no function for the emulator.
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
        /// First byte.
        address: u64,
        /// Bytes of the memory.
        bytes: u64,
    },
    /// A read of shared memory that no thread of the block has written.
    Uninitialised {
        /// Entry point.
        kernel: &'static str,
        /// The read.
        access: Access,
        /// The byte.
        address: u64,
    },
    /// Two accesses to one byte that no barrier orders, at least one of them a write.
    Race {
        /// Entry point.
        kernel: &'static str,
        /// The access that happened first on the emulator.
        first: Access,
        /// The other access.
        second: Access,
        /// The byte.
        address: u64,
    },
    /// Threads that must meet at one barrier or shuffle wait at different places.
    Divergence {
        /// Entry point.
        kernel: &'static str,
        /// Number of the block.
        block: u32,
        /// A thread.
        thread: u32,
        /// Where it waits, or nothing if it has returned.
        at: Option<&'static Location<'static>>,
        /// A thread elsewhere.
        other: u32,
        /// Where the other waits, or nothing if it has returned.
        other_at: Option<&'static Location<'static>>,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arguments { kernel } => {
                write!(f, "{kernel}: the buffers do not match the parameters")
            }
            Self::NotEmulated { kernel } => write!(f, "{kernel} is not for the emulator"),
            Self::Bounds { kernel, access, address, bytes } => {
                write!(f, "{kernel}: {access} is outside or unaligned: byte {address} of {bytes}")
            }
            Self::Uninitialised { kernel, access, address } => {
                write!(f, "{kernel}: {access} of shared byte {address}, which nobody has written")
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
