//! A kernel in the form that the interpreter executes.

use std::collections::HashMap;
use std::mem;

use super::arithmetic::{Wide, compute, update, with_carry};
use super::exchange::{Exchange, exchange};
use super::fault::Error;
use super::matrix::Product;
use super::space::Space;
use super::special::Thread;
use super::value::Compute;
use crate::syntax::{Function, Instruction, Kind, Module, Operand, Position, Type, Variable};

/// Where an operand's value comes from.
#[derive(Copy, Clone, Debug)]
pub(super) struct Source {
    pub(super) register: usize,
    /// Whether it is the opposite of this predicate.
    pub(super) is_opposite: bool,
}

/// What a register holds that no instruction writes.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Fixed<'m> {
    Constant(u64),
    /// What the hardware defines, by its name.
    Special(&'m str),
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
        compute: Compute,
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
        from: [Source; 4],
        bits: u32,
        compute: Compute,
    },
    Jump(usize),
    /// Jumps to one of several places, by its number.
    JumpTable(Source, Vec<usize>),
    Exit,
    /// Stops the kernel.
    Trap,
    BlockBarrier(Barrier),
    /// Waits for the threads of a set of lanes.
    WarpBarrier(Source),
    /// Computes results from the values of the lanes in a set.
    Exchange {
        to: [Option<usize>; 2],
        from: [Source; 3],
        set: Source,
        exchange: Exchange,
    },
    /// Tells which lanes execute this.
    Active(usize),
    /// Computes a result whose carry the next sum can use.
    Carry {
        to: usize,
        carry: Option<usize>,
        from: [Source; 4],
        function: Wide,
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

/// A barrier of the block.
pub(super) struct Barrier {
    /// Its number.
    pub(super) id: Source,
    /// The number of threads for which it waits, or all of the block.
    pub(super) count: Option<Source>,
    /// Whether the threads that arrive wait for the others.
    pub(super) waits: bool,
    /// Whether all threads of a warp arrive together.
    pub(super) is_aligned: bool,
    pub(super) vote: Option<Vote>,
}

/// What a barrier makes of a truth value of each thread.
pub(super) struct Vote {
    /// Returns the result from the number of threads and the number of those with a true value.
    pub(super) result: fn(u64, u64) -> u64,
    pub(super) to: usize,
    pub(super) from: Source,
}

/// The number of barriers of a block.
pub(super) const BARRIERS: u64 = 16;

/// An operation with its guard, and the instruction that it comes from. The end of a kernel comes
/// from none.
pub(super) struct Step<'m> {
    pub(super) guard: Option<(usize, bool)>,
    pub(super) op: Op,
    pub(super) read: Option<&'m Instruction<'m>>,
}

/// A kernel with the functions that it calls in the places of the calls.
#[derive(Default)]
pub(super) struct Code<'m> {
    pub(super) steps: Vec<Step<'m>>,
    /// The numbers of bits of the registers.
    pub(super) widths: Vec<u32>,
    /// The registers that no instruction writes.
    pub(super) fixed: HashMap<Fixed<'m>, usize>,
    /// The bytes of shared memory that the kernel declares.
    pub(super) shared: u64,
    /// The bytes of local memory of a thread.
    pub(super) local: u64,
    /// The offsets and sizes of the parameters.
    pub(super) parameters: Vec<(u64, u64)>,
    /// The bytes of all parameters.
    pub(super) parameter_bytes: u64,
}

/// Where a variable is.
#[derive(Copy, Clone)]
struct Place {
    space: Space,
    at: u64,
    size: u64,
}

/// Functions that call others many times make at most this many instructions and registers.
const MOST_STEPS: usize = 1 << 20;
/// The largest number of functions that wait for one another.
const MOST_CALLS: usize = 64;

