//! Computes which registers can hold secrets at each place, and finds the instructions that leak
//! them.
//!
//! The analysis is an abstract interpretation. A [`State`] tells for every register which bits can
//! depend on secrets and which objects it can point into. Memory has one such set of bits for each
//! array and one for the whole of shared memory. States flow along the edges between basic blocks
//! and are joined where edges meet, until nothing changes. Secrets in memory are never removed, so
//! if memory has changed, the flow starts again with the larger memory. States and memory only
//! grow, so the analysis terminates.
//!
//! The analysis is flow-sensitive, because compilers reuse registers. It trusts that accesses stay
//! in bounds, which the emulator checks. It needs no implicit flows: a branch on a secret is a
//! finding, so a kernel without findings takes the same path for all secrets.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use super::program::{
    Access, Class, Effect, Instruction, Literal, Objects, Program, Register, Space,
};
use super::state::{ALL_BITS, State, Value};

/// An instruction that leaks a secret, or for which the analysis cannot exclude a leak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The kernel.
    pub kernel: String,
    /// The part of the instruction that must be public, or another fault.
    pub class: Class,
    /// The place of the instruction: a line of PTX, or an address in machine code.
    pub place: usize,
    /// The text of the instruction.
    pub instruction: String,
    /// The line of Rust that the instruction comes from, if it is known.
    pub source: Option<String>,
    /// The path of the secret to the instruction, the last step first. Only the first 256 findings
    /// of a kernel have one.
    pub chain: Vec<String>,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}: {}: {}", self.kernel, self.class, self.place, self.instruction)?;
        if let Some(source) = &self.source {
            write!(f, " (near {source})")?;
        }
        self.chain.iter().try_for_each(|step| write!(f, "\n      {step}"))
    }
}

/// The result of the analysis of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The instructions that may leak a secret, with the reason.
    pub findings: Vec<Finding>,
    /// The number of instructions that can be executed.
    pub instructions: usize,
    /// The number of stores of secrets to arrays.
    pub secret_stores: usize,
}

/// The register or object that a secret came from.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
enum Cause {
    Register(Register),
    Object(Objects),
}

/// The result of an instruction under a condition.
struct Outcome {
    value: Value,
    /// The objects that the instruction loads from or stores to.
    objects: Objects,
    cause: Option<Cause>,
}

/// What is secret when a kernel begins.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Secrets {
    /// The content of every array but these, and what earlier kernels left in shared memory and in
    /// registers. Then every store to an array must store a secret, or the analysis has lost one.
    /// What a kernel stores to these arrays is public from then on.
    AllBut(Objects),
    /// The content of these arrays and the values of these other parameters, and nothing else.
    Only(Objects),
}

/// Analyses a kernel.
#[must_use]
pub fn analyse(program: &Program, secrets: Secrets) -> Report {
    let mut analysis = Analysis::new(program, secrets);
    let states = analysis.solve();
    analysis.report(&states)
}

/// The largest sum of the sizes of states and of instructions, each time that they are visited. The
/// largest kernels of this project take a tenth.
const MOST_WORK: usize = 1 << 26;

/// The largest number of findings with a chain. A chain may lead through the whole kernel.
const MOST_CHAINS: usize = 256;

struct Analysis<'a> {
    program: &'a Program,
    /// For the index of each basic block's first instruction, the index after its last one.
    blocks: BTreeMap<usize, usize>,
    /// For each basic block, those that can continue at it.
    before: BTreeMap<usize, Vec<usize>>,
    /// The predicates whose truth values the analysis remembers, from [`guards`].
    guards: HashSet<Register>,
    /// Whether everything that is not known to be public is secret.
    is_strict: bool,
    /// The arrays whose content is secret at the start.
    sources: Objects,
    /// The arrays whose content is public, whatever is stored to them.
    published: Objects,
    /// The parameters whose values are secret.
    values: Objects,
    /// The secret bits of each object, by the number of the object.
    memory: [u32; 64],
    /// The cause of the secret result of each instruction, by the index of the instruction.
    causes: BTreeMap<usize, Cause>,
    /// For each object, the index of the instruction that first stored a secret to it.
    stores: BTreeMap<Objects, usize>,
}

