//! Leaks that are planted into kernels on purpose, to see that the analysis finds them.

mod kernel;

use std::collections::BTreeMap;
use std::{fmt, thread};

use crate::flow::analysis::analyse;
use crate::flow::declared::{divides, public_arrays};
use crate::flow::program::{Class, Objects, Program};
use crate::flow::ptx::NotUnderstood;
use crate::{Error, Result};
use kernel::Kernel;

/// A way to show a secret.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// It is part of the address of a load from global memory.
    GlobalLoad,
    /// It is part of the address of a store to global memory.
    GlobalStore,
    /// It is part of the address of a load from shared memory.
    SharedLoad,
    /// It is part of the address of a store to shared memory.
    SharedStore,
    /// It chooses one of two addresses to load from.
    Choice,
    /// It is the index into a table.
    TableIndex,
    /// It is the index of a kernel's parameter.
    ParameterIndex,
    /// It is part of the condition of a branch.
    Branch,
    /// A store is skipped by a branch.
    Skip,
    /// A loop runs once or twice.
    Loop,
    /// The thread ends early.
    Exit,
    /// A load is guarded by it.
    GuardedLoad,
    /// A store is guarded by it.
    GuardedStore,
    /// A barrier is guarded by it.
    GuardedBarrier,
    /// It is part of the lane of a shuffle.
    ShuffleLane,
    /// It is part of the width of a shuffle.
    ShuffleWidth,
    /// A matrix product is guarded by it.
    GuardedProduct,
    /// Something is divided by it.
    Division,
}

impl Kind {
    /// All of them.
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

/// A leak that was planted.
#[derive(Clone, Debug)]
pub struct Leak {
    /// How it shows the secret.
    pub kind: Kind,
    /// The name of the copy of the kernel.
    pub kernel: String,
    /// The text of the copy.
    pub text: String,
    /// What was put there instead of which line.
    pub change: String,
}

/// Where to plant leaks, and how many.
#[derive(Copy, Clone, Debug)]
pub struct Plan<'a> {
    /// Only in kernels whose names contain this.
    pub kernel: &'a str,
    /// What chooses the places.
    pub seed: u64,
    /// The most leaks of a kind in a kernel.
    pub most: usize,
}

/// Plants leaks. Returns what stands before the kernels, and the leaks.
#[must_use]
pub fn plant(ptx: &str, plan: Plan<'_>) -> (String, Vec<Leak>) {
    let mut random = fastrand::Rng::with_seed(plan.seed);
    let lines: Vec<&str> = ptx.lines().collect();
    let is_entry = |line: &&str| line.starts_with(".visible .entry ");
    let starts: Vec<usize> = (0..lines.len()).filter(|&at| is_entry(&lines[at])).collect();
    let head = lines[..starts.first().copied().unwrap_or(lines.len())].join("\n");
    let tables: Vec<&str> = lines
        .iter()
        .filter(|line| line.starts_with(".global "))
        .filter_map(|line| line.split_once('[')?.0.rsplit(' ').next())
        .collect();
    let mut leaks = Vec::new();
    for &start in &starts {
        let end = (start..lines.len()).find(|&at| lines[at] == "}").unwrap_or(lines.len() - 1);
        let text = Kernel::read(&lines[start..=end], &tables);
        // Only where everything is secret, and nothing is shown before.
        let is_strict = !divides(text.name) && public_arrays(text.name).is_empty();
        if !text.name.contains(plan.kernel) || text.arrays.is_empty() || !is_strict {
            continue;
        }
        for &kind in Kind::ALL {
            let mut sites: Vec<usize> = (0..text.lines.len())
                .filter(|&at| text.change(kind, at, &mut random, &tables).is_some())
                .collect();
            random.shuffle(&mut sites);
            for &site in sites.iter().take(plan.most) {
                let Some(change) = text.change(kind, site, &mut random, &tables) else { continue };
                let name = format!("leak{}_{kind:?}_{}", leaks.len(), text.name);
                let body = text.with(site, &change).replace(text.name, &name);
                leaks.push(Leak { kind, kernel: name, text: body, change: change.join("\n") });
            }
        }
    }
    (head, leaks)
}

/// How many leaks.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Planted.
    pub planted: usize,
    /// Of them found.
    pub found: usize,
}

/// Leaks planted and found, by their kinds.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// How many of each kind.
    pub counts: BTreeMap<Kind, Count>,
    /// Leaks that were not found, or whose kernel was refused, a paragraph each.
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
        line("all", all)
    }
}

impl Outcome {
    /// Prints the counts.
    ///
    /// # Errors
    /// [`Error::Missed`] if a leak was missed, or none was planted.
    pub fn verdict(self, seed: u64) -> Result<()> {
        println!("leaks planted with seed {seed}:\n{self}");
        let mut missed = self.missed;
        if self.counts.is_empty() {
            missed.push("no kernel has a place for a leak".to_owned());
        }
        if missed.is_empty() { Ok(()) } else { Err(Error::Missed { missed }) }
    }
}

