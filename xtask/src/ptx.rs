//! Reads PTX, and normalises it so that it is the same on every machine.

use std::collections::HashMap;
use std::fmt::Write as _;

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

/// Returns the text with empty lines in place of the kernels that [check](is_check) a method.
#[must_use]
pub fn without_checks(ptx: &str) -> String {
    let mut is_inside = false;
    let lines = ptx.split_inclusive('\n').map(|line| {
        is_inside = entry(line).map_or(is_inside, is_check);
        let kept = if is_inside { "\n" } else { line };
        is_inside &= !line.starts_with('}');
        kept
    });
    lines.collect()
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

/// Returns the names of the entry points, sorted.
#[must_use]
pub fn entries(ptx: &str) -> Vec<&str> {
    let mut entries: Vec<_> = ptx.lines().filter_map(entry).collect();
    entries.sort_unstable();
    entries
}

/// Returns the name of the kernel that begins on this line.
fn entry(line: &str) -> Option<&str> {
    let name = line.trim_start().strip_prefix(".visible .entry ")?;
    Some(name.trim_end_matches(['(', ')', ' ']))
}

/// Returns the version of the PTX language that the text states.
#[must_use]
pub fn isa(ptx: &str) -> Option<&str> {
    ptx.lines().find_map(|line| line.strip_prefix(".version "))
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
    let header = [
        (".version ", version.or_else(|| isa(ptx)).unwrap_or("that exists")),
        (".target ", arch),
        (".address_size ", "64"),
    ];
    let mut deviations = Vec::new();
    for (start, expected) in header {
        let found: Vec<_> = ptx.lines().filter_map(|line| line.strip_prefix(start)).collect();
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
    /// The line of Rust that it comes from, if the assembly tells it.
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
pub fn faults(ptx: &str) -> Vec<Fault> {
    let mut places = Places::new(ptx);
    let mut faults = Vec::new();
    for line in ptx.lines() {
        let code = line.split_once("//").map_or(line, |(code, _)| code).trim();
        places.read(code);
        if let Some(what) = forbidden(code).filter(|_| !divides(places.function)) {
            let source = places.source().map(str::to_owned);
            let fault = Fault { function: places.function.into(), what, source };
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        }
    }
    faults
}

/// Returns the kind of the forbidden instruction in this statement, if there is one.
fn forbidden(statement: &str) -> Option<&'static str> {
    // A predicate may stand before the instruction.
    let (guard, rest) = statement.split_once(char::is_whitespace).unwrap_or((statement, ""));
    let instruction = if guard.starts_with('@') { rest.trim_start() } else { statement };
    let mut parts = instruction.split(['.', ' ', '\t', ';']).filter(|part| !part.is_empty());
    let (opcode, modifiers) = (parts.next()?, parts.clone().take(3).collect::<Vec<_>>());
    let is_integer =
        modifiers.iter().any(|m| m.starts_with(['s', 'u']) && m[1..].parse::<u32>().is_ok());
    match opcode {
        "trap" => Some("panic"),
        "call" => Some("call"),
        "div" | "rem" if is_integer => Some("integer division"),
        "ld" | "st" if modifiers.contains(&"local") => Some("local memory"),
        "local" => Some("local memory"),
        _ => None,
    }
}

/// Tracks the line of Rust that a line of PTX comes from, as far as the compiler states it.
struct Places<'a> {
    /// The source files by number. The text declares them at its end.
    files: HashMap<&'a str, &'a str>,
    function: &'a str,
    source: Option<String>,
}

impl<'a> Places<'a> {
    fn new(ptx: &'a str) -> Self {
        let file = |line: &'a str| {
            let (number, name) = line.trim_start().strip_prefix(".file\t")?.split_once(' ')?;
            Some((number, name.trim_matches('"')))
        };
        Self { files: ptx.lines().filter_map(file).collect(), function: "", source: None }
    }

    /// Reads a line of PTX.
    fn read(&mut self, code: &'a str) {
        if let Some(place) = code.strip_prefix(".loc") {
            let mut numbers = place.split_whitespace();
            let file = numbers.next().and_then(|number| self.files.get(number));
            if let (Some(file), Some(line)) = (file, numbers.next())
                && !file.contains("/rust/library/")
            {
                self.source = Some(format!("{file}:{line}"));
            }
        }
        if let Some(name) = entry(code).or_else(|| code.split_once(".func ").map(|(_, name)| name))
        {
            self.function = name;
            self.source = None;
        }
    }

    /// Returns the last line of Rust that was read in the current function, without lines of the
    /// standard library.
    fn source(&self) -> Option<&str> {
        self.source.as_deref()
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
    fn leaves_checks_out() {
        let checks = ASSEMBLY.replace("entry b_653", "entry check_653");
        let without = without_checks(&checks);
        assert_eq!(entries(&without), ["a_653"]);
        let line = |text: &str| text.lines().position(|line| line.contains("entry a_653"));
        assert_eq!(line(&without), line(&checks));
        assert_eq!(without_checks(ASSEMBLY), ASSEMBLY);
    }

    #[test]
    fn reads_names_and_version() {
        assert_eq!(entries(ASSEMBLY), ["a_653", "b_653"]);
        assert_eq!(isa(ASSEMBLY), Some("7.0"));
        assert_eq!(faults(ASSEMBLY), []);
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
            let ptx = ASSEMBLY.replacen("\tret;", statement, 1);
            faults(&ptx).into_iter().map(|fault| (fault.function, fault.what)).collect::<Vec<_>>()
        };
        let found = |what| vec![("b_653".to_owned(), what)];
        assert_eq!(what("\ttrap;"), found("panic"));
        assert_eq!(what("\t@%p1 trap;"), found("panic"));
        assert_eq!(what("\tcall.uni _RNvCore9panicking, ();"), found("call"));
        assert_eq!(what("\trem.u32 \t%r1, %r2, %r3;"), found("integer division"));
        assert_eq!(what("\t@%p2 div.s64 \t%rd1, %rd2, %rd3;"), found("integer division"));
        assert_eq!(what("\tdiv.rn.f32 \t%f1, %f2, %f3;"), []);
        assert_eq!(what("\tst.local.b32 \t[%rd8], %r1;"), found("local memory"));
        assert_eq!(what("\tld.local.b32 \t%r1, [%rd8];"), found("local memory"));
        assert_eq!(what("\t.local .align 8 .b8 \t__local_depot1[224];"), found("local memory"));
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
        assert_eq!(faults(ptx)[0].to_string(), "a_653: panic near src/kernels/product.rs:42");
    }
}
