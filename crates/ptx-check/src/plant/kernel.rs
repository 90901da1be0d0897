//! Changes the text of a kernel so that it leaks a secret.
//!
//! The secret comes from a register that the kernel has loaded from one of its arrays in the same
//! basic block, or from a new load from such an array. The planted code scrambles the secret, so
//! that the assembler cannot predict it, carries it through registers, shared memory, another
//! thread or a matrix product, and uses it where a secret must not be used. This module does not
//! depend on the analysis.

use std::collections::{BTreeMap, HashSet};

use super::Kind;
use crate::syntax::{Function, Instruction, Operand, Register};

fn is(read: &Instruction<'_>, opcode: &str, modifiers: &[&str]) -> bool {
    read.opcode == opcode && read.modifiers.starts_with(modifiers)
}

/// Returns whether an instruction only computes: it accesses no memory and no other thread, and the
/// next instruction follows.
fn is_arithmetic(read: &Instruction<'_>) -> bool {
    !matches!(
        read.opcode,
        "ld" | "st" | "atom" | "red" | "bar" | "shfl" | "mma" | "ldmatrix" | "bra" | "ret" | "call"
    )
}

/// Returns whether an instruction writes its first operand.
fn writes(read: &Instruction<'_>) -> bool {
    !matches!(read.opcode, "st" | "bra" | "ret" | "bar" | "exit")
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

/// A kernel and its text. The places for leaks are instructions, by their indices.
pub(super) struct Kernel<'a> {
    pub(super) function: &'a Function<'a>,
    lines: &'a [&'a str],
    /// The names of the parameters that point to arrays.
    pub(super) arrays: Vec<&'a str>,
    /// For each instruction, its line, unless it shares the line with others or with braces.
    own_lines: Vec<Option<usize>>,
    /// For each instruction, the registers that were loaded from arrays before it in the same basic
    /// block.
    loaded: Vec<Vec<usize>>,
}

