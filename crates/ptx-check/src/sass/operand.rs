//! Reads the text of an instruction: its guard, its name and its operands.

/// A kind of register.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum File {
    /// `R0` to `R254`: general registers of a thread.
    General,
    /// `P0` to `P6`: predicates of a thread.
    Predicate,
    /// `UR0` and so on: uniform registers of a warp.
    Uniform,
    /// `UP0` to `UP6`: uniform predicates of a warp.
    UniformPredicate,
}

/// How the names of registers begin.
const FILES: [(&str, File); 4] = [
    ("R", File::General),
    ("P", File::Predicate),
    ("UR", File::Uniform),
    ("UP", File::UniformPredicate),
];

/// A register.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Name {
    pub(super) file: File,
    pub(super) number: u8,
}

impl std::fmt::Debug for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut of_file = FILES.iter().filter(|(_, file)| *file == self.file);
        of_file.try_for_each(|(name, _)| write!(f, "{name}{}", self.number))
    }
}

impl Name {
    /// Returns the register of this number.
    pub(super) fn new(file: File, number: usize) -> Result<Self, String> {
        let number = u8::try_from(number).map_err(|_| "the number of a register is too large")?;
        Ok(Self { file, number })
    }

    /// Returns `count` consecutive registers from this one on.
    pub(super) fn vector(self, count: u8) -> impl Iterator<Item = Self> {
        (0..count).map(move |step| Self { number: self.number.saturating_add(step), ..self })
    }

    /// Returns whether this is a predicate.
    pub(super) const fn is_predicate(self) -> bool {
        matches!(self.file, File::Predicate | File::UniformPredicate)
    }

    /// Reads a register. Returns `Some(None)` for a register that is always zero or always true,
    /// and `None` for a text that names no register.
    fn parse(text: &str) -> Option<Option<Self>> {
        match text {
            "RZ" | "URZ" | "PT" | "UPT" => return Some(None),
            _ => {}
        }
        let after = |&(name, file): &(&str, File)| Some((file, text.strip_prefix(name)?));
        let (file, number) = FILES.iter().find_map(after)?;
        let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
        Some(Some(Self { file, number: is_number.then(|| number.parse().ok()).flatten()? }))
    }
}

/// The change of a register or constant when an instruction reads it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Sign {
    /// No change.
    #[default]
    Plain,
    /// `-`: the negative value.
    Negative,
    /// `~`, the absolute value, or a half of the register.
    Other,
}

/// An operand. A register that is always zero or true has no name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operand<'a> {
    /// A general or uniform register.
    Register(Option<Name>, Sign),
    /// A predicate. The flag is false if the operand is the negated predicate.
    Predicate(Option<Name>, bool),
    /// All predicates of the thread.
    Predicates,
    /// An integer, as 64 bits.
    Integer(u64),
    /// A floating-point number.
    Number,
    /// A constant in a bank. The registers in `index` are added to its offset.
    Constant { bank: u32, offset: usize, index: Vec<Name>, sign: Sign },
    /// A place in memory: the registers that form its address, including its descriptor.
    Memory(Vec<Name>),
    /// A label of this kernel.
    Label(&'a str),
    /// A convergence barrier.
    Barrier(u8),
    /// A special register.
    Special(&'a str),
}

/// The parts of an instruction's text. The decoder may not know the opcode.
#[derive(Clone, Debug)]
pub(super) struct Text<'a> {
    /// The guard: its predicate, or `None` for the one that is always true, and the value that the
    /// predicate must have.
    pub(super) guard: (Option<Name>, bool),
    /// The name up to the first dot.
    pub(super) opcode: &'a str,
    /// The parts of the name after the first dot.
    pub(super) modifiers: Vec<&'a str>,
    pub(super) operands: Vec<Operand<'a>>,
}