impl<'a> Analysis<'a> {
    fn new(program: &'a Program, secrets: Secrets) -> Self {
        let (is_strict, sources, published, values) = match secrets {
            Secrets::AllBut(public) => {
                (true, program.arrays.without(public), public, Objects::NONE)
            }
            Secrets::Only(secret) => {
                let values = secret.without(program.arrays);
                (false, program.arrays.and(secret), Objects::NONE, values)
            }
        };
        let mut memory = [0; 64];
        if is_strict {
            // Until it is written, shared memory holds data of an earlier block, which may be
            // secret.
            memory[Objects::SHARED.bit()] = ALL_BITS;
        }
        for array in sources.each() {
            memory[array.bit()] = ALL_BITS;
        }
        let blocks = blocks(&program.code);
        let mut before = BTreeMap::<usize, Vec<usize>>::new();
        for (&start, &end) in &blocks {
            let (targets, goes_on) = program.code[end - 1].next();
            for &next in targets.iter().chain(goes_on.then_some(&end)) {
                before.entry(next).or_default().push(start);
            }
        }
        Self {
            program,
            blocks,
            before,
            guards: guards(&program.code),
            is_strict,
            sources,
            published,
            values,
            memory,
            causes: BTreeMap::new(),
            stores: BTreeMap::new(),
        }
    }

    /// Returns the states at the start of all basic blocks that can be reached, or of none if this
    /// takes too long.
    fn solve(&mut self) -> BTreeMap<usize, State> {
        let mut left = MOST_WORK;
        loop {
            let before = self.memory;
            let are_secret = self.is_strict && self.program.leftovers_are_secret;
            let secret = if are_secret { ALL_BITS } else { 0 };
            let first = Value { secret, objects: Objects::NONE };
            let first = State::start(self.program.registers.len(), first);
            let mut states = BTreeMap::from([(0, first)]);
            let mut work = BTreeSet::from([0]);
            while let Some(start) = work.pop_first() {
                let Some(&end) = self.blocks.get(&start) else { continue };
                let mut state = states[&start].clone();
                for index in start..end {
                    left = left.saturating_sub(1 + state.conditions().len());
                    if let Some(outcome) = self.step(index, &mut state) {
                        self.note(index, &outcome);
                    }
                }
                left = left.saturating_sub(state.size());
                if left == 0 {
                    return BTreeMap::new();
                }
                for (next, state) in self.edges(end, state) {
                    let changed = match states.get_mut(&next) {
                        Some(known) => known.join(&state),
                        None => states.insert(next, state).is_none(),
                    };
                    if changed {
                        work.insert(next);
                    }
                }
            }
            if self.memory == before {
                return states;
            }
        }
    }

    /// Returns the successors of the basic block that ends before `end`, each with its state.
    fn edges(&self, end: usize, state: State) -> Vec<(usize, State)> {
        let instruction = &self.program.code[end - 1];
        let guard = instruction.guard.filter(|guard| self.guards.contains(&guard.predicate));
        let (targets, goes_on) = instruction.next();
        let mut edges = Vec::new();
        if !targets.is_empty()
            && let Some(taken) = state.refined(guard)
        {
            edges.extend(targets.iter().map(|&target| (target, taken.clone())));
        }
        if goes_on {
            // Where the guard alone decides, it is false at the next instruction.
            let decides = match &instruction.effect {
                Effect::Jump { guard_decides, .. } => *guard_decides,
                effect => matches!(effect, Effect::Exit),
            };
            let otherwise = state.refined(guard.filter(|_| decides).map(Literal::negated));
            edges.extend(otherwise.map(|state| (end, state)));
        }
        edges.retain(|(next, _)| *next < self.program.code.len());
        edges
    }

    /// Returns the objects into which the address of an access points.
    fn pointed(access: &Access, state: &State, condition: Option<Literal>) -> Objects {
        let objects = |&register: &Register| state.value(register, condition).objects;
        access.address.iter().map(objects).fold(access.names, |all, objects| all | objects)
    }

    /// Returns the objects that an access can touch. If the object of its address is unknown,
    /// returns all arrays and shared memory.
    fn objects(&self, access: &Access, state: &State, condition: Option<Literal>) -> Objects {
        if access.space == Space::Shared {
            return Objects::SHARED;
        }
        let objects = Self::pointed(access, state, condition);
        if self.are_known(objects) { objects } else { self.program.arrays | Objects::SHARED }
    }

