//! Reads the body of a function.

use std::collections::HashMap;

use super::lexer::{Token, TokenKind};
use super::parser::{Parser, integer};
use super::{Error, Function, Guard, Instruction, Operand, Problem, Register, Type};

/// The registers that the hardware defines, without the parts after a dot.
const SPECIAL: &[&str] = &[
    "%tid",
    "%ntid",
    "%laneid",
    "%warpid",
    "%nwarpid",
    "%ctaid",
    "%nctaid",
    "%smid",
    "%nsmid",
    "%gridid",
    "%lanemask_eq",
    "%lanemask_le",
    "%lanemask_lt",
    "%lanemask_ge",
    "%lanemask_gt",
    "%clock",
    "%clock_hi",
    "%clock64",
    "%globaltimer",
    "%globaltimer_lo",
    "%globaltimer_hi",
    "%total_smem_size",
    "%dynamic_smem_size",
    "WARP_SZ",
];

/// A register, or several with numbers below `count`.
#[derive(Copy, Clone)]
struct Declared {
    kind: Type,
    count: Option<u64>,
    /// The number of the declaration.
    number: usize,
    /// The number of open braces around it.
    depth: usize,
}

/// The names that a body has declared.
struct Scope<'a, 'f> {
    function: &'f mut Function<'a>,
    declared: HashMap<&'a str, Declared>,
    /// How many declared names of single registers end with a number, by what stands before it.
    singles: HashMap<&'a str, usize>,
    /// The indices of the registers that the code has named, with the numbers of declarations.
    known: HashMap<(&'a str, usize), usize>,
    /// The declared names for each open brace.
    open: Vec<Vec<&'a str>>,
    declarations: usize,
    source: Option<(u64, u64)>,
}

impl<'a> Parser<'a> {
    /// Reads a body in braces.
    pub(super) fn body(&mut self, function: &mut Function<'a>) -> Result<(), Error> {
        self.expect("{")?;
        let mut scope = Scope {
            function,
            declared: HashMap::new(),
            singles: HashMap::new(),
            known: HashMap::new(),
            open: vec![Vec::new()],
            declarations: 0,
            source: None,
        };
        while !scope.open.is_empty() {
            self.statement(&mut scope)?;
        }
        Ok(())
    }

    fn statement(&mut self, scope: &mut Scope<'a, '_>) -> Result<(), Error> {
        let token = self.peek();
        match (token.kind, token.text) {
            (TokenKind::Mark, "{") => {
                self.enter()?;
                self.advance();
                scope.open.push(Vec::new());
            }
            (TokenKind::Mark, "}") => {
                self.advance();
                for name in scope.open.pop().into_iter().flatten() {
                    let closed = scope.declared.remove(name);
                    if closed.is_some_and(|closed| closed.count.is_none())
                        && let Some(count) = scope.singles.get_mut(family(name))
                    {
                        *count -= 1;
                    }
                }
                if !scope.open.is_empty() {
                    self.leave();
                }
            }
            (TokenKind::Mark, ";") => {
                self.advance();
            }
            (TokenKind::Directive, ".loc") => self.location(scope)?,
            (TokenKind::Directive, ".reg") => self.registers(scope)?,
            (TokenKind::Directive, ".pragma") => self.pragma()?,
            (TokenKind::Directive, _) => {
                let variables = self.variables()?;
                scope.function.variables.extend(variables);
            }
            (TokenKind::Word, _) | (TokenKind::Mark, "@") => self.labelled(scope)?,
            _ => return Err(self.unexpected("a statement")),
        }
        Ok(())
    }

    /// Reads a line of the source. A statement may follow on the same line of PTX.
    fn location(&mut self, scope: &mut Scope<'a, '_>) -> Result<(), Error> {
        self.advance();
        let place = self.place()?;
        while self.take(",") {
            match self.word("function_name or inlined_at")?.text {
                "inlined_at" => drop(self.place()?),
                _ => {
                    self.word("a label")?;
                    if self.take("+") {
                        self.integer()?;
                    }
                }
            }
        }
        if !self.skipped.contains(&place.0) {
            scope.source = Some(place);
        }
        Ok(())
    }

