//! What an instruction computes from the operands of its own thread.

use super::program::{window, window_of};
use crate::syntax::{Instruction, Kind, Type};

/// Computes a result from up to four operands.
pub(super) type Compute = Box<dyn Fn(&[u64; 4]) -> u64 + Send + Sync>;

/// Returns the lowest bits of a value.
pub(super) const fn low(value: u64, bits: u32) -> u64 {
    if bits >= 64 { value } else { value & ((1 << bits) - 1) }
}

/// Returns the lowest bits of a value as a signed number.
const fn signed(value: u64, bits: u32) -> i64 {
    let unused = 64 - bits;
    ((value << unused) as i64) >> unused
}

const fn single(value: u64) -> f32 {
    f32::from_bits(value as u32)
}

const fn double(value: u64) -> f64 {
    f64::from_bits(value)
}

/// Returns what an instruction computes, or `None` if it is not known.
pub(super) fn compute(instruction: &Instruction<'_>) -> Option<Compute> {
    let names = &instruction.modifiers[..];
    let kind = Type::parse(names.last()?);
    let is_plain = names.len() == 1;
    let half = |name| names.first() == Some(&name) && names.len() == 2;
    match instruction.opcode {
        "mov" => {
            let bits = kind.filter(|_| is_plain)?.bits;
            Some(Box::new(move |[a, ..]| low(*a, bits)))
        }
        "cvta" => {
            let (space, is_back) = match names {
                ["to", space, "u64"] => (space, true),
                [space, "u64"] => (space, false),
                _ => return None,
            };
            let start = window(space)?;
            let start = if is_back { start.wrapping_neg() } else { start };
            Some(Box::new(move |[a, ..]| a.wrapping_add(start)))
        }
        "isspacep" => {
            let start = window(names.first().filter(|_| is_plain)?)?;
            Some(Box::new(move |[a, ..]| u64::from(window_of(*a) == start)))
        }
        "cvt" => convert(names),
        "setp" => compare(names),
        "selp" => {
            let bits = kind.filter(|_| is_plain)?.bits;
            Some(Box::new(move |[a, b, c, _]| low(if *c & 1 == 1 { *a } else { *b }, bits)))
        }
        "prmt" if names == ["b32"] => Some(Box::new(|[a, b, selector, _]| {
            let bytes = (low(*b, 32) << 32) | low(*a, 32);
            (0..4).fold(0, |all, i| {
                let chosen = selector >> (4 * i) & 15;
                let byte = bytes >> (8 * (chosen & 7)) & 255;
                let byte = if chosen & 8 == 0 { byte } else { 255 * (byte >> 7) };
                all | byte << (8 * i)
            })
        })),
        "lop3" if names == ["b32"] => Some(Box::new(|[a, b, c, table]| {
            let all = (0..8).filter(|row| table >> row & 1 == 1).fold(0, |all, row| {
                let of = |value: u64, bit: u64| if row >> bit & 1 == 1 { value } else { !value };
                all | of(*a, 2) & of(*b, 1) & of(*c, 0)
            });
            low(all, 32)
        })),
        "shf" if names.len() == 3 && names[2] == "b32" => {
            let is_left = ["r", "l"].iter().position(|name| *name == names[0])? == 1;
            let is_wrapping = ["clamp", "wrap"].iter().position(|name| *name == names[1])? == 1;
            Some(Box::new(move |[a, b, c, _]| {
                let both = low(*b, 32) << 32 | low(*a, 32);
                let count = low(*c, 32);
                let count = if is_wrapping { count & 31 } else { count.min(32) };
                // A shift by 32 moves one half to the other.
                let value = if is_left { both >> (32 - count) } else { both >> count };
                low(value, 32)
            }))
        }
        opcode => {
            let kind = kind?;
            match kind.kind {
                Kind::Float => float(opcode, names, kind.bits),
                _ if half("wide") || half("hi") || half("lo") => product(opcode, names[0], kind),
                _ if is_plain => whole(opcode, kind),
                _ => None,
            }
        }
    }
}

