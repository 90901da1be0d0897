//! The decoder of PTX. It reads kernels as LLVM writes them, before or after
//! `cargo xtask build-ptx`.
//!
//! `Decoder::instruction` knows the meaning of each instruction and refuses all others. The decoder
//! assumes that the time of these instructions does not depend on their operands: moves,
//! conversions, integer and floating-point sums and products, comparisons, selections, logic,
//! shifts, and permutations of bytes. It does not assume this of divisions.

use std::collections::{HashMap, HashSet};

use super::program::{
    Access, Class, Demand, Effect, Instruction, Literal, NotUnderstood, Objects, Program, Register,
    Space,
};
use crate::places::Places;

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
const PUBLIC_REGISTERS: &[&str] = &["%tid", "%ntid", "%ctaid", "%nctaid", "%laneid"];
/// The name of the block's shared memory in `kernels-rs`.
const SHARED_MEMORY: &str = "shared_memory";

/// Decodes all kernels of a text.
///
/// # Errors
/// [`NotUnderstood`] for the first line that is not understood.
pub fn decode(text: &str) -> Result<Vec<Program>, NotUnderstood> {
    let mut reader = Reader::new(text);
    let mut programs = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let code = line.split_once("//").map_or(line, |(code, _)| code).trim();
        reader.places.read(code);
        let first = code.split_whitespace().next().unwrap_or_default();
        if code.is_empty() || matches!(first, ".loc" | ".file") {
            continue;
        }
        programs.extend(reader.line(number + 1, code)?);
    }
    match reader.part {
        Part::Outside => Ok(programs),
        _ => Err(reader.refuse(text.lines().count(), "the text ends inside a kernel")),
    }
}

/// The part of the text that the reader is in.
enum Part {
    Outside,
    /// In a section of debugging information.
    Section,
    Parameters(Decoder),
    Body(Decoder),
}

struct Reader<'a> {
    places: Places<'a>,
    part: Part,
    tables: HashSet<String>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Self { places: Places::new(text), part: Part::Outside, tables: HashSet::new() }
    }

    fn refuse(&self, line: usize, text: &str) -> NotUnderstood {
        let kernel = match &self.part {
            Part::Parameters(decoder) | Part::Body(decoder) => decoder.program.name.clone(),
            _ => String::new(),
        };
        NotUnderstood { kernel, place: line.to_string(), text: text.to_owned() }
    }

    /// Reads a line. Returns the kernel if this line ends one.
    fn line(&mut self, number: usize, code: &str) -> Result<Option<Program>, NotUnderstood> {
        let refused = self.refuse(number, code);
        match &mut self.part {
            Part::Outside => self.outside(code).ok_or(refused)?,
            Part::Section => {
                if code.ends_with('}') {
                    self.part = Part::Outside;
                }
            }
            Part::Parameters(decoder) => match code {
                ")" => {}
                "{" => {
                    if let Part::Parameters(decoder) =
                        std::mem::replace(&mut self.part, Part::Outside)
                    {
                        self.part = Part::Body(decoder);
                    }
                }
                _ => decoder.parameter(code).ok_or(refused)?,
            },
            Part::Body(decoder) => {
                if decoder.line(number, code, self.places.source(), &self.tables)?
                    && let Part::Body(decoder) = std::mem::replace(&mut self.part, Part::Outside)
                {
                    return decoder.finish().map(Some);
                }
            }
        }
        Ok(None)
    }

    /// Reads a line outside of kernels.
    fn outside(&mut self, code: &str) -> Option<()> {
        if let Some(rest) = code.strip_prefix(".visible .entry ") {
            let name = rest.strip_suffix('(').or_else(|| rest.strip_suffix("()"))?;
            self.part = Part::Parameters(Decoder::new(name));
        } else if code.starts_with(".section") {
            self.part = if code.ends_with('}') { Part::Outside } else { Part::Section };
        } else if code.starts_with(".global ") || code.starts_with(".const ") {
            let (declaration, _) = code.split_once('[')?;
            self.tables.insert(declaration.rsplit(' ').next()?.to_owned());
        } else {
            let shared = code.starts_with(".extern .shared ") && code.contains(SHARED_MEMORY);
            let header =
                [".version", ".target", ".address_size"].iter().any(|name| code.starts_with(name));
            // Labels that mark sections.
            let mark = label(code).is_some_and(|(_, rest)| rest.is_empty());
            (shared || header || mark).then_some(())?;
        }
        Some(())
    }
}