    /// Returns whether an address that points into these objects points into no others. In machine
    /// code, a register may hold no address where predicates make the access irrelevant.
    fn are_known(&self, objects: Objects) -> bool {
        match self.program.leftovers_are_secret {
            true => objects.are_known(),
            false => !objects.is_empty(),
        }
    }

    /// Returns the result of an instruction in the executions in which `condition` holds.
    fn evaluate(
        &self,
        instruction: &Instruction,
        state: &State,
        condition: Option<Literal>,
    ) -> Outcome {
        let condition = condition.filter(|_| !instruction.is_collective);
        let value = |register: Register| state.value(register, condition);
        let mut cause = None;
        let mut secret = 0;
        let mut add = |bits: u32, from: Cause| {
            if bits != 0 && secret == 0 {
                cause = Some(from);
            }
            secret |= bits;
        };
        for &register in &instruction.operands {
            add(value(register).secret, Cause::Register(register));
        }
        if instruction.values.meets(self.values) {
            add(ALL_BITS, Cause::Object(instruction.values.and(self.values)));
        }
        let mut objects = Objects::NONE;
        let mut points_into = instruction.names;
        if let Some(access) = instruction.effect.access() {
            objects = self.objects(access, state, condition);
            for &register in &access.address {
                add(value(register).secret, Cause::Register(register));
            }
        }
        if let Effect::Load(_) = instruction.effect {
            for object in objects.each() {
                add(self.memory[object.bit()], Cause::Object(object));
            }
        } else {
            for &register in &instruction.operands {
                points_into = points_into | value(register).objects;
            }
            if let (true, [a, b, ..]) = (instruction.chooses, &instruction.operands[..]) {
                points_into = points_into | value(*a).objects.or(value(*b).objects);
            }
        }
        let mut secret = match &instruction.spread {
            Some(spread) => spread(&|register| value(register).secret),
            None if secret != 0 => ALL_BITS,
            None => 0,
        };
        if instruction.is_constant {
            (secret, points_into) = (0, Objects::NONE);
        }
        if let Some(guard) = instruction.guard
            && state.value(guard.predicate, None).secret != 0
        {
            // The result tells whether the instruction was executed, and so tells the guard.
            if secret == 0 {
                cause = Some(Cause::Register(guard.predicate));
            }
            secret = ALL_BITS;
        }
        Outcome { value: Value { secret, objects: points_into }, objects, cause }
    }

    /// Records the outcome of the instruction at `index`: its cause, and its effect on memory.
    fn note(&mut self, index: usize, outcome: &Outcome) {
        if outcome.value.secret == 0 {
            return;
        }
        if let Some(cause) = outcome.cause {
            self.causes.entry(index).or_insert(cause);
        }
        if let Effect::Store(_) = self.program.code[index].effect {
            for object in outcome.objects.without(self.published).each() {
                self.memory[object.bit()] |= outcome.value.secret;
                self.stores.entry(object).or_insert(index);
            }
        }
    }

    /// Applies the instruction at `index` to `state`. Returns its outcome, or `None` if it cannot
    /// be executed.
    fn step(&self, index: usize, state: &mut State) -> Option<Outcome> {
        let instruction = &self.program.code[index];
        if instruction.guard.is_some_and(|guard| state.excludes(guard)) {
            return None;
        }
        let guard = instruction.guard.filter(|&guard| !state.knows(guard));
        let outcome = self.evaluate(instruction, state, guard);
        if instruction.results.is_empty() {
            return Some(outcome);
        }
        let conditions = state.conditions();
        // The results under each condition. Only instructions without a guard need them.
        let under: Vec<(Literal, Value)> = match guard {
            None => {
                // If no input has a separate value under a condition, the result has none either.
                let differs = |&&literal: &&Literal| {
                    let known = |&register: &Register| state.is_better_known(register, literal);
                    let address = instruction.effect.access().map(|access| &access.address);
                    instruction.operands.iter().chain(address.into_iter().flatten()).any(known)
                };
                let value = |&literal: &Literal| {
                    (literal, self.evaluate(instruction, state, Some(literal)).value)
                };
                conditions.iter().filter(differs).map(value).collect()
            }
            Some(_) => Vec::new(),
        };
        let implied = if guard.is_none() { implications(instruction, state) } else { Vec::new() };
        for &result in &instruction.results {
            let made = outcome.value;
            match guard {
                None => {
                    state.set(result, made);
                    for &(literal, value) in &under {
                        state.set_under(literal, result, value);
                    }
                }
                Some(guard) => {
                    let kept = state.value(result, Some(guard.negated()));
                    let others: Vec<(Literal, Value)> = conditions
                        .iter()
                        .filter(|literal| literal.predicate != guard.predicate)
                        .map(|&literal| (literal, state.value(result, Some(literal)).or(made)))
                        .collect();
                    state.set(result, made.or(kept));
                    for (literal, value) in others {
                        // A separate value is useful only if the value in all executions includes
                        // its bits and objects.
                        if value.or(made.or(kept)) == made.or(kept) {
                            state.set_under(literal, result, value);
                        }
                    }
                    state.set_under(guard, result, made);
                    state.set_under(guard.negated(), result, kept);
                }
            }
        }
        for &result in &instruction.results {
            state.forget(result);
        }
        for (literal, better) in implied {
            for (register, value) in better {
                if !instruction.results.contains(&register) {
                    state.set_under(literal, register, value);
                }
            }
        }
        Some(outcome)
    }

