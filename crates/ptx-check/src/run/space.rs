//! The state spaces of memory, and the generic addresses that lead to all of them.

/// A state space of an access.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Space {
    /// Arrays and variables of the module.
    Global,
    Shared,
    Local,
    Parameter,
    /// The address tells the space.
    Generic,
}

/// The generic addresses of shared memory, local memory and parameters begin here. Those of arrays
/// and variables, which are lower, are the same in global memory.
const WINDOW: u64 = 1 << 63;
const WINDOWS: [(Space, &str, u64); 3] = [
    (Space::Shared, "shared", WINDOW),
    (Space::Local, "local", WINDOW | 1 << 40),
    (Space::Parameter, "param", WINDOW | 2 << 40),
];

/// Returns the space to which a generic address leads, and the address in it.
pub(super) fn located(generic: u64) -> (Space, u64) {
    let window = WINDOWS.iter().find(|(.., start)| generic >> 40 == start >> 40);
    window.map_or((Space::Global, generic), |&(space, _, start)| (space, generic - start))
}

/// Returns the generic address of the beginning of a space.
pub(super) fn window(space: &str) -> Option<u64> {
    match space {
        "global" | "const" => Some(0),
        name => {
            let name = name.strip_suffix("::cta").unwrap_or(name);
            WINDOWS.iter().find(|(_, known, _)| *known == name).map(|(.., start)| *start)
        }
    }
}

/// Returns where the space of a generic address begins.
pub(super) fn window_of(generic: u64) -> u64 {
    generic & (u64::from(generic >= WINDOW) * (u64::MAX << 40))
}