/// The decoder of one kernel.
struct Decoder {
    program: Program,
    /// The arrays that the parameters point to, by the names of the parameters.
    parameters: HashMap<String, Objects>,
    labels: HashMap<String, usize>,
    /// The names of the declared registers, and of the declared families of registers. The name of
    /// a register of a family ends with its number.
    declared: HashSet<String>,
    /// For each jump, the index of its instruction and its label. A label may come after its jump.
    jumps: Vec<(usize, String)>,
    /// The text of the present statement so far.
    statement: String,
    /// The line in which the present statement begins.
    begins: usize,
    /// For each open scope, the registers that it has declared.
    scopes: Vec<Vec<String>>,
}

impl Decoder {
    fn new(name: &str) -> Self {
        let mut program = Program::new(name);
        program.leftovers_are_secret = true;
        Self {
            program,
            parameters: HashMap::new(),
            labels: HashMap::new(),
            declared: HashSet::new(),
            jumps: Vec::new(),
            statement: String::new(),
            begins: 0,
            scopes: Vec::new(),
        }
    }

    fn refuse(&self, line: usize, text: &str) -> NotUnderstood {
        NotUnderstood {
            kernel: self.program.name.clone(),
            place: line.to_string(),
            text: text.to_owned(),
        }
    }

    /// Reads the declaration of a parameter. A pointer is an array, and any other parameter is a
    /// public number.
    fn parameter(&mut self, code: &str) -> Option<()> {
        let rest = code.strip_prefix(".param ")?.trim_end_matches(',');
        let mut words = rest.split_whitespace();
        let kind = words.next()?;
        if !matches!(kind, ".u8" | ".u16" | ".u32" | ".u64" | ".b8" | ".b16" | ".b32" | ".b64") {
            return None;
        }
        let index = self.parameters.len();
        let object = match words.clone().next()? {
            ".ptr" if index < Objects::MOST_ARRAYS => Objects::array(index),
            ".ptr" => return None,
            _ => Objects::NONE,
        };
        self.program.arrays = self.program.arrays | object;
        self.parameters.insert(words.next_back()?.to_owned(), object);
        Some(())
    }

    /// Reads a line of the body. Returns whether it ends the kernel.
    fn line(
        &mut self,
        number: usize,
        code: &str,
        source: Option<&str>,
        tables: &HashSet<String>,
    ) -> Result<bool, NotUnderstood> {
        if self.statement.is_empty() {
            self.begins = number;
            if code == "}" && self.scopes.is_empty() {
                return Ok(true);
            }
        }
        self.statement.push(' ');
        self.statement.push_str(code);
        while !self.statement.trim().is_empty() {
            let text = self.statement.trim().to_owned();
            let rest = if let Some((label, rest)) = label(&text) {
                if self.labels.insert(label.to_owned(), self.program.code.len()).is_some() {
                    return Err(self.refuse(number, label));
                }
                rest
            } else if let Some(rest) = text.strip_prefix('{') {
                self.scopes.push(Vec::new());
                rest
            } else if let Some(rest) = text.strip_prefix('}').filter(|_| !self.scopes.is_empty()) {
                for name in self.scopes.pop().into_iter().flatten() {
                    self.declared.remove(&name);
                }
                rest
            } else if let Some((statement, rest)) = text.split_once(';') {
                if statement.starts_with(".pragma ") {
                    // A hint for the assembler, which does not change the meaning of the kernel.
                } else if let Some(names) = statement.strip_prefix(".reg") {
                    self.declare(names).ok_or_else(|| self.refuse(self.begins, statement))?;
                } else {
                    let decoded = self.instruction(statement, tables);
                    let mut instruction =
                        decoded.ok_or_else(|| self.refuse(self.begins, statement))?;
                    instruction.text = statement.replace('\t', " ");
                    (instruction.place, instruction.source) =
                        (self.begins, source.map(str::to_owned));
                    self.program.code.push(instruction);
                }
                rest
            } else {
                return Ok(false);
            };
            self.statement = rest.to_owned();
            self.begins = number;
        }
        self.statement.clear();
        Ok(false)
    }

    /// Sets the targets of the jumps and returns the kernel.
    fn finish(mut self) -> Result<Program, NotUnderstood> {
        for (index, label) in std::mem::take(&mut self.jumps) {
            let place = self.program.code[index].place;
            let target = *self.labels.get(&label).ok_or_else(|| self.refuse(place, &label))?;
            let guard = self.program.code[index].guard;
            self.program.code[index].effect = Effect::Jump {
                targets: vec![target],
                falls_through: guard.is_some(),
                guard_decides: true,
            };
        }
        Ok(self.program)
    }

