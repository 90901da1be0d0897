//! The decoder of PTX.
//!
//! [`decode`] knows the meaning of each instruction and refuses all others. It assumes that the
//! time of these instructions does not depend on their operands: moves, conversions, integer and
//! floating-point sums and products, comparisons, selections, logic, shifts, and permutations of
//! bytes. It does not assume this of divisions.

use std::collections::{HashMap, HashSet};

use super::program::{
    Access, Class, Effect, Instruction, Literal, NotUnderstood, Objects, Program, Register, Space,
};
use crate::syntax::{self, Function, Kind, Module, Operand, Position, Variable};

/// Opcodes that compute their first operand from the others. Their time does not depend on the
/// operands.
const COMPUTE: &[&str] = &[
    "abs", "add", "and", "bfe", "bfi", "brev", "clz", "cvt", "cvta", "fma", "lop3", "mad", "max",
    "min", "mov", "mul", "neg", "not", "or", "popc", "prmt", "selp", "setp", "shf", "shl", "shr",
    "sub", "xor",
];
/// Opcodes whose time depends on their operands.
const DIVIDE: &[&str] = &["div", "rem"];
/// The registers that hold numbers of threads and blocks.
const PUBLIC_REGISTERS: &[&str] = &["%tid", "%ntid", "%ctaid", "%nctaid", "%laneid", "WARP_SZ"];

/// Decodes all kernels of a text.
///
/// # Errors
/// [`NotUnderstood`] for the first place that is not understood.
pub fn decode(text: &str) -> Result<Vec<Program>, NotUnderstood> {
    let module = syntax::parse(text)?;
    module.kernels().map(|kernel| decode_kernel(&module, kernel)).collect()
}

/// Decodes a kernel.
///
/// # Errors
/// [`NotUnderstood`] for the first instruction that is not understood.
pub fn decode_kernel(module: &Module<'_>, kernel: &Function<'_>) -> Result<Program, NotUnderstood> {
    let refused = |at: Position, text: &str| NotUnderstood {
        kernel: kernel.name.to_owned(),
        place: at.to_string(),
        text: text.to_owned(),
    };
    let decoder = Decoder::new(module, kernel);
    let mut decoder = decoder.ok_or_else(|| refused(kernel.at, "too many parameters"))?;
    for read in &kernel.code {
        let made = decoder.instruction(read).ok_or_else(|| refused(read.at, read.text))?;
        decoder.program.code.push(Instruction {
            text: read.text.replace('\t', " "),
            place: read.at.line,
            source: module.source(read),
            ..made
        });
    }
    Ok(decoder.program)
}

/// Returns whether a parameter of a kernel is a pointer to an array. Compilers that mark pointers
/// (`.ptr`) mark all of them. If a kernel has no mark, a number of 64 bits is a pointer if the
/// kernel converts it to an address of global memory (`cvta`), as nvcc and LLVM do with each
/// pointer. An address that is made of another number is a finding, because it belongs to no array.
#[must_use]
pub fn is_array(kernel: &Function<'_>, parameter: &Variable<'_>) -> bool {
    let are_marked = kernel.parameters.iter().any(|parameter| parameter.is_pointer);
    let may_be = parameter.kind.bits == 64
        && parameter.kind.kind != Kind::Float
        && parameter.length == Some(1);
    parameter.is_pointer || !are_marked && may_be && is_converted(kernel, parameter)
}

/// Returns whether `cvta` converts the value of a parameter: in the order of the text, nothing else
/// is written to the register between.
fn is_converted(kernel: &Function<'_>, parameter: &Variable<'_>) -> bool {
    let mut holders = HashSet::new();
    for read in &kernel.code {
        let [to, from, ..] = &read.operands[..] else { continue };
        let is_copy = matches!(from, Operand::Register(from) if holders.contains(from));
        let holds = match (read.opcode, to, from) {
            ("cvta", ..) if is_copy => return true,
            ("mov", Operand::Register(_), _) => is_copy,
            ("ld", Operand::Register(_), Operand::Address(base, 0)) => {
                read.is("param") && **base == Operand::Name(parameter.name)
            }
            _ => false,
        };
        for Register(to) in results(to).unwrap_or_default() {
            if holds {
                holders.insert(to as usize)
            } else {
                holders.remove(&(to as usize))
            };
        }
    }
    false
}

