//! A kernel in the form that the interpreter executes.

use std::collections::HashMap;

use super::arithmetic::{Compute, compute, low, update};
use super::fault::Error;
use super::matrix::Product;
use crate::syntax::{Function, Instruction, Kind, Module, Operand, Type};

/// Where an operand's value comes from.
#[derive(Copy, Clone, Debug)]
pub(super) enum Source {
    Register(usize),
    /// The opposite of a predicate.
    Not(usize),
    Constant(u64),
    Special(Special),
}

/// A register that the hardware defines.
#[derive(Copy, Clone, Debug)]
pub(super) enum Special {
    Thread(usize),
    Threads(usize),
    Block(usize),
    Blocks(usize),
    Lane,
    Warp,
    Warps,
    /// The lanes whose numbers compare in this way with the thread's own.
    Lanes(&'static str),
}

/// A state space of an access.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Space {
    /// Arrays and variables of the module.
    Global,
    Shared,
    Local,
    Parameter,
}

/// An address: a source and a distance from it.
#[derive(Copy, Clone, Debug)]
pub(super) struct Address {
    pub(super) space: Space,
    pub(super) base: Source,
    pub(super) offset: i64,
}

/// What an instruction does.
pub(super) enum Op {
    Compute {
        to: usize,
        from: [Source; 4],
        function: Compute,
    },
    /// Puts several values into one register, the first one lowest.
    Join {
        to: usize,
        from: Vec<Source>,
        bits: u32,
    },
    /// The reverse.
    Split {
        to: Vec<Option<usize>>,
        from: Source,
        bits: u32,
    },
    Load {
        to: Vec<Option<usize>>,
        from: Address,
        kind: Type,
        is_relaxed: bool,
    },
    Store {
        to: Address,
        from: Vec<Source>,
        kind: Type,
        is_relaxed: bool,
    },
    Atomic {
        result: Option<usize>,
        at: Address,
        from: [Source; 2],
        kind: Type,
        function: Compute,
    },
    Jump(usize),
    Exit,
    /// Waits for all threads of the block.
    BlockBarrier,
    /// Waits for the threads of a set of lanes.
    WarpBarrier(Source),
    Shuffle {
        mode: &'static str,
        to: usize,
        valid: Option<usize>,
        from: Source,
        lane: Source,
        bounds: Source,
        set: Source,
    },
    Vote {
        mode: &'static str,
        to: usize,
        from: Source,
        set: Source,
    },
    /// Tells which lanes have the same value.
    Match {
        to: usize,
        from: Source,
        set: Source,
        bits: u32,
    },
    Product(Product),
    LoadMatrix {
        to: Vec<usize>,
        from: Address,
        is_transposed: bool,
    },
    /// Begins a copy from global to shared memory.
    Copy {
        to: Address,
        from: Address,
        bytes: usize,
    },
    CommitCopies,
    /// Waits until at most this many groups of copies are not finished.
    WaitForCopies(u64),
    /// Fences order nothing here: the interpreter executes one thread after the other.
    Nothing,
}

/// An operation with its guard.
pub(super) struct Step {
    pub(super) guard: Option<(usize, bool)>,
    pub(super) op: Op,
}

/// The memory that a kernel needs besides its arrays.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// The bytes of shared memory that the kernel declares.
    pub(super) shared: u64,
    /// The bytes of local memory of a thread.
    pub(super) local: u64,
    /// The offsets and sizes of the parameters.
    pub(super) parameters: Vec<(u64, u64)>,
    /// The bytes of all parameters.
    pub(super) parameter_bytes: u64,
}

