//! What an instruction computes from the operands of its own thread.

use std::cmp::Ordering;

use super::floating;
use super::space::{window, window_of};
use super::value::{Compute, low, one, several, signed, three, two, value_of};
use crate::syntax::{Instruction, Kind, Type};

/// Returns what an instruction computes, or `None` if it is not known.
pub(super) fn compute(instruction: &Instruction<'_>) -> Option<Compute> {
    let (opcode, names) = (instruction.opcode, &instruction.modifiers[..]);
    let kind = Type::parse(names.last()?);
    match (opcode, names) {
        ("mov", [_]) => {
            let bits = kind?.bits;
            one(move |a| low(a, bits))
        }
        ("cvta", ["to", space, "u64"]) => {
            let start = window(space)?;
            one(move |a| a.wrapping_sub(start))
        }
        ("cvta", [space, "u64"]) => {
            let start = window(space)?;
            one(move |a| a.wrapping_add(start))
        }
        ("isspacep", [space]) => {
            let start = window(space)?;
            one(move |a| u64::from(window_of(a) == start))
        }
        ("cvt", _) => floating::convert(names),
        ("setp", _) => compare(names),
        ("selp", [_]) => {
            let bits = kind?.bits;
            three(move |a, b, c| low(if c & 1 == 1 { a } else { b }, bits))
        }
        ("prmt", ["b32"]) => three(|a, b, selector| {
            let bytes = (low(b, 32) << 32) | low(a, 32);
            (0..4).fold(0, |all, i| {
                let chosen = selector >> (4 * i) & 15;
                let byte = bytes >> (8 * (chosen & 7)) & 255;
                let byte = if chosen & 8 == 0 { byte } else { 255 * (byte >> 7) };
                all | byte << (8 * i)
            })
        }),
        ("lop3", ["b32"]) => several(4, |[a, b, c, table]| {
            let all = (0..8).filter(|row| table >> row & 1 == 1).fold(0, |all, row| {
                let of = |value: u64, bit: u64| if row >> bit & 1 == 1 { value } else { !value };
                all | of(*a, 2) & of(*b, 1) & of(*c, 0)
            });
            low(all, 32)
        }),
        ("shf", [way @ ("l" | "r"), limit @ ("clamp" | "wrap"), "b32"]) => {
            let (is_left, is_wrapping) = (*way == "l", *limit == "wrap");
            three(move |a, b, count| {
                let both = low(b, 32) << 32 | low(a, 32);
                let count = low(count, 32);
                let count = if is_wrapping { count & 31 } else { count.min(32) };
                // A shift by 32 moves one half to the other.
                low(both >> if is_left { 32 - count } else { count }, 32)
            })
        }
        ("dp4a" | "dp2a", _) => dot_product(opcode, names),
        _ => match (kind.filter(|kind| kind.kind != Kind::Float), names) {
            (None, _) => floating::compute(opcode, names),
            (Some(kind), [part @ ("wide" | "hi" | "lo"), _]) => product(opcode, part, kind),
            (Some(_), ["sat", "s32"]) => saturated(opcode),
            (Some(kind), ["shiftamt", _]) if opcode == "bfind" => whole("bfind.shiftamt", kind),
            (Some(kind), [_]) => whole(opcode, kind),
            _ => None,
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
    two(move |a, b| {
        let sum = signed(a, 32) + sign * signed(b, 32);
        low(sum.clamp(i32::MIN.into(), i32::MAX.into()) as u64, 32)
    })
}

/// A sum of the products of bytes with bytes (`dp4a`) or with two numbers of 16 bits (`dp2a`).
fn dot_product(opcode: &str, names: &[&str]) -> Option<Compute> {
    // The bits of a number of `a`, and the first byte of `b`.
    let (bits, first, kinds) = match (opcode, names) {
        ("dp4a", kinds) => (8, 0, kinds),
        ("dp2a", ["lo", kinds @ ..]) => (16, 0, kinds),
        ("dp2a", ["hi", kinds @ ..]) => (16, 2, kinds),
        _ => return None,
    };
    let [a_is_signed, b_is_signed] = match kinds {
        [a @ ("s32" | "u32"), b @ ("s32" | "u32")] => [a, b].map(|kind| *kind == "s32"),
        _ => return None,
    };
    let part = |value: u64, bits: u32, index: u32, is_signed: bool| {
        let part = low(value >> (bits * index), bits);
        if is_signed { signed(part, bits) } else { part as i64 }
    };
    three(move |a, b, c| {
        let product = |i| part(a, bits, i, a_is_signed) * part(b, 8, first + i, b_is_signed);
        let sum: i64 = (0..32 / bits).map(product).sum();
        low(c.wrapping_add(sum as u64), 32)
    })
}

/// Computes a result that is wider than a register.
pub(super) type Wide = Box<dyn Fn(&[u64; 4]) -> u128 + Send + Sync>;

/// Returns a sum or difference with the carry of the last one, `None` if it is not known. The
/// operands are `a`, `b`, `c` and the carry, and the new carry is the bit above the result.
pub(super) fn with_carry(opcode: &str, names: &[&str]) -> Option<(Wide, u32)> {
    let kind = Type::parse(names.last()?).filter(is_number)?;
    let bits = kind.bits;
    let shift = match (opcode, names) {
        ("add" | "addc" | "sub" | "subc", [_]) => None,
        ("mad" | "madc", ["lo", _]) => Some(0),
        ("mad" | "madc", ["hi", _]) => Some(bits),
        _ => return None,
    };
    let is_difference = opcode.starts_with("sub");
    let wide: Wide = Box::new(move |&[a, b, c, carry]| {
        let value = |value: u64| u128::from(low(value, bits));
        let carry = u128::from(carry);
        match shift {
            None if is_difference => value(a).wrapping_sub(value(b)).wrapping_sub(carry),
            None => value(a) + value(b) + carry,
            Some(shift) => value((times(a, b, kind) >> shift) as u64) + value(c) + carry,
        }
    });
    Some((wide, bits))
}

const fn is_number(kind: &Type) -> bool {
    matches!(kind.kind, Kind::Signed | Kind::Unsigned)
}

/// Returns the product of two integers, as its two's complement.
fn times(a: u64, b: u64, kind: Type) -> i128 {
    value_of(a, kind).wrapping_mul(value_of(b, kind))
}

/// Products and their sums with another number.
fn product(opcode: &str, part: &str, kind: Type) -> Option<Compute> {
    is_number(&kind).then_some(())?;
    let bits = kind.bits;
    let (factor, shift, wide) = match (opcode, part) {
        // Products of the lowest 24 bits, whose high part is bits 16 to 47.
        ("mul24" | "mad24", "lo") if bits == 32 => (24, 0, 32),
        ("mul24" | "mad24", "hi") if bits == 32 => (24, 16, 32),
        ("mul" | "mad", "lo") => (bits, 0, bits),
        ("mul" | "mad", "hi") => (bits, bits, bits),
        ("mul" | "mad", "wide") if bits < 64 => (bits, 0, 2 * bits),
        _ => return None,
    };
    let product = move |a, b| (times(a, b, Type { bits: factor, ..kind }) >> shift) as u64;
    match opcode.starts_with("mad") {
        true => three(move |a, b, c| low(product(a, b).wrapping_add(c), wide)),
        false => two(move |a, b| low(product(a, b), wide)),
    }
}

/// Other operations on integers and truth values.
fn whole(opcode: &str, kind: Type) -> Option<Compute> {
    let bits = kind.bits;
    let value = move |a: u64| value_of(a, kind);
    let result = move |value: i128| low(value as u64, bits);
    match opcode {
        "add" => two(move |a, b| low(a.wrapping_add(b), bits)),
        "sub" => two(move |a, b| low(a.wrapping_sub(b), bits)),
        "and" => two(move |a, b| low(a & b, bits)),
        "or" => two(move |a, b| low(a | b, bits)),
        "xor" => two(move |a, b| low(a ^ b, bits)),
        "not" => one(move |a| low(!a, bits)),
        "cnot" => one(move |a| u64::from(low(a, bits) == 0)),
        "neg" => one(move |a| low(a.wrapping_neg(), bits)),
        "abs" => one(move |a| result(value(a).abs())),
        "min" => two(move |a, b| result(value(a).min(value(b)))),
        "max" => two(move |a, b| result(value(a).max(value(b)))),
        // A division by zero sets all bits, and the remainder is the dividend, as GPUs compute it.
        "div" => two(move |a, b| result(value(a).checked_div(value(b)).unwrap_or(-1))),
        "rem" => two(move |a, b| result(value(a).checked_rem(value(b)).unwrap_or(value(a)))),
        "shl" => two(move |a, b| low(a.checked_shl(b as u32).unwrap_or(0), bits)),
        "shr" => two(move |a, b| result(value(a) >> low(b, 32).min(64))),
        "popc" => one(move |a| u64::from(low(a, bits).count_ones())),
        "clz" => one(move |a| u64::from(low(a, bits).leading_zeros() - (64 - bits))),
        "bfind" | "bfind.shiftamt" => {
            let counts_shift = opcode != "bfind";
            one(move |a| {
                // The highest bit that is not a copy of the sign.
                let ones = if value(a) < 0 { !a } else { a };
                match low(ones, bits) {
                    0 => low(u64::MAX, 32),
                    ones if counts_shift => u64::from(ones.leading_zeros() - (64 - bits)),
                    ones => u64::from(ones.ilog2()),
                }
            })
        }
        "sad" => three(move |a, b, c| {
            let distance = value(a).abs_diff(value(b));
            low(c.wrapping_add(distance as u64), bits)
        }),
        "brev" => one(move |a| low(a, bits).reverse_bits() >> (64 - bits)),
        "bfe" => three(move |a, from, count| {
            // The sign, or zeros, stand above the value and above the field.
            let field = Type { bits: (count & 255).min(64) as u32, ..kind };
            match field.bits {
                0 => 0,
                _ => result(value_of((value(a) >> (from & 255).min(127)) as u64, field)),
            }
        }),
        "bfi" => several(4, move |[a, b, from, count]| {
            let (from, count) = ((from & 255) as u32, (count & 255) as u32);
            let mask = low(u64::MAX, count).checked_shl(from).unwrap_or(0);
            low(b & !mask | a.checked_shl(from).unwrap_or(0) & mask, bits)
        }),
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
    match Type::parse(kind).filter(|kind| kind.kind != Kind::Float) {
        Some(number) if !flushes => condition(comparison, false, combined, move |a, b| {
            Some(value_of(a, number).cmp(&value_of(b, number)))
        }),
        Some(_) => None,
        None => condition(comparison, true, combined, floating::order(kind, flushes)?),
    }
}

/// Returns a comparison by the order of two numbers, which have none if one of them is NaN.
fn condition(
    name: &str,
    is_float: bool,
    combined: &str,
    order: impl Fn(u64, u64) -> Option<Ordering> + Send + Sync + 'static,
) -> Option<Compute> {
    // Names of integers in which a letter tells that they have no sign, and names of others that
    // hold if one of the numbers is NaN.
    let (name, if_nan) = match (name, is_float) {
        ("lo", false) => ("lt", false),
        ("ls", false) => ("le", false),
        ("hi", false) => ("gt", false),
        ("hs", false) => ("ge", false),
        ("equ" | "neu" | "ltu" | "leu" | "gtu" | "geu", true) => (&name[..2], true),
        ("nan", true) => (name, true),
        _ => (name, false),
    };
    let by_order: fn(Ordering) -> bool = match name {
        "eq" => Ordering::is_eq,
        "ne" => Ordering::is_ne,
        "lt" => Ordering::is_lt,
        "le" => Ordering::is_le,
        "gt" => Ordering::is_gt,
        "ge" => Ordering::is_ge,
        "num" if is_float => |_| true,
        "nan" if is_float => |_| false,
        _ => return None,
    };
    let holds = move |a, b| order(a, b).map_or(if_nan, by_order);
    match combined {
        "" => two(move |a, b| holds(a, b).into()),
        "and" => three(move |a, b, c| (holds(a, b) && c & 1 == 1).into()),
        "or" => three(move |a, b, c| (holds(a, b) || c & 1 == 1).into()),
        "xor" => three(move |a, b, c| (holds(a, b) != (c & 1 == 1)).into()),
        _ => None,
    }
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
    let function = match name {
        "add" | "min" | "max" | "and" | "or" | "xor" => whole(name, kind),
        "exch" => two(move |_, b| low(b, bits)),
        "cas" => three(move |old, expected, new| {
            low(if low(old, bits) == low(expected, bits) { new } else { old }, bits)
        }),
        "inc" => two(|old, most| if old >= most { 0 } else { old + 1 }),
        "dec" => two(|old, most| if old == 0 || old > most { most } else { old - 1 }),
        _ => None,
    };
    Some((function?, bits))
}
