//! Plants leaks into copies of kernels on purpose, to check that the analysis finds them.

mod kernel;

use std::collections::BTreeMap;
use std::fmt;

use crate::flow::analysis::{Finding, Secrets, analyse};
use crate::flow::program::{Class, NotUnderstood, Objects, Program, name};
use crate::syntax::{Function, Module, Variable};
use kernel::Kernel;
use rayon::prelude::*;

/// A way to leak a secret.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The secret is part of the address of a load from global memory.
    GlobalLoad,
    /// The secret is part of the address of a store to global memory.
    GlobalStore,
    /// The secret is part of the address of a load from shared memory.
    SharedLoad,
    /// The secret is part of the address of a store to shared memory.
    SharedStore,
    /// The secret chooses one of two addresses to load from.
    Choice,
    /// The secret is the index into a table.
    TableIndex,
    /// The secret selects the kernel parameter that is loaded.
    ParameterIndex,
    /// The secret is part of the condition of a branch.
    Branch,
    /// A branch on the secret skips a store.
    Skip,
    /// A loop runs once or twice, depending on the secret.
    Loop,
    /// The thread ends early, depending on the secret.
    Exit,
    /// The secret guards a load.
    GuardedLoad,
    /// The secret guards a store.
    GuardedStore,
    /// The secret guards a barrier.
    GuardedBarrier,
    /// The secret is part of the lane of a shuffle.
    ShuffleLane,
    /// The secret is part of the width of a shuffle.
    ShuffleWidth,
    /// The secret guards a matrix product.
    GuardedProduct,
    /// A number is divided by the secret.
    Division,
}

impl Kind {
    /// All kinds of leaks.
    pub const ALL: &[Self] = &[
        Self::GlobalLoad,
        Self::GlobalStore,
        Self::SharedLoad,
        Self::SharedStore,
        Self::Choice,
        Self::TableIndex,
        Self::ParameterIndex,
        Self::Branch,
        Self::Skip,
        Self::Loop,
        Self::Exit,
        Self::GuardedLoad,
        Self::GuardedStore,
        Self::GuardedBarrier,
        Self::ShuffleLane,
        Self::ShuffleWidth,
        Self::GuardedProduct,
        Self::Division,
    ];
}

/// A leak that can be planted into a kernel.
#[derive(Clone, Debug)]
struct Leak {
    /// The way in which it leaks the secret.
    kind: Kind,
    /// The number of the kernel.
    kernel: usize,
    /// The index of the instruction whose line it replaces.
    site: usize,
    /// The lines that replace it.
    change: Vec<String>,
    /// Whether the leak may make other values of the kernel secret, so that it needs its own copy.
    spreads: bool,
}

/// The choice of the leaks to plant.
#[derive(Copy, Clone)]
#[allow(missing_debug_implementations, reason = "functions have none")]
pub struct Plan<'a> {
    /// Tells by its name whether leaks are planted in a kernel. All its arrays must be secret.
    pub takes: &'a dyn Fn(&str) -> bool,
    /// The seed of the random choice of places.
    pub seed: u64,
    /// The largest number of leaks per kind and kernel.
    pub most: usize,
}

/// A PTX text with the leaks to plant into it.
struct Garden<'a> {
    /// The text before the first kernel.
    head: String,
    kernels: Vec<Kernel<'a>>,
    leaks: Vec<Leak>,
}

/// A copy of a kernel with leaks in it.
struct Copy {
    name: String,
    text: String,
    /// The numbers of its leaks.
    leaks: Vec<usize>,
}

/// The name of the source file in the line information of planted leaks. It identifies the leaks.
const SOURCE: &str = "/planted";

