//! What an instruction computes from the operands of its own thread.

use super::floating;
use super::space::{window, window_of};
use super::value::{Compute, function, low, signed, value_of};
use crate::syntax::{Instruction, Kind, Type};

/// Returns the number of operands from which an instruction computes its result, or `None` if it is
/// not known.
pub(super) fn operands(instruction: &Instruction<'_>) -> Option<usize> {
    let names = &instruction.modifiers[..];
    Some(match instruction.opcode {
        "cvt" => 1 + usize::from(names.iter().rev().nth(1).is_some_and(|to| to.ends_with("x2"))),
        "setp" => 2 + usize::from(names.iter().any(|name| ["and", "or", "xor"].contains(name))),
        "abs" | "bfind" | "brev" | "clz" | "cnot" | "cos" | "cvta" | "ex2" | "isspacep" | "lg2"
        | "mov" | "neg" | "not" | "popc" | "rcp" | "rsqrt" | "sin" | "sqrt" | "tanh" => 1,
        "add" | "and" | "copysign" | "div" | "max" | "min" | "mul" | "mul24" | "or" | "rem"
        | "shl" | "shr" | "sub" | "xor" => 2,
        "bfe" | "dp2a" | "dp4a" | "fma" | "mad" | "mad24" | "prmt" | "sad" | "selp" | "shf" => 3,
        "bfi" | "lop3" => 4,
        _ => return None,
    })
}

/// Returns what an instruction computes, or `None` if it is not known.
pub(super) fn compute(instruction: &Instruction<'_>) -> Option<Compute> {
    let names = &instruction.modifiers[..];
    let kind = Type::parse(names.last()?);
    let is_plain = names.len() == 1;
    match instruction.opcode {
        "mov" => {
            let bits = kind.filter(|_| is_plain)?.bits;
            Some(function(move |[a, ..]| low(*a, bits)))
        }
        "cvta" => {
            let (space, is_back) = match names {
                ["to", space, "u64"] => (space, true),
                [space, "u64"] => (space, false),
                _ => return None,
            };
            let start = window(space)?;
            let start = if is_back { start.wrapping_neg() } else { start };
            Some(function(move |[a, ..]| a.wrapping_add(start)))
        }
        "isspacep" => {
            let start = window(names.first().filter(|_| is_plain)?)?;
            Some(function(move |[a, ..]| u64::from(window_of(*a) == start)))
        }
        "cvt" => floating::convert(names),
        "setp" => compare(names),
        "selp" => {
            let bits = kind.filter(|_| is_plain)?.bits;
            Some(function(move |[a, b, c, _]| low(if *c & 1 == 1 { *a } else { *b }, bits)))
        }
        "prmt" if names == ["b32"] => Some(function(|[a, b, selector, _]| {
            let bytes = (low(*b, 32) << 32) | low(*a, 32);
            (0..4).fold(0, |all, i| {
                let chosen = selector >> (4 * i) & 15;
                let byte = bytes >> (8 * (chosen & 7)) & 255;
                let byte = if chosen & 8 == 0 { byte } else { 255 * (byte >> 7) };
                all | byte << (8 * i)
            })
        })),
        "lop3" if names == ["b32"] => Some(function(|[a, b, c, table]| {
            let all = (0..8).filter(|row| table >> row & 1 == 1).fold(0, |all, row| {
                let of = |value: u64, bit: u64| if row >> bit & 1 == 1 { value } else { !value };
                all | of(*a, 2) & of(*b, 1) & of(*c, 0)
            });
            low(all, 32)
        })),
        "shf" if names.len() == 3 && names[2] == "b32" => {
            let is_left = ["r", "l"].iter().position(|name| *name == names[0])? == 1;
            let is_wrapping = ["clamp", "wrap"].iter().position(|name| *name == names[1])? == 1;
            Some(function(move |[a, b, c, _]| {
                let both = low(*b, 32) << 32 | low(*a, 32);
                let count = low(*c, 32);
                let count = if is_wrapping { count & 31 } else { count.min(32) };
                // A shift by 32 moves one half to the other.
                let value = if is_left { both >> (32 - count) } else { both >> count };
                low(value, 32)
            }))
        }
        "dp4a" | "dp2a" => dot_product(instruction.opcode, names),
        opcode => match kind {
            Some(kind) if kind.kind != Kind::Float => match names {
                ["wide" | "hi" | "lo", _] => product(opcode, names[0], kind),
                ["sat", "s32"] => saturated(opcode),
                ["shiftamt", _] if opcode == "bfind" => whole("bfind.shiftamt", kind),
                [_] => whole(opcode, kind),
                _ => None,
            },
            _ => floating::compute(opcode, names),
        },
    }
}

