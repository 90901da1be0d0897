//! Reads PTX, and normalises it so that it is the same on every machine.

use std::collections::HashMap;
use std::fmt::Write as _;

use ptx_check::syntax::{self, Instruction, Kind, Module, Type, Variable};
use ptx_check::tools;

use crate::Result;

/// Returns whether a kernel measures divisions by a modulus that is known only at run time.
///
/// The time of a division depends on its operands, and so does the branch that chooses between a
/// division of 32 bits and one of 64 bits. The kernels `values_*` multiply values by a method that
/// knows the modulus, so they do not divide.
#[must_use]
pub fn divides(kernel: &str) -> bool {
    kernel.contains("runtime_division") && !kernel.starts_with("values_")
}

/// Returns whether a kernel checks a method on every input. The numbers with which it computes are
/// public.
#[must_use]
pub fn is_check(kernel: &str) -> bool {
    kernel.starts_with("check_")
}

/// Returns the compiler's assembly without the parts that differ between machines.
///
/// Removes comments and empty lines. Gives tables new names, with numbers in the order of
/// appearance, because their names contain hashes of the path of the sources.
#[must_use]
pub fn normalise(assembly: &str) -> String {
    let mut text = "// Made by cargo xtask build-ptx; see docs/ptx.md.\n".to_owned();
    let mut tables = Tables::default();
    for line in assembly.lines() {
        let line = line.split_once("//").map_or(line, |(code, _)| code).trim_end();
        if !line.trim().is_empty() {
            tables.rename(line, &mut text);
            text.push('\n');
        }
    }
    text
}

/// The new names of tables. Rust mangles their names to `_R...`, and LLVM names anonymous constants
/// `anon_$_<hash>_$_<number>`.
#[derive(Default)]
struct Tables<'a> {
    numbers: HashMap<&'a str, usize>,
}

impl<'a> Tables<'a> {
    fn rename(&mut self, line: &'a str, text: &mut String) {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        let mut rest = line;
        while !rest.is_empty() {
            let (name, after) = rest.split_at(rest.find(|c| !is_name(c)).unwrap_or(rest.len()));
            if name.starts_with("_R") || name.starts_with("anon_$_") {
                let next = self.numbers.len();
                let number = *self.numbers.entry(name).or_insert(next);
                // A mangled name ends with the length of the plain name and the plain name itself.
                let plain = name
                    .rsplit(|c: char| c.is_ascii_digit())
                    .next()
                    .filter(|name| !name.is_empty());
                // Writing to a string cannot fail.
                let _ = write!(text, "{}_{number}", plain.unwrap_or("table"));
            } else {
                text.push_str(name);
            }
            let (between, after) = after.split_at(after.find(is_name).unwrap_or(after.len()));
            text.push_str(between);
            rest = after;
        }
    }
}

/// Reads a text of PTX.
///
/// # Errors
/// [`Error::Program`](crate::Error::Program) for a text that is no PTX.
pub fn parse(text: &str) -> Result<Module<'_>> {
    Ok(syntax::parse(text).map_err(tools::Error::from)?)
}

/// Returns the names of the kernels, sorted.
#[must_use]
pub fn entries<'a>(module: &Module<'a>) -> Vec<&'a str> {
    let mut entries: Vec<_> = module.kernels().map(|kernel| kernel.name).collect();
    entries.sort_unstable();
    entries
}

/// The least version of the PTX language that has an architecture, which is the one that compilers
/// write. Source: "PTX ISA", table "PTX Release History".
const VERSIONS: [(&str, &str); 6] = [
    ("sm_80", "7.0"),
    ("sm_86", "7.1"),
    ("sm_89", "7.8"),
    ("sm_90", "7.8"),
    ("sm_100", "8.6"),
    ("sm_120", "8.7"),
];

