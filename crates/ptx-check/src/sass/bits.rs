//! Computes which bits of a result can depend on which bits of the operands.
//!
//! Compilers keep two halves of 16 bits in one register and overwrite one of them, so a register
//! can hold a secret in only some of its bits. This module knows the operations that move or mask
//! bits. It also knows sums, in which a bit of the result depends on no higher bit of an operand.
//! For all other operations, every bit of the result depends on every bit of the operands.

use super::operand::{Operand, Sign, Text};
use crate::flow::program::{Register, Spread};

/// All bits of a register.
const ALL: u32 = u32::MAX;

/// An operand: its register if it has one, and its value if the value is known.
#[derive(Copy, Clone, Debug, Default)]
struct Source {
    register: Option<Register>,
    constant: Option<u32>,
    sign: Sign,
}

/// A function that returns the secret bits of a register.
type Secrets<'a> = &'a dyn Fn(Register) -> u32;

impl Source {
    fn secret(self, secrets: Secrets<'_>) -> u32 {
        self.register.map_or(0, secrets)
    }
}

/// Returns the bits of a sum or product that can depend on these bits of an operand: the lowest of
/// them and all higher bits.
const fn upwards(bits: u32) -> u32 {
    bits | bits.wrapping_neg()
}

/// Returns how secret bits of `operands` spread to the only result of an instruction. Returns
/// `None` if every bit of the result may depend on every bit of the operands.
pub(super) fn spread(
    text: &Text<'_>,
    operands: &[Operand<'_>],
    register: &mut dyn FnMut(&Operand<'_>) -> Option<Register>,
) -> Option<Spread> {
    // An operand that may be negated, or no operand.
    let mut signed = |operand: &Operand<'_>| {
        let (constant, sign) = match operand {
            Operand::Register(None, sign) => (Some(0), *sign),
            // A value in a constant bank is public, but unknown here.
            Operand::Register(Some(_), sign) | Operand::Constant { sign, .. } => (None, *sign),
            Operand::Integer(value) => (Some(*value as u32), Sign::Plain),
            _ => return None,
        };
        let source = Source { register: register(operand), constant, sign };
        Some(source).filter(|source| source.sign != Sign::Other)
    };
    let is_plain = text.modifiers.is_empty();
    match (text.opcode, operands) {
        ("IMAD" | "UIMAD", [Operand::Register(None, _), Operand::Register(None, _), c])
            if matches!(text.modifiers[..], [] | ["MOV"] | ["U32"] | ["MOV", "U32"]) =>
        {
            return Some(copy(signed(c)?));
        }
        ("IMAD" | "UIMAD", [a, b, c])
            if matches!(text.modifiers[..], [] | ["U32"] | ["IADD"] | ["SHL", "U32"] | ["SHL"]) =>
        {
            return Some(product_and_sum(signed(a)?, signed(b)?, signed(c)?));
        }
        ("LEA" | "ULEA", [a, b, Operand::Integer(shift)]) if is_plain => {
            let factor = Source { constant: Some(1 << (*shift as u32 & 31)), ..Source::default() };
            return Some(product_and_sum(signed(a)?, factor, signed(b)?));
        }
        ("IADD3" | "UIADD3" | "IADD" | "VIADD", operands) if is_plain => {
            let sources: Vec<Source> = operands.iter().map(signed).collect::<Option<_>>()?;
            return Some(Box::new(move |secrets| {
                sources.iter().fold(0, |all, source| all | upwards(source.secret(secrets)))
            }));
        }
        ("MOV" | "UMOV", [a]) if is_plain => return Some(copy(signed(a)?)),
        _ => {}
    }
    // The others do not know negated operands.
    let mut source =
        |operand: &Operand<'_>| signed(operand).filter(|source| source.sign == Sign::Plain);
    Some(match (text.opcode, operands) {
        ("LOP3" | "ULOP3", [a, b, c, Operand::Integer(table), Operand::Predicate(None, false)]) => {
            logic(*table as u8, [source(a)?, source(b)?, source(c)?])
        }
        ("PRMT" | "UPRMT", [a, Operand::Integer(selector), b]) if is_plain => {
            permute(source(a)?, *selector as u32, source(b)?)
        }
        ("SHF" | "USHF", [low, Operand::Integer(count), high]) => {
            shift(&text.modifiers, source(low)?, *count, source(high)?)?
        }
        ("SEL" | "USEL", [a, b, predicate @ Operand::Predicate(..)]) if is_plain => {
            let (a, b) = (source(a)?, source(b)?);
            let chooses = register(predicate);
            Box::new(move |secrets| match chooses.map_or(0, secrets) {
                0 => a.secret(secrets) | b.secret(secrets),
                _ => ALL,
            })
        }
        ("SGXT" | "USGXT", [a, Operand::Integer(bits @ 0..32)]) if text.modifiers == ["U32"] => {
            let (a, kept) = (source(a)?, (1 << *bits) - 1);
            Box::new(move |secrets| a.secret(secrets) & kept)
        }
        _ => return None,
    })
}

/// Spreads bits through a bitwise function of three operands, given by its truth table.
fn logic(table: u8, sources: [Source; 3]) -> Spread {
    // Returns the bits in which an operand can have this value, 0 or 1.
    let can_be = |source: Source, value: usize| match (source.constant, value) {
        (None, _) => ALL,
        (Some(constant), 0) => !constant,
        (Some(constant), _) => constant,
    };
    let at = |bits: [usize; 3]| table >> (bits[0] << 2 | bits[1] << 1 | bits[2]) & 1;
    // A bit of the result depends on the bit of an operand if, for some possible bits of the two
    // other operands, a change of the operand's bit changes the result.
    let depends = [0, 1, 2].map(|changed| {
        let (one, other) = ((changed + 1) % 3, (changed + 2) % 3);
        let mut depends = 0;
        for values in [[0, 0], [0, 1], [1, 0], [1, 1]] {
            let mut bits = [0; 3];
            (bits[one], bits[other]) = (values[0], values[1]);
            let before = at(bits);
            bits[changed] = 1;
            if at(bits) != before {
                depends |= can_be(sources[one], values[0]) & can_be(sources[other], values[1]);
            }
        }
        depends
    });
    Box::new(move |secrets| {
        let each = sources.iter().zip(&depends);
        each.fold(0, |all, (source, depends)| all | source.secret(secrets) & depends)
    })
}

/// Spreads bits through a permutation: each byte of the result is one of the eight bytes of `a` and
/// `b`, or consists of copies of the highest bit of one.
fn permute(a: Source, selector: u32, b: Source) -> Spread {
    Box::new(move |secrets| {
        let from = u64::from(a.secret(secrets)) | u64::from(b.secret(secrets)) << 32;
        (0..4).fold(0, |all, byte| {
            let choice = selector >> (4 * byte) & 15;
            let chosen = (from >> (8 * (choice & 7))) as u32 & 0xff;
            let bits = match (choice & 8, chosen & 0x80) {
                (0, _) => chosen,
                (_, 0) => 0,
                _ => 0xff,
            };
            all | bits << (8 * byte)
        })
    })
}

/// Spreads bits through a copy or a negation.
fn copy(a: Source) -> Spread {
    Box::new(move |secrets| match a.sign {
        Sign::Plain => a.secret(secrets),
        _ => upwards(a.secret(secrets)),
    })
}

/// Spreads bits through `a * b + c`.
fn product_and_sum(a: Source, b: Source, c: Source) -> Spread {
    // Each known factor of two in one operand moves the bits of the other one up by one place.
    let zeros = |source: Source| source.constant.map_or(0, u32::trailing_zeros);
    let up = |bits: u32, count: u32| upwards(bits.checked_shl(count).unwrap_or(0));
    let (of_a, of_b) = (zeros(a), zeros(b));
    Box::new(move |secrets| {
        up(upwards(a.secret(secrets)), of_b)
            | up(upwards(b.secret(secrets)), of_a)
            | upwards(c.secret(secrets))
    })
}

/// Spreads bits through a shift of 64 bits in two registers by fewer than 32 places.
fn shift(modifiers: &[&str], low: Source, count: u64, high: Source) -> Option<Spread> {
    let count = u32::try_from(count).ok().filter(|count| *count < 32)?;
    let both = move |secrets: Secrets<'_>| {
        u64::from(high.secret(secrets)) << 32 | u64::from(low.secret(secrets))
    };
    Some(match modifiers {
        // The high half of a shift to the left.
        ["L", "U64", "HI"] | ["L", "W", "U32", "HI"] => {
            Box::new(move |secrets| (both(secrets) << count >> 32) as u32)
        }
        ["L", "U32"] => Box::new(move |secrets| low.secret(secrets) << count),
        // The low half of a shift to the right.
        ["R", "U64"] | ["R", "S64"] => Box::new(move |secrets| (both(secrets) >> count) as u32),
        ["R", "U32", "HI"] if low.constant == Some(0) => {
            Box::new(move |secrets| high.secret(secrets) >> count)
        }
        // An arithmetic shift fills the upper places with copies of the highest bit.
        ["R", "S32", "HI"] if low.constant == Some(0) => {
            Box::new(move |secrets| (high.secret(secrets) as i32 >> count) as u32)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the secret bits of the result of `text`, if R0, R1, ... have these secret bits.
    fn spread_of(text: &str, secrets: &[u32]) -> u32 {
        let text = Text::parse(text).unwrap();
        let operands = &text.operands[1..];
        let mut register = |operand: &Operand<'_>| match operand {
            Operand::Register(Some(name), _) | Operand::Predicate(Some(name), _) => {
                Some(Register(u32::from(name.number)))
            }
            _ => None,
        };
        let get = |register: Register| secrets[register.0 as usize];
        match spread(&text, operands, &mut register) {
            Some(spread) => spread(&get),
            None if secrets.iter().any(|&bits| bits != 0) => ALL,
            None => 0,
        }
    }

    #[test]
    fn masks_hide_bits() {
        assert_eq!(spread_of("LOP3.LUT R9, R0, 0xffff, RZ, 0xc0, !PT", &[ALL]), 0xffff);
        assert_eq!(spread_of("LOP3.LUT R9, R0, 0xffff0000, RZ, 0xfc, !PT", &[ALL]), 0xffff);
        assert_eq!(spread_of("LOP3.LUT R9, R0, R1, RZ, 0xc0, !PT", &[0xff00, 0xff]), 0xffff);
        assert_eq!(spread_of("LOP3.LUT R9, R0, R1, RZ, 0x3c, !PT", &[0, 0xf0]), 0xf0);
        // a & b | ~a & c: the table 0xca.
        assert_eq!(spread_of("LOP3.LUT R9, 0xff00, R0, R1, 0xca, !PT", &[ALL, 0]), 0xff00);
        assert_eq!(spread_of("LOP3.LUT R9, R0, 0xffff, RZ, 0x0, !PT", &[ALL]), 0);
        // The spread through an operand that is a predicate is not known.
        assert_eq!(spread_of("LOP3.LUT R9, R0, 0xffff, RZ, 0xc0, !P1", &[ALL, 0]), ALL);
        assert_eq!(spread_of("SGXT.U32 R9, R0, 0x4", &[ALL]), 15);
        assert_eq!(spread_of("SGXT R9, R0, 0x4", &[8]), ALL);
    }

    /// Returns the result of an instruction for these values of R0, R1, ... A predicate is true if
    /// its value is odd.
    fn result(text: &str, values: &[u32]) -> u32 {
        let text = Text::parse(text).unwrap();
        let operands: Vec<u32> = text.operands[1..]
            .iter()
            .map(|operand| {
                let (value, sign) = match operand {
                    Operand::Register(None, sign) => (0, *sign),
                    Operand::Register(Some(name), sign) => {
                        (values[usize::from(name.number)], *sign)
                    }
                    Operand::Integer(value) => (*value as u32, Sign::Plain),
                    Operand::Predicate(Some(name), holds) => (
                        u32::from((values[usize::from(name.number)] & 1 == 1) == *holds),
                        Sign::Plain,
                    ),
                    _ => (0, Sign::Plain),
                };
                if sign == Sign::Negative { value.wrapping_neg() } else { value }
            })
            .collect();
        let [a, b] = [operands[0], *operands.get(1).unwrap_or(&0)];
        let c = *operands.get(2).unwrap_or(&0);
        let wide = u64::from(c) << 32 | u64::from(a);
        match (text.opcode, &text.modifiers[..]) {
            ("LOP3", _) => (0..32)
                .map(|bit| {
                    let row = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | c >> bit & 1;
                    (operands[3] >> row & 1) << bit
                })
                .sum(),
            ("PRMT", _) => (0..4)
                .map(|byte| {
                    let choice = b >> (4 * byte) & 15;
                    let chosen = (wide >> (8 * (choice & 7))) as u32 & 0xff;
                    let chosen = if choice & 8 == 0 { chosen } else { (chosen >> 7) * 0xff };
                    chosen << (8 * byte)
                })
                .sum(),
            ("IADD3", _) => a.wrapping_add(b).wrapping_add(c),
            ("IMAD", _) => a.wrapping_mul(b).wrapping_add(c),
            ("LEA", _) => (a << c).wrapping_add(b),
            ("SEL", _) => [b, a][c as usize],
            ("SGXT", _) => a & ((1 << b) - 1),
            ("MOV", _) => a,
            ("SHF", ["L", .., "HI"]) => (wide << b >> 32) as u32,
            ("SHF", ["L", ..]) => a << b,
            ("SHF", ["R", "S32", "HI"]) => (c as i32 >> b) as u32,
            ("SHF", ["R", "U32", "HI"]) => c >> b,
            ("SHF", ["R", ..]) => (wide >> b) as u32,
            _ => unreachable!("{}", text.opcode),
        }
    }

    #[test]
    fn no_other_bits_depend_on_secrets() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..20_000 {
            let (table, count, number) =
                (random.u8(..), random.u32(1..32), random.u32(..) >> random.u32(0..32));
            for text in [
                format!("LOP3.LUT R9, R0, R1, R2, {table:#x}, !PT"),
                format!("LOP3.LUT R9, R0, {number:#x}, R2, {table:#x}, !PT"),
                format!("LOP3.LUT R9, R0, {number:#x}, RZ, {table:#x}, !PT"),
                format!("PRMT R9, R0, {:#x}, R2", number & 0xffff),
                "IADD3 R9, R0, -R1, R2".into(),
                format!("IMAD R9, R0, {number:#x}, R2"),
                "IMAD R9, R0, R1, -R2".into(),
                "IMAD.MOV R9, RZ, RZ, -R2".into(),
                "MOV R9, R0".into(),
                format!("LEA R9, R0, R1, {count:#x}"),
                "SEL R9, R0, R1, !P2".into(),
                format!("SGXT.U32 R9, R0, {count:#x}"),
                format!("SHF.L.U64.HI R9, R0, {count:#x}, R2"),
                format!("SHF.L.W.U32.HI R9, R0, {count:#x}, R2"),
                format!("SHF.L.U32 R9, R0, {count:#x}, RZ"),
                format!("SHF.R.U64 R9, R0, {count:#x}, R2"),
                format!("SHF.R.S64 R9, R0, {count:#x}, R2"),
                format!("SHF.R.U32.HI R9, RZ, {count:#x}, R2"),
                format!("SHF.R.S32.HI R9, RZ, {count:#x}, R2"),
            ] {
                let some = |random: &mut fastrand::Rng| match random.u32(0..4) {
                    0 => 0,
                    1 => ALL << random.u32(0..32),
                    2 => ALL >> random.u32(0..32),
                    _ => random.u32(..) & random.u32(..),
                };
                let (values, mut secrets) =
                    ([0; 3].map(|_| random.u32(..)), [0; 3].map(|_| some(&mut random)));
                if text.starts_with("SEL") {
                    // A predicate is secret as a whole or not at all.
                    secrets[2] = if random.bool() { ALL } else { 0 };
                }
                let others = [0, 1, 2].map(|at| values[at] ^ random.u32(..) & secrets[at]);
                let changed = result(&text, &values) ^ result(&text, &others);
                let told = spread_of(&text, &secrets);
                assert_eq!(changed & !told, 0, "{text} {values:x?} {others:x?}");
            }
        }
    }

    #[test]
    fn logic_agrees_with_all_values() {
        // Each of three operands of one bit is the constant 0, the constant 1, a public value or a
        // secret value.
        for table in 0..=u8::MAX {
            for kinds in 0..64_u32 {
                let kind = |operand: usize| kinds >> (2 * operand) & 3;
                let sources = [0, 1, 2].map(|operand| Source {
                    register: (kind(operand) >= 2).then_some(Register(operand as u32)),
                    constant: (kind(operand) < 2).then_some(kind(operand)),
                    sign: Sign::Plain,
                });
                let secrets = |register: Register| u32::from(kind(register.0 as usize) == 3);
                let told = logic(table, sources)(&secrets) & 1;
                let value = |operand: usize, bits: usize| match kind(operand) {
                    constant @ (0 | 1) => constant as usize,
                    _ => bits >> operand & 1,
                };
                let result = |bits| {
                    table >> (value(0, bits) << 2 | value(1, bits) << 1 | value(2, bits)) & 1
                };
                let hidden: usize =
                    (0..3).filter(|&operand| kind(operand) == 3).map(|operand| 1 << operand).sum();
                let depends = (0..8_usize).any(|one| {
                    (0..8_usize)
                        .any(|other| (one ^ other) & !hidden == 0 && result(one) != result(other))
                });
                assert_eq!(told == 1, depends, "table {table:#x}, operands {kinds:#o}");
            }
        }
    }

    #[test]
    fn bytes_go_where_they_are_put() {
        assert_eq!(spread_of("PRMT R9, R0, 0x5410, R1", &[0xffff_0000, 0]), 0);
        assert_eq!(spread_of("PRMT R9, R0, 0x5410, R1", &[0, 0xffff]), 0xffff_0000);
        assert_eq!(spread_of("PRMT R9, R0, 0x7632, R1", &[0xffff, 0xff00_0000]), 0xff00_0000);
        // The digits 9 of the selector copy the sign of byte 1.
        assert_eq!(spread_of("PRMT R9, R0, 0x9910, RZ", &[0x8000]), 0xffff_8000);
        assert_eq!(spread_of("PRMT R9, R0, 0x9910, RZ", &[0x7fff]), 0x7fff);
        assert_eq!(spread_of("PRMT R9, R0, R1, R2", &[1, 0, 0]), ALL);
    }

    #[test]
    fn sums_carry_upwards() {
        assert_eq!(spread_of("IADD3 R9, R0, -R1, RZ", &[0x100, 0x10000]), 0xffff_ff00);
        assert_eq!(spread_of("IMAD R9, R0, 0x6, R1", &[0x80, 0]), 0xffff_ff00);
        assert_eq!(spread_of("IMAD R9, R0, R1, RZ", &[0x80, 0]), 0xffff_ff80);
        assert_eq!(spread_of("IMAD R9, R0, RZ, R1", &[0x80, 0]), 0);
        assert_eq!(spread_of("IMAD.MOV R9, RZ, RZ, -R0", &[0x80]), 0xffff_ff80);
        assert_eq!(spread_of("IMAD.MOV.U32 R9, RZ, RZ, R0", &[0x80]), 0x80);
        assert_eq!(spread_of("IMAD.HI.U32 R9, R0, 0x6, RZ", &[0x80]), ALL);
        assert_eq!(spread_of("LEA R9, R0, R1, 0x4", &[1, 0x100]), 0xffff_fff0);
        assert_eq!(spread_of("LEA R9, R0, ~R1, 0x4", &[1, 0]), ALL);
        assert_eq!(spread_of("IADD3.X R9, R0, R1, RZ, P2, !PT", &[0, 0x8000_0000, 0]), ALL);
        assert_eq!(spread_of("IADD3 R9, R0, ~R1, RZ", &[0, 0x100]), ALL);
    }

    #[test]
    fn shifts_move_bits() {
        assert_eq!(spread_of("SHF.R.U32.HI R9, RZ, 0x8, R0", &[0xff00]), 0xff);
        assert_eq!(spread_of("SHF.R.S32.HI R9, RZ, 0x8, R0", &[0x8000_0000]), 0xff80_0000);
        assert_eq!(spread_of("SHF.L.U32 R9, R0, 0x8, RZ", &[0xff00]), 0xff_0000);
        assert_eq!(spread_of("SHF.L.W.U32.HI R9, R0, 0x8, R1", &[0xff00_0000, 0]), 0xff);
        assert_eq!(spread_of("SHF.R.U64 R9, R0, 0x8, R1", &[0, 0xff]), 0xff00_0000);
        // The shift count is in a register, or is too large.
        assert_eq!(spread_of("SHF.R.U32.HI R9, RZ, R1, R0", &[0xff00, 0]), ALL);
        assert_eq!(spread_of("SHF.R.U64 R9, R0, 0x28, R1", &[0xff00, 0]), ALL);
    }

    #[test]
    fn choices_depend_on_the_predicate() {
        assert_eq!(spread_of("SEL R9, R0, R1, P2", &[0xf0, 0xf, 0]), 0xff);
        assert_eq!(spread_of("SEL R9, RZ, 0x1, !P0", &[ALL]), ALL);
    }
}