/// Reads a kernel. `address_of` returns the addresses of the module's variables.
pub(super) fn program<'a>(
    module: &Module<'a>,
    kernel: &Function<'a>,
    address_of: &dyn Fn(&str) -> Option<u64>,
) -> Result<(Vec<Step>, Layout), Error> {
    let unknown = |at, text: &str| Error::Unknown {
        kernel: kernel.name.to_owned(),
        at,
        text: text.to_owned(),
    };
    let mut layout = Layout::default();
    let mut names = HashMap::new();
    for parameter in &kernel.parameters {
        let size = parameter.length.and_then(|count| count.checked_mul(parameter.kind.bytes()));
        let size = size.ok_or_else(|| unknown(parameter.at, parameter.name))?;
        let align = if parameter.is_pointer { 8 } else { parameter.align.max(1) };
        let offset = layout.parameter_bytes.checked_next_multiple_of(align);
        let offset = offset.ok_or(Error::Shape)?;
        names.insert(parameter.name, (Space::Parameter, offset));
        layout.parameters.push((offset, size));
        layout.parameter_bytes = offset.checked_add(size).ok_or(Error::Shape)?;
    }
    // Arrays without a size come last: they begin where the others end.
    let variables = || module.variables.iter().chain(&kernel.variables);
    for open in [false, true] {
        for variable in variables().filter(|variable| variable.length.is_none() == open) {
            let (space, end) = match variable.space {
                "shared" => (Space::Shared, &mut layout.shared),
                "local" => (Space::Local, &mut layout.local),
                "global" | "const" => {
                    let address = address_of(variable.name);
                    let address = address.ok_or_else(|| unknown(variable.at, variable.name))?;
                    names.insert(variable.name, (Space::Global, address));
                    continue;
                }
                // What a call passes.
                _ => return Err(unknown(variable.at, variable.name)),
            };
            let start = end.checked_next_multiple_of(variable.align.max(1));
            let size = variable.length.unwrap_or(0).checked_mul(variable.kind.bytes());
            let (Some(start), Some(size)) = (start, size) else { return Err(Error::Shape) };
            names.insert(variable.name, (space, start));
            *end = start.checked_add(size).ok_or(Error::Shape)?;
        }
    }
    let reader = Reader { kernel, names };
    let step = |instruction: &Instruction<'a>| {
        let guard = instruction.guard.map(|guard| (guard.register, guard.holds));
        let op = reader.op(instruction);
        let op = op.ok_or_else(|| unknown(instruction.at, instruction.text))?;
        Ok(Step { guard, op })
    };
    let mut code: Vec<Step> = kernel.code.iter().map(step).collect::<Result<_, Error>>()?;
    // Execution that reaches the end of the body ends there.
    code.push(Step { guard: None, op: Op::Exit });
    Ok((code, layout))
}

struct Reader<'r, 'a> {
    kernel: &'r Function<'a>,
    names: HashMap<&'a str, (Space, u64)>,
}