impl<'a> Garden<'a> {
    /// Reads the kernels of a module with these lines, and chooses the leaks.
    fn new(module: &'a Module<'a>, lines: &'a [&'a str], plan: Plan<'_>) -> Self {
        let mut random = fastrand::Rng::with_seed(plan.seed);
        let first = module.kernels().map(|kernel| kernel.at.line - 1).min();
        let head = lines[..first.unwrap_or(lines.len())].join("\n");
        let is_table = |table: &&Variable<'_>| table.space == "global" && table.is_table();
        let tables = module.variables.iter().filter(is_table);
        let tables: Vec<&str> = tables.map(|table| table.name).collect();
        let (mut kernels, mut leaks) = (Vec::new(), Vec::new());
        for kernel in module.kernels().filter(|kernel| (plan.takes)(kernel.name)) {
            let text = Kernel::read(kernel, lines, &tables);
            if text.arrays.is_empty() {
                continue;
            }
            for &kind in Kind::ALL {
                let mut sites: Vec<usize> = text
                    .sites()
                    .filter(|&at| text.change(kind, at, &mut random, &tables).is_some())
                    .collect();
                random.shuffle(&mut sites);
                for &site in sites.iter().take(plan.most) {
                    let Some(change) = text.change(kind, site, &mut random, &tables) else {
                        continue;
                    };
                    let spreads = text.spreads(kind, site);
                    leaks.push(Leak { kind, kernel: kernels.len(), site, change, spreads });
                }
            }
            kernels.push(text);
        }
        Self { head, kernels, leaks }
    }

    /// Returns one copy of a kernel for each leak.
    fn alone(&self, leaks: &[usize]) -> Vec<Copy> {
        leaks.iter().map(|&leak| self.copy(vec![leak])).collect()
    }

    /// Returns copies of kernels that contain all leaks. A copy contains several leaks if they do
    /// not disturb each other: none makes a public value secret, and no two are at one place.
    fn together(&self) -> Vec<Copy> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (number, leak) in self.leaks.iter().enumerate() {
            let fits = |group: &&mut Vec<usize>| {
                let differs = |&other: &usize| {
                    let other = &self.leaks[other];
                    other.kernel == leak.kernel && other.site != leak.site && !other.spreads
                };
                !leak.spreads && group.iter().all(differs)
            };
            match groups.iter_mut().find(fits) {
                Some(group) => group.push(number),
                None => groups.push(vec![number]),
            }
        }
        groups.into_iter().map(|group| self.copy(group)).collect()
    }

    /// Returns a copy of a kernel with these leaks. Line directives mark the lines of each leak.
    fn copy(&self, leaks: Vec<usize>) -> Copy {
        let kernel = &self.kernels[self.leaks[leaks[0]].kernel];
        let own = kernel.function.name;
        let name = format!("leak{}_{own}", leaks[0]);
        let changes = leaks.iter().map(|&number| {
            let Leak { site, change, .. } = &self.leaks[number];
            let change = change.join("\n").replace("$M", &format!("$M{number}_"));
            // If the statement continues in the next line, no directive can follow here.
            let is_whole = change.ends_with([';', ':', '}']);
            let end = if is_whole { "\n.loc\t1 1 0" } else { "" };
            (*site, format!(".loc\t1 {} 0\n{change}{end}", line_of(number)))
        });
        let text = kernel.with(&changes.collect()).replace(own, &name);
        Copy { name, text, leaks }
    }

    /// Returns a PTX text with several copies.
    fn module(&self, copies: &[Copy]) -> String {
        let bodies: Vec<&str> = copies.iter().map(|copy| copy.text.as_str()).collect();
        format!("{}\n.file\t1 \"{SOURCE}\"\n{}", self.head, bodies.join("\n"))
    }

    /// Returns the name of a leak for messages.
    fn name(&self, leak: usize) -> String {
        let Leak { kind, kernel, site, .. } = &self.leaks[leak];
        let Function { name, code, .. } = self.kernels[*kernel].function;
        format!("{kind:?} in line {} of {name}", code[*site].at.line)
    }
}

/// Returns the line of [`SOURCE`] that stands for a leak. Line 1 stands for all other code.
const fn line_of(leak: usize) -> usize {
    leak + 2
}

/// Numbers of leaks.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The number of planted leaks.
    pub planted: usize,
    /// The number of those that the analysis found.
    pub found: usize,
}

/// The result of a search for planted leaks.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The numbers of leaks by kind.
    pub counts: BTreeMap<Kind, Count>,
    /// The number of leaks that were found only in a copy of their own.
    pub alone: usize,
    /// One paragraph for each leak that was not found or whose kernel was refused.
    pub missed: Vec<String>,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = Count::default();
        let mut line = |name: &str, Count { planted, found }: Count| {
            writeln!(f, "{name:<15} {planted:>5} planted {found:>5} found")
        };
        for (kind, count) in &self.counts {
            line(&format!("{kind:?}"), *count)?;
            all.planted += count.planted;
            all.found += count.found;
        }
        line("all", all)?;
        writeln!(f, "found alone     {:>5}", self.alone)
    }
}

