//! Reads the text of PTX.
//!
//! [`parse`] follows the grammar of "PTX ISA": directives, declarations, functions, and in their
//! bodies statements with guards and operands. It finds the declaration of every register, and
//! knows no instruction: opcodes and names are words, whose meaning [`flow`](crate::flow) and
//! [`run`](crate::run) know. An [`Error`] tells the line and the column.

mod body;
mod lexer;
mod parser;
mod reach;

use std::collections::HashMap;
use std::fmt;

pub use parser::parse;

/// A place in the text.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column in bytes, from 1.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// The place at which a text is not PTX, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {problem}")]
pub struct Error {
    /// The place.
    pub at: Position,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong at a place of a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A character that begins nothing.
    #[error("unexpected character {0:?}")]
    Character(char),
    /// A comment or a string that does not end.
    #[error("{0} without an end")]
    Unfinished(&'static str),
    /// Something else than the grammar has there.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What the grammar has.
        expected: &'static str,
        /// What the text has.
        found: String,
    },
    /// A register that no declaration in scope has.
    #[error("{0} is not declared")]
    Undeclared(String),
    /// A name that is declared twice.
    #[error("{0} is declared twice")]
    Twice(String),
    /// A number that is too large.
    #[error("{0} is too large")]
    TooLarge(String),
    /// Braces or parentheses inside too many others.
    #[error("too many braces inside one another")]
    TooDeep,
}

/// A text of PTX.
#[derive(Clone, Debug, Default)]
pub struct Module<'a> {
    /// The version of the language.
    pub version: &'a str,
    /// The architecture.
    pub target: &'a str,
    /// The names of the source files, by their numbers.
    pub files: HashMap<u64, &'a str>,
    /// The variables outside of functions.
    pub variables: Vec<Variable<'a>>,
    /// The kernels and functions.
    pub functions: Vec<Function<'a>>,
}

impl<'a> Module<'a> {
    /// Returns the kernels. One that is only declared has its body elsewhere.
    pub fn kernels(&self) -> impl Iterator<Item = &Function<'a>> {
        self.functions.iter().filter(|function| function.is_kernel && function.has_body)
    }

    /// Returns the source line of an instruction, as `file:line`.
    #[must_use]
    pub fn source(&self, instruction: &Instruction<'_>) -> Option<String> {
        let (file, line) = instruction.source?;
        Some(format!("{}:{line}", self.files.get(&file)?))
    }
}

/// A kernel or a function.
#[derive(Clone, Debug, Default)]
pub struct Function<'a> {
    /// The place of its name.
    pub at: Position,
    /// Its name.
    pub name: &'a str,
    /// Whether it is a kernel (`.entry`).
    pub is_kernel: bool,
    /// Its parameters, and for a function, before them, what it returns.
    pub parameters: Vec<Variable<'a>>,
    /// The number of parameters that are what a function returns.
    pub returns: usize,
    /// What stands between the parameters and the body, such as `.maxntid 128, 1, 1`.
    pub directives: Vec<&'a str>,
    /// The registers that its code names.
    pub registers: Vec<Register<'a>>,
    /// The variables that it declares.
    pub variables: Vec<Variable<'a>>,
    /// Whether it has a body, or else is only declared.
    pub has_body: bool,
    /// Its instructions.
    pub code: Vec<Instruction<'a>>,
    /// The instructions before which the labels stand. A label at the end stands before none.
    pub labels: HashMap<&'a str, usize>,
    /// The tables of labels to which indexed branches (`brx.idx`) jump, by their names.
    pub tables: HashMap<&'a str, Vec<&'a str>>,
}

/// A register.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Register<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its type.
    pub kind: Type,
}

/// A variable in memory, or a parameter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Variable<'a> {
    /// The place of its name.
    pub at: Position,
    /// Its state space, without a dot: `global`, `const`, `shared`, `local` or `param`.
    pub space: &'a str,
    /// Its name.
    pub name: &'a str,
    /// The type of its elements.
    pub kind: Type,
    /// The alignment that it states, or else the size of an element, in bytes.
    pub align: u64,
    /// The number of elements. `None` for an array whose size another place states.
    pub length: Option<u64>,
    /// Whether it is a parameter that is marked as a pointer (`.ptr`).
    pub is_pointer: bool,
    /// Whether others know it by its name: `.visible`, `.extern`, `.weak` or `.common`.
    pub is_linked: bool,
    /// The first elements. All others are zero.
    pub initial: Vec<Operand<'a>>,
}