/// Decodes all kernels of a text, or says for each why not.
pub trait Decode: Fn(&str) -> Result<Vec<Result<Program, NotUnderstood>>> + Sync {}
impl<F: Fn(&str) -> Result<Vec<Result<Program, NotUnderstood>>> + Sync> Decode for F {}

/// Plants leaks into the kernels of `ptx` and looks which of them are found in what `decode` makes of
/// texts with `copies` kernels each.
///
/// # Errors
/// If `decode` fails.
pub fn search(ptx: &str, plan: Plan<'_>, copies: usize, decode: impl Decode) -> Result<Outcome> {
    let (head, leaks) = plant(ptx, plan);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let outcomes: Vec<Result<Outcome>> = thread::scope(|scope| {
        let (head, decode) = (&head, &decode);
        let work = |leaks| scope.spawn(move || search_some(head, leaks, copies, decode));
        let threads: Vec<_> =
            leaks.chunks(leaks.len().div_ceil(threads).max(1)).map(work).collect();
        threads.into_iter().map(|thread| thread.join().expect("a search does not panic")).collect()
    });
    let mut all = Outcome::default();
    for outcome in outcomes {
        let Outcome { counts, missed } = outcome?;
        for (kind, count) in counts {
            let sum = all.counts.entry(kind).or_default();
            sum.planted += count.planted;
            sum.found += count.found;
        }
        all.missed.extend(missed);
    }
    Ok(all)
}

fn search_some(head: &str, leaks: &[Leak], copies: usize, decode: &impl Decode) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    for leaks in leaks.chunks(copies) {
        let bodies: Vec<&str> = leaks.iter().map(|leak| leak.text.as_str()).collect();
        let mut reports: BTreeMap<String, Result<Vec<Class>, String>> = BTreeMap::new();
        for program in decode(&format!("{head}\n{}", bodies.join("\n")))? {
            match program {
                Ok(program) => {
                    let findings = analyse(&program, Objects::NONE).findings;
                    let classes = findings.iter().map(|finding| finding.class).collect();
                    reports.insert(program.name, Ok(classes));
                }
                Err(refused) => {
                    reports.insert(refused.kernel.clone(), Err(refused.to_string()));
                }
            }
        }
        for leak in leaks {
            let count = outcome.counts.entry(leak.kind).or_default();
            count.planted += 1;
            match reports.get(&leak.kernel) {
                Some(Ok(classes)) if classes.iter().any(|&class| tells(class, leak.kind)) => {
                    count.found += 1
                }
                other => {
                    outcome.missed.push(format!("{}: {other:?}\n{}", leak.kernel, leak.change))
                }
            }
        }
    }
    Ok(outcome)
}

/// Returns whether a finding of this class tells of a leak of this kind. The assembler makes guards or
/// choices of short branches, branches of guards, and an exit of what skips the last store.
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

    /// A kernel with a place for every kind of leak.
    pub(super) const PTX: &str = ".version 7.0
.extern .shared .align 16 .b8 shared_memory[];
.global .align 4 .b8 table_0[4] = {1, 0, 0, 0};
.visible .entry a_653(
\t.param .u64 .ptr .align 1 a_653_param_0,
\t.param .u32 a_653_param_1
)
{
\t.reg .b32 \t%r<9>;
\tld.param.b64 \t%rd1, [a_653_param_0];
\tcvta.to.global.u64 \t%rd2, %rd1;
\tmov.b64 \t%rd3, table_0;
\tld.global.b32 \t%r2, [%rd3+4];
\tld.global.v2.b32 \t{%r3, %r4}, [%rd2];
\tld.global.b32 \t%r5, [%rd2+8];
\tmov.b32 \t%r4, 0;
\tbar.sync \t0;
\tshfl.sync.idx.b32 \t%r6, %r5, %r4, 31, -1;
\tmma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32
\t\t{%r1, %r2, %r3, %r4},
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

    #[test]
    fn plants_leaks_of_all_kinds() {
        let plan = Plan { kernel: "a_653", seed: 1, most: 2 };
        let (head, leaks) = plant(PTX, plan);
        assert!(head.contains("table_0") && !head.contains("entry"));
        for &kind in Kind::ALL {
            let count = leaks.iter().filter(|leak| leak.kind == kind).count();
            assert!((1..=2).contains(&count), "{kind:?}: {count}");
        }
        for leak in &leaks {
            assert!(leak.text.contains(&format!(".visible .entry {}(", leak.kernel)));
            assert!(
                leak.text.contains(&leak.change) || leak.change.contains("param"),
                "{}",
                leak.text
            );
            // The block of inline assembly stays as it is.
            assert!(leak.text.contains("{\n\tst.shared.u32 [%r1], %r6;\n\t}"));
        }
        let again = plant(PTX, plan).1;
        assert!(leaks.iter().zip(&again).all(|(one, other)| one.text == other.text));
        let other = plant(PTX, Plan { seed: 2, ..plan }).1;
        assert!(leaks.iter().zip(&other).any(|(one, other)| one.text != other.text));
        assert!(plant(PTX, Plan { kernel: "b_653", ..plan }).1.is_empty());
    }
}
