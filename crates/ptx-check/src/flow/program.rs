//! A compiled kernel in the form that the analysis uses: the registers that each instruction reads
//! and writes, and the instructions that can follow it.
//!
//! Decoders produce this form from PTX ([`ptx`](super::ptx)) or from machine code
//! ([`sass`](crate::sass)). A decoder must refuse an instruction that it does not know, because the
//! analysis trusts the decoder.

use std::fmt;
use std::ops::BitOr;

use crate::syntax;

/// The error of a text that the decoder does not understand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kernel}: {place}: not understood: {text}")]
pub struct NotUnderstood {
    /// The kernel, or an empty string outside of kernels.
    pub kernel: String,
    /// The line and column of PTX, or the address in machine code.
    pub place: String,
    /// The text that is not understood.
    pub text: String,
}

/// Returns the name of a kernel that was decoded or refused.
#[must_use]
pub fn name(decoded: &Result<Program, NotUnderstood>) -> &str {
    match decoded {
        Ok(program) => &program.name,
        Err(refused) => &refused.kernel,
    }
}

impl From<syntax::Error> for NotUnderstood {
    fn from(error: syntax::Error) -> Self {
        Self { kernel: String::new(), place: error.at.to_string(), text: error.problem.to_string() }
    }
}

/// The number of a register in its [`Program`].
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Register(pub u32);

/// The condition that a predicate register is true, or that it is false.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Literal {
    /// The predicate register.
    pub predicate: Register,
    /// The truth value.
    pub holds: bool,
}

impl Literal {
    /// Returns the opposite condition.
    #[must_use]
    pub const fn negated(self) -> Self {
        Self { predicate: self.predicate, holds: !self.holds }
    }
}

/// A set of memory objects: the arrays that a kernel takes, its shared memory and its tables.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Objects(u64);

impl Objects {
    /// No object.
    pub const NONE: Self = Self(0);
    /// Memory that no parameter is known to point to.
    const OTHER: Self = Self(1 << 61);
    /// The whole shared memory of a block.
    pub const SHARED: Self = Self(1 << 62);
    /// All tables of constants that are part of the program.
    pub const TABLES: Self = Self(1 << 63);
    /// The largest number of arrays that a kernel may take.
    pub const MOST_ARRAYS: usize = 61;

    /// Returns the set that contains only the array to which parameter `index` points.
    ///
    /// # Panics
    /// If `index` is not below [`MOST_ARRAYS`](Self::MOST_ARRAYS).
    #[must_use]
    pub fn array(index: usize) -> Self {
        assert!(index < Self::MOST_ARRAYS, "the kernel takes too many arrays");
        Self(1 << index)
    }

    /// Returns whether the set has no object.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns whether an address that points into these objects points into no others.
    #[must_use]
    pub const fn are_known(self) -> bool {
        !self.is_empty() && !self.meets(Self::OTHER)
    }

    /// Returns the objects of a value that is one of two. If only one of them is known to be an
    /// address, the other one may be an address that is not known.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let is_mixed = self.is_empty() != other.is_empty();
        self | other | if is_mixed { Self::OTHER } else { Self::NONE }
    }

    /// Returns the objects that both sets have.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the set without the objects of another one.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns whether the sets have an object in common.
    #[must_use]
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Iterates over the objects, each as a set of one.
    pub fn each(self) -> impl Iterator<Item = Self> {
        (0..u64::BITS).map(|bit| Self(1 << bit)).filter(move |one| self.meets(*one))
    }

    /// Returns the number of the object in a set of one object, from 0 to 63.
    #[must_use]
    pub const fn bit(self) -> usize {
        self.0.trailing_zeros() as usize
    }
}

impl BitOr for Objects {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Display for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, one) in self.each().enumerate() {
            f.write_str(if i == 0 { "" } else { ", " })?;
            match one {
                Self::SHARED => f.write_str("shared memory")?,
                Self::TABLES => f.write_str("tables")?,
                Self::OTHER => f.write_str("other memory")?,
                array => write!(f, "array {}", array.bit())?,
            }
        }
        Ok(())
    }
}