/// Products and their sums with another number.
fn product(opcode: &str, part: &str, kind: Type) -> Option<Compute> {
    let adds = match opcode {
        "mul" => false,
        "mad" => true,
        _ => return None,
    };
    let is_signed = match kind.kind {
        Kind::Signed => true,
        Kind::Unsigned => false,
        _ => return None,
    };
    let bits = kind.bits;
    let (shift, wide) = match part {
        "lo" => (0, bits),
        "hi" => (bits, bits),
        _ if bits < 64 => (0, 2 * bits),
        _ => return None,
    };
    Some(Box::new(move |[a, b, c, _]| {
        let product = if is_signed {
            (i128::from(signed(*a, bits)) * i128::from(signed(*b, bits))) as u128
        } else {
            u128::from(low(*a, bits)) * u128::from(low(*b, bits))
        };
        let value = (product >> shift) as u64;
        low(if adds { value.wrapping_add(*c) } else { value }, wide)
    }))
}

/// Other operations on integers and truth values.
fn whole(opcode: &str, kind: Type) -> Option<Compute> {
    let bits = kind.bits;
    let is_signed = kind.kind == Kind::Signed;
    let result = |f: fn(u64, u64) -> u64| -> Option<Compute> {
        Some(Box::new(move |[a, b, ..]| low(f(*a, *b), bits)))
    };
    let ordered = |f: fn(i128, i128) -> i128| -> Option<Compute> {
        Some(Box::new(move |[a, b, ..]| {
            let of = |value: u64| match is_signed {
                true => i128::from(signed(value, bits)),
                false => i128::from(low(value, bits)),
            };
            low(f(of(*a), of(*b)) as u64, bits)
        }))
    };
    // A division by zero sets all bits, and the remainder is the dividend, as GPUs compute it.
    match opcode {
        "add" => result(u64::wrapping_add),
        "sub" => result(u64::wrapping_sub),
        "and" => result(|a, b| a & b),
        "or" => result(|a, b| a | b),
        "xor" => result(|a, b| a ^ b),
        "not" => result(|a, _| !a),
        "cnot" => Some(Box::new(move |[a, ..]| u64::from(low(*a, bits) == 0))),
        "neg" => result(|a, _| a.wrapping_neg()),
        "abs" => ordered(|a, _| a.abs()),
        "min" => ordered(Ord::min),
        "max" => ordered(Ord::max),
        "div" => ordered(|a, b| if b == 0 { -1 } else { a / b }),
        "rem" => ordered(|a, b| if b == 0 { a } else { a % b }),
        "shl" => Some(Box::new(move |[a, b, ..]| {
            let count = low(*b, 32);
            if count >= u64::from(bits) { 0 } else { low(*a << count, bits) }
        })),
        "shr" => Some(Box::new(move |[a, b, ..]| {
            let count = low(*b, 32).min(u64::from(bits)) as u32;
            if is_signed {
                low((signed(*a, bits) >> count.min(63)) as u64, bits)
            } else {
                low(*a, bits).checked_shr(count).unwrap_or(0)
            }
        })),
        "popc" => Some(Box::new(move |[a, ..]| u64::from(low(*a, bits).count_ones()))),
        "clz" => {
            Some(Box::new(move |[a, ..]| u64::from(low(*a, bits).leading_zeros() - (64 - bits))))
        }
        "brev" => Some(Box::new(move |[a, ..]| low(*a, bits).reverse_bits() >> (64 - bits))),
        "bfe" => Some(Box::new(move |[a, from, count, _]| {
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
        "bfi" => Some(Box::new(move |[a, b, from, count]| {
            let (from, count) = ((from & 255) as u32, (count & 255) as u32);
            let mask = low(u64::MAX, count).checked_shl(from).unwrap_or(0);
            low(b & !mask | a.checked_shl(from).unwrap_or(0) & mask, bits)
        })),
        _ => None,
    }
}

/// Operations on floating-point numbers, which round to the nearest number.
fn float(opcode: &str, names: &[&str], bits: u32) -> Option<Compute> {
    let rounding = &names[..names.len() - 1];
    let is_nearest = rounding == ["rn"];
    (rounding.is_empty() || is_nearest).then_some(())?;
    macro_rules! of {
        (|$a:ident, $b:ident, $c:ident| $value:expr) => {
            match bits {
                32 => Some(Box::new(|[$a, $b, $c, _]: &[u64; 4]| {
                    let ($a, $b, $c) = (single(*$a), single(*$b), single(*$c));
                    let _ = ($a, $b, $c);
                    let value: f32 = $value;
                    // GPUs have one NaN of 32 bits.
                    u64::from(if value.is_nan() { 0x7fff_ffff } else { value.to_bits() })
                }) as Compute),
                64 => Some(Box::new(|[$a, $b, $c, _]: &[u64; 4]| {
                    let ($a, $b, $c) = (double(*$a), double(*$b), double(*$c));
                    let _ = ($a, $b, $c);
                    f64::to_bits($value)
                }) as Compute),
                _ => None,
            }
        };
    }
    match opcode {
        "add" => of!(|a, b, c| a + b),
        "sub" => of!(|a, b, c| a - b),
        "mul" => of!(|a, b, c| a * b),
        "fma" if is_nearest => of!(|a, b, c| a.mul_add(b, c)),
        "div" if is_nearest => of!(|a, b, c| a / b),
        "sqrt" if is_nearest => of!(|a, b, c| a.sqrt()),
        "rcp" if is_nearest => of!(|a, b, c| 1.0 / a),
        "neg" => of!(|a, b, c| -a),
        "abs" => of!(|a, b, c| a.abs()),
        "min" => of!(|a, b, c| a.min(b)),
        "max" => of!(|a, b, c| a.max(b)),
        _ => None,
    }
}

/// Comparisons, combined with another truth value if the name says so.
fn compare(names: &[&str]) -> Option<Compute> {
    let (comparison, combined, kind) = match names {
        [comparison, kind] => (*comparison, "", *kind),
        [comparison, combined, kind] => (*comparison, *combined, *kind),
        _ => return None,
    };
    let combine: fn(bool, bool) -> bool = match combined {
        "" => |a, _| a,
        "and" => |a, b| a && b,
        "or" => |a, b| a || b,
        "xor" => |a, b| a != b,
        _ => return None,
    };
    let Type { kind, bits } = Type::parse(kind)?;
    if kind == Kind::Float {
        use std::cmp::Ordering::{Equal, Greater, Less};
        // Names with `u` also hold if one of the numbers is NaN.
        let holds: fn(Option<std::cmp::Ordering>) -> bool = match comparison {
            "eq" => |order| order == Some(Equal),
            "ne" => |order| matches!(order, Some(Less | Greater)),
            "lt" => |order| order == Some(Less),
            "le" => |order| matches!(order, Some(Less | Equal)),
            "gt" => |order| order == Some(Greater),
            "ge" => |order| matches!(order, Some(Greater | Equal)),
            "equ" => |order| matches!(order, None | Some(Equal)),
            "neu" => |order| order != Some(Equal),
            "ltu" => |order| matches!(order, None | Some(Less)),
            "leu" => |order| order != Some(Greater),
            "gtu" => |order| matches!(order, None | Some(Greater)),
            "geu" => |order| order != Some(Less),
            "num" => |order| order.is_some(),
            "nan" => |order| order.is_none(),
            _ => return None,
        };
        (bits >= 32).then_some(())?;
        return Some(Box::new(move |[a, b, c, _]| {
            let order = match bits {
                32 => single(*a).partial_cmp(&single(*b)),
                _ => double(*a).partial_cmp(&double(*b)),
            };
            u64::from(combine(holds(order), c & 1 == 1))
        }));
    }
    let holds: fn(i128, i128) -> bool = match comparison {
        "eq" => |a, b| a == b,
        "ne" => |a, b| a != b,
        "lt" | "lo" => |a, b| a < b,
        "le" | "ls" => |a, b| a <= b,
        "gt" | "hi" => |a, b| a > b,
        "ge" | "hs" => |a, b| a >= b,
        _ => return None,
    };
    Some(Box::new(move |[a, b, c, _]| {
        let of = |value: u64| match kind {
            Kind::Signed => i128::from(signed(value, bits)),
            _ => i128::from(low(value, bits)),
        };
        u64::from(combine(holds(of(*a), of(*b)), c & 1 == 1))
    }))
}

/// Conversions between types.
fn convert(names: &[&str]) -> Option<Compute> {
    let [rounding @ .., to, from] = names else { return None };
    let (to, from) = (Type::parse(to)?, Type::parse(from)?);
    let is_float = |kind: Type| kind.kind == Kind::Float;
    let (to_bits, from_bits) = (to.bits, from.bits);
    let from_signed = from.kind == Kind::Signed;
    match (is_float(to), is_float(from), rounding) {
        (false, false, []) => Some(Box::new(move |[a, ..]| {
            let value = if from_signed { signed(*a, from_bits) as u64 } else { low(*a, from_bits) };
            // A register that is wider than the type gets its sign.
            if to.kind == Kind::Signed {
                signed(value, to_bits) as u64
            } else {
                low(value, to_bits)
            }
        })),
        (true, false, ["rn"]) if to_bits >= 32 => Some(Box::new(move |[a, ..]| {
            let (sign, plain) = (signed(*a, from_bits), low(*a, from_bits));
            match (to_bits, from_signed) {
                (32, true) => u64::from((sign as f32).to_bits()),
                (32, false) => u64::from((plain as f32).to_bits()),
                (_, true) => (sign as f64).to_bits(),
                (_, false) => (plain as f64).to_bits(),
            }
        })),
        (false, true, [mode]) if from_bits >= 32 => {
            let round: fn(f64) -> f64 = match *mode {
                "rzi" => f64::trunc,
                "rni" => f64::round_ties_even,
                "rmi" => f64::floor,
                "rpi" => f64::ceil,
                _ => return None,
            };
            let is_signed = to.kind == Kind::Signed;
            let most =
                if is_signed { (1_u64 << (to_bits - 1)) - 1 } else { low(u64::MAX, to_bits) };
            Some(Box::new(move |[a, ..]| {
                let value = if from_bits == 32 { f64::from(single(*a)) } else { double(*a) };
                let value = round(value);
                // `as` gives the nearest number of the type, and zero for NaN.
                if is_signed {
                    low((value as i64).clamp(-(most as i64) - 1, most as i64) as u64, to_bits)
                } else {
                    (value as u64).min(most)
                }
            }))
        }
        (true, true, []) if (to_bits, from_bits) == (64, 32) => {
            Some(Box::new(|[a, ..]| f64::from(single(*a)).to_bits()))
        }
        (true, true, ["rn"]) if (to_bits, from_bits) == (32, 64) => {
            Some(Box::new(|[a, ..]| u64::from((double(*a) as f32).to_bits())))
        }
        _ => None,
    }
}

/// Returns what an atomic operation makes of a memory's value and its operands.
pub(super) fn update(name: &str, kind: Type) -> Option<Compute> {
    let bits = kind.bits;
    match name {
        "add" if kind.kind == Kind::Float => float("add", &["x"], bits),
        "add" | "min" | "max" | "and" | "or" | "xor" if kind.kind != Kind::Float => {
            whole(name, kind)
        }
        "exch" => Some(Box::new(move |[_, b, ..]| low(*b, bits))),
        "cas" => Some(Box::new(move |[old, expected, new, _]| {
            low(if low(*old, bits) == low(*expected, bits) { *new } else { *old }, bits)
        })),
        "inc" => Some(Box::new(|[old, most, ..]| if old >= most { 0 } else { old + 1 })),
        "dec" => {
            Some(Box::new(|[old, most, ..]| if *old == 0 || old > most { *most } else { old - 1 }))
        }
        _ => None,
    }
}