/// Sums that stay in the range of 32 bits.
fn saturated(opcode: &str) -> Option<Compute> {
    let sign = match opcode {
        "add" => 1,
        "sub" => -1,
        _ => return None,
    };
    Some(function(move |[a, b, ..]| {
        let sum = signed(*a, 32) + sign * signed(*b, 32);
        low(sum.clamp(i32::MIN.into(), i32::MAX.into()) as u64, 32)
    }))
}

/// A sum of the products of bytes with bytes (`dp4a`) or with two numbers of 16 bits (`dp2a`).
fn dot_product(opcode: &str, names: &[&str]) -> Option<Compute> {
    let (half, kinds) = match (opcode, names) {
        ("dp4a", kinds @ [_, _]) => (None, kinds),
        ("dp2a", [half @ ("lo" | "hi"), kinds @ ..]) => (Some(*half == "hi"), kinds),
        _ => return None,
    };
    let [a_signed, b_signed] = match kinds {
        [a, b] if [a, b].iter().all(|kind| matches!(**kind, "s32" | "u32")) => {
            [a, b].map(|kind| *kind == "s32")
        }
        _ => return None,
    };
    let part = |value: u64, bits: u32, index: u32, is_signed: bool| {
        let part = low(value >> (bits * index), bits);
        if is_signed { signed(part, bits) } else { part as i64 }
    };
    Some(function(move |[a, b, c, _]| {
        let sum: i64 = match half {
            None => (0..4).map(|i| part(*a, 8, i, a_signed) * part(*b, 8, i, b_signed)).sum(),
            Some(is_high) => {
                let first = 2 * u32::from(is_high);
                let pair = |i| part(*a, 16, i, a_signed) * part(*b, 8, first + i, b_signed);
                pair(0) + pair(1)
            }
        };
        low(c.wrapping_add(sum as u64), 32)
    }))
}

/// Returns a sum or difference with the carry of the last one, `None` if it is not known. The
/// operands are `a`, `b`, `c` and the carry, and the new carry is the bit above the result.
pub(super) fn with_carry(opcode: &str, names: &[&str]) -> Option<(Wide, u32)> {
    let Type { kind, bits } = Type::parse(names.last()?)?;
    let is_signed = match kind {
        Kind::Signed => true,
        Kind::Unsigned => false,
        _ => return None,
    };
    let part = match (opcode, names) {
        ("add" | "addc" | "sub" | "subc", [_]) => None,
        ("mad" | "madc", [part @ ("lo" | "hi"), _]) => Some(bits * u32::from(*part == "hi")),
        _ => return None,
    };
    let is_difference = opcode.starts_with("sub");
    let wide: Wide = Box::new(move |[a, b, c, carry]| {
        let [a, b, c] = [a, b, c].map(|value| u128::from(low(*value, bits)));
        let carry = u128::from(*carry);
        match part {
            None if is_difference => a.wrapping_sub(b).wrapping_sub(carry),
            None => a + b + carry,
            Some(shift) => {
                let product = match is_signed {
                    true => {
                        let [a, b] = [a, b].map(|value| i128::from(signed(value as u64, bits)));
                        (a * b) as u128
                    }
                    false => a * b,
                };
                u128::from(low((product >> shift) as u64, bits)) + c + carry
            }
        }
    });
    Some((wide, bits))
}

/// Computes a result that is wider than a register.
pub(super) type Wide = Box<dyn Fn(&[u64; 4]) -> u128 + Send + Sync>;