/// Reads a kernel. `addresses` has the variables in global memory.
pub(super) fn program<'m>(
    module: &'m Module<'m>,
    kernel: &'m Function<'m>,
    addresses: &HashMap<&'m str, u64>,
) -> Result<Code<'m>, Error> {
    let mut code = Code::default();
    let too_large = |variable: &Variable<'_>| unknown(kernel, variable.at, variable.name);
    let mut own = Names::new();
    for parameter in &kernel.parameters {
        let align = if parameter.is_pointer { 8 } else { parameter.align };
        let place = parameter.length.and(parameter.place_after(code.parameter_bytes, align));
        let (at, end) = place.ok_or_else(|| too_large(parameter))?;
        let size = end - at;
        own.insert(parameter.name, Place { space: Space::Parameter, at, size });
        code.parameters.push((at, size));
        code.parameter_bytes = end;
    }
    let of_address = |(&name, &at)| (name, Place { space: Space::Global, at, size: 0 });
    let mut global: Names<'m> = addresses.iter().map(of_address).collect();
    // Arrays without a size come last: they begin where the others end.
    for variable in module.shared(kernel) {
        let place = variable.place_after(code.shared, variable.align);
        let (at, end) = place.ok_or_else(|| too_large(variable))?;
        global.insert(variable.name, Place { space: Space::Shared, at, size: end - at });
        code.shared = end;
    }
    let frame = Frame { function: kernel, names: own, first: 0 };
    let mut builder = Builder { module, kernel, global, calls: Vec::new(), code, frame };
    builder.body()?;
    // Execution that reaches the end of the body ends there.
    builder.code.steps.push(Step { guard: None, op: Op::Exit, read: None });
    Ok(builder.code)
}

fn unknown(kernel: &Function<'_>, at: Position, text: &str) -> Error {
    Error::Unknown { kernel: kernel.name.to_owned(), at, text: text.to_owned() }
}

/// Puts a kernel and the functions that it calls together.
struct Builder<'m> {
    module: &'m Module<'m>,
    kernel: &'m Function<'m>,
    /// The variables that all functions know.
    global: Names<'m>,
    /// The functions whose bodies are being read, each called by the one before.
    calls: Vec<&'m str>,
    code: Code<'m>,
    frame: Frame<'m>,
}

type Names<'m> = HashMap<&'m str, Place>;

/// A function whose body is being read.
struct Frame<'m> {
    function: &'m Function<'m>,
    /// Its parameters and its own variables.
    names: Names<'m>,
    /// The index of its first register.
    first: usize,
}

/// Returns the bits of a constant for an instruction or a variable of this type, or `None` if the
/// type has no such constant.
pub(super) fn constant(operand: &Operand<'_>, kind: Type) -> Option<u64> {
    Some(match (operand, kind.kind, kind.bits) {
        (Operand::Integer(value), ..) => *value,
        (Operand::Single(bits), Kind::Float | Kind::Bits, 32) => u64::from(*bits),
        (Operand::Single(bits), Kind::Float, 64) => f64::from(f32::from_bits(*bits)).to_bits(),
        (Operand::Double(bits), Kind::Float | Kind::Bits, 64) => *bits,
        (Operand::Double(bits), Kind::Float, 32) => {
            u64::from((f64::from_bits(*bits) as f32).to_bits())
        }
        _ => return None,
    })
}

/// Returns the operands in braces, or the only one.
fn parts<'o, 'm>(operand: &'o Operand<'m>) -> &'o [Operand<'m>] {
    match operand {
        Operand::Vector(parts) => parts,
        one => std::slice::from_ref(one),
    }
}

impl<'m> Builder<'m> {
    /// Adds the body of the function of the frame.
    fn body(&mut self) -> Result<(), Error> {
        let function = self.frame.function;
        self.calls.push(function.name);
        self.local()?;
        self.frame.first = self.code.widths.len();
        self.code.widths.extend(function.registers.iter().map(|known| known.kind.bits));
        // The carry of sums.
        self.code.widths.push(1);
        let (mut starts, mut jumps) = (Vec::new(), Vec::new());
        for (index, read) in function.code.iter().enumerate() {
            starts.push(self.code.steps.len());
            if let Some((callee, passed)) = self.callee(read) {
                // Functions without instructions have registers, too.
                let size = self.code.steps.len() + self.code.widths.len();
                let is_deep = self.calls.len() >= MOST_CALLS;
                if self.calls.contains(&callee.name) || size > MOST_STEPS || is_deep {
                    return Err(unknown(self.kernel, read.at, read.text));
                }
                if let Some(guard) = read.guard {
                    // Threads that do not call go on behind the call.
                    jumps.push(self.code.steps.len());
                    self.push(read, Op::Jump(index + 1), Some((guard.register, !guard.holds)));
                }
                let frame = Frame { function: callee, names: passed, first: 0 };
                let caller = mem::replace(&mut self.frame, frame);
                self.body()?;
                self.frame = caller;
                continue;
            }
            let op = self.op(read).ok_or_else(|| unknown(self.kernel, read.at, read.text))?;
            if matches!(op, Op::Jump(_) | Op::JumpTable(..)) {
                jumps.push(self.code.steps.len());
            }
            self.push(read, op, read.guard.map(|guard| (guard.register, guard.holds)));
        }
        starts.push(self.code.steps.len());
        for jump in jumps {
            match &mut self.code.steps[jump].op {
                Op::Jump(target) => *target = starts[*target],
                Op::JumpTable(_, targets) => targets.iter_mut().for_each(|t| *t = starts[*t]),
                _ => {}
            }
        }
        self.calls.pop();
        Ok(())
    }