/// The decoder of one kernel.
struct Decoder<'a> {
    kernel: &'a Function<'a>,
    program: Program,
    /// Its parameters, each as a set of one.
    parameters: HashMap<&'a str, Objects>,
    /// What the names of tables and of shared memory stand for.
    variables: HashMap<&'a str, Objects>,
}

impl<'a> Decoder<'a> {
    /// Returns `None` if the kernel has too many parameters.
    fn new(module: &'a Module<'a>, kernel: &'a Function<'a>) -> Option<Self> {
        let mut program = Program::new(kernel.name);
        program.leftovers_are_secret = true;
        program.registers = kernel.registers.iter().map(|known| known.name.to_owned()).collect();
        let object = |variable: &'a Variable<'a>| match variable.space {
            "global" | "const" if variable.is_table() => Some((variable.name, Objects::TABLES)),
            "shared" => Some((variable.name, Objects::SHARED)),
            // It may hold a secret of the host. An instruction that names it is refused.
            _ => None,
        };
        let variables = module.variables.iter().chain(&kernel.variables).filter_map(object);
        let variables = variables.collect();
        let mut parameters = HashMap::new();
        for (index, parameter) in kernel.parameters.iter().enumerate() {
            let object = (index < Objects::MOST_ARRAYS).then(|| Objects::array(index))?;
            parameters.insert(parameter.name, object);
            program.parameters = program.parameters | object;
            if is_array(kernel, parameter) {
                program.arrays = program.arrays | object;
            }
        }
        Some(Self { kernel, program, parameters, variables })
    }

    /// Decodes an instruction. Returns `None` if it is not understood.
    fn instruction(&self, read: &syntax::Instruction<'_>) -> Option<Instruction> {
        // The analysis treats a volatile access like any other.
        let modifiers: Vec<&str> =
            read.modifiers.iter().copied().filter(|name| *name != "volatile").collect();
        let modifier = |index: usize| modifiers.get(index).copied().unwrap_or_default();
        let guard = read
            .guard
            .map(|guard| Literal { predicate: register(guard.register), holds: guard.holds });
        let mut made = Instruction { guard, ..Instruction::default() };
        match (read.opcode, modifier(0), &read.operands[..]) {
            ("ld", "param", [to, Operand::Address(base, offset)]) => {
                made.results = results(to)?;
                made.values = match &**base {
                    Operand::Name(name) if *offset == 0 => *self.parameters.get(name)?,
                    base => {
                        // The index is computed, so this can load any parameter.
                        made.operands = self.source(base)?.0;
                        self.program.parameters
                    }
                };
                made.names = made.values.and(self.program.arrays);
                made.demand(Class::ConstantAddress, made.operands.clone());
                made.demand_all(Class::AccessGuard, &[]);
            }
            ("ld", "global" | "shared", [to, from]) => {
                made.accesses(self.access(modifier(0), from)?, false);
                made.results = results(to)?;
            }
            ("st", "global" | "shared", [to, from]) => {
                made.accesses(self.access(modifier(0), to)?, true);
                made.operands = self.source(from)?.0;
            }
            ("bra", "" | "uni", [Operand::Name(label)]) => {
                made.effect = Effect::Jump {
                    targets: vec![*self.kernel.labels.get(label)?],
                    falls_through: guard.is_some(),
                    guard_decides: true,
                };
                made.demand_all(Class::Branch, &[]);
            }
            ("ret" | "exit", "", []) => {
                made.effect = Effect::Exit;
                made.demand_all(Class::ExitGuard, &[]);
            }
            ("bar", "sync" | "warp", operands) => {
                made.demand_all(Class::Barrier, &self.sources(operands)?.0);
            }
            ("shfl", "sync", [to, value, which @ ..])
                if ["idx", "up", "down", "bfly"].contains(&modifier(1)) && which.len() == 3 =>
            {
                let (lane, _) = self.sources(which)?;
                made.demand(Class::ShuffleLane, lane.clone());
                made.demand_all(Class::ShuffleGuard, &[]);
                made.results = results(to)?;
                made.operands = [self.source(value)?.0, lane].concat();
                made.is_collective = true;
            }
            ("ldmatrix", "sync", [to, from]) if read.is("shared") => {
                // The words come from the addresses that other threads give, which are public.
                made.accesses(self.access("shared", from)?, false);
                made.results = results(to)?;
                made.is_collective = true;
            }
            ("mma", "sync", [to, from @ ..]) if from.len() == 3 => {
                made.demand_all(Class::MatrixGuard, &[]);
                made.results = results(to)?;
                made.operands = self.sources(from)?.0;
                made.is_collective = true;
            }
            (opcode, _, [to, from @ ..])
                if COMPUTE.contains(&opcode) || DIVIDE.contains(&opcode) =>
            {
                made.results = results(to)?;
                (made.operands, made.names) = self.sources(from)?;
                if DIVIDE.contains(&opcode) {
                    made.demand_all(Class::Division, &made.operands.clone());
                }
                // For floating-point numbers, `a - a` is not constant: infinity minus infinity is
                // NaN.
                let is_integer = modifiers.last().is_some_and(|kind| {
                    kind.starts_with(['s', 'u', 'b']) && !kind.starts_with("bf")
                });
                let are_registers = matches!(from, [Operand::Register(_), Operand::Register(_), _]);
                made.chooses = opcode == "selp" && are_registers;
                made.is_constant = matches!(opcode, "xor" | "sub")
                    && is_integer
                    && from.len() == 2
                    && from[0] == from[1];
            }
            _ => return None,
        }
        Some(made)
    }

