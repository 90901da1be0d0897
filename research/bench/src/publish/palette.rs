//! The colours of methods and authors.

use ctru_measure::chart::Colour;

/// The colour of this project's engine.
pub(super) const OURS: Colour = Colour::Vermillion;
/// The colour of the code of the scheme's authors.
pub(super) const AUTHORS: Colour = Colour::Blue;
/// The colour of other schemes.
pub(super) const OTHERS: Colour = Colour::Green;

/// Returns the colour of a method of multiplication or reduction. `name` is its name in records.
pub(super) fn method(name: &str) -> Colour {
    match name {
        "NTT" | "montgomery" => Colour::Blue,
        "polyphase, tensor cores" | "float" => Colour::Vermillion,
        "one key, tensor cores" | "barrett" => Colour::Orange,
        "schoolbook, tensor cores" | "shoup" => Colour::Green,
        "plantard" => Colour::Purple,
        "pseudo_mersenne" | "proth" => Colour::Sky,
        _ => Colour::Grey,
    }
}
