//! Faults: violations of the machine's rules.

use core::fmt;
use core::panic::Location;
use core::time::Duration;

/// A kind of access to memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A load.
    Read,
    /// A store.
    Write,
    /// An [atomic](crate::simt::Simt::atomic) read and write.
    Atomic,
}

/// A kind of memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Space {
    /// An array in global memory.
    Global,
    /// The block's shared memory.
    Shared,
    /// A constant table of the program.
    Constant,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Global => "global memory",
            Self::Shared => "shared memory",
            Self::Constant => "a constant table",
        })
    }
}

/// An access to memory, with the thread and the source line that made it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Number of the block. In a grid of more than one dimension, blocks are counted along the
    /// first dimension first.
    pub block: u32,
    /// Number of the thread in its block.
    pub thread: u32,
    /// The kind of access.
    pub kind: Kind,
    /// The kind of memory.
    pub space: Space,
    /// Source line.
    pub location: &'static Location<'static>,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.kind {
            Kind::Read => "read",
            Kind::Write => "write",
            Kind::Atomic => "atomic update",
        };
        let Self { block, thread, space, location, .. } = self;
        write!(f, "{verb} of {space} by thread {thread} of block {block} at {location}")
    }
}

/// A violation of a rule of [`Simt`](crate::simt::Simt) by a kernel, or an invalid launch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The buffers of a launch do not match the kernel's parameters in number or in element size,
    /// or the kernel takes scalars whose values have not been set.
    Arguments {
        /// Entry point.
        kernel: &'static str,
    },
    /// The kernel has no function that the emulator can run.
    NotEmulated {
        /// Entry point.
        kernel: &'static str,
    },
    /// The process has no memory for the stacks of a block's threads.
    NoStack {
        /// Entry point.
        kernel: &'static str,
        /// Number of the block.
        block: u32,
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
    /// An access to an array that is wider than the alignment that the descriptor declares. Another
    /// launch may pass an array that is not aligned for it.
    Width {
        /// Entry point.
        kernel: &'static str,
        /// The access.
        access: Access,
        /// The array.
        parameter: &'static str,
        /// The declared [alignment](crate::descriptor::Parameter::alignment) in bytes.
        declared: u32,
        /// Size of the access in bytes.
        bytes: u32,
    },
    /// A read of a byte without content: no thread of the block has written it, in shared memory;
    /// no kernel has written it, in a buffer that was created without content.
    Uninitialised {
        /// Entry point.
        kernel: &'static str,
        /// The read.
        access: Access,
        /// Address of the byte.
        address: u64,
    },
    /// Two accesses to one byte that no barrier orders. At least one of them is a write, or exactly
    /// one of them is atomic.
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
    /// An access to a byte of shared memory that an asynchronous copy may still write, because its
    /// thread has not waited for the copy.
    Unfinished {
        /// Entry point.
        kernel: &'static str,
        /// The copy.
        copy: Access,
        /// The other access.
        access: Access,
        /// Address of the byte.
        address: u64,
    },
    /// Threads that must reach the same barrier, shuffle, vote or matrix product wait at different
    /// source lines, or make different requests at one.
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
    /// The launch has taken longer than it may. Perhaps a loop never ends.
    TimeLimit {
        /// Entry point.
        kernel: &'static str,
        /// Number of the block that was running.
        block: u32,
        /// The thread that was running.
        thread: u32,
        /// Its source line.
        location: &'static Location<'static>,
        /// The [limit](super::Emulator::with_time_limit).
        limit: Duration,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arguments { kernel } => {
                write!(f, "{kernel}: the arguments do not match the kernel's parameters")
            }
            Self::NotEmulated { kernel } => {
                write!(f, "{kernel}: the emulator has no function for this kernel")
            }
            Self::NoStack { kernel, block } => {
                write!(
                    f,
                    "{kernel}: there is no memory for the stacks of the threads of block {block}"
                )
            }
            Self::Bounds { kernel, access, address, bytes } => {
                write!(
                    f,
                    "{kernel}: {access} is out of bounds or unaligned: byte {address} of {bytes}"
                )
            }
            Self::Width { kernel, access, parameter, declared, bytes } => {
                write!(
                    f,
                    "{kernel}: {access} has {bytes} bytes, but the descriptor aligns the array \
                     {parameter} for {declared}"
                )
            }
            Self::Uninitialised { kernel, access, address } => {
                write!(f, "{kernel}: {access} reads byte {address}, which nothing has written")
            }
            Self::Race { kernel, first, second, address } => {
                write!(f, "{kernel}: race on byte {address}: {first}; {second}")
            }
            Self::Unfinished { kernel, copy, access, address } => {
                write!(
                    f,
                    "{kernel}: {access} touches byte {address}, whose copy is not finished: {copy}"
                )
            }
            Self::Divergence { kernel, block, thread, at, other, other_at } => {
                let place = |at: &Option<&'static Location<'static>>| match at {
                    Some(location) => std::format!("waits at {location}"),
                    None => "has returned".into(),
                };
                let differs = if at == other_at { " for something else" } else { "" };
                let (at, other_at) = (place(at), place(other_at));
                write!(
                    f,
                    "{kernel}: in block {block} thread {thread} {at}, but thread {other} \
                     {other_at}{differs}"
                )
            }
            Self::TimeLimit { kernel, block, thread, location, limit } => {
                write!(
                    f,
                    "{kernel}: the launch has taken longer than {limit:?}: thread {thread} of \
                     block {block} is at {location}"
                )
            }
        }
    }
}

impl core::error::Error for Fault {}
