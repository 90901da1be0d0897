//! Leaks in PTX.

use std::ops::Range;

use fastrand::Rng;

use super::Planted;

/// Makes a leak of the statement at a site, if it is one for this leak.
type Leak = fn(&Site<'_>) -> Option<Vec<String>>;

/// The classes of leaks, and what makes them of the statement at a site.
const CLASSES: &[(&str, Leak)] = &[
    ("load address", |site| site.offset_address("ld.global")),
    ("store address", |site| site.offset_address("st.global")),
    ("shared load address", |site| site.offset_address("ld.shared")),
    ("shared store address", |site| site.offset_address("st.shared")),
    ("choice of addresses", |site| site.choose_address()),
    ("table lookup", |site| site.look_up()),
    ("condition of a branch", |site| site.change_condition()),
    ("new branch", |site| site.any(&[CONDITION, "@%p90001 bra $L_planted;", "$L_planted:"])),
    ("early exit", |site| site.any(&[CONDITION, "@%p90001 ret;"])),
    ("guard of a load", |site| site.guard(&["ld.global", "ld.shared"])),
    ("guard of a store", |site| site.guard(&["st.global", "st.shared"])),
    ("guard of a barrier", |site| site.guard(&["bar."])),
    ("guard of a matrix product", |site| site.guard(&["mma."])),
    ("lane of a shuffle", |site| site.change_shuffle(2)),
    ("width of a shuffle", |site| site.change_shuffle(3)),
    ("division", |site| site.any(&["rem.u32 %r90005, %r90001, 653;"])),
];

/// Ways of a secret from `%r90000` to `%r90001`.
const CARRIERS: &[(&str, &[&str])] = &[
    ("a copy", &["mov.b32 %r90001, %r90000;"]),
    (
        "arithmetic",
        &[
            "mul.lo.s32 %r90010, %r90000, 40503;",
            "mov.u32 %r90011, %tid.x;",
            "xor.b32 %r90012, %r90010, %r90011;",
            "shr.u32 %r90001, %r90012, 3;",
        ],
    ),
    (
        "shared memory",
        &[
            "mov.u32 %r90010, shared_memory;",
            "st.shared.u32 [%r90010], %r90000;",
            "ld.shared.u32 %r90001, [%r90010];",
        ],
    ),
    ("another thread", &["shfl.sync.idx.b32 %r90001, %r90000, 0, 31, -1;"]),
    ("a condition", &["setp.lt.u32 %p90000, %r90000, 5;", "selp.b32 %r90001, 1, 2, %p90000;"]),
    ("half a register", &["mov.b32 {%rs90000, %rs90001}, %r90000;", "cvt.u32.u16 %r90001, %rs90001;"]),
    (
        "a matrix product",
        &[
            "mov.b32 %r90010, 0;",
            "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r90011, %r90012, %r90013, %r90001}, \
             {%r90010, %r90000, %r90010, %r90010}, {%r90010, %r90010}, \
             {%r90010, %r90010, %r90010, %r90010};",
        ],
    ),
    (
        "a guarded copy",
        &["mov.b32 %r90001, 0;", "setp.eq.b32 %p90000, %r90000, 5;", "@%p90000 mov.b32 %r90001, 1;"],
    ),
];

/// Makes `%p90001` of the secret.
const CONDITION: &str = "setp.eq.b32 %p90001, %r90001, 5;";

/// Plants a leak of each class into each kernel of `text` that has a site for it.
///
/// The text is normalised: a statement is a line. The same seed gives the same leaks.
#[must_use]
pub fn plant(text: &str, seed: u64) -> Vec<Planted> {
    let lines: Vec<&str> = text.lines().collect();
    let begins: Vec<usize> =
        (0..lines.len()).filter(|&at| lines[at].starts_with(".visible .entry ")).collect();
    let header = &lines[..begins.first().copied().unwrap_or_default()];
    let mut planted = Vec::new();
    for (number, &begin) in begins.iter().enumerate() {
        let end = (begin..lines.len()).find(|&at| lines[at] == "}").unwrap_or(lines.len() - 1);
        let mut rng = Rng::with_seed(seed.wrapping_mul(1 << 20).wrapping_add(number as u64));
        let kernel = Kernel { header, lines: &lines[begin..=end] };
        planted.extend(CLASSES.iter().filter_map(|class| kernel.plant(*class, &mut rng)));
    }
    planted
}

struct Kernel<'a> {
    /// What stands before all kernels.
    header: &'a [&'a str],
    lines: &'a [&'a str],
}

