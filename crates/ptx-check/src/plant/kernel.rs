//! Changes the text of a kernel so that it leaks a secret.
//!
//! The secret comes from a register that the kernel has loaded from one of its arrays in the same
//! basic block, or from a new load from such an array. The planted code scrambles the secret, so
//! that the assembler cannot predict it, carries it through registers, shared memory, another
//! thread or a matrix product, and uses it where a secret must not be used. This module does not
//! depend on the analysis.

use std::collections::{BTreeMap, HashSet};

use super::Kind;

/// A statement that has a line of its own.
#[derive(Clone, Debug)]
struct Statement<'a> {
    guard: Option<&'a str>,
    opcode: &'a str,
    operands: Vec<&'a str>,
}

impl<'a> Statement<'a> {
    /// Reads a statement. A matrix product takes several lines, of which this reads the first.
    fn parse(line: &'a str) -> Option<Self> {
        let text = line.trim();
        let text = if text.starts_with("mma.") { text } else { text.strip_suffix(';')? };
        if text.starts_with(['.', '{', '}', '$']) || text.contains(';') {
            return None;
        }
        let (guard, text) = match text.strip_prefix('@') {
            Some(text) => {
                let (guard, text) = text.split_once([' ', '\t'])?;
                (Some(guard), text.trim())
            }
            None => (None, text),
        };
        let (opcode, rest) = text.split_once([' ', '\t']).unwrap_or((text, ""));
        let (mut operands, mut depth, mut from) = (Vec::new(), 0, 0);
        for (at, c) in rest.char_indices() {
            match c {
                '{' | '[' => depth += 1,
                '}' | ']' => depth -= 1,
                ',' if depth == 0 => {
                    operands.push(rest[from..at].trim());
                    from = at + 1;
                }
                _ => {}
            }
        }
        operands.extend(Some(rest[from..].trim()).filter(|last| !last.is_empty()));
        Some(Self { guard, opcode, operands })
    }

    fn is(&self, prefix: &str) -> bool {
        self.opcode.starts_with(prefix)
    }

    /// Returns whether the statement writes its first operand.
    fn writes(&self) -> bool {
        !["st.", "bra", "ret", "bar", "exit"].iter().any(|prefix| self.is(prefix))
    }
}

/// Returns the registers in a text.
fn registers(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '%' || c == '_' || c == '.';
    text.split(move |c: char| !is_name(c)).filter(|word| is_register(word))
}

/// Returns whether a word is a data register of 16, 32 or 64 bits.
fn is_register(word: &str) -> bool {
    let number = ["%rs", "%rd", "%r"].iter().find_map(|file| word.strip_prefix(file));
    number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
    })
}

/// Sequences of statements. Each carries the scrambled secret from `%m8` through other places back
/// to `%m8`.
const CARRIERS: &[&str] = &[
    "mov.b32 %m8, %m8;",
    "mov.u32 %m7, shared_memory;\nst.shared.u32 [%m7], %m8;\nld.shared.u32 %m8, [%m7];",
    "mov.u32 %m7, shared_memory;\nst.shared.u32 [%m7], %m8;\n\
        ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%m8, %m5, %m4, %m3}, [%m7];",
    "shfl.sync.idx.b32 %m8, %m8, 0, 31, -1;",
    "shr.u32 %m7, %m8, 1;\nmin.u32 %m8, %m8, %m7;\nshl.b32 %m8, %m8, 2;",
    "mov.b32 %m7, 0;\nmov.b32 %m6, 1;\n\
        mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%m8, %m5, %m4, %m3}, \
        {%m8, %m8, %m8, %m8}, {%m6, %m6}, {%m7, %m7, %m7, %m7};\nmul.lo.s32 %m8, %m8, -1640531527;",
];

/// A kernel as text.
pub(super) struct Kernel<'a> {
    pub(super) name: &'a str,
    pub(super) lines: &'a [&'a str],
    /// The names of the parameters that point to arrays.
    pub(super) arrays: Vec<&'a str>,
    /// For each line, its statement, if the line can be replaced.
    statements: Vec<Option<Statement<'a>>>,
    /// For each line, the registers that were loaded from arrays before it in the same basic block.
    loaded: Vec<Vec<&'a str>>,
}