    /// Decodes a statement.
    fn instruction(&mut self, statement: &str, tables: &HashSet<String>) -> Option<Instruction> {
        let (guard, rest) = match statement.strip_prefix('@') {
            Some(guarded) => {
                let (guard, rest) = guarded.split_once(char::is_whitespace)?;
                (Some(self.literal(guard)?), rest.trim())
            }
            None => (None, statement),
        };
        let (opcode, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let operands = split(rest);
        let (base, modifiers) = opcode.split_once('.').unwrap_or((opcode, ""));
        // The analysis treats a volatile access like any other.
        let modifiers: Vec<&str> =
            modifiers.split('.').filter(|name| *name != "volatile").collect();
        let guards: Vec<Register> = guard.iter().map(|guard| guard.predicate).collect();
        let demand =
            |class, registers: &[Register]| Demand { class, registers: registers.to_vec() };
        let mut made = Instruction { guard, ..Instruction::default() };
        let sources = |decoder: &mut Self, operands: &[&str]| -> Option<(Vec<Register>, Objects)> {
            let (mut registers, mut names) = (Vec::new(), Objects::NONE);
            for operand in operands {
                names = names | decoder.source(operand, tables, &mut registers)?;
            }
            Some((registers, names))
        };
        match (base, modifiers[0], operands.as_slice()) {
            ("ld", "param", [to, from]) => {
                made.results = self.results(to)?;
                let mut index = Vec::new();
                let whole = from.strip_prefix('[')?.strip_suffix(']')?;
                made.names = match self.parameters.get(whole.trim()) {
                    Some(&object) => object,
                    None => {
                        self.source(inside(from)?, tables, &mut index)?;
                        // The index is computed, so this can load any parameter.
                        self.program.arrays
                    }
                };
                made.demands.push(demand(Class::ConstantAddress, &index));
                made.demands.push(demand(Class::AccessGuard, &guards));
                made.operands = index;
            }
            ("ld", "global" | "shared", [to, from]) => {
                let (access, demands) = self.access(modifiers[0], "ld", from, &guards, tables)?;
                (made.effect, made.demands) = (Effect::Load(access), demands);
                made.results = self.results(to)?;
            }
            ("st", "global" | "shared", [to, from]) => {
                let (access, demands) = self.access(modifiers[0], "st", to, &guards, tables)?;
                (made.effect, made.demands) = (Effect::Store(access), demands);
                made.operands = sources(self, &[from])?.0;
            }
            ("bra", "" | "uni", [label]) => {
                self.jumps.push((self.program.code.len(), (*label).to_owned()));
                made.demands.push(demand(Class::Branch, &guards));
            }
            ("ret" | "exit", "", []) => {
                made.effect = Effect::Exit { guard_decides: true };
                made.demands.push(demand(Class::ExitGuard, &guards));
            }
            ("bar", "sync" | "warp", operands) => {
                let (registers, _) = sources(self, operands)?;
                made.demands.push(demand(Class::Barrier, &[guards, registers].concat()));
            }
            ("shfl", "sync", [to, value, which @ ..])
                if modifiers[1] == "idx" && which.len() == 3 =>
            {
                let (lane, _) = sources(self, which)?;
                made.demands.push(demand(Class::ShuffleLane, &lane));
                made.demands.push(demand(Class::ShuffleGuard, &guards));
                made.results = self.results(to)?;
                made.operands = [sources(self, &[value])?.0, lane].concat();
                made.is_collective = true;
            }
            ("ldmatrix", "sync", [to, from]) if opcode.contains(".shared.") => {
                // The words come from the addresses that other threads give, which are public.
                let (access, demands) = self.access("shared", "ld", from, &guards, tables)?;
                (made.effect, made.demands) = (Effect::Load(access), demands);
                made.results = self.results(to)?;
                made.is_collective = true;
            }
            ("mma", "sync", [to, from @ ..]) if from.len() == 3 => {
                made.demands.push(demand(Class::MatrixGuard, &guards));
                made.results = self.results(to)?;
                made.operands = sources(self, from)?.0;
                made.is_collective = true;
            }
            (_, _, [to, from @ ..]) if COMPUTE.contains(&base) || DIVIDE.contains(&base) => {
                made.results = self.results(to)?;
                (made.operands, made.names) = sources(self, from)?;
                if DIVIDE.contains(&base) {
                    made.demands.push(demand(Class::Division, &made.operands));
                }
                // For floating-point numbers, `a - a` is not constant: infinity minus infinity is
                // NaN.
                let is_integer =
                    modifiers.last().is_some_and(|kind| kind.starts_with(['s', 'u', 'b']));
                made.is_constant = matches!(base, "xor" | "sub")
                    && is_integer
                    && from.len() == 2
                    && from[0] == from[1];
            }
            _ => return None,
        }
        Some(made)
    }

    /// Reads a predicate or its negation, as in `!%p1`.
    fn literal(&mut self, text: &str) -> Option<Literal> {
        let (holds, name) = text.strip_prefix('!').map_or((true, text), |name| (false, name));
        Some(Literal { predicate: self.named(name)?, holds })
    }

    /// Reads an address. Returns the access and the registers that must be public.
    fn access(
        &mut self,
        space: &str,
        operation: &str,
        text: &str,
        guards: &[Register],
        tables: &HashSet<String>,
    ) -> Option<(Access, Vec<Demand>)> {
        let (space, class) = match (space, operation) {
            ("global", "ld") => (Space::Global, Class::LoadAddress),
            ("global", _) => (Space::Global, Class::StoreAddress),
            (_, "ld") => (Space::Shared, Class::SharedLoadAddress),
            _ => (Space::Shared, Class::SharedStoreAddress),
        };
        let mut address = Vec::new();
        let names = self.source(inside(text)?, tables, &mut address)?;
        let demands = vec![
            Demand { class, registers: address.clone() },
            Demand { class: Class::AccessGuard, registers: guards.to_vec() },
        ];
        Some((Access { space, address, names }, demands))
    }

    /// Reads the first operand: a register, several registers in braces, or a register and a
    /// predicate separated by `|`.
    fn results(&mut self, text: &str) -> Option<Vec<Register>> {
        let inside = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        let names = inside.unwrap_or(text).split([',', '|']).map(str::trim);
        names.filter(|name| *name != "_").map(|name| self.named(name)).collect()
    }

    /// Reads an operand that is not a result. Adds its registers to `registers` and returns the
    /// objects that it names.
    fn source(
        &mut self,
        text: &str,
        tables: &HashSet<String>,
        registers: &mut Vec<Register>,
    ) -> Option<Objects> {
        let inside = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        if let Some(inside) = inside {
            let parts = inside.split(',').map(str::trim);
            return parts
                .map(|part| self.source(part, tables, registers))
                .try_fold(Objects::NONE, |all, objects| Some(all | objects?));
        }
        let name = text.strip_prefix('!').unwrap_or(text);
        if tables.contains(name) {
            return Some(Objects::TABLES);
        }
        if name == SHARED_MEMORY {
            return Some(Objects::SHARED);
        }
        let is_public = PUBLIC_REGISTERS.contains(&name.split('.').next()?);
        // The address of a parameter points to the launch arguments, not into an array.
        if is_public || is_number(name) || self.parameters.contains_key(name) {
            return Some(Objects::NONE);
        }
        registers.push(self.named(name)?);
        Some(Objects::NONE)
    }

    /// Reads the declaration after `.reg`: a type, then names, or a name with a count as in
    /// `%r<9>`.
    fn declare(&mut self, text: &str) -> Option<()> {
        let (_, names) = text.trim().split_once(char::is_whitespace)?;
        for name in names.split(',').map(str::trim) {
            let name = name.split_once('<').map_or(name, |(name, _)| name);
            // Names identify registers, so no declaration may hide an earlier one of the same name.
            self.declared.insert(name.to_owned()).then_some(())?;
            if let Some(scope) = self.scopes.last_mut() {
                scope.push(name.to_owned());
            }
        }
        Some(())
    }

    /// Returns the register of this name, or `None` if the name is not declared.
    fn named(&mut self, name: &str) -> Option<Register> {
        let family = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_declared =
            self.declared.contains(name) || family != name && self.declared.contains(family);
        is_declared.then(|| self.program.register(name))
    }
}

/// Splits `label: rest`.
fn label(text: &str) -> Option<(&str, &str)> {
    let (label, rest) = text.split_once(':')?;
    (label.starts_with('$') && !label.contains(char::is_whitespace)).then_some((label, rest))
}

/// Returns the text in brackets, without a constant offset.
fn inside(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('[')?.strip_suffix(']')?;
    match inside.split_once('+') {
        Some((base, offset)) => is_number(offset.trim()).then_some(base.trim()),
        None => Some(inside.trim()),
    }
}

/// Returns whether the text is a literal number, such as `-12`, `0x1fU` or `0f3F800000`.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let float = digits.strip_prefix("0f").or_else(|| digits.strip_prefix("0d"));
    let hexadecimal =
        float.or_else(|| digits.strip_prefix("0x").map(|text| text.trim_end_matches('U')));
    let (digits, radix) = hexadecimal.map_or((digits, 10), |digits| (digits, 16));
    !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix))
}

/// Splits operands at commas that no bracket encloses.
fn split(text: &str) -> Vec<&str> {
    let (mut operands, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, character) in text.char_indices() {
        match character {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                operands.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text[start..].trim().is_empty() {
        operands.push(text[start..].trim());
    }
    operands
}