impl<'a> Text<'a> {
    /// Reads the text of an instruction.
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        let mut guard = (None, true);
        let mut rest = text.trim();
        if let Some(after) = rest.strip_prefix('@') {
            let (predicate, after) =
                after.split_once(char::is_whitespace).ok_or("a guard without an instruction")?;
            let Operand::Predicate(name, holds) = operand(predicate)? else {
                return Err("the guard is no predicate".into());
            };
            (guard, rest) = ((name, holds), after.trim_start());
        }
        let (name, operands) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let mut parts = name.split('.');
        let opcode = parts.next().unwrap_or_default();
        let operands = operands.trim();
        let operands = match operands {
            "" => Vec::new(),
            some => some.split(", ").map(|one| operand(one.trim())).collect::<Result<_, _>>()?,
        };
        Ok(Self { guard, opcode, modifiers: parts.collect(), operands })
    }

    /// Returns whether the name has this modifier.
    pub(super) fn is(&self, modifier: &str) -> bool {
        self.modifiers.contains(&modifier)
    }

    /// Returns whether the guard is always false.
    pub(super) const fn is_never_executed(&self) -> bool {
        matches!(self.guard, (None, false))
    }
}

fn operand(text: &str) -> Result<Operand<'_>, String> {
    let unknown = || format!("unknown operand {text}");
    if let Some(label) = text.strip_prefix("`(") {
        let label = label.strip_suffix(')').ok_or_else(unknown)?;
        return Ok(Operand::Label(label));
    }
    if text.ends_with(']') && (text.starts_with('[') || text.starts_with("desc[")) {
        return memory(text).ok_or_else(unknown);
    }
    if text == "PR" {
        return Ok(Operand::Predicates);
    }
    if text.starts_with("SR") {
        return Ok(Operand::Special(text));
    }
    if let Some(number) = text.strip_prefix('B').and_then(|number| number.parse().ok())
        && number < 16
    {
        return Ok(Operand::Barrier(number));
    }
    let (holds, name) = text.strip_prefix('!').map_or((true, text), |name| (false, name));
    if name.starts_with('P') || name.starts_with("UP") {
        let name = Name::parse(name).ok_or_else(unknown)?;
        return Ok(Operand::Predicate(name, holds));
    }
    if !holds {
        return Err(unknown());
    }
    let (sign, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (Sign::Negative, &text[1..]),
        Some(b'~') => (Sign::Other, &text[1..]),
        _ => (Sign::Plain, text),
    };
    let (sign, unsigned) =
        match unsigned.strip_prefix('|').and_then(|inner| inner.strip_suffix('|')) {
            Some(inner) => (Sign::Other, inner),
            None => (sign, unsigned),
        };
    if let Some(place) = unsigned.strip_prefix("c[") {
        return constant(place, sign).ok_or_else(unknown);
    }
    if unsigned.starts_with(['R', 'U']) {
        let mut parts = unsigned.split('.');
        let name = parts.next().and_then(Name::parse).ok_or_else(unknown)?;
        let sign = parts.try_fold(sign, |sign, part| match part {
            // Hints for the operand cache, and the order of a matrix, do not change the registers.
            "reuse" | "ROW" | "COL" => Ok(sign),
            "H0_H0" | "H1_H1" => Ok(Sign::Other),
            _ => Err(unknown()),
        })?;
        return Ok(Operand::Register(name, sign));
    }
    if let Some(digits) = unsigned.strip_prefix("0x") {
        let value = u64::from_str_radix(digits, 16).map_err(|_| unknown())?;
        return match sign {
            Sign::Plain => Ok(Operand::Integer(value)),
            Sign::Negative => Ok(Operand::Integer(value.wrapping_neg())),
            Sign::Other => Err(unknown()),
        };
    }
    let is_number =
        unsigned.parse::<f64>().is_ok() || ["+INF", "INF", "QNAN", "+QNAN"].contains(&unsigned);
    if is_number && sign != Sign::Other { Ok(Operand::Number) } else { Err(unknown()) }
}

/// Reads an operand in a constant bank, from the text after `c[`.
fn constant<'a>(place: &str, sign: Sign) -> Option<Operand<'a>> {
    let (bank, offset) = place.strip_suffix(']')?.split_once("][")?;
    let bank = u32::from_str_radix(bank.strip_prefix("0x")?, 16).ok()?;
    let (index, offset) = sum(offset)?;
    Some(Operand::Constant { bank, offset: usize::try_from(offset).ok()?, index, sign })
}