    fn push(&mut self, read: &'m Instruction<'m>, op: Op, guard: Option<(usize, bool)>) {
        let guard = guard.map(|(register, holds)| (self.frame.first + register, holds));
        self.code.steps.push(Step { guard, op, read: Some(read) });
    }

    /// Gives places in local memory to the variables of the function and to what it passes on.
    fn local(&mut self) -> Result<(), Error> {
        let is_local = |variable: &&Variable<'_>| matches!(variable.space, "local" | "param");
        let mut variables: Vec<&Variable<'m>> = Vec::new();
        let mut indices = HashMap::new();
        for variable in self.frame.function.variables.iter().filter(is_local) {
            // Calls use the same names again and again.
            let index = *indices.entry(variable.name).or_insert(variables.len());
            match variables.get_mut(index) {
                Some(known) if known.bytes() < variable.bytes() => *known = variable,
                Some(_) => {}
                None => variables.push(variable),
            }
        }
        for variable in variables {
            let place = variable.place_after(self.code.local, variable.align.max(8));
            let (at, end) =
                place.ok_or_else(|| unknown(self.kernel, variable.at, variable.name))?;
            self.frame
                .names
                .insert(variable.name, Place { space: Space::Local, at, size: end - at });
            self.code.local = end;
        }
        Ok(())
    }

    fn place(&self, name: &str) -> Option<Place> {
        self.frame.names.get(name).or_else(|| self.global.get(name)).copied()
    }

    /// Returns the function that a call names, and the places of its parameters, which are those of
    /// what the caller passes.
    fn callee(&self, read: &Instruction<'m>) -> Option<(&'m Function<'m>, Names<'m>)> {
        let (returned, name, passed): (&[_], _, &[_]) = match &read.operands[..] {
            _ if read.opcode != "call" => return None,
            [Operand::List(returned), Operand::Name(name)] => (returned, name, &[]),
            [Operand::List(returned), Operand::Name(name), Operand::List(passed)] => {
                (returned, name, passed)
            }
            [Operand::Name(name)] => (&[], name, &[]),
            [Operand::Name(name), Operand::List(passed)] => (&[], name, passed),
            _ => return None,
        };
        let callee = self.module.function(name).filter(|function| !function.is_kernel)?;
        let given = returned.len() + passed.len();
        (callee.returns == returned.len() && callee.parameters.len() == given).then_some(())?;
        let place = |(parameter, given): (&Variable<'m>, &Operand<'m>)| {
            let Operand::Name(given) = given else { return None };
            let place = self.place(given)?;
            let fits = place.space == Space::Local && parameter.bytes()? <= place.size;
            fits.then_some((parameter.name, place))
        };
        let places = callee.parameters.iter().zip(returned.iter().chain(passed)).map(place);
        Some((callee, places.collect::<Option<_>>()?))
    }

