//! Follows lanes from instruction to instruction.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fmt;

/// What decides by a lane.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Use {
    Branch,
    Address,
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Branch => "branches on lanes",
            Self::Address => "addresses from lanes",
        })
    }
}

/// A general register or a named place on the stack.
pub(super) type Place = String;

/// The place of lanes that stay in vectors.
pub(super) const VECTOR: &str = "a vector";

/// What an instruction does, as far as the search needs to know.
#[derive(Clone, Debug, Default)]
pub(super) struct Step {
    /// It writes lanes or masks to its results.
    pub(super) is_from_lanes: bool,
    pub(super) results: Vec<Place>,
    pub(super) sources: Vec<Place>,
    /// The registers of the addresses that it accesses.
    pub(super) addresses: Vec<Place>,
    pub(super) sets_flags: bool,
    pub(super) reads_flags: bool,
    /// It jumps or not as its sources and the flags that it reads say.
    pub(super) is_branch: bool,
    /// The registers that a call overwrites.
    pub(super) lost: &'static [&'static str],
}

/// One instruction of a function.
#[derive(Debug)]
pub(super) struct Instruction {
    pub(super) address: u64,
    /// What it does, in this order.
    pub(super) steps: Vec<Step>,
    /// The next instruction does not follow it.
    pub(super) ends: bool,
    /// Where it may jump to, if it names the place.
    pub(super) target: Option<u64>,
}

/// The places that hold what comes from lanes.
#[derive(Clone, Debug, Default)]
struct Flow {
    places: HashSet<Place>,
    flags: bool,
}

impl Flow {
    /// Follows one step. Returns how it uses what comes from lanes.
    fn follow(&mut self, step: &Step) -> Vec<Use> {
        let holds = |place: &Place| place == VECTOR || self.places.contains(place);
        let mut uses = Vec::new();
        if step.addresses.iter().any(holds) {
            uses.push(Use::Address);
        }
        let depends =
            step.is_from_lanes || step.sources.iter().any(holds) || step.reads_flags && self.flags;
        if step.is_branch && depends {
            uses.push(Use::Branch);
        }
        if step.sets_flags {
            self.flags = depends;
        }
        for result in &step.results {
            if depends {
                self.places.insert(result.clone());
            } else {
                self.places.remove(result);
            }
        }
        for register in step.lost {
            self.places.remove(*register);
        }
        uses
    }

    /// Adds what another path brings. Returns whether it is more.
    fn join(&mut self, other: &Self) -> bool {
        let before = (self.places.len(), self.flags);
        self.places.extend(other.places.iter().cloned());
        self.flags |= other.flags;
        before != (self.places.len(), self.flags)
    }
}

/// Returns the uses of lanes in a function, on any path through it.
pub(super) fn uses(code: &[Instruction]) -> Vec<Use> {
    let index: HashMap<u64, usize> =
        code.iter().enumerate().map(|(i, instruction)| (instruction.address, i)).collect();
    let targets: HashSet<usize> =
        code.iter().filter_map(|i| index.get(&i.target?).copied()).collect();
    // A jump through a register may lead to what no other instruction leads to.
    let unreached: Vec<usize> =
        (1..code.len()).filter(|&i| code[i - 1].ends && !targets.contains(&i)).collect();
    // What reaches the beginning of each block.
    let mut entries = HashMap::from([(0, Flow::default())]);
    let mut waiting = vec![0];
    while let Some(start) = waiting.pop() {
        let mut flow = entries[&start].clone();
        for i in start..code.len() {
            let instruction = &code[i];
            for step in &instruction.steps {
                flow.follow(step);
            }
            let is_jump = instruction.steps.iter().any(|step| step.is_branch);
            let named = instruction.target.and_then(|target| index.get(&target)).copied();
            let next = (!instruction.ends && i + 1 < code.len()).then_some(i + 1);
            let through_register = instruction.ends
                && instruction
                    .steps
                    .iter()
                    .any(|s| !s.sources.is_empty() || !s.addresses.is_empty());
            let others = if through_register { &unreached[..] } else { &[] };
            let is_end = instruction.ends || is_jump && named.is_some() || {
                next.is_some_and(|next| targets.contains(&next))
            };
            if !is_end {
                continue;
            }
            for &block in named.iter().chain(&next).chain(others) {
                match entries.entry(block) {
                    Entry::Vacant(entry) => {
                        entry.insert(flow.clone());
                        waiting.push(block);
                    }
                    Entry::Occupied(mut entry) => {
                        if entry.get_mut().join(&flow) {
                            waiting.push(block);
                        }
                    }
                }
            }
            break;
        }
    }
    let mut uses = Vec::new();
    for (&start, entry) in &entries {
        let mut flow = entry.clone();
        for (i, instruction) in code.iter().enumerate().skip(start) {
            if i > start && entries.contains_key(&i) {
                break;
            }
            uses.extend(instruction.steps.iter().flat_map(|step| flow.follow(step)));
            if instruction.ends {
                break;
            }
        }
    }
    uses
}
