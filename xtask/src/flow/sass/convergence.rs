//! Where threads of a warp that have parted meet again.
//!
//! `BSSY B0, L` says that threads meet at `L`; `BSYNC B0` waits for them and goes on there. The
//! decoder lets both go on behind themselves. This checks that it is so: at every `BSYNC`, whatever
//! way led there, the barrier was last set to the place right behind it.

use super::operand::{Operand, Text};
use crate::flow::program::{Effect, Instruction};

/// How many convergence barriers there are.
const BARRIERS: usize = 16;

/// Where a barrier leads.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Place {
    Unknown,
    Index(usize),
}

/// Where each barrier leads; none if it is not set.
type State = [Option<Place>; BARRIERS];

/// Returns the index of an instruction at which threads may meet elsewhere than right behind it.
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
        for next in successors(&code[index], index).into_iter().filter(|&next| next < code.len()) {
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

fn successors(instruction: &Instruction, index: usize) -> Vec<usize> {
    match &instruction.effect {
        Effect::Jump { targets, falls_through, .. } => {
            targets.iter().copied().chain(falls_through.then_some(index + 1)).collect()
        }
        Effect::Exit { .. } if instruction.guard.is_none() => Vec::new(),
        _ => vec![index + 1],
    }
}

/// Returns where barriers can lead that were set on one of two ways.
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
