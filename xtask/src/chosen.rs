//! Addresses that PTX chooses between: what can become of a masked selection of secrets.
//!
//! `x ^ (mask & (x ^ y))` has no condition in it. But if the compiler sees that `mask` is all zeros or all ones, and `x` and `y`
//! have just been loaded, it may choose one of the two addresses and load once. Where a cache line was touched can be observed.

use std::collections::HashSet;

/// The registers of a function that hold one of two 64-bit numbers by a condition, or a sum with such a number. An index that
/// depends on a condition has 32 bits and is none of them.
#[derive(Debug, Default)]
pub struct Chosen<'a>(HashSet<&'a str>);

impl<'a> Chosen<'a> {
    /// Follows an instruction; returns whether it uses a chosen address.
    pub fn read(&mut self, instruction: &'a str) -> bool {
        let (name, operands) = instruction.split_once(char::is_whitespace).unwrap_or((instruction, ""));
        if name.starts_with('@') {
            // A predicate stands before the instruction.
            return self.read(operands.trim_start());
        }
        let mut registers = registers(operands);
        match name.split('.').next() {
            Some("selp") if name.ends_with("64") => self.0.extend(registers.next()),
            Some("add" | "sub" | "mov") => {
                let result = registers.next();
                if registers.any(|register| self.0.contains(register)) {
                    self.0.extend(result);
                }
            }
            Some("ld" | "st") => return address(operands).is_some_and(|register| self.0.contains(register)),
            _ => {}
        }
        false
    }
}

/// The registers of a list of operands.
fn registers(operands: &str) -> impl Iterator<Item = &str> {
    operands.split(|c: char| c != '%' && !c.is_ascii_alphanumeric()).filter(|word| word.starts_with('%'))
}

/// The register in brackets.
fn address(operands: &str) -> Option<&str> {
    let (inside, _) = operands.split_once('[')?.1.split_once(']')?;
    registers(inside).next()
}

#[cfg(test)]
mod tests {
    use super::Chosen;

    fn uses_chosen(instructions: &[&str]) -> bool {
        let mut chosen = Chosen::default();
        instructions.iter().fold(false, |found, instruction| found | chosen.read(instruction))
    }

    #[test]
    fn finds_addresses() {
        let choice = "selp.b64 \t%rd3, %rd1, %rd2, %p1;";
        assert!(uses_chosen(&[choice, "ld.global.b64 \t%rd4, [%rd3+8];"]));
        assert!(uses_chosen(&[choice, "@%p2 st.global.b64 \t[%rd3], %rd1;"]));
        assert!(uses_chosen(&[
            choice,
            "add.s64 \t%rd5, %rd4, %rd3;",
            "ld.global.v2.b64 \t{%rd6, %rd7}, [%rd5];"
        ]));
    }

    #[test]
    fn passes_what_is_no_address() {
        let choice = "selp.b64 \t%rd3, %rd1, %rd2, %p1;";
        assert!(!uses_chosen(&[choice, "st.global.b64 \t[%rd1], %rd3;", "ld.global.b64 \t%rd4, [%rd30];"]));
        assert!(!uses_chosen(&[
            "selp.b32 \t%r3, %r1, 0, %p1;",
            "add.s32 \t%r4, %r3, 1;",
            "ld.shared.u32 \t%r5, [%r4];"
        ]));
        assert!(!uses_chosen(&["ld.param.b64 \t%rd1, [select_761_param_0];", "ret;"]));
    }
}
