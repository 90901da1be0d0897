//! Derives conditions on older predicates from a predicate that an instruction defines.
//!
//! Compilers combine conditions, as in `ISETP.LT.AND P0, PT, R1, 0x60, !P1`, and then use `P0` to
//! guard instructions that need `!P1`. If `P0` holds, `P1` does not hold.

use super::operand::{Name, Operand, Text};

/// The condition that a predicate has a value.
pub(super) type Condition = (Name, bool);

/// Returns conditions on the predicates that an instruction defines, each with the conditions on
/// the previous values of predicates that follow from this condition.
pub(super) fn implications(text: &Text<'_>) -> Vec<(Condition, Vec<Condition>)> {
    match (text.opcode, &text.operands[..]) {
        (
            "ISETP" | "UISETP" | "FSETP",
            [one, opposite, _, _, Operand::Predicate(Some(other), holds)],
        ) if !text.is("EX") => {
            // Each result is the comparison or its negation, combined with the last operand.
            let told = if text.is("AND") {
                true
            } else if text.is("OR") {
                false
            } else {
                return Vec::new();
            };
            let old = (*other, *holds == told);
            [one, opposite]
                .iter()
                .filter_map(|new| Some(((result(new)?, told), vec![old])))
                .collect()
        }
        (
            "PLOP3" | "UPLOP3",
            [one, other, a, b, c, Operand::Integer(first), Operand::Integer(second)],
        ) => {
            let inputs = [a, b, c];
            [(one, *first), (other, *second)]
                .into_iter()
                .filter_map(|(new, table)| Some((result(new)?, table as u8)))
                .flat_map(|(new, table)| {
                    [true, false].map(|value| ((new, value), of_table(inputs, table, value)))
                })
                .filter(|(_, old)| !old.is_empty())
                .collect()
        }
        _ => Vec::new(),
    }
}

fn result(operand: &Operand<'_>) -> Option<Name> {
    match operand {
        Operand::Predicate(name, true) => *name,
        _ => None,
    }
}

/// Returns the conditions on the inputs that hold in all rows of the table with the output `value`.
fn of_table(inputs: [&Operand<'_>; 3], table: u8, value: bool) -> Vec<Condition> {
    let literals = inputs.map(|input| match input {
        Operand::Predicate(name, holds) => Some((*name, *holds)),
        _ => None,
    });
    let [Some(a), Some(b), Some(c)] = literals else { return Vec::new() };
    let literals = [a, b, c];
    let bit = |row: usize, input: usize| row >> (2 - input) & 1 == 1;
    let rows: Vec<usize> = (0..8)
        .filter(|row| (table >> row & 1 == 1) == value)
        // An input that is always true has only one value.
        .filter(|&row| {
            (0..3).all(|input| literals[input].0.is_some() || bit(row, input) == literals[input].1)
        })
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let mut conditions = Vec::new();
    for (input, (name, holds)) in literals.into_iter().enumerate() {
        let Some(name) = name else { continue };
        let first = bit(rows[0], input);
        if rows.iter().all(|&row| bit(row, input) == first) {
            conditions.push((name, holds == first));
        }
    }
    conditions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn implied(text: &str) -> Vec<String> {
        let show = |(name, holds): Condition| format!("{}{name}", if holds { "" } else { "!" });
        implications(&Text::parse(text).unwrap())
            .into_iter()
            .map(|(new, old)| {
                let old: Vec<_> = old.into_iter().map(show).collect();
                format!("{} -> {}", show(new), old.join(" "))
            })
            .collect()
    }

    #[test]
    fn comparisons_imply_what_they_are_combined_with() {
        assert_eq!(implied("ISETP.LT.U32.AND P0, PT, R5, 0x60, !P1"), ["P0 -> !P1"]);
        assert_eq!(implied("ISETP.LT.AND P0, P2, R5, R6, P1"), ["P0 -> P1", "P2 -> P1"]);
        assert_eq!(implied("ISETP.GT.U32.OR P0, PT, R17, 0x5f, P1"), ["!P0 -> !P1"]);
        assert_eq!(implied("ISETP.GT.U32.OR P0, PT, R17, 0x5f, !P1"), ["!P0 -> P1"]);
        assert!(implied("ISETP.GT.XOR P0, PT, R17, 0x5f, P1").is_empty());
        assert!(implied("ISETP.GE.AND.EX P0, PT, R5, R6, PT, P1").is_empty());
        assert!(implied("ISETP.GE.AND P0, PT, R5, R6, PT").is_empty());
    }

    #[test]
    fn tables_imply_what_all_their_rows_have() {
        // P1 & P2.
        assert_eq!(implied("PLOP3.LUT P0, PT, P1, P2, PT, 0x80, 0x0"), ["P0 -> P1 P2"]);
        // !P1 | P2: only one row is false.
        assert_eq!(implied("PLOP3.LUT P0, PT, !P1, P2, PT, 0xa8, 0x0"), ["!P0 -> P1 !P2"]);
        // P1 and its negation.
        assert_eq!(
            implied("PLOP3.LUT P0, P3, PT, PT, P1, 0x80, 0x7f"),
            ["P0 -> P1", "!P0 -> !P1", "P3 -> !P1", "!P3 -> P1"]
        );
        // P1 ^ P2.
        assert!(implied("PLOP3.LUT P0, PT, P1, P2, PT, 0x28, 0x0").is_empty());
    }
}