impl<'a> Kernel<'a> {
    /// Reads a kernel of a text with these lines.
    pub(super) fn read(function: &'a Function<'a>, lines: &'a [&'a str], tables: &[&str]) -> Self {
        let start = function.at.line - 1;
        let length = lines[start..].iter().position(|line| *line == "}");
        let lines = &lines[start..][..length.map_or(lines.len() - start, |length| length + 1)];
        let pointers = function.parameters.iter().filter(|parameter| parameter.is_pointer);
        let mut depth = 0;
        let depth_before = |line: &&str| {
            let before = depth;
            depth = (before + line.matches('{').count()).saturating_sub(line.matches('}').count());
            before
        };
        let depths: Vec<usize> = lines.iter().map(depth_before).collect();
        let own_line = |read: &Instruction<'_>| {
            let line = read.at.line - 1 - start;
            // Braces of the kernel may end before it does.
            let code = lines.get(line)?.trim();
            let is_alone = code.strip_suffix(';').unwrap_or(code) == read.text.lines().next()?;
            (depths[line] == 1 && is_alone).then_some(line)
        };
        let mut kernel = Self {
            function,
            lines,
            arrays: pointers.map(|parameter| parameter.name).collect(),
            own_lines: function.code.iter().map(own_line).collect(),
            loaded: Vec::new(),
        };
        kernel.loaded = kernel.loads(tables);
        kernel
    }

    /// Returns the places at which a leak can be planted.
    pub(super) fn sites(&self) -> impl Iterator<Item = usize> {
        (0..self.own_lines.len()).filter(|&site| self.own_lines[site].is_some())
    }

    /// Returns a register of 16, 32 or 64 bits.
    fn register(&self, operand: &Operand<'_>) -> Option<&Register<'a>> {
        let Operand::Register(index) = operand else { return None };
        Some(&self.function.registers[*index]).filter(|register| register.kind.bits >= 16)
    }

    /// Returns the registers of 16, 32 or 64 bits in operands.
    fn registers(&self, operands: &[Operand<'_>]) -> impl Iterator<Item = usize> {
        let leaves = operands.iter().flat_map(Operand::leaves);
        leaves.filter_map(|leaf| match leaf {
            Operand::Register(index) => self.register(leaf).map(|_| *index),
            _ => None,
        })
    }

    /// Returns the register of the address that an instruction accesses.
    fn base(&self, read: &Instruction<'_>) -> Option<&Register<'a>> {
        read.operands.iter().find_map(|operand| match operand {
            Operand::Address(base, _) => self.register(base),
            _ => None,
        })
    }

    /// Returns for each instruction the registers that were loaded from arrays before it in the
    /// same basic block.
    fn loads(&self, tables: &[&str]) -> Vec<Vec<usize>> {
        let names = |read: &Instruction<'_>, names: &[&str]| {
            let mut leaves = read.operands.iter().flat_map(Operand::leaves);
            leaves.any(|leaf| matches!(leaf, Operand::Name(name) if names.contains(name)))
        };
        let pointers =
            self.derived(&|read| is(read, "ld", &["param"]) && names(read, &self.arrays));
        let others = self.derived(&|read| names(read, tables));
        let labels: HashSet<usize> = self.function.labels.values().copied().collect();
        let mut loaded: Vec<usize> = Vec::new();
        let mut before = Vec::new();
        for (index, read) in self.function.code.iter().enumerate() {
            if labels.contains(&index) {
                loaded.clear();
            }
            before.push(loaded.clone());
            if matches!(read.opcode, "bra" | "ret") {
                loaded.clear();
            } else if let (true, [to, from @ ..]) = (writes(read), &read.operands[..]) {
                let written: Vec<usize> = self.registers(std::slice::from_ref(to)).collect();
                loaded.retain(|register| !written.contains(register));
                let from: Vec<usize> = self.registers(from).collect();
                let is_array = from.iter().any(|register| pointers.contains(register))
                    && !from.iter().any(|register| others.contains(register));
                if is(read, "ld", &["global"]) && read.guard.is_none() && is_array {
                    loaded.extend(written);
                }
            }
        }
        before
    }

    /// Returns whether an instruction other than the one at `site` names this register.
    fn is_read(&self, register: usize, site: usize) -> bool {
        let others = self.function.code.iter().enumerate().filter(|(at, _)| *at != site);
        others.flat_map(|(_, read)| self.registers(&read.operands)).any(|other| other == register)
    }

    /// Returns whether a branch skips nothing but arithmetic. The assembler may replace such a
    /// branch by selections, and these leak nothing.
    fn skips_arithmetic(&self, site: usize, label: &str) -> bool {
        let Function { code, labels, .. } = self.function;
        let Some(skipped) = labels.get(label).and_then(|&end| code.get(site + 1..end)) else {
            return false;
        };
        let is_inside = |at: &usize| (site + 1..site + 1 + skipped.len()).contains(at);
        skipped.iter().all(is_arithmetic) && !labels.values().any(is_inside)
    }

    /// Returns the registers that address arithmetic derives from the results of instructions for
    /// which `begins` is true.
    fn derived(&self, begins: &dyn Fn(&Instruction<'_>) -> bool) -> HashSet<usize> {
        let mut derived = HashSet::new();
        loop {
            let before = derived.len();
            for read in self.function.code.iter().filter(|read| writes(read)) {
                let Some((to, from)) = read.operands.split_first() else { continue };
                let is_load = is(read, "ld", &["global"]) || is(read, "ld", &["shared"]);
                let follows = || self.registers(from).any(|register| derived.contains(&register));
                if !is_load && (begins(read) || follows()) {
                    derived.extend(self.registers(std::slice::from_ref(to)));
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
                let read = &self.function.code[site];
                let is_loaded = |register: usize| {
                    self.loaded.get(site + 1).is_some_and(|loaded| loaded.contains(&register))
                };
                is(read, "ld", &["global"]) && !self.registers(&read.operands[..1]).all(is_loaded)
            }
            _ => false,
        }
    }

    /// Returns the kernel's text with the lines of some instructions replaced by `changes`.
    pub(super) fn with(&self, changes: &BTreeMap<usize, String>) -> String {
        let changes: BTreeMap<Option<usize>, &String> =
            changes.iter().map(|(&site, change)| (self.own_lines[site], change)).collect();
        let mut text = String::new();
        for (at, line) in self.lines.iter().enumerate() {
            text.push_str(changes.get(&Some(at)).map_or(line, |change| change.as_str()));
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
        let read = &self.function.code[site];
        let line = self.lines[self.own_lines[site]?];
        let is_load = |space: &str| is(read, "ld", &[space]);
        let is_store_to = |space: &str| is(read, "st", &[space]);
        let is_store = is_store_to("global") || is_store_to("shared");
        let with_base = |new: &str| {
            let base = self.base(read)?.name;
            Some(line.replacen(&format!("[{base}"), &format!("[{new}"), 1))
        };
        // Adds 0 or 16 to the address, depending on the secret.
        let displaced = || -> Option<Vec<String>> {
            let base = self.base(read)?;
            let (add, new) = if base.kind.bits == 64 {
                (format!("cvt.u64.u32 %md1, %m2;\nadd.s64 %md2, {}, %md1;", base.name), "%md2")
            } else {
                (format!("add.s32 %m3, {}, %m2;", base.name), "%m3")
            };
            Some(vec![add, with_base(new)?])
        };
        // Mixes `%m4` into the value that the instruction stores.
        let mixed = || -> Option<Vec<String>> {
            let Register { name, kind } = self.register(read.operands.get(1)?)?;
            let (mix, new) = match kind.bits {
                64 => (format!("cvt.u64.u32 %md4, %m4;\nxor.b64 %md5, {name}, %md4;"), "%md5"),
                16 => (format!("cvt.u16.u32 %ms1, %m4;\nxor.b16 %ms2, {name}, %ms1;"), "%ms2"),
                _ => (format!("xor.b32 %m5, {name}, %m4;"), "%m5"),
            };
            let (before, _) = line.rsplit_once(name)?;
            Some(vec![mix, format!("{before}{new};")])
        };
        // Puts `%m3` in the place of an operand of a shuffle. Also returns the operand. The
        // assembler removes a shuffle whose result is never read.
        let shuffled = |operand: usize| -> Option<(&str, String)> {
            let to = self.registers(read.operands.get(..1)?).next()?;
            self.is_read(to, site).then_some(())?;
            let mut operands: Vec<&str> = line.trim().strip_suffix(';')?.split(", ").collect();
            let old = std::mem::replace(operands.get_mut(operand)?, "%m3");
            Some((old, operands.join(", ") + ";"))
        };
        let guarded = || vec![format!("@%mp0 {}", line.trim())];
        let unguarded = read.guard.is_none();
        let leak: Vec<String> = match kind {
            Kind::GlobalLoad if unguarded && is_load("global") => displaced()?,
            Kind::GlobalStore if unguarded && is_store_to("global") => displaced()?,
            Kind::SharedLoad if unguarded && is_load("shared") => displaced()?,
            Kind::SharedStore if unguarded && is_store_to("shared") => displaced()?,
            Kind::Choice if unguarded && is_load("global") => {
                let base = self.base(read)?.name;
                let choose = format!(
                    "add.s64 %md1, {base}, 16;\n\
                    selp.b64 %md2, {base}, %md1, %mp0;"
                );
                vec![choose, with_base("%md2")?]
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
            Kind::Branch if read.opcode == "bra" => {
                let [Operand::Name(label)] = read.operands[..] else { return None };
                let guard = read.guard.filter(|_| !self.skips_arithmetic(site, label))?;
                let name = self.function.registers[guard.register].name;
                let not = if guard.holds { "" } else { "!" };
                vec![format!("xor.pred %mp1, {name}, %mp0;"), format!("@{not}%mp1 bra {label};")]
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
                if unguarded && (is_load("global") && !read.is("nc") || is_load("shared")) =>
            {
                let Register { name, kind } = self.register(read.operands.first()?)?;
                let load = line.trim().replacen("ld.", "ld.volatile.", 1);
                vec![format!("mov.b{} {name}, 0;", kind.bits), format!("@%mp0 {load}")]
            }
            Kind::GuardedStore if unguarded && is_store => guarded(),
            Kind::GuardedBarrier if unguarded && is(read, "bar", &["sync"]) => guarded(),
            Kind::GuardedProduct if unguarded && read.opcode == "mma" => guarded(),
            Kind::ShuffleWidth if unguarded && is(read, "shfl", &["sync", "idx"]) => {
                vec!["sub.s32 %m3, 31, %m1;".into(), shuffled(3)?.1]
            }
            Kind::ShuffleLane if unguarded && is(read, "shfl", &["sync", "idx"]) => {
                let (lane, shuffle) = shuffled(2)?;
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
                let Register { name, kind } = self.function.registers[register];
                match kind.bits {
                    64 => format!("mov.b64 {{%m0, %m8}}, {name};\nxor.b32 %m0, %m0, %m8;"),
                    16 => format!("cvt.u32.u16 %m0, {name};"),
                    _ => format!("mov.b32 %m0, {name};"),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plant::tests::PTX;
    use crate::syntax::parse;

    fn kernel<R>(text: &str, look: impl FnOnce(Kernel<'_>) -> R) -> R {
        let lines: Vec<&str> = text.lines().collect();
        look(Kernel::read(&parse(text).unwrap().functions[0], &lines, &["table_0"]))
    }

    #[test]
    fn finds_registers_loaded_from_arrays() {
        kernel(PTX, |kernel| {
            assert_eq!(kernel.arrays, ["a_653_param_0"]);
            let loaded = |text: &str| {
                let code = &kernel.function.code;
                let at = code.iter().position(|read| read.text.contains(text)).unwrap();
                let name = |&register: &usize| kernel.function.registers[register].name;
                kernel.loaded[at].iter().map(name).collect::<Vec<_>>()
            };
            assert_eq!(loaded("%r5, [%rd2+8]"), ["%r3", "%r4"]);
            assert_eq!(loaded("bar.sync"), ["%r3", "%r5"]);
            // After a label, no register is known to be loaded.
            assert_eq!(loaded("ret"), [""; 0]);
        });
    }

    /// Returns whether a branch that is followed by these lines is a place for a leak.
    fn is_place(skipped: &str) -> bool {
        let text = PTX
            .replace("\tst.shared.u32 \t[%r1], %r7;\n\tst.global.b32 \t[%rd2+12], %r7;", skipped);
        kernel(&text, |kernel| {
            let site = kernel.function.code.iter().position(|read| read.opcode == "bra").unwrap();
            let mut random = fastrand::Rng::with_seed(1);
            kernel.change(Kind::Branch, site, &mut random, &[]).is_some()
        })
    }

    #[test]
    fn branches_over_arithmetic_are_no_places_for_leaks() {
        assert!(is_place("\tst.shared.u32 \t[%r1], %r7;"));
        assert!(!is_place("\tmov.b32 \t%r1, %r7;"));
        assert!(!is_place("\tadd.s32 \t%r1, %r7, 1;\n\txor.b32 \t%r1, %r1, %r7;"));
        assert!(is_place("\tmov.b32 \t%r1, %r7;\n\tst.shared.u32 \t[%r1], %r7;"));
        assert!(is_place("$L_2:\n\tmov.b32 \t%r1, %r7;"));
    }
}
