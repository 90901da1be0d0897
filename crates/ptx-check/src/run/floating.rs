//! What instructions compute from floating-point numbers.

use std::cmp::Ordering::{self, Greater, Less};

use super::float::{Finite, Format, Number, Rounding};
use super::value::{Compute, low, one, several, three, two, value_of};
use crate::syntax::{Kind, Type};

/// Reads the name of a type: a format, and whether a register has two numbers.
fn numbers(name: &str) -> Option<(Format, bool)> {
    match name.strip_suffix("x2") {
        Some(name @ ("f16" | "bf16")) => Some((Format::parse(name)?, true)),
        Some(_) => None,
        None => Some((Format::parse(name)?, false)),
    }
}

/// Returns the number of bits of a type.
pub(super) fn bits(name: &str) -> Option<u32> {
    numbers(name).map(|(format, is_pair)| format.bits() << u32::from(is_pair))
}

/// The modifiers of an instruction between its name and its types.
#[derive(Copy, Clone, Default)]
struct Flags {
    rounding: Option<Rounding>,
    /// Rounds to a whole number.
    whole: Option<Rounding>,
    /// Takes numbers without all bits of their fraction for zero.
    flushes: bool,
    /// Ends at zero and one.
    saturates: bool,
    /// Ends at zero.
    relu: bool,
    /// Is NaN if one of two numbers is.
    nan: bool,
    /// May be computed approximately. The interpreter rounds the true result to the nearest.
    is_approximate: bool,
}

impl Flags {
    fn parse(names: &[&str]) -> Option<Self> {
        let mut flags = Self::default();
        for name in names {
            match *name {
                "ftz" => flags.flushes = true,
                "sat" => flags.saturates = true,
                "relu" => flags.relu = true,
                "NaN" => flags.nan = true,
                "approx" | "full" => flags.is_approximate = true,
                "rni" => flags.whole = Some(Rounding::Nearest),
                "rzi" => flags.whole = Some(Rounding::Zero),
                "rmi" => flags.whole = Some(Rounding::Down),
                "rpi" => flags.whole = Some(Rounding::Up),
                name => flags.rounding = Some(Rounding::parse(name)?),
            }
        }
        Some(flags)
    }

    fn is_plain(self) -> bool {
        !(self.flushes || self.saturates || self.relu || self.nan || self.is_approximate)
            && self.whole.is_none()
    }

    fn before(self, format: Format, bits: u64) -> u64 {
        if self.flushes { format.flushed(bits) } else { bits }
    }

    fn after(self, format: Format, bits: u64) -> u64 {
        let mut bits = if self.flushes { format.flushed(bits) } else { bits };
        let number = format.decode(bits);
        let is_nan = matches!(number, Number::Nan);
        if self.saturates || self.relu {
            let is_low = number.is_negative() || is_nan && self.saturates;
            bits = if is_low { 0 } else { bits };
        }
        let one = format.of_double(1.0);
        if self.saturates && !is_nan && bits > one { one } else { bits }
    }
}

/// Returns what an instruction computes from numbers of one format, or `None` if it is not known.
pub(super) fn compute(opcode: &str, names: &[&str]) -> Option<Compute> {
    let (kind, flags) = names.split_last()?;
    let names: Vec<&str> = flags.iter().copied().filter(|name| *name != "noftz").collect();
    let ((format, is_pair), flags) = (numbers(kind)?, Flags::parse(&names)?);
    if flags.whole.is_some() || format == Format::TENSOR {
        return None;
    }
    if let Some(native) = native(opcode, format, flags).filter(|_| !is_pair) {
        return Some(native);
    }
    let Compute { takes, function } = of_bits(opcode, format, flags)?;
    let bits = format.bits();
    let one = move |operands: &[u64; 4], place: u32| {
        let operand = |value: u64| flags.before(format, low(value >> (bits * place), bits));
        flags.after(format, low(function.of(&operands.map(operand)), bits))
    };
    match is_pair {
        false => several(takes, move |operands| one(operands, 0)),
        true => several(takes, move |operands| one(operands, 0) | one(operands, 1) << bits),
    }
}