/// Products and their sums with another number.
fn product(opcode: &str, part: &str, kind: Type) -> Option<Compute> {
    // Products of the lowest 24 bits, whose high part is bits 16 to 47.
    let is_short = matches!(opcode, "mul24" | "mad24");
    let adds = match opcode {
        "mul" | "mul24" => false,
        "mad" | "mad24" => true,
        _ => return None,
    };
    let is_signed = match kind.kind {
        Kind::Signed => true,
        Kind::Unsigned => false,
        _ => return None,
    };
    let bits = if is_short { 24 } else { kind.bits };
    (!is_short || kind.bits == 32).then_some(())?;
    let (shift, wide) = match part {
        "lo" => (0, kind.bits),
        "hi" if is_short => (16, 32),
        "hi" => (bits, bits),
        _ if is_short => return None,
        _ if bits < 64 => (0, 2 * bits),
        _ => return None,
    };
    Some(function(move |[a, b, c, _]| {
        let product = if is_signed {
            (i128::from(signed(*a, bits)) * i128::from(signed(*b, bits))) as u128
        } else {
            u128::from(low(*a, bits)) * u128::from(low(*b, bits))
        };
        let value = (product >> shift) as u64;
        low(if adds { value.wrapping_add(*c) } else { value }, wide)
    }))
}

/// The lowest bits of a function of two operands.
fn result(bits: u32, f: impl Fn(u64, u64) -> u64 + Send + Sync + 'static) -> Option<Compute> {
    Some(function(move |[a, b, ..]| low(f(*a, *b), bits)))
}

/// A function of two operands as numbers.
fn ordered(kind: Type, f: impl Fn(i128, i128) -> i128 + Send + Sync + 'static) -> Option<Compute> {
    Some(function(move |[a, b, ..]| {
        low(f(value_of(*a, kind), value_of(*b, kind)) as u64, kind.bits)
    }))
}

/// Other operations on integers and truth values.
fn whole(opcode: &str, kind: Type) -> Option<Compute> {
    let bits = kind.bits;
    let is_signed = kind.kind == Kind::Signed;
    // A division by zero sets all bits, and the remainder is the dividend, as GPUs compute it.
    match opcode {
        "add" => result(bits, u64::wrapping_add),
        "sub" => result(bits, u64::wrapping_sub),
        "and" => result(bits, |a, b| a & b),
        "or" => result(bits, |a, b| a | b),
        "xor" => result(bits, |a, b| a ^ b),
        "not" => result(bits, |a, _| !a),
        "cnot" => Some(function(move |[a, ..]| u64::from(low(*a, bits) == 0))),
        "neg" => result(bits, |a, _| a.wrapping_neg()),
        "abs" => ordered(kind, |a, _| a.abs()),
        "min" => ordered(kind, Ord::min),
        "max" => ordered(kind, Ord::max),
        "div" => ordered(kind, |a, b| if b == 0 { -1 } else { a / b }),
        "rem" => ordered(kind, |a, b| if b == 0 { a } else { a % b }),
        "shl" => Some(function(move |[a, b, ..]| {
            let count = low(*b, 32);
            if count >= u64::from(bits) { 0 } else { low(*a << count, bits) }
        })),
        "shr" => Some(function(move |[a, b, ..]| {
            let count = low(*b, 32).min(u64::from(bits)) as u32;
            if is_signed {
                low((signed(*a, bits) >> count.min(63)) as u64, bits)
            } else {
                low(*a, bits).checked_shr(count).unwrap_or(0)
            }
        })),
        "popc" => Some(function(move |[a, ..]| u64::from(low(*a, bits).count_ones()))),
        "clz" => {
            Some(function(move |[a, ..]| u64::from(low(*a, bits).leading_zeros() - (64 - bits))))
        }
        "bfind" | "bfind.shiftamt" => {
            let counts_shift = opcode != "bfind";
            Some(function(move |[a, ..]| {
                // The highest bit that is not a copy of the sign.
                let ones = if is_signed && signed(*a, bits) < 0 { !a } else { *a };
                match low(ones, bits) {
                    0 => low(u64::MAX, 32),
                    ones if counts_shift => u64::from(ones.leading_zeros() - (64 - bits)),
                    ones => u64::from(ones.ilog2()),
                }
            }))
        }
        "sad" => Some(function(move |[a, b, c, _]| {
            let distance = (value_of(*a, kind) - value_of(*b, kind)).unsigned_abs();
            low(c.wrapping_add(distance as u64), bits)
        })),
        "brev" => Some(function(move |[a, ..]| low(*a, bits).reverse_bits() >> (64 - bits))),
        "bfe" => Some(function(move |[a, from, count, _]| {
            let (from, count) = ((from & 255) as u32, (count & 255) as u32);
            let a = low(*a, bits);
            if count == 0 {
                return 0;
            }
            let last = (from + count - 1).min(bits - 1);
            let value = low(a.checked_shr(from).unwrap_or(0), count);
            let sign = a >> last & 1;
            // The sign fills what the field does not have.
            let taken = (last + 1).saturating_sub(from);
            let fill =
                if is_signed && sign == 1 { u64::MAX.checked_shl(taken).unwrap_or(0) } else { 0 };
            low(value | fill, bits)
        })),
        "bfi" => Some(function(move |[a, b, from, count]| {
            let (from, count) = ((from & 255) as u32, (count & 255) as u32);
            let mask = low(u64::MAX, count).checked_shl(from).unwrap_or(0);
            low(b & !mask | a.checked_shl(from).unwrap_or(0) & mask, bits)
        })),
        _ => None,
    }
}