impl<'a> Kernel<'a> {
    pub(super) fn read(lines: &'a [&'a str], tables: &[&str]) -> Self {
        let name =
            lines[0].trim_start_matches(".visible .entry ").trim_end_matches(['(', ')', ' ']);
        let arrays = lines
            .iter()
            .take_while(|line| !line.starts_with('{'))
            .filter(|line| line.contains(" .ptr"))
            .filter_map(|line| line.trim_end_matches(',').rsplit([' ', '\t']).next())
            .collect();
        let (mut depth, mut is_whole) = (0, true);
        let mut statements = Vec::new();
        for line in lines {
            let code = line.trim();
            let alone = is_whole && depth == 1 && !code.starts_with('{');
            statements.push(Statement::parse(line).filter(|_| alone));
            depth += code.matches('{').count();
            depth -= code.matches('}').count();
            is_whole = code.ends_with([';', ':', '{', '}', ')']) || code.starts_with('.');
        }
        let mut kernel = Self { name, lines, arrays, statements, loaded: Vec::new() };
        kernel.loaded = kernel.loads(tables);
        kernel
    }

    /// Returns for each line the registers that were loaded from arrays before it in the same basic
    /// block.
    fn loads(&self, tables: &[&str]) -> Vec<Vec<&'a str>> {
        let pointers = self.derived(&|statement| {
            statement.is("ld.param") && statement.operands.iter().any(|from| self.names_array(from))
        });
        let others = self.derived(&|statement| {
            statement
                .operands
                .iter()
                .any(|operand| tables.iter().any(|table| operand.contains(table)))
        });
        let mut loaded: Vec<&str> = Vec::new();
        let mut by_lines = Vec::new();
        for (line, statement) in self.lines.iter().zip(&self.statements) {
            by_lines.push(loaded.clone());
            let Some(statement) = statement else {
                // The line is a label, or part of a longer statement, which may write any register
                // that it names.
                let named: Vec<&str> = registers(line).collect();
                loaded.retain(|register| !named.contains(register) && !line.contains(':'));
                continue;
            };
            if statement.is("bra") || statement.is("ret") {
                loaded.clear();
            } else if statement.writes()
                && let Some(first) = statement.operands.first()
            {
                let written: Vec<&str> = registers(first).collect();
                loaded.retain(|register| !written.contains(register));
                let from: Vec<&str> =
                    statement.operands[1..].iter().copied().flat_map(registers).collect();
                let is_array = from.iter().any(|register| pointers.contains(register))
                    && !from.iter().any(|register| others.contains(register));
                if statement.is("ld.global") && statement.guard.is_none() && is_array {
                    loaded.extend(written);
                }
            }
        }
        by_lines
    }

    /// Returns whether a line other than the one at `site` names this register.
    fn is_read(&self, register: &str, site: usize) -> bool {
        let others = self.lines.iter().enumerate().filter(|(at, _)| *at != site);
        others.flat_map(|(_, line)| registers(line)).any(|other| other == register)
    }

    /// Returns whether a branch skips nothing but moves between registers. The assembler replaces
    /// such a branch by selections, and these leak nothing.
    fn skips_moves(&self, site: usize, label: &str) -> bool {
        let is_label = |line: &&str| line.trim().strip_suffix(':') == Some(label);
        let Some(length) = self.lines[site + 1..].iter().position(is_label) else {
            return false;
        };
        let mut skipped = self.statements[site + 1..][..length].iter();
        skipped.all(|statement| statement.as_ref().is_some_and(|statement| statement.is("mov.")))
    }

    fn names_array(&self, operand: &str) -> bool {
        self.arrays.iter().any(|array| operand.trim_matches(['[', ']']) == *array)
    }

    /// Returns the registers that address arithmetic derives from the results of statements for
    /// which `begins` is true.
    fn derived(&self, begins: &dyn Fn(&Statement<'_>) -> bool) -> HashSet<&'a str> {
        let mut derived = HashSet::new();
        loop {
            let before = derived.len();
            for statement in self.statements.iter().flatten().filter(|statement| statement.writes())
            {
                let Some((to, from)) = statement.operands.split_first() else { continue };
                let is_load = statement.is("ld.global") || statement.is("ld.shared");
                let follows = || {
                    from.iter()
                        .copied()
                        .flat_map(registers)
                        .any(|register| derived.contains(register))
                };
                if !is_load && (begins(statement) || follows()) {
                    derived.extend(registers(to));
                }
            }
            if derived.len() == before {
                return derived;
            }
        }
    }

    /// Returns whether a leak of this kind at this place may make public values secret.
    ///
    /// The content of arrays and of shared memory is secret anyway, so a leak at a load from them
    /// changes no public value. A leak at a load from a table or at a shuffle may change one. So
    /// may a leak at a branch, which the assembler may replace by selections between values.
    pub(super) fn spreads(&self, kind: Kind, site: usize) -> bool {
        match kind {
            Kind::Branch | Kind::ShuffleLane | Kind::ShuffleWidth | Kind::GuardedProduct => true,
            Kind::GlobalLoad | Kind::Choice | Kind::GuardedLoad => {
                let statement = self.statements[site].as_ref();
                let Some(load) = statement.filter(|statement| statement.is("ld.global")) else {
                    return false;
                };
                let mut to = load.operands.first().copied().into_iter().flat_map(registers);
                !to.all(|register| self.loaded[site + 1].contains(&register))
            }
            _ => false,
        }
    }

    /// Returns the kernel's text with some lines replaced by `changes`.
    pub(super) fn with(&self, changes: &BTreeMap<usize, String>) -> String {
        let mut text = String::new();
        for (at, line) in self.lines.iter().enumerate() {
            text.push_str(changes.get(&at).map_or(line, String::as_str));
            text.push('\n');
            if *line == "{" {
                text.push_str(
                    ".reg .b32 %m<9>;\n\
                    .reg .b64 %md<6>;\n\
                    .reg .b16 %ms<3>;\n\
                    .reg .pred %mp<3>;\n\
                    .loc\t1 1 0\n",
                );
            }
        }
        text
    }

    /// Returns the lines that replace the line at `site` to plant a leak of this kind, or `None` if
    /// the leak does not fit there.
    pub(super) fn change(
        &self,
        kind: Kind,
        site: usize,
        random: &mut fastrand::Rng,
        tables: &[&str],
    ) -> Option<Vec<String>> {
        let statement = self.statements[site].as_ref()?;
        let line = self.lines[site];
        let address =
            || statement.operands.iter().find(|operand| operand.starts_with('[')).copied();
        let is_store = statement.is("st.global") || statement.is("st.shared");
        // Adds 0 or 16 to the address of the statement, depending on the secret.
        let displaced = || -> Option<Vec<String>> {
            let address = address()?;
            let base = registers(address).next()?;
            let (add, new) = if base.starts_with("%rd") {
                (format!("cvt.u64.u32 %md1, %m2;\nadd.s64 %md2, {base}, %md1;"), "%md2")
            } else {
                (format!("add.s32 %m3, {base}, %m2;"), "%m3")
            };
            Some(vec![add, line.replacen(address, &renamed(address, base, new), 1)])
        };
        // Mixes `%m4` into the value that the statement stores.
        let mixed = || -> Option<Vec<String>> {
            let data = statement.operands.get(1).filter(|data| is_register(data))?;
            let (mix, new) = if data.starts_with("%rd") {
                (format!("cvt.u64.u32 %md4, %m4;\nxor.b64 %md5, {data}, %md4;"), "%md5")
            } else if data.starts_with("%rs") {
                (format!("cvt.u16.u32 %ms1, %m4;\nxor.b16 %ms2, {data}, %ms1;"), "%ms2")
            } else {
                (format!("xor.b32 %m5, {data}, %m4;"), "%m5")
            };
            let address = statement.operands[0];
            Some(vec![mix, format!("{} {address}, {new};", statement.opcode)])
        };
        let unguarded = statement.guard.is_none();
        let leak: Vec<String> = match kind {
            Kind::GlobalLoad if unguarded && statement.is("ld.global") => displaced()?,
            Kind::GlobalStore if unguarded && statement.is("st.global") => displaced()?,
            Kind::SharedLoad if unguarded && statement.is("ld.shared") => displaced()?,
            Kind::SharedStore if unguarded && statement.is("st.shared") => displaced()?,
            Kind::Choice if unguarded && statement.is("ld.global") => {
                let address = address()?;
                let base = registers(address).next().filter(|base| base.starts_with("%rd"))?;
                let choose = format!(
                    "add.s64 %md1, {base}, 16;\n\
                    selp.b64 %md2, {base}, %md1, %mp0;"
                );
                vec![choose, line.replacen(address, &renamed(address, base, "%md2"), 1)]
            }
            Kind::TableIndex if unguarded && is_store && !tables.is_empty() => {
                let table = random.choice(tables)?;
                let load = format!(
                    "mov.b64 %md1, {table};\n\
                        cvt.u64.u32 %md2, %m2;\n\
                        add.s64 %md1, %md1, %md2;\n\
                        ld.global.nc.b32 %m4, [%md1];"
                );
                [vec![load], mixed()?].concat()
            }
            Kind::ParameterIndex if unguarded && is_store => {
                let array = random.choice(&self.arrays)?;
                let load = format!(
                    "mov.b64 %md1, {array};\n\
                        shl.b32 %m6, %m1, 2;\n\
                        cvt.u64.u32 %md2, %m6;\n\
                        add.s64 %md1, %md1, %md2;\n\
                        ld.param.b32 %m4, [%md1];"
                );
                [vec![load], mixed()?].concat()
            }
            Kind::Branch if statement.opcode == "bra" => {
                let guard = statement.guard?;
                let name = guard.trim_start_matches('!');
                let new = guard.replace(name, "%mp1");
                let label = statement.operands.first()?;
                (!self.skips_moves(site, label)).then_some(())?;
                vec![format!("xor.pred %mp1, {name}, %mp0;"), format!("@{new} bra {label};")]
            }
            Kind::Skip if unguarded && is_store => {
                vec!["@%mp0 bra $MSKIP;".into(), line.to_owned(), "$MSKIP:".into()]
            }
            Kind::Loop if unguarded && is_store => {
                let array = random.choice(&self.arrays)?;
                vec![
                    format!(
                        "mov.u32 %m4, 0;\n\
                        ld.param.b64 %md1, [{array}];\n\
                        cvta.to.global.u64 %md1, %md1;"
                    ),
                    "$MLOOP:\nst.volatile.global.b8 [%md1], %m4;\nadd.s32 %m4, %m4, 1;".into(),
                    "setp.le.u32 %mp1, %m4, %m1;\n@%mp1 bra $MLOOP;".into(),
                    line.to_owned(),
                ]
            }
            Kind::Exit if unguarded && is_store => vec!["@%mp0 ret;".into(), line.to_owned()],
            // The load is volatile, because the assembler may read other words together with their
            // neighbours, and select afterwards. Loads of constant data are left out, because the
            // assembler may move them in front of their guard.
            Kind::GuardedLoad
                if unguarded && (statement.is("ld.global.b") || statement.is("ld.shared")) =>
            {
                let to = statement.operands.first().filter(|to| is_register(to))?;
                let bits = match to.as_bytes() {
                    [b'%', b'r', b's', ..] => 16,
                    [b'%', b'r', b'd', ..] => 64,
                    _ => 32,
                };
                let load = line.trim().replacen("ld.", "ld.volatile.", 1);
                vec![format!("mov.b{bits} {to}, 0;"), format!("@%mp0 {load}")]
            }
            Kind::GuardedStore if unguarded && is_store => vec![format!("@%mp0 {}", line.trim())],
            Kind::GuardedBarrier if unguarded && statement.is("bar.sync") => {
                vec![format!("@%mp0 {}", line.trim())]
            }
            Kind::GuardedProduct if line.trim().starts_with("mma.") => {
                vec![format!("@%mp0 {}", line.trim())]
            }
            // The assembler removes a shuffle whose result is never read.
            Kind::ShuffleWidth if unguarded && statement.is("shfl.sync.idx") => {
                let mut operands = statement.operands.clone();
                self.is_read(operands.first()?, site).then_some(())?;
                *operands.get_mut(3)? = "%m3";
                let shuffle = format!("{} {};", statement.opcode, operands.join(", "));
                vec!["sub.s32 %m3, 31, %m1;".into(), shuffle]
            }
            Kind::ShuffleLane if unguarded && statement.is("shfl.sync.idx") => {
                let mut operands = statement.operands.clone();
                let lane = operands.get(2)?.to_owned();
                self.is_read(operands[0], site).then_some(())?;
                *operands.get_mut(2)? = "%m3";
                let shuffle = format!("{} {};", statement.opcode, operands.join(", "));
                vec![format!("xor.b32 %m3, {lane}, %m1;"), shuffle]
            }
            Kind::Division if unguarded && is_store => {
                let divide = "or.b32 %m6, %m8, 1;\n\
                    mov.u32 %m7, %tid.x;\n\
                    add.s32 %m7, %m7, 77777;\n\
                    div.u32 %m4, %m7, %m6;";
                [vec![divide.into()], mixed()?].concat()
            }
            _ => return None,
        };
        Some([self.secret(site, random)?, leak].concat())
    }

    /// Returns statements that scramble a secret into `%m8`, and derive from it one bit in `%m1`,
    /// the number 0 or 16 in `%m2`, and a condition in `%mp0`.
    fn secret(&self, site: usize, random: &mut fastrand::Rng) -> Option<Vec<String>> {
        let near = &self.loaded[site];
        let secret = match near.len() {
            count @ 1.. if random.bool() => {
                let register = near[random.usize(count.saturating_sub(8)..count)];
                if register.starts_with("%rd") {
                    format!("mov.b64 {{%m0, %m8}}, {register};\nxor.b32 %m0, %m0, %m8;")
                } else if register.starts_with("%rs") {
                    format!("cvt.u32.u16 %m0, {register};")
                } else {
                    format!("mov.b32 %m0, {register};")
                }
            }
            _ => {
                let array = random.choice(&self.arrays)?;
                let offset = random.u32(0..64);
                format!(
                    "ld.param.b64 %md0, [{array}];\n\
                        cvta.to.global.u64 %md0, %md0;\n\
                        ld.global.b8 %m0, [%md0+{offset}];"
                )
            }
        };
        let carrier = random.choice(CARRIERS)?;
        let (factor, shift) = (random.u32(..) | 1 | 1 << 31, random.u32(20..32));
        let bit = match random.u32(0..5) {
            0 => format!("shr.u32 %m1, %m8, {shift};\nand.b32 %m1, %m1, 1;"),
            1 => format!(
                "setp.gt.u32 %mp2, %m8, {};\n\
                selp.b32 %m1, 1, 0, %mp2;",
                random.u32(1 << 30..3 << 30)
            ),
            2 => "mov.b32 {%ms1, %ms2}, %m8;\n\
                xor.b16 %ms1, %ms1, %ms2;\n\
                and.b16 %ms1, %ms1, 1;\n\
                cvt.u32.u16 %m1, %ms1;"
                .into(),
            3 => "prmt.b32 %m1, %m8, 0, 0x4443;\nbfe.u32 %m1, %m1, 3, 1;".into(),
            _ => format!(
                "mul.wide.u32 %md1, %m8, {factor};\n\
                    shr.u64 %md1, %md1, {};\n\
                    cvt.u32.u64 %m1, %md1;\n\
                    and.b32 %m1, %m1, 1;",
                shift + 20
            ),
        };
        Some(vec![
            secret,
            format!("mul.lo.s32 %m8, %m0, {factor};"),
            (*carrier).into(),
            bit,
            "shl.b32 %m2, %m1, 4;\nsetp.ne.u32 %mp0, %m1, 0;".into(),
        ])
    }
}

/// Returns `text` with the register `old` renamed to `new`.
fn renamed(text: &str, old: &str, new: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(old) {
        let (before, after) = (&rest[..at], &rest[at + old.len()..]);
        result.push_str(before);
        let is_longer = after.starts_with(|c: char| c.is_ascii_digit());
        result.push_str(if is_longer { old } else { new });
        rest = after;
    }
    result + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plant::tests::PTX;

    fn kernel<R>(look: impl FnOnce(Kernel<'_>) -> R) -> R {
        let lines: Vec<&str> = PTX.lines().skip(3).collect();
        look(Kernel::read(&lines, &["table_0"]))
    }

    #[test]
    fn finds_registers_loaded_from_arrays() {
        kernel(|kernel| {
            assert_eq!(kernel.arrays, ["a_653_param_0"]);
            let at = |text: &str| kernel.lines.iter().position(|line| line.contains(text)).unwrap();
            assert_eq!(kernel.loaded[at("%r5, [%rd2+8]")], ["%r3", "%r4"]);
            assert_eq!(kernel.loaded[at("bar.sync")], ["%r3", "%r5"]);
            // After a label, no register is known to be loaded.
            assert!(kernel.loaded[at("\tret")].is_empty());
        });
    }

    /// Returns whether a branch that is followed by these lines is a place for a leak.
    fn is_place(skipped: &str) -> bool {
        let text = PTX
            .replace("\tst.shared.u32 \t[%r1], %r7;\n\tst.global.b32 \t[%rd2+12], %r7;", skipped);
        let lines: Vec<&str> = text.lines().skip(3).collect();
        let kernel = Kernel::read(&lines, &["table_0"]);
        let site = lines.iter().position(|line| line.contains("bra")).unwrap();
        let mut random = fastrand::Rng::with_seed(1);
        kernel.change(Kind::Branch, site, &mut random, &[]).is_some()
    }

    #[test]
    fn branches_over_moves_are_no_places_for_leaks() {
        assert!(is_place("\tst.shared.u32 \t[%r1], %r7;"));
        assert!(!is_place("\tmov.b32 \t%r1, %r7;"));
        assert!(is_place("\tmov.b32 \t%r1, %r7;\n\tst.shared.u32 \t[%r1], %r7;"));
        assert!(is_place("\tmov.b32 \t%r1, %r7;\n$L_2:"));
    }

    #[test]
    fn renames_whole_registers() {
        assert_eq!(renamed("[%rd1+%rd10]", "%rd1", "%md2"), "[%md2+%rd10]");
    }
}
