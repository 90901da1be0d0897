//! The colours of methods and authors. They are those of Okabe and Ito, which colour-blind people
//! can tell apart. Source: Okabe, Ito, "Color Universal Design" (2008).

pub(super) const BLUE: &str = "#0072B2";
pub(super) const VERMILLION: &str = "#D55E00";
pub(super) const GREEN: &str = "#009E73";
pub(super) const ORANGE: &str = "#E69F00";
pub(super) const SKY: &str = "#56B4E9";
pub(super) const PURPLE: &str = "#CC79A7";
pub(super) const GREY: &str = "#8C8C8C";

/// The colour of this project's engine.
pub(super) const OURS: &str = VERMILLION;
/// The colour of the code of the scheme's authors.
pub(super) const AUTHORS: &str = BLUE;
/// The colour of other schemes.
pub(super) const OTHERS: &str = GREEN;

/// Returns the colour of a method of multiplication or reduction. `name` is its name in records.
pub(super) fn method(name: &str) -> &'static str {
    match name {
        "NTT" | "montgomery" => BLUE,
        "polyphase, tensor cores" | "float" => VERMILLION,
        "one key, tensor cores" | "barrett" => ORANGE,
        "schoolbook, tensor cores" | "shoup" => GREEN,
        "plantard" => PURPLE,
        "pseudo_mersenne" | "proth" => SKY,
        _ => GREY,
    }
}
