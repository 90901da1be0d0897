//! Follows lanes from instruction to instruction.

use std::collections::HashSet;
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

/// The places that hold what comes from lanes.
#[derive(Debug, Default)]
pub(super) struct Flow {
    places: HashSet<Place>,
    flags: bool,
}

impl Flow {
    /// Follows one instruction. Returns how it uses what comes from lanes.
    pub(super) fn follow(&mut self, step: &Step) -> Vec<Use> {
        let holds = |place: &Place| self.places.contains(place);
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
}