/// What a decoder says about each kernel of a text: the program, or why it was refused.
pub type Decoded = Vec<Result<Program, NotUnderstood>>;

/// The findings in a copy, or the reason why it was refused.
type Findings = Result<Vec<Finding>, String>;

/// Plants leaks into the kernels of the text `ptx`, which was read as `module`, and searches for
/// them with `decode` and the analysis. Each text that is decoded has at most `copies` kernels.
///
/// Each leak must have a finding of its own. The first round plants several leaks into one copy of
/// a kernel. There, a leak counts as found if a finding of its kind is at its lines and all
/// findings of the copy are at lines of leaks. The second round plants each remaining leak alone
/// into a copy, which must then have a finding of its kind.
///
/// # Errors
/// If `decode` fails.
pub fn search<E: Send>(
    ptx: &str,
    module: &Module<'_>,
    plan: Plan<'_>,
    copies: usize,
    decode: impl Fn(&str) -> Result<Decoded, E> + Sync,
) -> Result<Outcome, E> {
    let lines: Vec<&str> = ptx.lines().collect();
    let garden = Garden::new(module, &lines, plan);
    let mut outcome = Outcome::default();
    for leak in &garden.leaks {
        outcome.counts.entry(leak.kind).or_default().planted += 1;
    }
    let mut left = Vec::new();
    for (copy, findings) in findings(&garden, garden.together(), copies, &decode)? {
        for leak in copy.leaks {
            match &findings {
                Ok(findings) if is_told(&garden, leak, findings) => {
                    outcome.counts.entry(garden.leaks[leak].kind).or_default().found += 1;
                }
                _ => left.push(leak),
            }
        }
    }
    for (copy, findings) in findings(&garden, garden.alone(&left), copies, &decode)? {
        let leak = &garden.leaks[copy.leaks[0]];
        match &findings {
            Ok(findings) if findings.iter().any(|finding| tells(finding.class, leak.kind)) => {
                outcome.counts.entry(leak.kind).or_default().found += 1;
                outcome.alone += 1;
            }
            other => {
                let classes = other.as_ref().map(|findings| {
                    findings.iter().map(|finding| finding.class).collect::<Vec<_>>()
                });
                let name = garden.name(copy.leaks[0]);
                outcome.missed.push(format!("{name}: {classes:?}\n{}", leak.change.join("\n")));
            }
        }
    }
    Ok(outcome)
}

/// Analyses copies of kernels. Returns each copy with its findings.
fn findings<E: Send>(
    garden: &Garden<'_>,
    all: Vec<Copy>,
    copies: usize,
    decode: &(impl Fn(&str) -> Result<Decoded, E> + Sync),
) -> Result<Vec<(Copy, Findings)>, E> {
    let report = |program: Result<Program, NotUnderstood>| {
        let found = |program| analyse(&program, Secrets::AllBut(Objects::NONE)).findings;
        let name = name(&program).to_owned();
        (name, program.map(found).map_err(|refused| refused.to_string()))
    };
    let reports = all
        .par_chunks(copies)
        .map(|copies| Ok(decode(&garden.module(copies))?.into_iter().map(report).collect()));
    let reports: Vec<Vec<(String, Findings)>> = reports.collect::<Result<_, E>>()?;
    let mut known: BTreeMap<String, Findings> = reports.into_iter().flatten().collect();
    let nothing = || Err("the decoder returned no such kernel".to_owned());
    let find = |copy: Copy| {
        let findings = known.remove(&copy.name).unwrap_or_else(nothing);
        (copy, findings)
    };
    Ok(all.into_iter().map(find).collect())
}

/// Returns whether the findings of a copy with several leaks show this leak.
fn is_told(garden: &Garden<'_>, leak: usize, findings: &[Finding]) -> bool {
    let untouched = format!("{SOURCE}:1");
    let is_planted =
        |finding: &Finding| finding.source.as_ref().is_some_and(|source| *source != untouched);
    let own = Some(format!("{SOURCE}:{}", line_of(leak)));
    let kind = garden.leaks[leak].kind;
    findings.iter().all(is_planted)
        && findings.iter().any(|finding| finding.source == own && tells(finding.class, kind))
}