    /// Reads the numbers of a file, a line and a column. Returns the first two.
    fn place(&mut self) -> Result<(u64, u64), Error> {
        let place = (self.integer()?, self.integer()?);
        self.integer()?;
        Ok(place)
    }

    fn registers(&mut self, scope: &mut Scope<'a, '_>) -> Result<(), Error> {
        self.advance();
        let kind = self.of_kind(TokenKind::Directive, "a type")?;
        let unknown = |parser: &Self| parser.unexpected("a type of registers");
        let kind = Type::parse(&kind.text[1..]).ok_or_else(|| unknown(self))?;
        loop {
            let name = self.word("a name")?;
            let count = match self.take("<") {
                true => {
                    let number = self.of_kind(TokenKind::Number, "a number")?;
                    self.expect(">")?;
                    Some(integer(number.text).ok_or_else(|| number.fault(Problem::TooLarge))?)
                }
                false => None,
            };
            scope.declare(name, kind, count)?;
            if !self.take(",") {
                break;
            }
        }
        self.expect(";")
    }

    /// Reads a label or an instruction.
    fn labelled(&mut self, scope: &mut Scope<'a, '_>) -> Result<(), Error> {
        let start = self.peek();
        let guard = match self.take("@") {
            true => {
                let holds = !self.take("!");
                let name = self.word("a predicate")?;
                Some(Guard { register: scope.register(name)?, holds })
            }
            false => None,
        };
        let name = self.word("an instruction")?;
        if guard.is_none() && self.take(":") {
            if self.take(".branchtargets") {
                let mut targets = vec![self.word("a label")?.text];
                while self.take(",") {
                    targets.push(self.word("a label")?.text);
                }
                scope.function.tables.insert(name.text, targets);
                return self.expect(";");
            }
            let here = scope.function.code.len();
            return match scope.function.labels.insert(name.text, here) {
                None => Ok(()),
                Some(_) => Err(name.fault(Problem::Twice)),
            };
        }
        let mut parts = name.text.split('.');
        let opcode = parts.next().unwrap_or_default();
        let mut operands = Vec::new();
        while self.peek().text != ";" {
            if !operands.is_empty() {
                self.expect(",")?;
            }
            operands.push(self.operand(scope)?);
        }
        let text = self.text[start.start..self.peek().start].trim_end();
        self.advance();
        scope.function.code.push(Instruction {
            at: start.at,
            text,
            source: scope.source,
            guard,
            opcode,
            modifiers: parts.collect(),
            operands,
        });
        Ok(())
    }

    fn operand(&mut self, scope: &mut Scope<'a, '_>) -> Result<Operand<'a>, Error> {
        let first = self.simple(scope)?;
        if self.take("|") {
            return Ok(Operand::Pair(Box::new(first), Box::new(self.simple(scope)?)));
        }
        Ok(first)
    }

