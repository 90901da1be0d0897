//! Decodes instructions of machine code into the form that the analysis uses.

use std::collections::HashMap;

use super::listing::{Function, Line};
use super::opcodes::{self, Kind, SPECIAL, kind};
use super::operand::{File, Name, Operand, Sign, Text};
use super::{Constants, bits, predicates};
use crate::flow::program::{
    Access, Class, Effect, Instruction, Literal, Objects, Program, Register, Space, Spread,
};

/// The decoder of one kernel.
pub(super) struct Decoder<'a> {
    pub(super) function: &'a Function<'a>,
    pub(super) constants: Constants<'a>,
    pub(super) program: Program,
    known: HashMap<Name, Register>,
}

/// The registers that an instruction's text names.
pub(super) struct Named {
    pub(super) results: Vec<Name>,
    /// The registers that each operand reads. For results, the list is empty.
    pub(super) sources: Vec<Vec<Name>>,
    /// The registers that the live ranges may leave out: the predicates that `P2R` copies.
    untold: Vec<Name>,
}

impl Named {
    pub(super) fn new(text: &Text<'_>, kind: Kind) -> Result<Self, String> {
        let count = opcodes::results(kind, &text.operands);
        if count > text.operands.len() {
            return Err("too few operands".into());
        }
        let mut named = Self { results: Vec::new(), sources: Vec::new(), untold: Vec::new() };
        for (index, operand) in text.operands.iter().enumerate() {
            let width = opcodes::width(text, kind, index);
            let registers: Vec<Name> = match operand {
                Operand::Register(name, _) => {
                    name.iter().flat_map(|name| name.vector(width)).collect()
                }
                Operand::Predicate(name, _) => name.iter().copied().collect(),
                Operand::Constant { index, .. } => index.clone(),
                Operand::Memory(registers) => registers.clone(),
                Operand::Predicates => chosen(&text.operands)?,
                _ => Vec::new(),
            };
            if index >= count {
                if *operand == Operand::Predicates {
                    named.untold.clone_from(&registers);
                }
                named.sources.push(registers);
            } else if let Operand::Register(_, Sign::Plain)
            | Operand::Predicate(_, true)
            | Operand::Predicates = operand
            {
                named.results.extend(registers);
                named.sources.push(Vec::new());
            } else {
                return Err("a result is no register".into());
            }
        }
        Ok(named)
    }

    /// Checks that the live ranges name the same registers as the text. Returns the registers that
    /// only the live ranges name: the descriptor of a global access, where the disassembler does
    /// not print it.
    fn check(&self, text: &Text<'_>, kind: Kind, line: &Line<'_>) -> Result<Vec<Name>, String> {
        let sorted = |mut names: Vec<Name>| {
            names.sort_unstable();
            names.dedup();
            names
        };
        if kind == Kind::Call {
            // For a call, the live ranges name the registers that the called function may write.
            // But the calls that `opcodes` allows are only jumps, see `Kind::Call`.
            return Ok(Vec::new());
        }
        let compare = |what: &str, text: &[Name], table: &[Name]| {
            let fault = || format!("{what} {text:?} by the text, but {table:?} by the live ranges");
            if text == table { Ok(()) } else { Err(fault()) }
        };
        compare("writes", &sorted(self.results.clone()), &line.written)?;
        let mut read = self.sources.concat();
        read.extend(text.guard.0);
        let is_told = |name: &Name| line.read.contains(name) || !self.untold.contains(name);
        read.retain(is_told);
        let read = sorted(read);
        let is_global = matches!(kind, Kind::Load(Space::Global) | Kind::Store(Space::Global));
        let hidden: Vec<Name> =
            line.read.iter().filter(|name| is_global && !read.contains(name)).copied().collect();
        match hidden[..] {
            [] => {}
            [first, second]
                if first.file == File::Uniform && first.vector(2).eq([first, second]) => {}
            _ => return Err(format!("reads {hidden:?}, which the text does not name")),
        }
        compare("reads", &sorted([&read[..], &hidden].concat()), &line.read)?;
        Ok(hidden)
    }
}