impl Kernel<'_> {
    fn name(&self) -> &str {
        self.lines[0].trim_start_matches(".visible .entry ").trim_end_matches(['(', ')'])
    }

    /// Returns the lines at which statements can stand: behind the loads of the parameters.
    fn body(&self) -> Range<usize> {
        let last = self.lines.iter().rposition(|line| line.contains("ld.param"));
        last.map_or(self.lines.len(), |at| at + 1)..self.lines.len() - 1
    }

    fn plant(&self, (class, leak): (&'static str, Leak), rng: &mut Rng) -> Option<Planted> {
        let mut sites: Vec<usize> = self.body().filter(|&at| is_statement(self.lines[at])).collect();
        rng.shuffle(&mut sites);
        let site = |&at: &usize| {
            let table = self.header.iter().find_map(|line| line.split_once(".b8 ")?.1.split('[').next());
            Some((at, leak(&Site { statement: self.lines[at].trim(), table })?))
        };
        let (at, leaking) = sites.iter().find_map(site)?;
        let arrays = self.lines.iter().filter(|line| line.contains(".ptr")).count();
        let array = rng.usize(..arrays);
        let own = [
            format!("ld.param.b64 %rd90000, [{}_param_{array}];", self.name()),
            "cvta.to.global.u64 %rd90001, %rd90000;".to_owned(),
            "ld.global.b32 %r90000, [%rd90001];".to_owned(),
        ];
        let taken = if rng.bool() { self.loaded_before(at, rng) } else { None };
        let secret = taken.map_or(own.to_vec(), |statement| vec![statement]);
        let (carrier, carrying) = CARRIERS[rng.usize(..CARRIERS.len())];
        let secret = [secret, owned(carrying)].concat();
        let first = self.header.len() + at + secret.len() + 1;
        let lines = first..=first + leaking.len() - 1;
        // As many lines as those that bring the secret.
        let mut public = vec![String::new(); secret.len()];
        public[0] = "mov.u32 %r90001, %ctaid.x;".to_owned();
        let text = |source: Vec<String>| {
            let before = [owned(self.header), owned(&self.lines[..at]), source];
            let all = [before.concat(), leaking.clone(), owned(&self.lines[at + 1..])];
            all.concat().join("\n") + "\n"
        };
        let kernel = self.name().to_owned();
        Some(Planted { class, carrier, kernel, clean: text(public), text: text(secret), lines })
    }

    /// Returns a statement that takes to `%r90000` what the kernel itself has loaded from an array
    /// shortly before line `at`, if it has.
    fn loaded_before(&self, at: usize, rng: &mut Rng) -> Option<String> {
        let block = (self.body().start..at).rev().take_while(|&line| is_statement(self.lines[line]));
        let mut loaded = Vec::new();
        for line in block {
            let statement = self.lines[line].trim();
            if statement.starts_with("ld.global.b") {
                for register in registers(first_operand(statement)) {
                    let written_again = |&again: &usize| {
                        registers(first_operand(self.lines[again].trim())).any(|other| other == register)
                    };
                    if !(line + 1..at).any(|again| written_again(&again)) {
                        loaded.push(register);
                    }
                }
            }
        }
        let register = *loaded.get(rng.usize(..loaded.len().max(1)))?;
        Some(match register.trim_end_matches(|c: char| c.is_ascii_digit()) {
            "%rs" => format!("cvt.u32.u16 %r90000, {register};"),
            "%rd" => format!("cvt.u32.u64 %r90000, {register};"),
            _ => format!("mov.b32 %r90000, {register};"),
        })
    }
}

/// A statement at which a secret arrives in `%r90001`.
struct Site<'a> {
    statement: &'a str,
    /// A table of the program, if there is one.
    table: Option<&'a str>,
}