fn memory<'a>(text: &str) -> Option<Operand<'a>> {
    let mut registers = Vec::new();
    let place = if let Some(descriptor) = text.strip_prefix("desc[") {
        let (descriptor, place) = descriptor.split_once("][")?;
        registers.extend(Name::parse(descriptor)??.vector(2));
        place
    } else {
        text.strip_prefix('[')?
    };
    let (address, _) = sum(place.strip_suffix(']')?)?;
    registers.extend(address);
    Some(Operand::Memory(registers))
}

/// Reads a sum of registers and a number. Skips the scale of a register, such as `.X4`.
fn sum(text: &str) -> Option<(Vec<Name>, i64)> {
    let (mut registers, mut offset) = (Vec::new(), 0);
    for part in text.split('+') {
        let (negative, unsigned) =
            part.strip_prefix('-').map_or((false, part), |part| (true, part));
        if let Some(digits) = unsigned.strip_prefix("0x") {
            let value = i64::from_str_radix(digits, 16).ok()?;
            offset += if negative { -value } else { value };
            continue;
        }
        let (name, suffix) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let count = match suffix {
            "" | "X4" | "X8" | "X16" | "U32" => 1,
            "64" => 2,
            _ => return None,
        };
        if negative {
            return None;
        }
        registers.extend(Name::parse(name)?.into_iter().flat_map(|name| name.vector(count)));
    }
    Some((registers, offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap().unwrap()
    }

    #[test]
    fn reads_an_instruction() {
        let text = Text::parse("@!UP2 LDG.E.U16 R19, desc[UR6][R22.64+0x8]").unwrap();
        assert_eq!((text.guard, text.opcode), ((Some(name("UP2")), false), "LDG"));
        assert_eq!(text.modifiers, ["E", "U16"]);
        let address = ["UR6", "UR7", "R22", "R23"].map(name).to_vec();
        let expected =
            [Operand::Register(Some(name("R19")), Sign::Plain), Operand::Memory(address)];
        assert_eq!(text.operands, expected);
        assert!(Text::parse("@!PT NOP").unwrap().is_never_executed());
        assert!(!Text::parse("@PT NOP").unwrap().is_never_executed());
    }

    #[test]
    fn reads_operands() {
        let read = |text| operand(text).unwrap();
        assert_eq!(read("-R4.reuse"), Operand::Register(Some(name("R4")), Sign::Negative));
        assert_eq!(read("RZ"), Operand::Register(None, Sign::Plain));
        assert_eq!(read("|R4|"), Operand::Register(Some(name("R4")), Sign::Other));
        assert_eq!(read("!PT"), Operand::Predicate(None, false));
        assert_eq!(read("-0x8"), Operand::Integer(-8_i64 as u64));
        assert_eq!(read("9.3638896942138671875e-05"), Operand::Number);
        assert_eq!(read("+INF"), Operand::Number);
        let constant =
            |offset, index| Operand::Constant { bank: 0, offset, index, sign: Sign::Plain };
        assert_eq!(read("c[0x0][0x160]"), constant(0x160, vec![]));
        assert_eq!(read("c[0x0][RZ]"), constant(0, vec![]));
        assert_eq!(read("c[0x0][R4+0x10]"), constant(16, vec![name("R4")]));
        assert_eq!(read("[R8.X4+UR4+-0x20]"), Operand::Memory(vec![name("R8"), name("UR4")]));
        assert_eq!(read("[0x20]"), Operand::Memory(vec![]));
        assert_eq!(read("`(.L_x_1)"), Operand::Label(".L_x_1"));
        assert_eq!(read("B1"), Operand::Barrier(1));
        assert_eq!(read("SR_TID.X"), Operand::Special("SR_TID.X"));
    }

    #[test]
    fn refuses_other_operands() {
        for text in [
            "R4.H2",
            "R4.B1",
            "R",
            "R256",
            "c[R4][0x0]",
            "tmem[UR4]",
            "[R4.S32]",
            "[-R4]",
            "!R4",
            "32@lo(t)",
        ] {
            assert!(operand(text).is_err(), "{text}");
        }
    }
}
