//! What a launch can fail with.

use std::fmt;

use crate::syntax::{self, Position};

/// The reason why a launch did not end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is not PTX.
    #[error(transparent)]
    Syntax(#[from] syntax::Error),
    /// The text has no kernel of this name.
    #[error("there is no kernel {0}")]
    NoKernel(String),
    /// The kernel takes another number of arguments.
    #[error("{kernel} takes {takes} arguments, not {given}")]
    Count {
        /// The kernel.
        kernel: String,
        /// The number of its parameters.
        takes: usize,
        /// The number of the arguments.
        given: usize,
    },
    /// An argument has another size than its parameter, or names an array that is not there.
    #[error("{kernel}: argument {index} does not fit {parameter}, which has {size} bytes")]
    Argument {
        /// The kernel.
        kernel: String,
        /// The index of the argument.
        index: usize,
        /// The name of the parameter.
        parameter: String,
        /// The size of the parameter.
        size: u64,
    },
    /// A block or a grid is empty or too large.
    #[error("a block has from 1 to 1024 threads, and a grid from 1 to 2^32 - 1 blocks")]
    Shape,
    /// The launch needs too much memory.
    #[error("{what}: {bytes} bytes, more than {most}")]
    Memory {
        /// What needs it.
        what: &'static str,
        /// How many bytes it needs.
        bytes: u64,
        /// How many it may have.
        most: u64,
    },
    /// An instruction or a declaration that the interpreter does not know.
    #[error("{kernel}: {at}: not known: {text}")]
    Unknown {
        /// The kernel.
        kernel: String,
        /// Its place.
        at: Position,
        /// Its text.
        text: String,
    },
    /// The kernel broke a rule.
    #[error(transparent)]
    Broken(Box<Broken>),
}

/// A rule that a thread broke, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The kernel.
    pub kernel: String,
    /// The block of the thread.
    pub block: [u32; 3],
    /// The thread in its block.
    pub thread: [u32; 3],
    /// The instruction.
    pub at: Position,
    /// Its text.
    pub text: String,
    /// Its source line, if the PTX names it.
    pub source: Option<String>,
    /// The rule.
    pub rule: Rule,
}

/// A rule of the machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rule {
    /// An address leads to no memory.
    #[error("the address {0:#x} leads to no memory")]
    NoMemory(u64),
    /// An access leaves its array, or shared, local or parameter memory.
    #[error("{bytes} bytes at {offset} of {length} bytes")]
    OutOfBounds {
        /// The first byte.
        offset: i64,
        /// The number of bytes.
        bytes: usize,
        /// The size of the memory.
        length: usize,
    },
    /// An address is no multiple of the size of its access.
    #[error("{bytes} bytes at {offset}, which is not aligned")]
    Misaligned {
        /// The first byte.
        offset: u64,
        /// The number of bytes.
        bytes: usize,
    },
    /// A read of memory that nothing has written, or that a copy under way will write.
    #[error("byte {0} is not defined")]
    Undefined(u64),
    /// A write to constants.
    #[error("constants are only read")]
    Constant,
    /// Two threads access a byte, at least one writes it, and they have not met in between.
    #[error(
        "race on byte {byte} with block {block:?} thread {thread:?}, which {} it at {at}: {text}{}",
        if *is_write { "wrote" } else { "read" },
        shown(near)
    )]
    Race {
        /// The byte of its array or of shared memory.
        byte: u64,
        /// The block of the other thread.
        block: [u32; 3],
        /// The other thread.
        thread: [u32; 3],
        /// Whether the other thread wrote.
        is_write: bool,
        /// The instruction of the other thread.
        at: Position,
        /// Its text.
        text: String,
        /// Its source line, if the PTX names it.
        near: Option<String>,
    },
    /// Threads that wait for others which never come, as they have ended or wait elsewhere, or of
    /// which more come than a barrier counts.
    #[error("other threads, which it waits for, ended, wait elsewhere or are too many")]
    Divergent,
    /// A thread reads from a thread that has ended or does not take part.
    #[error("lane {0} does not take part")]
    Lane(u32),
    /// A thread executes an instruction whose set of threads does not contain it.
    #[error("the thread is not in the set of threads")]
    NotInSet,
    /// More instructions than the launch may execute.
    #[error("the launch executes more instructions than it may")]
    TooLong,
    /// More time than the launch may take.
    #[error("the launch takes more time than it may")]
    TooSlow,
    /// A barrier with a number that no barrier has.
    #[error("a block has barriers 0 to 15, and not {0}")]
    NoBarrier(u64),
    /// A jump to a place that its table does not have.
    #[error("the table of the jump has no such entry")]
    NoTarget,
    /// The kernel stopped itself, as by `trap` or a failed assertion.
    #[error("the kernel stops itself")]
    Trap,
}

impl Rule {
    /// Returns a short name of the rule for programs.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::NoMemory(_) => "no-memory",
            Self::OutOfBounds { .. } => "out-of-bounds",
            Self::Misaligned { .. } => "misaligned",
            Self::Undefined(_) => "undefined",
            Self::Constant => "constant",
            Self::Race { .. } => "race",
            Self::Divergent => "divergent",
            Self::Lane(_) => "lane",
            Self::NotInSet => "not-in-set",
            Self::TooLong => "too-long",
            Self::TooSlow => "too-slow",
            Self::NoBarrier(_) => "no-barrier",
            Self::NoTarget => "no-target",
            Self::Trap => "trap",
        }
    }
}

/// Returns a source line as an addition to a message.
fn shown(source: &Option<String>) -> String {
    source.as_ref().map(|source| format!(" (near {source})")).unwrap_or_default()
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, block, thread, at, text, source, rule } = self;
        let near = shown(source);
        write!(f, "{kernel}: block {block:?} thread {thread:?}: {at}: {text}{near}: {rule}")
    }
}

impl std::error::Error for Broken {}

/// A thread at an instruction.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Moment {
    /// The number of the block in the launch.
    pub(super) block: u32,
    /// The number of the thread in the block.
    pub(super) thread: u32,
    /// How many barriers it has passed, plus one. Zero stands for no access.
    pub(super) clock: u32,
    /// The index of the instruction.
    pub(super) at: u32,
}

/// A fault as the machine finds it, without names.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) now: Moment,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Race { earlier: Moment, is_write: bool, byte: u64 },
    Plain(Box<Rule>),
}

impl Fault {
    /// Returns a race with an earlier access to a byte.
    pub(super) const fn race(now: Moment, earlier: Moment, is_write: bool, byte: u64) -> Self {
        Self { now, kind: Kind::Race { earlier, is_write, byte } }
    }

    pub(super) fn rule(now: Moment, rule: Rule) -> Self {
        Self { now, kind: Kind::Plain(Box::new(rule)) }
    }
}
