//! A kernel in the form that the interpreter executes.

use std::collections::HashMap;

use super::arithmetic::{Wide, compute, operands, update, with_carry};
use super::fault::Error;
use super::matrix::Product;
use super::space::Space;
use super::value::{Compute, low};
use crate::syntax::{Function, Instruction, Kind, Module, Operand, Position, Type, Variable};

/// Where an operand's value comes from.
#[derive(Copy, Clone, Debug)]
pub(super) enum Source {
    Register(usize),
    /// The opposite of a predicate.
    Not(usize),
    Constant(u64),
    Special(Special),
}

impl Source {
    pub(super) const fn register(self) -> Option<usize> {
        match self {
            Self::Register(index) => Some(index),
            _ => None,
        }
    }
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
    WarpSize,
    /// The lanes whose numbers compare in this way with the thread's own.
    Lanes(&'static str),
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
        bits: u32,
        function: Compute,
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
    /// Tells whether all lanes have the same value.
    MatchAll {
        to: Option<usize>,
        equal: Option<usize>,
        from: Source,
        set: Source,
        bits: u32,
    },
    /// Combines the values of several lanes.
    Reduce {
        to: usize,
        from: Source,
        set: Source,
        function: Compute,
    },
    /// Chooses the first of several lanes.
    Elect {
        to: Option<usize>,
        is_chosen: usize,
        set: Source,
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
    pub(super) mode: &'static str,
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
    /// The values of the last registers, which nothing changes.
    pub(super) constants: Vec<u64>,
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
    addresses: &HashMap<&str, u64>,
) -> Result<Code<'m>, Error> {
    let mut builder = Builder { module, kernel, calls: Vec::new(), code: Code::default() };
    let code = &mut builder.code;
    let mut names = HashMap::new();
    for parameter in &kernel.parameters {
        let too_large = || unknown(kernel, parameter.at, parameter.name);
        let align = if parameter.is_pointer { 8 } else { parameter.align };
        let parameter = Variable { align, ..parameter.clone() };
        let known = parameter.length.and(parameter.place_after(code.parameter_bytes));
        let (at, end) = known.ok_or_else(too_large)?;
        let size = end - at;
        names.insert(parameter.name, Place { space: Space::Parameter, at, size });
        code.parameters.push((at, size));
        code.parameter_bytes = end;
    }
    // Arrays without a size come last: they begin where the others end.
    for variable in module.shared(kernel) {
        let place = variable.place_after(code.shared);
        let (at, end) = place.ok_or_else(|| unknown(kernel, variable.at, variable.name))?;
        names.insert(variable.name, Place { space: Space::Shared, at, size: end - at });
        code.shared = end;
    }
    let own = module.reached(kernel).into_iter().flat_map(|function| &function.variables);
    for variable in module.variables.iter().chain(own) {
        if let Some(&at) = addresses.get(variable.name) {
            let place = Place { space: Space::Global, at, size: 0 };
            names.entry(variable.name).or_insert(place);
        }
    }
    builder.body(kernel, &names, &names)?;
    // Execution that reaches the end of the body ends there.
    builder.code.steps.push(Step { guard: None, op: Op::Exit, read: None });
    builder.code.put_constants_into_registers();
    Ok(builder.code)
}

impl Code<'_> {
    /// Moves the constants of computations to registers. Operands in registers are not copied.
    fn put_constants_into_registers(&mut self) {
        let mut registers = HashMap::new();
        for step in &mut self.steps {
            let Op::Compute { from, .. } = &mut step.op else { continue };
            for source in from {
                let Source::Constant(value) = *source else { continue };
                let register = registers.entry(value).or_insert_with(|| {
                    self.constants.push(value);
                    self.widths.push(u64::BITS);
                    self.widths.len() - 1
                });
                *source = Source::Register(*register);
            }
        }
    }
}

fn unknown(kernel: &Function<'_>, at: Position, text: &str) -> Error {
    Error::Unknown { kernel: kernel.name.to_owned(), at, text: text.to_owned() }
}

/// Puts a kernel and the functions that it calls together.
struct Builder<'m> {
    module: &'m Module<'m>,
    kernel: &'m Function<'m>,
    /// The functions whose bodies are being read, each called by the one before.
    calls: Vec<&'m str>,
    code: Code<'m>,
}

type Names<'m> = HashMap<&'m str, Place>;