/// Returns what the CPU computes with one instruction.
fn native(opcode: &str, format: Format, flags: Flags) -> Option<Compute> {
    let rounding = flags.rounding.unwrap_or(Rounding::Nearest);
    (flags.is_plain() && rounding == Rounding::Nearest).then_some(())?;
    (flags.rounding.is_some() || matches!(opcode, "add" | "sub" | "mul")).then_some(())?;
    macro_rules! of {
        ($takes:literal, |$a:ident, $b:ident, $c:ident| $value:expr) => {
            match format {
                Format::SINGLE => several($takes, |bits| {
                    let [$a, $b, $c, _] = bits.map(|bits| f32::from_bits(bits as u32));
                    let value: f32 = $value;
                    // GPUs have one NaN of 32 bits.
                    u64::from(if value.is_nan() { 0x7fff_ffff } else { value.to_bits() })
                }),
                Format::DOUBLE => several($takes, |bits| {
                    let [$a, $b, $c, _] = bits.map(f64::from_bits);
                    f64::to_bits($value)
                }),
                _ => None,
            }
        };
    }
    match opcode {
        "add" => of!(2, |a, b, _c| a + b),
        "sub" => of!(2, |a, b, _c| a - b),
        "mul" => of!(2, |a, b, _c| a * b),
        "fma" | "mad" => of!(3, |a, b, c| a.mul_add(b, c)),
        "div" => of!(2, |a, b, _c| a / b),
        "sqrt" => of!(1, |a, _b, _c| a.sqrt()),
        "rcp" => of!(1, |a, _b, _c| 1.0 / a),
        _ => None,
    }
}

/// Returns an operation on the bits of numbers.
fn of_bits(opcode: &str, format: Format, flags: Flags) -> Option<Compute> {
    let rounding = flags.rounding.unwrap_or(Rounding::Nearest);
    let decode = move |bits: u64| format.decode(bits);
    let encode = move |number: Number| format.encode(number, rounding);
    let sign = format.sign();
    // These state a rounding, or else that they are approximate.
    let states = flags.rounding.is_some() || flags.is_approximate;
    let (is_half, is_single) = (format.bits() == 16, format == Format::SINGLE);
    let approximate = |of: fn(f64) -> f64| {
        flags.is_approximate.then_some(())?;
        one(move |a| format.of_double(of(format.double(a))))
    };
    match opcode {
        "add" => two(move |a, b| encode(decode(a).plus(decode(b), rounding))),
        // The opposite of NaN is NaN.
        "sub" => two(move |a, b| encode(decode(a).plus(decode(b ^ sign), rounding))),
        "mul" => two(move |a, b| encode(decode(a).times(decode(b)))),
        "fma" | "mad" if states => {
            three(move |a, b, c| encode(decode(a).times(decode(b)).plus(decode(c), rounding)))
        }
        "div" if states => two(move |a, b| encode(decode(a).over(decode(b)))),
        "rcp" if states => one(move |a| encode(decode(format.of_double(1.0)).over(decode(a)))),
        "sqrt" if states => one(move |a| encode(decode(a).root())),
        "neg" => one(move |a| a ^ sign),
        "abs" => one(move |a| a & !sign),
        "copysign" => two(move |a, b| a & sign | b & !sign),
        "min" | "max" => {
            let wanted = if opcode == "min" { Less } else { Greater };
            two(move |a, b| {
                let [a_is_nan, b_is_nan] = [a, b].map(|bits| matches!(decode(bits), Number::Nan));
                if a_is_nan && b_is_nan || (a_is_nan || b_is_nan) && flags.nan {
                    return encode(Number::Nan);
                }
                // Minus zero is below zero.
                let order = format.double(a).partial_cmp(&format.double(b));
                let order = order.map(|order| order.then((a & sign == 0).cmp(&(b & sign == 0))));
                if b_is_nan || order == Some(wanted) { a } else { b }
            })
        }
        "ex2" if is_half || is_single => approximate(f64::exp2),
        "tanh" if is_half || is_single => approximate(f64::tanh),
        "lg2" if is_single => approximate(f64::log2),
        "sin" if is_single => approximate(f64::sin),
        "cos" if is_single => approximate(f64::cos),
        "rsqrt" if !is_half => approximate(|a| 1.0 / a.sqrt()),
        _ => None,
    }
}