/// Comparisons, combined with another truth value if the name says so.
fn compare(names: &[&str]) -> Option<Compute> {
    let flushes = names.contains(&"ftz");
    let names: Vec<&str> = names.iter().copied().filter(|name| *name != "ftz").collect();
    let (comparison, combined, kind) = match names[..] {
        [comparison, kind] => (comparison, "", kind),
        [comparison, combined, kind] => (comparison, combined, kind),
        _ => return None,
    };
    let combine: fn(bool, bool) -> bool = match combined {
        "" => |a, _| a,
        "and" => |a, b| a && b,
        "or" => |a, b| a || b,
        "xor" => |a, b| a != b,
        _ => return None,
    };
    let Some(number) = Type::parse(kind).filter(|kind| kind.kind != Kind::Float) else {
        let holds = floating::compare(comparison, kind, flushes)?;
        return Some(function(move |[a, b, c, _]| u64::from(combine(holds(*a, *b), c & 1 == 1))));
    };
    (!flushes).then_some(())?;
    let holds: fn(i128, i128) -> bool = match comparison {
        "eq" => |a, b| a == b,
        "ne" => |a, b| a != b,
        "lt" | "lo" => |a, b| a < b,
        "le" | "ls" => |a, b| a <= b,
        "gt" | "hi" => |a, b| a > b,
        "ge" | "hs" => |a, b| a >= b,
        _ => return None,
    };
    Some(function(move |[a, b, c, _]| {
        let holds = holds(value_of(*a, number), value_of(*b, number));
        u64::from(combine(holds, c & 1 == 1))
    }))
}

/// Returns what an atomic operation makes of a memory's value and its operands, and the number of
/// bits of the value.
pub(super) fn update(name: &str, kind: &str) -> Option<(Compute, u32)> {
    let integer = Type::parse(kind).filter(|kind| kind.kind != Kind::Float);
    let Some(kind) = integer.filter(|kind| (16..=64).contains(&kind.bits)) else {
        // Sums of floating-point numbers round to the nearest.
        let function = floating::compute(name, &["rn", kind]).filter(|_| name == "add")?;
        return Some((function, floating::bits(kind)?));
    };
    let bits = kind.bits;
    let function: Compute = match name {
        "add" | "min" | "max" | "and" | "or" | "xor" => whole(name, kind)?,
        "exch" => function(move |[_, b, ..]| low(*b, bits)),
        "cas" => function(move |[old, expected, new, _]| {
            low(if low(*old, bits) == low(*expected, bits) { *new } else { *old }, bits)
        }),
        "inc" => function(|[old, most, ..]| if old >= most { 0 } else { old + 1 }),
        "dec" => function(|[old, most, ..]| if *old == 0 || old > most { *most } else { old - 1 }),
        _ => return None,
    };
    Some((function, bits))
}