    fn report(&self, states: &BTreeMap<usize, State>) -> Report {
        let mut report = Report::default();
        for (&start, &end) in &self.blocks {
            let Some(state) = states.get(&start) else {
                report.findings.push(self.finding(Class::Unreached, start, None));
                continue;
            };
            let mut state = state.clone();
            for index in start..end {
                self.inspect(index, &state, &mut report);
                self.step(index, &mut state);
            }
        }
        if self.is_strict && report.secret_stores == 0 {
            report.findings.push(self.finding(Class::NoSecretStore, 0, None));
        }
        report
    }

    /// Adds the findings of the instruction at `index` to `report`. `state` is the state before it.
    fn inspect(&self, index: usize, state: &State, report: &mut Report) {
        let instruction = &self.program.code[index];
        report.instructions += 1;
        let guard = instruction.guard;
        if guard.is_some_and(|guard| state.excludes(guard)) {
            return;
        }
        let mut seen = HashSet::new();
        for demand in &instruction.demands {
            for &register in &demand.registers {
                // The guard must be public in all executions. Other registers must be public only
                // in the executions in which the guard holds.
                let condition = guard.filter(|guard| guard.predicate != register);
                if state.value(register, condition).secret != 0 && seen.insert(demand.class) {
                    let told = Some(register).filter(|_| report.findings.len() < MOST_CHAINS);
                    report.findings.push(self.finding(demand.class, index, told));
                }
            }
        }
        let outcome = self.evaluate(instruction, state, guard);
        let is_secret = outcome.value.secret != 0;
        let access = instruction.effect.access();
        let Some(access) = access.filter(|access| access.space == Space::Global) else { return };
        if !self.are_known(Self::pointed(access, state, guard)) {
            report.findings.push(self.finding(Class::NoObject, index, None));
        }
        if let Effect::Store(_) = instruction.effect {
            if outcome.objects.meets(Objects::TABLES) {
                report.findings.push(self.finding(Class::TableStore, index, None));
            }
            report.secret_stores += usize::from(is_secret);
            if self.is_strict && !is_secret {
                report.findings.push(self.finding(Class::PublicStore, index, None));
            }
        }
    }

    fn finding(&self, class: Class, index: usize, register: Option<Register>) -> Finding {
        // A kernel without instructions stores no secret, which is a finding.
        let instruction = self.program.code.get(index);
        Finding {
            kernel: self.program.name.clone(),
            class,
            place: instruction.map_or(0, |known| known.place),
            instruction: instruction.map_or_else(String::new, |known| known.text.clone()),
            source: instruction.and_then(|known| known.source.clone()),
            chain: register.map(|register| self.chain(register, index)).unwrap_or_default(),
        }
    }

    /// Returns the path of the secret that a register holds before `index`, back to its array.
    fn chain(&self, register: Register, mut index: usize) -> Vec<String> {
        const LONGEST: usize = 40;
        let (mut steps, mut seen) = (Vec::new(), HashSet::new());
        let mut cause = Cause::Register(register);
        while steps.len() < LONGEST {
            let (name, made_at) = match cause {
                Cause::Register(register) => {
                    let name = self.program.registers[register.0 as usize].clone();
                    (name, self.definition(register, index))
                }
                Cause::Object(object) => (object.to_string(), self.stores.get(&object).copied()),
            };
            let is_source = matches!(
                cause, Cause::Object(object) if object.meets(self.sources | self.values)
            );
            let (Some(at), false) = (made_at, is_source) else {
                steps.push(format!("{name}: its content is secret"));
                break;
            };
            let Instruction { place, text, source, .. } = &self.program.code[at];
            let source = source.as_ref().map(|line| format!(" (near {line})")).unwrap_or_default();
            steps.push(format!("{name} <- {place}: {text}{source}"));
            match self.causes.get(&at) {
                Some(&next) if seen.insert(at) => (cause, index) = (next, at),
                _ => break,
            }
        }
        steps
    }