    /// Returns what an instruction does, or `None` if it is not known.
    fn op(&mut self, read: &Instruction<'m>) -> Option<Op> {
        let names = &read.modifiers[..];
        // Registers here have at most 64 bits.
        if names.iter().any(|name| Type::parse(name).is_some_and(|kind| kind.bits > 64)) {
            return None;
        }
        let function = self.frame.function;
        let label = |name: &&str| function.labels.get(name).copied();
        let is_kernel = self.calls.len() == 1;
        match (read.opcode, names, &read.operands[..]) {
            ("call", _, operands) if operands.contains(&Operand::Name("__assertfail")) => {
                Some(Op::Trap)
            }
            ("bra", [] | ["uni"], [Operand::Name(name)]) => Some(Op::Jump(label(name)?)),
            ("brx", ["idx"] | ["idx", "uni"], [index, Operand::Name(table)]) => {
                let targets = function.tables.get(table)?.iter().map(label).collect::<Option<_>>();
                Some(Op::JumpTable(self.source(index)?, targets?))
            }
            ("ret", [] | ["uni"], []) if !is_kernel => Some(Op::Jump(function.code.len())),
            ("ret" | "exit", [] | ["uni"], []) => Some(Op::Exit),
            ("activemask", ["b32"], [to]) => Some(Op::Active(self.register(to)?)),
            ("trap", [], []) => Some(Op::Trap),
            ("bar" | "barrier", ["warp", "sync"], [set]) => {
                Some(Op::WarpBarrier(self.source(set)?))
            }
            ("bar" | "barrier", names, operands) => {
                self.barrier(read.opcode, names, operands).map(Op::BlockBarrier)
            }
            ("prefetch" | "prefetchu", _, [_])
            | ("nanosleep", ["u32"], [_])
            | ("membar", [_], [])
            | ("fence", ["acq_rel" | "sc", _], []) => Some(Op::Nothing),
            ("shfl" | "vote" | "match" | "redux" | "elect", names, [to, from @ .., set]) => {
                let (to, is_pair) = match to {
                    Operand::Pair(to, also) => ([self.result(to)?, self.result(also)?], true),
                    to => ([self.result(to)?, None], false),
                };
                let (takes, exchange) = exchange(read.opcode, names, is_pair)?;
                let [a, b, c, _] = self.sources(from, takes, WORD)?;
                Some(Op::Exchange { to, from: [a, b, c], set: self.source(set)?, exchange })
            }
            ("add" | "addc" | "sub" | "subc" | "mad" | "madc", names, [to, from @ ..])
                if names.contains(&"cc") || read.opcode.ends_with('c') =>
            {
                let writes = names.contains(&"cc");
                let names: Vec<&str> = names.iter().copied().filter(|n| *n != "cc").collect();
                let (function, bits) = with_carry(read.opcode, &names)?;
                let takes = if read.opcode.starts_with("mad") { 3 } else { 2 };
                let mut sources = self.sources(from, takes, WORD)?;
                let register = self.frame.first + self.frame.function.registers.len();
                if read.opcode.ends_with('c') {
                    sources[3] = Source { register, is_opposite: false };
                }
                let (to, carry) = (self.register(to)?, writes.then_some(register));
                Some(Op::Carry { to, carry, from: sources, function, bits })
            }
            ("mov", [kind], [Operand::Vector(to), from]) => {
                let kind = Type::parse(kind)?;
                let bits = kind.bits / u32::try_from(to.len()).ok()?.max(1);
                Some(Op::Split { to: self.results(to)?, from: self.typed(from, kind)?, bits })
            }
            ("mov", [kind], [to, Operand::Vector(from)]) => {
                let bits = Type::parse(kind)?.bits / u32::try_from(from.len()).ok()?.max(1);
                let from = from.iter().map(|from| self.source(from)).collect::<Option<_>>()?;
                Some(Op::Join { to: self.register(to)?, from, bits })
            }
            ("ld", names, [to, from]) => {
                let (space, kind, count, is_relaxed) = access(names)?;
                let to = self.results(parts(to))?;
                (to.len() == count).then_some(())?;
                Some(Op::Load { to, from: self.address(space, from)?, kind, is_relaxed })
            }
            ("st", names, [to, from]) => {
                let (space, kind, count, is_relaxed) = access(names)?;
                let from = parts(from).iter().map(|from| self.typed(from, kind));
                let from: Vec<Source> = from.collect::<Option<_>>()?;
                let to = self.address(space, to)?;
                (from.len() == count && to.space != Space::Parameter).then_some(())?;
                Some(Op::Store { to, from, kind, is_relaxed })
            }
            ("atom", names, [to, at, from @ ..]) => {
                let result = self.result(to)?;
                self.atomic(names, result, at, from)
            }
            ("red", names, [at, from @ ..]) => self.atomic(names, None, at, from),
            ("mma", ["sync", "aligned", shape, "row", "col", kinds @ ..], [d, a, b, c]) => {
                let [d, a, b, c] = [d, a, b, c].map(|operand| self.registers(operand));
                Some(Op::Product(Product::new(shape, kinds, [d?, a?, b?, c?])?))
            }
            ("ldmatrix", ["sync", "aligned", "m8n8", rest @ ..], [to, from]) => {
                let (count, is_transposed) = match rest {
                    [count, "shared", "b16"] => (count, false),
                    [count, "trans", "shared", "b16"] => (count, true),
                    _ => return None,
                };
                let to = self.registers(to)?;
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
            (_, _, [to, from @ ..]) => {
                let compute = compute(read)?;
                // Other types, such as pairs, have no constants with a point.
                let kind = names.last().and_then(|name| Type::parse(name)).unwrap_or_default();
                let from = self.sources(from, compute.takes, kind)?;
                Some(Op::Compute { to: self.register(to)?, from, compute })
            }
            _ => None,
        }
    }

    fn atomic(
        &mut self,
        names: &[&str],
        result: Option<usize>,
        at: &Operand<'m>,
        from: &[Operand<'m>],
    ) -> Option<Op> {
        // The order and the scope of an atomic operation matter only to plain accesses, which are
        // races beside atomic ones.
        let orders = ["relaxed", "acquire", "release", "acq_rel", "gpu", "cta", "sys", "noftz"];
        let names: Vec<&str> = names.iter().copied().filter(|n| !orders.contains(n)).collect();
        let (space, operation, kind) = match names[..] {
            [operation, kind] => (Space::Generic, operation, kind),
            ["global", operation, kind] => (Space::Global, operation, kind),
            ["shared" | "shared::cta", operation, kind] => (Space::Shared, operation, kind),
            _ => return None,
        };
        let (compute, bits) = update(operation, kind)?;
        // The first operand of the function is what the memory holds.
        let from = self.sources(from, compute.takes - 1, Type::parse(kind).unwrap_or_default())?;
        Some(Op::Atomic { result, at: self.address(space, at)?, from, bits, compute })
    }

    fn barrier(
        &mut self,
        opcode: &str,
        names: &[&str],
        operands: &[Operand<'m>],
    ) -> Option<Barrier> {
        let names: Vec<&str> = names.iter().copied().filter(|name| *name != "cta").collect();
        let (action, names) = names.split_first()?;
        let (is_aligned, names) = match names {
            ["aligned", names @ ..] => (true, names),
            names => (opcode == "bar", names),
        };
        let (vote, operands) = match (*action, names, operands) {
            ("sync" | "arrive", [], operands) => (None, operands),
            ("red", [mode, _], [to, operands @ .., from]) => {
                let result: fn(u64, u64) -> u64 = match *mode {
                    "popc" => |_, ones| ones,
                    "and" => |all, ones| u64::from(ones == all),
                    "or" => |_, ones| u64::from(ones != 0),
                    _ => return None,
                };
                let (to, from) = (self.register(to)?, self.source(from)?);
                (Some(Vote { result, to, from }), operands)
            }
            _ => return None,
        };
        let waits = *action != "arrive";
        let (id, count) = match operands {
            [Operand::Integer(BARRIERS..), ..] => return None,
            [id] if waits => (self.source(id)?, None),
            [id, count] => (self.source(id)?, Some(self.source(count)?)),
            _ => return None,
        };
        Some(Barrier { id, count, waits, is_aligned, vote })
    }

    fn register(&self, operand: &Operand<'_>) -> Option<usize> {
        match operand {
            Operand::Register(index) => Some(self.frame.first + index),
            _ => None,
        }
    }

    /// Reads several registers in braces.
    fn registers(&self, operand: &Operand<'_>) -> Option<Vec<usize>> {
        let Operand::Vector(parts) = operand else { return None };
        parts.iter().map(|part| self.register(part)).collect()
    }

    /// Reads a result, which is none if it is not needed.
    #[allow(clippy::option_option, reason = "an operand that is no result, and no result")]
    fn result(&self, operand: &Operand<'_>) -> Option<Option<usize>> {
        match operand {
            Operand::Ignored => Some(None),
            operand => self.register(operand).map(Some),
        }
    }

    fn results(&self, operands: &[Operand<'_>]) -> Option<Vec<Option<usize>>> {
        operands.iter().map(|operand| self.result(operand)).collect()
    }

    fn fixed(&mut self, what: Fixed<'m>) -> Source {
        let widths = &mut self.code.widths;
        let register = *self.code.fixed.entry(what).or_insert_with(|| {
            widths.push(u64::BITS);
            widths.len() - 1
        });
        Source { register, is_opposite: false }
    }

    /// Reads this many operands of an instruction of this type.
    fn sources(
        &mut self,
        operands: &[Operand<'m>],
        count: usize,
        kind: Type,
    ) -> Option<[Source; 4]> {
        (operands.len() == count).then_some(())?;
        let mut sources = [self.fixed(Fixed::Constant(0)); 4];
        for (source, operand) in sources.iter_mut().zip(operands) {
            *source = self.typed(operand, kind)?;
        }
        Some(sources)
    }

    fn source(&mut self, operand: &Operand<'m>) -> Option<Source> {
        self.typed(operand, WORD)
    }

    /// Reads an operand of an instruction of this type.
    fn typed(&mut self, operand: &Operand<'m>, kind: Type) -> Option<Source> {
        Some(match operand {
            Operand::Register(index) => {
                Source { register: self.frame.first + index, is_opposite: false }
            }
            Operand::Not(predicate) => {
                let Operand::Register(index) = **predicate else { return None };
                let of = self.frame.function.registers[index].kind.kind;
                let register = self.frame.first + index;
                (of == Kind::Predicate).then_some(Source { register, is_opposite: true })?
            }
            Operand::Name(name) => self.fixed(Fixed::Constant(self.place(name)?.at)),
            Operand::Special(name) => {
                // Each thread has it, or none.
                Thread::default().special(name)?;
                self.fixed(Fixed::Special(name))
            }
            number => self.fixed(Fixed::Constant(constant(number, kind)?)),
        })
    }

    fn address(&mut self, space: Space, operand: &Operand<'m>) -> Option<Address> {
        let Operand::Address(base, offset) = operand else { return None };
        let space = match &**base {
            // What one function passes to another is in local memory.
            Operand::Name(name) => match (space, self.place(name)?.space) {
                (Space::Parameter, Space::Local) => Space::Local,
                (Space::Generic, Space::Global) => Space::Global,
                (asked, known) if asked == known => asked,
                _ => return None,
            },
            _ if space == Space::Parameter && self.calls.len() > 1 => Space::Local,
            _ => space,
        };
        Some(Address { space, base: self.source(base)?, offset: *offset })
    }
}

/// The type of the constants of instructions without a type.
const WORD: Type = Type { kind: Kind::Bits, bits: 32 };

/// Reads the modifiers of a load or a store: the space, the type, the number of elements, and
/// whether other threads may access the memory at the same time.
fn access(names: &[&str]) -> Option<(Space, Type, usize, bool)> {
    let (mut space, mut kind, mut count, mut is_relaxed) = (Space::Generic, None, 1, false);
    for name in names {
        match *name {
            "global" | "const" => space = Space::Global,
            name if name.starts_with("L1::") || name.starts_with("L2::") => {
                // Others have an operand more.
                (name != "L2::cache_hint").then_some(())?;
            }
            "shared" | "shared::cta" => space = Space::Shared,
            "local" => space = Space::Local,
            "param" | "param::entry" | "param::func" => space = Space::Parameter,
            "v2" => count = 2,
            "v4" => count = 4,
            "relaxed" | "acquire" | "release" => is_relaxed = true,
            // Hints for caches.
            "nc" | "volatile" | "weak" | "gpu" | "cta" | "sys" | "ca" | "cg" | "cs" | "lu"
            | "cv" | "wb" | "wt" => {}
            name => {
                let is_known = |kind: &Type| kind.bits >= 8 && kind.bits <= 64;
                kind = Some(Type::parse(name).filter(is_known)?);
            }
        }
    }
    Some((space, kind?, count, is_relaxed))
}