/// Returns one line for each part of the text that is not as it is when kernels are compiled for
/// `arch` without debug information: the version of the language, the target, the size of
/// addresses, and lines that only debug information has.
#[must_use]
pub fn deviations(ptx: &str, arch: &str) -> Vec<String> {
    let version = VERSIONS.iter().find(|(known, _)| *known == arch).map(|(_, version)| *version);
    let header = [(".version ", version), (".target ", Some(arch)), (".address_size ", Some("64"))];
    let mut deviations = Vec::new();
    for (start, expected) in header {
        let found: Vec<_> = ptx.lines().filter_map(|line| line.strip_prefix(start)).collect();
        let expected = expected.or(found.first().copied()).unwrap_or("that exists");
        if found != [expected] {
            let found = found.join(" and ");
            deviations.push(format!("{}{expected} is missing; it has \"{found}\"", start));
        }
    }
    let of_debug = |line: &&str| {
        [".file", ".loc", ".section", "@@"].iter().any(|start| line.trim_start().starts_with(start))
    };
    if let Some(line) = ptx.lines().find(of_debug) {
        deviations.push(format!("it has debug information: {}", line.trim()));
    }
    deviations
}

/// A forbidden instruction in a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kernel, or the function if the compiler has not inlined all functions.
    pub function: String,
    /// The kind of the instruction.
    pub what: &'static str,
    /// The line of Rust that it comes from, if the PTX tells it.
    pub source: Option<String>,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.function, self.what)?;
        self.source.iter().try_for_each(|source| write!(f, " near {source}"))
    }
}

/// Returns the forbidden instructions: calls, traps (where Rust panics), accesses to local memory,
/// and integer divisions.
#[must_use]
pub fn faults(module: &Module<'_>) -> Vec<Fault> {
    let mut faults = Vec::new();
    for function in module.functions.iter().filter(|function| !divides(function.name)) {
        let is_local = |variable: &&Variable<'_>| variable.space == "local";
        let local = function.variables.iter().filter(is_local).map(|_| ("local memory", None));
        let code = function.code.iter();
        let found = code.filter_map(|read| Some((forbidden(read)?, module.source(read))));
        for (what, source) in local.chain(found) {
            let fault = Fault { function: function.name.into(), what, source };
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        }
    }
    faults
}