/// Returns a function that compares two numbers, and returns `None` if one is NaN.
pub(super) fn order(
    kind: &str,
    flushes: bool,
) -> Option<impl Fn(u64, u64) -> Option<Ordering> + Send + Sync + use<>> {
    let (format, false) = numbers(kind)? else { return None };
    let value = move |bits| format.double(if flushes { format.flushed(bits) } else { bits });
    Some(move |a, b| value(a).partial_cmp(&value(b)))
}

/// Conversions between types.
pub(super) fn convert(names: &[&str]) -> Option<Compute> {
    let [flags @ .., to, from] = names else { return None };
    let flags = Flags::parse(flags)?;
    if flags.is_approximate || flags.nan {
        return None;
    }
    let integer = |name| Type::parse(name).filter(|kind| kind.kind != Kind::Float);
    match (integer(to), integer(from)) {
        (Some(to), Some(from)) => {
            (flags.rounding.is_none() && flags.whole.is_none()).then_some(())?;
            between_integers(to, from, flags.saturates)
        }
        (None, Some(from)) => {
            let (format, false) = numbers(to)? else { return None };
            let rounding = flags.rounding.filter(|_| !flags.relu)?;
            one(move |a| {
                let value = value_of(a, from);
                let finite =
                    Finite { is_negative: value < 0, integer: value.unsigned_abs(), power: 0 };
                flags.after(format, format.encode(finite.number(), rounding))
            })
        }
        (Some(to), None) => {
            let (format, false) = numbers(from)? else { return None };
            let rounding = flags.whole?;
            one(move |a| {
                let bits = flags.before(format, low(a, format.bits()));
                to_integer(format.decode(bits), rounding, to, format)
            })
        }
        (None, None) => between_formats(flags, to, from),
    }
}

/// The smallest and the largest integer of a type.
const fn range(kind: Type) -> (i128, i128) {
    match kind.kind {
        Kind::Signed => (-1 << (kind.bits - 1), (1 << (kind.bits - 1)) - 1),
        _ => (0, (1 << kind.bits) - 1),
    }
}

fn between_integers(to: Type, from: Type, saturates: bool) -> Option<Compute> {
    one(move |a| {
        let value = value_of(a, from);
        let (least, most) = range(to);
        let value = if saturates { value.clamp(least, most) } else { value };
        // A register that is wider than the type gets its sign.
        value_of(value as u64, to) as u64
    })
}

/// Returns the nearest integer of a type.
fn to_integer(number: Number, rounding: Rounding, to: Type, from: Format) -> u64 {
    let (least, most) = range(to);
    let value = match number {
        Number::Nan if from == Format::DOUBLE || to.bits == 64 => return 1 << (to.bits - 1),
        Number::Nan => 0,
        Number::Infinite { is_negative: true } => least,
        Number::Infinite { .. } => most,
        Number::Finite(finite) => {
            let integer = finite.rounded(0, rounding).min(1 << 64) as i128;
            if finite.is_negative { -integer } else { integer }
        }
    };
    low(value.clamp(least, most) as u64, 64)
}

/// Conversions between formats, of one number or of two to a pair.
fn between_formats(flags: Flags, to: &str, from: &str) -> Option<Compute> {
    let ((to, is_pair), (from, false)) = (numbers(to)?, numbers(from)?) else { return None };
    let narrows = to.bits() < from.bits() || to == Format::TENSOR;
    // Only conversions that lose bits state a rounding.
    let is_known = match (narrows, flags.whole.is_some()) {
        (true, false) => flags.rounding.is_some() && from != Format::TENSOR,
        (false, true) => flags.rounding.is_none() && to == from,
        (false, false) => flags.rounding.is_none() && !is_pair && from != Format::TENSOR,
        (true, true) => false,
    };
    (is_known && (!is_pair || from == Format::SINGLE)).then_some(())?;
    let rounding = flags.rounding.unwrap_or(Rounding::Nearest);
    let single = move |bits: u64| {
        // The flag is about numbers of 32 bits.
        let flushes = |format: Format| flags.flushes && format == Format::SINGLE;
        let bits = low(bits, from.bits());
        let bits = if flushes(from) { from.flushed(bits) } else { bits };
        let number = from.decode(bits);
        let number = flags.whole.map_or(number, |rounding| number.whole(rounding));
        let result = to.encode(number, rounding);
        Flags { flushes: flushes(to), ..flags }.after(to, result)
    };
    match is_pair {
        false => one(single),
        true => two(move |a, b| single(a) << 16 | single(b)),
    }
}
