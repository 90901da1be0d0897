//! A compiled kernel as the analysis sees it: what every instruction reads, writes and may do next.
//!
//! Decoders make it, from PTX ([`ptx`](super::ptx)) or from machine code ([`sass`](super::sass)). A
//! decoder must refuse what it does not understand, because the analysis trusts it.

use std::collections::HashMap;
use std::fmt;
use std::ops::BitOr;

/// The number of a register in its [`Program`].
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Register(pub u32);

/// A condition: the predicate register holds this truth value.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Literal {
    /// The predicate register.
    pub predicate: Register,
    /// Its value.
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
    /// The shared memory of a block, all of it.
    pub const SHARED: Self = Self(1 << 62);
    /// Constants that are part of the program, all of them.
    pub const TABLES: Self = Self(1 << 63);
    /// How many arrays a kernel may take.
    pub const MOST_ARRAYS: usize = 62;

    /// Returns the set of one array, the one that parameter `index` points to.
    ///
    /// # Panics
    /// If `index` is not below [`MOST_ARRAYS`](Self::MOST_ARRAYS).
    #[must_use]
    pub fn array(index: usize) -> Self {
        assert!(index < Self::MOST_ARRAYS, "a kernel with so many parameters");
        Self(1 << index)
    }

    /// Returns whether the set has no object.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
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

    /// Returns the bit of a set of one object, 0 to 63.
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
                array => write!(f, "array {}", array.bit())?,
            }
        }
        Ok(())
    }
}

/// An address space that data is loaded from and stored to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Space {
    /// Arrays and tables. Which ones an address points into follows from its registers.
    Global,
    /// Shared memory.
    Shared,
}

/// Where a load or a store goes.
#[derive(Clone, Debug)]
pub struct Access {
    /// The address space.
    pub space: Space,
    /// The registers that make the address.
    pub address: Vec<Register>,
    /// The objects that the text of the address names.
    pub names: Objects,
}

/// What an instruction does besides giving its results values.
#[derive(Clone, Debug, Default)]
pub enum Effect {
    /// Nothing.
    #[default]
    Compute,
    /// It loads its results.
    Load(Access),
    /// It stores its operands.
    Store(Access),
    /// It goes on at one of `targets`, or behind itself if `falls_through`.
    Jump {
        /// Indices of instructions.
        targets: Vec<usize>,
        /// Whether it may go on behind itself.
        falls_through: bool,
        /// Whether the guard alone decides, so that going on behind itself tells that it fails.
        guard_decides: bool,
    },
    /// It ends the thread; behind it goes on a thread whose guard fails.
    Exit {
        /// Whether the guard alone decides.
        guard_decides: bool,
    },
}

/// What must be public for an instruction to leak nothing.
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
    /// An address whose object is not known.
    NoObject,
    /// A store to a table.
    TableStore,
    /// An instruction that nothing leads to: what is never looked at cannot be trusted.
    Unreached,
    /// A store of public data to an array. What a kernel writes is made of what it reads, so the
    /// analysis has lost a secret on the way.
    PublicStore,
    /// A kernel that stores no secret to any array.
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
            Self::Unreached => "unreached instruction",
            Self::PublicStore => "store of public data",
            Self::NoSecretStore => "kernel without a store of secrets",
        })
    }
}

/// Registers that must be public, and as what.
#[derive(Clone, Debug)]
pub struct Demand {
    /// As what.
    pub class: Class,
    /// The registers.
    pub registers: Vec<Register>,
}

/// Says which bits of a result can depend on secrets, given which bits of each register can.
pub type Spread = Box<dyn Fn(&dyn Fn(Register) -> u32) -> u32>;

/// An instruction.
#[derive(Default)]
pub struct Instruction {
    /// Its text.
    pub text: String,
    /// Where it stands: the line of PTX, or the address in machine code.
    pub place: usize,
    /// The line of Rust that it comes from, if that is known.
    pub source: Option<String>,
    /// The condition under which it is executed.
    pub guard: Option<Literal>,
    /// What it does besides computing.
    pub effect: Effect,
    /// The registers that it writes.
    pub results: Vec<Register>,
    /// The registers that its results, or what it stores, are made of; without those of an address.
    pub operands: Vec<Register>,
    /// The objects whose addresses its text names, as the load of a kernel's parameter does.
    pub names: Objects,
    /// Whether its result is the same whatever the operands are, as that of `xor r, a, a` is.
    pub is_constant: bool,
    /// Whether its results are made of the operands of all threads of the warp, about which the
    /// predicates of one thread tell nothing.
    pub is_collective: bool,
    /// What must be public.
    pub demands: Vec<Demand>,
    /// Which bits of its only result depend on which bits of its operands; all on all if there is
    /// none.
    pub spread: Option<Spread>,
    /// For a condition on a predicate that it defines: the conditions on earlier values that
    /// follow.
    pub implies: Vec<(Literal, Vec<Literal>)>,
}

impl fmt::Debug for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.text)
    }
}

/// A kernel.
#[derive(Debug, Default)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Its instructions.
    pub code: Vec<Instruction>,
    /// The arrays whose addresses it takes.
    pub arrays: Objects,
    /// Whether registers hold what another kernel has left there until they are written: a secret.
    /// Machine code reads such registers where predicates keep the result from mattering, which the
    /// analysis does not follow in all cases, so there the assembler is trusted.
    pub leftovers_are_secret: bool,
    /// The names of its registers, by their numbers.
    pub registers: Vec<String>,
    numbers: HashMap<String, Register>,
}

impl Program {
    /// Returns a kernel without instructions.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Returns the register of this name; a new one if there is none yet.
    pub fn register(&mut self, name: &str) -> Register {
        if let Some(&known) = self.numbers.get(name) {
            return known;
        }
        let new = Register(u32::try_from(self.registers.len()).expect("fewer than 2^32 registers"));
        self.registers.push(name.to_owned());
        self.numbers.insert(name.to_owned(), new);
        new
    }

    /// Returns the name of a register.
    #[must_use]
    pub fn name_of(&self, register: Register) -> &str {
        &self.registers[register.0 as usize]
    }
}
