//! Checks the places where diverged threads of a warp meet again.
//!
//! `BSSY B0, L` sets a convergence barrier: threads will meet at `L`. `BSYNC B0` waits for them and
//! continues at `L`. The decoder assumes that `BSYNC` continues at the next instruction. This
//! module checks the assumption: for every `BSYNC`, some path to it has set the barrier, and on
//! every such path, the last `BSSY` of the barrier names the instruction after the `BSYNC`.

use super::operand::{Operand, Text};
use crate::flow::program::Instruction;

/// The number of convergence barriers.
const BARRIERS: usize = 16;

/// The place that a barrier is set to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Place {
    Unknown,
    Index(usize),
}

/// The place that each barrier is set to, or `None` if it is not set.
type State = [Option<Place>; BARRIERS];

/// Returns the index of a `BSYNC` after which threads may continue elsewhere than at the next
/// instruction.
pub(super) fn astray(code: &[Instruction], label: &dyn Fn(&str) -> Option<usize>) -> Option<usize> {
    let steps: Vec<Step> = code.iter().map(|instruction| step(&instruction.text, label)).collect();
    let mut states: Vec<Option<State>> = vec![None; code.len()];
    states[0] = Some([None; BARRIERS]);
    let mut work = vec![0];
    while let Some(index) = work.pop() {
        let Some(mut state) = states[index] else { continue };
        if let Step::Set(barrier, place) = steps[index] {
            state[barrier] = Some(place);
        }
        let (targets, goes_on) = code[index].next();
        let next = targets.iter().copied().chain(goes_on.then_some(index + 1));
        for next in next.filter(|&next| next < code.len()) {
            let joined = states[next].map_or(state, |known| join(known, state));
            if states[next] != Some(joined) {
                states[next] = Some(joined);
                work.push(next);
            }
        }
    }
    let is_astray = |index: &usize| match (states[*index], steps[*index]) {
        (Some(state), Step::Meet(barrier)) => state[barrier] != Some(Place::Index(index + 1)),
        _ => false,
    };
    (0..code.len()).find(is_astray)
}

#[derive(Copy, Clone)]
enum Step {
    Set(usize, Place),
    Meet(usize),
    Other,
}

fn step(text: &str, label: &dyn Fn(&str) -> Option<usize>) -> Step {
    let Some(text) = text.starts_with('B').then(|| Text::parse(text).ok()).flatten() else {
        return Step::Other;
    };
    match (text.opcode, &text.operands[..]) {
        ("BSSY", [Operand::Barrier(barrier), Operand::Label(name)]) => {
            let place = label(name).map_or(Place::Unknown, Place::Index);
            Step::Set(usize::from(*barrier) % BARRIERS, place)
        }
        ("BSYNC", [Operand::Barrier(barrier)]) => Step::Meet(usize::from(*barrier) % BARRIERS),
        _ => Step::Other,
    }
}

/// Returns the places of barriers where two paths join. The place of a barrier that the paths set
/// to different places becomes unknown. A path that does not set a barrier does not count for it.
fn join(mut one: State, other: State) -> State {
    for (mine, theirs) in one.iter_mut().zip(other) {
        match (*mine, theirs) {
            (known, None) => *mine = known,
            (None, known) => *mine = known,
            (Some(a), Some(b)) if a == b => {}
            _ => *mine = Some(Place::Unknown),
        }
    }
    one
}