/// Returns whether a finding of this class can come from a leak of this kind.
///
/// Several classes are possible, because the assembler transforms the code: it replaces short
/// branches by guards or selections, guards by branches, and a skip of the last store by an exit.
fn tells(class: Class, kind: Kind) -> bool {
    let conditional = [Class::Branch, Class::AccessGuard, Class::ExitGuard, Class::Barrier];
    match kind {
        Kind::GlobalLoad | Kind::TableIndex => class == Class::LoadAddress,
        Kind::GlobalStore => class == Class::StoreAddress,
        Kind::SharedLoad => class == Class::SharedLoadAddress,
        Kind::SharedStore => class == Class::SharedStoreAddress,
        Kind::Choice => [Class::LoadAddress, Class::AccessGuard, Class::Branch].contains(&class),
        Kind::ParameterIndex => class == Class::ConstantAddress,
        Kind::Branch => {
            let addresses = [Class::LoadAddress, Class::StoreAddress, Class::SharedStoreAddress];
            conditional.contains(&class) || addresses.contains(&class)
        }
        Kind::Skip | Kind::Loop | Kind::Exit | Kind::GuardedLoad | Kind::GuardedStore => {
            conditional.contains(&class)
        }
        Kind::GuardedBarrier => [Class::Barrier, Class::Branch].contains(&class),
        Kind::GuardedProduct => [Class::MatrixGuard, Class::Branch].contains(&class),
        Kind::ShuffleLane | Kind::ShuffleWidth => class == Class::ShuffleLane,
        Kind::Division => class == Class::Division,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow;
    use crate::syntax::parse;

    /// A kernel without leaks that has a place for every kind of leak.
    pub(super) const PTX: &str = ".version 7.0
.extern .shared .align 16 .b8 shared_memory[];
.global .align 4 .b8 table_0[4] = {1, 0, 0, 0};
.visible .entry a_653(
\t.param .u64 .ptr .align 1 a_653_param_0,
\t.param .u32 a_653_param_1
)
{
\t.reg .pred \t%p<2>;
\t.reg .b32 \t%r<12>;
\t.reg .b64 \t%rd<4>;
\tmov.u32 \t%r1, shared_memory;
\tld.param.b64 \t%rd1, [a_653_param_0];
\tcvta.to.global.u64 \t%rd2, %rd1;
\tmov.b64 \t%rd3, table_0;
\tld.global.b32 \t%r2, [%rd3+4];
\tsetp.eq.b32 \t%p1, %r2, 0;
\tld.global.v2.b32 \t{%r3, %r4}, [%rd2];
\tld.global.b32 \t%r5, [%rd2+8];
\tmov.b32 \t%r4, 0;
\tbar.sync \t0;
\tshfl.sync.idx.b32 \t%r6, %r5, %r4, 31, -1;
\tmma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32
\t\t{%r8, %r9, %r10, %r11},
\t\t{%r5, %r5, %r5, %r5}, {%r6, %r6}, {%r4, %r4, %r4, %r4};
\t{
\tst.shared.u32 [%r1], %r6;
\t}
\tld.shared.u32 \t%r7, [%r1+4];
\t@!%p1 bra \t$L_1;
\tst.shared.u32 \t[%r1], %r7;
\tst.global.b32 \t[%rd2+12], %r7;
$L_1:
\tret;
}
";

    fn garden<R>(plan: Plan<'_>, look: impl FnOnce(Garden<'_>) -> R) -> R {
        let (module, lines) = (parse(PTX).unwrap(), PTX.lines().collect::<Vec<_>>());
        look(Garden::new(&module, &lines, plan))
    }

    fn texts(plan: Plan<'_>) -> Vec<String> {
        garden(plan, |garden| {
            let all: Vec<usize> = (0..garden.leaks.len()).collect();
            garden.alone(&all).into_iter().map(|copy| copy.text).collect()
        })
    }

    const PLAN: Plan<'_> = Plan { takes: &|name| name == "a_653", seed: 1, most: 2 };

    #[test]
    fn plants_leaks_of_all_kinds() {
        garden(PLAN, |garden| {
            assert!(garden.head.contains("table_0") && !garden.head.contains("entry"));
            for &kind in Kind::ALL {
                let count = garden.leaks.iter().filter(|leak| leak.kind == kind).count();
                assert!((1..=2).contains(&count), "{kind:?}: {count}");
            }
            let all: Vec<usize> = (0..garden.leaks.len()).collect();
            for Copy { name, text, leaks } in garden.alone(&all) {
                assert!(text.contains(&format!(".visible .entry {name}(")));
                // The copy has its own names.
                let change = garden.leaks[leaks[0]].change.join("\n").replace("a_653", &name);
                let change = change.replace("$M", &format!("$M{}_", leaks[0]));
                assert!(text.contains(&change), "{text}");
                // The block of inline assembly is unchanged.
                assert!(text.contains("{\n\tst.shared.u32 [%r1], %r6;\n\t}"));
            }
        });
        assert_eq!(texts(PLAN), texts(PLAN));
        assert_ne!(texts(PLAN), texts(Plan { seed: 2, ..PLAN }));
        assert!(texts(Plan { takes: &|name| name == "b_653", ..PLAN }).is_empty());
    }

    #[test]
    fn finds_what_it_plants_and_misses_what_nobody_demands() {
        let search = |blind: Option<Class>| {
            let decode = |text: &str| {
                let mut programs = flow::ptx::decode(text)?;
                for instruction in programs.iter_mut().flat_map(|program| &mut program.code) {
                    instruction.demands.retain(|demand| Some(demand.class) != blind);
                }
                Ok::<_, NotUnderstood>(programs.into_iter().map(Ok).collect())
            };
            search(PTX, &parse(PTX).unwrap(), PLAN, 4, decode).unwrap()
        };
        let all = search(None);
        assert_eq!(all.missed, [""; 0]);
        assert!(all.counts.keys().eq(Kind::ALL));
        assert!(all.counts.values().all(|count| count.found == count.planted));
        let blind = search(Some(Class::Branch));
        let kinds = [Kind::Branch, Kind::Skip, Kind::Loop];
        for (kind, count) in &blind.counts {
            assert_eq!(count.found == count.planted, !kinds.contains(kind), "{kind:?}");
        }
        let missed: usize = kinds.iter().map(|kind| blind.counts[kind].planted).sum();
        assert_eq!(blind.missed.len(), missed);
    }

    #[test]
    fn leaks_in_one_copy_do_not_disturb_one_another() {
        garden(PLAN, |garden| {
            let copies = garden.together();
            assert!(copies.len() < garden.leaks.len());
            let mut planted: Vec<usize> = Vec::new();
            for copy in copies {
                let mut sites: Vec<usize> =
                    copy.leaks.iter().map(|&leak| garden.leaks[leak].site).collect();
                sites.sort_unstable();
                sites.dedup();
                assert_eq!(sites.len(), copy.leaks.len(), "two leaks at one place");
                let spreads = copy.leaks.iter().any(|&leak| garden.leaks[leak].spreads);
                assert!(!spreads || copy.leaks.len() == 1);
                planted.extend(copy.leaks);
            }
            planted.sort_unstable();
            assert!(planted.into_iter().eq(0..garden.leaks.len()), "each leak once");
        });
    }

    #[test]
    fn a_leak_among_others_is_told_by_its_own_lines() {
        garden(PLAN, |garden| {
            let position = |kind| garden.leaks.iter().position(|leak| leak.kind == kind).unwrap();
            let (load, store) = (position(Kind::GlobalLoad), position(Kind::GlobalStore));
            let finding = |class, line: usize| Finding {
                kernel: "a_653".into(),
                class,
                place: 0,
                instruction: String::new(),
                source: Some(format!("{SOURCE}:{line}")),
                chain: Vec::new(),
            };
            let own = finding(Class::LoadAddress, line_of(load));
            let other = finding(Class::StoreAddress, line_of(store));
            let both = [own.clone(), other.clone()];
            assert!(is_told(&garden, load, &both) && is_told(&garden, store, &both));
            // A finding of another class, at other lines, or beside a finding that does not come
            // from a leak, does not count.
            assert!(!is_told(&garden, load, &[other]));
            assert!(!is_told(&garden, load, &[finding(Class::LoadAddress, line_of(store))]));
            assert!(!is_told(&garden, load, &[finding(Class::Branch, line_of(load))]));
            assert!(!is_told(&garden, load, &[own.clone(), finding(Class::Branch, 1)]));
            let nowhere = Finding { source: None, ..own.clone() };
            assert!(!is_told(&garden, load, &[own, nowhere]));
        });
    }
}
