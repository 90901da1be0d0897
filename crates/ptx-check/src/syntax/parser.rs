//! Reads what is outside of the bodies of functions.

use std::collections::HashSet;

use super::lexer::{Token, TokenKind, tokens};
use super::{Error, Function, Module, Operand, Position, Problem, Type, Variable};

/// The largest number of braces or parentheses inside one another.
const DEEPEST: usize = 16;

/// Reads a text of PTX.
///
/// # Errors
/// The first place at which the text is not PTX.
pub fn parse(text: &str) -> Result<Module<'_>, Error> {
    let mut parser =
        Parser { text, tokens: tokens(text)?, next: 0, depth: 0, skipped: HashSet::new() };
    let mut module = Module::default();
    // Compilers declare the files at the end, after the lines that refer to them.
    for (index, token) in parser.tokens.iter().enumerate() {
        if token.text == ".file"
            && let [number, name, ..] = &parser.tokens[index + 1..]
            && let Ok(number) = number.text.parse()
        {
            let name = name.text.trim_matches('"');
            module.files.insert(number, name);
        }
    }
    for (&number, name) in &module.files {
        if name.contains("/rust/library/") {
            parser.skipped.insert(number);
        }
    }
    while parser.peek().kind != TokenKind::End {
        parser.declaration(&mut module)?;
    }
    distinct(&module)?;
    Ok(module)
}

/// Checks that no name hides a function or a variable. Only what a function passes to others and
/// its local memory may have one name several times, as compilers write calls.
fn distinct(module: &Module<'_>) -> Result<(), Error> {
    let is_own = |variable: &&Variable<'_>| matches!(variable.space, "param" | "local");
    let functions = module.functions.iter().filter(|function| function.has_body);
    let own = functions.clone().flat_map(|function| &function.variables);
    let variables = module.variables.iter().chain(own.clone().filter(|one| !is_own(one)));
    let with_body = functions.clone().map(|function| (function.name, function.at));
    let mut names = HashSet::new();
    let again = with_body.chain(variables.map(named)).find(|(name, _)| !names.insert(*name));
    let others = own.filter(is_own).chain(functions.flat_map(|function| &function.parameters));
    match again.or_else(|| others.map(named).find(|(name, _)| names.contains(name))) {
        Some((name, at)) => Err(Error { at, problem: Problem::Twice(name.to_owned()) }),
        None => Ok(()),
    }
}

const fn named<'a>(variable: &Variable<'a>) -> (&'a str, Position) {
    (variable.name, variable.at)
}

pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    tokens: Vec<Token<'a>>,
    next: usize,
    depth: usize,
    /// The files of Rust's standard library.
    pub(super) skipped: HashSet<u64>,
}