impl<'m> Builder<'m> {
    /// Adds the body of a function. `global` has the names of the module, and `names` also those of
    /// the parameters.
    fn body(
        &mut self,
        function: &'m Function<'m>,
        names: &Names<'m>,
        global: &Names<'m>,
    ) -> Result<(), Error> {
        let mut names = names.clone();
        self.calls.push(function.name);
        self.local(function, &mut names)?;
        let first = self.code.widths.len();
        self.code.widths.extend(function.registers.iter().map(|known| known.kind.bits));
        // The carry of sums.
        self.code.widths.push(1);
        let (mut starts, mut jumps) = (Vec::new(), Vec::new());
        let is_kernel = self.calls.len() == 1;
        for (index, read) in function.code.iter().enumerate() {
            starts.push(self.code.steps.len());
            let refused = || unknown(self.kernel, read.at, read.text);
            let label = |name: &&str| function.labels.get(name).copied();
            let op = match (read.opcode, &read.modifiers[..], &read.operands[..]) {
                ("call", _, operands) => {
                    let (callee, passed) = self.callee(operands, &names).ok_or_else(refused)?;
                    let Some(callee) = callee else {
                        self.push(read, first, Op::Trap);
                        continue;
                    };
                    // Functions without instructions have registers, too.
                    let size = self.code.steps.len() + self.code.widths.len();
                    let is_deep = self.calls.len() >= MOST_CALLS;
                    if self.calls.contains(&callee.name) || size > MOST_STEPS || is_deep {
                        return Err(refused());
                    }
                    if read.guard.is_some() {
                        // Threads that do not call go on behind the call.
                        jumps.push(self.code.steps.len());
                        self.push(read, first, Op::Jump(index + 1));
                        let step = self.code.steps.last_mut();
                        if let Some((_, holds)) = step.and_then(|step| step.guard.as_mut()) {
                            *holds = !*holds;
                        }
                    }
                    let mut inner = global.clone();
                    inner.extend(passed);
                    self.body(callee, &inner, global)?;
                    continue;
                }
                ("bra", [] | ["uni"], [Operand::Name(name)]) => label(name).map(Op::Jump),
                ("brx", ["idx"] | ["idx", "uni"], [index, Operand::Name(table)]) => {
                    let targets = function.tables.get(table);
                    let targets = targets.and_then(|table| table.iter().map(label).collect());
                    let reader = Reader { function, names: &names, first, is_kernel };
                    reader.source(index).zip(targets).map(|(i, to)| Op::JumpTable(i, to))
                }
                ("ret", [] | ["uni"], []) if !is_kernel => Some(Op::Jump(function.code.len())),
                _ => Reader { function, names: &names, first, is_kernel }.op(read),
            };
            if matches!(op, Some(Op::Jump(_) | Op::JumpTable(..))) {
                jumps.push(self.code.steps.len());
            }
            self.push(read, first, op.ok_or_else(refused)?);
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

    fn push(&mut self, read: &'m Instruction<'m>, first: usize, op: Op) {
        let guard = read.guard.map(|guard| (first + guard.register, guard.holds));
        self.code.steps.push(Step { guard, op, read: Some(read) });
    }

    /// Gives places in local memory to the variables of a function and to what it passes on.
    fn local(&mut self, function: &'m Function<'m>, names: &mut Names<'m>) -> Result<(), Error> {
        let is_local = |variable: &&Variable<'_>| matches!(variable.space, "local" | "param");
        let mut variables: Vec<&Variable<'_>> = Vec::new();
        let mut indices = HashMap::new();
        for variable in function.variables.iter().filter(is_local) {
            // Calls use the same names again and again.
            let index = *indices.entry(variable.name).or_insert(variables.len());
            match variables.get_mut(index) {
                Some(known) if known.bytes() < variable.bytes() => *known = variable,
                Some(_) => {}
                None => variables.push(variable),
            }
        }
        for variable in variables {
            let align = variable.align.max(8);
            let place = Variable { align, ..variable.clone() }.place_after(self.code.local);
            let (at, end) =
                place.ok_or_else(|| unknown(self.kernel, variable.at, variable.name))?;
            names.insert(variable.name, Place { space: Space::Local, at, size: end - at });
            self.code.local = end;
        }
        Ok(())
    }

    /// Returns the function that a call names, and the places of its parameters, which are those of
    /// what the caller passes. The function is `None` if a call of it stops the kernel.
    #[allow(clippy::type_complexity, reason = "two results of one search")]
    fn callee(
        &self,
        operands: &[Operand<'m>],
        names: &Names<'m>,
    ) -> Option<(Option<&'m Function<'m>>, Names<'m>)> {
        let (returned, name, passed): (&[_], _, &[_]) = match operands {
            [Operand::List(returned), Operand::Name(name)] => (returned, name, &[]),
            [Operand::List(returned), Operand::Name(name), Operand::List(passed)] => {
                (returned, name, passed)
            }
            [Operand::Name(name)] => (&[], name, &[]),
            [Operand::Name(name), Operand::List(passed)] => (&[], name, passed),
            _ => return None,
        };
        if *name == "__assertfail" {
            return Some((None, Names::new()));
        }
        let callee = self.module.function(name).filter(|function| !function.is_kernel)?;
        let given = returned.len() + passed.len();
        (callee.returns == returned.len() && callee.parameters.len() == given).then_some(())?;
        let place = |(parameter, given): (&Variable<'m>, &Operand<'m>)| {
            let Operand::Name(given) = given else { return None };
            let place = *names.get(given)?;
            let fits = place.space == Space::Local && parameter.bytes()? <= place.size;
            fits.then_some((parameter.name, place))
        };
        let places = callee.parameters.iter().zip(returned.iter().chain(passed)).map(place);
        Some((Some(callee), places.collect::<Option<_>>()?))
    }
}

/// Reads the instructions of a function.
struct Reader<'r, 'm> {
    function: &'r Function<'m>,
    names: &'r Names<'m>,
    /// The index of its first register.
    first: usize,
    is_kernel: bool,
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
            ("ret" | "exit", [] | ["uni"], []) => Some(Op::Exit),
            ("activemask", ["b32"], [to]) => Some(Op::Active(self.register(to)?)),
            ("trap", [], []) => Some(Op::Trap),
            ("bar" | "barrier", ["warp", "sync"], [set]) => {
                Some(Op::WarpBarrier(self.source(set)?))
            }
            ("bar" | "barrier", names, operands) => {
                self.barrier(read.opcode, names, operands).map(Op::BlockBarrier)
            }
            ("prefetch" | "prefetchu", _, [_]) | ("nanosleep", ["u32"], [_]) => Some(Op::Nothing),
            ("redux", ["sync", operation, kind], [to, from, set]) => {
                let is_known = matches!(
                    (*operation, *kind),
                    ("add" | "min" | "max", "s32" | "u32") | ("and" | "or" | "xor", "b32")
                );
                let (function, 32) = update(operation, kind).filter(|_| is_known)? else {
                    return None;
                };
                let (from, set) = (self.source(from)?, self.source(set)?);
                Some(Op::Reduce { to: self.register(to)?, from, set, function })
            }
            ("elect", ["sync"], [Operand::Pair(to, is_chosen), set]) => {
                let [to] = self.results(std::slice::from_ref(to))?[..] else { return None };
                let is_chosen = self.register(is_chosen)?;
                Some(Op::Elect { to, is_chosen, set: self.source(set)? })
            }
            ("match", ["all", "sync", kind], [to, from, set]) => {
                let (to, equal) = match to {
                    Operand::Pair(to, equal) => (to, self.results(std::slice::from_ref(equal))?[0]),
                    to => (&Box::new(to.clone()), None),
                };
                let to = self.results(std::slice::from_ref(to))?[0];
                let bits = Type::parse(kind)?.bits;
                let (from, set) = (self.source(from)?, self.source(set)?);
                Some(Op::MatchAll { to, equal, from, set, bits })
            }
            ("add" | "addc" | "sub" | "subc" | "mad" | "madc", names, [to, from @ ..])
                if names.contains(&"cc") || read.opcode.ends_with('c') =>
            {
                let writes = names.contains(&"cc");
                let names: Vec<&str> = names.iter().copied().filter(|n| *n != "cc").collect();
                let (function, bits) = with_carry(read.opcode, &names)?;
                (from.len() == if read.opcode.starts_with("mad") { 3 } else { 2 }).then_some(())?;
                let carry = self.first + self.function.registers.len();
                let mut sources = [Source::Constant(0); 4];
                for (source, operand) in sources.iter_mut().zip(from) {
                    *source = self.source(operand)?;
                }
                if read.opcode.ends_with('c') {
                    sources[3] = Source::Register(carry);
                }
                let (to, carry) = (self.register(to)?, writes.then_some(carry));
                Some(Op::Carry { to, carry, from: sources, function, bits })
            }
            ("membar", [_], []) | ("fence", ["acq_rel" | "sc", _], []) => Some(Op::Nothing),
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
                    from.iter().map(|from| self.typed(from, kind)).collect::<Option<_>>()?;
                let to = self.address(space, to)?;
                (from.len() == count && to.space != Space::Parameter).then_some(())?;
                Some(Op::Store { to, from, kind, is_relaxed })
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
            (_, _, [to, from @ ..]) if operands(read) == Some(from.len()) => {
                let function = compute(read)?;
                // Other types, such as pairs, have no constants with a point.
                let kind = names.last().and_then(|name| Type::parse(name)).unwrap_or_default();
                let mut sources = [Source::Constant(0); 4];
                for (source, operand) in sources.iter_mut().zip(from) {
                    *source = self.typed(operand, kind)?;
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
        let orders = ["relaxed", "acquire", "release", "acq_rel", "gpu", "cta", "sys", "noftz"];
        let names: Vec<&str> = names.iter().copied().filter(|n| !orders.contains(n)).collect();
        let (space, operation, kind) = match names[..] {
            [operation, kind] => (Space::Generic, operation, kind),
            ["global", operation, kind] => (Space::Global, operation, kind),
            ["shared" | "shared::cta", operation, kind] => (Space::Shared, operation, kind),
            _ => return None,
        };
        let count = if operation == "cas" { 2 } else { 1 };
        (from.len() == count).then_some(())?;
        let number = Type::parse(kind).unwrap_or_default();
        let mut sources = [Source::Constant(0); 2];
        for (source, operand) in sources.iter_mut().zip(from) {
            *source = self.typed(operand, number)?;
        }
        let (function, bits) = update(operation, kind)?;
        let at = self.address(space, at)?;
        Some(Op::Atomic { result, at, from: sources, bits, function })
    }

    fn barrier(&self, opcode: &str, names: &[&str], operands: &[Operand<'_>]) -> Option<Barrier> {
        let names: Vec<&str> = names.iter().copied().filter(|name| *name != "cta").collect();
        let (action, names) = names.split_first()?;
        let (is_aligned, names) = match names {
            ["aligned", names @ ..] => (true, names),
            names => (opcode == "bar", names),
        };
        let (vote, operands) = match (*action, names, operands) {
            ("sync" | "arrive", [], operands) => (None, operands),
            ("red", [mode, _], [to, operands @ .., from]) => {
                let mode = one_of(mode, &["popc", "and", "or"])?;
                let (to, from) = (self.register(to)?, self.source(from)?);
                (Some(Vote { mode, to, from }), operands)
            }
            _ => return None,
        };
        let waits = *action != "arrive";
        let (id, count) = match operands {
            [id] if waits => (self.source(id)?, None),
            [id, count] => (self.source(id)?, Some(self.source(count)?)),
            _ => return None,
        };
        let is_known = !matches!(id, Source::Constant(id) if id >= BARRIERS);
        is_known.then_some(Barrier { id, count, waits, is_aligned, vote })
    }

    fn register(&self, operand: &Operand<'_>) -> Option<usize> {
        match operand {
            Operand::Register(index) => Some(self.first + index),
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

    /// Reads an operand of an instruction without a type, whose constants have 32 bits.
    fn source(&self, operand: &Operand<'_>) -> Option<Source> {
        self.typed(operand, Type { kind: Kind::Bits, bits: 32 })
    }

    /// Reads an operand of an instruction of this type.
    fn typed(&self, operand: &Operand<'_>, kind: Type) -> Option<Source> {
        Some(match operand {
            Operand::Register(index) => Source::Register(self.first + index),
            Operand::Not(predicate) => {
                let Operand::Register(index) = **predicate else { return None };
                let is_predicate = self.function.registers[index].kind.kind == Kind::Predicate;
                is_predicate.then_some(Source::Not(self.first + index))?
            }
            Operand::Integer(_) | Operand::Single(_) | Operand::Double(_) => {
                Source::Constant(constant(operand, kind)?)
            }
            Operand::Name(name) => Source::Constant(self.names.get(name)?.at),
            Operand::Special(name) => Source::Special(special(name)?),
            _ => return None,
        })
    }

    fn address(&self, space: Space, operand: &Operand<'_>) -> Option<Address> {
        let Operand::Address(base, offset) = operand else { return None };
        let space = match &**base {
            // What one function passes to another is in local memory.
            Operand::Name(name) => match (space, self.names.get(name)?.space) {
                (Space::Parameter, Space::Local) => Space::Local,
                (Space::Generic, Space::Global) => Space::Global,
                (asked, known) if asked == known => asked,
                _ => return None,
            },
            _ if space == Space::Parameter && !self.is_kernel => Space::Local,
            _ => space,
        };
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
        ("WARP_SZ", None) => Special::WarpSize,
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

/// Returns the value that a load writes to a register of this many bits.
pub(super) fn extended(value: u64, kind: Type, register: u32) -> u64 {
    let unused = 64 - kind.bits;
    match kind.kind {
        Kind::Signed => low((((value << unused) as i64) >> unused) as u64, register),
        _ => low(value, register),
    }
}