    fn simple(&mut self, scope: &mut Scope<'a, '_>) -> Result<Operand<'a>, Error> {
        let token = self.peek();
        match (token.kind, token.text) {
            (TokenKind::Word, _) => {
                self.advance();
                scope.name(token)
            }
            (TokenKind::Number, _) | (TokenKind::Mark, "-") => self.literal(),
            (TokenKind::Mark, "!") => {
                self.advance();
                let name = self.word("a predicate")?;
                Ok(Operand::Not(Box::new(scope.name(name)?)))
            }
            (TokenKind::Mark, "{") => Ok(Operand::Vector(self.several(scope, "}")?)),
            (TokenKind::Mark, "(") => Ok(Operand::List(self.several(scope, ")")?)),
            (TokenKind::Mark, "[") => {
                self.advance();
                let base = match self.peek().kind {
                    TokenKind::Word => {
                        let word = self.advance();
                        scope.name(word)?
                    }
                    _ => self.literal()?,
                };
                let mut offset = 0;
                if self.take("+") || self.peek().text == "-" {
                    let number = self.unexpected("a number");
                    let Operand::Integer(value) = self.literal()? else { return Err(number) };
                    offset = value as i64;
                }
                let address = Operand::Address(Box::new(base), offset);
                if self.peek().text != "," {
                    self.expect("]")?;
                    return Ok(address);
                }
                // A texture or a tensor with coordinates.
                let mut parts = vec![address];
                self.enter()?;
                while self.take(",") {
                    parts.push(self.operand(scope)?);
                }
                self.leave();
                self.expect("]")?;
                Ok(Operand::List(parts))
            }
            _ => Err(self.unexpected("an operand")),
        }
    }

    /// Reads operands up to the bracket `end`.
    fn several(
        &mut self,
        scope: &mut Scope<'a, '_>,
        end: &'static str,
    ) -> Result<Vec<Operand<'a>>, Error> {
        self.enter()?;
        self.advance();
        let mut operands = Vec::new();
        while !self.take(end) {
            if !operands.is_empty() {
                self.expect(",")?;
            }
            operands.push(self.operand(scope)?);
        }
        self.leave();
        Ok(operands)
    }
}

impl<'a> Scope<'a, '_> {
    /// Declares a register. In inner braces, nvcc names some like registers with numbers outside,
    /// and hides these. No other declaration may hide one.
    fn declare(&mut self, name: Token<'a>, kind: Type, count: Option<u64>) -> Result<(), Error> {
        let depth = self.open.len();
        let singles = self.singles.entry(family(name.text)).or_default();
        let has_singles = *singles > 0;
        *singles += usize::from(count.is_none());
        let is_taken = match count {
            None => self.numbered(name.text).is_some_and(|known| known.depth == depth),
            Some(_) => has_singles,
        };
        let declared = Declared { kind, count, number: self.declarations, depth };
        self.declarations += 1;
        if is_taken || self.declared.insert(name.text, declared).is_some() {
            return Err(name.fault(Problem::Twice));
        }
        if let Some(open) = self.open.last_mut() {
            open.push(name.text);
        }
        Ok(())
    }

    /// Returns the index of a declared register.
    fn register(&mut self, name: Token<'a>) -> Result<usize, Error> {
        self.find(name.text).ok_or_else(|| name.fault(Problem::Undeclared))
    }

    fn find(&mut self, name: &'a str) -> Option<usize> {
        let declared = match self.declared.get(name) {
            Some(declared @ Declared { count: None, .. }) => *declared,
            _ => self.numbered(name)?,
        };
        let registers = &mut self.function.registers;
        let index = *self.known.entry((name, declared.number)).or_insert(registers.len());
        if index == registers.len() {
            registers.push(Register { name, kind: declared.kind });
        }
        Some(index)
    }

    /// Returns the declaration of a register as one of several with numbers.
    fn numbered(&self, name: &str) -> Option<Declared> {
        let family = family(name);
        let declared = self.declared.get(family)?;
        let digits = &name[family.len()..];
        // Others take `%r01` for `%r1`.
        let is_plain = digits == "0" || !digits.starts_with('0');
        let number: u64 = digits.parse().ok().filter(|_| is_plain)?;
        (number < declared.count?).then_some(*declared)
    }

    /// Reads a name as an operand.
    fn name(&mut self, name: Token<'a>) -> Result<Operand<'a>, Error> {
        if name.text == "_" {
            return Ok(Operand::Ignored);
        }
        if let Some(index) = self.find(name.text) {
            return Ok(Operand::Register(index));
        }
        if SPECIAL.contains(&name.text.split('.').next().unwrap_or_default()) {
            return Ok(Operand::Special(name.text));
        }
        if name.text.starts_with('%') {
            return Err(name.fault(Problem::Undeclared));
        }
        Ok(Operand::Name(name.text))
    }
}

/// Returns a name without the number at its end.
fn family(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit())
}