/// An address space of loads and stores.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Space {
    /// Arrays and tables. The registers of an address tell into which of them the address points.
    Global,
    /// Shared memory.
    Shared,
}

/// The memory that a load or a store accesses.
#[derive(Clone, Debug)]
pub struct Access {
    /// The address space.
    pub space: Space,
    /// The registers that form the address.
    pub address: Vec<Register>,
    /// The objects that the text of the address names.
    pub names: Objects,
}

/// The effect of an instruction besides writing its results.
#[derive(Clone, Debug, Default)]
pub enum Effect {
    /// No effect: it only computes its results.
    #[default]
    Compute,
    /// It loads its results.
    Load(Access),
    /// It stores its operands.
    Store(Access),
    /// It continues at one of `targets`, or at the next instruction if `falls_through`.
    Jump {
        /// The indices of the possible targets.
        targets: Vec<usize>,
        /// Whether it may continue at the next instruction.
        falls_through: bool,
        /// Whether the guard alone decides whether the thread jumps. If so, the guard is false at
        /// the next instruction.
        guard_decides: bool,
    },
    /// It ends the thread. A thread whose guard is false continues at the next instruction.
    Exit,
}

impl Effect {
    /// Returns the memory that a load or a store accesses.
    #[must_use]
    pub const fn access(&self) -> Option<&Access> {
        match self {
            Self::Load(access) | Self::Store(access) => Some(access),
            _ => None,
        }
    }
}

/// The kinds of findings: the part of an instruction that must be public, or another fault.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The address of a load from global memory.
    LoadAddress,
    /// The address of a store to global memory.
    StoreAddress,
    /// The address of a load from shared memory.
    SharedLoadAddress,
    /// The address of a store to shared memory.
    SharedStoreAddress,
    /// The index of a constant.
    ConstantAddress,
    /// The guard of a load or a store.
    AccessGuard,
    /// The condition of a branch.
    Branch,
    /// The guard of the end of a thread.
    ExitGuard,
    /// The guard or an operand of a barrier.
    Barrier,
    /// The lane, width or set of threads of a shuffle.
    ShuffleLane,
    /// The guard of a shuffle.
    ShuffleGuard,
    /// The guard of a matrix product, which all threads of a warp do together.
    MatrixGuard,
    /// An operand of a division.
    Division,
    /// An address whose object is unknown.
    NoObject,
    /// A store to a table.
    TableStore,
    /// An instruction that no path reaches, or of a kernel that takes too much time or memory. The
    /// analysis has not checked it.
    Unreached,
    /// A store of public data to an array. Kernels compute all their outputs from secret inputs, so
    /// the analysis must have lost track of a secret.
    PublicStore,
    /// A kernel that stores no secret to any array, so the analysis must have lost track of one.
    NoSecretStore,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LoadAddress => "address of a load",
            Self::StoreAddress => "address of a store",
            Self::SharedLoadAddress => "address of a shared load",
            Self::SharedStoreAddress => "address of a shared store",
            Self::ConstantAddress => "index of a constant",
            Self::AccessGuard => "guard of a load or store",
            Self::Branch => "branch",
            Self::ExitGuard => "guard of an exit",
            Self::Barrier => "barrier",
            Self::ShuffleLane => "lane of a shuffle",
            Self::ShuffleGuard => "guard of a shuffle",
            Self::MatrixGuard => "guard of a matrix product",
            Self::Division => "division",
            Self::NoObject => "address without an object",
            Self::TableStore => "store to a table",
            Self::Unreached => "unreached or not checked",
            Self::PublicStore => "store of public data",
            Self::NoSecretStore => "kernel without a store of secrets",
        })
    }
}

/// Registers that must be public, with their role.
#[derive(Clone, Debug)]
pub struct Demand {
    /// The role of the registers in the instruction.
    pub class: Class,
    /// The registers.
    pub registers: Vec<Register>,
}

/// Computes which bits of a result can depend on secrets. The argument returns these bits for a
/// register.
pub type Spread = Box<dyn Fn(&dyn Fn(Register) -> u32) -> u32>;