impl<'a> Parser<'a> {
    pub(super) fn peek(&self) -> Token<'a> {
        self.tokens[self.next]
    }

    pub(super) fn advance(&mut self) -> Token<'a> {
        let token = self.peek();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    pub(super) fn unexpected(&self, expected: &'static str) -> Error {
        let Token { kind, text, at, .. } = self.peek();
        let found = if kind == TokenKind::End { "the end".into() } else { text.to_owned() };
        Error { at, problem: Problem::Unexpected { expected, found } }
    }

    /// Skips a token with this text if it comes next.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let is_next = self.peek().text == text && self.peek().kind != TokenKind::Text;
        if is_next {
            self.advance();
        }
        is_next
    }

    pub(super) fn expect(&mut self, text: &'static str) -> Result<(), Error> {
        if self.take(text) { Ok(()) } else { Err(self.unexpected(text)) }
    }

    pub(super) fn of_kind(
        &mut self,
        kind: TokenKind,
        expected: &'static str,
    ) -> Result<Token<'a>, Error> {
        if self.peek().kind == kind { Ok(self.advance()) } else { Err(self.unexpected(expected)) }
    }

    pub(super) fn word(&mut self, expected: &'static str) -> Result<Token<'a>, Error> {
        self.of_kind(TokenKind::Word, expected)
    }

    /// Enters braces or parentheses.
    pub(super) fn enter(&mut self) -> Result<(), Error> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Error { at: self.peek().at, problem: Problem::TooDeep });
        }
        Ok(())
    }

    pub(super) const fn leave(&mut self) {
        self.depth -= 1;
    }

    fn declaration(&mut self, module: &mut Module<'a>) -> Result<(), Error> {
        let token = self.peek();
        match (token.kind, token.text) {
            // The end of a line ends nothing: code may follow on it.
            (TokenKind::Directive, ".version") => {
                self.advance();
                module.version = self.of_kind(TokenKind::Number, "a number")?.text;
            }
            (TokenKind::Directive, ".target") => {
                self.advance();
                module.target = self.word("an architecture")?.text;
                while self.take(",") {
                    self.word("an option")?;
                }
            }
            (TokenKind::Directive, ".address_size") => {
                self.advance();
                self.integer()?;
            }
            (TokenKind::Directive, ".file") => {
                self.advance();
                self.integer()?;
                self.of_kind(TokenKind::Text, "a string")?;
                while self.take(",") {
                    self.integer()?;
                }
            }
            (TokenKind::Directive, ".section") => self.section()?,
            (TokenKind::Directive, ".pragma") => self.pragma()?,
            (TokenKind::Directive, _) => self.linked(module)?,
            // A label that marks a section.
            (TokenKind::Word, _) => {
                self.advance();
                self.expect(":")?;
            }
            _ => return Err(self.unexpected("a directive")),
        }
        Ok(())
    }

    /// Skips a section of debugging information.
    fn section(&mut self) -> Result<(), Error> {
        self.advance();
        self.advance();
        self.expect("{")?;
        while !self.take("}") {
            if self.advance().kind == TokenKind::End {
                return Err(self.unexpected("the end of a section"));
            }
        }
        Ok(())
    }

    /// Skips a hint for the assembler, which does not change the meaning.
    pub(super) fn pragma(&mut self) -> Result<(), Error> {
        self.advance();
        self.of_kind(TokenKind::Text, "a string")?;
        self.expect(";")
    }

    /// Reads a function or a variable.
    fn linked(&mut self, module: &mut Module<'a>) -> Result<(), Error> {
        let mut is_linked = false;
        while matches!(self.peek().text, ".visible" | ".extern" | ".weak" | ".common") {
            self.advance();
            is_linked = true;
        }
        match self.peek().text {
            ".entry" | ".func" => {
                let function = self.function()?;
                module.functions.push(function);
            }
            _ => {
                let variables = self.variables()?.into_iter();
                let linked = variables.map(|variable| Variable { is_linked, ..variable });
                module.variables.extend(linked);
            }
        }
        Ok(())
    }

    fn function(&mut self) -> Result<Function<'a>, Error> {
        let mut function =
            Function { is_kernel: self.advance().text == ".entry", ..Function::default() };
        if !function.is_kernel && self.peek().text == "(" {
            function.parameters = self.parameters()?;
            function.returns = function.parameters.len();
        }
        let name = self.word("the name of a function")?;
        (function.name, function.at) = (name.text, name.at);
        if self.peek().text == "(" {
            let parameters = self.parameters()?;
            function.parameters.extend(parameters);
        }
        while self.peek().kind == TokenKind::Directive {
            let first = self.advance();
            let mut last = first;
            while matches!(self.peek().kind, TokenKind::Number) || self.peek().text == "," {
                last = self.advance();
            }
            let text = &self.text[first.start..last.start + last.text.len()];
            function.directives.push(text);
        }
        function.has_body = !self.take(";");
        if function.has_body {
            self.body(&mut function)?;
        }
        Ok(function)
    }

    fn parameters(&mut self) -> Result<Vec<Variable<'a>>, Error> {
        self.expect("(")?;
        let mut parameters = Vec::new();
        while !self.take(")") {
            if !parameters.is_empty() {
                self.expect(",")?;
            }
            let mut variable = self.typed()?;
            self.named(&mut variable)?;
            parameters.push(variable);
        }
        Ok(parameters)
    }

    /// Reads a declaration of variables up to its semicolon.
    pub(super) fn variables(&mut self) -> Result<Vec<Variable<'a>>, Error> {
        let kind = self.typed()?;
        let mut variables = Vec::new();
        loop {
            let mut variable = kind.clone();
            self.named(&mut variable)?;
            if self.take("=") {
                self.initial(&mut variable.initial)?;
                let given = variable.initial.len() as u64;
                variable.length = variable.length.or(Some(given));
                if variable.length < Some(given) {
                    return Err(self.unexpected("fewer values"));
                }
            }
            variables.push(variable);
            if !self.take(",") {
                break;
            }
        }
        self.expect(";")?;
        Ok(variables)
    }

    /// Reads the state space, the alignment and the type before a name.
    fn typed(&mut self) -> Result<Variable<'a>, Error> {
        let mut variable = Variable { length: Some(1), ..Variable::default() };
        let mut align = None;
        let mut vector = 1;
        let mut kind = None;
        while self.peek().kind == TokenKind::Directive {
            let name = &self.peek().text[1..];
            match name {
                ".const" | "const" | "global" | "local" | "shared" | "param" | "reg" => {
                    // After `.ptr`, the space that a pointer points into.
                    if variable.space.is_empty() {
                        variable.space = name;
                    }
                }
                "align" => {
                    self.advance();
                    align = Some(self.integer()?);
                    continue;
                }
                "ptr" => variable.is_pointer = true,
                "v2" => vector = 2,
                "v4" => vector = 4,
                _ => match Type::parse(name) {
                    Some(known) => kind = Some(known),
                    None => return Err(self.unexpected("a type")),
                },
            }
            self.advance();
        }
        variable.kind = kind.ok_or_else(|| self.unexpected("a type"))?;
        if variable.space.is_empty() {
            return Err(self.unexpected("a state space"));
        }
        variable.length = Some(vector);
        variable.align = align.unwrap_or_else(|| variable.kind.bytes() * vector);
        Ok(variable)
    }

    /// Reads a name and the lengths of its dimensions.
    fn named(&mut self, variable: &mut Variable<'a>) -> Result<(), Error> {
        let name = self.word("a name")?;
        (variable.name, variable.at) = (name.text, name.at);
        while self.take("[") {
            if self.take("]") {
                variable.length = None;
                continue;
            }
            let count = self.integer()?;
            variable.length = match variable.length.map(|length| length.checked_mul(count)) {
                Some(None) => {
                    let problem = Problem::TooLarge(name.text.to_owned());
                    return Err(Error { at: name.at, problem });
                }
                Some(length) => length,
                None => None,
            };
            self.expect("]")?;
        }
        Ok(())
    }

    /// Reads the first elements of a variable.
    fn initial(&mut self, elements: &mut Vec<Operand<'a>>) -> Result<(), Error> {
        if !self.take("{") {
            elements.push(self.literal()?);
            return Ok(());
        }
        self.enter()?;
        while !self.take("}") {
            self.initial(elements)?;
            if !self.take(",") && self.peek().text != "}" {
                return Err(self.unexpected(","));
            }
        }
        self.leave();
        Ok(())
    }

    /// Reads a number, or the name of a variable.
    pub(super) fn literal(&mut self) -> Result<Operand<'a>, Error> {
        if self.peek().kind == TokenKind::Word {
            return Ok(Operand::Name(self.advance().text));
        }
        let is_negative = self.take("-");
        let token = self.of_kind(TokenKind::Number, "a number")?;
        let sign = u64::from(is_negative);
        let float = |prefix: &str| {
            let digits = token
                .text
                .get(2..)
                .filter(|_| token.text[..2.min(token.text.len())].eq_ignore_ascii_case(prefix))?;
            u64::from_str_radix(digits, 16).ok().map(|bits| (bits, digits.len()))
        };
        Ok(if let Some((bits, 8)) = float("0f") {
            Operand::Single(bits as u32 ^ (sign as u32) << 31)
        } else if let Some((bits, 16)) = float("0d") {
            Operand::Double(bits ^ sign << 63)
        } else if let Some(value) = integer(token.text) {
            Operand::Integer(if is_negative { value.wrapping_neg() } else { value })
        } else if token.text.contains(['.', 'e'])
            && let Ok(value) = token.text.parse::<f64>()
        {
            Operand::Double(value.to_bits() ^ sign << 63)
        } else {
            return Err(token.fault(Problem::TooLarge));
        })
    }

    pub(super) fn integer(&mut self) -> Result<u64, Error> {
        match (self.peek().kind, integer(self.peek().text)) {
            (TokenKind::Number, Some(value)) => {
                self.advance();
                Ok(value)
            }
            _ => Err(self.unexpected("a whole number")),
        }
    }
}

/// Reads an integer: decimal, hexadecimal, octal or binary.
pub(super) fn integer(text: &str) -> Option<u64> {
    let digits = text.strip_suffix('U').unwrap_or(text);
    let with = |prefixes: [&str; 2]| prefixes.iter().find_map(|prefix| digits.strip_prefix(prefix));
    if let Some(digits) = with(["0x", "0X"]) {
        u64::from_str_radix(digits, 16).ok()
    } else if let Some(digits) = with(["0b", "0B"]) {
        u64::from_str_radix(digits, 2).ok()
    } else if digits.len() > 1 && digits.starts_with('0') {
        u64::from_str_radix(digits, 8).ok()
    } else {
        digits.parse().ok()
    }
}