    /// Reads an address.
    fn access(&self, space: &str, address: &Operand<'_>) -> Option<Access> {
        let Operand::Address(base, _) = address else { return None };
        let (address, names) = self.source(base)?;
        let space = if space == "global" { Space::Global } else { Space::Shared };
        Some(Access { space, address, names })
    }

    /// Returns the registers of operands that are no results, and the objects that they name.
    fn sources(&self, operands: &[Operand<'_>]) -> Option<(Vec<Register>, Objects)> {
        let start = (Vec::new(), Objects::NONE);
        operands.iter().try_fold(start, |(registers, names), operand| {
            let (more, named) = self.source(operand)?;
            Some(([registers, more].concat(), names | named))
        })
    }

    /// Reads an operand that is not a result. Returns its registers and the objects that it names.
    fn source(&self, operand: &Operand<'_>) -> Option<(Vec<Register>, Objects)> {
        match operand {
            Operand::Register(index) => Some((vec![register(*index)], Objects::NONE)),
            Operand::Vector(parts) => self.sources(parts),
            Operand::Not(predicate) => self.source(predicate),
            Operand::Name(name) => {
                // The address of a parameter points to the launch arguments, not into an array.
                let parameter = self.parameters.get(name).map(|_| Objects::NONE);
                Some((Vec::new(), self.variables.get(name).copied().or(parameter)?))
            }
            Operand::Special(name) if !PUBLIC_REGISTERS.contains(&name.split('.').next()?) => None,
            Operand::Special(_) | Operand::Integer(_) | Operand::Single(_) | Operand::Double(_) => {
                Some((Vec::new(), Objects::NONE))
            }
            _ => None,
        }
    }
}

fn register(index: usize) -> Register {
    Register(u32::try_from(index).expect("fewer than 2^32 registers"))
}

/// Reads the first operand: a register, several registers in braces, or a register and a predicate.
fn results(operand: &Operand<'_>) -> Option<Vec<Register>> {
    match operand {
        Operand::Register(index) => Some(vec![register(*index)]),
        Operand::Ignored => Some(Vec::new()),
        Operand::Vector(parts) => {
            let parts: Option<Vec<Vec<Register>>> = parts.iter().map(results).collect();
            parts.map(|parts| parts.concat())
        }
        Operand::Pair(first, second) => Some([results(first)?, results(second)?].concat()),
        _ => None,
    }
}