/// Returns the predicates that `P2R` or `R2P` copies. Its last operand has one bit for each
/// predicate.
fn chosen(operands: &[Operand<'_>]) -> Result<Vec<Name>, String> {
    let Some(Operand::Integer(mask @ 0..=0x7f)) = operands.last() else {
        return Err("no mask selects the predicates".into());
    };
    (0..7).filter(|bit| mask >> bit & 1 == 1).map(|bit| Name::new(File::Predicate, bit)).collect()
}

/// Returns whether an operand is a value, and not a place in memory or code.
const fn is_value(operand: &Operand<'_>) -> bool {
    !matches!(
        operand,
        Operand::Memory(_) | Operand::Label(_) | Operand::Barrier(_) | Operand::Special(_)
    )
}

impl<'a> Decoder<'a> {
    pub(super) fn new(function: &'a Function<'a>, constants: Constants<'a>) -> Self {
        let program = Program::new(function.name);
        Self { function, constants, program, known: HashMap::new() }
    }

    fn register(&mut self, name: Name) -> Register {
        let registers = &mut self.program.registers;
        *self.known.entry(name).or_insert_with(|| {
            registers.push(name.to_string());
            Register(registers.len() as u32 - 1)
        })
    }

    fn registers<'n>(&mut self, names: impl IntoIterator<Item = &'n Name>) -> Vec<Register> {
        names.into_iter().map(|&name| self.register(name)).collect()
    }

    fn label(&self, operand: &Operand<'_>) -> Result<usize, String> {
        let Operand::Label(label) = operand else {
            return Err("the branch has no label".into());
        };
        let target = self.function.labels.get(label).copied();
        target.ok_or_else(|| format!("label {label}, which is not in this kernel"))
    }

    /// Decodes an instruction from its text. The live ranges must agree with the text.
    pub(super) fn decode(&mut self, line: &Line<'_>) -> Result<Instruction, String> {
        let text = Text::parse(line.text)?;
        let mut instruction = Instruction {
            text: line.text.to_owned(),
            place: line.address,
            ..Instruction::default()
        };
        if text.is_never_executed() {
            return Ok(instruction);
        }
        let kind = kind(&text)?;
        let named = Named::new(&text, kind)?;
        let hidden = named.check(&text, kind, line)?;
        let guard = text.guard.0.map(|name| self.register(name));
        instruction.guard = guard.map(|predicate| Literal { predicate, holds: text.guard.1 });
        instruction.results = self.registers(&named.results);
        let sources: Vec<Vec<Register>> =
            named.sources.iter().map(|names| self.registers(names)).collect();
        instruction.operands = sources.concat();
        for (index, operand) in text.operands.iter().enumerate() {
            let Operand::Constant { bank, offset, index: registers, .. } = operand else {
                continue;
            };
            let bytes = 4 * usize::from(opcodes::width(&text, kind, index));
            instruction.names = instruction.names
                | self.constants.objects(*bank, *offset, bytes, !registers.is_empty())?;
            instruction.demand(Class::ConstantAddress, sources[index].clone());
        }
        let access = |space, address: &[Register], hidden: Vec<Register>| Access {
            space,
            address: [address, &hidden].concat(),
            names: Objects::NONE,
        };
        match (kind, &text.operands[..]) {
            (Kind::Compute(_), operands) if operands.iter().all(is_value) => {
                instruction.spread = self.spread(&text, &named);
                instruction.implies = self.implications(&text);
            }
            (Kind::Collective(_), operands) if operands.iter().all(is_value) => {
                instruction.is_collective = true;
            }
            (Kind::Matrix, [_, _, _, _]) => {
                instruction.is_collective = true;
                instruction.demand_all(Class::MatrixGuard, &[]);
            }
            (Kind::Reciprocal, [_, _]) => instruction.demand_all(Class::Division, &sources[1]),
            (Kind::Special, [_, Operand::Special(name)]) => {
                if !SPECIAL.contains(name) {
                    return Err(format!("unknown special register {name}"));
                }
            }
            (Kind::LoadConstant, [_, Operand::Constant { .. }]) => {
                instruction.demand_all(Class::AccessGuard, &[]);
            }
            (Kind::Load(space), [_, Operand::Memory(_)]) => {
                instruction.operands = Vec::new();
                let hidden = self.registers(&hidden);
                instruction.accesses(access(space, &sources[1], hidden), false);
            }
            (Kind::LoadMatrices, [_, Operand::Memory(_)]) => {
                instruction.is_collective = true;
                instruction.operands = Vec::new();
                instruction.accesses(access(Space::Shared, &sources[1], Vec::new()), false);
            }
            (Kind::Store(space), [Operand::Memory(_), Operand::Register(..)]) => {
                instruction.operands.clone_from(&sources[1]);
                let hidden = self.registers(&hidden);
                instruction.accesses(access(space, &sources[0], hidden), true);
            }
            (Kind::Shuffle, [_, _, _, _, _]) => {
                instruction.is_collective = true;
                instruction.demand(Class::ShuffleLane, sources[3..].concat());
                instruction.demand_all(Class::ShuffleGuard, &[]);
            }
            (Kind::Branch, [.., label]) | (Kind::Call, [label]) => {
                instruction.demand_all(Class::Branch, &sources.concat());
                // A branch with modifiers or further conditions may continue at the next
                // instruction although its guard holds.
                let is_plain = text.operands.len() == 1 && text.modifiers.is_empty();
                let guard_decides = kind == Kind::Call || is_plain;
                instruction.effect = Effect::Jump {
                    targets: vec![self.label(label)?],
                    falls_through: guard.is_some() || !guard_decides,
                    guard_decides,
                };
            }
            (Kind::Exit, []) => {
                instruction.demand_all(Class::ExitGuard, &[]);
                instruction.effect = Effect::Exit;
            }
            (
                Kind::Barrier | Kind::WarpBarrier,
                [] | [Operand::Integer(_) | Operand::Register(..)],
            )
            | (
                Kind::LeaveConvergence,
                [Operand::Barrier(_)] | [Operand::Predicate(..), Operand::Barrier(_)],
            )
            | (Kind::Nothing, []) => instruction.demand_all(Class::Barrier, &sources.concat()),
            (Kind::Collect, [Operand::Register(..), label]) => {
                instruction.demand_all(Class::Barrier, &sources.concat());
                let target = self.label(label)?;
                let before = target.checked_sub(1).and_then(|index| self.function.lines.get(index));
                if before.is_none_or(|line| line.text != "ENDCOLLECTIVE") {
                    return Err("there is no ENDCOLLECTIVE before its label".into());
                }
                instruction.effect = Effect::Jump {
                    targets: vec![target],
                    falls_through: true,
                    guard_decides: false,
                };
            }
            // `convergence` checks that `BSYNC` continues at the next instruction.
            (Kind::SetConvergence, [Operand::Barrier(_), Operand::Label(_)])
            | (Kind::Converge, [Operand::Barrier(_)])
                if guard.is_none() => {}
            _ => return Err("its operands are of another kind".into()),
        }
        Ok(instruction)
    }

    fn spread(&mut self, text: &Text<'_>, named: &Named) -> Option<Spread> {
        let results = opcodes::results(kind(text).ok()?, &text.operands);
        let [result] = named.results[..] else { return None };
        if result.is_predicate() {
            return None;
        }
        // The operands before `results` are the only result, and `PT` in place of predicates that
        // are not needed.
        bits::spread(text, &text.operands[results..], &mut |operand| match operand {
            Operand::Register(name, _) | Operand::Predicate(name, _) => {
                name.map(|name| self.register(name))
            }
            _ => None,
        })
    }

    fn implications(&mut self, text: &Text<'_>) -> Vec<(Literal, Vec<Literal>)> {
        let mut literal = |(name, holds)| Literal { predicate: self.register(name), holds };
        predicates::implications(text)
            .into_iter()
            .map(|(new, old)| (literal(new), old.into_iter().map(&mut literal).collect()))
            .collect()
    }
}