/// Returns the kind of a forbidden instruction.
fn forbidden(read: &Instruction<'_>) -> Option<&'static str> {
    let is_integer = |name: &&str| {
        Type::parse(name).is_some_and(|of| matches!(of.kind, Kind::Signed | Kind::Unsigned))
    };
    match read.opcode {
        "trap" => Some("panic"),
        "call" => Some("call"),
        "div" | "rem" if read.modifiers.iter().any(is_integer) => Some("integer division"),
        "ld" | "st" if read.is("local") => Some("local memory"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASSEMBLY: &str = "//
// Generated by LLVM NVPTX Back-End
//

.version 7.0
.target sm_80

\t// .globl\tb_653
.global .align 4 .b8 anon_$_84e8d07010437369c56c7cd5cfb7069a_$_7[4] = {1, 0, 0, 0};
.global .align 4 .b8 anon_$_84e8d07010437369c56c7cd5cfb7069a_$_2[4] = {2, 0, 0, 0};
.global .align 4 .b8 _RNvNtCslKQ9YjQ88iO_5ctru_6keccak9ROTATIONS[4] = {3, 0, 0, 0};

.visible .entry b_653(
\t.param .u32 b_653_param_0
)
{
\tmov.b64 \t%rd1, anon_$_84e8d07010437369c56c7cd5cfb7069a_$_2;
\tld.global.b32 \t%r1, [anon_$_84e8d07010437369c56c7cd5cfb7069a_$_7+4];
\t// begin inline asm
\tst.shared.u32 [%r1], %r1;
\t// end inline asm
\tret;
                                        // -- End function
}
.visible .entry a_653()
{
\tret;
}
";

    #[test]
    fn normalises() {
        let expected = "// Made by cargo xtask build-ptx; see docs/ptx.md.
.version 7.0
.target sm_80
.global .align 4 .b8 table_0[4] = {1, 0, 0, 0};
.global .align 4 .b8 table_1[4] = {2, 0, 0, 0};
.global .align 4 .b8 ROTATIONS_2[4] = {3, 0, 0, 0};
.visible .entry b_653(
\t.param .u32 b_653_param_0
)
{
\tmov.b64 \t%rd1, table_1;
\tld.global.b32 \t%r1, [table_0+4];
\tst.shared.u32 [%r1], %r1;
\tret;
}
.visible .entry a_653()
{
\tret;
}
";
        assert_eq!(normalise(ASSEMBLY), expected);
        let elsewhere = ASSEMBLY
            .replace("84e8d07010437369c56c7cd5cfb7069a", "0123")
            .replace("CslKQ9YjQ88iO_", "Cs0_");
        assert_eq!(normalise(&elsewhere), expected);
    }

    #[test]
    fn finds_other_versions_and_targets_and_debug_information() {
        let text = normalise(ASSEMBLY).replace("sm_80\n", "sm_80\n.address_size 64\n");
        assert_eq!(deviations(&text, "sm_80"), [""; 0]);
        for (from, to, found) in [
            ("7.0", "8.1", ".version 7.0 is missing; it has \"8.1\""),
            (".version 7.0\n", "", ".version 7.0 is missing; it has \"\""),
            ("sm_80", "sm_90", ".target sm_80 is missing; it has \"sm_90\""),
            ("sm_80", "sm_80, debug", ".target sm_80 is missing; it has \"sm_80, debug\""),
            ("size 64", "size 32", ".address_size 64 is missing; it has \"32\""),
            ("\tret;", "\t.loc 1 2 3\n\tret;", "it has debug information: .loc 1 2 3"),
            (
                "\tret;",
                "\tret;\n.section .debug_str",
                "it has debug information: .section .debug_str",
            ),
        ] {
            assert_eq!(deviations(&text.replace(from, to), "sm_80"), [found]);
        }
        // An architecture whose version is not known here.
        assert_eq!(deviations(&text.replace("sm_80", "sm_87"), "sm_87"), [""; 0]);
    }

    #[test]
    fn finds_what_is_forbidden() {
        let what = |statement: &str| {
            let ptx = format!(
                ".visible .entry b_653() {{
.reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;
{statement}
ret; }}"
            );
            let faults = faults(&parse(&ptx).unwrap());
            faults.into_iter().map(|fault| (fault.function, fault.what)).collect::<Vec<_>>()
        };
        let found = |what| vec![("b_653".to_owned(), what)];
        assert_eq!(what(""), []);
        assert_eq!(what("trap;"), found("panic"));
        assert_eq!(what("@%p1 trap;"), found("panic"));
        assert_eq!(what("call.uni _RNvCore9panicking, ();"), found("call"));
        assert_eq!(what("rem.u32 %r1, %r2, %r3;"), found("integer division"));
        assert_eq!(what("@%p2 div.s64 %rd1, %rd2, %rd3;"), found("integer division"));
        assert_eq!(what("div.rn.f32 %f1, %f2, %f3;"), []);
        assert_eq!(what("st.local.b32 [%rd8], %r1;"), found("local memory"));
        assert_eq!(what("ld.local.b32 %r1, [%rd8];"), found("local memory"));
        assert_eq!(what(".local .align 8 .b8 __local_depot1[224];"), found("local memory"));
    }

    #[test]
    fn names_the_line_of_a_panic() {
        let ptx = "\
.visible .entry a_653()
{
\t.loc\t7 42 5
\t.loc\t8 1 1
\ttrap;
}
\t.file\t7 \"src/kernels/product.rs\"
\t.file\t8 \"/usr/lib/rustlib/src/rust/library/core/src/slice/index.rs\"
";
        let found = faults(&parse(ptx).unwrap());
        assert_eq!(found[0].to_string(), "a_653: panic near src/kernels/product.rs:42");
    }
}