/// A type of the language.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Type {
    /// What the bits mean.
    pub kind: Kind,
    /// The number of bits.
    pub bits: u32,
}

/// What the bits of a value mean.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Nothing: `.b32`.
    #[default]
    Bits,
    /// An unsigned integer: `.u32`.
    Unsigned,
    /// A signed integer: `.s32`.
    Signed,
    /// A floating-point number: `.f32`.
    Float,
    /// A truth value: `.pred`.
    Predicate,
}

impl Type {
    /// Reads the name of a type, without its dot.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        if name == "pred" {
            return Some(Self { kind: Kind::Predicate, bits: 1 });
        }
        let kind = match name.as_bytes().first()? {
            b'b' => Kind::Bits,
            b'u' => Kind::Unsigned,
            b's' => Kind::Signed,
            b'f' => Kind::Float,
            _ => return None,
        };
        let bits = match name.get(1..)? {
            "8" if kind != Kind::Float => 8,
            "16" => 16,
            "32" => 32,
            "64" => 64,
            "128" if kind == Kind::Bits => 128,
            _ => return None,
        };
        Some(Self { kind, bits })
    }

    /// Returns the size in bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.bits.div_ceil(8) as u64
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.kind {
            Kind::Predicate => return f.write_str("pred"),
            Kind::Bits => 'b',
            Kind::Unsigned => 'u',
            Kind::Signed => 's',
            Kind::Float => 'f',
        };
        write!(f, "{letter}{}", self.bits)
    }
}

/// A statement with an opcode.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction<'a> {
    /// The place at which it begins.
    pub at: Position,
    /// Its text without the semicolon.
    pub text: &'a str,
    /// The number of the file and the line of the last `.loc` before it, without those of Rust's
    /// standard library.
    pub source: Option<(u64, u64)>,
    /// The condition under which it is executed.
    pub guard: Option<Guard>,
    /// Its name up to the first dot.
    pub opcode: &'a str,
    /// The parts of its name after the first dot.
    pub modifiers: Vec<&'a str>,
    /// Its operands.
    pub operands: Vec<Operand<'a>>,
}

impl Instruction<'_> {
    /// Returns whether the name has this modifier.
    #[must_use]
    pub fn is(&self, modifier: &str) -> bool {
        self.modifiers.contains(&modifier)
    }
}

/// A predicate register and the value that it must have.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The index of the register in [`Function::registers`].
    pub register: usize,
    /// The value.
    pub holds: bool,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand<'a> {
    /// A register, by its index in [`Function::registers`].
    Register(usize),
    /// A register that the hardware defines, such as `%tid.x`.
    Special(&'a str),
    /// An integer, negative ones as their two's complement.
    Integer(u64),
    /// A floating-point number of 32 bits.
    Single(u32),
    /// A floating-point number of 64 bits.
    Double(u64),
    /// A variable, a parameter, a label or a function.
    Name(&'a str),
    /// A place in memory: a register, a name or a number, and a distance in bytes from it.
    Address(Box<Self>, i64),
    /// Several operands in braces.
    Vector(Vec<Self>),
    /// Several operands in parentheses.
    List(Vec<Self>),
    /// A result with a predicate, as in `%r1|%p1`.
    Pair(Box<Self>, Box<Self>),
    /// The opposite of a predicate, as in `!%p1`.
    Not(Box<Self>),
    /// `_`: a result that is not needed.
    Ignored,
}

impl Operand<'_> {
    /// Returns the registers, names and numbers in this operand.
    pub(crate) fn leaves(&self) -> Vec<&Self> {
        match self {
            Self::Address(part, _) | Self::Not(part) => part.leaves(),
            Self::Vector(parts) | Self::List(parts) => {
                parts.iter().flat_map(Self::leaves).collect()
            }
            Self::Pair(first, second) => [first.leaves(), second.leaves()].concat(),
            leaf => vec![leaf],
        }
    }
}
