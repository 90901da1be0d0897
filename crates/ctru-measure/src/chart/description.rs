//! What charts show.

use plotters::style::RGBColor;

/// One chart of a picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// The title. Its first line is bold.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis. Charts of bars do not show it.
    pub y: Axis,
    /// The lines.
    pub lines: Vec<Line>,
    /// The bars, which lie one below the other along the horizontal axis. A chart with bars shows
    /// no lines.
    pub bars: Vec<Bar>,
}

/// An axis. It covers the values that are drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What the numbers are, with their unit.
    pub label: String,
    /// How values are placed.
    pub scale: Scale,
}

/// How an axis places values.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences have equal lengths.
    #[default]
    Linear,
    /// Equal ratios have equal lengths. Values that are not positive are left out.
    Log,
}

/// A line through points, or a single point.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The name at the right end.
    pub name: String,
    /// The colour.
    pub colour: Colour,
    /// Whether the line is dashed and has no dots.
    pub dashed: bool,
    /// The points from left to right.
    pub points: Vec<(f64, f64)>,
}

/// A bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// The name at the left.
    pub name: String,
    /// The colour.
    pub colour: Colour,
    /// The length.
    pub value: f64,
}

/// Colours that colour-blind people can tell apart. Source: Okabe, Ito, "Color Universal Design"
/// (2008).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Colour {
    Blue,
    Vermillion,
    Green,
    Orange,
    Sky,
    Purple,
    Grey,
}

impl Colour {
    /// All colours, those first that differ most.
    pub const ALL: [Self; 7] = [
        Self::Blue,
        Self::Vermillion,
        Self::Green,
        Self::Orange,
        Self::Purple,
        Self::Sky,
        Self::Grey,
    ];

    /// Returns the parts of red, green and blue.
    pub(super) fn rgb(self) -> RGBColor {
        match self {
            Self::Blue => RGBColor(0x00, 0x72, 0xB2),
            Self::Vermillion => RGBColor(0xD5, 0x5E, 0x00),
            Self::Green => RGBColor(0x00, 0x9E, 0x73),
            Self::Orange => RGBColor(0xE6, 0x9F, 0x00),
            Self::Sky => RGBColor(0x56, 0xB4, 0xE9),
            Self::Purple => RGBColor(0xCC, 0x79, 0xA7),
            Self::Grey => RGBColor(0x8C, 0x8C, 0x8C),
        }
    }
}