impl Site<'_> {
    /// Puts statements before the one at the site.
    fn any(&self, lines: &[&str]) -> Option<Vec<String>> {
        Some(lines.iter().map(|&line| line.to_owned()).chain([self.statement.to_owned()]).collect())
    }

    /// Adds a secret to the address of an access.
    fn offset_address(&self, access: &str) -> Option<Vec<String>> {
        let address = self.address().filter(|_| self.statement.starts_with(access))?;
        let mut lines = vec!["and.b32 %r90002, %r90001, 28;".to_owned()];
        let changed = if address.starts_with("%rd") {
            lines.push("cvt.u64.u32 %rd90002, %r90002;".to_owned());
            lines.push(format!("add.s64 %rd90003, {address}, %rd90002;"));
            self.with_address(address, "%rd90003")
        } else {
            lines.push(format!("xor.b32 %r90003, {address}, %r90002;"));
            self.with_address(address, "%r90003")
        };
        lines.push(changed);
        Some(lines)
    }

    /// Takes one of two addresses, as a compiler makes it of a masked selection.
    fn choose_address(&self) -> Option<Vec<String>> {
        let address = self.address().filter(|_| self.statement.starts_with("ld.global"))?;
        Some(vec![
            CONDITION.to_owned(),
            format!("add.s64 %rd90002, {address}, 64;"),
            format!("selp.b64 %rd90003, {address}, %rd90002, %p90001;"),
            self.with_address(address, "%rd90003"),
        ])
    }

    /// Looks the secret up in a table.
    fn look_up(&self) -> Option<Vec<String>> {
        let table = format!("mov.b64 %rd90002, {};", self.table?);
        self.any(&[
            &table,
            "and.b32 %r90002, %r90001, 28;",
            "cvt.u64.u32 %rd90003, %r90002;",
            "add.s64 %rd90004, %rd90002, %rd90003;",
            "ld.global.nc.b32 %r90003, [%rd90004];",
        ])
    }

    /// Lets a branch also depend on the secret.
    fn change_condition(&self) -> Option<Vec<String>> {
        let (guard, rest) = self.statement.split_once(char::is_whitespace)?;
        let predicate = guard.strip_prefix('@').filter(|_| rest.trim().starts_with("bra"))?;
        let (not, predicate) = predicate.strip_prefix('!').map_or(("", predicate), |rest| ("!", rest));
        Some(vec![
            CONDITION.to_owned(),
            format!("xor.pred %p90002, {predicate}, %p90001;"),
            format!("@{not}%p90002 {rest}"),
        ])
    }

    /// Lets the secret decide whether the statement is executed.
    fn guard(&self, starts: &[&str]) -> Option<Vec<String>> {
        let fits = starts.iter().any(|start| self.statement.starts_with(start));
        fits.then(|| vec![CONDITION.to_owned(), format!("@%p90001 {}", self.statement)])
    }

    /// Replaces an operand of a shuffle by a few bits of the secret.
    fn change_shuffle(&self, index: usize) -> Option<Vec<String>> {
        let (opcode, operands) = self.statement.split_once(char::is_whitespace)?;
        let mut operands: Vec<&str> = operands.trim_end_matches(';').split(',').map(str::trim).collect();
        *operands.get_mut(index).filter(|_| opcode.starts_with("shfl"))? = "%r90002";
        let changed = format!("{opcode} {};", operands.join(", "));
        Some(vec!["and.b32 %r90002, %r90001, 31;".to_owned(), changed])
    }

    /// Returns the register that an address is made of.
    fn address(&self) -> Option<&str> {
        let inside = self.statement.split_once('[')?.1.split_once(']')?.0;
        inside.split('+').next().filter(|base| base.starts_with('%'))
    }

    /// Returns the statement with another register in its address.
    fn with_address(&self, old: &str, new: &str) -> String {
        self.statement.replacen(&format!("[{old}"), &format!("[{new}"), 1)
    }
}

/// Returns whether a statement begins on a line, and nothing else does.
fn is_statement(line: &str) -> bool {
    let text = line.trim();
    text.starts_with("mma.") || text.ends_with(';') && !text.starts_with(['.', '{', '$'])
}

/// Returns the first operand of a statement.
fn first_operand(statement: &str) -> &str {
    let operands = statement.split_once(char::is_whitespace).map_or("", |(_, operands)| operands.trim());
    let end = if operands.starts_with('{') { operands.find('}') } else { operands.find(',') };
    end.map_or(operands, |end| &operands[..end])
}

/// Returns the registers in a text.
fn registers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c != '%' && !c.is_ascii_alphanumeric()).filter(|word| word.starts_with('%'))
}

fn owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|&line| line.to_owned()).collect()
}