/// Returns the name as one that lives as long as the program, if it is in the list.
fn one_of(name: &str, list: &[&'static str]) -> Option<&'static str> {
    list.iter().copied().find(|known| *known == name)
}

impl Reader<'_, '_> {
    /// Returns what an instruction does, or `None` if it is not known.
    fn op(&self, read: &Instruction<'_>) -> Option<Op> {
        let names = &read.modifiers[..];
        // Registers here have at most 64 bits.
        if names.iter().any(|name| Type::parse(name).is_some_and(|kind| kind.bits > 64)) {
            return None;
        }
        match (read.opcode, names, &read.operands[..]) {
            ("bra", [] | ["uni"], [Operand::Name(label)]) => {
                Some(Op::Jump(*self.kernel.labels.get(label)?))
            }
            ("ret" | "exit", [] | ["uni"], []) => Some(Op::Exit),
            ("bar", ["sync"], [Operand::Integer(0)])
            | ("barrier", ["sync"] | ["sync", "aligned"], [Operand::Integer(0)])
            | ("bar", ["cta", "sync"], [Operand::Integer(0)]) => Some(Op::BlockBarrier),
            ("bar", ["warp", "sync"], [set]) => Some(Op::WarpBarrier(self.source(set)?)),
            ("membar", [_], []) | ("fence", ["acq_rel" | "sc", _], []) => Some(Op::Nothing),
            ("mov", [kind], [Operand::Vector(to), from]) => {
                let bits = Type::parse(kind)?.bits / u32::try_from(to.len()).ok()?.max(1);
                Some(Op::Split { to: self.results(to)?, from: self.source(from)?, bits })
            }
            ("mov", [kind], [to, Operand::Vector(from)]) => {
                let bits = Type::parse(kind)?.bits / u32::try_from(from.len()).ok()?.max(1);
                let from = from.iter().map(|from| self.source(from)).collect::<Option<_>>()?;
                Some(Op::Join { to: self.register(to)?, from, bits })
            }
            ("ld", names, [to, from]) => {
                let (space, kind, count, is_relaxed) = access(names)?;
                let to = match to {
                    Operand::Vector(parts) => self.results(parts)?,
                    one => self.results(std::slice::from_ref(one))?,
                };
                (to.len() == count).then_some(())?;
                Some(Op::Load { to, from: self.address(space, from)?, kind, is_relaxed })
            }
            ("st", names, [to, from]) => {
                let (space, kind, count, is_relaxed) = access(names)?;
                let from = match from {
                    Operand::Vector(parts) => &parts[..],
                    one => std::slice::from_ref(one),
                };
                let from: Vec<Source> =
                    from.iter().map(|from| self.source(from)).collect::<Option<_>>()?;
                (from.len() == count && space != Space::Parameter).then_some(())?;
                Some(Op::Store { to: self.address(space, to)?, from, kind, is_relaxed })
            }
            ("atom" | "red", names, operands) => self.atomic(read.opcode, names, operands),
            ("shfl", ["sync", mode, "b32"], [to, from, lane, bounds, set]) => {
                let (to, valid) = match to {
                    Operand::Pair(to, valid) => (self.register(to)?, Some(self.register(valid)?)),
                    to => (self.register(to)?, None),
                };
                let [from, lane, bounds, set] = [from, lane, bounds, set].map(|o| self.source(o));
                let mode = one_of(mode, &["idx", "up", "down", "bfly"])?;
                let (from, lane, bounds, set) = (from?, lane?, bounds?, set?);
                Some(Op::Shuffle { mode, to, valid, from, lane, bounds, set })
            }
            ("vote", ["sync", mode, "pred" | "b32"], [to, from, set]) => {
                let mode = one_of(mode, &["all", "any", "uni", "ballot"])?;
                let (from, set) = (self.source(from)?, self.source(set)?);
                Some(Op::Vote { mode, to: self.register(to)?, from, set })
            }
            ("match", ["any", "sync", kind], [to, from, set]) => {
                let bits = Type::parse(kind)?.bits;
                let (from, set) = (self.source(from)?, self.source(set)?);
                Some(Op::Match { to: self.register(to)?, from, set, bits })
            }
            ("mma", ["sync", "aligned", shape, "row", "col", kinds @ ..], [d, a, b, c]) => {
                let several = |operand: &Operand<'_>| match operand {
                    Operand::Vector(parts) => {
                        parts.iter().map(|part| self.register(part)).collect::<Option<Vec<_>>>()
                    }
                    _ => None,
                };
                let [d, a, b, c] = [d, a, b, c].map(several);
                Some(Op::Product(Product::new(shape, kinds, [d?, a?, b?, c?])?))
            }
            ("ldmatrix", ["sync", "aligned", "m8n8", rest @ ..], [Operand::Vector(to), from]) => {
                let (count, is_transposed) = match rest {
                    [count, "shared", "b16"] => (count, false),
                    [count, "trans", "shared", "b16"] => (count, true),
                    _ => return None,
                };
                let to: Vec<usize> =
                    to.iter().map(|part| self.register(part)).collect::<Option<_>>()?;
                (matches!(to.len(), 1 | 2 | 4) && format!("x{}", to.len()) == *count)
                    .then_some(())?;
                let from = self.address(Space::Shared, from)?;
                Some(Op::LoadMatrix { to, from, is_transposed })
            }
            ("cp", ["async", "ca" | "cg", "shared", "global"], [to, from, Operand::Integer(n)]) => {
                let bytes = usize::try_from(*n).ok().filter(|n| [4, 8, 16].contains(n))?;
                let to = self.address(Space::Shared, to)?;
                Some(Op::Copy { to, from: self.address(Space::Global, from)?, bytes })
            }
            ("cp", ["async", "commit_group"], []) => Some(Op::CommitCopies),
            ("cp", ["async", "wait_group"], [Operand::Integer(count)]) => {
                Some(Op::WaitForCopies(*count))
            }
            (_, _, [to, from @ ..]) if from.len() <= 4 => {
                let function = compute(read)?;
                let mut sources = [Source::Constant(0); 4];
                for (source, operand) in sources.iter_mut().zip(from) {
                    *source = self.source(operand)?;
                }
                Some(Op::Compute { to: self.register(to)?, from: sources, function })
            }
            _ => None,
        }
    }

    fn atomic(&self, opcode: &str, names: &[&str], operands: &[Operand<'_>]) -> Option<Op> {
        let (result, operands) = match (opcode, operands) {
            ("atom", [to, rest @ ..]) => (self.results(std::slice::from_ref(to))?[0], rest),
            (_, rest) => (None, rest),
        };
        let [at, from @ ..] = operands else { return None };
        // The order and the scope of an atomic operation matter only to plain accesses, which are
        // races beside atomic ones.
        let orders = ["relaxed", "acquire", "release", "acq_rel", "gpu", "cta", "sys"];
        let names: Vec<&str> = names.iter().copied().filter(|n| !orders.contains(n)).collect();
        let [space, operation, kind] = names[..] else { return None };
        let space = match space {
            "global" => Space::Global,
            "shared" => Space::Shared,
            _ => return None,
        };
        let kind = Type::parse(kind)?;
        let count = if operation == "cas" { 2 } else { 1 };
        (from.len() == count && kind.bits >= 32 && kind.bits <= 64).then_some(())?;
        let mut sources = [Source::Constant(0); 2];
        for (source, operand) in sources.iter_mut().zip(from) {
            *source = self.source(operand)?;
        }
        let function = update(operation, kind)?;
        let at = self.address(space, at)?;
        Some(Op::Atomic { result, at, from: sources, kind, function })
    }

    fn register(&self, operand: &Operand<'_>) -> Option<usize> {
        match operand {
            Operand::Register(index) => Some(*index),
            _ => None,
        }
    }

    fn results(&self, operands: &[Operand<'_>]) -> Option<Vec<Option<usize>>> {
        let one = |operand: &Operand<'_>| match operand {
            Operand::Ignored => Some(None),
            operand => self.register(operand).map(Some),
        };
        operands.iter().map(one).collect()
    }

    fn source(&self, operand: &Operand<'_>) -> Option<Source> {
        Some(match operand {
            Operand::Register(index) => Source::Register(*index),
            Operand::Not(predicate) => {
                let index = self.register(predicate)?;
                let is_predicate = self.kernel.registers[index].kind.kind == Kind::Predicate;
                is_predicate.then_some(Source::Not(index))?
            }
            Operand::Integer(value) | Operand::Double(value) => Source::Constant(*value),
            Operand::Single(value) => Source::Constant(u64::from(*value)),
            Operand::Name(name) => Source::Constant(self.names.get(name)?.1),
            Operand::Special(name) => Source::Special(special(name)?),
            _ => return None,
        })
    }

    fn address(&self, space: Space, operand: &Operand<'_>) -> Option<Address> {
        let Operand::Address(base, offset) = operand else { return None };
        if let Operand::Name(name) = &**base {
            (self.names.get(name)?.0 == space).then_some(())?;
        }
        Some(Address { space, base: self.source(base)?, offset: *offset })
    }
}

fn special(name: &str) -> Option<Special> {
    let (base, axis) = match name.split_once('.') {
        Some((base, axis)) => (base, ["x", "y", "z"].iter().position(|known| *known == axis)),
        None => (name, None),
    };
    Some(match (base, axis) {
        ("%tid", Some(axis)) => Special::Thread(axis),
        ("%ntid", Some(axis)) => Special::Threads(axis),
        ("%ctaid", Some(axis)) => Special::Block(axis),
        ("%nctaid", Some(axis)) => Special::Blocks(axis),
        ("%laneid", None) => Special::Lane,
        ("%warpid", None) => Special::Warp,
        ("%nwarpid", None) => Special::Warps,
        (name, None) => {
            let way = name.strip_prefix("%lanemask_")?;
            Special::Lanes(one_of(way, &["eq", "le", "lt", "ge", "gt"])?)
        }
        _ => return None,
    })
}

/// Reads the modifiers of a load or a store: the space, the type, the number of elements, and
/// whether other threads may access the memory at the same time.
fn access(names: &[&str]) -> Option<(Space, Type, usize, bool)> {
    let (mut space, mut kind, mut count, mut is_relaxed) = (None, None, 1, false);
    for name in names {
        match *name {
            "global" | "const" => space = Some(Space::Global),
            "shared" => space = Some(Space::Shared),
            "local" => space = Some(Space::Local),
            "param" => space = Some(Space::Parameter),
            "v2" => count = 2,
            "v4" => count = 4,
            "relaxed" | "acquire" | "release" => is_relaxed = true,
            // Hints for caches.
            "nc" | "volatile" | "gpu" | "cta" | "sys" | "ca" | "cg" | "cs" | "lu" | "cv" | "wb"
            | "wt" => {}
            name => {
                let is_known = |kind: &Type| kind.bits >= 8 && kind.bits <= 64;
                kind = Some(Type::parse(name).filter(is_known)?);
            }
        }
    }
    Some((space?, kind?, count, is_relaxed))
}

/// Returns the value that a load writes to a register of this many bits.
pub(super) fn extended(value: u64, kind: Type, register: u32) -> u64 {
    let unused = 64 - kind.bits;
    match kind.kind {
        Kind::Signed => low((((value << unused) as i64) >> unused) as u64, register),
        _ => low(value, register),
    }
}