/// An instruction.
#[derive(Default)]
pub struct Instruction {
    /// The text of the instruction.
    pub text: String,
    /// Its place: the line of PTX, or the address in machine code.
    pub place: usize,
    /// The line of Rust that it comes from, if it is known.
    pub source: Option<String>,
    /// The condition under which it is executed.
    pub guard: Option<Literal>,
    /// Its effect besides computing.
    pub effect: Effect,
    /// The registers that it writes.
    pub results: Vec<Register>,
    /// The registers from which its results or stored values are computed, without the registers of
    /// an address.
    pub operands: Vec<Register>,
    /// The objects whose addresses its text names. For example, the load of a parameter names the
    /// array to which the parameter points.
    pub names: Objects,
    /// The parameters whose values it loads. The decoder of machine code leaves this empty.
    pub values: Objects,
    /// Whether its result is one of its first two operands.
    pub chooses: bool,
    /// Whether its result does not depend on its operands, as in `xor r, a, a`.
    pub is_constant: bool,
    /// Whether its results depend on the operands of all threads of the warp. The predicates of one
    /// thread tell nothing about the other threads.
    pub is_collective: bool,
    /// The registers that must be public.
    pub demands: Vec<Demand>,
    /// Tells which bits of its only result depend on which bits of its operands. If this is `None`,
    /// every bit of the result depends on every bit of the operands.
    pub spread: Option<Spread>,
    /// Conditions on the predicates that the instruction defines, each with the conditions on
    /// earlier predicates that follow from this condition.
    pub implies: Vec<(Literal, Vec<Literal>)>,
}

impl Instruction {
    /// Returns the instructions to which it may jump, and whether it may continue at the next one.
    #[must_use]
    pub fn next(&self) -> (&[usize], bool) {
        match &self.effect {
            Effect::Jump { targets, falls_through, .. } => (targets, *falls_through),
            Effect::Exit => (&[], self.guard.is_some()),
            _ => (&[], true),
        }
    }

    /// Adds that these registers must be public.
    pub(crate) fn demand(&mut self, class: Class, registers: Vec<Register>) {
        if !registers.is_empty() {
            self.demands.push(Demand { class, registers });
        }
    }

    /// Adds that these registers and the guard must be public.
    pub(crate) fn demand_all(&mut self, class: Class, registers: &[Register]) {
        let guard = self.guard.map(|guard| guard.predicate);
        self.demand(class, guard.iter().chain(registers).copied().collect());
    }

    /// Makes the instruction a load, or a store. Its address and its guard must be public.
    pub(crate) fn accesses(&mut self, access: Access, is_store: bool) {
        let class = match (access.space, is_store) {
            (Space::Global, false) => Class::LoadAddress,
            (Space::Global, true) => Class::StoreAddress,
            (Space::Shared, false) => Class::SharedLoadAddress,
            (Space::Shared, true) => Class::SharedStoreAddress,
        };
        self.demand(class, access.address.clone());
        self.demand_all(Class::AccessGuard, &[]);
        self.effect = if is_store { Effect::Store(access) } else { Effect::Load(access) };
    }
}

impl fmt::Debug for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.text)
    }
}

/// A kernel.
#[derive(Debug, Default)]
pub struct Program {
    /// The name of the kernel.
    pub name: String,
    /// The instructions.
    pub code: Vec<Instruction>,
    /// The parameters of the kernel, each as an object by its number.
    pub parameters: Objects,
    /// The parameters that are the addresses of arrays.
    pub arrays: Objects,
    /// Whether a register that was never written counts as secret, because it may hold data of
    /// another kernel, and one that was not written everywhere as an address of other memory.
    ///
    /// This is set for PTX. Machine code reads such registers where predicates make the result
    /// irrelevant. The analysis cannot follow this in all cases, so it trusts the assembler for
    /// machine code.
    pub leftovers_are_secret: bool,
    /// The names of the registers, by their numbers.
    pub registers: Vec<String>,
}

impl Program {
    /// Returns a kernel without instructions.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }
}