    /// Returns the nearest instruction before `index` that can have written the secret to
    /// `register`.
    fn definition(&self, register: Register, index: usize) -> Option<usize> {
        let block_of =
            |index: usize| self.blocks.range(..=index).next_back().map(|(&start, _)| start);
        let makes = |at: &usize| {
            self.program.code[*at].results.contains(&register) && self.causes.contains_key(at)
        };
        let start = block_of(index)?;
        if let Some(found) = (start..index).rev().find(makes) {
            return Some(found);
        }
        let mut work = VecDeque::from([start]);
        let mut seen = HashSet::new();
        while let Some(block) = work.pop_front() {
            for &before in self.before.get(&block).into_iter().flatten() {
                if seen.insert(before) {
                    if let Some(found) = (before..self.blocks[&before]).rev().find(makes) {
                        return Some(found);
                    }
                    work.push_back(before);
                }
            }
        }
        None
    }
}

/// Returns findings as paragraphs. Findings of one class at one line of the source share a
/// paragraph, which describes the first of them.
pub fn paragraphs(findings: Vec<Finding>) -> impl Iterator<Item = String> {
    let mut groups: Vec<(Finding, usize)> = Vec::new();
    for finding in findings {
        let alike = |(known, _): &&mut (Finding, usize)| {
            (known.class, &known.source) == (finding.class, &finding.source)
        };
        match groups.iter_mut().find(alike) {
            Some((_, more)) => *more += 1,
            None => groups.push((finding, 0)),
        }
    }
    groups.into_iter().map(|(finding, more)| match more {
        0 => finding.to_string(),
        more => {
            format!("{finding}\n      and {more} more of this class at this line of the kernel")
        }
    })
}

/// Returns the separate values of registers under conditions on the predicates that an instruction
/// defines. They follow from [`Instruction::implies`].
fn implications(
    instruction: &Instruction,
    state: &State,
) -> Vec<(Literal, BTreeMap<Register, Value>)> {
    let implied = |(new, old): &(Literal, Vec<Literal>)| {
        let mut better = BTreeMap::<Register, Value>::new();
        for &literal in old {
            for (register, value) in state.better_under(literal) {
                let known = better.entry(register).or_insert(value);
                // All the conditions hold, so each value is an upper bound. The one with the fewest
                // secret bits is the best.
                if value.secret.count_ones() < known.secret.count_ones() {
                    *known = value;
                }
            }
        }
        (*new, better)
    };
    instruction.implies.iter().map(implied).collect()
}

/// Returns the predicates that guard several instructions, or one that is not a jump.
///
/// A predicate that guards only one branch is of no use after the branch.
fn guards(code: &[Instruction]) -> HashSet<Register> {
    let (mut once, mut guards) = (HashSet::new(), HashSet::new());
    for instruction in code {
        let Some(Literal { predicate, .. }) = instruction.guard else { continue };
        let is_jump = matches!(instruction.effect, Effect::Jump { .. } | Effect::Exit);
        if !is_jump || !once.insert(predicate) {
            guards.insert(predicate);
        }
    }
    guards
}

/// Cuts code into basic blocks. Maps the index of each block's first instruction to the index after
/// its last one.
fn blocks(code: &[Instruction]) -> BTreeMap<usize, usize> {
    let mut starts = BTreeSet::from([0]);
    for (index, instruction) in code.iter().enumerate() {
        match &instruction.effect {
            Effect::Jump { targets, .. } => {
                starts.extend(targets);
                starts.insert(index + 1);
            }
            Effect::Exit => {
                starts.insert(index + 1);
            }
            _ => {}
        }
    }
    starts.retain(|&start| start < code.len());
    let ends = starts.iter().copied().skip(1).chain([code.len()]);
    starts.iter().copied().zip(ends).collect()
}
